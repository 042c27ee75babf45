"""Every problem code of every reader, and what it does to a sound run: docs/problems.md.

Codes of the readers are in their problems.yml, those of the data path are found in the source.

Run as a program (``python -m tests.unit.proof.problem_codes``), it writes that page again.
"""

from __future__ import annotations

import ast
import copy
import pathlib
from typing import Any, Iterator

import yaml
from ansible_collections.rocemesh.multinode.plugins.module_utils._proof.verdict import NOT_PROVEN, PATH_PROVEN, PROVEN
from ansible_collections.rocemesh.multinode.plugins.module_utils._proof.witness import (
    DISAGREES,
    MISSING,
    Witness,
    witnesses,
)
from ansible_collections.rocemesh.multinode.plugins.module_utils._results.readers import nccl_log
from ansible_collections.rocemesh.multinode.plugins.module_utils._results.report.summary import Inputs, build

from tests.unit.proof.truth import Run

SOURCES = pathlib.Path(nccl_log.__file__).parents[1]
PAGE = SOURCES.parents[2] / "docs" / "problems.md"
_CALLS = ("add", "problem", "_problem", "Problem")
# What a reader's problems are part of: the training's log and NCCL's log are evidence of the verdict. Results of
# benchmarks and logs of others are shown, each with its problems.
TRAINING = ("tf_cnn", "reading", "tags")
NCCL = ("nccl_log", "path_verdict")
NEEDS = yaml.safe_load(pathlib.Path(__file__).with_name("needs.yml").read_text(encoding="utf-8"))
CONSTANTS = {"NOT_ONE_JOB": "not_one_job"}


def _texts(node: ast.expr) -> Iterator[str]:
    """The codes that this expression can be."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        yield node.value
    elif isinstance(node, ast.Name) and node.id in CONSTANTS:
        yield CONSTANTS[node.id]


def texts_of_readers() -> dict[str, dict[str, str]]:
    return dict(yaml.safe_load((SOURCES / "readers" / "problems.yml").read_text(encoding="utf-8")))


def meaning(reader: str, code: str) -> str:
    """The message, with names in braces for what is filled in; of several the first. Empty: the report words it."""
    texts = texts_of_readers().get(reader, {})
    if reader == "path_verdict":
        reasons = yaml.safe_load((SOURCES / "path" / "reasons.yml").read_text(encoding="utf-8"))
        texts = {**reasons, "incomplete": reasons["ranks_missing"], "not_one_job": reasons["several_jobs"]}
    found = [text for name, text in texts.items() if name.split("/")[0] == code]
    return found[0].replace("|", "\\|").replace("\n", " ") if found else ""


def codes() -> dict[str, list[str]]:
    """Reader -> its codes."""
    texts = texts_of_readers()
    found: dict[str, list[str]] = {reader: [*{name.split("/")[0] for name in names}] for reader, names in texts.items()}
    paths = (path for path in SOURCES.rglob("*.py") if path.parent.name != "readers")
    for path in sorted(paths, key=lambda path: path.stem):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if not isinstance(node, ast.Call) or not node.args:
                continue
            name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
            if name in _CALLS:
                for code in _texts(node.args[0]):
                    reader = "path_verdict" if path.parent.name == "path" else path.stem
                    if code.replace("_", "").isalnum() and code not in found.setdefault(reader, []):
                        found[reader].append(code)
    return {reader: sorted(names) for reader, names in found.items() if names}


def effect(reader: str, code: str) -> tuple[str, str, bool]:
    """What a sound run becomes with this problem: the verdict, the witness that says it, whether it stands in the
    report."""
    inputs = copy.deepcopy(_TRUTH)
    problem = {"code": code, "message": f"the reader says {code}"}
    if reader in NCCL:
        inputs["evidence"]["nccl_path"].update(ok=False, problems=[problem])
    elif reader in TRAINING:
        inputs["result"].update(ok=False, problems=[problem])
    else:
        inputs["problems"] = [problem]
    found = build(Inputs(run_id="x", **inputs))
    heard = [one["title"] for one in found["verdict"]["witnesses"] if problem["message"] in one["evidence"]]
    return found["verdict"]["state"], ", ".join(heard), problem in found["problems"]


def table() -> list[tuple[str, str, str]]:
    rows = []
    for reader, names in codes().items():
        for code in names:
            state, heard, shown = effect(reader, code)
            what = f"{state} ({heard})" if heard else "stands among the problems" if shown else "NOTHING"
            rows.append((code, reader, what))
    return sorted(rows)


def best(witness: Witness, state: str) -> str:
    """The best verdict of a run of which this witness is missing or disagrees."""
    if not witness.decides or (state == MISSING and not witness.needed):
        return PROVEN
    return PATH_PROVEN if state in witness.spares else NOT_PROVEN


def page() -> str:
    lines = [
        "# Witnesses of the verdict, and problem codes",
        "",
        "This page has no remedies. They are in the report's section [What is wrong](report.md#what-is-wrong), in the",
        "[causes of the doctor](causes.md), and for the path that NCCL chose in",
        "[Verdicts, worst first](data-path.md#verdicts-worst-first).",
        "",
        "Generated from the source of the readers and from what each code does to the evidence of a sound run, which",
        "is PROVEN without it (`python -m tests.unit.proof.problem_codes`; a unit test compares). Codes of the",
        "training's log and of NCCL's log change the verdict and are listed in the report with their message. Codes of",
        "readers that are no evidence of the verdict (benchmarks, logs of others) are listed among the problems of the",
        "report or of the comparison.",
        "",
        "## What each witness needs",
        "",
        "The last two columns are the best verdict that is left if that witness is missing or disagrees. Where a slow",
        "exchange or a fault of the fabric check leaves PATH PROVEN, the doctor counts as well: it gets the same",
        "figures, and while it names a cause that `report_accepted_findings` does not, the run is NOT PROVEN. A",
        "witness that saw something impossible makes the run an INVALID RUN.",
        "",
        "| witness | needs | missing | disagrees |",
        "|---|---|---|---|",
        *(
            f"| {each.title} (`{each.name}`) | {NEEDS[each.name]} | {best(each, MISSING)} | {best(each, DISAGREES)} |"
            for each in witnesses()
        ),
        "",
        "## Codes",
        "",
        "What it says: the first of its messages; in braces what is filled in.",
        "",
        "| code | reader | what it says | what it does to a sound run |",
        "|---|---|---|---|",
        *(f"| `{code}` | `{reader}` | {meaning(reader, code)} | {what} |" for code, reader, what in table()),
    ]
    return "\n".join(lines) + "\n"


_TRUTH: dict[str, Any] = Run("4x1 ring").inputs()

if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
