"""What breaks the meaning of a true run: by identity, direction, quantity, order, time, scope, path and result.

Written from what the evidence means, without sight of the witnesses, before any was judged. Each kind changes a whole
true run (shapes.py) in one way, returns False if that run has nothing to change, and is seeded. A kind is ``strict``
if nothing is left of "the data went from GPU to GPU by RDMA": then neither PROVEN nor PATH PROVEN may remain. The
others concern the switch, the limits or the speed: PATH PROVEN may remain, PROVEN may not.
"""

from __future__ import annotations

import copy
import random
import re
from typing import Any, Callable, NamedTuple

from tests.unit.proof.attack_base import Reading, Site, some
from tests.unit.proof.truth import STARTED

Change = Callable[[Site, random.Random], Any]
XMIT, RCV = "port_xmit_data", "port_rcv_data"


class Kind(NamedTuple):
    family: str
    name: str
    change: Change
    strict: bool


KINDS: list[Kind] = []


def kind(family: str, strict: bool = True) -> Callable[[Change], Change]:
    def add(change: Change) -> Change:
        KINDS.append(Kind(family, change.__name__, change, strict))
        return change

    return add


def _has_switch(site: Site) -> bool:
    return "switches" in site.inputs["evidence"]


def _host(site: Site, dice: random.Random) -> str:
    return dice.choice(site.hosts)


def _two(site: Site, dice: random.Random) -> tuple[str, str]:
    first, second = dice.sample(site.hosts, 2)
    return first, second


def _counts(device: Reading) -> Reading:
    return device["counters"]["counters"]  # type: ignore[no-any-return]


def _moved(site: Site, host: str, rail: int) -> dict[str, int]:
    before, after = (_counts(site.nic(host, word, rail)) for word in ("before", "after"))
    return {name: after[name] - before[name] for name in (XMIT, RCV)}


def _ports(site: Site, word: str) -> list[Reading]:
    return [port for switch in site.switches.values() for port in switch[word]["ports"].values()]


def _each_port(site: Site) -> list[tuple[Reading, Reading]]:
    """(before, after) of every port of every switch."""
    return [
        (switch["before"]["ports"][name], port)
        for switch in site.switches.values()
        for name, port in switch["after"]["ports"].items()
        if name in switch["before"]["ports"]
    ]


def _scale_ports(site: Site, factor: float, sides: tuple[str, ...] = ("tx", "rx")) -> None:
    for before, after in _each_port(site):
        for side in sides:
            name = f"{side}_roce_packets"
            grown = after["counters"][name] - before["counters"][name]
            after["counters"][name] = before["counters"][name] + round(grown * factor)


def _lines_of(site: Site, host: str) -> list[int]:
    """NCCL's lines of the processes of a host, by their pid."""
    ranks = {1000 + site.rank_of(host) + gpu for gpu in range(site.run.gpus)}
    found = []
    for number, line in enumerate(site.nccl):
        match = re.search(r"\S+?:(\d+):\d+ \[\d+\]", line)
        if match and int(match[1]) in ranks:
            found.append(number)
    return found


def _ends(site: Site, dice: random.Random) -> int | None:
    given = site.channels()
    return dice.choice(given) if given else None


# ------------------------------------------------------------------------------------------------------------- identity


@kind("identity")
def rails_of_a_host_show_one_address(site: Site, dice: random.Random) -> Any:
    """Two NICs of a host show the same address: one of them was read twice."""
    if site.run.rails < 2:
        return False
    host = _host(site, dice)
    for word in ("start", "before", "after"):
        site.nic(host, word, 1)["gids"] = copy.deepcopy(site.nic(host, word, 0)["gids"])
    return True


@kind("identity")
def rails_of_a_host_show_one_card(site: Site, dice: random.Random) -> Any:
    """Two NICs of a host show the same GUID and counters."""
    if site.run.rails < 2:
        return False
    host = _host(site, dice)
    for word in ("start", "before", "after"):
        other = copy.deepcopy(site.nic(host, word, 0))
        other["name"] = site.nic(host, word, 1)["name"]
        site.rdma[host][word]["devices"][1] = other
    return True


@kind("identity")
def names_of_the_rails_change_places(site: Site, dice: random.Random) -> Any:
    """After the run mlx5_0 is the card that was mlx5_1: the growth of each is a difference of two cards."""
    if site.run.rails < 2:
        return False
    devices = site.rdma[_host(site, dice)]["after"]["devices"]
    devices[0]["name"], devices[1]["name"] = devices[1]["name"], devices[0]["name"]
    return True


@kind("identity")
def boot_id_changes_between_readings(site: Site, dice: random.Random) -> Any:
    """The machine that was read afterwards has booted since."""
    site.rdma[_host(site, dice)]["after"]["boot_id"] = "7f3c0000-1111-4222-8333-444455556666"


@kind("identity")
def one_kernel_is_two_hosts(site: Site, dice: random.Random) -> Any:
    """Two hosts have one boot id: they are containers of one machine."""
    first, second = _two(site, dice)
    for word in ("start", "before", "after"):
        site.rdma[first][word]["boot_id"] = site.rdma[second][word]["boot_id"]


