"""How an MTU is stored so that nothing but the MTU differs at the next boot, or why it cannot be.

Three ways, in this order. None writes a network configuration of its own, and netplan's files are never touched: an id
that is guessed takes the addresses away, and ``mtu:`` there makes a .link file that may take the name away.

- a drop-in for the very file that systemd-networkd says it took, where that file can be for this interface only;
- the MTU of the profile that NetworkManager says it took, in the same case;
- a unit that is bound to the device and sets nothing else, where the file or profile is for others too, or where
  another program or none sets the interface up.

Pure: no I/O. Imports on Python 3.8: runs on the nodes.
"""

from __future__ import annotations

import os
from typing import Mapping

from .._layer import Operation, RefusedError
from .interface_choice import Wanted, in_networks, management
from .interface_state import DROPIN, NETWORK_MANAGER, NETWORKD, Interfaces, Keeper, Link

UNIT = "rocemesh-mtu@.service"
UNIT_DIRECTORY = "/etc/systemd/system"
LIST_DIRECTORY = "/etc/rocemesh/mtu"  # one file per interface: lines NAME MTU
# Never changes with a setting: a unit that changes needs a reload of systemd, and that can take GPUs from containers.
UNIT_TEXT = """\
# Written by rocemesh.multinode. Sets the MTU of a RoCE interface whenever it appears, after a reload of the driver too.
[Unit]
Description=MTU of the RoCE interface %I
BindsTo=sys-subsystem-net-devices-%i.device
After=sys-subsystem-net-devices-%i.device

[Service]
Type=oneshot
RemainAfterExit=yes
ExecStart=/bin/sh -ec 'while read -r dev mtu; do ip link set dev "$$dev" mtu "$$mtu"; done < "/etc/rocemesh/mtu/$$0"' %I
"""

BY_DROPIN, BY_PROFILE, BY_UNIT, STORED = "drop-in", "profile", "unit", "stored"


def dropin_path(keeper: Keeper) -> str:
    return f"/etc/systemd/network/{os.path.basename(keeper.path)}.d/{DROPIN}"


def dropin_text(name: str, mtu: int) -> str:
    return (
        f"# Written by rocemesh.multinode: the MTU of the RoCE interface {name}, and nothing else. It goes before an\n"
        f"# MTU in the file that this belongs to (netplan's too).\n[Link]\nMTUBytes={mtu}\n"
    )


def instance(name: str) -> str:
    """An interface's name in the name of a unit, as systemd-escape writes it."""
    kept = "".join(
        character if character.isalnum() or character in ":_." else f"\\x{ord(character):02x}" for character in name
    )
    return kept if not kept.startswith(".") else "\\x2e" + kept[1:]


def wants_link(name: str) -> str:
    unit = instance(name)
    return f"{UNIT_DIRECTORY}/sys-subsystem-net-devices-{unit}.device.wants/rocemesh-mtu@{unit}.service"


def lines(name: str, links: Mapping[str, Link], mtu: int) -> str:
    """What the unit sets: a VLAN cannot have more than what it lies on, so that comes first (and is never lowered)."""
    parent = links.get(links[name].parent) if links[name].kind == "vlan" else None
    below = f"{parent.name} {mtu}\n" if parent is not None and parent.mtu <= mtu else ""
    return f"{below}{name} {mtu}\n"


def _refuse(host: str, name: str, why: str, remedy: str) -> RefusedError:
    return RefusedError(why, host=host, thing="MTU of", value=name, remedy=remedy)


def way(name: str, link: Link, keeper: Keeper, mtu: int, host: str) -> str:
    """`STORED` if the next boot sets this MTU already, else how to store it; `RefusedError` if that is not safe."""
    if keeper.refused:
        raise _refuse(host, name, keeper.refused, "put that right first; nothing was changed")
    if keeper.mtu == str(mtu):
        return STORED
    if keeper.later:
        why = f"{keeper.later} is read after {dropin_path(keeper)} and sets another MTU"
        raise _refuse(host, name, why, "remove the MTU there")
    if keeper.kind == NETWORKD and keeper.exact and not keeper.others and link.kind != "vlan":
        return BY_DROPIN
    if keeper.kind == NETWORK_MANAGER and keeper.exact and not keeper.others and link.kind != "vlan":
        return BY_PROFILE
    whose = f"{keeper.words}{', which is also for ' + ', '.join(keeper.others) if keeper.others else ''}"
    if keeper.mtu:
        why = f"it is set up by {whose}, and that sets MTU {keeper.mtu}"
        raise _refuse(host, name, why, f"give {name} an entry of its own there, or set MTU {mtu} there")
    if keeper.dhcp_mtu and keeper.dhcp_mtu != str(mtu):
        why = f"it is set up by {whose}, and takes MTU {keeper.dhcp_mtu} from the DHCP server"
        raise _refuse(host, name, why, f"give {name} an entry of its own there, or let the server say {mtu}")
    return STORED if keeper.unit_mtu == str(mtu) else BY_UNIT


