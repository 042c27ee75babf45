"""The guards of every kind of switch: ports in use, neighbors, reach. Pure: no I/O, no Ansible.

Whether a port may become an access port is asked the other way round, because a list of what makes a port precious is
never complete (a release renames a key, and the guard is gone). A port is free only if everything that is known about
it is on a short list of harmless settings. Whatever else is configured at it, and whatever else of the
configuration names it, is a use.
"""

from __future__ import annotations

import dataclasses
import fnmatch
from typing import Any, Callable, Collection, Container, Iterable, Mapping, Protocol, Sequence, TypeVar

from .._layer import Operation, RefusedError, VerifyError
from .request import Wanted
from .saving import without_secret

LINK_SECONDS = 0.5  # between two looks at links


class Link(Protocol):
    """What the wait for links needs of a port."""

    @property
    def up(self) -> bool: ...


L = TypeVar("L", bound=Link)


@dataclasses.dataclass(frozen=True)
class Use:
    """What a port is used for, in the switch's own words.

    ``elsewhere``: something else of the configuration names the port (a BGP neighbor, a mirror session). Nothing at
    the port itself can take that off, so no permission of the request reaches it.
    """

    words: str
    elsewhere: bool = False


def reasons(name: str, uses: Sequence[Use], *, mode: str, permitted: bool) -> list[str]:
    """Why the port cannot become an access port of another VLAN; empty: it can.

    ``permitted``: the request gave up what is configured at the port itself.
    """
    elsewhere = [use for use in uses if use.elsewhere]
    if elsewhere:
        where = listed(elsewhere)
        return [f"{name} is in use: the configuration names it elsewhere ({where}), which no permission takes away"]
    if uses and not permitted:
        kind = "an access" if mode == "access" else f"a {mode}"
        return [f"{name} is {kind} port that carries {listed(uses) or 'something'} and would lose it"]
    return []


def listed(uses: Iterable[Use]) -> str:
    return ", ".join(dict.fromkeys(without_secret(use.words) for use in uses))


@dataclasses.dataclass(frozen=True)
class Neighbor:
    """What the device at the other end of a cable says of itself over LLDP; texts as printed, "" if it is silent.

    ``forwards``: whether it calls itself a router or a bridge, which a server with a virtual switch may do as well.
    """

    system: str
    port: str = ""
    description: str = ""
    forwards: bool = False

    def __str__(self) -> str:
        return (self.system or "a device without a name") + (f" ({self.description})" if self.description else "")


def refuse_missing(host: str, missing: Sequence[str], split: Mapping[str, str], spelled: str, existing: str) -> None:
    """``split``: port -> its lanes, as text; ``spelled``: the missing ports; ``existing``: those that there are."""
    if not missing:
        return
    hints = [f"{name} is split into {split[name]}" for name in missing if name in split]
    raise RefusedError(
        "no such port on this switch" + (" (" + "; ".join(hints) + ")" if hints else ""),
        host=host,
        thing="ports",
        value=spelled,
        remedy=f"choose from {existing}",
        missing=list(missing),
    )


def refuse_used(host: str, found: Sequence[str]) -> None:
    """All reasons at once, so that one run tells everything."""
    if found:
        raise RefusedError(
            "; ".join(found),
            host=host,
            thing="ports",
            remedy="take these ports out of the list; what is configured at a port itself, and is really meant to be "
            "lost, can be given up by naming the port in allow_mode_change",
            reasons=list(found),
        )


def refuse_neighbors(host: str, behind: Mapping[str, Sequence[Neighbor]], wanted: Wanted) -> None:
    """``behind``: the ports that are changed and have a link, in order. Without a link, no traffic is disturbed.

    An uplink that was cabled to the wrong place looks like a port of a server.
    """
    if not wanted.neighbors or wanted.strangers is None:
        return
    found = []
    for name, neighbors in behind.items():
        if name in wanted.strangers:
            continue
        if not neighbors:
            found.append(f"{name} is up, and LLDP reports no neighbor behind it")
        unknown = [str(each) for each in neighbors if not is_expected(each.system, wanted.neighbors)]
        if unknown:
            found.append(f"behind {name} is {', '.join(unknown)}")
    if found:
        raise RefusedError(
            "; ".join(found) + f", and only {', '.join(wanted.neighbors)} may be behind a port that is changed",
            host=host,
            thing="expected_neighbors",
            remedy="check the cabling; a port that is right all the same can be named in allow_unexpected_neighbors; "
            "LLDP has to be on, on the switch and on the host",
            reasons=found,
        )