@kind("identity")
def reading_is_signed_by_another_host(site: Site, dice: random.Random) -> Any:
    """The reading says the name of another host of the job."""
    first, second = _two(site, dice)
    site.rdma[first]["after"]["hostname"] = site.rdma[second]["after"]["hostname"]


@kind("identity")
def reading_is_signed_by_a_stranger(site: Site, dice: random.Random) -> Any:
    """All readings of a host say the name of a machine that is not in the job."""
    for reading in site.rdma[_host(site, dice)].values():
        reading["hostname"] = "storage07"


@kind("identity")
def two_hosts_of_the_job_are_one_machine(site: Site, dice: random.Random) -> Any:
    """Two hosts of the inventory call themselves the same."""
    first, second = _two(site, dice)
    site.job["hosts"][first] = site.job["hosts"][second]


@kind("identity")
def cards_of_two_hosts_change_places_in_between(site: Site, dice: random.Random) -> Any:
    """GUIDs and addresses of two hosts are exchanged in the reading afterwards; counters stay."""
    first, second = _two(site, dice)
    for rail in range(site.run.rails):
        one, other = site.nic(first, "after", rail), site.nic(second, "after", rail)
        for key in ("node_guid", "sys_image_guid", "gids"):
            one[key], other[key] = other[key], one[key]


@kind("identity")
def card_of_one_host_is_in_another(site: Site, dice: random.Random) -> Any:
    """One rail's GUID is that of a card of another host."""
    first, second = _two(site, dice)
    rail = dice.randrange(site.run.rails)
    for word in ("start", "before", "after"):
        for key in ("node_guid", "sys_image_guid"):
            site.nic(first, word, rail)[key] = site.nic(second, word, rail)[key]


@kind("identity", strict=False)
def neighbours_are_machines_of_others(site: Site, dice: random.Random) -> Any:
    """LLDP says that the ports lead to machines that are not in the job."""
    if not _has_switch(site) or not any(port["neighbors"] for port in _ports(site, "after")):
        return False
    for word in ("before", "after"):
        for port in _ports(site, word):
            for neighbour in port["neighbors"]:
                neighbour["system"] = "storage" + neighbour["system"][-2:]
    return True


@kind("identity", strict=False)
def all_ports_lead_to_one_nic(site: Site, dice: random.Random) -> Any:
    """LLDP names the same interface of the same host at every port."""
    if not _has_switch(site) or not any(port["neighbors"] for port in _ports(site, "after")):
        return False
    for word in ("before", "after"):
        ports = _ports(site, word)
        for port in ports:
            port["neighbors"] = copy.deepcopy(ports[0]["neighbors"])
    return True


@kind("identity", strict=False)
def one_switch_has_two_names(site: Site, dice: random.Random) -> Any:
    """The same switch was read twice, each time with half of what was due."""
    if not _has_switch(site):
        return False
    _scale_ports(site, 0.5)
    for name in list(site.switches):
        site.switches[name + "-again"] = copy.deepcopy(site.switches[name])
    return True


@kind("identity")
def nccl_took_a_card_that_was_not_read(site: Site, dice: random.Random) -> Any:
    """NCCL lists and uses another device than those whose counters were read."""
    for number in _lines_of(site, _host(site, dice)):
        text = re.sub(r"\](\w+?)(\d)(\w*):1", r"]\g<1>7\3:1", site.nccl[number])
        site.nccl[number] = re.sub(r"name=\S+", "name=mlx5_7+mlx5_8", text)


@kind("identity")
def rank_runs_on_a_host_of_another_job(site: Site, dice: random.Random) -> Any:
    """NCCL's lines of one host come from a machine that is not in the job."""
    name = r"^(.*?)[\w.-]+(:\d+:\d+ \[)"
    for number in _lines_of(site, _host(site, dice)):
        site.nccl[number] = re.sub(name, r"\1borrowed9\2", site.nccl[number])


@kind("identity")
def gpu_is_not_of_nvidia(site: Site, dice: random.Random) -> Any:
    """One rank trained on something else."""
    name = dice.choice(("cpu", "AMD Instinct MI300X", "llvmpipe", ""))
    site.records(lambda record: record.update(device=name), dice.randrange(site.run.size))


# ------------------------------------------------------------------------------------------------------------ direction


@kind("direction")
def rail_of_a_host_only_sends(site: Site, dice: random.Random) -> Any:
    """One NIC received nothing."""
    site.grow(_host(site, dice), dice.randrange(site.run.rails), "rcv", 0)
    return True


@kind("direction")
def rail_of_a_host_only_receives(site: Site, dice: random.Random) -> Any:
    """One NIC sent nothing."""
    site.grow(_host(site, dice), dice.randrange(site.run.rails), "xmit", 0)
    return True


@kind("direction")
def more_was_sent_than_received(site: Site, dice: random.Random) -> Any:
    """All hosts together sent three times what all received: nobody is there to receive it."""
    site.grow_all(3, ("xmit",))


@kind("direction")
def all_hosts_only_receive(site: Site, dice: random.Random) -> Any:
    """Nobody sent what everybody received."""
    site.grow_all(0, ("xmit",))


