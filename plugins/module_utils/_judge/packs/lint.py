"""Check rule packs: keys and types, names, sources, samples, and patterns that could run away.

    cd plugins && python -m module_utils._judge.packs.lint [FOLDER ...]

An alternative is one entry of ``match``; each has a sample that it matches. Each pack with signs has lines that none of
them matches. FOLDER: packs of a site, checked with those of the collection.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any, Iterable, Iterator, Mapping

from ... import _yaml_files as yaml_files
from .. import words
from . import loader, model, predicates

_TYPES: Mapping[str, type] = {"text": str, "flag": bool, "number": int, "list": list, "mapping": dict}
_BOUND = re.compile(r"\brelease_\w+[<>]")
_NAME = re.compile(r"[a-z][a-z0-9_]*")


def problems(packs: loader.Packs, readers: Iterable[str] = ()) -> list[str]:
    """What is wrong, each with its file. ``readers``: names of signs that readers find."""
    found = list(_names(packs))
    signs = {name: str(sign.get("match")) for _pack, name, sign in packs.signs()} | dict.fromkeys(readers, "")
    causes = {pack.name for pack in packs.causes()}
    for pack in packs.causes():
        found += [f"{pack.path}: {text}" for text in _cause(pack.data, signs, causes)]
    for pack, name, sign in packs.signs():
        kind = "sign_of_cause" if pack.kind == loader.CAUSES else "sign"
        found += [f"{pack.path}: {name}: {text}" for text in (*_keys(sign, kind), *_sign(sign, packs))]
    for pack in packs.packs:
        found += [f"{pack.path}: {text}" for text in _others(pack, packs)]
    return found


def _names(packs: loader.Packs) -> Iterator[str]:
    """Names that are none, and names that two of a kind have."""
    for kind, name, pack in packs.names():
        if not _NAME.fullmatch(name):
            yield f"{pack.path}: {kind} is {name}, expected lower case letters, digits and underscores. Rename it."
    yield from packs.twins()


def _keys(data: Mapping[str, Any], kind: str) -> Iterator[str]:
    """``kind``: as keys.yml names it, which has needed and optional keys, each with its type."""
    needed, optional = (loader.load().lists["keys"][kind][part] for part in ("needed", "optional"))
    known = {key: _TYPES[name] for key, name in (needed | optional).items()}
    for key, value in data.items():
        if key not in known:
            yield f"key is {key}, expected one of {', '.join(known)}. Rename it."
        elif not isinstance(value, known[key]) or not value:
            yield f"{key} is {value!r}, expected a {known[key].__name__} that is not empty. Write one."
    yield from (f"{key} is missing. Write it." for key in needed if key not in data)


def _cause(data: Mapping[str, Any], signs: Mapping[str, str], causes: set[str]) -> Iterator[str]:
    yield from _keys(data, "cause")
    if ("refuted_by" in data) == ("irrefutable" in data):
        yield "refuted_by or irrefutable is missing. Write what speaks against the cause, or why nothing does."
    for when in data.get("refuted_by", ()):
        yield from (f"refuted_by: {text}" for text in _when(str(when), signs))
    for name, rule in data.get("rules", {}).items():
        texts = [*_keys(rule, "rule")]
        texts += _when(rule.get("when", ""), signs)
        texts += _unknown("sign", rule.get("explains", ()), signs)
        if _BOUND.search(rule.get("when", "")) and "https://" not in rule.get("source", ""):
            texts.append("source is without an address, expected the one that gives the release. Write it.")
        texts += _unknown("cause", rule.get("also", ()), causes)
        texts += _certainty(rule)
        yield from (f"{name}: {text}" for text in texts)
    for name, compare in data.get("compares", {}).items():
        texts = [*_keys(compare, "compare"), *_certainty(compare)]
        texts += _unknown("sign", compare.get("sign", "").split("+"), signs)
        yield from (f"{name}: {text}" for text in texts)


def _when(text: str, signs: Mapping[str, str]) -> Iterator[str]:
    for word in text.split():
        condition = model.parse(word)
        yield from _unknown("sign", [condition.name] if condition else word.lstrip("!").split("|"), signs)
        if condition and "?P<value>" not in signs.get(condition.name, "?P<value>"):
            yield f"{word}: {condition.name} reads no value. Give its pattern a group of this name."


def _unknown(kind: str, names: Iterable[str], known: Iterable[str]) -> list[str]:
    return [f"{kind} {name} is not known. Write its pack." for name in names if name and name not in known]


def _certainty(data: Mapping[str, Any]) -> Iterator[str]:
    for key in ("certainty", "reported"):
        if data.get(key, "likely") not in model.CERTAINTIES:
            yield f"{key} is {data[key]}, expected one of {', '.join(model.CERTAINTIES)}. Write one."


def _sign(sign: Mapping[str, Any], packs: loader.Packs) -> Iterator[str]:
    if sign.get("kind", "fault") not in model.SIGNS:
        yield f"kind is {sign['kind']}, expected one of {', '.join(model.SIGNS)}. Write one."
    try:
        predicates.of(sign)
    except ValueError as error:
        yield str(error)
    if not sign.get("match"):
        return
    heard: set[str] = set()
    said = _taken(sign, sign.get("samples") or (), packs)
    for text in sign["match"]:
        try:
            pattern = re.compile(loader.alternative(text, packs.words), re.IGNORECASE)
        except (re.error, yaml_files.PackError) as error:
            yield f"{text!r} is no pattern: {error}. Mend it."
            continue
        try:
            words.ways_of(pattern.pattern)
        except ValueError as error:
            yield f"{error}. Write a word that each line has."
        if _runs_away(words.parser.parse(pattern.pattern, re.IGNORECASE)):
            yield f"{text!r} repeats what repeats itself: it could take hours. Bound the inner repeat."
        fits = {sample for sample in said if pattern.search(sample)}
        if not fits:
            yield f"{text!r} matches no sample. Write one that its source prints, or take the alternative out."
        heard |= fits
    unheard = [text for text in sign.get("samples", ()) if text not in heard]
    yield from (f"sample {text!r} is matched by nothing. Take it out." for text in unheard)


def _others(pack: loader.Pack, packs: loader.Packs) -> Iterator[str]:
    lines = pack.data.get("must_not_match") or ()
    if pack.signs and not lines:
        yield "must_not_match is missing. Write a line that is much like the samples and means something else."
    for name, sign in pack.signs.items():
        for text in _taken(sign, lines, packs):
            yield f"{name} takes {text!r}, which it must not match. Say more in its alternative."


def _taken(sign: Mapping[str, Any], lines: Iterable[Any], packs: loader.Packs) -> list[str]:
    """Lines that the whole sign takes; none where its parts are wrong, which are named where they are looked at."""
    try:
        test = predicates.of(sign)
        pattern = re.compile(packs.pattern(sign["match"]), re.IGNORECASE)
    except (ValueError, KeyError, re.error):
        return []
    matches = [(text, pattern.search(text)) for text in map(str, lines)]
    return [text for text, match in matches if match and (test is None or test(match))]


def _runs_away(parsed: Any) -> bool:
    """A repeat without end inside of a repeat without end, and nothing fixed between two rounds of it."""
    return any(_runs_away(body) or (endless and _soft(body)) for endless, body in _bodies(parsed))


def _soft(parsed: Any) -> bool:
    """It holds a repeat without end, and no character that has to be there."""
    fixed = any(str(operation) in ("LITERAL", "IN") for operation, _value in parsed)
    return not fixed and any(endless or _soft(body) for endless, body in _bodies(parsed))


def _bodies(parsed: Any) -> Iterator[tuple[bool, Any]]:
    """What its parts contain, and whether they repeat it without end."""
    places = {"SUBPATTERN": -1, "MAX_REPEAT": 2, "MIN_REPEAT": 2, "ASSERT": 1, "ASSERT_NOT": 1}
    for operation, value in parsed:
        name = str(operation)
        inner = value[1] if name == "BRANCH" else [value[places[name]]] if name in places else []
        yield from ((name.endswith("REPEAT") and value[1] == words.parser.MAXREPEAT, body) for body in inner)


def main(folders: list[str]) -> int:
    packs = loader.load(loader.FOLDER, *map(Path, folders))
    found = problems(packs, packs.lists["readers"]["signs"])
    sys.stdout.write(("\n".join(found) or f"{len(packs.packs)} packs, no problem") + "\n")
    return int(bool(found))


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
