"""Which mpirun it is, and which options that one takes. Pure.

Open MPI 4 starts its daemons with ORTE, Open MPI 5 with PRRTE: other parameter names, other options that carry them,
and no options with one dash and several letters (`-bind-to none` makes `none` the program). Checked against the
parameters that 4.1.4 and 5.0.11 list about themselves and by running both.
"""

from __future__ import annotations

import re
from typing import Any, Mapping, NamedTuple

from ..._judge.sentences import refusal
from ..._layer import ParseError

DEFAULT = "4.1"  # Debian 12 and the NGC images of the guide; only for callers that observed nothing

_PRINTED = re.compile(r"\(Open MPI\)\s+v?(?P<major>\d{1,3})\.(?P<minor>\d{1,3})(?P<rest>[\w.+-]{0,40})")
_PLAIN = re.compile(r"v?(?P<major>\d{1,3})\.(?P<minor>\d{1,3})(?P<rest>[\w.+-]{0,40})\Z")


class Version(NamedTuple):
    major: int
    minor: int
    text: str


class Dialect(NamedTuple):
    """``options``: what every run is given; ``parameter``: the option for a parameter of MPI itself; ``runtime`` and
    ``pmix``: those for parameters of the two layers below it; ``network``, ``no_tree``: names of parameters."""

    options: tuple[str, ...]
    binding: tuple[str, ...]
    parameter: str
    runtime: str
    pmix: str
    network: str
    no_tree: str


ORTE = Dialect(
    options=("--allow-run-as-root", "--tag-output"),
    binding=("-bind-to", "none", "-map-by", "slot"),
    parameter="-mca",
    runtime="-mca",
    pmix="-mca",
    network="oob_tcp_if_include",
    no_tree="plm_rsh_no_tree_spawn",
)
PRRTE = Dialect(
    options=("--allow-run-as-root", "--output", "tag"),
    binding=("--bind-to", "none", "--map-by", "slot"),
    parameter="--mca",
    runtime="--prtemca",
    pmix="--pmixmca",
    network="prte_if_include",
    no_tree="plm_ssh_no_tree_spawn",
)

# What prte_info and pmix_info of 5.0.11 list; frameworks that MPI has as well (if, hwloc, reachable) stay MPI's.
_RUNTIME_FRAMEWORKS = re.compile(
    "(errmgr|ess|filem|grpcomm|iof|odls|oob|plm|prte|prtebacktrace|prtedl|prteinstalldirs|prtereachable|ras|rmaps|rml"
    "|routed|rtc|schizo|state)(_|$)"
)
_PMIX_FRAMEWORKS = re.compile(
    "(bfrops|gds|pcompress|pif|pinstalldirs|plog|pmdl|pmix|pnet|preg|psec|psensor|psquash|pstat|ptl)(_|$)"
)
# One parameter under two names: (4, 5). A name that ends in _ means all that begin so.
_RENAMED = (
    ("oob_tcp_if_include", "prte_if_include"),
    ("oob_tcp_if_exclude", "prte_if_exclude"),
    ("routed_radix", "rml_base_radix"),
    ("plm_rsh_", "plm_ssh_"),
    ("orte_", "prte_"),
)


def parse_version(text: str) -> Version:
    """What ``mpirun --version`` printed, or a number alone. Raises ParseError and, for a version that was never tried,
    RefusedError."""
    match = _PRINTED.search(text) or _PLAIN.match(text.strip())
    if match is None:
        raise ParseError(
            "not the version of an Open MPI",
            host="mpirun --version",
            raw=text,
            remedy="use an image with Open MPI 4 or 5 whose mpirun comes first in PATH",
        )
    found = Version(int(match["major"]), int(match["minor"]), f"{match['major']}.{match['minor']}{match['rest']}")
    if found.major not in (4, 5):
        raise refusal("open_mpi_version", found.text)
    return found


def dialect(version: Version) -> Dialect:
    return ORTE if version.major < 5 else PRRTE


def renamed(name: str, version: Version) -> str:
    """``name`` as this version calls the parameter; a name that both know stays."""
    new = version.major >= 5
    for old_name, new_name in _RENAMED:
        source, target = (old_name, new_name) if new else (new_name, old_name)
        if name == source or (source.endswith("_") and name.startswith(source)):
            return target + name[len(source) :]
    return name


def parameters(wanted: Mapping[str, Any], version: Version) -> list[str]:
    """Options for all parameters, in their order. A parameter that is given under both names counts once, the later
    value wins."""
    named: dict[str, Any] = {}
    for name, value in wanted.items():
        named[renamed(str(name), version)] = value
    chosen = dialect(version)
    words: list[str] = []
    for name, value in named.items():
        if _RUNTIME_FRAMEWORKS.match(name):
            option = chosen.runtime
        else:
            option = chosen.pmix if _PMIX_FRAMEWORKS.match(name) else chosen.parameter
        words += [option, name, word(value)]
    return words


def word(value: Any) -> str:
    # YAML's yes is Python's True; Open MPI reads 1.
    return str(int(value)) if isinstance(value, bool) else str(value)
