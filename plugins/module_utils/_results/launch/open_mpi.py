"""Which mpirun it is, and which options that one takes. Pure.

Open MPI 4 starts its daemons with ORTE, Open MPI 5 with PRRTE: other parameter names, other options that carry them,
and no options with one dash and several letters (`-bind-to none` makes `none` the program). They are in open_mpi.yml.
"""

from __future__ import annotations

import re
from typing import Any, Mapping

from ..._judge.sentences import refusal
from ..._layer import ParseError
from ..._yaml_files import Beside

DEFAULT = "4.1"  # Debian 12 and the NGC images of the guide; only for callers that observed nothing

_NUMBER = r"v?(?P<number>(?P<major>\d{1,3})\.\d{1,3}[\w.+-]{0,40})"
_PRINTED = re.compile(rf"\(Open MPI\)\s+{_NUMBER}")
_PLAIN = re.compile(rf"{_NUMBER}\Z")
_TABLE = Beside(__file__, "open_mpi.yml")


def major_of(text: str) -> int:
    """Of what ``mpirun --version`` printed, or of a number alone. Raises ParseError and, for a version that was never
    tried, RefusedError."""
    match = _PRINTED.search(text) or _PLAIN.match(text.strip())
    if match is None:
        remedy = "use an image with Open MPI 4 or 5 whose mpirun comes first in PATH"
        raise ParseError("not the version of an Open MPI", host="mpirun --version", raw=text, remedy=remedy)
    if int(match["major"]) not in _TABLE["dialects"]:
        raise refusal("open_mpi_version", match["number"])
    return int(match["major"])


def dialect(major: int) -> Mapping[str, Any]:
    chosen: Mapping[str, Any] = _TABLE["dialects"][major]
    return chosen


def renamed(name: str, major: int) -> str:
    """``name`` as this version calls the parameter; a name that both know stays."""
    for names in _TABLE["renamed"].items():
        source, target = names if major >= 5 else names[::-1]
        if name == source or (source.endswith("_") and name.startswith(source)):
            return str(target + name[len(source) :])
    return name


def parameters(wanted: Mapping[str, Any], major: int) -> list[str]:
    """Options for all parameters, in their order. A parameter that is given under both names counts once, the later
    value wins."""
    named = {renamed(str(name), major): value for name, value in wanted.items()}
    options = dialect(major)
    return [each for name, value in named.items() for each in (options[_layer(name)], name, word(value))]


def _layer(name: str) -> str:
    """Whose parameter it is, as a dialect names the option for it."""
    framework = name.partition("_")[0]
    layers = _TABLE["frameworks"].items()
    return next((layer for layer, frameworks in layers if framework in frameworks), "parameter")


def word(value: Any) -> str:
    # YAML's yes is Python's True; Open MPI reads 1.
    return str(int(value)) if isinstance(value, bool) else str(value)
