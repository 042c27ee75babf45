# ruff: noqa: E501
"""Guests as folders before a restart: 32 that come back as they are, and 36 with an edit that nobody has finished.

Each guest: its files, what ``ip`` prints now, and for the second kind the differences as (code, place) with a word of the
file that makes them. Written down before the reader was run on them.
"""

from __future__ import annotations

import copy
import dataclasses
from typing import Any, Callable

WANTS = "/etc/systemd/system/multi-user.target.wants"
NETWORKD, MANAGER, IFUPDOWN = "systemd-networkd", "NetworkManager", "networking"
DROPIN = "/etc/systemd/network/{}.d/90-rocemesh-mtu.conf"
OUR_MTU = "[Link]\nMTUBytes=9000\n"
CLOUD = "/etc/netplan/50-cloud-init.yaml"
KEYFILES = "/etc/NetworkManager/system-connections"
DEFAULT_LINK = {
    "/usr/lib/systemd/network/99-default.link": "[Match]\nOriginalName=*\n\n[Link]\n"
    "NamePolicy=keep kernel database onboard slot path\nAlternativeNamesPolicy=database onboard slot path\n"
}


@dataclasses.dataclass
class Guest:
    """``files``: path -> text, "->TARGET" for a link, and (text, mode) for another mode than 0600."""

    files: dict[str, Any]
    rows: list[dict[str, Any]]
    routes: list[dict[str, Any]]
    routes6: list[dict[str, Any]] = dataclasses.field(default_factory=list)
    managed: dict[str, str] = dataclasses.field(default_factory=dict)  # interface -> file of networkd, or UUID
    drivers: dict[str, str] = dataclasses.field(default_factory=lambda: {"ens192": "vmxnet3", "ens224": "mlx5_core"})
    udev: dict[str, dict[str, str]] = dataclasses.field(default_factory=dict)
    mounts: list[str] = dataclasses.field(default_factory=list)
    disks: dict[str, tuple[int, int]] = dataclasses.field(default_factory=dict)  # below /dev/disk
    command_line: str = "BOOT_IMAGE=/vmlinuz root=UUID=11 ro"

    def row(self, name: str) -> dict[str, Any]:
        return next(row for row in self.rows if row["ifname"] == name)


def row(index: int, name: str, *addresses: str, mtu: int = 1500, **more: Any) -> dict[str, Any]:
    told = []
    for text in addresses:
        address, _slash, prefix = text.partition("/")
        prefix, dynamic, _rest = prefix.partition("*")
        one: dict[str, Any] = {"local": address, "prefixlen": int(prefix), "scope": "global"}
        told.append({**one, "family": "inet6" if ":" in address else "inet", **({"dynamic": True} if dynamic else {})})
    flags = more.pop("flags", ["BROADCAST", "MULTICAST", "UP", "LOWER_UP"])
    kind = more.pop("kind", "")
    return {
        "ifindex": index,
        "ifname": name,
        "flags": flags,
        "mtu": mtu,
        "link_type": "ether",
        "address": f"00:50:56:00:00:{index:02x}",
        "addr_info": told,
        **({"linkinfo": {"info_kind": kind}} if kind else {}),
        **more,
    }


def route(dst: str, dev: str, via: str = "", protocol: str = "static") -> dict[str, Any]:
    return {"dst": dst, "dev": dev, **({"gateway": via} if via else {}), "protocol": protocol, "flags": []}


def connected(*pairs: tuple[str, str]) -> list[dict[str, Any]]:
    return [route(network, dev, protocol="kernel") | {"scope": "link"} for network, dev in pairs]


def netplan(*lines: str, kind: str = "ethernets", renderer: str = "networkd") -> str:
    return "\n".join(
        ["network:", "  version: 2", f"  renderer: {renderer}", f"  {kind}:", *(f"    {one}" for one in lines), ""]
    )


MANAGEMENT = "ens192: {addresses: [192.0.2.11/24], routes: [{to: default, via: 192.0.2.1}]}"
ROCE = "ens224: {addresses: [198.51.100.11/24]}"
LOOPBACK = {
    "ifindex": 1,
    "ifname": "lo",
    "flags": ["LOOPBACK", "UP"],
    "mtu": 65536,
    "link_type": "loopback",
    "addr_info": [],
}
KERNEL_ROUTES = connected(("192.0.2.0/24", "ens192"), ("198.51.100.0/24", "ens224"))


def enabled(unit: str) -> dict[str, str]:
    return {f"{WANTS}/{unit}.service": f"->/usr/lib/systemd/system/{unit}.service"}


def made(name: str) -> str:
    return f"/run/systemd/network/10-netplan-{name}.network"


def of_netplan(*lines: str, extra: dict[str, Any] | None = None) -> Guest:
    return Guest(
        {
            CLOUD: netplan(*(lines or (MANAGEMENT, ROCE))),
            DROPIN.format("10-netplan-ens224.network"): (OUR_MTU, 0o644),
            **enabled(NETWORKD),
            **(extra or {}),
        },
        [LOOPBACK, row(2, "ens192", "192.0.2.11/24"), row(3, "ens224", "198.51.100.11/24", mtu=9000)],
        [route("default", "ens192", "192.0.2.1"), *KERNEL_ROUTES],
        managed={"ens192": made("ens192"), "ens224": made("ens224")},
    )


def of_networkd(management: str = "", roce: str = "") -> Guest:
    files = {
        "/etc/systemd/network/10-lan.network": management
        or "[Match]\nName=ens192\n\n[Network]\nAddress=192.0.2.11/24\nGateway=192.0.2.1\n",
        "/etc/systemd/network/20-roce.network": roce
        or "[Match]\nName=ens224\n\n[Link]\nMTUBytes=9000\n\n[Network]\nAddress=198.51.100.11/24\n",
        "/usr/lib/systemd/network/80-container-host0.network": "[Match]\nVirtualization=container\nName=host0\n\n[Network]\nDHCP=yes\n",
        "/usr/lib/systemd/network/80-container-ve.network": "[Match]\nName=ve-*\nDriver=veth\n\n[Network]\nDHCPServer=yes\n",
        **enabled(NETWORKD),
    }
    guest = of_netplan()
    return dataclasses.replace(
        guest,
        files=files,
        managed={"ens192": "/etc/systemd/network/10-lan.network", "ens224": "/etc/systemd/network/20-roce.network"},
    )


