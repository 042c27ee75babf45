"""Variables that need each other, contradict each other, or name what the inventory does not have. Pure."""

from __future__ import annotations

import re
from typing import Any, Iterator, Mapping, Sequence

from .._layer import RefusedError
from .._nvue import plan as nvue
from .._onyx import plan as onyx
from .._switch import request as asking
from .finding import Finding, problem
from .values import shown, table, truth, words
from .variables import GROUPS, few

Row = Mapping[str, Any]

# Variable and its value (any, if there is none) -> variables that a stage asks for then.
_NEEDS: Sequence[tuple[Mapping[str, str], Sequence[str]]] = (
    ({"container_registry_username": ""}, ("container_registry_password",)),
    ({"container_registry_password": ""}, ("container_registry_username",)),
    (
        {"container_toolkit_source.repository": ""},
        ("container_toolkit_source.key_url", "container_toolkit_source.key_checksum"),
    ),
    ({"guest_ofed_profile": "guide"}, ("guest_ofed_url", "guest_ofed_checksum")),
    (
        {"guest_ofed_profile": "current", "guest_doca_source": "repository"},
        ("guest_doca_repository", "guest_doca_key_url", "guest_doca_key_checksum"),
    ),
    ({"guest_ofed_profile": "current", "guest_doca_source": "deb"}, ("guest_doca_deb_url", "guest_doca_deb_checksum")),
    ({"guest_peer_memory": "nv_peer_memory"}, ("guest_nv_peer_memory.url", "guest_nv_peer_memory.checksum")),
)
# Variable -> groups of the hosts that it names.
_NAMES: Mapping[str, Sequence[str]] = {
    "container_build_host": ("gpu_vms",),
    "mesh_head": ("gpu_vms",),
    "rocemesh_accept_boot": ("gpu_vms",),
    "rocemesh_adopt_maintenance": ("esxi_hosts",),
    "rocemesh_skip_hosts": tuple(GROUPS),
}
_NAMING = {"onyx": onyx.NAMING, "cumulus": nvue.NAMING}
# RoCE modes of the drivers that configure.
MODES: Mapping[str, Sequence[str]] = {
    "onyx": ("lossless", "semi-lossless", "lossy", "absent"),
    "cumulus": (
        "lossless", "lossy", "lossless-single-ipool", "lossy-multi-tc", "dci-1", "dci-custom", "absent",
    ),
}  # fmt: skip
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

    def number(self, name: str) -> int:
        """-1 where it is none."""
        text = str(self(name))
        return int(text) if re.match(r"^\d+$", text) else -1

    def true(self, name: str) -> bool:
        return truth(self(name)) is True


def judge(
    site: Mapping[str, Row], members: Mapping[str, Sequence[str]], defaults: Row, unclear: Mapping[str, set[str]]
) -> Iterator[Finding]:
    """``unclear``: host -> variables that are set and have no value here."""
    rows = {host: Said(row, defaults) for host, row in site.items()}
    switches, nodes = ([rows[host] for host in members.get(group) or ()] for group in ("switches", "gpu_vms"))
    called = {str(row.get("esxi_host_name")) for row in site.values()}
    where: dict[tuple[str, str, str], list[str]] = {}
    for host, said in rows.items():
        own = [*_needs(said, unclear.get(host) or ()), *_names(said, members, called)]
        if host in (members.get("gpu_vms") or ()):
            own += [*_of_mesh(said), *_of_run(said), *_of_benchmark(said), *_of_vm(said), *_quality(said, switches)]
        if host in (members.get("switches") or ()):
            own += _of_switch(said)
        if host in (members.get("esxi_hosts") or ()):
            own += _of_host(said, nodes)
        for found in own:
            where.setdefault(found, []).append(host)
    for (variable, text, remedy), hosts in where.items():
        yield problem(few(hosts), variable, text, remedy)


Wrong = Iterator["tuple[str, str, str]"]


def _wrong(said: Said, variable: str, expected: str, remedy: str, value: str = "") -> tuple[str, str, str]:
    """``value``: the part that matters, where the rest may hold a secret."""
    name, _dot, key = variable.partition(".")
    return name, f"{key or 'it'} is {value or shown(said(variable), secret=False)}, expected {expected}", remedy


