"""site.yml against a site with one fault, without devices: each stage's own code decides, in the order of the stages.

What a stage does is planned, not carried out: a fault whose repair is planned is taken for repaired. A maintenance
window is allowed.
"""

from __future__ import annotations

import copy
import dataclasses
import functools
import tempfile
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import yaml
from ansible_collections.rocemesh.multinode.plugins.module_utils._judge.finding import PROBLEM
from ansible_collections.rocemesh.multinode.plugins.module_utils._judge.packs.model import CANDIDATE
from ansible_collections.rocemesh.multinode.plugins.module_utils._layer import LayerError, VerifyError
from ansible_collections.rocemesh.multinode.plugins.module_utils._nic import plan as ats_plan
from ansible_collections.rocemesh.multinode.plugins.module_utils._nic.state import Failure, first_error
from ansible_collections.rocemesh.multinode.plugins.module_utils._onyx import plan as switch_plan
from ansible_collections.rocemesh.multinode.plugins.module_utils._preflight import devices, findings, nodes
from ansible_collections.rocemesh.multinode.plugins.module_utils._results.launch import failure
from ansible_collections.rocemesh.multinode.plugins.module_utils._results.launch.mpirun import Node
from ansible_collections.rocemesh.multinode.plugins.module_utils._results.report import diagnosis
from ansible_collections.rocemesh.multinode.plugins.module_utils._results.report.summary import Inputs, build
from ansible_collections.rocemesh.multinode.plugins.module_utils._switch.request import Wanted
from ansible_collections.rocemesh.multinode.plugins.module_utils._vsphere.keys import VmxWanted
from ansible_collections.rocemesh.multinode.plugins.module_utils._vsphere.plan import (
    KernelWanted,
    pending_kernel,
    plan_kernel,
)
from ansible_collections.rocemesh.multinode.plugins.module_utils._vsphere.plan_vmx import differing_keys
from ansible_collections.rocemesh.multinode.plugins.module_utils._vsphere.prerequisites import checklist

from lab.gym import model, site
from lab.gym.model import Fault
from tests.unit.doctor import site_pace
from tests.unit.doctor import site_readings as readings
from tests.unit.preflight import faults as ready
from tests.unit.proof.truth import STARTED, Run
from tests.unit.roles import conditions

ROOT = Path(__file__).resolve().parents[3]
REPAIRED, STOPPED, NOT_PROVEN, PROVEN = "repaired", "stopped", "not proven", "PROVEN"
AT = "gpu02"  # where the fault is
RUN = Run("4x1 ring", link=site_pace.LINK_GBIT)
NODES = [Node(host, f"192.0.2.1{site.number(host)}") for host in site.HOSTS]


@dataclasses.dataclass(frozen=True)
class Outcome:
    """``stage`` of site.yml; ``role`` of this collection that planned or refused, '' for the run and its proof;
    ``text`` as a person reads it; ``cause``: layer and cause that the run's own doctor named first, if it was asked;
    ``certain``: it did not say so as a mere candidate."""

    how: str
    stage: str
    role: str
    text: str
    cause: tuple[str, str] = ("", "")
    certain: bool = False


def play(fault: Fault, host: str = AT) -> Outcome:
    pieces = model.broken([(fault, host)])
    for stage in STAGES:
        outcome = stage(pieces)
        if outcome:
            return outcome
    log = _log(fault, pieces)
    return _failed(pieces, log) if _fails(fault) else proved(pieces, log)


def _fails(fault: Fault) -> bool:
    """The job ends with an error: ranks that hang are ended by the role, and mpirun may not start them at all."""
    return fault.symptom in ("gone", "hang", "retry") or fault.layer == "mpi_launch"


def _log(fault: Fault, pieces: readings.Pieces) -> str:
    """What the job printed: of a job that was never launched only what mpirun says; of one that ended, what is new."""
    new = [line for line in pieces[site.JOB].splitlines() if line not in site.right()[site.JOB].splitlines()]
    if _fails(fault):
        return "\n".join(new) + "\n" if fault.layer == "mpi_launch" else pieces[site.JOB]
    return "".join(f"{line}\n" for line in new if not line.startswith("[1,0]<stdout>:bandwidth"))


# ------------------------------------------------------------------------------------------------------------- stages


