"""Variables that need each other, contradict each other, or name what the inventory does not have. Pure."""

from __future__ import annotations

import dataclasses
import re
from typing import Any, Iterator, Mapping, Sequence

from .._judge.finding import Finding
from .._layer import RefusedError
from .._nvue import plan as nvue
from .._onyx import plan as onyx
from .._results.readers.reading import few
from .._site import schedule
from .._switch import request as asking
from .findings import grouped
from .values import shown, table, truth, words

Row = Mapping[str, Any]

# RoCE modes of the drivers that configure.
MODES = {"onyx": onyx.MODES, "cumulus": (*nvue.SINCE, "absent")}
_NAMING = {"onyx": onyx.NAMING, "cumulus": nvue.NAMING}
_LOSSLESS = ("lossless", "semi-lossless", "lossless-single-ipool")
PRIORITY = 3  # of RoCE, where the site says no other
GRAPH_WARMUP = 11
ORPHAN_AFTER = 60  # seconds, of role run
_INCEPTION = 75  # pixels that inception-v3 needs
_LOGIN = {"SETGID", "SETUID", "SYS_CHROOT"}  # of the container's SSH server
_DAY = 24 * 60
_MESH_PORTS = {"container": 2222, "guide": 22}
_MESH_CONTAINERS = ("container_name", "mesh_container_name", "run_container")


class Said:
    """Variables of a host, with the defaults of their options behind them."""

    def __init__(self, row: Row, defaults: Row) -> None:
        self.row, self._defaults = row, defaults

    def own(self, name: str) -> Any:
        """What the site says: of a variable, or of a key of one (``switch_options.timeout``)."""
        variable, _dot, key = name.partition(".")
        given = self.row.get(variable)
        return given.get(key) if key and isinstance(given, Mapping) else None if key else given

    def __call__(self, name: str) -> Any:
        given = self.own(name)
        return self._defaults.get(name) if given is None else given

    def mapping(self, name: str) -> Row:
        """Empty where it is none."""
        given = self(name)
        return given if isinstance(given, Mapping) else {}

    def number(self, name: str) -> int:
        """-1 where it is none."""
        text = str(self(name))
        return int(text) if re.match(r"^\d+$", text) else -1

    def true(self, name: str) -> bool:
        return truth(self(name)) is True


def judge(
    site: Mapping[str, Row], members: Mapping[str, Sequence[str]], defaults: Row, unclear: Mapping[str, set[str]]
) -> list[Finding]:
    """``unclear``: host -> variables that are set and have no value here."""
    rows = {host: Said(row, defaults) for host, row in site.items()}
    switches, nodes = ([rows[host] for host in members.get(group) or ()] for group in ("switches", "gpu_vms"))
    called = {str(row.get("esxi_host_name")) for row in site.values()}
    found: list[Finding] = []
    for host, said in rows.items():
        own = [*_needs(said, unclear.get(host) or ()), *_names(said, members, called)]
        if said in nodes:
            own += [*_of_mesh(said), *_of_run(said), *_of_benchmark(said), *_of_vm(said), *_quality(said, switches)]
        if said in switches:
            own += _of_switch(said)
        if host in (members.get("esxi_hosts") or ()):
            own += _of_host(said, nodes)
        found += [dataclasses.replace(each, place=host) for each in own]
    return grouped(found, few)


Wrong = Iterator[Finding]


def _wrong(said: Said, code: str, value: str = "", variable: str = "", **words: Any) -> Finding:
    """As values.yml words it. ``value``: the part that matters, where the rest may hold a secret."""
    entry = table("contradictions")[code]
    variable = variable or entry["variable"]
    expected, remedy = (entry[key].format(variable=variable, **words) for key in ("expected", "remedy"))
    name, _dot, key = variable.partition(".")
    text = f"{key or 'it'} is {value or shown(said(variable), secret=False)}, expected {expected}"
    return Finding("", name, text, remedy)


def _needs(said: Said, unclear: Any) -> Wrong:
    for row in table("needs"):
        given = row["given"]
        first, *_others = given
        met = all(str(said(name)) == value if value else said(name) for name, value in given.items())
        if said.own(first) is None or not met:  # a default asks for nothing
            continue
        for name in row["needed"]:
            if not said(name) and name.partition(".")[0] not in unclear:
                because = " and ".join(f"{one} {value}".strip() for one, value in given.items())
                yield _wrong(said, "needed", "not set", name, because=because, first=first)


