"""An MTU that is stored for the next boot changes the MTU and nothing else, in the layouts that guests really have.

Each guest boots twice under the real netplan and systemd-networkd (guest_network.py). Layouts: VMware's datasource of
cloud-init (match by name), Ubuntu's installer (several files), netplan's own examples, systemd-networkd alone.
"""

from __future__ import annotations

import json
import os
import pathlib
import subprocess
import sys
from typing import Any

import pytest

from tests.integration.nic.guest_paper import CLOUD_INIT, GENERATE, LIBRARIES, MANAGEMENT, NEEDS, netplan

HERE = pathlib.Path(__file__).parent
BOTH = {"ens192": "00:50:56:00:00:01", "ens224": "00:50:56:00:00:02"}
pytestmark = NEEDS


def layout(files: dict[str, str], **more: Any) -> dict[str, Any]:
    return {"interfaces": BOTH, "rdma": ["ens224"], "files": files, **more}


def boot(wanted: dict[str, Any]) -> dict[str, Any]:
    words = ["unshare", "--mount", "--net", sys.executable, str(HERE / "guest_network.py"), str(GENERATE)]
    path = os.pathsep.join(name for name in sys.path if name)
    done = subprocess.run(words, input=json.dumps(wanted), capture_output=True, text=True, check=False, timeout=120,
                          env={**LIBRARIES, "PYTHONPATH": path})  # fmt: skip
    assert done.returncode == 0, done.stderr
    answer: dict[str, Any] = json.loads(done.stdout)
    return answer


DROPINS = "/etc/systemd/network/20-roce.network.d"
ROCE = "ens224: {addresses: [198.51.100.11/24]}"
NETWORKD_ONLY = {
    "/etc/systemd/network/10-lan.network": (
        "[Match]\nName=ens192\n[Network]\nAddress=192.0.2.11/24\nGateway=192.0.2.1\n"
    ),
    "/etc/systemd/network/20-roce.network": (
        "[Match]\nMACAddress=00:50:56:00:00:02\n[Network]\nAddress=198.51.100.11/24\n"
    ),
}
SAFE = {
    "id is the name of the interface": (
        layout({CLOUD_INIT: netplan(MANAGEMENT, "ens224: {addresses: [198.51.100.11/24]}")}),
        "10-netplan-ens224.network.d",
    ),
    "VMware datasource, match by a glob, DHCP on all": (
        layout({CLOUD_INIT: netplan("nics: {match: {name: 'ens*'}, dhcp4: true}")}, wanted=["ens224"]),
        "rocemesh-mtu@ens224",
    ),
    "match by the driver of all NICs": (
        layout({CLOUD_INIT: netplan("all: {match: {driver: veth}, addresses: [198.51.100.11/24]}")}, wanted=["ens224"]),
        "rocemesh-mtu@ens224",
    ),
    "match by a glob that only one NIC has": (
        layout({CLOUD_INIT: netplan(MANAGEMENT, "roce: {match: {name: 'ens2*'}, addresses: [198.51.100.11/24]}")}),
        "rocemesh-mtu@ens224",
    ),
    "several files, the last of which overrides addresses and MTU": (
        layout(
            {
                "/etc/netplan/00-installer-config.yaml": netplan(MANAGEMENT, "ens224: {dhcp4: true}"),
                CLOUD_INIT: netplan("ens224: {dhcp4: false, addresses: [198.51.100.99/24]}"),
                "/etc/netplan/99-site.yaml": netplan(
                    "ens224: {mtu: 1500, routes: [{to: 203.0.113.0/24, via: 198.51.100.1}]}"
                ),
            }
        ),
        "10-netplan-ens224.network.d",
    ),
    "two rails in two networks": (
        layout(
            {
                CLOUD_INIT: netplan(
                    MANAGEMENT, "ens224: {addresses: [198.51.100.11/24]}", "ens256: {addresses: [203.0.113.11/24]}"
                )
            },
            interfaces={**BOTH, "ens256": "00:50:56:00:00:03"},
            rdma=["ens224", "ens256"],
            networks=["198.51.100.0/24", "203.0.113.0/24"],
        ),
        "10-netplan-ens256.network.d",
    ),
    "systemd-networkd alone, match by MAC": (
        layout(dict(NETWORKD_ONLY), netplan=False),
        "20-roce.network.d",
    ),
    "systemd-networkd alone, with drop-ins of the site": (
        layout(
            {
                **NETWORKD_ONLY,
                f"{DROPINS}/50-site.conf": "[Link]\nMTUBytes=4200\n[Network]\nDNS=192.0.2.53\n",
            },
            netplan=False,
        ),
        "20-roce.network.d",
    ),
    "an interface that nobody sets up": (
        layout({CLOUD_INIT: netplan(MANAGEMENT)}, by_hand={"ens224": "198.51.100.11/24"}),
        "rocemesh-mtu@ens224",
    ),
}


