"""Stand-ins for secrets, addresses, serial numbers and names: the same for the same thing, another for another.

Networks keep their structure: addresses that share a prefix share as long a prefix of their stand-ins (IPv4 from /8
on, IPv6 from /48 on). Stand-ins of IPv4 lie in 240.0.0.0/4, which no network uses (RFC 1112), those of IPv6 in
3fff::/20 (RFC 9637), so that none is in use. What tells nothing of a site stays: loopback, link-local
prefixes, multicast, masks, Docker's default network.
"""

from __future__ import annotations

import collections
import hashlib
import ipaddress
import re
from typing import Callable, Iterable, Match

from .._doctor.bundle import host_of
from . import mask, patterns
from .spellings import SHORTEST, expression, spellings, squeezed

_V4_OWN = 14  # first bytes 240 to 253
_V4_KEPT = tuple(
    ipaddress.IPv4Network(text)
    for text in ("0.0.0.0/8", "127.0.0.0/8", "169.254.0.0/16", "172.17.0.0/16", "224.0.0.0/4", "255.0.0.0/8")
)
_MAC = "0200{:08d}"


class Redactor:
    """``seed``: what the constants follow from; the same material gives the same stand-ins. ``text()`` in any order,
    but numbers count by first appearance."""

    def __init__(self, secrets: Iterable[str] = (), names: Iterable[str] = (), seed: bytes = b"") -> None:
        # Spelling, without its blanks, and the secret; longest first.
        found = {(form, squeezed(form), each) for each in secrets for form in spellings(each)}
        self._spellings = sorted(
            (each for each in found if len(each[1]) >= SHORTEST), key=lambda each: (-len(each[1]), each)
        )
        self._secrets = {bare: secret for _form, bare, secret in self._spellings}
        self._key = hashlib.sha256(b"rocemesh" + seed).digest()
        self._given: dict[str, dict[str, str]] = collections.defaultdict(dict)
        self._names: set[str] = set()
        self.learn(names)

    def learn(self, names: Iterable[str]) -> None:
        """More names of hosts; before the first ``text()``."""
        self._names |= {form for each in names for form in _forms(each)}
        self._pattern = patterns.everything(self._names)

    def counts(self) -> dict[str, int]:
        """Kind -> how many different things have a stand-in."""
        return {kind: len(given) for kind, given in sorted(self._given.items())}

    def text(self, text: str) -> str:
        """First what is known; then a mark for each word that could be a secret and is not known."""
        text = self._pattern.sub(self._one, self._without_known(text))
        parts, last = [], 0
        for start, end, value in mask.spans(text):
            parts += [text[last:start], self._mark("masked", value, text[start:end])]
            last = end
        return "".join([*parts, text[last:]])

    def _without_known(self, text: str) -> str:
        bare = squeezed(text)
        # Thousands of spellings, of which a text holds few.
        there = [form for form, short, _secret in self._spellings if short in bare]
        if not there:
            return text
        known = re.compile("|".join(map(expression, there)), re.IGNORECASE)
        return known.sub(lambda match: self._mark("secret", self._secrets.get(squeezed(match[0]), ""), match[0]), text)

    def _mark(self, kind: str, value: str, text: str) -> str:
        # A number tells nothing of the value. As many lines as before: the doctor names lines.
        return self._stand_in(kind, value or text, f"[{kind}-{{}}]") + "\n" * text.count("\n")

    def piece(self, name: str) -> str:
        """The name of a piece; the host in it has the stand-in that it has in the texts."""
        host = host_of(name)
        return "/".join(self._host(part) if part == host else self.text(part) for part in name.split("/"))

    def _one(self, match: Match[str]) -> str:
        kind, text = str(match.lastgroup), match.group()
        if kind == "serial":
            return self._serial(match)
        others: dict[str, Callable[[str], str]] = {
            "user": self._user, "home": self._user, "known": self._domain, "domain": self._domain, "name": self._host,
            "uuid": self._uuid, "biosuuid": self._hex, "eui": self._hex, "guid": self._hex, "mac": self._mac,
            "v4": self._ip, "v6": self._ip, "dashed": self._dashed, "gid": self._gid,
        }  # fmt: skip
        return others[kind](text)

    def _stand_in(self, kind: str, text: str, form: str) -> str:
        given = self._given[kind]
        if text not in given:
            number = len(given) + 1
            taken = set(given.values()) | self._names
            while form.format(number) in taken:
                number += 1
            given[text] = form.format(number)
        return given[text]

    def _serial(self, match: Match[str]) -> str:
        value = match["value"]
        key = match.group()[: match.start("value") - match.start()]
        return (
            match.group()
            if patterns.form("no_serial").match(value)
            else key + self._stand_in("serial", value, "SERIAL{:04d}")
        )

    def _user(self, text: str) -> str:
        return text if text in mask.USERS else self._stand_in("user", text, "user-{}")

    def _host(self, text: str) -> str:
        # What is no host to the doctor ("node1") is to have a stand-in that is none either.
        form = "node9{:03d}" if re.match(r"node\d*$", text) else "host-{}"
        return self._stand_in("host", text.lower(), form)

    def _domain(self, text: str) -> str:
        if patterns.form("public").search(text) and text.lower() not in self._names:
            return text
        first, _dot, rest = text.lower().partition(".")
        if "." not in rest:
            return self._stand_in("domain", text.lower(), "domain-{}.invalid")
        return f"{self._host(first)}.{self._stand_in('domain', rest, 'domain-{}.invalid')}"

    def _uuid(self, text: str) -> str:
        head, bare = (text[:4], text[4:]) if text[3] == "-" else ("", text)
        return head + self._stand_in("serial", bare.lower(), "00000000-0000-4000-8000-{:012d}")

    def _hex(self, text: str) -> str:
        """Any number in digits of 16, in groups: as long, with the same separators."""
        head, prefix, bare = text.rpartition("0x")
        head += prefix
        digits = re.sub(r"[^0-9a-f]", "", bare.lower())
        if set(digits) <= {"0"} or set(digits) <= {"f"}:
            return text
        known = self._stand_in("serial", digits, "{}")
        return head + _in_groups(f"02{int(known):0{len(digits) - 2}d}", bare)

    def _mac(self, text: str) -> str:
        digits = re.sub(r"[^0-9a-f]", "", text.lower())
        # Broadcast, zero, and groups (the lowest bit of the first byte).
        if int(digits[:2], 16) & 1 or not int(digits, 16):
            return text
        return _in_groups(self._stand_in("mac", digits, _MAC), text)

    def _dashed(self, text: str) -> str:
        return "ip-" + self._ip(text[3:].replace("-", ".")).replace(".", "-")

    def _gid(self, text: str) -> str:
        address = ipaddress.IPv6Address(bytes(map(int, text.split(":"))))
        return ":".join(f"{byte:02}" for byte in ipaddress.IPv6Address(self._ip(str(address))).packed)

    def _ip(self, text: str) -> str:
        """An address or, with a prefix, the name of a network: that of its stand-in, no bit beyond the prefix."""
        bare, slash, length = text.partition("/")
        try:
            address = ipaddress.ip_address(bare)
            named = bool(slash) and ipaddress.ip_interface(text).network.network_address == address
        except ValueError:
            return text
        changed: ipaddress.IPv4Address | ipaddress.IPv6Address
        inner = address.ipv4_mapped if isinstance(address, ipaddress.IPv6Address) else None
        if isinstance(address, ipaddress.IPv4Address):
            changed = self._mapped(address)
        elif inner is not None:
            changed = ipaddress.IPv6Address((0xFFFF << 32) | int(self._mapped(inner)))
        elif address.is_loopback or address.is_unspecified or address.is_multicast:
            return text
        else:
            changed = self._mapped6(address, host=not named)
        if named:
            return str(ipaddress.ip_network(f"{changed}/{length}", strict=False))
        shown = changed.exploded if len(bare) == len(changed.exploded) else str(changed)
        if inner is not None and "." in bare and shown == str(changed):
            shown = f"::ffff:{self._mapped(inner)}"
        return shown + slash + length

    def _mapped(self, address: ipaddress.IPv4Address) -> ipaddress.IPv4Address:
        if any(address in network for network in _V4_KEPT):
            return address
        self._given["address"].setdefault(str(address), "")
        first, second, third, fourth = address.packed
        place = int(self._stand_in("network", str(first), "{}")) - 1
        if place < _V4_OWN:
            head = bytes((240 + place, second ^ self._constant(f"v4 {first}", 8)))
        else:
            # A log of the whole Internet: networks beyond that are distinguished by their first half alone.
            place = int(self._stand_in("other network", f"{first}.{second}", "{}")) - 1
            if place > 254:
                return ipaddress.IPv4Address("254.255.255.254")
            head = bytes((254, place))
        low = (
            third ^ self._constant(f"v4 {first}.{second}", 8),
            fourth ^ self._constant(f"v4 {first}.{second}.{third}", 8),
        )
        return ipaddress.IPv4Address(head + bytes(low))

    def _mapped6(self, address: ipaddress.IPv6Address, host: bool) -> ipaddress.IPv6Address:
        high, low = divmod(int(address), 1 << 64)
        if not address.is_link_local:
            number = int(self._stand_in("network", f"6 {high >> 16}", "{}"))
            subnet = (high & 0xFFFF) ^ self._constant(f"v6 {high >> 16}", 16)
            high = (0x3FFF << 48) | (number << 16) | subnet
        self._given["address"].setdefault(str(address), "")
        if host and (low >> 24) & 0xFFFF == 0xFFFE:
            # An identifier made from a MAC (RFC 4291): that of its stand-in.
            digits = f"{(low >> 40) ^ 0x020000:06x}{low & 0xFFFFFF:06x}"
            made = int(self._stand_in("mac", digits, _MAC), 16)
            low = (((made >> 24) ^ 0x020000) << 40) | (0xFFFE << 24) | (made & 0xFFFFFF)
        else:
            low ^= self._constant("v6 identifier", 64)
        return ipaddress.IPv6Address((high << 64) | low)

    def _constant(self, of: str, bits: int) -> int:
        """The same for the same ``of``, never 0: with XOR a mapping that keeps every common prefix."""
        digest = hashlib.sha256(self._key + of.encode()).digest()
        return int.from_bytes(digest[: bits // 8], "big") or 1


def _in_groups(digits: str, text: str) -> str:
    """``digits`` in place of those of ``text``, with its separators."""
    made = iter(digits)
    return "".join(next(made) if letter.lower() in "0123456789abcdef" else letter for letter in text)


def _forms(name: str) -> list[str]:
    """How a name may be written: whole, its first label if that is no common word, in capitals."""
    name = name.strip()
    try:
        ipaddress.ip_address(name)
        return []
    except ValueError:
        pass
    if not name or name.lower() in ("localhost", "all", "none", *mask.USERS):
        return []
    first = name.partition(".")[0]
    found = [name] + ([first] if re.search(r"\d", first) and len(first) > 2 else [])
    return [*found, *(each.upper() for each in found if not re.match(r"(?:gpu|node|nic|cpu)\d*$", each, re.I))]
