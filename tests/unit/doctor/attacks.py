"""Check the answer of the doctor to each attack. ``GROUPS``: group -> (expectation, case -> check).

`python -m tests.unit.doctor.attacks` runs all checks, removes mended cases from the list of known wrong answers and
writes the table of docs/doctor.md. It never adds a case to the list.
"""

from __future__ import annotations

import functools
import pathlib
import re
import tempfile
from typing import Any, Callable, Iterator

import yaml
from ansible_collections.rocemesh.multinode.plugins.module_utils._doctor.doctor import diagnose

from tests.unit.doctor import (
    attack_bundles,
    attack_contrary_second,
    attack_lines,
    attack_silent,
    attack_sound,
    attack_versions,
    attack_versions_second,
)

HOME = pathlib.Path(__file__).parents[3]
PAGE = HOME / "docs/doctor.md"
LIST = pathlib.Path(__file__).with_name("attacks_known_wrong.yml")
MARKS = ("<!-- attacks: made by tests/unit/doctor/attacks.py -->\n", "<!-- end of attacks -->\n")
CERTAIN = ("proven", "likely")
GOOD_JOB = "\n".join(attack_silent.TESTS) + "\n"
Check = Callable[[], bool]


def findings(found: dict[str, Any]) -> list[tuple[str, str]]:
    return [(finding["cause"], finding["certainty"]) for finding in found["findings"]]


@functools.cache
def verdict(text: str) -> str:
    return str(diagnose(None, {"job.log": text})["verdict"])


def is_not_healthy(text: str) -> bool:
    return verdict(text) != "healthy"


def has_verdict(right: tuple[str, ...], text: str) -> bool:
    return verdict(text) in right


def is_without_finding(line: str) -> bool:
    found = diagnose(None, {"job/a.log": GOOD_JOB, "hosts/gpu01/dmesg.txt": f"[   12.345678] {line}\n"})
    return not found["findings"] and found["verdict"] != "faulty"


def is_unjudged(text: str) -> bool:
    found = diagnose(None, {"some.log": text})
    return not found["findings"] and found["verdict"] not in ("healthy", "faulty")


def is_other_trade(text: str) -> bool:
    found = diagnose(None, {"some.log": text})
    return "not my field" in f"{found['verdict']} {found['message']}".lower().replace("_", " ")


def is_located(layout: str, fault: str) -> bool:
    cause, host, outputs = attack_bundles.FAULTS[fault]
    with tempfile.NamedTemporaryFile(suffix=".tar") as file:
        file.write(attack_bundles.tar(attack_bundles.LAYOUTS[layout](outputs)))
        file.flush()
        found = diagnose(file.name)
    first = found["findings"][0] if found["findings"] else None
    return bool(first and first["cause"] == cause and first["certainty"] in CERTAIN and first["hosts"] == [host])


def is_first_host(case: attack_bundles.Clocked) -> bool:
    """With offsets the host that failed first; without them no other one as certain."""
    found = diagnose(None, case.pieces)["findings"]
    if case.offsets:
        return bool(found) and found[0]["host"] == case.first
    return not any(f["certainty"] in CERTAIN and f["hosts"] and case.first not in f["hosts"] for f in found[:1])


def is_version_aware(before: str, mended: str, form: str, log: str) -> bool:
    older, newer = (diagnose(None, {"job.log": form.format(release) + log}) for release in (before, mended))
    return (older["verdict"], findings(older)) != (newer["verdict"], findings(newer))


def is_not_refuted_first(causes: tuple[str, ...], pieces: dict[str, str]) -> bool:
    found = diagnose(None, pieces)["findings"]
    return not found or found[0]["cause"] not in causes


def _bind(cases: dict[str, tuple[Any, ...]], check: Callable[..., bool]) -> dict[str, Check]:
    return {name: functools.partial(check, *arguments) for name, arguments in cases.items()}


LAYOUTS = {
    f"{layout}: {fault}": (layout, fault) for layout in attack_bundles.LAYOUTS for fault in attack_bundles.FAULTS
}
TEXTS = {name: (text,) for name, text in attack_lines.TRADES.items()}
GROUPS: dict[str, tuple[str, dict[str, Check]]] = {
    "silent failures": ("never healthy", _bind({n: (t,) for n, t in attack_silent.SILENT.items()}, is_not_healthy)),
    "sound outputs": (
        "healthy, or no fault seen where the output cannot show it",
        _bind(dict(attack_sound.SOUND), has_verdict),
    ),
    "ordinary kernel lines": (
        "no finding beside a good job",
        _bind({n: (n,) for n in attack_lines.ORDINARY}, is_without_finding),
    ),
    "logs of other trades": ("no finding, neither healthy nor faulty", _bind(dict(TEXTS), is_unjudged)),
    "logs of other trades, by name": ('"not my field"', _bind(dict(TEXTS), is_other_trade)),
    "faults in other layouts": ("the cause, certain, at its host alone", _bind(dict(LAYOUTS), is_located)),
    "clocks that differ": (
        "the first host that failed, or no other as certain where the offsets are not known",
        _bind({n: (c,) for n, c in attack_bundles.CLOCKS.items()}, is_first_host),
    ),
    "faults that a release mended": (
        "other answers below and above it",
        _bind(dict(attack_versions.VERSIONS), is_version_aware),
    ),
    "facts against a cause": (
        "the refuted cause is not first",
        _bind(dict(attack_bundles.CONTRARY), is_not_refuted_first),
    ),
    "faults that a release mended, second set": (
        "other answers below and above it",
        _bind(dict(attack_versions_second.VERSIONS), is_version_aware),
    ),
    "facts against a cause, second set": (
        "the refuted cause is not first",
        _bind(dict(attack_contrary_second.CONTRARY), is_not_refuted_first),
    ),
}


def find_wrong(group: str) -> list[str]:
    return [name for name, right in GROUPS[group][1].items() if not right()]


def read_known() -> dict[str, Any]:
    """``first_sight``: group -> how many were wrong; ``wrong``: group -> those that still are."""
    return dict(yaml.safe_load(LIST.read_text(encoding="utf-8")))


def table(listed: dict[str, Any]) -> Iterator[str]:
    yield "| cases | expected | right at first sight | now |"
    yield "|---|---|---|---|"
    for group, (expected, cases) in GROUPS.items():
        at_first, now = (len(cases) - n for n in (listed["first_sight"][group], len(listed["wrong"][group])))
        yield f"| {len(cases)} {group} | {expected} | {at_first} | {now} |"


def page(text: str, listed: dict[str, Any]) -> str:
    begin, end = MARKS
    between = "".join(f"{line}\n" for line in table(listed))
    return re.sub(f"{begin}.*?{end}", lambda _old: f"{begin}{between}{end}", text, flags=re.DOTALL)


class _Indented(yaml.SafeDumper):
    def increase_indent(self, flow: bool = False, indentless: bool = False) -> None:
        super().increase_indent(flow, False)


def main() -> None:
    listed = read_known()
    for group, names in listed["wrong"].items():
        still = find_wrong(group)
        listed["wrong"][group] = [name for name in names if name in still]
    text = yaml.dump(listed, Dumper=_Indented, sort_keys=False, allow_unicode=True, width=110)
    LIST.write_text(
        f"---\n# Attacks with a wrong answer. Cases can leave this list; none can join it.\n{text}",
        encoding="utf-8",
    )
    PAGE.write_text(page(PAGE.read_text(encoding="utf-8"), listed), encoding="utf-8")


if __name__ == "__main__":
    main()