@pytest.mark.parametrize("name", SAFE)
def test_after_the_next_boot_nothing_but_the_mtu_differs(name: str) -> None:
    wanted, way = SAFE[name]
    answer = boot(wanted)
    assert "refused" not in answer, answer.get("refused")
    chosen = {entry["name"] for entry in answer["result"]["interfaces"]}
    assert chosen == set(wanted["rdma"])
    for when in ("now", "after"):
        expected = {**answer["before"]["mtu"], **dict.fromkeys(chosen, 9000)}
        assert answer[when]["mtu"] == expected, when
        assert {**answer[when], "mtu": 0} == {**answer["before"], "mtu": 0}, when
    assert answer["again"] is False
    assert any(way in path for path in answer["written"]), answer["written"]
    assert not any("netplan/" in path for path in answer["written"])


UNSAFE = {
    "a glob for two NICs that sets another MTU": (
        layout({CLOUD_INIT: netplan("nics: {match: {name: 'ens*'}, dhcp4: true, mtu: 1500}")}, wanted=["ens224"]),
        "which is also for ens192, and that sets MTU 1500",
    ),
    "a drop-in of the site that is read later": (
        layout({**NETWORKD_ONLY, f"{DROPINS}/95-site.conf": "[Link]\nMTUBytes=1500\n"}, netplan=False),
        "95-site.conf is read after",
    ),
    "netplan's files are changed and not applied": (
        layout(
            {CLOUD_INIT: netplan(MANAGEMENT, "ens224: {addresses: [198.51.100.11/24]}")},
            changed_meanwhile={CLOUD_INIT: netplan(MANAGEMENT, "roce: {match: {name: ens224}, dhcp4: true}")},
        ),
        "would not be made any more",
    ),
    "netplan's files are broken": (
        layout(
            {CLOUD_INIT: netplan(MANAGEMENT, "ens224: {addresses: [198.51.100.11/24]}")},
            changed_meanwhile={"/etc/netplan/60-broken.yaml": "network: {ethernets: {ens224: {adresses: []}}}\n"},
        ),
        "netplan generate fails",
    ),
    "the named interface is that of the management network": (
        layout({CLOUD_INIT: netplan(MANAGEMENT, "ens224: {addresses: [198.51.100.11/24]}")}, wanted=["ens192"]),
        "ens192 has no RDMA device",
    ),
    "the RDMA device carries the default route": (
        layout({CLOUD_INIT: netplan(ROCE[:-1] + ", routes: [{to: default, via: 198.51.100.1}]}")}),
        "carries a default route",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", UNSAFE)
def test_what_cannot_be_done_safely_is_refused_with_the_reason_and_changes_nothing(name: str) -> None:
    wanted, words = UNSAFE[name]
    answer = boot(wanted)
    assert words in answer["refused"]
    assert "What to do:" in answer["refused"]
    assert answer["written"] == {}
    assert answer["now"] == answer["before"]
