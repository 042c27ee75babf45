"""What the next boot of a guest makes of its interface, from its files alone: sound ones have no difference."""

from __future__ import annotations

import dataclasses
import json
import pathlib
from typing import Any, Mapping, Sequence

import pytest
from ansible_collections.rocemesh.multinode.plugins.module_utils._layer import UnreachableError
from ansible_collections.rocemesh.multinode.plugins.module_utils._nic.boot_commands import commands, parse
from ansible_collections.rocemesh.multinode.plugins.module_utils._nic.boot_reading import (
    next_boot,
    read_present,
    read_tree,
)
from ansible_collections.rocemesh.multinode.plugins.module_utils._nic.boot_state import (
    NextBoot,
    Present,
    Tree,
    compare,
    parse_fstab,
)
from ansible_collections.rocemesh.multinode.plugins.module_utils._nic.interface_reading import (
    InterfaceReader,
    netplan_copy,
)
from ansible_collections.rocemesh.multinode.plugins.module_utils._nic.interface_state import (
    Link,
    parse_links,
    parse_routes,
)
from ansible_collections.rocemesh.multinode.plugins.module_utils._nic.transport import Finished, Sysfs

WANTS = "/etc/systemd/system/multi-user.target.wants"
NETWORKD = "/etc/systemd/network/20-roce.network"
NETWORK = "[Network]\nAddress=198.51.100.11/24\n"
PROFILE = "/etc/NetworkManager/system-connections/roce.nmconnection"
KEYFILE = """[connection]
uuid=00000000-0000-4000-8000-000000000001
type=ethernet
interface-name=ens224

[ipv6]
method=disabled

[ipv4]
method=manual
address1=198.51.100.11/24
"""
IFCFG = "/etc/sysconfig/network-scripts/ifcfg-ens224"
STATIC = "DEVICE=ens224\nIPADDR=198.51.100.11\nPREFIX=24\n"
INTERFACES = "/etc/network/interfaces"
STANZA = "auto ens224\niface ens224 inet static\n address 198.51.100.11/24\n"
ADDRESS = {"local": "198.51.100.11", "prefixlen": 24, "scope": "global"}
ROW = {"ifname": "ens224", "ifindex": 3, "mtu": 1500, "altnames": ["enp19s0"], "addr_info": [ADDRESS]}


def found(path: str, text: str, more: Mapping[str, str] = {}, **row: Any) -> tuple[Sequence[str], Sequence[str]]:
    """Codes of the differences, and what is not followed."""
    unit = {"network": "systemd-networkd"}.get(path.rpartition(".")[2], "NetworkManager")
    unit = "networking" if path == INTERFACES else unit
    (link,) = parse_links(json.dumps([{**ROW, **row}]), "gpu01").values()
    routes = parse_routes(json.dumps(row.pop("routes", [])), 4, "gpu01")
    seen = {"udev": row.get("udev", {}), "renamed": row.get("renamed", False)}
    link = dataclasses.replace(link, driver="mlx5_core", manager=unit, **seen)
    present = Present({link.name: link}, routes)
    boot = next_boot(Tree(files={path: text, **more}, links={f"{WANTS}/{unit}.service"}), present)
    return [one.code for one in compare(present, boot)], sorted(boot.unknown)