def _names(said: Said, members: Mapping[str, Sequence[str]], called: set[str]) -> Wrong:
    for variable, groups in table("names").items():
        known = {host for group in groups for host in members.get(group) or ()}
        adopts = variable == "rocemesh_adopt_maintenance"
        for name in words(said.own(variable)):
            if name not in known and not (adopts and (name in called or re.match(r"^host-\d+$", name))):
                where = f"{' or '.join(groups)} ({few(sorted(known))})"
                yield _wrong(said, "name", variable=variable, where=where, name=name)
    everywhere = said.own("mesh_topology") == "all" or said.true("mesh_guide_compatible")
    if said.own("mesh_head") in (members.get("gpu_vms") or ())[1:] and not everywhere:
        yield _wrong(said, "head")


def mesh_server(said: Said) -> tuple[str, int]:
    """Transport of the mesh, and port of the SSH server that peers log in to."""
    transport = str(said.own("mesh_transport") or ("guide" if said.true("mesh_guide_compatible") else "container"))
    return transport, max(said.number("mesh_ssh_port"), 0) or _MESH_PORTS.get(transport, 0)


def _of_mesh(said: Said) -> Wrong:
    transport, port = mesh_server(said)
    if said.number("run_master_port") == port:
        yield _wrong(said, "master_port")
    if transport == "container" and port == 22 and said.number("ansible_port") in (-1, 22):
        yield _wrong(said, "mesh_port")
    if said.true("mesh_host_login") and transport != "guide":
        yield _wrong(said, "host_login")
    names = {str(said(name)) for name in _MESH_CONTAINERS}
    if len(names) > 1:
        variable = next((name for name in _MESH_CONTAINERS if name in said.row), _MESH_CONTAINERS[0])
        words = {"all": ", ".join(_MESH_CONTAINERS), "names": ", ".join(sorted(names)), "own": said(variable)}
        yield _wrong(said, "container_names", variable=variable, **words)
    given = said("container_capabilities")
    served = transport == "container" and not said("container_user")
    lost = _LOGIN - set(map(str, given)) if isinstance(given, list) and served else set()
    if lost:
        yield _wrong(said, "capabilities", lost=", ".join(sorted(lost)))


def _of_run(said: Said) -> Wrong:
    if said.true("run_tuning.cuda_graph"):
        if said.number("run_num_warmup_batches") < GRAPH_WARMUP:
            yield _wrong(said, "graph_warmup", least=GRAPH_WARMUP)
        if said("run_precision") == "fp16":
            yield _wrong(said, "graph_precision")
    if said.number("run_progress_interval") >= ORPHAN_AFTER:
        yield _wrong(said, "progress_interval", most=ORPHAN_AFTER)
    off = truth(said.mapping("run_env").get("NCCL_IB_DISABLE")) is True
    if off and said("run_require_path") != "any":
        yield _wrong(said, "ib_disabled", "NCCL_IB_DISABLE 1", path=said("run_require_path"))


def _of_benchmark(said: Said) -> Wrong:
    steps, dropped = said.number("benchmark_scaling.iterations"), said.number("benchmark_scaling.dropped")
    if dropped >= steps >= 0:
        yield _wrong(said, "dropped", steps=steps)
    parts = words(said("benchmark_parts"))
    models = {
        name.partition("*")[0]
        for part in ("scoring", "training")
        for name in (words(said(f"benchmark_{part}.models")) if part in parts else ())
    }
    if "inception-v3" in models and 32 <= said.number("benchmark_image_size") < _INCEPTION:
        yield _wrong(said, "image_size", least=_INCEPTION)


def _of_vm(said: Said) -> Wrong:
    if truth(said("gpu_vm_wanted.use_64bit_mmio")) is False and said("gpu_vm_wanted.mmio_size_gb"):
        yield _wrong(said, "mmio", size=said("gpu_vm_wanted.mmio_size_gb"))
    mtu = said.number("guest_mtu")
    for variable in ("fabric_options.mtu", "consistency_mtu"):
        if 0 < mtu != said.number(variable) > 0:
            yield _wrong(said, "mtu", variable=variable, mtu=mtu)
    longest = _longest(said("rocemesh_change_window"))
    if 0 < longest < said.number("rocemesh_change_window_least_minutes"):
        yield _wrong(said, "window", longest=longest)


def _longest(given: Any) -> int:
    """Minutes of the longest window of a day; 0 where there is one that is not of a day, or none."""
    windows = given if isinstance(given, list) else [given]
    try:
        clocks = [[schedule.clock(window, key) for key in ("start", "end")] for window in windows]
    except (ValueError, AttributeError):  # what is wrong with it is a finding of its own
        return 0
    spans = (60 * (end.hour - start.hour) + end.minute - start.minute for start, end in clocks)
    return max((span % _DAY or _DAY for span in spans), default=0)


