"""What power-on decides, read in the guest by Debian's own lspci and setpci, and by the collection through them.

Last of these tests: the VMs stay as they were powered on.
"""

from __future__ import annotations

import concurrent.futures

from lab import ats, config, control, nodes

from .guests import BOOT, NIC, bit, on_both, refusal, sh

Two = tuple[config.Node, config.Node]
P2P = dict.fromkeys(ats.P2P_KEYS, "TRUE")


def power_on(physics: str, node: config.Node, *, runtime: bool, keys: dict[str, str]) -> str:
    """As vCenter says it. The new boot id."""
    event = {"event": "vm_power_on", "vm": node.name, "ats_runtime": runtime, "extra_config": keys}
    control.request("POST", physics, event, timeout=120)
    nodes.wait_ready(node)
    return sh(node, BOOT)


def test_host_and_keys_decide_at_power_on(two: Two, physics: str) -> None:
    """The first guest was powered on by a host that runs without atsSupport, the second without its keys.

    The second had shut itself down before: it is off until it is powered on. (The card decides in test_1_site.)
    """
    first, second = two
    assert [bit(node) for node in two] == ["+", "+"], "as the site left them; after these tests: make lab-down"
    before = [sh(node, BOOT) for node in two]
    with concurrent.futures.ThreadPoolExecutor() as pool:
        no_host = pool.submit(power_on, physics, first, runtime=False, keys=P2P)
        control.request("POST", physics, {"event": "vm_shutdown_guest", "vm": second.name}, timeout=120)
        assert not nodes.running(second) and control.state("physics")["vms"][second.name]["power"] == "off"
        no_keys = pool.submit(power_on, physics, second, runtime=True, keys={})
        after = [no_host.result(), no_keys.result()]
    assert len({*before, *after}) == 4
    assert [bit(node) for node in two] == ["-", "-"]
    # What stage ats stops with.
    reasons = on_both(two, lambda node: refusal("mlxconfig_ats", node, state="queried", require_active=True))
    assert [why["diagnosis"] for why in reasons] == ["host_not_enabled", "host_not_enabled"]
    assert all(node.name in why["msg"] and NIC in why["msg"] for node, why in zip(two, reasons)), reasons