def _store(name: str, links: Mapping[str, Link], keeper: Keeper, mtu: int, how: str) -> Operation:
    same = {"how": how, "name": name, "mtu": mtu}
    if how == BY_DROPIN:
        path = dropin_path(keeper)
        undo = f"write MTUBytes={keeper.mtu} into {path}" if keeper.own else f"rm {path}"
        return Operation(
            f"{name}: MTU {mtu} at every boot, by a drop-in for {keeper.path}",
            f"write {path}",
            {f"{name} file {path}": (keeper.mtu if keeper.own else None, str(mtu))},
            undo,
            payload={**same, "path": path, "text": dropin_text(name, mtu), "keeper": keeper},
        )
    if how == BY_PROFILE:
        return Operation(
            f"{name}: MTU {mtu} in NetworkManager's profile {keeper.name}",
            f"nmcli connection modify {keeper.name} 802-3-ethernet.mtu {mtu}",
            {f"{name} profile {keeper.name}": (keeper.mtu or None, str(mtu))},
            f"nmcli connection modify {keeper.name} 802-3-ethernet.mtu {keeper.mtu or 0}",
            payload={**same, "keeper": keeper},
        )
    undo = f"rm {wants_link(name)} {LIST_DIRECTORY}/{name}" if not keeper.unit_mtu else f"write MTU {keeper.unit_mtu}"
    return Operation(
        f"{name}: MTU {mtu} whenever it appears, by the unit rocemesh-mtu@{instance(name)} ({keeper.words})",
        f"write {LIST_DIRECTORY}/{name}, link {wants_link(name)}",
        {f"{name} unit mtu": (keeper.unit_mtu or None, str(mtu))},
        undo,
        payload={"how": how, "name": name, "text": lines(name, links, mtu)},
    )


def with_parents(state: Interfaces, wanted: Wanted, host: str) -> list[str]:
    """The interfaces whose MTU has to be set: the chosen ones, and what a VLAN among them lies on, if that has less."""
    names: list[str] = []
    for name in state.chosen:
        link = state.links[name]
        parent = state.links.get(link.parent) if link.kind == "vlan" else None
        if parent is not None and parent.mtu < wanted.mtu:
            use = management(state.defaults, parent, wanted.session)
            if use and not wanted.management:
                why = f"it is a VLAN on {parent.name}, which has MTU {parent.mtu} and {use}"
                remedy = f"set the MTU of {parent.name} yourself, or allow it with guest_management_interface allow"
                raise _refuse(host, name, why, remedy)
        if parent is not None and parent.name not in names:
            names.append(parent.name)
        if name not in names:
            names.append(name)
    return names


def member_with_another_mtu(name: str, keepers: Mapping[str, Keeper], state: Interfaces, mtu: int) -> str:
    """A member of the bond whose own file sets another MTU: the two would fight."""
    members = [link.name for link in state.links.values() if link.master == name]
    return next((one for one in members if one in keepers and keepers[one].mtu not in ("", str(mtu))), "")


def plan(state: Interfaces, wanted: Wanted, host: str) -> list[Operation]:
    """Stored first, set live second: an interface is never taken down."""
    if not wanted.mtu:
        return []
    stored: list[Operation] = []
    live: list[Operation] = []
    for name in with_parents(state, wanted, host):
        link, keeper = state.links[name], state.keepers.get(name, Keeper())
        if name not in state.chosen and link.mtu >= wanted.mtu and not keeper.own and not keeper.unit_mtu:
            continue  # what a VLAN lies on, with a large enough MTU that another program sets
        member = member_with_another_mtu(name, state.keepers, state, wanted.mtu)
        if member:
            why = f"its member {member} is set up with MTU {state.keepers[member].mtu} by {state.keepers[member].words}"
            raise _refuse(host, name, why, f"remove the MTU of {member} there: a bond gives its own to its members")
        how = way(name, link, keeper, wanted.mtu, host)
        if how != STORED:
            stored.append(_store(name, state.links, keeper, wanted.mtu, how))
        if how != BY_UNIT and keeper.unit_mtu not in ("", str(wanted.mtu)):
            stored.append(_store(name, state.links, keeper, wanted.mtu, BY_UNIT))  # else our older one wins at boot
        if link.mtu != wanted.mtu:
            live.append(
                Operation(
                    f"{name}: MTU {link.mtu} -> {wanted.mtu} now",
                    f"ip link set dev {name} mtu {wanted.mtu}",
                    {f"{name} mtu": (link.mtu, wanted.mtu)},
                    f"ip link set dev {name} mtu {link.mtu}",
                    disrupts=f"traffic of {name} for a moment (some drivers open their queues anew)",
                    payload={"how": "live", "name": name, "mtu": wanted.mtu},
                )
            )
    return [*stored, *live]


def warnings(state: Interfaces, wanted: Wanted) -> list[str]:
    return [
        f"{name} has no address in {', '.join(wanted.networks)}: {', '.join(state.links[name].addresses) or 'none'}"
        for name in state.chosen
        if wanted.networks and not in_networks(state.links[name], wanted.networks)
    ]