def _needs(said: Said, unclear: Any) -> Wrong:
    for given, needed in _NEEDS:
        first, *_others = given
        met = all(str(said(name)) == value if value else said(name) for name, value in given.items())
        if said.own(first) is None or not met:  # a default asks for nothing
            continue
        for name in needed:
            if not said(name) and name.partition(".")[0] not in unclear:
                because = " and ".join(f"{one} {value}".strip() for one, value in given.items())
                variable, _dot, key = name.partition(".")
                yield (
                    variable,
                    f"{key or 'it'} is not set, expected a value beside {because}",
                    f"set {name}, or leave {first} out",
                )


def _names(said: Said, members: Mapping[str, Sequence[str]], called: set[str]) -> Wrong:
    for variable, groups in _NAMES.items():
        known = {host for group in groups for host in members.get(group) or ()}
        adopts = variable == "rocemesh_adopt_maintenance"
        for name in words(said.own(variable)):
            if name not in known and not (adopts and (name in called or re.match(r"^host-\d+$", name))):
                expected = f"a host of {' or '.join(groups)} ({few(sorted(known))}): it names {name}"
                yield _wrong(said, variable, expected, f"correct the name in {variable}")


def _of_mesh(said: Said) -> Wrong:
    transport = said.own("mesh_transport") or ("guide" if said.true("mesh_guide_compatible") else "container")
    port = said.number("mesh_ssh_port") or _MESH_PORTS.get(transport, 0)
    if said.number("run_master_port") == port:
        expected = "another port than that of the mesh's SSH server"
        yield _wrong(said, "run_master_port", expected, "set run_master_port to a free port, as 29500")
    if transport == "container" and port == 22 and said.number("ansible_port") in (-1, 22):
        expected = "another port than that of the VM's own SSH server, whose network the container shares"
        yield _wrong(said, "mesh_ssh_port", expected, "set mesh_ssh_port to a free port, or 0 for 2222")
    if said.true("mesh_host_login") and transport != "guide":
        expected = "false without mesh_transport guide"
        yield _wrong(said, "mesh_host_login", expected, "set mesh_transport to guide, or mesh_host_login to false")
    names = {str(said(name)) for name in _MESH_CONTAINERS}
    if len(names) > 1:
        variable = next((name for name in _MESH_CONTAINERS if name in said.row), _MESH_CONTAINERS[0])
        expected = f"one name in {', '.join(_MESH_CONTAINERS)}: they are {', '.join(sorted(names))}"
        yield _wrong(said, variable, expected, f"set all three to {said(variable)}")
    given = said("container_capabilities")
    served = transport == "container" and not said("container_user")
    lost = _LOGIN - set(map(str, given)) if isinstance(given, list) and served else set()
    if lost:
        expected = f"{', '.join(sorted(lost))} as well, which a login needs"
        yield _wrong(said, "container_capabilities", expected, "add to the default of container_capabilities")


def _of_run(said: Said) -> Wrong:
    if said.true("run_tuning.cuda_graph"):
        if said.number("run_num_warmup_batches") < GRAPH_WARMUP:
            expected = f"{GRAPH_WARMUP} or more with run_tuning.cuda_graph"
            yield _wrong(said, "run_num_warmup_batches", expected, f"set run_num_warmup_batches to {GRAPH_WARMUP}")
        if said("run_precision") == "fp16":
            yield _wrong(said, "run_tuning.cuda_graph", "false with run_precision fp16", "set run_precision to bf16")
    if said.number("run_progress_interval") >= ORPHAN_AFTER:
        expected = f"less than {ORPHAN_AFTER}, the seconds without a look after which a job is ended"
        yield _wrong(said, "run_progress_interval", expected, f"set run_progress_interval to less than {ORPHAN_AFTER}")
    environment = said("run_env")
    off = isinstance(environment, Mapping) and truth(environment.get("NCCL_IB_DISABLE")) is True
    if off and said("run_require_path") != "any":
        expected = f"NCCL_IB_DISABLE 0 with run_require_path {said('run_require_path')}"
        remedy = "take NCCL_IB_DISABLE out of run_env, or set run_require_path to any"
        yield _wrong(said, "run_env", expected, remedy, "NCCL_IB_DISABLE 1")