def keyfile(name: str, uuid: str, *ipv4: str, mtu: int = 0, more: str = "") -> str:
    ethernet = f"[ethernet]\nmtu={mtu}\n\n" if mtu else "[ethernet]\n\n"
    lines = "\n".join(ipv4) or "method=auto"
    return (
        f"[connection]\nid={name}\nuuid={uuid}\ntype=ethernet\ninterface-name={name}\n{more}\n{ethernet}"
        f"[ipv4]\n{lines}\n\n[ipv6]\naddr-gen-mode=default\nmethod=auto\n\n[proxy]\n"
    )


def of_manager() -> Guest:
    guest = of_netplan()
    return dataclasses.replace(
        guest,
        files={
            f"{KEYFILES}/ens192.nmconnection": keyfile(
                "ens192", "u-192", "address1=192.0.2.11/24,192.0.2.1", "method=manual"
            ),
            f"{KEYFILES}/ens224.nmconnection": keyfile(
                "ens224", "u-224", "address1=198.51.100.11/24", "method=manual", mtu=9000
            ),
            "/etc/NetworkManager/NetworkManager.conf": ("[main]\n#plugins=keyfile,ifcfg-rh\n", 0o644),
            **enabled(MANAGER),
        },
        managed={"ens192": "u-192", "ens224": "u-224"},
    )


LO = "auto lo\niface lo inet loopback\n"
ETC_INTERFACES = "/etc/network/interfaces"


def of_ifupdown(management: str = "", roce: str = "") -> Guest:
    guest = of_netplan()
    return dataclasses.replace(
        guest,
        files={
            ETC_INTERFACES: f"source /etc/network/interfaces.d/*\n\n{LO}\n"
            + (management or "auto ens192\niface ens192 inet static\n  address 192.0.2.11/24\n  gateway 192.0.2.1\n"),
            "/etc/network/interfaces.d/roce": roce
            or "allow-hotplug ens224\niface ens224 inet static\n  address 198.51.100.11\n  netmask 255.255.255.0\n  mtu 9000\n",
            **enabled(IFUPDOWN),
        },
        routes=[{"dst": "default", "gateway": "192.0.2.1", "dev": "ens192", "flags": ["onlink"]}, *KERNEL_ROUTES],
        managed={"ens192": "ifupdown", "ens224": "ifupdown"},
    )


# ---- sound ----------------------------------------------------------------------------------------------------------


def dhcp(guest: Guest) -> Guest:
    guest.rows[1] = row(2, "ens192", "192.0.2.11/24*")
    guest.routes[0] = route("default", "ens192", "192.0.2.1", "dhcp")
    return guest


def glob() -> Guest:
    guest = of_netplan("nics: {match: {name: 'ens*'}, dhcp4: true, dhcp4-overrides: {use-mtu: false}}")
    guest.rows[1:] = [row(2, "ens192", "192.0.2.11/24*"), row(3, "ens224", "198.51.100.11/24*", mtu=9000)]
    guest.routes[0] = route("default", "ens192", "192.0.2.1", "dhcp")
    guest.files.pop(DROPIN.format("10-netplan-ens224.network"))
    guest.files["/etc/rocemesh/mtu/ens224"] = "ens224 9000\n"
    guest.files["/etc/systemd/system/sys-subsystem-net-devices-ens224.device.wants/rocemesh-mtu@ens224.service"] = (
        "->/etc/systemd/system/rocemesh-mtu@.service"
    )
    guest.managed = {"ens192": made("nics"), "ens224": made("nics")}
    return guest


def vlan() -> Guest:
    guest = of_netplan(MANAGEMENT, "ens224: {}")
    guest.files["/etc/netplan/60-roce.yaml"] = netplan(
        "roce78: {id: 78, link: ens224, addresses: [198.51.100.11/24]}", kind="vlans"
    )
    guest.rows[2] = row(3, "ens224", mtu=9000)
    guest.rows.append(row(4, "roce78", "198.51.100.11/24", mtu=9000, kind="vlan", link="ens224"))
    guest.files["/etc/rocemesh/mtu/roce78"] = "ens224 9000\nroce78 9000\n"
    guest.files["/etc/systemd/system/sys-subsystem-net-devices-roce78.device.wants/rocemesh-mtu@roce78.service"] = (
        "->/etc/systemd/system/rocemesh-mtu@.service"
    )
    guest.routes[-1] = connected(("198.51.100.0/24", "roce78"))[0]
    guest.managed["roce78"] = made("roce78")
    return guest


def bond() -> Guest:
    guest = of_netplan(MANAGEMENT, "ens224: {}", "ens256: {}")
    guest.files["/etc/netplan/60-bond.yaml"] = netplan(
        "bond0: {interfaces: [ens224, ens256], addresses: [198.51.100.11/24], parameters: {mode: 802.3ad}}",
        kind="bonds",
    )
    guest.files.pop(DROPIN.format("10-netplan-ens224.network"))
    guest.files[DROPIN.format("10-netplan-bond0.network")] = (OUR_MTU, 0o644)
    guest.rows[2:] = [
        row(3, "ens224", mtu=9000, master="bond0"),
        row(4, "ens256", mtu=9000, master="bond0"),
        row(5, "bond0", "198.51.100.11/24", mtu=9000, kind="bond"),
    ]
    guest.drivers["ens256"] = "mlx5_core"
    guest.routes[-1] = connected(("198.51.100.0/24", "bond0"))[0]
    guest.managed |= {"ens256": made("ens256"), "bond0": made("bond0")}
    return guest


