"""A job that another launcher ran, brought home: its folder becomes what the report of a run is made of.

Of the folder only regular files with the names that a hand-off uses are read. What is missing stays missing, and the
verdict says so; nothing is made up.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any, Iterator, Mapping

from .._judge.packs import loader
from .._layer import ParseError, RefusedError
from .._nic.rdma_state import parse_ethtool_counters, parse_gid
from .._results.path import path_verdict
from .._results.readers import nccl_log, tf_cnn
from .job import FORMAT

_SRUN = re.compile(r"^ *(?P<rank>\d+): ?", re.MULTILINE)
# torchrun --tee: role and rank within the node.
_TEE = re.compile(r"^\[[A-Za-z_]+(?P<rank>\d+)\]: ?", re.MULTILINE)
_NUMBER = re.compile(r"\d+(\.\d+)?")
_COUNTER_FILE = re.compile(r"file class/infiniband/(?P<device>[^/ ]+)/ports/(?P<port>\d+)/(?P<what>\S+) (?P<value>.*)")
_WORDS = ("link_layer", "state", "rate")
_SLURM_END = re.compile(r"\*\*\* (?:JOB|STEP) ")
_CHUNK = 1 << 20


def read(folder: Path) -> dict[str, Any]:
    """``job`` (of job.json), ``id``, ``result``, ``evidence``, ``log``, ``expected_ranks``, ``problems``, ``simulated``
    for module run_report. Raises RefusedError for a folder that is none of a hand-off."""
    job = _job(folder)
    logs = _files(folder, "train")
    if not logs and not _files(folder, "probe"):
        remedy = "copy the results of all nodes into this folder; a pod's output comes by kubectl logs"
        raise _refused("no output of the ranks in it (train.log, or train.HOST.log of each node)", remedy, str(folder))
    name = _word(folder / "id") or folder.resolve().name
    hosts = {str(host["name"]): str(host["hostname"]) for host in job["hosts"]}
    ranks = int(job["ranks"])
    started, ended = (_time(folder / word) for word in ("started", "ended"))
    reader = tf_cnn.Reader(ranks)
    for log in logs:
        for piece in _tagged(log, _first_rank(log, job)):
            reader.feed(piece)
        # The end of a file is the end of its last line, whatever the next one begins with.
        reader.feed("\n")
    result = {**reader.result().as_dict(), "job": name}
    evidence: dict[str, Any] = {
        "job": {
            "id": name,
            "hosts": hosts,
            "ranks": ranks,
            "network": str(job.get("nccl_network") or ""),
            "rdma_networks": str(job.get("rdma_networks") or ""),
            "cluster_network": str(job.get("network") or ""),
            "started": started,
            "ended": ended,
        },
        "rdma": _rdma(folder, hosts),
    }
    words = sorted(folder.glob("nccl.*.log"))
    if not words and any(_says_nccl(log) for log in logs):
        words = logs  # NCCL wrote into the output of the ranks, as in a pod
    if words:
        evidence["nccl_path"] = _path(words, job, hosts, name, ended)
    return {
        "id": name,
        "job": job,
        "result": result,
        "evidence": evidence,
        "log": str(logs[0].resolve()) if len(logs) == 1 else "",
        "expected_ranks": ranks,
        "problems": _ending(folder, logs),
        "simulated": bool(job.get("simulated")),
    }


def _job(folder: Path) -> dict[str, Any]:
    path = folder / "job.json"
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        remedy = "give the folder with the results (results/JOBID), with job.json of the hand-off in it"
        raise _refused(f"no job of a hand-off ({error.strerror})", remedy, str(path)) from error
    except (ValueError, RecursionError) as error:
        raise _refused(f"not JSON ({error})", "copy it again", str(path)) from error
    if not isinstance(found, dict) or found.get("format") != FORMAT or not isinstance(found.get("hosts"), list):
        what = f"not the job.json of a hand-off in format {FORMAT}"
        raise _refused(what, "take the file that playbooks/handoff.yml wrote", str(path))
    return found


def _refused(what: str, remedy: str, thing: str) -> RefusedError:
    return RefusedError(what, host="report", thing=thing, remedy=remedy)


def _files(folder: Path, stem: str) -> list[Path]:
    """STEM.log, or STEM.HOST.log of every node."""
    return [path for path in sorted(folder.glob(f"{stem}*.log")) if path.is_file() and path.name.count(".") <= 2]


def _first_rank(path: Path, job: Mapping[str, Any]) -> int | None:
    """The first rank of the node whose output this is, by the file's name; None: not the output of one node."""
    parts = path.name.split(".")
    places = {str(host["hostname"]): at for at, host in enumerate(job["hosts"])}
    return places[parts[1]] * int(job["slots"]) if len(parts) == 3 and parts[1] in places else None


