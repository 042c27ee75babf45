"""Rule packs: one YAML file for each cause, symptom, fact, harmless line and good line, read from folders.

    causes/LAYER/CAUSE.yml    a cause, the signs that speak for it alone, and its rules
    symptoms/SIGN.yml         a sign of several causes
    facts/SIGN.yml            a sign that means something only beside others
    noise/SIGN.yml            a line that sounds bad and is harmless
    normal/SIGN.yml           a line that a working system prints
    words.yml                 parts of patterns that several signs share
    looks.yml, suspects.yml, topics.yml    lists whose order counts
    runs.yml, slurm.yml       lines of a failed mpirun, and of a job that Slurm ended; their order counts
    alarms.yml, forms.yml     words of trouble, and forms of lines, whatever program says them
    jobs.yml                  what programs print of how far their job came
    layers.yml                layers from the ground up, and who owns each
    readers.yml               signs that readers find, and those of the fabric check's faults
    readings.yml              which signs a value is that roles and runs have read
    keys.yml                  which keys a pack may have, for the check of packs
    order.yml                 which rule and sign counts first where two say as much

The name of a cause, sign or list is that of its file, the layer that of its folder. Only the controller has these
files: Ansible sends no YAML to nodes.
"""

from __future__ import annotations

import collections
import dataclasses
import functools
import itertools
import re
from pathlib import Path
from typing import Any, Iterator, Mapping, Pattern, Sequence

from ..._yaml_files import PackError, read
from ..xids import numbers

FOLDER = Path(__file__).parent
CAUSES, SYMPTOMS, FACTS, NOISE, NORMAL = KINDS = ("causes", "symptoms", "facts", "noise", "normal")
_WORDS = "words"
_PART = re.compile(r"\{(?P<name>[a-z_]+)(?: (?P<cause>[a-z_]+)(?: (?P<at_fault>\w+))?)?\}")
_RECORDED = "recorded"  # an Xid that names no cause


@dataclasses.dataclass(frozen=True)
class Pack:
    """One file. ``kind``: one of KINDS; ``layer``: of a cause, else empty."""

    path: Path
    kind: str
    layer: str
    name: str
    data: Mapping[str, Any]

    @property
    def signs(self) -> Mapping[str, Mapping[str, Any]]:
        """Name of each sign and what the file says of it."""
        return (self.data.get("signs") or {}) if self.kind == CAUSES else {self.name: self.data}


@dataclasses.dataclass(frozen=True, eq=False)
class Packs:
    """``lists``: name of the list -> its entries; ``words``: name of a part -> the part."""

    packs: tuple[Pack, ...]
    lists: Mapping[str, Mapping[str, Any]]
    words: Mapping[str, str]

    def causes(self) -> list[Pack]:
        return [pack for pack in self.packs if pack.kind == CAUSES]

    def signs(self) -> Iterator[tuple[Pack, str, Mapping[str, Any]]]:
        """Pack, name of the sign, and what the pack says of it."""
        return ((pack, name, sign) for pack in self.packs for name, sign in pack.signs.items())

    def names(self) -> Iterator[tuple[str, str, Pack]]:
        """Kind, name and pack of each cause, sign and rule."""
        for pack in self.causes():
            yield "cause", pack.name, pack
            yield from (("rule", name, pack) for name in pack.data.get("rules") or {})
        yield from (("sign", name, pack) for pack, name, _sign in self.signs())

    def twins(self) -> Iterator[str]:
        """Names that two files give."""
        seen: dict[tuple[str, str], Path] = {}
        for kind, name, pack in self.names():
            if (kind, name) in seen:
                yield f"{pack.path}: {kind} {name} is in {seen[kind, name]} as well, expected once. Rename one."
            seen[kind, name] = pack.path

    def places(self, kind: str) -> Mapping[str, int]:
        """Name -> its place in ``order.yml``; the others come behind."""
        listed = self.lists.get("order", {}).get(kind, ())
        return collections.defaultdict(lambda: len(listed), {each: number for number, each in enumerate(listed)})

    def pattern(self, match: Sequence[str]) -> str:
        return "|".join(alternative(text, self.words) for text in match)


def alternative(text: str, words: Mapping[str, str]) -> str:
    """One regular expression, as ``re`` takes it. Lines of a block are joined without a space; ``{name}`` is a part of
    ``words``, ``{xids CAUSE}`` or ``{xids CAUSE PART}`` the Xids that name this cause (and have this part at fault)."""

    def part(match: re.Match[str]) -> str:
        if match["name"] != "xids":
            if match["name"] not in words:
                raise PackError(f"{text!r}: {match.group()} is not in {_WORDS}.yml")
            return words[match["name"]]
        cause = "" if match["cause"] == _RECORDED else match["cause"]
        return numbers(cause, match["at_fault"] or "")

    if not isinstance(text, str):
        raise PackError(f"{text!r} is no text. Quote it.")
    return _PART.sub(part, "".join(text.splitlines()))


@functools.lru_cache(maxsize=None)
def load(*folders: Path) -> Packs:
    """All packs of these folders, those of the collection without any; in the order of KINDS, and of names. Raises
    PackError, and ImportError without PyYAML."""
    for folder in folders:
        if not folder.is_dir():
            raise PackError(f"{folder}: is no folder, expected one with rule packs. Name a folder that is there.")
    given = folders or (FOLDER,)
    packs: list[Pack] = []
    for kind in KINDS:
        found = [sorted((folder / kind).glob("*/*.yml" if kind == CAUSES else "*.yml")) for folder in given]
        for path in itertools.chain(*found):
            packs.append(Pack(path, kind, path.parent.name if kind == CAUSES else "", path.stem, read(path)))
    lists: dict[str, dict[str, Any]] = {}
    for path in itertools.chain(*(folder.glob("*.yml") for folder in given)):
        if (FOLDER / path.name).is_file():
            lists.setdefault(path.stem, {}).update(read(path))
    words = {name: "".join(text.splitlines()) for name, text in lists.pop(_WORDS, {}).items()}
    return Packs(tuple(packs), lists, words)


@functools.lru_cache(maxsize=None)
def form(name: str, of: str = "forms") -> Pattern[str]:
    """A pattern of the collection's list ``of``: what kind of line it is, whatever it says."""
    packs = load()
    return re.compile("|".join(alternative(text, packs.words) for text in packs.lists[of][name]))