def netplan_with_manager() -> Guest:
    guest = of_netplan()
    guest.files = {
        CLOUD: netplan(MANAGEMENT, "ens224: {addresses: [198.51.100.11/24], mtu: 9000}", renderer="NetworkManager"),
        **enabled(MANAGER),
    }
    guest.managed = {"ens192": "netplan-1", "ens224": "netplan-2"}
    return guest


def dual_stack() -> Guest:
    guest = of_netplan(
        "ens192: {addresses: [192.0.2.11/24], accept-ra: true, routes: [{to: default, via: 192.0.2.1}]}",
        "ens224: {addresses: [198.51.100.11/24, '2001:db8:0:0::11/64'], accept-ra: false}",
    )
    guest.rows[1] = row(2, "ens192", "192.0.2.11/24", "2001:db8:1::250:56ff:fe00:2/64*")
    guest.rows[2] = row(3, "ens224", "198.51.100.11/24", "2001:db8::11/64", mtu=9000)
    guest.routes6 = [
        route("default", "ens192", "fe80::1", "ra"),
        route("2001:db8::/64", "ens224", protocol="kernel"),
        route("fe80::/64", "ens192", protocol="kernel"),
    ]
    return guest


def with_engine() -> Guest:
    guest = of_netplan()
    guest.rows += [
        row(4, "docker0", "172.17.0.1/16", kind="bridge"),
        row(5, "br-1a2b", "172.18.0.1/16", kind="bridge"),
        row(6, "veth12@if5", master="docker0", kind="veth", mtu=1400),
        row(7, "cni0", "10.42.0.1/24", kind="bridge", mtu=1450),
        row(8, "wg0", "10.8.0.1/24", kind="wireguard", mtu=1420),
    ]
    guest.routes += [*connected(("172.17.0.0/16", "docker0")), route("10.43.0.0/16", "ens192", "192.0.2.12", "bird")]
    return guest


def no_carrier() -> Guest:
    guest = of_netplan(
        MANAGEMENT,
        ROCE,
        "ens256: {addresses: [203.0.113.11/24], routes: [{to: 203.0.114.0/24, via: 203.0.113.1}], optional: true}",
    )
    guest.rows.append(row(4, "ens256", flags=["NO-CARRIER", "BROADCAST", "MULTICAST", "UP"]))
    guest.drivers["ens256"] = "vmxnet3"
    guest.managed["ens256"] = made("ens256")
    return guest


def gateway4() -> Guest:
    return of_netplan("ens192: {addresses: [192.0.2.11/24], gateway4: 192.0.2.1}", ROCE)


def set_name() -> Guest:
    guest = of_netplan(
        MANAGEMENT,
        "roce0: {match: {macaddress: '00:50:56:00:00:03'}, set-name: roce0, addresses: [198.51.100.11/24]}",
        extra=DEFAULT_LINK,
    )
    guest.files[DROPIN.format("10-netplan-roce0.network")] = (OUR_MTU, 0o644)
    guest.rows[2] = row(3, "roce0", "198.51.100.11/24", mtu=9000)
    guest.routes[-1] = connected(("198.51.100.0/24", "roce0"))[0]
    guest.drivers = {"ens192": "vmxnet3", "roce0": "mlx5_core"}
    guest.managed = {"ens192": made("ens192"), "roce0": made("roce0")}
    guest.udev = {
        "ens192": {"ID_NET_NAME_SLOT": "ens192", "ID_NET_NAME_PATH": "enp11s0"},
        "roce0": {"ID_NET_NAME_SLOT": "ens224", "ID_NET_NAME_PATH": "enp19s0"},
    }
    return guest


def virtual_address() -> Guest:
    guest = of_netplan()
    guest.rows[1] = row(2, "ens192", "192.0.2.11/24", "192.0.2.100/32")
    guest.routes += [route("203.0.113.0/24", "ens192", "192.0.2.254", "zebra")]
    return guest


def networkd_lease() -> Guest:
    guest = dhcp(of_networkd("[Match]\nName=en*\nType=ether\n\n[Network]\nDHCP=yes\n\n[DHCPv4]\nUseMTU=yes\n"))
    guest.files["/etc/systemd/network/05-roce.network"] = guest.files.pop("/etc/systemd/network/20-roce.network")
    guest.managed["ens224"] = "/etc/systemd/network/05-roce.network"
    guest.rows[1]["mtu"] = 1450
    return guest


def networkd_dropin() -> Guest:
    guest = of_networkd(roce="[Match]\nName=ens224\n\n[Network]\nDescription=rail\n")
    guest.files["/etc/systemd/network/20-roce.network.d/50-address.conf"] = "[Network]\nAddress=198.51.100.11/24\n"
    guest.files[DROPIN.format("20-roce.network")] = OUR_MTU
    return guest


def networkd_bridge() -> Guest:
    guest = of_networkd("[Match]\nName=ens192\n\n[Network]\nBridge=br0\n")
    guest.files["/etc/systemd/network/10-br0.netdev"] = "[NetDev]\nName=br0\nKind=bridge\n"
    guest.files["/etc/systemd/network/11-br0.network"] = (
        "[Match]\nName=br0\n\n[Network]\nAddress=192.0.2.11/24\n\n[Route]\nGateway=192.0.2.1\n"
    )
    guest.rows[1] = row(2, "ens192", master="br0")
    guest.rows.append(row(4, "br0", "192.0.2.11/24", kind="bridge"))
    guest.routes[:2] = [route("default", "br0", "192.0.2.1"), *connected(("192.0.2.0/24", "br0"))]
    guest.managed["br0"] = "/etc/systemd/network/11-br0.network"
    return guest


def networkd_property() -> Guest:
    guest = of_networkd()
    guest.files["/usr/lib/systemd/network/89-ethernet.network"] = (
        "[Match]\nType=ether\nKind=!*\nProperty=ID_NET_DRIVER=ena\n\n[Network]\nDHCP=yes\n"
    )
    return guest


