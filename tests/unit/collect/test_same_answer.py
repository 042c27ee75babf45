"""The doctor says the same of what was redacted as of the original: verdict, causes, layers, how sure.
ROCEMESH_GYM_ARCHIVES=1: of each fault of the gym, and not of every fifth."""

from __future__ import annotations

import os
import pathlib
from typing import Any, Iterator

import pytest
from ansible_collections.rocemesh.multinode.plugins.module_utils._collect import archive, mask
from ansible_collections.rocemesh.multinode.plugins.module_utils._doctor.doctor import diagnose
from ansible_collections.rocemesh.multinode.plugins.module_utils._results.readers.registry import KINDS, Kind

from lab.gym import model, site
from lab.gym.faults import FAULTS
from tests.unit.doctor import test_doctor, test_rules
from tests.unit.doctor.healthy import OUTPUTS

LOGS = pathlib.Path(__file__).parents[1] / "results" / "fixtures"


def essence(found: dict[str, Any]) -> tuple[Any, ...]:
    rows = [(each["cause"], each["layer"], each["certainty"], bool(each["host"])) for each in found["findings"]]
    return found["verdict"], rows, len(found["unknown"]), found["asked"]


def bundles() -> Iterator[tuple[str, str]]:
    """Every text that the tests of the doctor ask about."""
    for name, _source, text in OUTPUTS:
        yield name, text
    for number, (_layer, _verdict, text) in enumerate(test_doctor.FAULTS):
        yield f"fault {number}", text
    for table in ("NOT_HEALTHY", "FIRST", "CERTAIN", "NOT_CERTAIN", "NOT_SAID", "HEALTHY"):
        for number, row in enumerate(getattr(test_rules, table)):
            yield f"{table.lower()} {number}", row if isinstance(row, str) else row[-1]
    for path in sorted(LOGS.rglob("*.log")):
        yield path.stem, path.read_text(errors="replace")


TABLE = list(bundles())
EACH = int(os.environ.get("ROCEMESH_GYM_ARCHIVES", "5"))


def test_the_table_is_that_of_the_doctor() -> None:
    assert len(TABLE) > 190


@pytest.mark.parametrize(("piece", "step"), [("job.log", 1), ("hosts/gpu01/piece.txt", 4)])
def test_the_doctor_says_the_same_of_the_redacted(piece: str, step: int) -> None:
    wrong = []
    for name, text in TABLE[::step]:
        before = diagnose(None, {piece: text})
        found = archive.redacted(
            archive.Pieces({piece: text}), ["secret-of-mine"], ["gpu01", "gpu02", "esx01.lab.corp"]
        )
        after = diagnose(None, found.texts)
        if essence(before) != essence(after):
            wrong.append((name, essence(before)[:2], essence(after)[:2], next(iter(found.texts.values()))[:300]))
    assert wrong == []


def test_the_whole_in_an_archive_is_the_same_as_live(tmp_path: pathlib.Path) -> None:
    texts = {f"hosts/gpu{number % 7:02d}/{number}.txt": text for number, (_name, text) in enumerate(TABLE)}
    found = archive.redacted(archive.Pieces(texts), [], [])
    archive.write(archive.packed(found), tmp_path / "a.tar.gz")
    live, offline = diagnose(None, texts), diagnose(tmp_path / "a.tar.gz")
    assert essence(live) == essence(offline)
    assert live["findings"] and offline["read"][0] == archive.MANIFEST


@pytest.mark.parametrize("name", list(FAULTS)[::EACH])
def test_a_site_with_a_fault_gets_the_same_answer_from_its_archive(name: str, tmp_path: pathlib.Path) -> None:
    texts = model.broken([(FAULTS[name], "gpu02")])
    names = [*site.HOSTS, *site.ESXI.values(), site.SWITCH]
    found = archive.redacted(archive.Pieces(texts), ["secret-of-mine"], names)
    archive.write(archive.packed(found), tmp_path / "a.tar.gz")
    live, offline = diagnose(None, texts), diagnose(tmp_path / "a.tar.gz")
    assert essence(live) == essence(offline)
    # The same hosts, by their stand-ins.
    places = {stand_in: before for before, stand_in in _folders(texts, found.texts).items()}
    first = [[places.get(host, host) for host in each["findings"][0]["hosts"]] for each in (live, offline)]
    assert sorted(first[0]) == sorted(first[1])


def _folders(before: dict[str, str], after: dict[str, str]) -> dict[str, str]:
    """Folder of a machine -> what it is called in the archive: pieces keep their order."""
    pairs = zip(before, (piece for piece in after if piece != archive.MANIFEST))
    return {one.split("/")[1]: other.split("/")[1] for one, other in pairs if one.count("/") == 2}


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
def test_a_reader_reads_the_same_with_marks(kind: Kind, monkeypatch: pytest.MonkeyPatch) -> None:
    """Stand-ins of names are in both: what differs would be of a mark."""
    texts = {str(path): path.read_text(errors="replace") for path in sorted(LOGS.rglob("*.txt"))}
    marked = list(archive.redacted(archive.Pieces(texts), [], []).texts.values())
    monkeypatch.setattr(mask, "spans", lambda text: [])
    unmarked = list(archive.redacted(archive.Pieces(texts), [], []).texts.values())
    assert marked != unmarked
    assert [_without_messages(kind.result(text, {})) for text in marked] == [
        _without_messages(kind.result(text, {})) for text in unmarked
    ]


def _without_messages(found: dict[str, Any]) -> dict[str, Any]:
    """Messages count bytes and show lines."""
    return {**found, "problems": [each["code"] for each in found["problems"]]}