def preflight(pieces: readings.Pieces) -> Outcome | None:
    told = readings.vcenter(pieces)
    asleep = devices.asleep(told)
    found = list(devices.vcenter(told, site.HOSTS, windows=True, dry=False))
    for host in site.HOSTS:
        reading: dict[str, Any] = {**ready.site()["gpu01"], "gpu": readings.gpus(pieces, host)}
        if f"hosts/{host}/answer" in pieces:
            reading = {"unreachable": True, "msg": pieces[f"hosts/{host}/answer"]}
        found += nodes.judge(host, reading, {"asleep": asleep.get(host, "")})
    lines = [findings.line(finding) for finding in found if finding.level == PROBLEM]
    return Outcome(STOPPED, "preflight", "guest", " ".join(lines)) if lines else None


def switch(pieces: readings.Pieces) -> Outcome | None:
    state, wanted = readings.switch(pieces), Wanted(vlan=readings.VLAN, ports=tuple(readings.PORTS), mtu=9216)
    try:
        operations = switch_plan.plan(state, wanted)
        switch_plan.require_health(state, wanted)
    except LayerError as error:
        return Outcome(STOPPED, "switch", "switch", str(error))
    said = f"{state.host}: {'; '.join(operation.description for operation in operations)}"
    return Outcome(REPAIRED, "switch", "switch", said) if operations else None


def esxi(pieces: readings.Pieces) -> Outcome | None:
    for host in sorted(set(site.ESXI.values())):
        state = readings.kernel(pieces, host)
        try:
            operations = plan_kernel(state, KernelWanted({"atsSupport": True}))
        except LayerError as error:
            return Outcome(STOPPED, "esxi", "esxi_host", str(error))
        if operations:
            return Outcome(REPAIRED, "esxi", "esxi_host", operations[0].description)
        waits = pending_kernel(list(state.settings.values()), host)
        if waits.reasons:
            return Outcome(REPAIRED, "window", "esxi_host", "; ".join(waits.reasons))
    return None


def power(pieces: readings.Pieces) -> Outcome | None:
    """vSphere's own words, which are those of the VM's log, and what the layer adds to them."""
    for vm in site.HOSTS:
        state = readings.vm_state(pieces, vm)
        if state.power == "poweredOff":
            words = [line for line in pieces[f"vms/{vm}/vmware.log"].splitlines() if "PCIPassthru: success" not in line]
            lacking = [each.sentence(vm) for each in checklist(state) if each.ok is False]
            return Outcome(STOPPED, "power", "gpu_vm", f"{vm}: power on {vm}: {' '.join([*words, *lacking])}")
        keys = differing_keys(state, VmxWanted())
        if keys:
            return Outcome(REPAIRED, "window", "gpu_vm", f"{vm}: {', '.join(f'{k} = {v}' for k, v in keys.items())}")
    return None


def guest(pieces: readings.Pieces) -> Outcome | None:
    for host in site.HOSTS:
        state = readings.ats(pieces, host)
        if isinstance(state, Failure):
            said = first_error(pieces[f"hosts/{host}/mlxconfig.txt"])
            return Outcome(STOPPED, "guest", "guest", f"{host}: {state.value}: {said}")
        wanted = ats_plan.AtsWanted(True, require_active=True)
        try:
            operations = ats_plan.plan(state, wanted, host)
            if state.reboot_kind == "power_cycle":
                # The window has come and gone: the host booted, and the card still waits.
                ats_plan.plan(state, dataclasses.replace(wanted, settled_since=1.0, host_boot_time=2.0), host)
            if not operations and not ats_plan.needs_host_reboot(state.devices[0]):
                ats_plan.refuse_inactive(state, wanted, host)
        except VerifyError as error:
            return Outcome(STOPPED, "ats", "guest", str(error))
        except LayerError as error:
            return Outcome(STOPPED, "guest", "guest", str(error))
        if operations:
            return Outcome(REPAIRED, "guest", "guest", operations[0].description)
        waits = ats_plan.pending(state)
        if waits.reasons:
            return Outcome(REPAIRED, "window", "guest", "; ".join(waits.reasons))
    return None