def _tagged(path: Path, first: int | None) -> Iterator[str]:
    """The text of a log; the labels of srun ("3: text") and torchrun ("[default1]:text", which counts from ``first``)
    become the tags of mpirun, which the readers know."""
    with path.open(encoding="utf-8", errors="replace", newline="") as stream:
        text = stream.read(_CHUNK)
        lines = [line for line in text.splitlines()[:20] if line.strip()]
        label = next((one for one in (_SRUN, _TEE) if lines and all(map(one.match, lines))), None)
        if label is _TEE and first is None:
            label = None
        start = (first or 0) if label is _TEE else 0

        def tag(match: re.Match[str]) -> str:
            return f"[1,{start + int(match['rank'])}]<stdout>:"

        rest = ""
        while text:
            if label is None:
                yield text
            else:
                # Whole lines only: a label that is cut in two is none.
                whole, newline, rest = (rest + text).rpartition("\n")
                yield label.sub(tag, whole) + newline
            text = stream.read(_CHUNK)
        if rest and label is not None:
            yield label.sub(tag, rest)


def _says_nccl(path: Path) -> bool:
    with path.open("rb") as stream:
        return b" NCCL INFO " in stream.read(_CHUNK)


def _path(
    words: list[Path], job: Mapping[str, Any], hosts: Mapping[str, str], name: str, at: float | None
) -> dict[str, Any]:
    names = list(hosts.values())
    reader = nccl_log.Reader(names)
    for path in words:
        for piece in _tagged(path, _first_rank(path, job)):
            reader.feed(piece)
        reader.feed("\n")
    found = path_verdict.judge(reader.result(), int(job["ranks"]), names).as_result()
    return {**found, "job": name, "at": at}


