"""Other evidence of the same sound run: its verdict has to stay. See attacks.py for the form."""

from __future__ import annotations

import copy
import datetime
import random
import re
from typing import Any

from tests.unit.proof.attack_base import READ_AT, RECORD, Site
from tests.unit.proof.attacks import Attack, Change, _say, _switch
from tests.unit.proof.truth import STARTED

HARMLESS: list[Attack] = []


def harmless(family: str) -> Any:
    def add(change: Change) -> Change:
        HARMLESS.append(Attack(family, change.__name__, change))
        return change

    return add


def _merged(lines: list[str], key: Any, dice: random.Random) -> list[str]:
    """Interleave the lines of all writers; each writer's own order stays."""
    writers: dict[str, list[str]] = {}
    for line in lines:
        writers.setdefault(key(line), []).append(line)
    turns = [name for name, own in writers.items() for _line in own]
    dice.shuffle(turns)
    return [writers[name].pop(0) for name in turns]


def _process(line: str) -> str:
    return line.split(" ", maxsplit=1)[0]


def _prefix_by_rank(site: Site, form: str) -> None:
    """The label of a launcher before each line of NCCL."""
    for number, line in enumerate(site.nccl):
        match = re.match(r"\w+:(\d+):", line)
        rank = int(match[1]) - 1000 if match else 0
        site.nccl[number] = form.format(rank=rank) + line


@harmless("order")
def nccl_lines_are_interleaved(site: Site, dice: random.Random) -> Any:
    """Ranks write at the same time."""
    site.nccl = site.nccl[:1] + _merged(site.nccl[1:], _process, dice)


@harmless("order")
def training_lines_are_interleaved(site: Site, dice: random.Random) -> Any:
    """Ranks write at the same time."""
    site.training = _merged(site.training, lambda line: line.split(">", maxsplit=1)[0], dice)


@harmless("order")
def hosts_are_in_another_order(site: Site, dice: random.Random) -> Any:
    """Readings of the hosts, and the job's hosts, are listed the other way round."""
    site.inputs["evidence"]["rdma"] = dict(reversed(list(site.rdma.items())))
    site.job["hosts"] = dict(reversed(list(site.job["hosts"].items())))


@harmless("order")
def devices_are_in_another_order(site: Site, dice: random.Random) -> Any:
    """A host lists its NICs the other way round after the run."""
    site.rdma[dice.choice(site.hosts)]["after"]["devices"].reverse()
    return site.run.rails > 1


@harmless("order")
def ports_are_in_another_order(site: Site, dice: random.Random) -> Any:
    """The switch lists its ports the other way round after the run."""
    if not _switch(site):
        return False
    after = site.switches["sw01"]["after"]
    after["ports"] = dict(reversed(list(after["ports"].items())))
    return True


@harmless("form")
def nccl_lines_have_tags_of_mpirun(site: Site, dice: random.Random) -> Any:
    """`mpirun --tag-output` of Open MPI 4 or 5."""
    _prefix_by_rank(site, dice.choice(("[1,{rank}]<stdout>:", "[1,{rank}]<stdout>: ")))


@harmless("form")
def nccl_lines_have_labels_of_slurm(site: Site, dice: random.Random) -> Any:
    """`srun --label`."""
    _prefix_by_rank(site, "{rank}: ")


@harmless("form")
def logs_have_times_of_mpirun(site: Site, dice: random.Random) -> Any:
    """`mpirun --timestamp-output --tag-output`: a date before each tag."""
    _prefix_by_rank(site, "Sat Nov 21 07:42:28 2026[1,{rank}]<stdout>:")
    if dice.random() < 0.5:
        site.training = [f"Sat Nov 21 07:42:28 2026{line}" for line in site.training]


@harmless("form")
def nccl_lines_have_their_own_times(site: Site, dice: random.Random) -> Any:
    """NCCL_DEBUG_TIMESTAMP_LEVELS (2.26 and later)."""
    if site.run.release < (2, 26):
        return False
    begin = datetime.datetime(2026, 1, 31, 12)
    site.nccl[1:] = [
        f"[{begin + datetime.timedelta(seconds=number)}] {line}" for number, line in enumerate(site.nccl[1:])
    ]
    return True


