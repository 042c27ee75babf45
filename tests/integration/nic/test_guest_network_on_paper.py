"""As test_guest_network.py, on paper: bonds, VLANs, NetworkManager, ifupdown, match by MAC.

Layouts: cloud-init's network-config v2 (match by MAC and set-name), netplan's own examples (bonds, VLANs, renderer
NetworkManager), NetworkManager's keyfiles, Debian's installer (ifupdown).
"""

from __future__ import annotations

import pathlib
from typing import Any

import pytest
from ansible_collections.rocemesh.multinode.plugins.module_utils._layer import LayerError, RefusedError, converge
from ansible_collections.rocemesh.multinode.plugins.module_utils._nic.interface_restore import RestoreLayer, request

from tests.integration.nic.guest_paper import CLOUD_INIT, DROPIN, MANAGEMENT, NEEDS, Paper, netplan, row

pytestmark = NEEDS

LAN = row(2, "ens192", "192.0.2.11/24")
ROCE = "198.51.100.11/24"
BOND = netplan(MANAGEMENT, "ens224: {}", "ens256: {}") + (
    f"  bonds:\n    bond0: {{interfaces: [ens224, ens256], addresses: [{ROCE}], parameters: {{mode: active-backup}}}}\n"
)
VLAN = "  vlans:\n    roce: {id: 111, link: LINK, addresses: [198.51.100.11/24]}\n"
MADE = "/run/systemd/network/10-netplan-{}.network"
KEYFILE = """[connection]
id=roce
uuid=1e6b9b5e-0000-4000-8000-000000000001
type=ethernet
autoconnect-priority=5
BOUND
[ethernet]

[ipv4]
address1=198.51.100.11/24
method=manual

[ipv6]
addr-gen-mode=default
method=ignore

[proxy]
"""
UUID = "1e6b9b5e-0000-4000-8000-000000000001"
PROFILES = "/etc/NetworkManager/system-connections/"


def profile(path: str, devices: str = "ens224", **changes: str) -> dict[str, dict[str, str]]:
    told = {"connection.id": "roce", "connection.uuid": UUID, "connection.interface-name": "", "ipv4.method": "manual",
            "802-3-ethernet.mac-address": "", "802-3-ethernet.mtu": "auto", "ipv6.method": "ignore"}  # fmt: skip
    return {
        UUID: {
            "path": path,
            "devices": devices,
            **told,
            **{key.replace("__", "."): text for key, text in changes.items()},
        }
    }


def members() -> list[dict[str, Any]]:
    return [row(3, "ens224", master="bond0"), row(4, "ens256", master="bond0")]


def on_paper(name: str, root: pathlib.Path) -> tuple[Paper, str]:  # noqa: PLR0911 - a table that needs a folder
    both = {"ens192": MADE.format("ens192"), "ens224": MADE.format("ens224")}
    plain = [{**LAN}, row(3, "ens224", ROCE)]
    own = f"{PROFILES}roce.nmconnection"
    if name == "netplan, MAC and set-name of cloud-init":
        text = netplan(
            "id0: {match: {macaddress: '00:50:56:00:00:01'}, set-name: ens192, dhcp4: true}",
            f"id1: {{match: {{macaddress: '00:50:56:00:00:02'}}, set-name: ens224, addresses: [{ROCE}]}}",
        )
        taken = {"ens192": MADE.format("id0"), "ens224": MADE.format("id1")}
        return Paper(root, plain, {CLOUD_INIT: text}, networkd=taken), "/10-netplan-id1.network.d/"
    if name == "netplan, bond":
        rows = [{**LAN}, *members(), row(5, "bond0", ROCE, linkinfo={"info_kind": "bond"})]
        taken = {one: MADE.format(one) for one in ("ens192", "ens224", "ens256", "bond0")}
        return Paper(
            root, rows, {CLOUD_INIT: BOND}, networkd=taken, rdma=["ens224", "ens256"]
        ), "/10-netplan-bond0.network.d/"
    if name == "netplan, VLAN on an interface of its own":
        text = netplan(MANAGEMENT, "ens224: {}") + VLAN.replace("LINK", "ens224")
        rows = [{**LAN}, row(3, "ens224"), row(5, "roce", ROCE, link="ens224", linkinfo={"info_kind": "vlan"})]
        return Paper(
            root, rows, {CLOUD_INIT: text}, networkd={**both, "roce": MADE.format("roce")}
        ), "/rocemesh-mtu@roce.service"
    if name == "netplan, VLAN on a bond":
        rows = [{**LAN}, *members(), row(5, "bond0", linkinfo={"info_kind": "bond"})]
        rows.append(row(6, "roce", ROCE, link="bond0", linkinfo={"info_kind": "vlan"}))
        taken = {one: MADE.format(one) for one in ("ens192", "ens224", "ens256", "bond0", "roce")}
        text = BOND.replace(f"addresses: [{ROCE}], ", "") + VLAN.replace("LINK", "bond0")
        return Paper(
            root, rows, {CLOUD_INIT: text}, networkd=taken, rdma=["ens224", "ens256"]
        ), "/rocemesh-mtu@roce.service"
    if name == "netplan with renderer NetworkManager":
        files = {CLOUD_INIT: netplan(f"ens224: {{addresses: [{ROCE}]}}", renderer="NetworkManager")}
        made = "/run/NetworkManager/system-connections/netplan-ens224.nmconnection"
        bound = profile(made, connection__interface__name="ens224")
        return Paper(root, plain, files, profiles=bound), "/rocemesh-mtu@ens224.service"
    if name == "NetworkManager, profile of the interface":
        told = profile(own)
        told[UUID]["connection.interface-name"] = "ens224"
        return Paper(root, plain, {own: KEYFILE.replace("BOUND", "interface-name=ens224\n")}, profiles=told), own
    if name == "NetworkManager, profile for any interface":
        return Paper(
            root, plain, {own: KEYFILE.replace("BOUND", "")}, profiles=profile(own)
        ), "/rocemesh-mtu@ens224.service"
    assert name == "ifupdown"
    text = "auto lo\niface lo inet loopback\nauto ens192\niface ens192 inet dhcp\nauto ens224\n"
    text += f"iface ens224 inet static\n  address {ROCE}\n"
    return Paper(root, plain, {"/etc/network/interfaces": text}), "/rocemesh-mtu@ens224.service"


