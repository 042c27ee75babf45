"""Action of rocemesh.multinode.run_report: the summary and the report of a run.

An action, because the doctor speaks in it, and its rule packs are YAML files of the controller. What a report holds is
in module_utils/_results/report.
"""

from __future__ import annotations

import dataclasses
import json
import stat
from pathlib import Path
from typing import Any

from ..module_utils._layer import RefusedError, converge
from ..module_utils._proof.verdict import PROVEN
from ..module_utils._results.figures import benchmark_files
from ..module_utils._results.readers import tf_cnn
from ..module_utils._results.readers.reading import file_pieces, plain
from ..module_utils._results.report import diagnosis, page, plots, timeline
from ..module_utils._results.report.files import ReportFolder
from ..module_utils._results.report.summary import Inputs, build, headline
from ..modules.run_report import DOCUMENTATION
from ..plugin_utils.decision import Decision

_DRAWN_LOG_BYTES = 256 << 20


def _log_file(log: str) -> Path:
    try:
        status = Path(log).stat()
        if not stat.S_ISREG(status.st_mode):
            raise RefusedError("is not a file", host="report", thing="log", value=log, remedy="give the saved log")
        with Path(log).open("rb"):
            return Path(log)
    except OSError as error:
        raise RefusedError(
            f"cannot be read ({error.strerror})", host="report", thing="log", value=log, remedy="give the saved log"
        ) from error


def _timeline(log: Path, inputs: Inputs) -> dict[str, Any]:
    size = log.stat().st_size
    if size > _DRAWN_LOG_BYTES:
        reason = f"the log has {size >> 20} MiB, more than {_DRAWN_LOG_BYTES >> 20}: not drawn"
        return timeline.nothing(timeline.STEPS, reason)
    steps = tf_cnn.read(file_pieces(str(log))).steps
    parameters = {**(inputs.result or {}).get("parameters", {}), **inputs.workload}
    try:
        batch = float(parameters.get("batch_size_per_device", 0))
    except (TypeError, ValueError):
        batch = 0.0
    return timeline.from_steps(steps, batch)


def _heat_map(inputs: Inputs) -> str:
    """The picture of the fabric check, taken out of the evidence: a file of its own, and not in summary.json."""
    fabric = inputs.evidence.get("fabric") or {}
    return str(fabric.pop("heat_map", "") or "") if isinstance(fabric, dict) else ""


def _benchmarks(folder: Path) -> dict[str, Any]:
    found = {}
    for kind in benchmark_files.KINDS:
        path = folder / f"{kind}.json"
        try:
            found[kind] = benchmark_files.load(kind, path.read_text(encoding="utf-8", errors="replace"))
        except FileNotFoundError:
            continue
        except OSError as error:
            found[kind] = {"results": [], "problems": [f"{path} cannot be read: {error.strerror}"]}
    return found


def _drawn(summary: dict[str, Any], wanted: bool, warnings: list[str]) -> tuple[list[plots.Plot], str]:
    """The plots, or why there are none. No fault of a drawing library may cost the report."""
    if not wanted:
        return [], "they were not asked for"
    if plots.why_not():
        return [], plots.why_not()
    try:
        return plots.draw(summary), ""
    except Exception as error:
        warnings.append(f"no plots: matplotlib failed: {error!r}")
        return [], f"matplotlib failed: {error!r}"


class ActionModule(Decision):
    documentation = DOCUMENTATION

    def decide(self, options: dict[str, Any], variables: dict[str, Any]) -> dict[str, Any]:
        options = dict(options)
        path, log, logs, latest, draw = (options.pop(key) for key in ("path", "log", "logs", "latest", "plots"))
        folder = options.pop("benchmarks") or str(Path(path) / options["run_id"] / "benchmarks")
        known = diagnosis.accepted_from(options.pop("accepted_findings"))
        options["limits"] = {key: value for key, value in options["limits"].items() if value is not None}
        warnings: list[str] = []
        inputs = Inputs(**options, benchmarks=_benchmarks(Path(folder)))
        files: dict[str, bytes | Path] = {}
        heat_map = _heat_map(inputs)
        if heat_map:
            files["fabric.svg"] = heat_map.encode()
        if log:
            source = _log_file(log)
            files["mpirun.log"] = source
            inputs = dataclasses.replace(inputs, timeline=_timeline(source, inputs))
        doctor = diagnosis.diagnose(build(inputs), inputs.evidence, logs or log, known)
        if doctor["failed"]:
            warnings.append(doctor["message"])
        summary = plain(build(dataclasses.replace(inputs, doctor=doctor)))
        if summary["verdict"]["state"] != PROVEN:
            summary["doctor"] = plain(doctor)
        drawn, no_plots = _drawn(summary, draw, warnings)
        files["summary.json"] = (json.dumps(summary, indent=2, allow_nan=False) + "\n").encode()
        files.update({f"{plot.name}.png": plot.light for plot in drawn})
        names = [f"{plot.name}.png" for plot in drawn]
        picture = "fabric.svg" if heat_map else ""
        files["report.md"] = page.markdown(summary, names, no_plots, picture).encode(errors="replace")
        files["report.html"] = page.report(summary, drawn, no_plots, heat_map).encode(errors="replace")
        facts = {
            "summary": summary,
            "headline": headline(summary),
            "verdict": summary["verdict"]["line"],
            "doctor": diagnosis.brief(doctor) if summary["doctor"] else "",
            "files": sorted(files),
            "plots_missing": no_plots,
        }
        folder_of_run = ReportFolder(path, options["run_id"], files, facts, link_latest=latest)
        result = converge(folder_of_run, files, self._task.check_mode)
        warnings += result.pop("warnings")
        return {**result, **({"warnings": warnings} if warnings else {})}
