"""Keep the result of a benchmark in its file, or find it there.

Reads what a benchmark program printed and puts it into the form of its file, which is written whole or not at all.
Whatever a reader complains about is a problem of the file. A log without a figure is one, too. A measurement is a
record, not a change of the cluster, so nothing is reported as changed.
``folder``: Folder of the files on the controller. With `state=read` not needed.
``kind``: The benchmark. `repeat` is one repeat of `scaling`.
``state``: `present` writes `<kind>.json` (`repeat` `<name>.json`), for `scaling` also the same under the keys of
DLPerf, a file per precision. `known` looks for a file that was made with the same `parameters` and has no problem.
`read` reads `output` and writes nothing.
``output``: What the program printed. Of this collection's programs the lines `ROCEMESH-BENCHMARK {json}`, also where
lines are glued together; of `nccl_tests`, `perftest` and `repeat` their own output. For `state=read` and `repeat`.
``log``: Where the log is kept, for the file of `nccl_tests` and `perftest`, and for messages.
``ranks``: For `nccl_tests` and `repeat`, how many ranks were started.
``hosts``: For `nccl_tests`, how many hosts took part.
``ends``: For `perftest`, the names of client and server.
``parameters``: What the benchmark was asked to do. Two measurements with the same may be put together.
``plan``: For `scaling`, `benchmark_plan#module:plan`.
``repeats``: For `scaling`, the repeats that are done.
``repeat``: For `repeat`, its entry in the plan.
``seconds``: For `repeat`, how long the whole job took.
``backend``: nccl, gloo or verbs. Empty - as the settings or the repeats say.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Mapping

from ...module_utils._layer import write_whole
from ...module_utils._results.figures import benchmarks
from ...module_utils._results.figures.benchmark_files import KINDS
from ...module_utils._results.readers import nccl_tests, perftest, tf_cnn
from ...module_utils._results.readers.reading import source_of
from ..decision import Context


def read(options: Mapping[str, Any]) -> dict[str, Any]:
    """What a program printed: results, settings, trace, problems."""
    text, kind = options["output"] or "", options["kind"]
    if kind == "nccl_tests":
        tables = nccl_tests.read(source_of(text), options["ranks"], options["hosts"])
        return {"trace": None, **benchmarks.nccl_tests(tables.as_dict(), options["log"])}
    if kind == "perftest":
        if len(options["ends"]) != 2:
            raise ValueError(f"ends is {options['ends']}; give the names of client and server")
        source, target = options["ends"]
        tests = perftest.read(source_of(text))
        return {"trace": None, **benchmarks.perftest(tests.as_dict(), source, target, options["log"])}
    return benchmarks.records(text)


def document(options: Mapping[str, Any]) -> dict[str, Any]:
    """The file of one benchmark."""
    results, problems = options["results"], options["problems"]
    backend = options["backend"] or options["settings"].get("backend")
    if options["kind"] == "scaling":
        results, missing = benchmarks.scaling_results(options["plan"], options["repeats"])
        problems = [*problems, *missing]
        backend = backend or next((record.get("backend") for record in options["repeats"]), None)
    return {
        **{key: options[key] for key in ("kind", "simulated", "settings")},
        "backend": backend,
        "results": list(results),
        "problems": list(dict.fromkeys(problems)),
        "parameters": benchmarks.plain(options["parameters"]),
    }


def repeat(options: Mapping[str, Any]) -> dict[str, Any]:
    """The record of one repeat. Raises ValueError if its figures do not support each other."""
    result = tf_cnn.read(source_of(options["output"] or ""), options["ranks"]).as_dict()
    if not result["ok"]:
        why = "; ".join(problem["message"] for problem in result["problems"])
        raise ValueError(f"{why}. Log: {options['log'] or 'not kept'}")
    return benchmarks.repeat_record(options["repeat"], result, options["seconds"])


SPEC: dict[str, Any] = {
    "folder": {"type": "path"},
    "kind": {"required": True, "choices": [*KINDS, "repeat"]},
    "state": {"default": "present", "choices": ["present", "known", "read"]},
    "output": {},
    "log": {"default": ""},
    "ranks": {"type": "int"},
    "hosts": {"type": "int"},
    "ends": {"type": "list", "elements": "str", "default": []},
    "results": {"type": "list", "elements": "dict", "default": []},
    "problems": {"type": "list", "elements": "str", "default": []},
    "settings": {"type": "dict", "default": {}},
    "parameters": {"type": "dict", "default": {}},
    "plan": {"type": "list", "elements": "dict", "default": []},
    "repeats": {"type": "list", "elements": "dict", "default": []},
    "repeat": {"type": "dict"},
    "seconds": {"type": "float", "default": 0},
    "simulated": {"type": "bool", "default": False},
    "backend": {"default": ""},
}


def decide(options: dict[str, Any], context: Context) -> dict[str, Any]:
    kind, state = options["kind"], options["state"]
    if state == "read":
        return {"said": read(options)}
    if not options["folder"]:
        raise ValueError(f"folder is needed with state {state}")
    folder = Path(options["folder"])
    if state == "known":
        there = benchmarks.saved(folder / f"{kind}.json", options["parameters"])
        return {"document": there if there.get("problems", ["none"]) == [] else {}}
    made = repeat(options) if kind == "repeat" else document(options)
    if not context.check_mode:
        try:
            _write(folder, kind, made)
        except OSError as error:
            raise ValueError(f"{folder}: the file of {kind} cannot be written ({error.strerror})") from error
    return {"document": made}


def _write(folder: Path, kind: str, made: Mapping[str, Any]) -> None:
    def keep(name: str, content: Mapping[str, Any], **form: Any) -> None:
        write_whole(str(folder / f"{name}.json"), json.dumps(content, indent=2, ensure_ascii=False, **form) + "\n")

    keep(made["name"] if kind == "repeat" else kind, made)
    if kind == "scaling":
        for precision, batch in sorted({(each["precision"], each["batch"]) for each in made["results"]}):
            rates = benchmarks.dlperf(made["results"], precision, batch)
            keep(f"{precision}_bz{batch}_result", rates, sort_keys=True)