RULES = "/etc/udev/rules.d/{}.rules"
APPEARS = 'SUBSYSTEM=="net", ACTION=="add"'
BARE_ROCE = "[Match]\nName=ens224\n\n[Network]\nAddress=198.51.100.11/24\n"


def udev_rules() -> Guest:
    """Which of them are for the interface, and which of two MTUs stays, was seen with udev 252."""
    guest = of_networkd(roce=BARE_ROCE)
    guest.files |= {
        RULES.format("70-early"): f'{APPEARS}, NAME=="ens224", ATTR{{mtu}}="1400"\n{APPEARS}, ATTR{{mtu}}="2000"\n',
        "/etc/systemd/network/10-roce.link": "[Match]\nMACAddress=00:50:56:00:00:03\n\n[Link]\nNamePolicy=slot\nMTUBytes=4000\n",
        RULES.format("90-late"): f'{APPEARS}, \\\n  DRIVERS=="mlx5_*|ice", NAME!="lo|ens1??", ATTR{{mtu}}:="9000"\n'
        f'# {APPEARS}, ATTR{{mtu}}="1401"\n{APPEARS}, ATTR{{mtu}}="9K"\n{APPEARS}, ENV{{ID_PATH}}=="x", ATTR{{mtu}}="1402"\n'
        f'{APPEARS}, KERNEL=="eth0", DRIVERS=="igb", ATTR{{mtu}}="1403"\n',
        RULES.format("95-lan"): f'{APPEARS}, ATTR{{address}}=="00:50:56:00:00:02", ATTR{{mtu}}="1500"\n',
    }
    guest.udev = {name: {"ID_NET_NAME_SLOT": name} for name in ("ens192", "ens224")}
    return guest


def networkd_routes() -> Guest:
    guest = of_networkd(
        "[Match]\nMACAddress=00:50:56:00:00:02\n\n[Network]\nAddress=192.0.2.11/24\n\n[Address]\nAddress=192.0.2.21/24\n\n"
        "[Route]\nGateway=192.0.2.1\n\n[Route]\nDestination=203.0.113.0/24\nScope=link\n\n[Route]\nDestination=203.0.114.7/32\nGateway=192.0.2.9\n\n"
        "[Route]\nGateway=192.0.2.1\nTable=100\n"
    )
    guest.rows[1] = row(2, "ens192", "192.0.2.11/24", "192.0.2.21/24")
    guest.routes += [route("203.0.113.0/24", "ens192") | {"scope": "link"}, route("203.0.114.7", "ens192", "192.0.2.9")]
    return guest


def manager_without_profile() -> Guest:
    guest = of_manager()
    guest.files.pop(f"{KEYFILES}/ens192.nmconnection")
    return dhcp(guest)


def ifcfg() -> Guest:
    guest = of_manager()
    guest.files = {
        "/etc/sysconfig/network-scripts/ifcfg-ens192": (
            'TYPE="Ethernet"\nBOOTPROTO="none"\nNAME="ens192"\nUUID="u-192"\nDEVICE="ens192"\n'
            'ONBOOT="yes"\nIPADDR="192.0.2.11"\nPREFIX="24"\nGATEWAY="192.0.2.1"\n'
        ),
        "/etc/sysconfig/network-scripts/ifcfg-ens224": (
            "TYPE=Ethernet\nBOOTPROTO=static\nUUID=u-224\nDEVICE=ens224\nONBOOT=yes\n"
            "IPADDR=198.51.100.11\nNETMASK=255.255.255.0\nMTU=9000\n"
        ),
        "/etc/sysconfig/network-scripts/ifcfg-lo": "DEVICE=lo\nIPADDR=127.0.0.1\n",
        **enabled(MANAGER),
    }
    return guest


def manager_bond() -> Guest:
    guest = of_manager()
    guest.files.pop(f"{KEYFILES}/ens224.nmconnection")
    guest.files |= {
        f"{KEYFILES}/bond0.nmconnection": (
            "[connection]\nid=bond0\nuuid=u-b\ntype=bond\ninterface-name=bond0\n\n[ethernet]\n"
            "mtu=9000\n\n[bond]\nmode=active-backup\n\n[ipv4]\naddress1=198.51.100.11/24\n"
            "method=manual\n\n[ipv6]\nmethod=ignore\n"
        ),
        f"{KEYFILES}/p1.nmconnection": "[connection]\nid=p1\nuuid=u-p1\ntype=ethernet\ninterface-name=ens224\nmaster=u-b\nslave-type=bond\n",
        f"{KEYFILES}/p2.nmconnection": "[connection]\nid=p2\nuuid=u-p2\ntype=ethernet\ninterface-name=ens256\ncontroller=bond0\nport-type=bond\n",
    }
    guest.rows[2:] = [
        row(3, "ens224", mtu=9000, master="bond0"),
        row(4, "ens256", mtu=9000, master="bond0"),
        row(5, "bond0", "198.51.100.11/24", mtu=9000, kind="bond"),
    ]
    guest.drivers["ens256"] = "mlx5_core"
    guest.routes[-1] = connected(("198.51.100.0/24", "bond0"))[0]
    guest.managed |= {"ens224": "u-p1", "ens256": "u-p2", "bond0": "u-b"}
    return guest


def manager_vlan() -> Guest:
    guest = of_manager()
    guest.files[f"{KEYFILES}/ens224.nmconnection"] = keyfile("ens224", "u-224", "method=disabled", mtu=9000)
    guest.files[f"{KEYFILES}/v.nmconnection"] = (
        "[connection]\nid=v\nuuid=u-v\ntype=vlan\ninterface-name=ens224.78\n\n[vlan]\nid=78\n"
        "parent=ens224\n\n[ipv4]\naddress1=198.51.100.11/24\nmethod=manual\n"
    )
    guest.rows[2] = row(3, "ens224", mtu=9000)
    guest.rows.append(row(4, "ens224.78", "198.51.100.11/24", mtu=9000, kind="vlan", link="ens224"))
    guest.routes[-1] = connected(("198.51.100.0/24", "ens224.78"))[0]
    guest.managed["ens224.78"] = "u-v"
    return guest