def _of_benchmark(said: Said) -> Wrong:
    steps, dropped = said.number("benchmark_scaling.iterations"), said.number("benchmark_scaling.dropped")
    if dropped >= steps >= 0:
        expected = f"less than benchmark_scaling.iterations ({steps})"
        yield _wrong(said, "benchmark_scaling.dropped", expected, f"set benchmark_scaling.dropped to less than {steps}")
    parts = words(said("benchmark_parts"))
    models = {
        name.partition("*")[0]
        for part in ("scoring", "training")
        for name in (words(said(f"benchmark_{part}.models")) if part in parts else ())
    }
    if "inception-v3" in models and 32 <= said.number("benchmark_image_size") < _INCEPTION:
        expected = f"{_INCEPTION} or more with inception-v3"
        remedy = "set benchmark_image_size to 224, or take inception-v3 out of the models"
        yield _wrong(said, "benchmark_image_size", expected, remedy)


def _of_vm(said: Said) -> Wrong:
    if truth(said("gpu_vm_wanted.use_64bit_mmio")) is False and said("gpu_vm_wanted.mmio_size_gb"):
        expected = f"true with gpu_vm_wanted.mmio_size_gb {said('gpu_vm_wanted.mmio_size_gb')}"
        yield _wrong(said, "gpu_vm_wanted.use_64bit_mmio", expected, "set gpu_vm_wanted.use_64bit_mmio to true")
    mtu = said.number("guest_mtu")
    for variable in ("fabric_options.mtu", "consistency_mtu"):
        if 0 < mtu != said.number(variable) > 0:
            expected = f"guest_mtu ({mtu}), or 0"
            yield _wrong(said, variable, expected, f"set {variable} to {mtu}")
    longest = _longest(said("rocemesh_change_window"))
    if 0 < longest < said.number("rocemesh_change_window_least_minutes"):
        expected = f"at most the {longest} minutes of the longest window"
        remedy = "set rocemesh_change_window_least_minutes to less, or make the window longer"
        yield _wrong(said, "rocemesh_change_window_least_minutes", expected, remedy)


def _longest(given: Any) -> int:
    """Minutes of the longest window of a day; 0 where there is one that is not of a day, or none."""
    windows = given if isinstance(given, list) else [given]
    clocks = [
        [_clock(window.get(key)) for key in ("start", "end")] for window in windows if isinstance(window, Mapping)
    ]
    known = len(clocks) == len(windows) and all(at >= 0 for row in clocks for at in row)
    return max(((end - start) % _DAY or _DAY for start, end in clocks), default=0) if known else 0


def _clock(value: Any) -> int:
    """Minutes since midnight, as YAML reads 22:00 without quotes; -1 where it is no time of day."""
    found = re.match(r"^(\d{1,2}):(\d{2})$", str(value))
    return int(found[1]) * 60 + int(found[2]) if found else value if isinstance(value, int) else -1


def _of_host(said: Said, nodes: Sequence[Said]) -> Wrong:
    settings = said("esxi_host_kernel_settings")
    off = isinstance(settings, Mapping) and truth(settings.get("atsSupport")) is False
    if off and any(node("guest_ats_state") == "enabled" for node in nodes):
        expected = "atsSupport true with guest_ats_state enabled"
        remedy = "set atsSupport to true, or guest_ats_state to disabled"
        yield _wrong(said, "esxi_host_kernel_settings", expected, remedy)