def container(pieces: readings.Pieces) -> Outcome | None:
    for host in site.HOSTS:
        docker, smi = pieces[f"containers/{host}/docker.txt"], pieces[f"containers/{host}/nvidia-smi.txt"]
        if "is not running" in docker:
            for task in _tasks("container", "start"):
                made = task.get("community.docker.docker_container") or {}
                if made.get("state") == "started" and not task.get("check_mode"):
                    return Outcome(REPAIRED, "mesh", "container", f"{host}: {task['name']}")
        if "could not select device driver" in docker:
            return Outcome(STOPPED, "mesh", "container", f"{host}: {docker.splitlines()[-1]}")
        lock = readings.found(r"ulimit -l: (\S+)", pieces[f"containers/{host}/ulimit.txt"])
        room = readings.found(r"^\w+\s+(\d+)[GM]\s", pieces[f"containers/{host}/df.txt"])
        unit = 1 << 20 if f"{room}G" in pieces[f"containers/{host}/df.txt"] else 1 << 10
        defaults = _yaml("roles/container/defaults/main.yml")
        given = {
            **{name: defaults[name] for name in ("container_shm_size", "container_memlock")},
            "container_memlock_required": True,
            "inventory_hostname": host,
            "container_name": "mpicont",
            # Another NCCL is another image.
            "__container_limits": {
                "gpus": True,
                "memlock_kib": lock,
                "shm_kib": int(room) * unit,
                "digest": _nccl(pieces, host),
            },
            "ansible_play_hosts": list(site.HOSTS),
            "hostvars": {other: {"container_limits": {"digest": _nccl(pieces, other)}} for other in site.HOSTS},
            "__container_gpus_inside": {"rc": int("Failed" in smi), "stdout": smi},
            "__container_is_wanted": True,
            "__container_engine_checks": [],
            "__container_seen": {"inside": {"sshd": "read"}},
        }
        said = _asserted(
            "container", "check", "Verify | Check image, GPUs, shared memory and locked memory of the container", given
        )
        if said:
            return Outcome(STOPPED, "mesh", "container", said)
    return None


def _nccl(pieces: readings.Pieces, host: str) -> str:
    return pieces[f"containers/{host}/version.txt"].split()[-1]


STAGES: tuple[Callable[[readings.Pieces], Outcome | None], ...] = (preflight, switch, esxi, power, guest, container)


@functools.lru_cache(maxsize=None)
def _yaml(path: str) -> Any:
    return yaml.safe_load((ROOT / path).read_text(encoding="utf-8"))


def _tasks(role: str, file: str) -> Iterator[dict[str, Any]]:
    for task in _yaml(f"roles/{role}/tasks/{file}.yml"):
        yield from (task, *task.get("block", ()))


def _asserted(role: str, file: str, name: str, given: Mapping[str, Any]) -> str:
    """The message of a task that asserts something which is not so; '' if it is."""
    said = conditions.play(role, f"{file}.yml", name, {"ansible_check_mode": False, **given})
    return said.removeprefix("refused: ") if said != "passes" else ""


# ------------------------------------------------------------------------------------------------- the run, its proof


def _evidence(pieces: readings.Pieces, names: set[str], since: float) -> dict[str, Any]:
    """What the run has read: a right site's, changed as the gym's outputs say."""
    evidence = RUN.inputs()["evidence"]
    for host, moments in evidence["rdma"].items():
        moments["start"]["gpus"] = readings.gpus(pieces, host)
        for moment, reading in moments.items():
            ports = [readings.nic(pieces, host, device) for device in reading["devices"]]
            reading["devices"] = [port for port in ports if port]
            seen = readings.counters(pieces, host)
            for port in reading["devices"]:
                for kind, values in seen.items():
                    known = values if moment == "after" else dict.fromkeys(values, 0)
                    port["counters"][kind] = {**port["counters"].get(kind, {}), **known}
    (told,) = evidence["switches"].values()
    dropped = readings.discards(pieces)
    for moment, reading in told.items():
        reading.update(roce=readings.switch_reading(pieces)["roce"])
        for name, port in readings.switch_reading(pieces)["ports"].items():
            own = reading["ports"][name]["counters"]
            if moment == "after":
                own["tx_discards"] += dropped[name]
            reading["ports"][name] = {**port, "counters": own}
    at = STARTED + 61
    evidence["hosts"] = {host: {**readings.told(pieces, host, names), "at": at, "since": since} for host in site.HOSTS}
    evidence["switches"] = {site.SWITCH: told}
    evidence["vcenter"] = readings.vcenter(pieces)
    return dict(evidence)