def _rdma(folder: Path, hosts: Mapping[str, str]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, own in hosts.items():
        for moment in ("before", "after"):
            path = folder / "counters" / f"{own}.{moment}"
            if path.is_file():
                text = path.read_text(encoding="utf-8", errors="replace")
                found.setdefault(name, {})[moment] = node_counters(text, name)
    return found


def node_counters(text: str, node: str) -> dict[str, Any]:
    """What counters.sh wrote on a node at one moment, in the shape in which module rdma_info reads a node. What is cut
    or not known becomes ``error``: nothing is taken from half a file."""
    ports: dict[tuple[str, int], dict[str, Any]] = {}
    netdevs: dict[str, list[str]] = {}
    ethtool: dict[str, list[str]] = {}
    found: dict[str, Any] = {"at": None, "simulated": False, "devices": [], "error": ""}
    lines = text.splitlines()
    if not lines or lines[-1] != "end":
        return {**found, "error": f"{node}: the file is cut: it has no end"}
    try:
        for line in lines[:-1]:
            word, _blank, rest = line.partition(" ")
            match = _COUNTER_FILE.fullmatch(line)
            if match:
                empty: dict[str, Any] = {"counters": {"counters": {}, "hw_counters": {}}, "gids": {}}
                port = ports.setdefault((match["device"], int(match["port"])), empty)
                _take(port, match["what"], match["value"], node, match["device"])
            elif word == "at" and rest.isdigit():
                found["at"] = float(rest)
            elif line == "simulated":
                found["simulated"] = True
            elif word == "netdev" and len(rest.split()) == 2:
                device, netdev = rest.split()
                netdevs.setdefault(device, []).append(netdev)
            elif word == "ethtool" and rest:
                netdev, _blank, counter = rest.partition(" ")
                ethtool.setdefault(netdev, []).append(counter)
            else:
                what = "an unknown file" if word == "file" else "an unknown line"
                raise ParseError(what, host=node, thing="counters", raw=line)
    except ParseError as error:
        return {**found, "error": str(error)}
    for (device, number), port in sorted(ports.items()):
        table = [gid for _index, gid in sorted(port["gids"].items()) if "gid" in gid]
        names = netdevs.get(device, [])
        own = [gid["netdev"] for gid in table if gid.get("netdev") in names] or names
        port.update(name=device, port=number, gids=table, netdev=own[0] if own else "")
        port["counters"]["ethtool"] = parse_ethtool_counters("\n".join(ethtool.get(port["netdev"], [])))
        found["devices"].append(port)
    return found


def _take(port: dict[str, Any], what: str, value: str, node: str, device: str) -> None:
    kind, _slash, name = what.rpartition("/")
    if what in _WORDS:
        port[what] = value.rpartition(":")[2].strip() if what == "state" else value
    elif kind in ("counters", "hw_counters"):
        if name != "lifespan" and value.isdigit():
            port["counters"][kind][name] = int(value)
    elif kind in ("gids", "gid_attrs/types", "gid_attrs/ndevs") and name.isdigit():
        entry = port["gids"].setdefault(int(name), {"index": int(name)})
        if kind == "gids":
            gid = parse_gid(value, node, f"{device} GID {name}")
            if gid:
                entry["gid"] = gid
        else:
            entry["type" if kind == "gid_attrs/types" else "netdev"] = value
    else:
        raise ParseError("an unknown file", host=node, thing="counters", raw=what)


def _ending(folder: Path, logs: list[Path]) -> list[dict[str, str]]:
    """How the launcher says that the job ended, if not well."""
    statuses = {path.name: _word(path) for path in sorted(folder.glob("status*")) if path.is_file()}
    bad = {name: status for name, status in statuses.items() if status != "0"}
    if statuses and not bad:
        return []
    given = [path for name in ("launcher.out", "train*.err", "probe*.err") for path in sorted(folder.glob(name))]
    said = slurm_said("\n".join(_tail(path) for path in [*given, *logs]))
    if said:
        return [said]
    if bad:
        where = ", ".join(f"{name.partition('.')[2] or 'the ranks'}: {status}" for name, status in bad.items())
        what = f"the job ended with a status that is not 0 ({where}). What to do: read the .err files in {folder}"
        return [{"code": "job_failed", "message": what}]
    if (folder / "started").is_file() and not (folder / "ended").is_file():
        return [
            {
                "code": "job_no_end",
                "message": f"the job began and has no end in {folder}: it still runs, or its launcher was killed. "
                "What to do: wait for it, or look at what the launcher says (scontrol show job, kubectl describe)",
            }
        ]
    return []


def slurm_said(text: str) -> dict[str, str] | None:
    """The first rule of ``_judge/packs/slurm.yml`` that a line of ``text`` meets, as code and message; None if Slurm
    says nothing of an end."""
    packs, end = loader.load(), _SLURM_END.search(text)
    early = text[: end.start()] if end else text
    for name, rule in packs.lists["slurm"].items():
        match = re.search(packs.pattern(rule["match"]), early if rule.get("early") else text, re.IGNORECASE)
        if match:
            found = {key: value or "" for key, value in match.groupdict().items()}
            found["by"] = f" by user {found['user']}" if found.get("user") else ""
            found["id"] = found.get("id", "").split(".", maxsplit=1)[0]
            return {"code": rule.get("code", name), "message": rule["message"].format(**found)}
    return None


def _tail(path: Path) -> str:
    try:
        with path.open("rb") as stream:
            stream.seek(0, 2)
            stream.seek(max(0, stream.tell() - _CHUNK))
            return stream.read().decode(errors="replace")
    except OSError:
        return ""


def _word(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8", errors="replace").strip()[:128]
    except OSError:
        return ""


def _time(path: Path) -> float | None:
    text = _word(path)
    return float(text) if _NUMBER.fullmatch(text) else None
