"""Witness: the data path in NCCL's own log, of this job, on these hosts, for each pair of ranks. Pure."""

from __future__ import annotations

from typing import Any, Mapping

from ..evidence import Evidence, Job, ends, host_of, rows, short, whole
from ..witness import Doubts

GOOD = "gdrdma"
PATHS: Mapping[str, str] = {
    GOOD: "GPUDirect RDMA",
    "receive_only": "GPUDirect RDMA in receiving only",
    "rdma_via_host": "RDMA through host memory",
    "sockets": "TCP sockets",
    "not_one_job": "no channel between the hosts",
}


def judge(evidence: Evidence, doubts: Doubts) -> str:
    path, job = evidence.path, evidence.job
    if not path:
        backends = {machine.get("backend") for machine in evidence.machines}
        other = ", ".join(sorted(str(backend) for backend in backends - {None}))
        log = f"the ranks used {other}, not NCCL" if other and "nccl" not in backends else "no NCCL log was read"
        doubts.missing.append(f"{log}; a run without one is unknown, not good")
        return ""
    verdict, reason = str(path.get("verdict") or "unknown"), str(path.get("reason") or "no reason given")
    if verdict == "not_one_job":
        doubts.impossible.append(f"the hosts did not form one job: {reason}")
    elif verdict in PATHS and verdict != GOOD:
        doubts.wrong.append(f"{PATHS[verdict]}: {reason}")
    elif verdict == "unknown":
        doubts.missing.append(reason)
    elif verdict != GOOD:
        doubts.missing.append(f"the reader said {verdict!r}, which is not known here: {reason}")
    problems = rows(path.get("problems"))
    doubts.wrong += [str(each["message"]) for each in problems if each.get("message") not in (None, reason)]
    if path.get("ok") is None:
        doubts.missing.append("the reader does not say whether the log is in order")
    elif verdict == GOOD and (path.get("ok") is not True or problems) and not doubts.wrong:
        doubts.wrong.append("the reader says that the log is not in order")
    if verdict == GOOD:
        pairs = rows(path.get("pairs"))
        _pairs(path, pairs, job, doubts)
        _nics(path, pairs, doubts)
        _bound(path, job, doubts)
        _roce(path, job, doubts)
        _same_ranks(path, pairs, evidence, doubts)
        return f"{PATHS[GOOD]} on {len(pairs)} pairs of ranks: {reason}"
    doubts.fact = PATHS.get(verdict, "")
    return ""


def _pairs(path: Mapping[str, Any], pairs: list[Mapping[str, Any]], job: Job, doubts: Doubts) -> None:
    if not pairs:
        doubts.missing.append("no pair of ranks on different hosts is in it")
        return
    others = {str(pair.get("verdict")) for pair in pairs}
    others |= {str(said.get("path")) for _host, _rank, said in ends(pairs)}
    if others != {GOOD}:
        named = ", ".join(sorted(PATHS.get(other, "unknown") for other in others - {GOOD}))
        doubts.wrong.append(f"not every pair of ranks does: {named}")
    counts = path.get("counts")
    if not isinstance(counts, Mapping) or counts != {GOOD: len(pairs)}:
        doubts.missing.append(f"the reader counted {counts or 'nothing'}, and {len(pairs)} pairs of ranks are here")
    ranks = whole(path.get("nranks"))
    where: dict[Any, set[str]] = {}
    for host, rank, _said in ends(pairs):
        where.setdefault(rank, set()).add(host)
    if ranks is not None and not all(isinstance(number, int) and 0 <= number < ranks for number in where):
        doubts.wrong.append(f"pairs name ranks that a job of {ranks} does not have")
    if len({(pair.get("source"), pair.get("target")) for pair in pairs}) != len(pairs):
        doubts.wrong.append("a pair of ranks is there twice")
    if any(len(hosts) > 1 for hosts in where.values()):
        doubts.wrong.append("a rank is on two hosts")
    if any(pair.get("source_host") == pair.get("target_host") for pair in pairs):
        doubts.wrong.append("a pair lies within a host")
    for end, word in (("source_host", "sends"), ("target_host", "receives")):
        doubts.wrong += job.foreign([pair.get(end) for pair in pairs], f"NCCL's log {word} on")