@harmless("form")
def training_has_tags_of_mpirun_5(site: Site, dice: random.Random) -> Any:
    """Open MPI 5 writes a blank behind its tag."""
    site.training = [line.replace("<stdout>:", "<stdout>: ", 1) for line in site.training]


@harmless("form")
def lines_end_as_on_windows(site: Site, dice: random.Random) -> Any:
    """A terminal's carriage return at each end of a line."""
    site.nccl = [line + "\r" for line in site.nccl]
    site.training = [line + "\r" for line in site.training]


@harmless("form")
def empty_lines_between(site: Site, dice: random.Random) -> Any:
    """Empty lines in both logs."""
    for lines in (site.nccl, site.training):
        for _time in range(5):
            lines.insert(dice.randrange(len(lines)), "")


def _rename(site: Site, new: Any) -> None:
    """How all hosts call themselves, everywhere."""
    names = {host: new(host) for host in site.hosts}
    site.nccl = [re.sub(r"^gpu\d\d(?=:)", lambda found: names[found[0]], line) for line in site.nccl]
    site.records(lambda record: record.update(host=names[record["host"]]))
    site.job["hosts"] = names
    site.names = list(names.values())
    for host, each in site.rdma.items():
        for reading in each.values():
            reading["hostname"] = names[host]


@harmless("names")
def hosts_call_themselves_in_capitals(site: Site, dice: random.Random) -> Any:
    """GPU01 in both logs and in the job."""
    _rename(site, str.upper)


@harmless("names")
def hosts_have_other_names_than_the_inventory(site: Site, dice: random.Random) -> Any:
    """The inventory's gpu01 calls itself node-a1."""
    _rename(site, lambda host: f"node-a{int(host[3:])}")


@harmless("names")
def nccl_prints_capitals(site: Site, dice: random.Random) -> Any:
    """NCCL's log alone has the names in capitals."""
    return site.replace(r"^gpu(\d\d):", r"GPU\1:")


@harmless("names")
def training_prints_capitals(site: Site, dice: random.Random) -> Any:
    """The training's log alone has the names in capitals."""
    site.records(lambda record: record.update(host=record["host"].upper()))


@harmless("names")
def training_prints_domains(site: Site, dice: random.Random) -> Any:
    """The training's log has names with their domain; NCCL always cuts it off."""
    site.records(lambda record: record.update(host=record["host"] + ".example.com"))


@harmless("names")
def run_has_another_name(site: Site, dice: random.Random) -> Any:
    """Another name of the run, the same everywhere."""
    site.job["id"] = site.inputs["evidence"]["nccl_path"]["job"] = site.inputs["result"]["job"] = "night-7_b.2"


@harmless("names")
def gpus_are_of_another_model(site: Site, dice: random.Random) -> Any:
    """All ranks on H100."""
    site.records(lambda record: record.update(device="NVIDIA H100 80GB HBM3"))


@harmless("names")
def switch_has_another_name(site: Site, dice: random.Random) -> Any:
    """The switch has another name and other names of ports."""
    if not _switch(site):
        return False
    switches = site.inputs["evidence"]["switches"]
    switches["leaf-b.dc1"] = switches.pop("sw01")
    for reading in switches["leaf-b.dc1"].values():
        reading["ports"] = {f"swp{name[2:]}": port for name, port in reading["ports"].items()}
    return True


@harmless("more")
def kernel_says_usual_things(site: Site, dice: random.Random) -> Any:
    """Lines of the kernel's log within the run that mean nothing for it."""
    lines = (
        'audit: type=1400 audit(1790000005.1:77): apparmor="ALLOWED" operation="open" profile="docker-default"',
        "docker0: port 1(veth3a1b2c3) entered forwarding state",
        "perf: interrupt took too long (2511 > 2500), lowering kernel.perf_event_max_sample_rate to 79500",
        "systemd[1]: Started Session 4 of user root.",
        "EXT4-fs (sda1): mounted filesystem with ordered data mode. Quota mode: none.",
        "nvidia-nvlink: Nvlink Core is being initialized, major device number 235",
    )
    for host in site.hosts:
        for line in dice.sample(lines, 3):
            site.kernel_says(host, line, dice.uniform(1, 30))


@harmless("more")
def kernel_had_trouble_long_before(site: Site, dice: random.Random) -> Any:
    """A link was down hours before the run began."""
    site.kernel_says(dice.choice(site.hosts), "mlx5_core 0000:3b:00.0 ens0: Link down", -7200)


