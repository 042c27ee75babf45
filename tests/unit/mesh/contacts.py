# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Contacts of a daemon: how Open MPI itself takes them apart, and a source of such strings, honest ones and others.

`orted` and `prted` follow component_set_addr of orte/mca/oob/tcp/oob_tcp_component.c (open-mpi/ompi, v4.1) and of
src/mca/oob/tcp/oob_tcp_component.c (PRRTE, 5.0), colon by colon; they know nothing of the broker. What the C library
makes of a text that is no address is answered by the C library itself.
"""

from __future__ import annotations

import contextlib
import ipaddress
import random
import socket

from tests.unit.mesh.broker import load


def _argv(text: str) -> list[str]:
    """opal_argv_split: empty parts are left out."""
    return [part for part in text.split(",") if part]


def _address(host: str, family: int) -> str:
    """inet_addr and inet_pton, spelled canonically; empty for what they do not take."""
    with contextlib.suppress(OSError):
        if family == socket.AF_INET:
            return socket.inet_ntoa(socket.inet_aton(host))
        return socket.inet_ntop(family, socket.inet_pton(family, host))
    return ""


def _families(uris: str) -> list[tuple[int, int, str]]:
    """What follows the first semicolon, cut at the others: address family, length of the scheme, text."""
    found = []
    for uri in [part for part in uris.split(";")[1:] if part]:
        if uri.startswith("tcp:"):
            found.append((socket.AF_INET, len("tcp://"), uri))
        elif uri.startswith("tcp6:"):
            found.append((socket.AF_INET6, len("tcp6://"), uri))
    return found


def _hosts(text: str, scheme: int, family: int) -> list[str]:
    host = text[scheme:]
    if family == socket.AF_INET6:
        host = host[1:] if host.startswith("[") else host
        host = host[:-1] if host.endswith("]") else host
    return _argv(host)


def orted(uris: str) -> set[str]:
    """Addresses to which orted 4.1 would connect."""
    found = set()
    for family, scheme, uri in _families(uris):
        text = uri[: uri.rfind(":")]
        found |= {_address(host, family) for host in _hosts(text, scheme, family)}
    return found - {""}


def prted(uris: str) -> set[str]:
    """Addresses to which prted 5.0 would connect. It cuts masks off, then ports."""
    found = set()
    for family, scheme, uri in _families(uris):
        text, _colon, masks = uri.rpartition(":")
        text = text[: text.rfind(":")] if ":" in text else text
        # Memory behind the cut is still read where the cut lies before the host.
        for number, host in enumerate(_hosts(text if len(text) > scheme else uri.rpartition(":")[0], scheme, family)):
            if number >= len(_argv(masks)):
                break
            found.add(_address(host, family))
    return found - {""}


MESH = ("192.0.2.0/24", "fd00::/64")
_INSIDE = ("192.0.2.1", "192.0.2.77", "192.0.2.254")
_OUTSIDE = ("198.51.100.7", "203.0.113.9", "10.0.0.1", "127.0.0.1", "0.0.0.0", "255.255.255.255")
_ODD = (
    "192.0.2.010", "0192.0.2.1", "192.0.2", "3221225985", "0xc0000201", "192.0.2.1.", "192.0.2.256", "localhost",
    "evil", "::ffff:198.51.100.7", "192.0.2.1 198.51.100.7", "",
)  # fmt: skip
_INSIDE6 = ("fd00::1", "fd00::77", "fd00:0:0:0::9")
_OUTSIDE6 = ("2001:db8::1", "fd00:1::1", "::ffff:192.0.2.1", "::1", "fe80::1%eth0", "fd00::1]:1,[2001:db8::1")
_GLUE = (
    ":", ",", ";", "[", "]", "]:", ":[", "//", "tcp://", "tcp6://", "@", "%", "/", "?", "#", "0", "65536", "-1",
    "64,24", "\\", "tcp:", "udp://", ".", "::",
)  # fmt: skip


def generate(seed: int, count: int) -> list[str]:
    """Contacts: about a third are what mpirun sends, the rest are honest ones with something put in, cut or doubled."""
    source = random.Random(seed)
    return [_one(source) for _number in range(count)]


def _one(source: random.Random) -> str:
    kind = source.random()
    crooked = kind > 0.35
    parts = [source.choice(("1.0", "1994326016.0", "prterun-vm-9061@0.0"))]
    for _number in range(source.choice((1, 1, 1, 2, 2, 3))):
        six = source.random() < 0.35
        pool = _INSIDE6 if six else _INSIDE
        if crooked and source.random() < 0.4:
            pool = source.choice((_OUTSIDE6 if six else _OUTSIDE, _ODD, _INSIDE, _INSIDE6))
        hosts = ",".join(source.choice(pool) for _number in range(source.choice((1, 1, 2, 3))))
        ports = ",".join(str(source.randint(1, 65535)) for _number in range(source.choice((1, 1, 1, 2))))
        masks = source.choice(("", ":24", ":64,24", ":64,24,16"))
        parts.append((f"tcp6://[{hosts}]" if six else f"tcp://{hosts}") + f":{ports}{masks}")
    text = ";".join(parts)
    for _number in range(source.choice((0, 1, 1, 2, 3)) if crooked else 0):
        place = source.randint(0, len(text))
        what = source.choice((*_GLUE, *_OUTSIDE, *_OUTSIDE6, *_INSIDE))
        length = source.choice((0, 0, 1, 3, 8))
        text = text[:place] + what + text[place + length :]
    return text


_BROKER = load()
NETWORKS = [ipaddress.ip_network(each) for each in MESH]
DAEMONS = {"orted": (orted, "-mca orte_hnp_uri"), "prted": (prted, "--prtemca prte_hnp_uri")}


def accepted_contact(daemon: str, contact: str) -> str:
    """The contact that the daemon would be told, empty if it is refused."""
    try:
        launch = _BROKER.read(f'{daemon} {DAEMONS[daemon][1]} "{contact}"', ["/usr"], NETWORKS)
    except _BROKER.Refused:
        return ""
    value: str = launch.arguments[2]
    return value


def outside(addresses: set[str]) -> set[str]:
    return {each for each in addresses if not any(ipaddress.ip_address(each) in network for network in NETWORKS)}


# text -> where one of the two daemons (orted 4.1.4, prted 5.0.11) tried to connect to when it was told so
TRICKS = {
    "tcp://198.51.100.7:4555[192.0.2.1]": "198.51.100.7",
    "tcp://198.51.100.7:4555[192.0.2.1]:64,24": "198.51.100.7",
    "tcp6://[fd00::1:2,2001:db8::3:4]:4000": "2001:db8::3:4",
    "tcp://192.0.2.1,198.51.100.7:4000": "198.51.100.7",
    "tcp://0300.0.2.1,198.51.100.7:1:24,24": "198.51.100.7",
}