def _nics(path: Mapping[str, Any], pairs: list[Mapping[str, Any]], doubts: Doubts) -> None:
    """Each NIC that a channel takes has to be one that NCCL named on that host: its counters and its network count."""
    named: dict[str, set[Any]] = {}
    for hca in rows(path.get("hcas")):
        if hca.get("name"):
            named.setdefault(host_of(hca), set()).add(hca.get("index"))
    for host, _rank, said in ends(pairs):
        used = set(said.get("devices") or ())
        if not used or used - named.get(host, set()):
            doubts.missing.append(f"the NICs that NCCL used on {host} are not known")


def _same_ranks(path: Mapping[str, Any], pairs: list[Mapping[str, Any]], evidence: Evidence, doubts: Doubts) -> None:
    """The ranks of NCCL's log were where those of the training were. Groups without a communicator of all ranks have
    numbers of this reader's own: then each host has to have as many."""
    trained = {str(rank.get("rank")): host_of(rank) for rank in evidence.per_rank}
    rank_hosts = path.get("rank_hosts")
    if not isinstance(rank_hosts, Mapping) or not rank_hosts:
        doubts.missing.append("the hosts of NCCL's ranks are not known")
        return
    probed = {str(rank): short(str(host)) for rank, host in rank_hosts.items()}
    same = sorted(probed.values()) == sorted(trained.values()) if path.get("grouped") is True else probed == trained
    if trained and not same:
        doubts.wrong.append("the ranks of NCCL's log were not on the hosts where they trained")
    if path.get("grouped") is not True and any(probed.get(str(rank)) != host for host, rank, _said in ends(pairs)):
        doubts.wrong.append("NCCL's log puts a rank on two hosts")


def _bound(path: Mapping[str, Any], job: Job, doubts: Doubts) -> None:
    job.same(path.get("job"), "NCCL's log", doubts)
    job.during(path.get("at"), "NCCL's log", doubts)
    if not path.get("hosts"):
        doubts.missing.append("the hosts of NCCL's log are not known")
    elif job.hosts:
        doubts.wrong += job.foreign(list(path.get("hosts") or ()), "NCCL's log has")
    ranks = whole(path.get("nranks"))
    if ranks is None or job.ranks is None:
        doubts.missing.append("how many ranks NCCL's log or the job has is not known")
    elif ranks != job.ranks:
        doubts.wrong.append(f"NCCL's log is of {ranks} ranks, the job had {job.ranks}")
    if not path.get("versions"):
        doubts.missing.append("NCCL's version is not known")
    elif len(path["versions"]) > 1:
        doubts.wrong.append(f"several versions of NCCL: {', '.join(map(str, path['versions']))}")


def _roce(path: Mapping[str, Any], job: Job, doubts: Doubts) -> None:
    """The network that was asked for, over NICs that speak RoCE, on every host."""
    used = {str(name) for name in path.get("networks") or ()}
    if not used:
        doubts.missing.append("the network that NCCL used is not known")
    elif job.network and used != {job.network}:
        doubts.wrong.append(f"NCCL used {', '.join(sorted(used))}, asked for was {job.network}")
    layers = {str(layer) for layer in path.get("layers") or ()}
    hcas = rows(path.get("hcas"))
    layers |= {str(hca.get("layer")) for hca in hcas}
    if any(layer.startswith("IB") for layer in layers):
        doubts.wrong.append("NCCL used InfiniBand, which is not in scope: this proof is about RoCE")
    elif layers != {"RoCE"} or not path.get("layers"):
        doubts.missing.append("NCCL's log does not say that its NICs speak RoCE")
    names = {host_of(hca) for hca in hcas if hca.get("name")}
    silent = sorted(job.names - names)
    if silent:
        doubts.missing.append(f"the NICs that NCCL used on {', '.join(silent[:4])} are not known")
    if names - job.names and job.names:
        doubts.wrong.append(f"NCCL names NICs of {', '.join(sorted(names - job.names)[:4])}, which took no part")