def both_managers() -> Guest:
    """RoCE by networkd, the rest by NetworkManager, which is kept from it."""
    guest = of_manager()
    guest.files.pop(f"{KEYFILES}/ens224.nmconnection")
    guest.files["/etc/NetworkManager/conf.d/10-roce.conf"] = (
        "[keyfile]\nunmanaged-devices=interface-name:ens224;interface-name:veth*\n"
    )
    guest.files["/etc/systemd/network/20-roce.network"] = (
        "[Match]\nName=ens224\n\n[Link]\nMTUBytes=9000\n\n[Network]\nAddress=198.51.100.11/24\n"
    )
    guest.files |= enabled(NETWORKD)
    guest.managed["ens224"] = "/etc/systemd/network/20-roce.network"
    return guest


def two_profiles() -> Guest:
    guest = of_manager()
    guest.files[f"{KEYFILES}/old.nmconnection"] = keyfile(
        "ens192", "u-old", "method=auto", more="autoconnect-priority=-10"
    )
    guest.files[f"{KEYFILES}/spare.nmconnection"] = keyfile(
        "ens224", "u-spare", "method=auto", more="autoconnect=false"
    )
    guest.files[f"{KEYFILES}/.ens192.nmconnection.swp"] = "b0VIM"
    return guest


def same_priority() -> Guest:
    """Two of one priority: NetworkManager takes again the one that was up last."""
    guest = of_manager()
    guest.files[f"{KEYFILES}/a-other.nmconnection"] = keyfile("ens192", "u-other", "method=auto")
    guest.files["/var/lib/NetworkManager/timestamps"] = "[timestamps]\nu-other=1600000000\nu-192=1700000000\n"
    return guest


def ifupdown_dhcp() -> Guest:
    guest = of_ifupdown("allow-hotplug ens192\niface ens192 inet dhcp\niface ens192 inet6 auto\n")
    guest.rows[1] = row(2, "ens192", "192.0.2.11/24*", "2001:db8:1::2/64*")
    return guest


def ifupdown_commands() -> Guest:
    guest = of_ifupdown(
        roce="auto ens224\niface ens224 inet static\n  address 198.51.100.11/24\n  mtu 9000\n"
        "  up ip route add 203.0.113.0/24 via 198.51.100.1 dev $IFACE\n  post-up /sbin/ip route add 203.0.114.0/24 via 198.51.100.1 || true\n"
        "  pre-up sleep 1; echo ready\n"
    )
    guest.routes += [
        {"dst": "203.0.113.0/24", "gateway": "198.51.100.1", "dev": "ens224"},
        {"dst": "203.0.114.0/24", "gateway": "198.51.100.1", "dev": "ens224"},
    ]
    return guest


def ifupdown_bond() -> Guest:
    guest = of_ifupdown(
        roce="auto bond0\niface bond0 inet static\n  address 198.51.100.11/24\n  bond-slaves ens224 ens256\n  bond-mode active-backup\n  mtu 9000\n\n"
        "iface bond0 inet6 static\n  address 2001:db8::11\n  netmask 64\n\nauto bond0.90\niface bond0.90 inet manual\n\n"
        "auto ens224\niface ens224 inet manual\nauto ens256\niface ens256 inet manual\n"
    )
    guest.rows[2:] = [
        row(3, "ens224", mtu=9000, master="bond0"),
        row(4, "ens256", mtu=9000, master="bond0"),
        row(5, "bond0", "198.51.100.11/24", "2001:db8::11/64", mtu=9000, kind="bond"),
        row(6, "bond0.90", mtu=9000, kind="vlan", link="bond0"),
    ]
    guest.drivers["ens256"] = "mlx5_core"
    guest.routes[-1] = connected(("198.51.100.0/24", "bond0"))[0]
    guest.managed |= dict.fromkeys(("ens256", "bond0", "bond0.90"), "ifupdown")
    return guest


ROOT = "29 1 8:2 / / rw,relatime shared:1 - ext4 /dev/sda2 rw"


def file_systems() -> Guest:
    guest = of_netplan()
    guest.files["/etc/fstab"] = (
        '# <file system> <mount point> <type> <options>\nLABEL=root / ext4 defaults 0 1\nUUID="AA-11" /boot/efi vfat umask=0077 0 1\n'
        "/swap.img none swap sw 0 0\nnas:/data /data nfs4 noauto,_netdev 0 0\nLABEL=spare /spare ext4 defaults,nofail 0 2\n"
        "PARTLABEL=gpu\\040sets /sets xfs defaults 0 2\n"
        "nas:/home /home nfs4 _netdev 0 0\n/data/sets /srv/sets none bind,noauto 0 0\n"
    )
    guest.disks = {"by-label/root": (8, 2), "by-uuid/AA-11": (8, 1), "by-partlabel/gpu\\x20sets": (8, 3)}
    guest.mounts = [
        ROOT,
        "30 29 8:1 / /boot/efi rw - vfat /dev/sda1 rw",
        "31 29 0:50 / /home rw - nfs4 nas:/home rw,vers=4.2",
        "32 29 8:3 / /sets rw - xfs /dev/sda3 rw",
    ]
    return guest