@harmless("more")
def host_has_an_idle_port(site: Site, dice: random.Random) -> Any:
    """A NIC that NCCL did not choose: without a cable, or without traffic."""
    state = dice.choice(("DOWN", "ACTIVE"))
    for host in dice.choice((site.hosts, site.hosts[:1])):
        for word in ("start", "before", "after"):
            other = copy.deepcopy(site.nic(host, "before"))
            other.update(name="mlx5_20", netdev="ens20", state=state, pci="0000:9b:00.0", gids=[])
            other["node_guid"] = other["sys_image_guid"] = other["node_guid"].replace("b8ce", "c0ff")
            site.rdma[host][word]["devices"].append(other)


@harmless("more")
def host_has_an_infiniband_port(site: Site, dice: random.Random) -> Any:
    """A NIC for storage that NCCL did not choose."""
    host = dice.choice(site.hosts)
    for word in ("start", "before", "after"):
        other = copy.deepcopy(site.nic(host, "before"))
        other.update(name="mlx5_21", netdev="", link_layer="InfiniBand", pci="0000:9c:00.0", gids=[])
        other["node_guid"] = other["sys_image_guid"] = other["node_guid"].replace("b8ce", "c0fe")
        site.rdma[host][word]["devices"].append(other)


@harmless("more")
def switch_has_idle_ports(site: Site, dice: random.Random) -> Any:
    """Ports of the switch without traffic, up or down."""
    if not _switch(site):
        return False
    last = 60 + dice.choice((1, 8))
    for word in ("before", "after"):
        for number in range(60, last):
            other = copy.deepcopy(site.port(site.hosts[0], "before"))
            other.update(oper="up" if number % 2 else "down", neighbors=[])
            site.switches["sw01"][word]["ports"][f"1/{number}"] = other
    return True


@harmless("more")
def second_switch_is_idle(site: Site, dice: random.Random) -> Any:
    """A second switch of the fabric, up, without traffic of this run."""
    if not _switch(site):
        return False
    both = copy.deepcopy(site.switches["sw01"])
    both["after"]["ports"] = copy.deepcopy(both["before"]["ports"])
    for word in ("before", "after"):
        for port in both[word]["ports"].values():
            port["neighbors"] = []
    site.switches["sw02"] = both
    return True


@harmless("more")
def readings_have_unknown_counters(site: Site, dice: random.Random) -> Any:
    """A newer driver shows counters and facts that nobody knows."""
    for number, device in enumerate(site.nics()):
        device["counters"]["hw_counters"]["rx_quantum_flits"] = number
        device["colour"] = "green"


@harmless("more")
def nccl_says_more(site: Site, dice: random.Random) -> Any:
    """Usual lines of NCCL that say nothing of the path."""
    for host in site.hosts:
        for line in (
            "NCCL INFO cudaDriverVersion 12040",
            f"NCCL INFO Bootstrap : Using ens192:192.0.2.{site.hosts.index(host) + 1}<0>",
            "NCCL INFO NCCL_SOCKET_IFNAME set by environment to ens192",
            "NCCL INFO NCCL_IB_HCA set by environment to =mlx5_0:1",
            "NCCL INFO DMA-BUF is available on GPU device 0",
            "NCCL INFO Launch mode Parallel",
        ):
            _say(site, host, line)


@harmless("more")
def training_says_more(site: Site, dice: random.Random) -> Any:
    """Usual lines of libraries in the training's log."""
    at = next(number for number, line in enumerate(site.training) if RECORD in line)
    site.training[at:at] = [
        "[1,0]<stderr>:UserWarning: The given NumPy array is not writable",
        "[1,0]<stdout>:Done warm up",
        "[1,0]<stdout>:Epoch 1 of 1",
    ]


@harmless("more")
def fabric_check_found_nothing(site: Site, dice: random.Random) -> Any:
    """The fabric was checked before the job, or the reason is known why not."""
    report = {"schema": 1, "form": "quick", "ok": True, "complete": True, "simulated": False, "hosts": site.hosts}
    report.update(rails=site.run.rails, missing=[], faults=[])
    report["measured"] = {"ib_write_bw": {"tests": 24, "bad": 0, "medians": {"rail 0": 191.5}}}
    site.inputs["evidence"]["fabric"] = dice.choice(
        ({"at": STARTED - 300, "report": report}, {"skipped": "the image has no ib_write_bw"})
    )