SOUND: dict[str, tuple[Any, ...]] = {
    "networkd-kind-of-a-device": (NETWORKD, f"[Match]\nType=ether\nKind=!*\n\n{NETWORK}"),
    "networkd-alternative-name": (NETWORKD, f"[Match]\nName=enp19s0\n\n{NETWORK}"),
    # Routes of another table are not in table main, which is what is there now.
    "manager-table-of-a-route": (PROFILE, f"{KEYFILE}route1=0.0.0.0/0,198.51.100.1\nroute1_options=table=101\n"),
    "manager-table-of-all-routes": (PROFILE, f"{KEYFILE}gateway=198.51.100.1\nroute1=10.0.0.0/8\nroute-table=101\n"),
    "manager-no-gateway": (PROFILE, KEYFILE.replace("/24", "/24,0.0.0.0")),
    "manager-never-default": (PROFILE, f"{KEYFILE}gateway=198.51.100.1\nnever-default=true\n"),
    # Nor are those of a VRF, whose ports keep their addresses.
    "networkd-vrf": (
        NETWORKD,
        f"[Match]\nName=ens224\n\n{NETWORK}VRF=rail0\nGateway=198.51.100.1\n\n[Route]\nDestination=10.0.0.0/8\nGateway=198.51.100.1\n",
        {"master": "rail0"},
    ),
    "manager-vrf": (
        PROFILE,
        KEYFILE.replace("type", "slave-type=vrf\nmaster=rail0\ntype") + "gateway=198.51.100.1\nroute1=10.0.0.0/8\n",
        {"master": "rail0"},
    ),
    "ifcfg-dhcp": (IFCFG, "DEVICE=ens224\nBOOTPROTO=DHCP\n", {"addr_info": [{**ADDRESS, "dynamic": True}]}),
    "ifcfg-blanks": (IFCFG, STATIC.replace("\n", "  # rail 0\n") + "TYPE=Ethernet \nMTU='1500' # no jumbo frames\n"),
    "ifcfg-bridge": (IFCFG, "DEVICE=ens224\nBRIDGE=br0\n", {"addr_info": [], "master": "br0"}),
    "ifcfg-defroute": (IFCFG, f"{STATIC}GATEWAY=198.51.100.1\nDEFROUTE=no\n"),
    "ifupdown2": (INTERFACES, STANZA.replace(" inet static", "")),
    "ifupdown2-two": (
        INTERFACES,
        f"{STANZA} address 203.0.113.1/24\n",
        {"addr_info": [ADDRESS, {**ADDRESS, "local": "203.0.113.1"}]},
    ),
    "ifupdown-table": (INTERFACES, f"{STANZA} up ip route add default via 198.51.100.1 dev $IFACE table 101\n"),
    "ifupdown-table-without-a-device": (INTERFACES, f"{STANZA} up ip route add 10.0.0.0/8 via 198.51.100.1 table 9\n"),
}


@pytest.mark.parametrize("name", SOUND)
def test_sound_file_has_no_difference(name: str) -> None:
    path, text, *row = SOUND[name]
    assert found(path, text, **(row[0] if row else {})) == ([], [])


@pytest.mark.parametrize(
    "lines",
    [
        "203.0.113.0/24 via 198.51.100.1 dev ens224 metric 9\n",
        'ADDRESS0=203.0.113.0\nNETMASK0="255.255.255.0"\nGATEWAY0=198.51.100.1\n',
        "# to the other rail\n203.0.113.0/24 via 198.51.100.1\ndefault via 198.51.100.1 table 101\n",
    ],
)
def test_ifcfg_static_routes_come_again(lines: str) -> None:
    routes = [{"dst": "203.0.113.0/24", "gateway": "198.51.100.1", "dev": "ens224", "protocol": "static"}]
    files = {IFCFG.replace("ifcfg-", "route-"): lines}
    assert found(IFCFG, STATIC, files, routes=routes) == ([], [])
    assert found(IFCFG, STATIC, routes=routes) == (["route"], [])


@pytest.mark.parametrize("match", ["Kind=bond", "Kind=!bond vlan\nName=ens192", "Name=!enp* ens*"])
def test_networkd_file_for_others_loses_the_address(match: str) -> None:
    assert found(NETWORKD, f"[Match]\n{match}\n\n{NETWORK}") == (["address"], [])


@pytest.mark.parametrize(
    ("path", "text"),
    [
        (PROFILE, f"{KEYFILE}route1=10.0.0.0/8,198.51.100.1\nroute1_options=table=254\nroute-table=101\n"),
        (PROFILE, KEYFILE.replace("/24", "/24,198.51.100.1") + "never-default=false\n"),
        (INTERFACES, f"{STANZA} up ip route add 10.0.0.0/8 via 198.51.100.1 table main\n"),
    ],
)
def test_route_of_table_main_that_is_missing_is_named(path: str, text: str) -> None:
    assert found(path, text) == (["route"], [])