def _of_switch(said: Said) -> Wrong:
    driver = driver_of(said.row)
    modes = MODES.get(driver)
    if driver in _NAMING and said("switch_port_mode") == "routed":
        given = said("switch_addresses")
        try:
            ports = _NAMING[driver].all("", each_port(said("switch_ports")))
            asking.addresses("", "routed", given if isinstance(given, Mapping) else {}, ports, _NAMING[driver])
        except RefusedError as error:
            expected = "an address with its prefix length for each port of switch_ports, each in a network of its own"
            yield _wrong(said, "switch_addresses", expected, error.remedy)
    if modes and said("switch_roce_mode") not in modes:
        expected = f"one of {', '.join(modes)} with the driver {driver}"
        yield _wrong(said, "switch_roce_mode", expected, "set switch_roce_mode to one of these")
    yield from _of_site(said, "switch_roce_priority")
    limit, links = said.number("switch_options.confirm_timeout"), said.number("switch_options.wait_for_links")
    if driver == "cumulus" and 0 < limit <= links:
        expected = f"0, or more than switch_options.wait_for_links ({links})"
        yield _wrong(
            said, "switch_options.confirm_timeout", expected, f"set switch_options.confirm_timeout to more than {links}"
        )
    for variable in ("switch_allow_mode_change", "switch_options.allow_unexpected_neighbors"):
        given = said.own(variable)
        named = [] if given in (None, "") or truth(given) is not None else each_port(given)
        wrong = next(filter(None, (port(text, driver) for text in named)), "")
        if wrong:
            expected = f"true, false or a list of ports, each {wrong}"
            yield _wrong(said, variable, expected, f"name the ports in {variable}")


def _of_site(said: Said, variable: str) -> Wrong:
    """A priority of one place is that of the whole site, by which the cluster finds its DSCP."""
    site = said.row.get("rocemesh_roce_priority", PRIORITY)
    if variable in said.row and str(said(variable)) != str(site):
        expected = f"rocemesh_roce_priority ({site}), which is that of the whole site"
        yield _wrong(said, variable, expected, f"set rocemesh_roce_priority, and leave {variable} out")


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
    digits = re.match(r"^[01](,[01]){7}$", str(said("guest_qos_pfc")))
    if not said.true("guest_qos_enabled") or not digits:
        return
    lossless = {at for at, digit in enumerate(str(said("guest_qos_pfc")).split(",")) if digit == "1"}
    for switch in switches:
        wanted = switch.row.get("switch_roce_priority", switch.row.get("rocemesh_roce_priority", PRIORITY))
        if str(wanted) not in map(str, lossless) and switch("switch_roce_mode") in _LOSSLESS:
            expected = f"1 at priority {wanted}, the lossless one of the switches"
            yield _wrong(said, "guest_qos_pfc", expected, "set guest_qos_pfc and switch_roce_priority to one priority")
            return
    if said("guest_qos_trust") != "dscp":
        return
    given = said("guest_qos_dscp_priority")
    mapped = {str(dscp): str(priority) for dscp, priority in (given if isinstance(given, Mapping) else {}).items()}
    for about, dscp in _dscps(said):
        priority = mapped.get(str(dscp), str(dscp // 8))
        if priority in map(str, lossless):
            continue
        variable = "guest_qos_dscp_priority" if str(dscp) in mapped else about
        variable = variable if said.own(variable) is not None else "guest_qos_pfc"
        expected = f"a priority with PFC for DSCP {dscp}, which the NIC has in priority {priority}"
        remedy = f"set {variable} to what the switch has; a traffic class byte is DSCP * 4 plus 2, as 106 for DSCP 26"
        yield _wrong(said, variable, expected, remedy, "NCCL_IB_TC for another DSCP" if variable == "run_env" else "")


def _dscps(said: Said) -> Iterator[tuple[str, int]]:
    """Variable -> DSCP of the packets that it is about, of those that the site says, and of the cards by default."""
    for variable in ("guest_qos_tos", "fabric_options.tos"):
        if said.number(variable) in range(1, 256) and (said.own(variable) is not None or variable == "guest_qos_tos"):
            yield variable, said.number(variable) >> 2
    if said.number("run_rdma_dscp") in range(64):
        yield "run_rdma_dscp", said.number("run_rdma_dscp")
    environment = said.own("run_env")
    byte = str(environment.get("NCCL_IB_TC", "")) if isinstance(environment, Mapping) else ""
    if re.match(r"^\d{1,3}$", byte):
        yield "run_env", int(byte) >> 2
