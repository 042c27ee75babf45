"""Action of rocemesh.multinode.run_compare: runs, logs and published figures in one table.

An action, because its pages are made from templates, which are files of the controller. What a comparison holds is in
module_utils/_results/report.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from ..module_utils._layer import RefusedError, converge
from ..module_utils._results.readers import tf_cnn
from ..module_utils._results.readers.reading import file_pieces, plain
from ..module_utils._results.report import comparison, page, summary
from ..module_utils._results.report.files import ReportFolder
from ..modules.run_compare import DOCUMENTATION
from ..plugin_utils.decision import Decision


def _unreadable(thing: str, path: Path, why: object) -> RefusedError:
    return RefusedError(
        f"cannot be read ({why})", host="compare", thing=thing, value=str(path), remedy="give an existing run or log"
    )


def _run(given: str) -> comparison.Entry:
    path = Path(given)
    path = path / "summary.json" if path.is_dir() else path
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise _unreadable("runs", path, error.strerror) from error
    except (ValueError, RecursionError) as error:
        raise _unreadable("runs", path, f"no JSON: {error}") from error
    found = comparison.check(str(path), document)
    return comparison.Entry(str(found.get("run_id") or path.parent.name), found)


def _log(given: dict[str, Any]) -> comparison.Entry:
    path = Path(given["path"])
    try:
        result = tf_cnn.read(file_pieces(str(path)), given["ranks"])
    except OSError as error:
        raise _unreadable("logs", path, error.strerror) from error
    found = summary.build(summary.Inputs(run_id=given["name"] or path.name, result=result.as_dict()))
    if not found["ranks"]:
        reasons = "; ".join(problem["message"] for problem in found["problems"])
        raise _unreadable("logs", path, f"no rank has a result in it: {reasons}")
    # A log alone was not judged by the other witnesses.
    found = {key: value for key, value in found.items() if key != "verdict"}
    return comparison.Entry(given["name"] or path.name, plain(found), imported=True)


class ActionModule(Decision):
    documentation = DOCUMENTATION

    def decide(self, options: dict[str, Any], variables: dict[str, Any]) -> dict[str, Any]:
        if (sure := options["confidence_percent"]) < 50:  # 0.95 would call every run slower
            remedy = "give a percentage, such as 95"
            raise RefusedError("less than 50", host="compare", thing="confidence_percent", value=sure, remedy=remedy)
        table = comparison.build(
            [*map(_run, options["runs"]), *map(_log, options["logs"])],
            options["figures"],
            options["published"],
            baseline=options["baseline"],
            margin=options["margin_percent"] / 100,
            confidence=options["confidence_percent"] / 100,
        )
        files: dict[str, bytes | Path] = {
            "compare.json": (json.dumps(table, indent=2, allow_nan=False) + "\n").encode(),
            **{f"compare.{form}": page.compare(table, form).encode(errors="replace") for form in ("md", "html")},
        }
        facts = {
            "comparison": table,
            "gates": table["gates"],
            "slower": any(entry["verdict"] == "slower" for entry in table["gates"]),
        }
        folder = ReportFolder(options["path"], options["name"], files, facts, link_latest=False)
        return converge(folder, files, self._task.check_mode)