GUESTS = (
    "netplan, MAC and set-name of cloud-init",
    "netplan, bond",
    "netplan, VLAN on an interface of its own",
    "netplan, VLAN on a bond",
    "netplan with renderer NetworkManager",
    "NetworkManager, profile of the interface",
    "NetworkManager, profile for any interface",
    "ifupdown",
)


@pytest.mark.parametrize("name", GUESTS)
def test_on_paper_nothing_but_the_mtu_differs(name: str, tmp_path: pathlib.Path) -> None:
    guest, way = on_paper(name, tmp_path)
    before = guest.files()
    result = guest.converge()
    assert all(entry["mtu"] == 9000 for entry in result["interfaces"])
    assert next(one["mtu"] for one in guest.rows if one["ifname"] == "ens192") == 1500
    after = guest.files()
    changed = {path for path in {*before, *after} if before.get(path) != after.get(path)}
    assert any(way in path for path in changed), changed
    for path in changed - {path for path in changed if path.startswith(PROFILES)}:
        assert path not in before, "a file of the site was changed"
        assert path.endswith(DROPIN) or "rocemesh" in path, path
        if path.endswith(DROPIN):
            assert [line for line in after[path].splitlines() if line[:1] not in "#"] == ["[Link]", "MTUBytes=9000"]
    for path in changed & {path for path in before if path.startswith(PROFILES)}:
        assert sorted(set(after[path].splitlines()) - set(before[path].splitlines())) == ["mtu=9000"]
        assert set(before[path].splitlines()) <= set(after[path].splitlines())
    assert guest.converge()["changed"] is False


def restored(guest: Paper, diff: dict[str, Any]) -> dict[str, Any]:
    layer = RestoreLayer(guest.reader, request("gpu01", diff))
    return converge(layer, layer.wanted)


@pytest.mark.parametrize("name", GUESTS)
def test_on_paper_restore_of_a_run_gives_the_earlier_files(name: str, tmp_path: pathlib.Path) -> None:
    guest, _way = on_paper(name, tmp_path)
    before, mtus = guest.files(), [one["mtu"] for one in guest.rows]
    diff = guest.converge()["diff"]
    assert guest.files() != before
    result = restored(guest, diff)
    # As the journal has them: undo compares both.
    assert result["diff"] == {"before": diff["after"], "after": diff["before"]}
    assert (guest.files(), [one["mtu"] for one in guest.rows]) == (before, mtus) and result["left_alone"] == []
    assert not (tmp_path / "etc/rocemesh").exists() or not list((tmp_path / "etc/rocemesh").iterdir())
    assert restored(guest, diff)["changed"] is False


