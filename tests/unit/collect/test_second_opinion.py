"""No archive with a doubt is written, and logs without secrets raise none."""

from __future__ import annotations

import importlib
import pathlib
import re
from typing import Any

import pytest
from ansible_collections.rocemesh.multinode.plugins.module_utils._collect import archive, second_opinion

LOGS = sorted(
    path
    for folder in ("results/fixtures", "doctor", "fabric", "proof")
    for path in (pathlib.Path(__file__).parents[1] / folder).rglob("*")
    if path.suffix in (".log", ".txt", ".out")
)


def packed(text: str) -> bytes:
    return archive.packed(archive.Redacted({"hosts/gpu01/a.log": text}))


@pytest.mark.parametrize(
    ("line", "rule"),
    [
        ("-----BEGIN RSA " + "PRIVATE KEY-----", "Private Key"),
        ("id AKIA" + "QYLPMN5HHHFPZAM2", "AWS Access Key"),
        ("https://me:" + "hunter2zq@store.lab/x", "Basic Auth Credentials"),
    ],
)
def test_doubts_secret_in_archive_names_piece_line_rule(line: str, rule: str) -> None:
    found = second_opinion.doubts(packed(f"first\n{line}\nlast\n"))
    assert found == [f"hosts/gpu01/a.log line 2: {rule}"]
    message = second_opinion.refusal(found, "/tmp/a.tar.gz")
    assert "hosts/gpu01/a.log line 2" in message and rule in message
    assert line not in message


def test_doubts_stand_ins_and_digests_raise_none() -> None:
    text = (
        "password: [secret-1]\ntoken=[secret-22]\nAuthorization: Basic [secret-3]\nhttps://[secret-4]@host-1/x\n"
        'image "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"\n'
        "GPU-00000000-0000-4000-8000-000000000001 0000:0b:00.0 02:00:00:00:00:01 node_guid 506b:4b03:00cb:e1f2\n"
    )
    assert second_opinion.doubts(packed(text)) == []


def test_doubts_real_logs_at_most_two_of_forty_refused() -> None:
    assert len(LOGS) >= 40
    refused = [
        path.name
        for path in LOGS
        if second_opinion.doubts(
            archive.packed(archive.redacted(archive.Pieces({"a.log": path.read_text(errors="replace")}), [], []))
        )
    ]
    assert len(refused) * 20 <= len(LOGS), refused


def test_rules_missing_library_names_requirement(monkeypatch: pytest.MonkeyPatch) -> None:
    real = importlib.import_module

    def without(name: str, package: Any = None) -> Any:
        if name.startswith("detect_secrets"):
            raise ImportError(f"No module named {name!r}")
        return real(name, package)

    monkeypatch.setattr(importlib, "import_module", without)
    with pytest.raises(ValueError, match=re.escape(second_opinion.REQUIREMENT)):
        second_opinion.rules()


def test_rules_requirement_is_that_of_requirements_file() -> None:
    listed = (pathlib.Path(__file__).parents[3] / "requirements.txt").read_text().splitlines()
    assert second_opinion.REQUIREMENT in listed