def _of_host(said: Said, nodes: Sequence[Said]) -> Wrong:
    off = truth(said.mapping("esxi_host_kernel_settings").get("atsSupport")) is False
    if off and any(node("guest_ats_state") == "enabled" for node in nodes):
        yield _wrong(said, "ats")


def _of_switch(said: Said) -> Wrong:
    driver = driver_of(said.row)
    modes = MODES.get(driver)
    if driver in _NAMING and said("switch_port_mode") == "routed":
        try:
            ports = _NAMING[driver].all("", each_port(said("switch_ports")))
            asking.addresses("", "routed", said.mapping("switch_addresses"), ports, _NAMING[driver])
        except RefusedError as error:
            yield _wrong(said, "routed_addresses", remedy=error.remedy)
    if modes and said("switch_roce_mode") not in modes:
        yield _wrong(said, "roce_mode", modes=", ".join(modes), driver=driver)
    yield from _of_site(said, "switch_roce_priority")
    limit, links = said.number("switch_options.confirm_timeout"), said.number("switch_options.wait_for_links")
    if driver == "cumulus" and 0 < limit <= links:
        yield _wrong(said, "confirm_timeout", links=links)
    for variable in ("switch_allow_mode_change", "switch_options.allow_unexpected_neighbors"):
        given = said.own(variable)
        named = [] if given in (None, "") or truth(given) is not None else each_port(given)
        wrong = next(filter(None, (port(text, driver) for text in named)), "")
        if wrong:
            yield _wrong(said, "ports", variable=variable, form=wrong)


def _of_site(said: Said, variable: str) -> Wrong:
    """A priority of one place is that of the whole site, by which the cluster finds its DSCP."""
    site = said.row.get("rocemesh_roce_priority", PRIORITY)
    if variable in said.row and str(said(variable)) != str(site):
        yield _wrong(said, "priority", variable=variable, site=site)


def each_port(given: Any) -> list[str]:
    return [text.strip() for each in (given if isinstance(given, list) else [given]) for text in str(each).split(",")]


def port(text: str, driver: str) -> str:
    """What was expected of a port or a range; empty where it is one, or of a driver without names here."""
    known = table("drivers").get(driver, {"pattern": ".*", "form": ""})
    return "" if re.fullmatch(known["pattern"], text) else f"{known['form']} with the driver {driver}"


def driver_of(row: Row) -> str:
    return str(row.get("switch_driver") or row.get("rocemesh_switch_driver") or "onyx")


# ------------------------------------------------------------------------------------------------- quality of service


def _quality(said: Said, switches: Sequence[Said]) -> Wrong:
    """Where the site sets the NICs: the packets of RoCE have to be in a priority with PFC, and that of the switch."""
    yield from _of_site(said, "consistency_priority")
    pfc = str(said("guest_qos_pfc"))
    if not said.true("guest_qos_enabled") or not re.match(r"^[01](,[01]){7}$", pfc):
        return
    lossless = {str(priority) for priority, digit in enumerate(pfc.split(",")) if digit == "1"}
    for switch in switches:
        wanted = switch.row.get("switch_roce_priority", switch.row.get("rocemesh_roce_priority", PRIORITY))
        if str(wanted) not in lossless and switch("switch_roce_mode") in _LOSSLESS:
            yield _wrong(said, "pfc", wanted=wanted)
            return
    if said("guest_qos_trust") != "dscp":
        return
    mapped = {str(dscp): str(priority) for dscp, priority in said.mapping("guest_qos_dscp_priority").items()}
    for about, dscp in _dscps(said):
        priority = mapped.get(str(dscp), str(dscp // 8))
        if priority in lossless:
            continue
        variable = "guest_qos_dscp_priority" if str(dscp) in mapped else about
        variable = variable if said.own(variable) is not None else "guest_qos_pfc"
        value = "NCCL_IB_TC for another DSCP" if variable == "run_env" else ""
        yield _wrong(said, "dscp", value, variable, dscp=dscp, priority=priority)


def _dscps(said: Said) -> Iterator[tuple[str, int]]:
    """Variable -> DSCP of the packets that it is about, of those that the site says, and of the cards by default."""
    for variable in ("guest_qos_tos", "fabric_options.tos"):
        if said.number(variable) in range(1, 256) and (said.own(variable) is not None or variable == "guest_qos_tos"):
            yield variable, said.number(variable) >> 2
    if said.number("run_rdma_dscp") in range(64):
        yield "run_rdma_dscp", said.number("run_rdma_dscp")
    byte = str(said.mapping("run_env").get("NCCL_IB_TC", ""))
    if re.match(r"^\d{1,3}$", byte):
        yield "run_env", int(byte) >> 2
