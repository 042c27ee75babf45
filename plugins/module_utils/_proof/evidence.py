"""The evidence of one run: what was read, with its places, and the job that all of it has to belong to. Pure."""

from __future__ import annotations

import dataclasses
import ipaddress
import re
from typing import Any, Collection, Iterable, Iterator, Mapping, Sequence

from .._judge.sentences import refusal
from .._results.figures.detours import Detour
from .._results.figures.limits import Comparison
from .._results.figures.speed import Speed
from .._results.readers import reading
from .._results.readers.reading import positive
from .counters import Due
from .witness import Doubts

# Counters are read this many seconds before and after the training at most: what others moved meanwhile counts, too.
READING_SLACK_S = 900.0
_TOO_FAR = f"more than {READING_SLACK_S / 60:.0f} minutes"
# One clock notes all times, that of the controller; this much is its rounding.
CLOCK_S = 1.0
ROCE_V2 = "RoCE v2"
_LINK = (("speed", "GT/s"), ("width", "lanes"))
_RATE = re.compile(r"(\d+(?:\.\d+)?) Gb/sec\b")


@dataclasses.dataclass(frozen=True)
class Job:
    """The run as its starter knows it (``evidence.job`` of module run_report): what every other evidence is compared
    with. ``network``: "" if NCCL could choose."""

    id: str = ""
    hosts: Mapping[str, str] = dataclasses.field(default_factory=dict)
    ranks: int | None = None
    network: str = ""
    rdma_networks: tuple[str, ...] = ()
    cluster_network: str = ""
    started: float | None = None
    ended: float | None = None

    @classmethod
    def of(cls, given: Any) -> Job:
        """From what role run publishes; what is not there, or no sense, is not known."""
        given = given if isinstance(given, Mapping) else {}
        hosts = given.get("hosts")
        called = hosts.items() if isinstance(hosts, Mapping) else ()
        return cls(
            id=str(given.get("id") or ""),
            hosts={str(name): str(own) for name, own in called if own},
            ranks=whole(given.get("ranks")),
            network=str(given.get("network") or ""),
            rdma_networks=networks(given.get("rdma_networks")),
            cluster_network=", ".join(networks(given.get("cluster_network"))),
            started=moment(given.get("started")),
            ended=moment(given.get("ended")),
        )

    @property
    def names(self) -> frozenset[str]:
        """What the hosts call themselves."""
        return frozenset(map(short, self.hosts.values()))

    def foreign(self, given: Iterable[Any], what: str, doubts: Doubts) -> None:
        """These hosts are those of the job."""
        found = {short(str(name)) for name in given if name}
        strange, lacking = sorted(found - self.names), sorted(self.names - found)
        doubts.add_if(", ".join(strange[:4]), "hosts_strange", what=what)
        doubts.add_if(", ".join(lacking[:4]), "hosts_lacking", what=what)

    def same(self, run: Any, what: str, doubts: Doubts) -> None:
        """The name that role run gave to both."""
        if not run or not self.id:
            doubts.add("run_unknown", what=what)
        elif str(run) != self.id:
            doubts.add("run_other", what=what, run=run, own=self.id)

    def around(self, place: str, seen: Mapping[str, Any], doubts: Doubts) -> None:
        """Two readings, shortly before and shortly after the training."""
        before, after = moment(seen.get("before_at")), moment(seen.get("after_at"))
        if before is None or after is None or self.started is None or self.ended is None:
            doubts.add("around_unknown", place=place)
        elif before > self.started + CLOCK_S or after < self.ended - CLOCK_S:
            doubts.add("around_not", place=place)
        elif self.started - before > READING_SLACK_S or after - self.ended > READING_SLACK_S:
            doubts.add("around_far", place=place, far=_TOO_FAR)

    def during(self, time: Any, what: str, doubts: Doubts) -> None:
        """What the training itself wrote, read shortly after its end: what is read earlier lacks what came later."""
        at = moment(time)
        if at is None or self.started is None or self.ended is None:
            doubts.add("during_unknown", what=what)
        elif at < self.ended - CLOCK_S:
            doubts.add("during_early", what=what, seconds=self.ended - at)
        elif at > self.ended + READING_SLACK_S:
            doubts.add("during_late", what=what, far=_TOO_FAR)


@dataclasses.dataclass(frozen=True)
class Evidence:
    """Everything that witnesses are asked about. ``rdma``, ``switches``: as `snapshots` makes them; ``fabric``:
    ``report`` and ``at`` of the fabric check, or ``skipped``; ``due``: what the gradients had to move; ``nodes_given``,
    ``workload``: said by a person. ``used``: node -> RDMA devices of the training; ``start``: node -> first reading of
    module rdma_info; ``detours``: GPUDirect and the way through the host, measured in pairs; ``doctor``: its answer on
    what the run read; ``speed``: of an all-reduce alone; ``problems``: what the caller reports of the run, such as an
    exit status; ``booted``: host -> when it booted, in seconds since 1970 by the controller's clock."""

    job: Job
    result: Mapping[str, Any] | None = None
    layers: Mapping[str, Mapping[str, Any]] = dataclasses.field(default_factory=dict)
    layer_titles: Mapping[str, str] = dataclasses.field(default_factory=dict)
    path: Mapping[str, Any] | None = None
    rdma: Mapping[str, Any] | None = None
    switches: Mapping[str, Any] | None = None
    fabric: Mapping[str, Any] | None = None
    comparisons: Sequence[Comparison] = ()
    due: Due | None = None
    expected_ranks: int | None = None
    nodes_given: int | None = None
    workload: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    used: Mapping[str, Sequence[str]] = dataclasses.field(default_factory=dict)
    start: Mapping[str, Mapping[str, Any]] = dataclasses.field(default_factory=dict)
    detours: Sequence[Detour] = ()
    doctor: Mapping[str, Any] | None = None
    speed: Speed | None = None
    problems: Sequence[Mapping[str, str]] = ()
    booted: Mapping[str, float] = dataclasses.field(default_factory=dict)

    @property
    def per_rank(self) -> list[Mapping[str, Any]]:
        return list((self.result or {}).get("per_rank") or ())

    @property
    def machines(self) -> list[Mapping[str, Any]]:
        """What each rank says of itself for machines to read; empty where it does not."""
        return [rank.get("machine") or {} for rank in self.per_rank]