def test_on_paper_restore_gives_an_own_earlier_mtu_and_keeps_a_later_one(tmp_path: pathlib.Path) -> None:
    guest, _way = on_paper("netplan, MAC and set-name of cloud-init", tmp_path)
    guest.converge(mtu=4200)
    earlier = guest.files()
    diff = guest.converge(mtu=9000)["diff"]
    later = guest.converge(mtu=8000)["diff"]
    left = restored(guest, diff)["left_alone"]
    assert {row["why"] for row in left} == {"changed since"} and {row["value"] for row in left} == {8000}
    restored(guest, later)
    restored(guest, diff)
    assert guest.files() == earlier


@pytest.mark.parametrize(
    ("key", "value"), [("ens224 speed", 1500), ("ens224 mtu", "1; reboot"), ("ens224 file ", 1500)]
)
def test_restore_of_interfaces_refuses_what_no_run_has_written(key: str, value: Any) -> None:
    with pytest.raises(RefusedError, match="gpu01"):
        request("gpu01", {"before": {key: value}, "after": {key: 9000}})


def test_a_vlan_brings_what_it_lies_on_with_it_and_in_the_right_order(tmp_path: pathlib.Path) -> None:
    guest, _way = on_paper("netplan, VLAN on an interface of its own", tmp_path)
    guest.converge()
    assert {one["ifname"]: one["mtu"] for one in guest.rows} == {"ens192": 1500, "ens224": 9000, "roce": 9000}
    assert (tmp_path / "etc/rocemesh/mtu/roce").read_text() == "ens224 9000\nroce 9000\n"


@pytest.mark.parametrize(
    ("rows", "files", "more", "names", "words"),
    [
        ([{**LAN}, *members(), row(5, "bond0", ROCE, linkinfo={"info_kind": "bond"})], {},
         {"rdma": ["ens224", "ens256"]}, ["ens224"], "is a member of bond0"),
        ([{**LAN}, *members(), row(5, "bond0", ROCE, linkinfo={"info_kind": "bond"})], {}, {"rdma": ["ens224"]},
         ["bond0"], "ens256 has no RDMA device"),
        ([row(2, "ens224", "192.0.2.11/24"), row(5, "roce", ROCE, link="ens224", linkinfo={"info_kind": "vlan"})], {},
         {"defaults": ["ens224"]}, ["auto"], "is a VLAN on ens224, which has MTU 1500 and carries a default route"),
        ([{**LAN}, row(3, "ens224", ROCE)],
         {"/etc/network/interfaces": f"iface ens224 inet static\n  address {ROCE}\n  mtu 1500\n"}, {}, ["auto"],
         "set up by ifupdown by /etc/network/interfaces, and that sets MTU 1500"),
        ([{**LAN}, row(3, "ens224", ROCE), row(4, "ens256", "203.0.113.1/24")], {},
         {"profiles": profile("/etc/x", "ens224 ens256", **{"802-3-ethernet__mtu": "1500"})}, ["auto"],
         "which is also for ens256, and that sets MTU 1500"),
        ([{**LAN}, row(3, "ens224", ROCE)], {MADE.format("x"): "[Match]\nName=ens224\n"},
         {"profiles": profile("/etc/x"), "networkd": {"ens224": "/run/systemd/network/10-netplan-x.network"}}, ["auto"],
         "both systemd-networkd by"),
        ([{**LAN}, row(3, "ens224")], {}, {}, ["auto"],
         "with an address in 198.51.100.0/24; those that there are: ens224 (no address)"),
        ([{**LAN}, row(3, "ens224", ROCE)], {}, {}, ["ens160"], "there is no such interface"),
    ],
    ids=["member of a bond", "bond with a foreign NIC", "VLAN on the management interface", "ifupdown sets another MTU",
         "profile for two sets another MTU", "two programs", "no address", "no such interface"],
)  # fmt: skip
def test_on_paper_what_is_not_safe_is_refused(  # noqa: PLR0917 - columns of the table
    tmp_path: pathlib.Path, rows: list[Any], files: dict[str, str], more: dict[str, Any], names: list[str], words: str
) -> None:
    guest = Paper(tmp_path, [dict(one) for one in rows], files, **more)
    before = guest.files()
    with pytest.raises(LayerError) as refused:
        guest.converge(*names)
    assert words in str(refused.value)
    assert "What to do:" in str(refused.value)
    assert guest.files() == before
    assert all(one["mtu"] == 1500 for one in guest.rows)