@harmless("values")
def counters_begin_elsewhere(site: Site, dice: random.Random) -> Any:
    """Counters stood at another value before the run."""
    for host in site.hosts:
        for rail in range(site.run.rails):
            offset = dice.choice((-(10**14), 12_345, 2**40))
            for word in ("start", "before", "after"):
                counters = site.nic(host, word, rail)["counters"]["counters"]
                for name in counters:
                    counters[name] += offset


@harmless("values")
def a_little_more_moved(site: Site, dice: random.Random) -> Any:
    """Some other traffic beside the run, at NICs and switch."""
    factor = dice.choice((1.02, 1.1, 1.3))
    site.grow_all(factor)
    if _switch(site):
        site.grow_ports(factor)


@harmless("values")
def packets_were_dropped_long_ago(site: Site, dice: random.Random) -> Any:
    """Discards that did not grow."""
    for device in site.nics():
        device["counters"]["ethtool"]["rx_prio3_discards"] = 812_345
        device["counters"]["hw_counters"]["out_of_sequence"] = 99_999


@harmless("values")
def fabric_paused_now_and_then(site: Site, dice: random.Random) -> Any:
    """Short pauses and marks of congestion control: how a lossless network works."""
    host, rail = dice.choice(site.hosts), dice.randrange(site.run.rails)
    for word, value in (("before", 3), ("after", 40)):
        device = site.nic(host, word, rail)
        device["counters"]["ethtool"]["rx_prio3_pause"] = value
        device["counters"]["hw_counters"]["np_cnp_sent"] = value
        if _switch(site):
            site.port(host, word, rail)["counters"]["ecn_marked"] = value


@harmless("values")
def loss_goes_down(site: Site, dice: random.Random) -> Any:
    """Other losses, each finite."""
    site.training = [
        re.sub(r"\t7\.100$", lambda _found: f"\t{dice.uniform(5, 7.2):.3f}", line) for line in site.training
    ]


@harmless("values")
def exchange_is_a_little_slower(site: Site, dice: random.Random) -> Any:
    """All ranks got 85 to 90 % of the links."""
    factor = dice.uniform(1.03, 1.08)
    site.records(lambda record: record["exchange"].update(seconds=record["exchange"]["seconds"] * factor))


@harmless("time")
def readings_are_some_minutes_away(site: Site, dice: random.Random) -> Any:
    """NICs and switch were read up to 14 minutes before and after."""
    for host in site.hosts:
        site.rdma[host]["before"]["at"] = STARTED - dice.uniform(1, 800)
        site.rdma[host]["after"]["at"] = STARTED + 40 + dice.uniform(1, 800)


@harmless("time")
def nccl_log_was_read_minutes_later(site: Site, dice: random.Random) -> Any:
    """NCCL's files were collected up to 10 minutes after the training."""
    site.inputs["evidence"]["nccl_path"]["at"] = STARTED + 40 + dice.uniform(1, 600)


@harmless("time")
def run_was_in_another_year(site: Site, dice: random.Random) -> Any:
    """All times of the evidence are later or earlier."""
    shift = dice.choice((-(10**7), 10**7, 3 * 10**7))

    def move(value: Any) -> None:
        for key, inner in value.items() if isinstance(value, dict) else enumerate(value):
            if isinstance(inner, (dict, list)):
                move(inner)
            elif isinstance(inner, float) and abs(inner - STARTED) < 10**5:
                value[key] = inner + shift

    move(site.inputs["evidence"])
    return site.rdma[site.hosts[0]]["after"]["at"] != READ_AT


@harmless("time")
def host_booted_shortly_before_the_run(site: Site, dice: random.Random) -> Any:
    """A host was up for ten minutes when the run began."""
    said = site.said[dice.choice(site.hosts)]
    said["said"] = "=== ROCEMESH uptime.txt\n660.00 1.0\n=== ROCEMESH kernel-config.txt\n" + (
        "GPUDirect: P2PDMA y, nvidia_peermem y\n"
    )


@harmless("more")
def hosts_said_nothing(site: Site, dice: random.Random) -> Any:
    """What hosts say after the job is for the doctor alone, and was not asked."""
    del site.inputs["evidence"]["hosts"]