def short(name: str) -> str:
    """A host's name as names are compared: in any case of its letters."""
    return reading.short(name).lower()


def rows(given: Any) -> list[Mapping[str, Any]]:
    """The mappings in a list; whatever else is in it says nothing."""
    return [each for each in given or () if isinstance(each, Mapping)]


def host_of(said: Mapping[str, Any], key: str = "host") -> str:
    """The host that a rank or a NIC names; empty: none."""
    return short(str(said.get(key) or ""))


def ends(pairs: Sequence[Mapping[str, Any]]) -> Iterator[tuple[str, Any, Mapping[str, Any]]]:
    """Of each pair of ranks in NCCL's log both ends: host, rank, and what is said of it (path, devices)."""
    for pair in pairs:
        for end, side in (("source", "send"), ("target", "receive")):
            yield host_of(pair, f"{end}_host"), pair.get(end), pair.get(side) or {}


def networks(given: Any) -> tuple[str, ...]:
    """CIDRs out of one text (separated by commas or blanks) or a list. Raises RefusedError for anything else."""
    parts = given.replace(",", " ").split() if isinstance(given, str) else given
    parts = parts if isinstance(parts, (list, tuple)) else ()
    found = tuple(str(part).strip() for part in parts if str(part).strip())
    for part in found:
        try:
            ipaddress.ip_network(part, strict=False)
        except ValueError as error:
            raise refusal("networks_of_report", part, error=error) from error
    return found


def whole(value: Any) -> int | None:
    """A count; as a text too, because templates of older Ansible return nothing else."""
    if isinstance(value, str) and value.isascii() and value.isdigit():
        value = int(value)
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else None


def moment(value: Any) -> float | None:
    """Seconds since 1970; as a text, too."""
    return None if isinstance(value, bool) else positive(value)


def gathered(job: Job, path: Mapping[str, Any] | None) -> dict[str, set[str]]:
    """Node -> the NICs that NCCL says it uses there ("mlx5_0", "mlx5_1:2"); a merged NIC is all of its parts."""
    node_of = {short(name): node for node, name in job.hosts.items()}
    found: dict[str, set[str]] = {}
    for hca in rows((path or {}).get("hcas")):
        node = node_of.get(host_of(hca))
        if node is not None and hca.get("name"):
            parts = ({**hca, "name": part} for part in str(hca["name"]).split("+"))
            found.setdefault(node, set()).update(map(port_name, parts))
    return found


# ------------------------------------ ports of a node that carry the training, in a reading of module rdma_info


def roce_gids(port: Mapping[str, Any], networks: Sequence[str]) -> Iterator[Mapping[str, Any]]:
    """RoCE v2 GIDs of a port that are addresses in one of ``networks`` (CIDR); of no network: all of them."""
    subnets = [ipaddress.ip_network(network, strict=False) for network in networks]
    return (gid for gid, address in _reached(port) if not subnets or any(address in subnet for subnet in subnets))


def addresses(port: Mapping[str, Any]) -> set[str]:
    """RoCE v2 addresses of a port that others reach."""
    return {str(address) for _gid, address in _reached(port)}


def _reached(port: Mapping[str, Any]) -> Iterator[tuple[Mapping[str, Any], Any]]:
    """RoCE v2 GIDs without those of the link alone, which each interface makes itself."""
    for gid in rows(port.get("gids")):
        if gid.get("type") == ROCE_V2:
            try:
                address = ipaddress.IPv6Address(str(gid.get("gid")))
            except ValueError:
                continue
            if not address.is_link_local and int(address):
                yield gid, address.ipv4_mapped or address


def training_ports(
    reading: Any, networks: Sequence[str], hcas: Collection[str] | None = None
) -> list[Mapping[str, Any]]:
    """Ports of a node that carry the training: which NCCL names (``hcas``), else with an address in the networks."""
    devices = reading.get("devices") if isinstance(reading, Mapping) else None
    return [
        port
        for port in rows(devices)
        if port.get("link_layer") == "Ethernet"
        and (port_name(port) in hcas if hcas else any(roce_gids(port, networks)))
    ]


def port_name(port: Mapping[str, Any]) -> str:
    """mlx5_0, with the number of the port where it is not the first."""
    number = port.get("port", 1)
    return str(port.get("name")) if number == 1 else f"{port.get('name')}:{number}"


def gbit_per_s(port: Mapping[str, Any]) -> float | None:
    """Its rate, as sysfs prints it ("100 Gb/sec (4X EDR)"); None: not read."""
    found = _RATE.match(str(port.get("rate") or ""))
    return float(found[1]) if found else None


def below_best(pcie: Mapping[str, Any]) -> list[str]:
    """Speed and width of a PCIe link that run below what the device can do ("8 of 16 lanes")."""
    found = [(pcie.get(f"current_link_{key}"), pcie.get(f"max_link_{key}"), unit) for key, unit in _LINK]
    return [f"{now:g} of {best:g} {unit}" for now, best, unit in found if now and best and now < best]