@kind("direction")
def ends_of_a_host_are_all_senders(site: Site, dice: random.Random) -> Any:
    """A host's processes have only sending channels."""
    lines = [number for number in _lines_of(site, _host(site, dice)) if "[receive] via NET/" in site.nccl[number]]
    for number in lines:
        site.nccl[number] = site.nccl[number].replace("[receive]", "[send]")
    return bool(lines)


@kind("direction")
def one_end_names_the_opposite_way(site: Site, dice: random.Random) -> Any:
    """A receiving end says B -> A where its sender says A -> B."""
    lines = site.channels("receive")
    if not lines:
        return False
    number = dice.choice(lines)
    site.nccl[number] = re.sub(r"(\d+\[\w+\]) -> (\d+\[\w+\])", r"\2 -> \1", site.nccl[number])
    return True


@kind("direction", strict=False)
def switch_only_received(site: Site, dice: random.Random) -> Any:
    """No port sent anything out."""
    if not _has_switch(site):
        return False
    _scale_ports(site, 0, ("tx",))
    return True


@kind("direction", strict=False)
def port_of_a_host_only_sends(site: Site, dice: random.Random) -> Any:
    """One port sent to its host, and received nothing from it."""
    if not _has_switch(site):
        return False
    before, after = dice.choice(_each_port(site))
    after["counters"]["rx_roce_packets"] = before["counters"]["rx_roce_packets"]
    return True


@kind("direction")
def host_is_left_out_of_the_ring(site: Site, dice: random.Random) -> Any:
    """A host's processes have no channel to another host."""
    lines = [number for number in _lines_of(site, _host(site, dice)) if " via NET/" in site.nccl[number]]
    for number in reversed(lines):
        del site.nccl[number]
    return bool(lines)


# ------------------------------------------------------------------------------------------------------------- quantity


@kind("quantity")
def nics_counted_ten_times_as_much(site: Site, dice: random.Random) -> Any:
    """Ten times what the job had to move; the switch saw the tenth of it."""
    site.grow_all(10)


@kind("quantity")
def nics_counted_a_tenth(site: Site, dice: random.Random) -> Any:
    """A tenth of what was due."""
    site.grow_all(0.1)


@kind("quantity")
def everything_is_ten_times_as_much(site: Site, dice: random.Random) -> Any:
    """NICs and ports agree on ten times what the job had to move: it is the traffic of others."""
    site.grow_all(10)
    if _has_switch(site):
        _scale_ports(site, 10)


@kind("quantity")
def everything_is_a_tenth(site: Site, dice: random.Random) -> Any:
    """NICs and ports agree on a tenth of what was due: the data took another way."""
    site.grow_all(0.1)
    if _has_switch(site):
        _scale_ports(site, 0.1)


@kind("quantity", strict=False)
def everything_is_half(site: Site, dice: random.Random) -> Any:
    """NICs and ports agree on half of what was due: in two nodes of eight GPUs a tree moves no more."""
    site.grow_all(0.5)
    if _has_switch(site):
        _scale_ports(site, 0.5)


@kind("quantity")
def one_host_did_nothing(site: Site, dice: random.Random) -> Any:
    """All NICs of a host stand still."""
    site.grow_all(0, hosts=[_host(site, dice)])