@pytest.mark.parametrize(
    "lists",
    [
        ["=driver:mlx5_core"],
        ["+=driver:mlx5_core;driver:vxlan", "+=interface-name:veth*,"],
        ["=except:interface-name:eth0,except:interface-name:ib*,"],
        ["=interface-name:~ens*"],
    ],
)
def test_manager_leaves_alone_what_one_of_its_lists_names(lists: Sequence[str]) -> None:
    files = {
        f"/etc/NetworkManager/conf.d/{at}.conf": f"[keyfile]\nunmanaged-devices{lists[at]}\n"
        for at in range(len(lists))
    }
    assert found(PROFILE, KEYFILE, files) == (["address"], [])
    files["/etc/NetworkManager/conf.d/9.conf"] = "[keyfile]\nunmanaged-devices=interface-name:eth0\n"
    assert found(PROFILE, KEYFILE, files) == ([], [])
    files["/etc/NetworkManager/conf.d/9.conf"] = "[keyfile]\nunmanaged-devices=except:type:ethernet\n"
    assert found(PROFILE, KEYFILE, files) == ([], [])


# netplan's rules say so of what its other renderer has.
@pytest.mark.parametrize(("value", "codes"), [("1", ["address"]), ("0", [])])
def test_manager_leaves_alone_what_udev_marks(value: str, codes: Sequence[str]) -> None:
    assert found(PROFILE, KEYFILE, udev={"NM_UNMANAGED": value}) == (codes, [])


@pytest.mark.parametrize(
    ("kernel", "is_open"),
    [("tap*", False), ("tailscale0", False), ("enx*|usb*", False), ("eth2", True), ("e*", True), ("usb*|ens224", True)],
)
def test_rule_about_the_mtu_of_other_devices_leaves_that_of_the_link_known(kernel: str, is_open: bool) -> None:
    rule = f'ACTION=="add", SUBSYSTEM=="net", KERNEL=="{kernel}", ATTR{{mtu}}="9000"\n'
    files = {"/etc/udev/rules.d/70-persistent-net.rules": rule}
    codes, unknown = found(PROFILE, KEYFILE, files, mtu=4200, renamed=True)
    assert (codes, bool(unknown)) == ([] if is_open else ["mtu"], is_open)


@pytest.mark.parametrize("name", ["$IFACE", "${IFACE}", '"$IFACE"'])
def test_command_of_a_stanza_names_its_interface(name: str) -> None:
    assert found(INTERFACES, f"{STANZA} post-up ip link set dev {name} mtu 4200\n", mtu=4200) == ([], [])


@pytest.mark.parametrize(("path", "codes"), [("pci-0000:13:*", []), ("pci-0000:0b:00.0", ["address"])])
def test_manager_profile_of_a_path_is_for_that_device(path: str, codes: Sequence[str]) -> None:
    profile = KEYFILE.replace("interface-name=ens224\n", f"\n[match]\npath={path};\n")
    assert found(PROFILE, profile, udev={"ID_PATH": "pci-0000:13:00.0"}) == (codes, [])


IPOIB: dict[str, Any] = {"linkinfo": {"info_kind": "ipoib"}, "mtu": 2044}


@pytest.mark.parametrize(
    ("path", "text"), [(PROFILE, KEYFILE.replace("ethernet", "infiniband")), (IFCFG, f"TYPE=InfiniBand\n{STATIC}")]
)
def test_manager_profile_of_infiniband_is_for_ipoib_alone(path: str, text: str) -> None:
    assert found(path, text, **IPOIB) == ([], [])
    assert found(path, text) == (["address"], [])


def test_netplan_generator_without_an_answer_is_named(tmp_path: pathlib.Path) -> None:
    def run(_argv: Sequence[str], _timeout: float) -> Finished:
        raise TimeoutError

    reader = InterfaceReader("gpu01", run=run, which=str, root=str(tmp_path), generators=())
    with pytest.raises(UnreachableError, match="gpu01: netplan generate"), netplan_copy(reader):
        pass


def test_netplan_files_are_made_by_configure_where_it_is_there() -> None:
    assert [pathlib.Path(path).name for path in InterfaceReader("gpu01").generators][:2] == ["configure", "generate"]


@pytest.mark.parametrize(
    "said", ["address: 198.51.100.11\nmtu: 9000\n", "auto ens224\niface ens224 inet static\n\tmtu 9000\n"]
)
def test_mtu_of_both_kinds_of_ifupdown(said: str, tmp_path: pathlib.Path) -> None:
    (tmp_path / "etc/network").mkdir(parents=True)
    (tmp_path / "etc/network/interfaces").write_text(STANZA)

    def run(argv: Sequence[str], _timeout: float) -> Finished:
        return Finished(0, said, "") if argv[0] == "ifquery" else Finished(1, "", "")

    keeper = InterfaceReader("gpu01", run=run, which=str, root=str(tmp_path)).keeper(Link("ens224"), {})
    assert (keeper.kind, keeper.mtu) == ("ifupdown", "9000")


