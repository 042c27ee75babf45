"""What in a text tells addresses, serial numbers and names. One alternation: nothing is replaced twice.

The expressions are in forms.yml, with those of secrets, for mask.py.
"""

from __future__ import annotations

import functools
import re
from pathlib import Path
from typing import Any, Iterable, Iterator, Mapping, Pattern

from .. import _yaml_files as yaml_files
from .._doctor.bundle import HOSTS


@functools.lru_cache(maxsize=1)
def table() -> Mapping[str, Any]:
    """forms.yml: name -> expression, list of them, or mapping of them."""

    def joined(value: Any) -> Any:
        if isinstance(value, str):
            return "".join(value.splitlines())
        return {key: joined(each) for key, each in value.items()} if isinstance(value, dict) else [*map(joined, value)]

    return {name: joined(value) for name, value in yaml_files.read(Path(__file__).with_name("forms.yml")).items()}


@functools.lru_cache(maxsize=None)
def form(name: str) -> Pattern[str]:
    return re.compile(table()[name])


@functools.lru_cache(maxsize=None)
def forms(name: str) -> tuple[Pattern[str], ...]:
    return tuple(map(re.compile, table()[name]))


def everything(names: Iterable[str]) -> Pattern[str]:
    """Names as words, and every form."""
    parts = dict(table()["things"])
    words = sorted({each for each in names if each}, key=lambda each: (-len(each), each))
    dotted = "|".join(re.escape(each) for each in words if "." in each)
    if dotted:
        parts["known"] = rf"(?<![\w.-])(?:{dotted})(?![\w-]|\.\w)"
    parts["domain"] = table()["domain"]
    plain = "|".join(re.escape(each) for each in words if "." not in each)
    if plain:
        parts["name"] = rf"(?<![^\W_])(?-i:{plain})(?![^\W_])"
    return re.compile("|".join(f"(?P<{key}>{each})" for key, each in parts.items()), re.IGNORECASE | re.DOTALL)


def is_public(domain: str) -> bool:
    return form("public").search(domain) is not None


def host_of_piece(name: str) -> str:
    match = HOSTS.search(name)
    return match["host"] if match else ""


def hosts_in(text: str) -> Iterator[str]:
    """Names of hosts that stand where programs print them."""
    for places, no_host in (("printed_hosts", "interface"), ("spoken_hosts", "part")):
        for pattern in forms(places):
            for match in pattern.finditer(text):
                name = match["name"].rstrip(".-")
                if not form(no_host).match(name) and not re.fullmatch(r"[\d.]+", name) and len(name) > 2:
                    yield name
