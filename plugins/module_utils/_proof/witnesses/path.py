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
        doubts.add("path_none", log=log)
        return ""
    verdict, reason = str(path.get("verdict") or "unknown"), str(path.get("reason") or "no reason given")
    if verdict == "not_one_job":
        doubts.add("path_not_one_job", reason=reason)
    elif verdict in PATHS and verdict != GOOD:
        doubts.add("path_other", path=PATHS[verdict], reason=reason)
    elif verdict == "unknown":
        doubts.missing.append(reason)
    elif verdict != GOOD:
        doubts.add("path_strange", verdict=verdict, reason=reason)
    problems = rows(path.get("problems"))
    doubts.wrong += [str(each["message"]) for each in problems if each.get("message") not in (None, reason)]
    if path.get("ok") is None:
        doubts.add("log_unjudged")
    elif verdict == GOOD and (path.get("ok") is not True or problems) and not doubts.wrong:
        doubts.add("log_disorder")
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
        doubts.add("pairs_none")
        return
    others = {str(pair.get("verdict")) for pair in pairs}
    others |= {str(said.get("path")) for _host, _rank, said in ends(pairs)}
    named = ", ".join(sorted(PATHS.get(other, "unknown") for other in others - {GOOD}))
    doubts.add_if(others != {GOOD}, "pairs_other", named=named)
    counts = path.get("counts")
    doubts.add_if(counts != {GOOD: len(pairs)}, "pairs_counted", counted=counts or "nothing", found=len(pairs))
    ranks = whole(path.get("nranks"))
    where: dict[Any, set[str]] = {}
    for host, rank, _said in ends(pairs):
        where.setdefault(rank, set()).add(host)
    if ranks is not None and not all(isinstance(number, int) and 0 <= number < ranks for number in where):
        doubts.add("pairs_strange", ranks=ranks)
    different = {(pair.get("source"), pair.get("target")) for pair in pairs}
    doubts.add_if(len(different) != len(pairs), "pairs_twice")
    doubts.add_if(any(len(hosts) > 1 for hosts in where.values()), "pairs_two_hosts")
    doubts.add_if(any(pair.get("source_host") == pair.get("target_host") for pair in pairs), "pairs_within")
    for end, word in (("source_host", "sends"), ("target_host", "receives")):
        job.foreign([pair.get(end) for pair in pairs], f"NCCL's log {word} on", doubts)


def _nics(path: Mapping[str, Any], pairs: list[Mapping[str, Any]], doubts: Doubts) -> None:
    """Each NIC that a channel takes has to be one that NCCL named on that host: its counters and its network count."""
    named: dict[str, set[Any]] = {}
    for hca in rows(path.get("hcas")):
        if hca.get("name"):
            named.setdefault(host_of(hca), set()).add(hca.get("index"))
    for host, _rank, said in ends(pairs):
        used = set(said.get("devices") or ())
        if not used or used - named.get(host, set()):
            doubts.add("nics_unknown", hosts=host)


def _same_ranks(path: Mapping[str, Any], pairs: list[Mapping[str, Any]], evidence: Evidence, doubts: Doubts) -> None:
    """The ranks of NCCL's log were where those of the training were. Groups without a communicator of all ranks have
    numbers of this reader's own: then each host has to have as many."""
    trained = {str(rank.get("rank")): host_of(rank) for rank in evidence.per_rank}
    rank_hosts = path.get("rank_hosts")
    if not isinstance(rank_hosts, Mapping) or not rank_hosts:
        doubts.add("rank_hosts_unknown")
        return
    probed = {str(rank): short(str(host)) for rank, host in rank_hosts.items()}
    same = sorted(probed.values()) == sorted(trained.values()) if path.get("grouped") is True else probed == trained
    doubts.add_if(trained and not same, "rank_hosts_other")
    if path.get("grouped") is not True and any(probed.get(str(rank)) != host for host, rank, _said in ends(pairs)):
        doubts.add("rank_hosts_two")


def _bound(path: Mapping[str, Any], job: Job, doubts: Doubts) -> None:
    job.same(path.get("job"), "NCCL's log", doubts)
    job.during(path.get("at"), "NCCL's log", doubts)
    if not path.get("hosts"):
        doubts.add("path_hosts")
    elif job.hosts:
        job.foreign(path["hosts"], "NCCL's log has", doubts)
    ranks = whole(path.get("nranks"))
    if ranks is None or job.ranks is None:
        doubts.add("path_ranks")
    elif ranks != job.ranks:
        doubts.add("path_ranks_other", found=ranks, ranks=job.ranks)
    versions = path.get("versions") or ()
    doubts.add_if(not versions, "version_unknown")
    doubts.add_if(len(versions) > 1, "versions_several", versions=", ".join(map(str, versions)))


def _roce(path: Mapping[str, Any], job: Job, doubts: Doubts) -> None:
    """The network that was asked for, over NICs that speak RoCE, on every host."""
    used = {str(name) for name in path.get("networks") or ()}
    if not used:
        doubts.add("network_unknown")
    elif job.network and used != {job.network}:
        doubts.add("network_other", used=", ".join(sorted(used)), network=job.network)
    hcas = rows(path.get("hcas"))
    layers = {*map(str, path.get("layers") or ()), *(str(hca.get("layer")) for hca in hcas)}
    if any(layer.startswith("IB") for layer in layers):
        doubts.add("infiniband")
    elif layers != {"RoCE"} or not path.get("layers"):
        doubts.add("roce_unsaid")
    names = {host_of(hca) for hca in hcas if hca.get("name")}
    silent, strange = (", ".join(sorted(hosts)[:4]) for hosts in (job.names - names, names - job.names))
    doubts.add_if(silent, "nics_unknown", hosts=silent)
    doubts.add_if(job.names and strange, "nics_foreign", hosts=strange)
