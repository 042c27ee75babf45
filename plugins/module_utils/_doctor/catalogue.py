"""All causes, signs and rules of the doctor, from the rule packs and from the rules of a failed run.

``_results/launch`` explains a failed mpirun. Its patterns are signs here, so that both say the same of one
line. The packs are read when the catalogue is first asked for, not when this file is imported.
"""

from __future__ import annotations

import dataclasses
import functools
import re
from pathlib import Path
from typing import Any, Iterable, Mapping, Sequence

from .. import _yaml_files as yaml_files
from .._judge.packs import loader, predicates
from .._judge.packs.model import FACT, FAULT, GOOD, LIKELY, NORMAL, Cause, Look, Rule, Sign
from .._results.launch.causes import rules as launch_rules

# What the signs of a folder are, unless they say so themselves.
_KINDS = {loader.CAUSES: FAULT, loader.SYMPTOMS: FAULT, loader.FACTS: FACT, loader.NOISE: NORMAL, loader.NORMAL: GOOD}
_WORDS_OF_FIELD = "the words of the field: what a line that no rule knows is about"
_OF_CAUSE = {field.name for field in dataclasses.fields(Cause)} - {"id", "layer"}


@dataclasses.dataclass(frozen=True)
class Catalogue:
    """``compares``: rules whose signs are compared between hosts: the values of one, or which of several a host has;
    ``topics``: what a line is about where no rule knows its words, each with its sign."""

    causes: Mapping[str, Cause]
    signs: tuple[Sign, ...]
    rules: tuple[Rule, ...]
    compares: tuple[Rule, ...]
    looks: tuple[Look, ...]
    topics: Mapping[Rule, Sign]
    lists: Mapping[str, Any]


_OF_SITE: list[Path] = []


def use(folders: Iterable[str]) -> None:
    """From now on, read these folders with packs of a site as well."""
    _OF_SITE[:] = map(Path, folders)


def layers() -> Mapping[str, str]:
    """From the ground up, each with its owner."""
    return loader.load().lists["layers"]


def catalogue() -> Catalogue:
    """Raises PackError, and ImportError without PyYAML."""
    return _built(loader.load(*(loader.FOLDER, *_OF_SITE) if _OF_SITE else ()))


def listed(name: str) -> Any:
    """A list of suspects.yml."""
    return catalogue().lists[name]


@functools.lru_cache(maxsize=2)
def _built(packs: loader.Packs) -> Catalogue:
    for text in packs.twins():
        raise yaml_files.PackError(text)
    runs = {rule: sign for rule, sign in launch_rules().items() if rule.causes}
    causes = {pack.name: _cause(pack) for pack in packs.causes()}
    signs = [_sign(name, entry, _KINDS[pack.kind], packs) for pack, name, entry in packs.signs()]
    place_of_sign, place_of_rule = packs.places("signs"), packs.places("rules")
    rules: list[Rule] = []
    compares: list[Rule] = []
    for pack in packs.causes():
        rules += [_rule(name, pack.name, **entry) for name, entry in pack.data.get("rules", {}).items()]
        compares += [
            Rule(name, entry["sign"].replace("+", "|"), (pack.name,), entry["source"], entry.get("certainty", LIKELY))
            for name, entry in pack.data.get("compares", {}).items()
        ]
    return Catalogue(
        causes,
        (*sorted(signs, key=lambda sign: place_of_sign[sign.name]), *runs.values()),
        (*sorted(rules, key=lambda rule: place_of_rule[rule.id]), *runs),
        tuple(compares),
        tuple(Look(name, **entry) for name, entry in packs.lists["looks"].items()),
        dict(_topic(name, entry, packs) for name, entry in packs.lists["topics"].items()),
        packs.lists["suspects"],
    )


def _cause(pack: loader.Pack) -> Cause:
    if pack.layer not in layers():
        raise yaml_files.PackError(
            f"{pack.path}: layer is {pack.layer}, expected one of {', '.join(layers())}. Move the file."
        )
    fields = {key: value for key, value in pack.data.items() if key in _OF_CAUSE}
    against = (Rule("", when, (pack.name,), fields["source"]) for when in fields.pop("refuted_by", ()))
    return Cause(pack.name, pack.layer, **fields, refuted_by=tuple(against))


def _sign(name: str, entry: Mapping[str, Any], kind: str, packs: loader.Packs) -> Sign:
    if not entry.get("match"):
        raise yaml_files.PackError(f"sign {name}: match is missing. Write it.")
    return Sign(
        name,
        packs.pattern(entry["match"]),
        entry.get("kind", kind),
        predicates.of(entry),
        re.compile(rf"(?:^|/){entry['piece']}/") if "piece" in entry else None,
        **{key: entry[key] for key in ("alone", "product", "ended", "again") if key in entry},
    )


def _topic(name: str, entry: Mapping[str, Any], packs: loader.Packs) -> tuple[Rule, Sign]:
    sign = Sign(f"topic_{name}", packs.pattern(entry["match"]), alone=entry.get("broad", False))
    return Rule(sign.name, sign.name, tuple(entry["causes"]), _WORDS_OF_FIELD), sign


def _rule(name: str, cause: str, *, also: Sequence[str] = (), explains: Sequence[str] = (), **fields: Any) -> Rule:
    return Rule(name, causes=(cause, *also), explains=tuple(explains), **fields)
