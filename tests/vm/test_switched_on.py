"""What power-on decides, read in the guest by Debian's own lspci and setpci, and by the collection through them.

Last of these tests: the VMs stay as they were powered on.
"""

from __future__ import annotations

import concurrent.futures

from lab import ats, config, control, hardware, nodes

from .guests import NIC, bit, module, on_both, refusal, sh

Two = tuple[config.Node, config.Node]
BOOT = "cat /proc/sys/kernel/random/boot_id"
P2P = dict.fromkeys(ats.P2P_KEYS, "TRUE")


def power_on(physics: str, node: config.Node, *, current: bool, runtime: bool, keys: dict[str, str]) -> str:
    """As vCenter says it; the card as a reboot of the host would have left it. The new boot id."""
    paths = config.paths()
    cards = hardware.read_nic(paths, node.name)["cards"]
    for card in cards:
        card["params"]["ATS_ENABLED"].update(current=int(current), next=int(current))
    hardware.set_cards(paths, node.name, cards)
    event = {"event": "vm_power_on", "vm": node.name, "ats_runtime": runtime, "extra_config": keys}
    control.request("POST", physics, event, timeout=120)
    nodes.wait_ready(node)
    return sh(node, BOOT)


def said(node: config.Node) -> str:
    """Of the collection."""
    (device,) = module("mlxconfig_ats", node, state="queried")["devices"]
    assert device["pci"] == NIC
    word: str = device["diagnosis"]
    return word


def test_card_and_host_decide_at_power_on(two: Two, physics: str) -> None:
    first, second = two
    assert [bit(node) for node in two] == ["+", "+"], "as the site left them; after these tests: make lab-down"
    assert on_both(two, said) == ["active", "active"]
    with concurrent.futures.ThreadPoolExecutor() as pool:
        no_host = pool.submit(power_on, physics, first, current=True, runtime=False, keys=P2P)
        card_off = pool.submit(power_on, physics, second, current=False, runtime=True, keys=P2P)
        boots = {no_host.result(), card_off.result()}
    assert (bit(first), bit(second)) == ("-", "")
    assert on_both(two, said) == ["host_not_enabled", "disabled"]
    assert len(boots) == 2
    # What stage ats stops with.
    why = refusal("mlxconfig_ats", first, state="queried", require_active=True)
    assert first.name in why and NIC in why, why


def test_guest_that_shuts_itself_down_is_off_until_it_is_powered_on(two: Two, physics: str) -> None:
    first, _second = two
    control.request("POST", physics, {"event": "vm_shutdown_guest", "vm": first.name}, timeout=120)
    assert not nodes.running(first) and control.state("physics")["vms"][first.name]["power"] == "off"
    power_on(physics, first, current=True, runtime=True, keys={})
    assert (bit(first), said(first)) == ("-", "host_not_enabled"), "the keys are missing"