def _layers(pieces: readings.Pieces, layers: Mapping[str, Any]) -> dict[str, Any]:
    rows = {
        host: [dataclasses.asdict(row) for row in readings.kernel(pieces, host).settings.values()]
        for host in sorted(set(site.ESXI.values()))
    }
    return {**layers, "esxi": {**layers["esxi"], "found": rows}}


def _names(*lists: str) -> set[str]:
    reads = _yaml("playbooks/vars/reads.yml")
    return {name for each in lists for name in reads[each]}


def _failed(pieces: readings.Pieces, log: str) -> Outcome:
    """The message of the failed run: mpirun's, and what the doctor adds from what was read."""
    names = _names("__reads", "__reads_after_run", "__reads_beside_trouble")
    evidence = _evidence(pieces, names, 0)
    for moments in evidence["rdma"].values():
        del moments["after"]
    for moments in evidence["switches"].values():
        del moments["after"]
    inputs = {**RUN.inputs(), "result": None}
    inputs.update(evidence=evidence, layers=_layers(pieces, inputs["layers"]))
    inputs["problems"] = [{"code": "run_failed", "message": "it failed"}]
    evidence["nccl_path"] = {}
    doctor = _asked(inputs, {"train.log": log})
    why = failure.diagnose(1, log, "", NODES)
    assert build(Inputs(run_id="x", **inputs, doctor=doctor))["verdict"]["state"] != PROVEN
    return Outcome(
        STOPPED, "run", "", f"{why.message} {diagnosis.brief(doctor)}", *_first(diagnosis.of_the_failure(doctor))
    )


def proved(pieces: readings.Pieces, log: str = "") -> Outcome:
    """The verdict over a right run whose evidence is changed as the gym's outputs say."""
    run = dataclasses.replace(RUN, share=site_pace.share(pieces), copies=site_pace.copies(pieces, AT))
    inputs = run.inputs()
    evidence = _evidence(pieces, _names("__reads_after_run"), STARTED - 300)
    nccl = _nccl_log(pieces, log)
    evidence["nccl_path"] = RUN.path(nccl)
    inputs.update(evidence=evidence, layers=_layers(pieces, inputs["layers"]))
    doctor = _asked(inputs, {"nccl.log": nccl, "train.log": run.training() + log})
    verdict = build(Inputs(run_id="x", **inputs, doctor=doctor))["verdict"]
    how = PROVEN if verdict["state"] == PROVEN else NOT_PROVEN
    # The report has the findings below, under "What is wrong".
    said = [verdict["line"], *verdict["reasons"], *(diagnosis.sentence(finding) for finding in doctor["findings"][:1])]
    return Outcome(how, "report", "", " ".join(said), *_first(next(iter(doctor["findings"]), None)))


def _nccl_log(pieces: readings.Pieces, log: str) -> str:
    """NCCL's log of the run: what it says of a host that lost GPUDirect or its RDMA devices stands in its channels."""
    lines = RUN.nccl().splitlines()
    for host in site.HOSTS:
        own = [line for line in log.splitlines() if line.startswith(f"{host}:")]
        disabled = any("GPU Direct RDMA Disabled" in line for line in own)
        variable = "NCCL_IB_DISABLE=1" in pieces[f"containers/{host}/env.txt"]
        words = ("No device found", "libibverbs", "NCCL_NET set by environment to Socket")
        away = variable or any(word in line for line in own for word in words)
        for at, line in enumerate(lines):
            if line.startswith(f"{host}:"):
                changed = line.replace("/GDRDMA", "") if disabled or away else line
                changed = changed.replace("via NET/IB/", "via NET/Socket/") if away else changed
                lines[at] = changed.replace("Using network IB", "Using network Socket") if away else changed
        if variable:
            lines.append(f"{host}:1001:2001 [0] NCCL INFO NCCL_IB_DISABLE set by environment to 1.")
    return "\n".join(lines) + "\n" + log


def _asked(inputs: Mapping[str, Any], logs: Mapping[str, str]) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as folder:
        for name, text in logs.items():
            (Path(folder) / name).write_text(text, encoding="utf-8")
        given = copy.deepcopy(dict(inputs))
        return diagnosis.diagnose(build(Inputs(run_id="x", **given)), given["evidence"], folder)


def _first(finding: Mapping[str, Any] | None) -> tuple[tuple[str, str], bool]:
    first = finding or {"layer": "", "cause": "", "certainty": CANDIDATE}
    return (first["layer"], first["cause"]), first["certainty"] != CANDIDATE