@kind("quantity")
def half_the_hosts_did_nothing(site: Site, dice: random.Random) -> Any:
    """The NICs of half the hosts stand still, those of the others did all."""
    half = site.hosts[: len(site.hosts) // 2]
    site.grow_all(0, hosts=half)
    site.grow_all(2, hosts=[host for host in site.hosts if host not in half])


@kind("quantity")
def one_rail_did_nothing_anywhere(site: Site, dice: random.Random) -> Any:
    """A rail stands still on every host, the others carried its share."""
    if site.run.rails < 2:
        return False
    idle = dice.randrange(site.run.rails)
    for host in site.hosts:
        for rail in range(site.run.rails):
            factor = 0 if rail == idle else site.run.rails / (site.run.rails - 1)
            for side in ("xmit", "rcv"):
                site.grow(host, rail, side, factor)
    return True


@kind("quantity")
def one_host_counts_in_bytes(site: Site, dice: random.Random) -> Any:
    """A host's counters are four times too large: its unit is another one."""
    site.grow_all(4, hosts=[_host(site, dice)])


@kind("quantity")
def one_host_counts_in_longer_words(site: Site, dice: random.Random) -> Any:
    """A host's counters are four times too small."""
    site.grow_all(0.25, hosts=[_host(site, dice)])


@kind("quantity", strict=False)
def all_packets_at_one_port(site: Site, dice: random.Random) -> Any:
    """One port carried everything, all others stand still."""
    if not _has_switch(site):
        return False
    pairs = _each_port(site)
    for name in ("tx_roce_packets", "rx_roce_packets"):
        total = sum(after["counters"][name] - before["counters"][name] for before, after in pairs)
        for before, after in pairs:
            after["counters"][name] = before["counters"][name]
        pairs[0][1]["counters"][name] += total
    return True


@kind("quantity", strict=False)
def switch_counted_ten_times_as_much(site: Site, dice: random.Random) -> Any:
    """The ports carried ten times what the NICs did."""
    return _has_switch(site) and (_scale_ports(site, 10) or True)


@kind("quantity", strict=False)
def switch_counted_a_tenth(site: Site, dice: random.Random) -> Any:
    """Nine tenths of the packets took no port of this switch."""
    return _has_switch(site) and (_scale_ports(site, 0.1) or True)


@kind("quantity", strict=False)
def switch_counted_nothing(site: Site, dice: random.Random) -> Any:
    """No port moved."""
    return _has_switch(site) and (_scale_ports(site, 0) or True)


@kind("quantity")
def counter_is_full(site: Site, dice: random.Random) -> Any:
    """A counter of 32 or 64 bits stands at its end."""
    counts = _counts(site.nic(_host(site, dice), "after", dice.randrange(site.run.rails)))
    counts[dice.choice((XMIT, RCV))] = dice.choice((2**32 - 1, 2**64 - 1))


@kind("quantity")
def counter_is_no_number(site: Site, dice: random.Random) -> Any:
    """What was read is no count."""
    counts = _counts(site.nic(_host(site, dice), dice.choice(("before", "after")), dice.randrange(site.run.rails)))
    counts[dice.choice((XMIT, RCV))] = dice.choice((None, "", "n/a", -5, True, [], 1.5e300))


@kind("quantity")
def one_packet_was_discarded(site: Site, dice: random.Random) -> Any:
    """A NIC dropped a packet of the lossless class within the run."""
    ethtool = site.nic(_host(site, dice), "after", dice.randrange(site.run.rails))["counters"]["ethtool"]
    if "rx_prio3_discards" not in ethtool:
        return False
    ethtool["rx_prio3_discards"] += dice.choice((1, 17, 90_000))
    return True


@kind("quantity", strict=False)
def port_discarded_packets(site: Site, dice: random.Random) -> Any:
    """A port dropped packets within the run."""
    if not _has_switch(site):
        return False
    dice.choice(_each_port(site))[1]["counters"][dice.choice(("rx_discards", "tx_discards"))] += dice.choice((1, 5000))
    return True


@kind("quantity", strict=False)
def slowest_rank_took_three_times_as_long(site: Site, dice: random.Random) -> Any:
    """An all-reduce goes at the pace of the slowest: one rank measured a third of the speed."""
    found = []

    def slow(record: Reading) -> None:
        if "exchange" in record:
            record["exchange"]["seconds"] *= 3
            found.append(record)

    site.records(slow, dice.randrange(site.run.size))
    return bool(found)


@kind("quantity", strict=False)
def exchange_took_no_time(site: Site, dice: random.Random) -> Any:
    """Nothing is exchanged in no time, or before it began."""
    seconds = dice.choice((0, -0.1, 1e-12))
    found = []

    def change(record: Reading) -> None:
        if "exchange" in record:
            record["exchange"]["seconds"] = seconds
            found.append(record)

    site.records(change)
    return bool(found)


@kind("quantity", strict=False)
def exchange_went_at_a_third(site: Site, dice: random.Random) -> Any:
    """All ranks measured a third of what the links carry."""
    found = []

    def change(record: Reading) -> None:
        if "exchange" in record:
            record["exchange"]["seconds"] *= 3
            found.append(record)

    site.records(change)
    return bool(found)


@kind("quantity", strict=False)
def link_is_of_one_gigabit(site: Site, dice: random.Random) -> Any:
    """The NICs have links that cannot carry what was moved."""
    if not site.nic(site.hosts[0], "start")["rate"]:
        return False
    for device in site.nics():
        device["rate"] = "1 Gb/sec (1X SDR)"
    return True


@kind("quantity", strict=False)
def slots_carry_a_tenth_of_it(site: Site, dice: random.Random) -> Any:
    """PCIe of one lane of generation 1 cannot feed such a NIC."""
    if not site.nic(site.hosts[0], "start")["pcie"]:
        return False
    for device in site.nics():
        device["pcie"].update(current_link_speed=2.5, current_link_width=1)
    return True


# ---------------------------------------------------------------------------------------------------------------- order


@kind("order")
def one_nic_was_read_the_other_way_round(site: Site, dice: random.Random) -> Any:
    """Before and after of one NIC are exchanged."""
    host, rail = _host(site, dice), dice.randrange(site.run.rails)
    devices = [site.rdma[host][word]["devices"] for word in ("before", "after")]
    devices[0][rail], devices[1][rail] = devices[1][rail], devices[0][rail]


@kind("order")
def reading_afterwards_is_the_one_before(site: Site, dice: random.Random) -> Any:
    """The same counters twice, with the time of the second reading."""
    readings = site.rdma[_host(site, dice)]
    readings["after"] = {**copy.deepcopy(readings["before"]), "at": readings["after"]["at"]}


@kind("order")
def reading_before_is_the_one_afterwards(site: Site, dice: random.Random) -> Any:
    """The end twice, with the time of the first reading."""
    readings = site.rdma[_host(site, dice)]
    readings["before"] = {**copy.deepcopy(readings["after"]), "at": readings["before"]["at"]}


@kind("order")
def times_of_all_readings_are_exchanged(site: Site, dice: random.Random) -> Any:
    """All hosts were read afterwards first."""
    for readings in site.rdma.values():
        readings["before"]["at"], readings["after"]["at"] = readings["after"]["at"], readings["before"]["at"]


@kind("order", strict=False)
def switch_was_read_the_other_way_round(site: Site, dice: random.Random) -> Any:
    """Before and after of a switch are exchanged."""
    if not _has_switch(site):
        return False
    switch = dice.choice(list(site.switches.values()))
    switch["before"], switch["after"] = switch["after"], switch["before"]
    return True


@kind("order")
def log_of_a_rank_ends_early(site: Site, dice: random.Random) -> Any:
    """The second half of a process's lines is missing."""
    lines = _lines_of(site, _host(site, dice))
    for number in reversed(lines[len(lines) // 2 :]):
        del site.nccl[number]


@kind("order")
def log_of_a_host_begins_late(site: Site, dice: random.Random) -> Any:
    """The first half of a host's lines is missing."""
    lines = _lines_of(site, _host(site, dice))
    for number in reversed(lines[: len(lines) // 2]):
        del site.nccl[number]
    return site.run.gpus == 1


@kind("order")
def start_stays_unfinished(site: Site, dice: random.Random) -> Any:
    """All processes of a host began and did not end their start."""
    lines = [number for number in _lines_of(site, _host(site, dice)) if "Init COMPLETE" in site.nccl[number]]
    for number in reversed(lines):
        del site.nccl[number]
    return bool(lines)


# ----------------------------------------------------------------------------------------------------------------- time


@kind("time")
def job_was_on_another_day(site: Site, dice: random.Random) -> Any:
    """The readings lie a day beside the job."""
    shift = dice.choice((-86400, 86400))
    site.job["started"] += shift
    site.job["ended"] += shift


@kind("time")
def first_reading_is_too_old(site: Site, dice: random.Random) -> Any:
    """A host was read before by more than the quarter of an hour that is allowed."""
    site.rdma[_host(site, dice)]["before"]["at"] = STARTED - dice.choice((901 + 60, 7200, 86400))


@kind("time")
def last_reading_is_too_late(site: Site, dice: random.Random) -> Any:
    """A host was read afterwards by more than a quarter of an hour."""
    site.rdma[_host(site, dice)]["after"]["at"] = site.job["ended"] + dice.choice((961, 7200, 86400))


@kind("time")
def last_reading_is_within_the_run(site: Site, dice: random.Random) -> Any:
    """A host was read while it trained."""
    site.rdma[_host(site, dice)]["after"]["at"] = STARTED + dice.uniform(5, 20)


@kind("time")
def job_ended_before_it_began(site: Site, dice: random.Random) -> Any:
    """Begin and end are exchanged."""
    site.job["started"], site.job["ended"] = site.job["ended"], site.job["started"]


@kind("time")
def job_has_no_end(site: Site, dice: random.Random) -> Any:
    """Nobody says when it ended, or not as a time."""
    word = dice.choice(("ended", "started"))
    site.job[word] = dice.choice((None, "", "yesterday", 0, float("nan")))


@kind("time")
def nccl_log_is_of_the_probe(site: Site, dice: random.Random) -> Any:
    """NCCL's log was taken before the training began."""
    site.inputs["evidence"]["nccl_path"]["at"] = STARTED - dice.choice((90, 600, 3600))


@kind("time", strict=False)
def switch_was_read_a_day_earlier(site: Site, dice: random.Random) -> Any:
    """Both readings of a switch are of the day before."""
    if not _has_switch(site):
        return False
    for reading in dice.choice(list(site.switches.values())).values():
        reading["at"] -= 86400
    return True


@kind("time", strict=False)
def switch_was_read_within_the_run(site: Site, dice: random.Random) -> Any:
    """A switch was read afterwards while the job ran."""
    if not _has_switch(site):
        return False
    dice.choice(list(site.switches.values()))["after"]["at"] = STARTED + dice.uniform(5, 20)
    return True


# ---------------------------------------------------------------------------------------------------------------- scope


@kind("scope")
def half_the_ranks_wrote_no_log(site: Site, dice: random.Random) -> Any:
    """NCCL's lines of half the hosts are missing."""
    gone = {number for host in site.hosts[len(site.hosts) // 2 :] for number in _lines_of(site, host)}
    site.nccl = [line for number, line in enumerate(site.nccl) if number not in gone]


@kind("scope")
def half_the_ranks_have_no_result(site: Site, dice: random.Random) -> Any:
    """The training's records of half the hosts are missing."""
    first = site.rank_of(site.hosts[len(site.hosts) // 2])
    gone = [number for number, line in enumerate(site.training) if _rank_of_record(line) >= first]
    for number in reversed(gone):
        del site.training[number]
    return bool(gone)


def _rank_of_record(line: str) -> int:
    match = re.search(r'ROCEMESH \{"rank": (\d+)', line)
    return int(match[1]) if match else -1


def _second(site: Site, change: Callable[[str], str]) -> None:
    """Each process starts a second communicator, and its lines are changed."""
    lines = []
    for line in site.nccl:
        if "Using network" in line or "ncclCommInitRank" in line or "Ring " in line or " via NET/" in line:
            lines.append(
                change(re.sub(r"commId (0x\w+)", r"commId \g<1>77", line.replace("comm 0x55aa", "comm 0x66bb")))
            )
    site.nccl += lines


@kind("scope")
def second_communicator_goes_over_sockets(site: Site, dice: random.Random) -> Any:
    """The same processes have another communicator, whose channels are sockets."""
    _second(site, lambda line: re.sub(r"NET/\w+/\d+(\(\d+\))?(/\S+)?", "NET/Socket/0", line))


@kind("scope")
def second_communicator_is_staged(site: Site, dice: random.Random) -> Any:
    """Its channels go through host memory."""
    _second(site, lambda line: re.sub(r"/GDRDMA\S*", "", line))


@kind("scope")
def second_communicator_only_names_sockets(site: Site, dice: random.Random) -> Any:
    """It says that it uses sockets, and prints no channel."""
    _second(site, lambda line: re.sub(r"Using network \S+", "Using network Socket", line))
    site.nccl = [line for number, line in enumerate(site.nccl) if not _late_channel(site, number, line)]


def _late_channel(site: Site, number: int, line: str) -> bool:
    begin = next(at for at, each in enumerate(site.nccl) if "Using network Socket" in each)
    return number > begin and " via NET/" in line


@kind("scope")
def each_host_is_a_job_of_its_own(site: Site, dice: random.Random) -> Any:
    """The hosts do not share a communicator."""
    for node, host in enumerate(site.hosts):
        for number in _lines_of(site, host):
            site.nccl[number] = re.sub(r"commId 0x\w+", f"commId 0x{node + 1:x}fff", site.nccl[number])


@kind("scope")
def ranks_are_numbered_per_host(site: Site, dice: random.Random) -> Any:
    """Every host has a rank 0: as many jobs as hosts."""
    if site.run.groups:
        return False
    for host in site.hosts:
        for number in _lines_of(site, host):
            site.nccl[number] = re.sub(
                r" rank (\d+) nranks \d+",
                lambda found: f" rank {int(found[1]) % site.run.gpus} nranks {site.run.gpus}",
                site.nccl[number],
            )
    return True


@kind("scope")
def host_has_no_reading(site: Site, dice: random.Random) -> Any:
    """A host was not read: not at all, or not on one side of the run."""
    host = _host(site, dice)
    word = dice.choice(("before", "after", ""))
    if word:
        del site.rdma[host][word]
    else:
        del site.rdma[host]


@kind("scope")
def nic_is_missing_in_a_reading(site: Site, dice: random.Random) -> Any:
    """A NIC that NCCL used is not in one of the readings."""
    del site.rdma[_host(site, dice)][dice.choice(("before", "after"))]["devices"][0]


@kind("scope")
def addresses_are_in_another_network(site: Site, dice: random.Random) -> Any:
    """The network that was asked for is not the one that the NICs are in."""
    site.job["rdma_networks"] = ["203.0.113.0/24"]


@kind("scope")
def path_was_not_read(site: Site, dice: random.Random) -> Any:
    """There is nothing of NCCL but its version."""
    site.nccl = [line for line in site.nccl if "NCCL version" in line]


@kind("scope", strict=False)
def ports_of_one_host_are_missing(site: Site, dice: random.Random) -> Any:
    """What a host sent and received was not seen by the switch."""
    if not _has_switch(site):
        return False
    per_switch = list(site.switches.values())
    names = list(per_switch[0]["after"]["ports"])
    rails = max(1, site.run.rails // len(per_switch))
    first = dice.randrange(len(names) // rails) * rails
    for switch in per_switch:
        for reading in switch.values():
            for name in list(switch["after"]["ports"])[first : first + rails] if reading is switch["before"] else []:
                reading["ports"].pop(name, None)
        for name in list(switch["after"]["ports"])[first : first + rails]:
            switch["after"]["ports"].pop(name, None)
    return True


@kind("scope")
def log_is_of_another_job(site: Site, dice: random.Random) -> Any:
    """Name of another run on one of the two logs."""
    holder = dice.choice((site.inputs["evidence"]["nccl_path"], site.inputs["result"]))
    holder["job"] = "20251231T235959Z"


@kind("scope")
def network_was_not_the_one_allowed(site: Site, dice: random.Random) -> Any:
    """NCCL used a plugin that the run had not asked for."""
    site.replace(r"via NET/\w+/", "via NET/AWS Libfabric/")
    site.replace(r"Using network \S+", "Using network AWS Libfabric")


# ----------------------------------------------------------------------------------------------------------------- path


def _rewrite(site: Site, numbers: list[int], pattern: str, text: str) -> bool:
    done = False
    for number in numbers:
        new = re.sub(pattern, text, site.nccl[number])
        done |= new != site.nccl[number]
        site.nccl[number] = new
    return done


@kind("path")
def some_channels_are_staged(site: Site, dice: random.Random) -> Any:
    """One, half or all of the channels go through host memory, at both ends."""
    first = site.channels("send")
    numbers = [number for line in some(dice, first) for number in site.both_ends(line)]
    return _rewrite(site, numbers, r"/GDRDMA[^\s\x1b]*", "")


@kind("path")
def some_channels_are_sockets(site: Site, dice: random.Random) -> Any:
    """One, half or all of the channels are sockets, at both ends."""
    first = site.channels("send")
    numbers = [number for line in some(dice, first) for number in site.both_ends(line)]
    return _rewrite(site, numbers, r"NET/\w+/\d+(\(\d+\))?(/[^\s\x1b]+)?", "NET/Socket/0")


@kind("path")
def receiving_end_of_a_host_is_staged(site: Site, dice: random.Random) -> Any:
    """All receiving ends of one host go through its memory."""
    lines = [number for number in _lines_of(site, _host(site, dice)) if "[receive] via NET/" in site.nccl[number]]
    return _rewrite(site, lines, r"/GDRDMA[^\s\x1b]*", "")


@kind("path")
def sending_end_of_a_host_is_staged(site: Site, dice: random.Random) -> Any:
    """All sending ends of one host go through its memory."""
    lines = [number for number in _lines_of(site, _host(site, dice)) if "[send] via NET/" in site.nccl[number]]
    return _rewrite(site, lines, r"/GDRDMA[^\s\x1b]*", "")


@kind("path")
def gpus_of_a_host_go_through_its_memory(site: Site, dice: random.Random) -> Any:
    """Inside a host the data goes over shared memory, or over the NIC without GPUDirect."""
    way = dice.choice(("SHM/direct/direct", "SHM", "NET/IB/0"))
    lines = [number for number in _lines_of(site, _host(site, dice)) if " via P2P/" in site.nccl[number]]
    return _rewrite(site, lines, r"via P2P/[^\s\x1b]+", f"via {way}")


@kind("path")
def word_behind_gdrdma_denies_it(site: Site, dice: random.Random) -> Any:
    """No release prints this."""
    number = _ends(site, dice)
    word = dice.choice(("/GDRDMA0", "/GDRDMAX", "/GDRDMA=0", "/GDRDMA(off)", "/noGDRDMA", "/GDRDMA/HostStaged"))
    return number is not None and _rewrite(site, [number], r"/GDRDMA[^\s\x1b]*", word)


@kind("path")
def reduction_is_in_the_network(site: Site, dice: random.Random) -> Any:
    """SHARP: no data goes from GPU to GPU."""
    number = _ends(site, dice)
    return number is not None and _rewrite(site, [number], r"via NET/[^\s\x1b]+", "via COLLNET/SHARP/0/GDRDMA")


@kind("path")
def nic_has_no_access_to_gpus(site: Site, dice: random.Random) -> Any:
    """NCCL says so of one NIC that it uses."""
    host = _host(site, dice)
    lines = _lines_of(site, host)
    prefix = re.sub(r"NCCL INFO .*", "", site.nccl[lines[0]])
    name = site.nic(host, "before")["name"]
    text = f"{prefix}NCCL INFO NET/IB : GPU Direct RDMA Disabled for HCA 0 '{name}'"
    site.nccl.insert(lines[0] + 1, text)


FAULTS = (
    "WARN NET/IB : mlx5_0:1 Got async event : port error",
    "WARN NET/IB : mlx5_0:1 Got async event : client reregistration / GID table change",
    "WARN NET/IB : Got completion from peer 10.0.0.2<40000> with status=12 opcode=1 len=0 vendor err 129 (Send)",
    "WARN NET/IB : Got completion from peer 10.0.0.2<40000> with error 4, opcode 0, len 0, vendor err 81 (Send)",
    "WARN Call to ibv_modify_qp failed with error Connection timed out",
    "WARN Call to ibv_reg_mr failed with error Cannot allocate memory",
    "WARN Call to ibv_reg_dmabuf_mr failed with error Operation not supported",
    "WARN Call to ibv_create_qp failed with error Cannot allocate memory",
    "WARN Cuda failure 700 'an illegal memory access was encountered'",
    "WARN [Service thread] Error encountered progressing operation=Connect, res=3, closing connection",
    "WARN NET/IB : No device found.",
    "WARN socketProgress: Connection closed by remote peer gpu02<40001>",
)


@kind("path")
def nccl_warned_of_a_fault(site: Site, dice: random.Random) -> Any:
    """A fault of the data path in NCCL's own words."""
    lines = _lines_of(site, _host(site, dice))
    prefix = re.sub(r"NCCL INFO .*", "", site.nccl[lines[-1]])
    site.nccl.insert(lines[-1] + 1, f"{prefix}misc/file.cc:288 NCCL {dice.choice(FAULTS)}")


@kind("path")
def communicator_was_aborted(site: Site, dice: random.Random) -> Any:
    """A rank gave up."""
    lines = _lines_of(site, _host(site, dice))
    prefix = re.sub(r"NCCL INFO .*", "", site.nccl[lines[-1]])
    rank = site.rank_of(_host(site, dice))
    said = f"comm 0x55aa{rank:04x} rank {rank} nranks {site.run.size} cudaDev 0 busId 11000 - Abort COMPLETE"
    site.nccl.insert(lines[-1] + 1, f"{prefix}NCCL INFO {said}")


@kind("path")
def releases_of_nccl_differ(site: Site, dice: random.Random) -> Any:
    """Two hosts ran two releases."""
    site.nccl.append("NCCL version 2.14.3+cuda11.7")


@kind("path")
def layer_of_the_nics_is_infiniband(site: Site, dice: random.Random) -> Any:
    """NCCL lists the NICs of a host as InfiniBand."""
    lines = [number for number in _lines_of(site, _host(site, dice)) if "NET/IB : Using" in site.nccl[number]]
    return _rewrite(site, lines, r"(:1(?::\d+)*)/RoCE", r"\1/IB")


# --------------------------------------------------------------------------------------------------------------- result

ENDS = (
    "mpirun noticed that process rank 1 with PID 4211 on node gpu02 exited on signal 11 (Segmentation fault).",
    "slurmstepd: error: *** JOB 42 ON gpu01 CANCELLED AT 2026-09-21T14:13:41 DUE TO TIME LIMIT ***",
    "RuntimeError: CUDA error: an illegal memory access was encountered",
    "torch.distributed.DistBackendError: NCCL error in: ProcessGroupNCCL.cpp:1333, remote process exited or there was "
    "a network error",
    "[Rank 1] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=7, OpType=ALLREDUCE) ran for 1800123 ms",
    "Fatal Python error: Segmentation fault",
    "torch.cuda.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB",
    "Primary job  terminated normally, but 1 process returned a non-zero exit code.",
)


@kind("result")
def job_ended_badly(site: Site, dice: random.Random) -> Any:
    """The launcher or a rank says that it did not end well."""
    site.training.append(f"[1,1]<stderr>:{dice.choice(ENDS)}" if dice.random() < 0.5 else dice.choice(ENDS))


@kind("result")
def caller_reports_a_problem(site: Site, dice: random.Random) -> Any:
    """The stage that ran the job says that it failed."""
    code = dice.choice(("run_failed", "job_failed", "exit_status"))
    site.inputs["problems"] = [{"code": code, "message": "the job ended with status 139"}]


@kind("result")
def rank_used_another_backend(site: Site, dice: random.Random) -> Any:
    """One rank exchanged over the CPU."""
    site.records(lambda record: record.update(backend=dice.choice(("gloo", "mpi", ""))), dice.randrange(site.run.size))


@kind("result")
def rank_had_a_world_of_its_own(site: Site, dice: random.Random) -> Any:
    """One rank trained alone."""
    site.records(lambda record: record.update(world=1), dice.randrange(site.run.size))


@kind("result")
def weights_of_a_rank_differ(site: Site, dice: random.Random) -> Any:
    """One rank has other weights: it did not exchange."""
    site.records(lambda record: record.update(checksum="6" * 64), dice.randrange(site.run.size))


@kind("result")
def rank_reports_from_another_host(site: Site, dice: random.Random) -> Any:
    """One rank trained on a host that is not in the job."""
    site.records(lambda record: record.update(host="laptop3"), dice.randrange(site.run.size))


# ---------------------------------------------------------------------------------------------------------- the machine

KERNEL = (
    "NVRM: Xid (PCI:0000:3b:00): 79, pid=4211, name=python3, GPU has fallen off the bus.",
    "NVRM: Xid (PCI:0000:3b:00): 48, pid=4211, An uncorrectable double bit error (DBE) has been detected",
    "NVRM: Xid (PCI:0000:3b:00): 74, pid=4211, NVLink: fatal error detected on link 2(0x10000, 0x0, 0x0)",
    "mlx5_core 0000:3b:00.0: mlx5_health_check:819:(pid 0): device's health compromised - reached miss count",
    "mlx5_core 0000:3b:00.0 ens0: Link down",
    "pcieport 0000:3a:00.0: AER: Uncorrected (Fatal) error received: 0000:3b:00.0",
    "Out of memory: Killed process 4211 (python3) total-vm:201234567kB, anon-rss:190123456kB",
    "DMAR: [DMA Write] Request device [3b:00.0] PASID ffffffff fault addr 38010000000 [fault reason 05]",
    "mlx5_core 0000:3b:00.0: wait_func:1134:(pid 4211): CREATE_MKEY(0x200) timeout. Will cause a leak of a command "
    "resource",
)


@kind("machine")
def kernel_saw_a_fault_within_the_run(site: Site, dice: random.Random) -> Any:
    """The kernel of a host says that the GPU, the NIC or the job broke while it ran."""
    if "hosts" not in site.inputs["evidence"]:
        return False
    site.kernel_says(_host(site, dice), dice.choice(KERNEL), dice.uniform(2, 35))
    return True


@kind("machine")
def nic_is_down_afterwards(site: Site, dice: random.Random) -> Any:
    """A NIC that NCCL used is not ACTIVE after the run."""
    site.nic(_host(site, dice), "after", dice.randrange(site.run.rails))["state"] = dice.choice(("DOWN", "INIT"))


@kind("machine")
def devices_are_simulated(site: Site, dice: random.Random) -> Any:
    """A reading of one host, or of its GPUs, comes from a simulator."""
    readings = site.rdma[_host(site, dice)]
    dice.choice([*readings.values(), readings["start"].setdefault("gpus", {})])["simulated"] = True


@kind("machine")
def settings_were_not_read_back(site: Site, dice: random.Random) -> Any:
    """A layer is not as wanted, or one of the hosts was not read."""
    layers = site.inputs["layers"]
    name = dice.choice(list(layers))
    layers[name]["verified"] = dice.choice((False, None)) if name in ("nic", "container", "mesh", "run") else False
