"""What in a text tells addresses, serial numbers and names. One alternation: nothing is replaced twice.

The expressions are in forms.yml, with those of secrets, for mask.py.
"""

from __future__ import annotations

import functools
import re
from typing import Iterable, Iterator, Pattern

from .._yaml_files import Beside

FORMS = Beside(__file__, "forms.yml")


def _joined(lines: str) -> str:
    return "".join(lines.splitlines())


@functools.lru_cache(maxsize=None)
def form(name: str) -> Pattern[str]:
    return re.compile(_joined(FORMS[name]))


@functools.lru_cache(maxsize=None)
def forms(name: str) -> tuple[Pattern[str], ...]:
    return tuple(re.compile(_joined(each)) for each in FORMS[name])


def everything(names: Iterable[str]) -> Pattern[str]:
    """Names as words, and every form."""
    parts = {name: _joined(each) for name, each in FORMS["things"].items()}
    words = sorted({each for each in names if each}, key=lambda each: (-len(each), each))
    dotted = "|".join(re.escape(each) for each in words if "." in each)
    if dotted:
        parts["known"] = rf"(?<![\w.-])(?:{dotted})(?![\w-]|\.\w)"
    parts["domain"] = _joined(FORMS["domain"])
    plain = "|".join(re.escape(each) for each in words if "." not in each)
    if plain:
        parts["name"] = rf"(?<![^\W_])(?-i:{plain})(?![^\W_])"
    return re.compile("|".join(f"(?P<{key}>{each})" for key, each in parts.items()), re.IGNORECASE | re.DOTALL)


def hosts_in(text: str) -> Iterator[str]:
    """Names of hosts that stand where programs print them."""
    for places, no_host in (("printed_hosts", "interface"), ("spoken_hosts", "part")):
        for pattern in forms(places):
            for match in pattern.finditer(text):
                name = match["name"].rstrip(".-")
                if not form(no_host).match(name) and not re.fullmatch(r"[\d.]+", name) and len(name) > 2:
                    yield name