def other_mounts() -> Guest:
    guest = of_netplan()
    guest.files["/etc/systemd/system/scratch.mount"] = (
        "[Mount]\nWhat=/dev/sdb1\nWhere=/scratch\n\n[Install]\nWantedBy=multi-user.target\n"
    )
    guest.files |= {f"{WANTS}/scratch.mount": "->/etc/systemd/system/scratch.mount"}
    guest.mounts = [
        ROOT,
        "40 29 7:1 / /snap/core/1 ro - squashfs /dev/loop1 ro",
        "41 29 0:60 / /var/lib/docker/overlay2/a/merged rw - overlay overlay rw",
        "42 29 8:17 / /scratch rw - xfs /dev/sdb1 rw",
        "43 29 0:61 / /net rw - autofs auto.net rw",
        "44 43 0:62 / /net/nas rw - nfs4 nas:/x rw",
        "45 29 8:2 /var/sets /srv/sets rw - ext4 /dev/sda2 rw",
        "46 29 0:63 / /run/user/0 rw - tmpfs tmpfs rw",
        "47 29 0:64 / /var/lib/kubelet/pods/1/volumes/v rw - nfs4 nas:/pv rw",
    ]
    return guest


def manager_beside_engine() -> Guest:
    """As read in a guest of Debian 12 with Docker: NetworkManager made a profile of the bridge that it found."""
    guest = of_manager()
    guest.rows.append(row(4, "docker0", "172.17.0.1/16", kind="bridge"))
    guest.routes += [*connected(("172.17.0.0/16", "docker0"))]
    guest.managed["docker0"] = "u-docker0"
    guest.files["/run/NetworkManager/system-connections/docker0.nmconnection"] = (
        "[connection]\nid=docker0\nuuid=u-docker0\ntype=bridge\nautoconnect=false\ninterface-name=docker0\n\n[bridge]\n"
        "stp=false\n\n[ipv4]\naddress1=172.17.0.1/16\nmethod=manual\n\n[.nmmeta]\nnm-generated=true\nvolatile=true\n"
        "external=true\n"
    )
    return guest


SOUND: dict[str, Callable[[], Guest]] = {
    "netplan": of_netplan,
    "netplan-dhcp": lambda: dhcp(of_netplan("ens192: {dhcp4: true}", ROCE)),
    "netplan-glob-and-our-unit": glob,
    "netplan-vlan": vlan,
    "netplan-bond": bond,
    "netplan-with-manager": netplan_with_manager,
    "netplan-dual-stack": dual_stack,
    "netplan-engine-bridges": with_engine,
    "netplan-optional-without-carrier": no_carrier,
    "netplan-gateway4": gateway4,
    "netplan-set-name": set_name,
    "virtual-address-and-routing-daemon": virtual_address,
    "networkd": of_networkd,
    "networkd-lease-mtu": networkd_lease,
    "networkd-drop-ins": networkd_dropin,
    "networkd-bridge": networkd_bridge,
    "networkd-property": networkd_property,
    "networkd-many-routes": networkd_routes,
    "udev-rules": udev_rules,
    "manager": of_manager,
    "manager-beside-engine": manager_beside_engine,
    "manager-without-profile": manager_without_profile,
    "manager-ifcfg": ifcfg,
    "manager-bond": manager_bond,
    "manager-vlan": manager_vlan,
    "manager-beside-networkd": both_managers,
    "manager-spare-profiles": two_profiles,
    "manager-same-priority": same_priority,
    "ifupdown": of_ifupdown,
    "ifupdown-dhcp": ifupdown_dhcp,
    "ifupdown-commands": ifupdown_commands,
    "ifupdown-bond": ifupdown_bond,
    "fstab": file_systems,
    "mounts-of-others": other_mounts,
}


# ---- half-done ------------------------------------------------------------------------------------------------------


@dataclasses.dataclass(frozen=True)
class Broken:
    guest: Callable[[], Guest]
    found: frozenset[tuple[str, str]]
    file: str


def edited(base: Callable[..., Guest], *changes: tuple[str, Any], **more: Any) -> Callable[[], Guest]:
    """The running guest of ``base``, with files of someone's unfinished edit; None takes a file away."""

    def build() -> Guest:
        guest = copy.deepcopy(base())
        for path, text in changes:
            if text is None:
                guest.files.pop(path)
            else:
                guest.files[path] = text
        return dataclasses.replace(guest, **more)

    return build


def glob_static() -> Guest:
    """One id for all, as some images have it; ens224 is in use by it."""
    guest = of_netplan("nics: {match: {name: 'ens2*'}, addresses: [198.51.100.11/24]}", MANAGEMENT)
    guest.files.pop(DROPIN.format("10-netplan-ens224.network"))
    guest.rows[2]["mtu"] = 1500
    guest.managed["ens224"] = made("nics")
    return guest


def one_interface() -> Guest:
    guest = of_netplan("nics: {match: {name: 'e*'}, dhcp4: true}")
    guest.rows[1:] = [row(2, "eth0", "192.0.2.11/24*")]
    guest.routes = [route("default", "eth0", "192.0.2.1", "dhcp"), *connected(("192.0.2.0/24", "eth0"))]
    guest.drivers, guest.managed = {"eth0": "vmxnet3"}, {"eth0": made("nics")}
    return guest


# A file with an MTU alone: netplan then makes no configuration of the other files for this interface.
LEFTOVER = (
    "# Ansible managed\n"
    "# Only the MTU: addresses stay where they are configured. netplan merges the files by interface name.\n"
    "network:\n  version: 2\n  ethernets:\n    {}:\n      mtu: 9000\n"
)
OLD_UNIT = (
    "# Ansible managed\n[Unit]\nDescription=MTU of the RoCE interface ens224\n"
    "Wants=sys-subsystem-net-devices-ens224.device\nAfter=sys-subsystem-net-devices-ens224.device network.target\n\n[Service]\n"
    "Type=oneshot\nRemainAfterExit=yes\n"
    "ExecStart=/usr/bin/env ip link set dev ens224 mtu 9000\n\n[Install]\n"
    "WantedBy=multi-user.target\n"
)
OURS = "/etc/netplan/90-rocemesh-mtu.yaml"


def by_hand() -> Guest:
    return of_networkd(roce="[Match]\nName=ens224\n\n[Link]\nMTUBytes=9000\n\n[Network]\nLinkLocalAddressing=ipv6\n")


