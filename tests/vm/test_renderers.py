"""A guest whose network ifupdown or NetworkManager sets up: MTU and the next boot, compared with a boot."""

from __future__ import annotations

import concurrent.futures
import contextlib
import json
from collections.abc import Iterator
from typing import Any

from lab import config, nodes, processes

from .guests import BOOT, module, sh

Two = tuple[config.Node, config.Node]
NETPLAN = "/etc/netplan/50-cloud-init.yaml"
IFUPDOWN = """\
auto ens1
iface ens1 inet static
    address {own}/24
    gateway {gateway}
"""
PROFILE = """\
[connection]
id=cluster
uuid=7f1b1a5e-6a0b-4a41-9d0a-0f1b6e0c7a11
type=ethernet
interface-name=ens1

[ipv4]
method=manual
address1={own}/24,{gateway}
"""
# Service, its file, what stands there, and what adds an address to it.
KEEPERS = {
    "ifupdown": (
        "networking",
        "/etc/network/interfaces.d/ens1",
        IFUPDOWN,
        "printf 'iface ens1 inet static\\n    address {more}/24\\n' >> {path}",
    ),
    "NetworkManager": (
        "NetworkManager",
        "/etc/NetworkManager/system-connections/cluster.nmconnection",
        PROFILE,
        "sed -i '/^address1=/a address2={more}/24' {path}",
    ),
}


def reboot(node: config.Node) -> None:
    before = sh(node, BOOT)
    nodes.inside(node, "systemctl", "reboot", check=False)
    processes.wait_for(f"{node.name} goes", lambda: not nodes.ssh_answers(node), 120)
    nodes.wait_ready(node)
    assert sh(node, BOOT) != before


def behind_its_back(node: config.Node, commands: str, changed: str) -> None:
    """Commands that cut the way to the guest; ``changed``: what fails until they are done."""
    sh(node, f"nohup sh -c '{commands}' > /run/commands.log 2>&1 &")
    processes.wait_for(
        f"{node.name} again",
        lambda: nodes.ssh_answers(node) and nodes.inside(node, "sh", "-c", changed, check=False).returncode == 0,
        120,
    )


def set_up_by(node: config.Node, service: str, instead_of: str) -> None:
    """From one service to the other, now and for every boot."""
    sh(node, f"systemctl disable {instead_of}; systemctl enable {service}; rm -f /run/changed")
    as_at_a_boot = "ip address flush dev ens1; ip link set ens1 down mtu 1500"
    rules = "udevadm control --reload; udevadm trigger --settle /sys/class/net/ens1"
    commands = f"systemctl stop {instead_of}; {as_at_a_boot}; {rules}; systemctl start {service}; touch /run/changed"
    behind_its_back(node, commands, "test -e /run/changed")


@contextlib.contextmanager
def kept_by(node: config.Node, service: str, path: str, text: str) -> Iterator[None]:
    """Another service than systemd-networkd sets the network up."""
    networkd = "systemd-networkd.socket systemd-networkd"
    sh(node, f"install -m 600 {NETPLAN} /root/netplan && echo 'network: {{version: 2}}' > {NETPLAN}")
    # What netplan had made of the other text; its rule of udev forbids the interface to NetworkManager.
    sh(node, "rm -rf /run/systemd/network /run/udev/rules.d/90-netplan.rules /run/NetworkManager && netplan generate")
    sh(node, f"cat > {path} <<'TEXT'\n{text}TEXT\nchmod 600 {path}")
    try:
        set_up_by(node, service, networkd)
        yield
    finally:
        # From the next boot on.
        sh(node, f"rm -rf {path} /etc/rocemesh/mtu /etc/systemd/system/sys-subsystem-net-devices-ens1.device.wants")
        sh(node, f"mv /root/netplan {NETPLAN}; systemctl disable {service}; systemctl enable {networkd}")


def next_boot(node: config.Node) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = module("node_info", node, gather=["next_boot"])["next_boot"]["differences"]
    return found


def mtu(node: config.Node) -> int:
    return int(sh(node, "cat /sys/class/net/ens1/mtu"))


def boots(node: config.Node, keeper: str) -> None:
    service, path, text, edit = KEEPERS[keeper]
    more = node.cluster_ip.rpartition(".")[0] + f".{110 + node.number}"
    wanted: dict[str, Any] = {"interface": ["ens1"], "management": "allow", "driver": ["virtio_net"], "mtu": 9000}
    with kept_by(node, service, path, text.format(own=node.cluster_ip, gateway=config.GATEWAY)):
        sh(node, f"systemctl is-active {service} && ! systemctl is-active systemd-networkd")
        assert (mtu(node), next_boot(node)) == (1500, [])
        assert module("roce_interface", node, **wanted)["changed"]
        assert (mtu(node), next_boot(node)) == (9000, [])
        sh(node, edit.format(more=more, path=path))
        (difference,) = next_boot(node)
        assert (difference["code"], difference["place"], difference["file"]) == ("address", "ens1", path)
        assert more in difference["text"]
        reboot(node)
        assert more in sh(node, "ip -br address show ens1")
        assert (mtu(node), next_boot(node)) == (9000, [])
        assert not module("roce_interface", node, **wanted)["changed"]
        assert json.loads(sh(node, "rdma -j link"))[0]["state"] == "ACTIVE"
        if keeper == "ifupdown":
            driver_again(node)
            assert mtu(node) == 9000, "nothing but the unit that is bound to the device sets it"


def driver_again(node: config.Node) -> None:
    """The card's driver goes and comes; ifupdown does nothing about a device that comes."""
    index = sh(node, "cat /sys/class/net/ens1/ifindex").strip()
    again = "rmmod virtio_net; modprobe virtio_net; sleep 5; ifdown --force ens1; ifup ens1"
    behind_its_back(node, again, f"test $(cat /sys/class/net/ens1/ifindex) -gt {index}")
    sh(node, "systemctl restart lab-rdma")


def test_mtu_and_an_edit_are_there_after_a_boot_as_they_were_foretold(two: Two) -> None:
    with concurrent.futures.ThreadPoolExecutor() as pool:
        for each in [pool.submit(boots, node, keeper) for node, keeper in zip(two, KEEPERS)]:
            each.result()