def neighbor_warnings(behind: Mapping[str, Sequence[Neighbor]], wanted: Wanted) -> list[str]:
    """If the request names no expected neighbors, a neighbor that forwards is worth a look."""
    if wanted.neighbors:
        return []
    return [
        f"behind port {name}, which this changes, is {each}, which calls itself a router or a bridge: an uplink? "
        "(expected_neighbors refuses what does not belong there)"
        for name, neighbors in behind.items()
        for each in neighbors
        if each.forwards
    ]


def is_expected(system: str, patterns: Iterable[str]) -> bool:
    """Shell patterns, without regard to case; a name without a dot fits a host of any domain."""
    names = {system.lower(), system.lower().partition(".")[0]}
    return any(fnmatch.fnmatchcase(name, pattern.lower()) for name in names for pattern in patterns if name)


def refuse_disruption(
    host: str, operations: Iterable[Operation], wanted: Wanted, spell: Callable[[Iterable[str]], str]
) -> None:
    """Refuse before anything is sent, and name every change that would reach further than it may.

    ``spell``: port names as text. An operation names in ``bounces`` the ports whose link it may interrupt.
    """
    if wanted.disruption == "any":
        return
    found = []
    for operation in operations:
        beyond = [name for name in operation.payload["bounces"] if name not in wanted.ports]
        if wanted.disruption == "none" and operation.disrupts:
            found.append(f"{operation.description}: {operation.disrupts}")
        elif wanted.disruption == "requested_ports" and beyond:
            found.append(
                f"{operation.description}: the links of {spell(beyond)} may be interrupted, which are not in ports"
            )
    if found:
        raise RefusedError(
            "; ".join(found),
            host=host,
            thing="allow_disruption",
            value=wanted.disruption,
            remedy="run this in a change window with a wider allow_disruption",
            reasons=found,
        )


def port_warnings(wanted: Wanted, strangers: Sequence[str], links: Mapping[str, tuple[bool, bool, str]]) -> list[str]:
    """What a person should look at, and what is no reason to fail.

    ``strangers``: who else is in the VLAN; ``links``: port -> whether it is on, whether it has a link, the switch's own
    word for that.
    """
    result = [f"VLAN {wanted.vlan} is not isolated: it also reaches {', '.join(strangers)}"] if strangers else []
    for name, (admin, up, word) in links.items():
        if not admin:
            result.append(f"port {name} is shut down")
        elif not up:
            result.append(f"port {name} has no link{f' (operationally {word})' if word else ''}")
    return result


def vlan_fact(
    wanted: Wanted, vlans: Container[int], name: str | None, members: Sequence[str], strangers: Sequence[str]
) -> dict[str, Any] | None:
    """The wanted VLAN as a result; None if none is wanted, or it is not there yet."""
    if wanted.vlan is None or wanted.vlan not in vlans:
        return None
    return {"id": wanted.vlan, "name": name, "members": list(members), "unexpected_members": list(strangers)}


def refuse_unhealthy(host: str, wanted: Wanted, problems: Sequence[str], remedy: str) -> None:
    """Refuse to call a RoCE mode verified that is the wanted one by name, but not in what it does."""
    if problems:
        raise VerifyError(
            f"RoCE mode {wanted.mode or 'absent'} is configured, but not in force: " + "; ".join(problems),
            host=host,
            thing="roce",
            remedy=remedy,
            problems=list(problems),
        )


def links_lost(host: str, lost: Sequence[str], seconds: float, remedy: str = "") -> None:
    """Refuse to call a state verified in which links are down that were up before."""
    if lost:
        raise VerifyError(
            f"these links were up before and did not come back within {seconds:g} s: {', '.join(lost)}",
            host=host,
            thing="links",
            remedy=f"check cable, transceiver and the host behind the port{remedy}",
        )


def await_links(
    names: Collection[str],
    read: Callable[[], Mapping[str, L]],
    key: Callable[[str], Any],
    timing: tuple[float, Callable[[], float], Callable[[float], None]],
) -> tuple[Mapping[str, L], list[str], list[str]]:
    """Waits for links that were interrupted: (what was read last, those that stay down, notes).

    ``timing``: seconds to wait (0: look once), clock, sleep.
    """
    limit, clock, sleep = timing
    deadline = clock() + limit
    while True:
        links = read()
        down = sorted((name for name in names if name not in links or not links[name].up), key=key)
        if not down:
            return links, [], []
        if limit <= 0:
            return links, [], [f"these links were up before and are down now (not waited for): {', '.join(down)}"]
        if clock() >= deadline:
            return links, down, []
        sleep(LINK_SECONDS)