def live_mtu(base: Callable[..., Guest], mtu: int) -> Guest:
    guest = base()
    guest.row("ens224")["mtu"] = mtu
    return guest


def mounted(*lines: str, fstab: str = "LABEL=root / ext4 defaults 0 1\n") -> Guest:
    guest = of_netplan()
    guest.files["/etc/fstab"] = fstab
    guest.disks = {"by-label/root": (8, 2)}
    guest.mounts = [ROOT, *lines]
    return guest


MGMT_LOST = frozenset({("address", "ens192"), ("route", "ens192")})
ROCE_LOST = frozenset({("address", "ens224")})
BOTH_LOST = MGMT_LOST | {("address", "ens224")}
HALF_DONE: dict[str, Broken] = {
    "leftover-netplan-beside-a-glob": Broken(
        edited(glob_static, (OURS, LEFTOVER.format("ens224"))), ROCE_LOST | {("mtu", "ens224")}, "10-netplan-ens224"
    ),
    "leftover-netplan-only-interface": Broken(
        edited(one_interface, (OURS, LEFTOVER.format("eth0"))),
        frozenset({("address", "eth0"), ("route", "eth0"), ("mtu", "eth0")}),
        "10-netplan-eth0",
    ),
    "leftover-unit-with-another-mtu": Broken(
        edited(
            lambda: live_mtu(of_netplan, 1500),
            (DROPIN.format("10-netplan-ens224.network"), ("[Link]\nMTUBytes=1500\n", 0o644)),
            ("/etc/systemd/system/rocemesh-mtu.service", OLD_UNIT),
            (f"{WANTS}/rocemesh-mtu.service", "->/etc/systemd/system/rocemesh-mtu.service"),
        ),
        frozenset({("mtu", "ens224")}),
        "rocemesh-mtu.service",
    ),
    "udev-rule-before-a-link-file": Broken(
        edited(udev_rules, (RULES.format("90-late"), None)), frozenset({("mtu", "ens224")}), "10-roce.link"
    ),
    "udev-rule-alone": Broken(
        edited(udev_rules, (RULES.format("90-late"), None), ("/etc/systemd/network/10-roce.link", None)),
        frozenset({("mtu", "ens224")}),
        "70-early.rules",
    ),
    "netplan-address-edited": Broken(
        edited(of_netplan, (CLOUD, netplan(MANAGEMENT, "ens224: {addresses: [198.51.100.12/24]}"))),
        ROCE_LOST,
        "10-netplan-ens224",
    ),
    "netplan-interface-removed": Broken(
        edited(of_netplan, (CLOUD, netplan(MANAGEMENT))), ROCE_LOST | {("mtu", "ens224")}, "no file"
    ),
    "netplan-no-yaml": Broken(
        edited(of_netplan, (CLOUD, "network:\n  version: 2\n  ethernets:\n    ens192: {addresses: [192.0.2.11/24\n")),
        frozenset({("file_invalid", "/etc/netplan")}),
        "50-cloud-init.yaml",
    ),
    "netplan-unknown-key": Broken(
        edited(of_netplan, (CLOUD, netplan("ens192: {adresses: [192.0.2.11/24]}", ROCE))),
        frozenset({("file_invalid", "/etc/netplan")}),
        "50-cloud-init.yaml",
    ),
    "netplan-gateway-edited": Broken(
        edited(
            of_netplan,
            (CLOUD, netplan("ens192: {addresses: [192.0.2.11/24], routes: [{to: default, via: 192.0.2.254}]}", ROCE)),
        ),
        frozenset({("route", "ens192")}),
        "10-netplan-ens192",
    ),
    "netplan-mtu-edited": Broken(
        edited(
            of_netplan,
            (CLOUD, netplan(MANAGEMENT, "ens224: {addresses: [198.51.100.11/24], mtu: 1500}")),
            (DROPIN.format("10-netplan-ens224.network"), None),
        ),
        frozenset({("mtu", "ens224")}),
        "10-netplan-ens224",
    ),
    "netplan-dhcp-for-static": Broken(
        edited(of_netplan, (CLOUD, netplan("ens192: {dhcp4: true}", ROCE))),
        frozenset({("address", "ens192")}),
        "10-netplan-ens192",
    ),
    "netplan-manager-not-enabled": Broken(
        edited(of_netplan, (CLOUD, netplan(MANAGEMENT, ROCE, renderer="NetworkManager"))),
        BOTH_LOST | {("mtu", "ens224")},
        "no file",
    ),
    "netplan-vlan-not-applied": Broken(
        edited(
            of_netplan,
            (
                "/etc/netplan/60-v.yaml",
                netplan("v78: {id: 78, link: ens224, addresses: [203.0.113.5/24]}", kind="vlans"),
            ),
        ),
        frozenset({("address", "v78")}),
        "10-netplan-v78",
    ),
    "netplan-bond-member-removed": Broken(
        edited(
            bond,
            (
                "/etc/netplan/60-bond.yaml",
                netplan("bond0: {interfaces: [ens224], addresses: [198.51.100.11/24]}", kind="bonds"),
            ),
        ),
        frozenset({("master", "ens256")}),
        "10-netplan-ens256",
    ),
    "netplan-set-name-edited": Broken(
        edited(
            set_name,
            (
                CLOUD,
                netplan(
                    MANAGEMENT,
                    "roce0: {match: {macaddress: '00:50:56:00:00:03'}, set-name: rail0, addresses: [198.51.100.11/24]}",
                ),
            ),
        ),
        frozenset({("name", "roce0")}),
        "10-netplan-roce0.link",
    ),
    "netplan-file-renamed": Broken(
        edited(of_netplan, (CLOUD, None), (CLOUD + ".bak", netplan(MANAGEMENT, ROCE))),
        BOTH_LOST | {("mtu", "ens224")},
        "no file",
    ),
    "netplan-second-default-route": Broken(
        edited(
            of_netplan,
            (
                CLOUD,
                netplan(
                    MANAGEMENT, "ens224: {addresses: [198.51.100.11/24], routes: [{to: default, via: 198.51.100.1}]}"
                ),
            ),
        ),
        frozenset({("route", "ens224")}),
        "10-netplan-ens224",
    ),
    "networkd-address-by-hand": Broken(by_hand, ROCE_LOST, "20-roce.network"),
    "networkd-disabled": Broken(
        edited(of_networkd, (f"{WANTS}/{NETWORKD}.service", None)), BOTH_LOST | {("mtu", "ens224")}, "no file"
    ),
    "networkd-service-masked": Broken(
        edited(of_networkd, (f"/etc/systemd/system/{NETWORKD}.service", "->/dev/null")),
        BOTH_LOST | {("mtu", "ens224")},
        "no file",
    ),
    "networkd-file-masked": Broken(
        edited(of_networkd, ("/etc/systemd/network/20-roce.network", "->/dev/null")),
        ROCE_LOST | {("mtu", "ens224")},
        "no file",
    ),
    "networkd-earlier-file": Broken(
        edited(of_networkd, ("/etc/systemd/network/05-all.network", "[Match]\nName=en*\n\n[Network]\nDHCP=no\n")),
        BOTH_LOST | {("mtu", "ens224")},
        "05-all.network",
    ),
    "networkd-mtu-by-hand": Broken(
        lambda: live_mtu(
            lambda: of_networkd(roce="[Match]\nName=ens224\n\n[Network]\nAddress=198.51.100.11/24\n"), 9000
        ),
        frozenset({("mtu", "ens224")}),
        "20-roce.network",
    ),
    "networkd-name-typo": Broken(
        edited(
            of_networkd,
            (
                "/etc/systemd/network/10-lan.network",
                "[Match]\nName=ens129\n\n[Network]\nAddress=192.0.2.11/24\nGateway=192.0.2.1\n",
            ),
        ),
        MGMT_LOST,
        "no file",
    ),
    "networkd-drop-in-resets": Broken(
        edited(
            of_networkd,
            ("/etc/systemd/network/10-lan.network.d/z.conf", "[Network]\nAddress=\nAddress=192.0.2.111/24\n"),
        ),
        frozenset({("address", "ens192")}),
        "10-lan.network",
    ),
    "manager-file-readable-by-all": Broken(
        edited(
            of_manager,
            (f"{KEYFILES}/ens192.nmconnection", (of_manager().files[f"{KEYFILES}/ens192.nmconnection"], 0o644)),
        ),
        frozenset({("address", "ens192")}),
        "without a profile",
    ),
    "manager-address-edited": Broken(
        edited(
            of_manager,
            (
                f"{KEYFILES}/ens224.nmconnection",
                keyfile("ens224", "u-224", "address1=198.51.100.99/24", "method=manual", mtu=9000),
            ),
        ),
        ROCE_LOST,
        "ens224.nmconnection",
    ),
    "manager-autoconnect-off": Broken(
        edited(
            of_manager,
            (
                f"{KEYFILES}/ens224.nmconnection",
                keyfile(
                    "ens224", "u-224", "address1=198.51.100.11/24", "method=manual", mtu=9000, more="autoconnect=false"
                ),
            ),
        ),
        ROCE_LOST,
        "without a profile",
    ),
    "manager-other-profile-first": Broken(
        edited(
            of_manager,
            (
                f"{KEYFILES}/new.nmconnection",
                keyfile(
                    "ens192",
                    "u-new",
                    "address1=192.0.2.50/24,192.0.2.1",
                    "method=manual",
                    more="autoconnect-priority=10",
                ),
            ),
        ),
        frozenset({("address", "ens192")}),
        "new.nmconnection",
    ),
    "manager-disabled": Broken(
        edited(of_manager, (f"{WANTS}/{MANAGER}.service", None)), BOTH_LOST | {("mtu", "ens224")}, "no file"
    ),
    "manager-unmanaged": Broken(
        edited(
            of_manager, ("/etc/NetworkManager/conf.d/99-x.conf", "[keyfile]\nunmanaged-devices=interface-name:ens192\n")
        ),
        MGMT_LOST,
        "no file",
    ),
    "ifupdown-auto-removed": Broken(
        edited(
            of_ifupdown,
            ("/etc/network/interfaces.d/roce", "iface ens224 inet static\n  address 198.51.100.11/24\n  mtu 9000\n"),
        ),
        ROCE_LOST | {("mtu", "ens224")},
        "no file",
    ),
    "ifupdown-method-typo": Broken(
        edited(
            of_ifupdown,
            ("/etc/network/interfaces.d/roce", "auto ens224\niface ens224 inet statik\n  address 198.51.100.11/24\n"),
        ),
        frozenset({("file_invalid", ETC_INTERFACES)}),
        "interfaces",
    ),
    "ifupdown-gateway-edited": Broken(
        edited(
            of_ifupdown,
            (
                ETC_INTERFACES,
                f"source /etc/network/interfaces.d/*\n{LO}auto ens192\niface ens192 inet static\n  address 192.0.2.11/24\n  gateway 192.0.2.11\n",
            ),
        ),
        frozenset({("route", "ens192")}),
        "interfaces",
    ),
    "fstab-device-missing": Broken(
        lambda: mounted(fstab="LABEL=root / ext4 defaults 0 1\nUUID=9999 /data xfs defaults 0 2\n"),
        frozenset({("mount", "/data")}),
        "fstab",
    ),
    "mount-by-hand": Broken(
        lambda: mounted("31 29 0:50 / /data rw - nfs4 nas:/data rw"), frozenset({("mount", "/data")}), "fstab"
    ),
    "driver-blacklisted": Broken(
        edited(of_netplan, ("/etc/modprobe.d/no-mlx.conf", "blacklist mlx5_core\n")),
        frozenset({("driver", "ens224")}),
        "no-mlx.conf",
    ),
}