def test_manager_vlan_without_a_name_gets_that_of_parent_and_id() -> None:
    text = KEYFILE.replace("ethernet\ninterface-name=ens224", "vlan") + "\n[vlan]\nparent=ens224\nid=78\n"
    vlan: dict[str, Any] = {"ifname": "ens224.78", "link": "ens224", "linkinfo": {"info_kind": "vlan"}}
    assert found(PROFILE, text, **vlan) == ([], [])


def test_stanza_that_an_image_for_clouds_makes_in_run_is_read(tmp_path: pathlib.Path) -> None:
    for name, text in {"etc/network/interfaces": "source-directory /run/network/interfaces.d\n",
                       "run/network/interfaces.d/ens224": STANZA}.items():  # fmt: skip
        (tmp_path / name).parent.mkdir(parents=True)
        (tmp_path / name).write_text(text)
    tree = read_tree(InterfaceReader("gpu01", which=lambda _name: None, root=str(tmp_path), generators=()))
    assert [one.interface for one in parse(tree).stanzas] == ["ens224"]


def test_lease_of_networkd_without_an_end_is_a_lease(tmp_path: pathlib.Path) -> None:
    """Its address is permanent for the kernel, so that ``ip`` does not say that it is dynamic."""
    for name, text in {"links": f"NETWORK_FILE={NETWORKD}\n", "leases": "ADDRESS=198.51.100.11\n"}.items():
        (tmp_path / "run/systemd/netif" / name).mkdir(parents=True)
        (tmp_path / "run/systemd/netif" / name / "3").write_text(text)

    def run(argv: Sequence[str], _timeout: float) -> Finished:
        return Finished(0, json.dumps([ROW] if "address" in argv else []), "")

    present = read_present(InterfaceReader("gpu01", run=run, which=str, root=str(tmp_path), sysfs=Sysfs(str(tmp_path))))
    tree = Tree(
        {NETWORKD: "[Match]\nName=ens224\n\n[Network]\nDHCP=ipv4\n"}, links={f"{WANTS}/systemd-networkd.service"}
    )
    assert compare(present, next_boot(tree, present)) == []


def test_fstab_words_behind_the_sixth_are_a_comment() -> None:
    entries, wrong = parse_fstab("UUID=AA-11 /boot/efi vfat defaults 0 1 # the first disk\n/dev/sdd1 /data\n")
    assert ([entry.target for entry in entries], wrong) == (["/boot/efi"], ["/dev/sdd1 /data"])


def test_commands_with_blanks_at_the_end_are_read() -> None:
    boot = NextBoot()
    commands("/sbin/ifconfig ens224   ", "/etc/rc.local", boot)
    assert boot.interfaces["ens224"].down_by == ""


@pytest.mark.parametrize(
    "line",
    ["ifconfig ens224 198.51.100.11/24 mtu 9000 up", "ifconfig ens224 198.51.100.11 netmask 255.255.255.0 mtu 9000"],
)
@pytest.mark.parametrize("shell", ["/usr/sbin/{}", "/bin/sh -c 'sleep 1; {}'"])
def test_what_ifconfig_sets_is_seen(line: str, shell: str) -> None:
    boot = NextBoot()
    commands(shell.format(line), "/etc/rc.local", boot)
    planned = boot.interfaces["ens224"]
    assert (list(planned.addresses), planned.mtu) == (["198.51.100.11/24"], 9000)


def test_ifcfg_further_addresses_of_ipv6_come_again() -> None:
    lines = "IPV6ADDR=2001:db8::11/64\nIPV6ADDR_SECONDARIES='2001:db8::12/64 2001:db8::13/64'\n"
    addresses = [{"local": f"2001:db8::1{number}", "prefixlen": 64, "scope": "global"} for number in (1, 2, 3)]
    assert found(IFCFG, STATIC + lines, addr_info=[ADDRESS, *addresses]) == ([], [])
