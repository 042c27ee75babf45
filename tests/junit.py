"""Reads pytest's JUnit file: `passed failed skipped`, then one line for each skip that nobody allowed. With
`--failed` before the file: the ids of what failed, nothing if a skip or a file that broke is among it. With
`--why`: each failure by its id and the first line of its message.

A skip that tests/allowed_skips.json does not name is a failure: what a test needs, lab/bootstrap.sh brings. A name
there is that of a test function, for all its parameters. A file that is not there counts as nothing run.
"""

from __future__ import annotations

import json
import pathlib
import sys
import xml.etree.ElementTree as ET
from typing import NamedTuple

ALLOWED = pathlib.Path(__file__).with_name("allowed_skips.json")


class Counts(NamedTuple):
    passed: int
    failed: int
    skipped: int
    refused: tuple[str, ...]  # skips that count as failures: `id: reason`


def allowed() -> dict[str, str]:
    """Name of a test function -> why it may be skipped."""
    value: dict[str, str] = json.loads(ALLOWED.read_text(encoding="utf-8"))
    return value


def name_of(case: ET.Element) -> str:
    """The id as pytest takes it; a file that was skipped as a whole has its module's name alone."""
    module, name = case.get("classname", ""), case.get("name", "")
    return f"{module.replace('.', '/')}.py::{name}" if module else f"{name.replace('.', '/')}.py"


def _has_failed(case: ET.Element) -> bool:
    return case.find("failure") is not None or case.find("error") is not None


def failed_tests(path: str, may_skip: dict[str, str]) -> list[str]:
    """Ids for pytest of the tests that failed; nothing where running these again would not be the whole answer."""
    counts = count(path, may_skip)
    if counts.refused or not counts.failed:
        return []
    found = [name_of(case) for case in ET.parse(path).getroot().iter("testcase") if _has_failed(case)]
    return list(dict.fromkeys(found)) if all("::" in name for name in found) else []


def reasons(path: str, may_skip: dict[str, str]) -> list[str]:
    """`id: first line of its message` of what failed, and the skips that count as failures."""
    try:
        cases = list(ET.parse(path).getroot().iter("testcase"))
    except (OSError, ET.ParseError):
        return [f"{path}: pytest left no results"]
    found = []
    for case in cases:
        for said in [*case.findall("failure"), *case.findall("error")]:
            found.append(f"{name_of(case)}: {said.get('message', '').partition(chr(10))[0][:300]}")
    return [*found, *count(path, may_skip).refused]


def count(path: str, may_skip: dict[str, str]) -> Counts:
    try:
        cases = list(ET.parse(path).getroot().iter("testcase"))
    except (OSError, ET.ParseError):
        return Counts(0, 0, 0, ())
    passed = failed = skipped = 0
    refused = []
    for case in cases:
        skip = case.find("skipped")
        if _has_failed(case):
            failed += 1
        elif skip is None:
            passed += 1
        elif name_of(case).partition("[")[0] in may_skip:
            skipped += 1
        else:
            refused.append(f"{name_of(case)}: {skip.get('message', '')}")
    return Counts(passed, failed + len(refused), skipped, tuple(refused))


if __name__ == "__main__":
    listing = {"--failed": failed_tests, "--why": reasons}.get(sys.argv[1])
    if listing:
        print("".join(f"{line}\n" for line in listing(sys.argv[2], allowed())), end="")
        raise SystemExit
    counts = count(sys.argv[1], allowed())
    print(counts.passed, counts.failed, counts.skipped)
    for line in counts.refused:
        print(f"SKIPPED, which counts as failed: {line}")
