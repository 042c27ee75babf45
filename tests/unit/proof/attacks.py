"""False evidence, by what is false about it. None of it may be PROVEN.

Written from the meaning of the evidence, without the code that judges it. Each function changes a sound site in one way
and returns False if the site has nothing to change; its docstring says what the evidence then means.
"""

from __future__ import annotations

import copy
import random
import re
from typing import Any, Callable, NamedTuple

from tests.unit.proof.attack_base import READ_AT, RECORD, Site, some
from tests.unit.proof.truth import STARTED

Change = Callable[[Site, random.Random], Any]


class Attack(NamedTuple):
    family: str
    name: str
    change: Change


ATTACKS: list[Attack] = []


def attack(family: str) -> Callable[[Change], Change]:
    def add(change: Change) -> Change:
        ATTACKS.append(Attack(family, change.__name__, change))
        return change

    return add


def _two(site: Site, dice: random.Random) -> tuple[str, str]:
    first, second = dice.sample(site.hosts, 2)
    return first, second


def _rail(site: Site, dice: random.Random) -> int:
    return dice.randrange(site.run.rails)


def _switch(site: Site) -> bool:
    return "switches" in site.inputs["evidence"]


# ------------------------------------------------------------------------------------------------------------- identity


@attack("identity")
def host_has_readings_of_another_host(site: Site, dice: random.Random) -> Any:
    """All three readings of a host are those of another host of the job: one host was read twice."""
    first, second = _two(site, dice)
    site.rdma[first] = copy.deepcopy(site.rdma[second])


@attack("identity")
def reading_after_is_of_another_host(site: Site, dice: random.Random) -> Any:
    """The readings after the run are exchanged between two hosts."""
    first, second = _two(site, dice)
    site.rdma[first]["after"], site.rdma[second]["after"] = site.rdma[second]["after"], site.rdma[first]["after"]


@attack("identity")
def reading_before_is_of_another_host(site: Site, dice: random.Random) -> Any:
    """The reading before the run is a copy of another host's."""
    first, second = _two(site, dice)
    site.rdma[first]["before"] = copy.deepcopy(site.rdma[second]["before"])


@attack("identity")
def card_changes_between_readings(site: Site, dice: random.Random) -> Any:
    """One reading is of a card with another GUID."""
    host, word = dice.choice(site.hosts), dice.choice(("before", "after"))
    for device in site.rdma[host][word]["devices"]:
        device["node_guid"] = device["sys_image_guid"] = f"dead:beef:{dice.randrange(9999):04}:0000"


@attack("identity")
def guid_of_two_hosts_is_the_same(site: Site, dice: random.Random) -> Any:
    """Two hosts show the same cards."""
    first, second = _two(site, dice)
    for word in ("start", "before", "after"):
        for rail in range(site.run.rails):
            for key in ("node_guid", "sys_image_guid"):
                site.nic(first, word, rail)[key] = site.nic(second, word, rail)[key]


@attack("identity")
def address_of_two_hosts_is_the_same(site: Site, dice: random.Random) -> Any:
    """Two hosts show the same RoCE addresses."""
    first, second = _two(site, dice)
    for word in ("start", "before", "after"):
        for rail in range(site.run.rails):
            site.nic(first, word, rail)["gids"] = copy.deepcopy(site.nic(second, word, rail)["gids"])


@attack("identity")
def address_changes_between_readings(site: Site, dice: random.Random) -> Any:
    """A NIC has another address of the same network after the run."""
    device = site.nic(dice.choice(site.hosts), "after", _rail(site, dice))
    device["gids"][0]["gid"] = device["gids"][0]["gid"][:-4] + f"00{dice.randrange(0x60, 0xF0):02x}"


@attack("identity")
def readings_are_of_spare_hosts(site: Site, dice: random.Random) -> Any:
    """Some hosts of the job have no readings; as many hosts without a part in it have."""
    for number, host in enumerate(some(dice, site.hosts)):
        site.rdma[f"spare{number:02}"] = site.rdma.pop(host)


@attack("identity")
def rank_trained_on_another_host(site: Site, dice: random.Random) -> Any:
    """A rank's record names another host of the job than NCCL does."""
    first, second = _two(site, dice)
    site.records(lambda record: record.update(host=second), site.rank_of(first))


@attack("identity")
def rank_trained_on_a_spare_host(site: Site, dice: random.Random) -> Any:
    """A rank's record names a host that is not of the job."""
    site.records(lambda record: record.update(host="spare07"), dice.randrange(site.run.size))


@attack("identity")
def training_hosts_are_exchanged(site: Site, dice: random.Random) -> Any:
    """All ranks of two hosts name each other's host."""
    first, second = _two(site, dice)
    other = {first: second, second: first}
    site.records(lambda record: record.update(host=other.get(record["host"], record["host"])))


@attack("identity")
def probe_ran_on_a_spare_host(site: Site, dice: random.Random) -> Any:
    """NCCL's log names a host that is not of the job in place of one that is."""
    return site.replace(rf"^{dice.choice(site.hosts)}:", "spare07:")


@attack("identity")
def probe_hosts_are_exchanged(site: Site, dice: random.Random) -> Any:
    """In the probe the ranks of two hosts ran on each other's host."""
    first, second = _two(site, dice)
    site.replace(rf"^{first}:", "@:")
    site.replace(rf"^{second}:", f"{first}:")
    return site.replace(r"^@:", f"{second}:")


@attack("identity")
def two_hosts_are_one(site: Site, dice: random.Random) -> Any:
    """Two names of the inventory are the same machine."""
    first, second = _two(site, dice)
    site.job["hosts"][first] = site.job["hosts"][second]


@attack("identity")
def nccl_used_another_nic(site: Site, dice: random.Random) -> Any:
    """On a host NCCL names a NIC that nobody read."""
    host, rail = dice.choice(site.hosts), _rail(site, dice)
    return site.replace(rf"^({host}:.*NET/IB : Using.*)mlx5_{rail}:1", r"\1mlx5_9:1")


@attack("identity")
def switch_ports_lead_to_spare_hosts(site: Site, dice: random.Random) -> Any:
    """The ports that counted have neighbours that took no part."""
    if not _switch(site):
        return False
    for word in ("before", "after"):
        for port in site.switches["sw01"][word]["ports"].values():
            port["neighbors"][0]["system"] = port["neighbors"][0]["system"].replace("gpu", "spare")
    return True


@attack("identity")
def switch_ports_are_all_of_one_host(site: Site, dice: random.Random) -> Any:
    """All ports that counted have the same host as neighbour."""
    if not _switch(site):
        return False
    host = dice.choice(site.hosts)
    for word in ("before", "after"):
        for port in site.switches["sw01"][word]["ports"].values():
            port["neighbors"][0]["system"] = host
    return True


@attack("identity")
def layers_were_verified_on_spare_hosts(site: Site, dice: random.Random) -> Any:
    """A layer was read back on hosts that took no part."""
    layer = site.inputs["layers"][dice.choice(("vm", "nic", "container"))]
    layer["found"] = {f"spare{number:02}": found for number, found in enumerate(layer["found"].values())}


@attack("identity")
def two_ranks_share_a_gpu(site: Site, dice: random.Random) -> Any:
    """Two ranks of a host initialised NCCL on the same GPU."""
    if site.run.gpus < 2:
        return False
    host = dice.choice(site.hosts)
    return site.replace(rf"^({host}:.*cudaDev )1( nvmlDev )1( busId )21000", r"\g<1>0\g<2>0\g<3>11000")


@attack("identity")
def port_is_another_one_after_the_run(site: Site, dice: random.Random) -> Any:
    """The reading after the run is of port 2 of the card."""
    for device in site.rdma[dice.choice(site.hosts)]["after"]["devices"]:
        device["port"] = 2


# ------------------------------------------------------------------------------------------------------------ direction


@attack("direction")
def hosts_receive_nothing(site: Site, dice: random.Random) -> Any:
    """NICs of some hosts sent only."""
    site.grow_all(0, ("rcv",), some(dice, site.hosts))


@attack("direction")
def hosts_send_nothing(site: Site, dice: random.Random) -> Any:
    """NICs of some hosts received only."""
    site.grow_all(0, ("xmit",), some(dice, site.hosts))


@attack("direction")
def traffic_is_one_way_and_doubled(site: Site, dice: random.Random) -> Any:
    """Half of the hosts send twice as much and receive nothing, the others the other way round."""
    half = dice.sample(site.hosts, len(site.hosts) // 2)
    for host in site.hosts:
        site.grow_all(2 if host in half else 0, ("xmit",), [host])
        site.grow_all(0 if host in half else 2, ("rcv",), [host])


@attack("direction")
def one_host_received_for_another(site: Site, dice: random.Random) -> Any:
    """One host received nothing, another one twice as much: the sum is right."""
    first, second = _two(site, dice)
    site.grow_all(0, ("rcv",), [first])
    site.grow_all(2, ("rcv",), [second])


@attack("direction")
def sent_and_received_differ(site: Site, dice: random.Random) -> Any:
    """All hosts together sent several times what they received: the data went elsewhere."""
    site.grow_all(dice.choice((2.5, 4, 8)), (dice.choice(("xmit", "rcv")),))


@attack("direction")
def switch_saw_one_direction(site: Site, dice: random.Random) -> Any:
    """Ports of the switch counted RoCE packets in one direction only."""
    if not _switch(site):
        return False
    site.grow_ports(0, (dice.choice(("tx", "rx")),), some(dice, site.hosts))
    return True


@attack("direction")
def rank_has_no_receiving_channel(site: Site, dice: random.Random) -> Any:
    """A host's ranks have sending channels only."""
    host = dice.choice(site.hosts)
    before = len(site.nccl)
    site.nccl = [line for line in site.nccl if not (line.startswith(f"{host}:") and "[receive]" in line)]
    return len(site.nccl) < before


@attack("direction")
def rank_has_no_sending_channel(site: Site, dice: random.Random) -> Any:
    """A host's ranks have receiving channels only."""
    host = dice.choice(site.hosts)
    before = len(site.nccl)
    site.nccl = [line for line in site.nccl if not (line.startswith(f"{host}:") and "[send]" in line)]
    return len(site.nccl) < before


@attack("direction")
def one_connection_is_missing(site: Site, dice: random.Random) -> Any:
    """All channels from one rank to its neighbour are missing, at both ends."""
    ends, _host = dice.choice(site.pairs())
    site.nccl = [line for line in site.nccl if not (" via NET/" in line and f" : {ends} " in line)]


@attack("direction")
def wrong_priority_carried_the_data(site: Site, dice: random.Random) -> Any:
    """The bytes of NICs left in priority 0; the lossless class counted nothing."""
    for host in some(dice, site.hosts):
        for rail in range(site.run.rails):
            before, after = (site.nic(host, word, rail)["counters"]["ethtool"] for word in ("before", "after"))
            for side in ("tx", "rx"):
                moved = after[f"{side}_prio3_bytes"] - before[f"{side}_prio3_bytes"]
                after[f"{side}_prio0_bytes"] = before[f"{side}_prio0_bytes"] + moved
                after[f"{side}_prio3_bytes"] = before[f"{side}_prio3_bytes"]


# ------------------------------------------------------------------------------------------------------------- quantity


@attack("quantity")
def nics_moved_too_little(site: Site, dice: random.Random) -> Any:
    """NICs of some hosts moved a part of what was due."""
    site.grow_all(dice.choice((0.001, 0.1, 0.4, 0.7)), hosts=some(dice, site.hosts))


@attack("quantity")
def nics_moved_nothing(site: Site, dice: random.Random) -> Any:
    """Counters of some hosts stand still."""
    site.grow_all(0, hosts=some(dice, site.hosts))


@attack("quantity")
def nics_moved_more_than_the_link_carries(site: Site, dice: random.Random) -> Any:
    """More bytes than the links can carry between the readings."""
    site.grow_all(dice.choice((500, 10_000)) * site.run.rails, hosts=some(dice, site.hosts))


@attack("quantity")
def nics_moved_many_times_what_was_due(site: Site, dice: random.Random) -> Any:
    """NICs and switch carried ten times the run's bytes or more: the traffic of others."""
    factor = dice.choice((10, 30))
    site.grow_all(factor)
    if _switch(site):
        site.grow_ports(factor)


@attack("quantity")
def rail_is_idle(site: Site, dice: random.Random) -> Any:
    """A rail that channels take carried nothing, the other ones all of it."""
    if site.run.rails < 2:
        return False
    idle = _rail(site, dice)
    hosts = some(dice, site.hosts)
    for host in hosts:
        for rail in range(site.run.rails):
            for side in ("xmit", "rcv"):
                site.grow(host, rail, side, 0 if rail == idle else site.run.rails / (site.run.rails - 1))
    return True


@attack("quantity")
def rail_carries_a_trace(site: Site, dice: random.Random) -> Any:
    """As rail_is_idle, with one part in 500 of its share: keep-alives."""
    if site.run.rails < 2:
        return False
    idle = _rail(site, dice)
    for host in some(dice, site.hosts):
        for rail in range(site.run.rails):
            for side in ("xmit", "rcv"):
                site.grow(host, rail, side, 0.002 if rail == idle else site.run.rails / (site.run.rails - 1))
    return True


@attack("quantity")
def switch_moved_too_little(site: Site, dice: random.Random) -> Any:
    """The switch counted a part of the packets that were due."""
    if not _switch(site):
        return False
    site.grow_ports(dice.choice((0, 0.01, 0.3, 0.6)))
    return True


@attack("quantity")
def ports_of_one_host_moved_nothing(site: Site, dice: random.Random) -> Any:
    """The ports of a host counted nothing, those of another one twice as much."""
    if not _switch(site):
        return False
    first, second = _two(site, dice)
    site.grow_ports(0, hosts=[first])
    site.grow_ports(2, hosts=[second])
    return True


@attack("quantity")
def switch_saw_a_third_of_the_nics_bytes(site: Site, dice: random.Random) -> Any:
    """NICs count three times the due bytes, the switch once: two thirds did not cross it (12 KB per packet)."""
    if not _switch(site):
        return False
    site.grow_all(3)
    return True


@attack("quantity")
def switch_saw_far_more_than_the_nics(site: Site, dice: random.Random) -> Any:
    """The switch counted 50 packets or more where the NICs' bytes fill one: others' traffic."""
    if not _switch(site):
        return False
    site.grow_ports(dice.choice((50, 1000)))
    return True


@attack("quantity")
def nic_discards_grow(site: Site, dice: random.Random) -> Any:
    """A NIC dropped packets of the lossless class."""
    device = site.nic(dice.choice(site.hosts), "after", _rail(site, dice))
    device["counters"]["ethtool"]["rx_prio3_discards"] += dice.choice((1, 50, 10**6))


@attack("quantity")
def switch_discards_grow(site: Site, dice: random.Random) -> Any:
    """A port of the switch dropped packets."""
    if not _switch(site):
        return False
    port = site.port(dice.choice(site.hosts), "after", _rail(site, dice))
    port["counters"][dice.choice(("rx_discards", "tx_discards"))] += dice.choice((1, 50, 10**6))
    return True


@attack("quantity")
def packets_came_out_of_sequence(site: Site, dice: random.Random) -> Any:
    """A NIC saw many gaps in sequence numbers: the fabric lost packets."""
    device = site.nic(dice.choice(site.hosts), "after", _rail(site, dice))
    device["counters"]["hw_counters"]["out_of_sequence"] += 2_000_000
    device["counters"]["hw_counters"]["packet_seq_err"] += 1_000_000


@attack("quantity")
def nic_stood_still_most_of_the_time(site: Site, dice: random.Random) -> Any:
    """A NIC's lossless class paused for 60 of 80 s (microseconds)."""
    host, rail = dice.choice(site.hosts), _rail(site, dice)
    for word, value in (("before", 0), ("after", 60_000_000)):
        site.nic(host, word, rail)["counters"]["ethtool"]["rx_prio3_pause_duration"] = value


@attack("quantity")
def counter_stands_at_its_largest_value(site: Site, dice: random.Random) -> Any:
    """A counter of 32 or 64 bits is full: how much it did not count is unknown."""
    host, rail, side = dice.choice(site.hosts), _rail(site, dice), dice.choice(("xmit", "rcv"))
    before, after = (site.nic(host, word, rail)["counters"]["counters"] for word in ("before", "after"))
    name, width = f"port_{side}_data", dice.choice((32, 64))
    after[name] = 2**width - 1
    before[name] = after[name] - 20_000_000_000 if width == 64 else 5


@attack("quantity")
def exchange_is_slow(site: Site, dice: random.Random) -> Any:
    """The all-reduce alone takes several times what the links need."""
    factor = dice.choice((1.6, 4, 20))
    ranks = some(dice, list(range(site.run.size)))
    site.records(lambda record: record["exchange"].update(seconds=record["exchange"]["seconds"] * factor), *ranks)


@attack("quantity")
def exchange_is_faster_than_the_links(site: Site, dice: random.Random) -> Any:
    """The all-reduce alone is several times faster than the links."""
    factor = dice.choice((3, 10))
    site.records(lambda record: record["exchange"].update(seconds=record["exchange"]["seconds"] / factor))


@attack("quantity")
def training_is_faster_than_the_links(site: Site, dice: random.Random) -> Any:
    """So many images per second that the gradients did not fit the links."""
    factor = dice.choice((100, 1000)) * site.run.rails

    def change(record: dict[str, Any]) -> None:
        record["images_per_second"] *= factor
        record["total_images_per_second"] *= factor
        record["wall_seconds"] /= factor

    site.records(change)
    total = 2000.0 * site.run.size
    site.replace(r"images/sec: 2000\.0", f"images/sec: {2000.0 * factor:.1f}", of="training")
    site.replace(rf"total images/sec: {total:.2f}", f"total images/sec: {total * factor:.2f}", of="training")


# ------------------------------------------------------------------------------------------------------- order and time


@attack("time")
def nic_readings_are_exchanged(site: Site, dice: random.Random) -> Any:
    """Before and after of some hosts are exchanged."""
    for host in some(dice, site.hosts):
        site.rdma[host]["before"], site.rdma[host]["after"] = site.rdma[host]["after"], site.rdma[host]["before"]


@attack("time")
def nic_counters_are_exchanged_times_are_not(site: Site, dice: random.Random) -> Any:
    """Before and after of some hosts are exchanged, and look as if they were not: counters go back."""
    for host in some(dice, site.hosts):
        reading = site.rdma[host]
        reading["before"]["devices"], reading["after"]["devices"] = (
            reading["after"]["devices"],
            reading["before"]["devices"],
        )


@attack("time")
def switch_readings_are_exchanged(site: Site, dice: random.Random) -> Any:
    """Before and after of the switch are exchanged."""
    if not _switch(site):
        return False
    both = site.switches["sw01"]
    both["before"], both["after"] = both["after"], both["before"]
    return True


@attack("time")
def both_readings_are_older_than_the_run(site: Site, dice: random.Random) -> Any:
    """NICs were read twice before the run began."""
    for host in some(dice, site.hosts):
        site.rdma[host]["before"]["at"] = STARTED - 400
        site.rdma[host]["after"]["at"] = STARTED - dice.choice((60, 300))


@attack("time")
def both_readings_are_newer_than_the_run(site: Site, dice: random.Random) -> Any:
    """NICs were read twice after the run had ended."""
    for host in some(dice, site.hosts):
        site.rdma[host]["before"]["at"] = STARTED + 60
        site.rdma[host]["after"]["at"] = STARTED + 140


@attack("time")
def nics_were_read_within_the_run(site: Site, dice: random.Random) -> Any:
    """The reading before came 20 s after the begin, or the one after 20 s before the end."""
    host = dice.choice(site.hosts)
    if dice.random() < 0.5:
        site.rdma[host]["before"]["at"] = STARTED + 20
    else:
        site.rdma[host]["after"]["at"] = STARTED + 20


@attack("time")
def switch_was_read_within_the_run(site: Site, dice: random.Random) -> Any:
    """As nics_were_read_within_the_run, of the switch."""
    if not _switch(site):
        return False
    site.switches["sw01"][dice.choice(("before", "after"))]["at"] = STARTED + 20
    return True


@attack("time")
def readings_are_of_another_day(site: Site, dice: random.Random) -> Any:
    """Some hosts were read a day earlier or later."""
    shift = dice.choice((-86400, 86400))
    for host in some(dice, site.hosts):
        for word in dice.choice((("before", "after"), ("before",), ("after",))):
            site.rdma[host][word]["at"] += shift


@attack("time")
def switch_readings_are_of_another_day(site: Site, dice: random.Random) -> Any:
    """The switch was read a day earlier or later."""
    if not _switch(site):
        return False
    shift = dice.choice((-86400, 86400))
    for word in dice.choice((("before", "after"), ("before",), ("after",))):
        site.switches["sw01"][word]["at"] += shift
    return True


@attack("time")
def time_of_a_reading_is_no_time(site: Site, dice: random.Random) -> Any:
    """A reading has a time that is none, or of another unit."""
    value = dice.choice((0, float("nan"), float("inf"), "", None, "yesterday", (STARTED - 20) * 1000, True))
    site.rdma[dice.choice(site.hosts)][dice.choice(("before", "after"))]["at"] = value


@attack("time")
def nccl_log_is_of_a_later_run(site: Site, dice: random.Random) -> Any:
    """NCCL's log was read long after the training: it may be of another one."""
    site.inputs["evidence"]["nccl_path"]["at"] = STARTED + dice.choice((3600, 86400))


@attack("time")
def nccl_log_is_of_a_probe(site: Site, dice: random.Random) -> Any:
    """NCCL's log was read before the training: it is of a probe, and the training was not observed."""
    site.inputs["evidence"]["nccl_path"]["at"] = STARTED - dice.choice((5, 200, 7200, 86400 * 30))


@attack("time")
def host_booted_within_the_run(site: Site, dice: random.Random) -> Any:
    """A host's uptime is shorter than the time since the run began."""
    said = site.said[dice.choice(site.hosts)]
    said["said"] = re.sub(r"(uptime\.txt\n)[\d.]+", rf"\g<1>{dice.choice((5, 45))}.00", said["said"])


@attack("time")
def host_booted_and_counters_began_again(site: Site, dice: random.Random) -> Any:
    """A host booted within the run; its counters stand below what they were."""
    host = dice.choice(site.hosts)
    host_booted_within_the_run(site, dice)
    for rail in range(site.run.rails):
        counters = site.nic(host, "after", rail)["counters"]["counters"]
        before = site.nic(host, "before", rail)["counters"]["counters"]
        for name in counters:
            counters[name] -= before[name]


@attack("time")
def one_counter_went_back(site: Site, dice: random.Random) -> Any:
    """One counter was cleared between the readings."""
    counters = site.nic(dice.choice(site.hosts), "after", _rail(site, dice))["counters"]["counters"]
    counters[dice.choice(("port_xmit_data", "port_rcv_data"))] = dice.choice((0, 7, 10**9))


@attack("time")
def port_counter_went_back(site: Site, dice: random.Random) -> Any:
    """One counter of a port was cleared between the readings."""
    if not _switch(site):
        return False
    counters = site.port(dice.choice(site.hosts), "after", _rail(site, dice))["counters"]
    counters[dice.choice(("tx_roce_packets", "rx_roce_packets", "tx_discards", "rx_discards"))] = 0
    return True


@attack("time")
def job_has_no_length(site: Site, dice: random.Random) -> Any:
    """The job ended when it began, before it, or too soon for its steps."""
    site.job["ended"] = STARTED + dice.choice((0, -40, 1, 3))


@attack("time")
def training_took_longer_than_the_job(site: Site, dice: random.Random) -> Any:
    """Ranks measured more seconds of training than the whole job lasted."""
    seconds = dice.choice((120, 4000))
    site.records(lambda record: record.update(wall_seconds=seconds))


@attack("time")
def steps_of_a_rank_go_back(site: Site, dice: random.Random) -> Any:
    """A rank prints step 50 after its last step: it began again."""
    rank = dice.randrange(site.run.size)
    lines = [number for number, line in enumerate(site.training) if re.match(rf"\[1,{rank}\]<stdout>:\d+\t", line)]
    middle, last = lines[-2], lines[-1]
    site.training[middle], site.training[last] = site.training[last], site.training[middle]


@attack("time")
def gpu_fell_off_the_bus_within_the_run(site: Site, dice: random.Random) -> Any:
    """The kernel's log says so, 10 s after the begin."""
    host = dice.choice(site.hosts)
    site.kernel_says(host, "NVRM: Xid (PCI:0000:3b:00): 79, pid=4711, GPU has fallen off the bus.", 10)


@attack("time")
def link_went_down_within_the_run(site: Site, dice: random.Random) -> Any:
    """The kernel's log says so of a NIC of the run, 10 s after the begin."""
    site.kernel_says(dice.choice(site.hosts), "mlx5_core 0000:3b:00.0 ens0: Link down", 10)


# ---------------------------------------------------------------------------------------------------------------- scope


@attack("scope")
def probe_is_of_another_job(site: Site, dice: random.Random) -> Any:
    """NCCL's log belongs to another run, or to none."""
    site.inputs["evidence"]["nccl_path"]["job"] = dice.choice(("20251231T000000Z", "", None))


@attack("scope")
def training_is_of_another_job(site: Site, dice: random.Random) -> Any:
    """The training's log belongs to another run, or to none."""
    site.inputs["result"]["job"] = dice.choice(("20251231T000000Z", "", None))


@attack("scope")
def probe_was_a_smaller_communicator(site: Site, dice: random.Random) -> Any:
    """NCCL's communicator had fewer ranks than the job."""
    return site.replace(rf"nranks {site.run.size}\b", f"nranks {site.run.size - 1}")


@attack("scope")
def hosts_are_in_two_communicators(site: Site, dice: random.Random) -> Any:
    """Half of the hosts name another communicator id: two jobs side by side."""
    half = site.hosts[: len(site.hosts) // 2]
    return site.replace(rf"^({'|'.join(half)})(:.*commId )0xabc1", r"\1\g<2>0xffff")


@attack("scope")
def probe_log_has_another_job_behind_it(site: Site, dice: random.Random) -> Any:
    """The logs of two jobs of the same ranks lie in one."""
    other = [
        re.sub(r"^(\w+):(\d+):(\d+)", lambda found: f"{found[1]}:{int(found[2]) + 7000}:{int(found[3]) + 7000}", line)
        for line in site.nccl
    ]
    site.nccl += [line.replace("0xabc1", "0xdef2") for line in other]


@attack("scope")
def log_has_a_second_job_by_sockets(site: Site, dice: random.Random) -> Any:
    """As probe_log_has_another_job_behind_it; the second one used TCP."""
    probe_log_has_another_job_behind_it(site, dice)
    half = len(site.nccl) // 2
    site.nccl[half:] = [re.sub(r"via NET/IB/(\d+)\S*", r"via NET/Socket/\1", line) for line in site.nccl[half:]]


@attack("scope")
def training_log_has_two_runs(site: Site, dice: random.Random) -> Any:
    """The training's log holds two runs."""
    site.training += site.training


@attack("scope")
def training_was_a_smaller_world(site: Site, dice: random.Random) -> Any:
    """Ranks say that there were fewer ranks."""
    site.records(lambda record: record.update(world=site.run.size // 2), *some(dice, list(range(site.run.size))))


@attack("scope")
def job_had_more_ranks(site: Site, dice: random.Random) -> Any:
    """The job was started with more ranks than trained."""
    site.job["ranks"] = site.run.size + dice.choice((1, site.run.size))
    if dice.random() < 0.5:
        site.inputs["expected_ranks"] = site.job["ranks"]


@attack("scope")
def job_has_one_host_more(site: Site, dice: random.Random) -> Any:
    """A host of the job has no part in any evidence."""
    site.job["hosts"]["gpu77"] = "gpu77"


@attack("scope")
def job_has_one_host_less(site: Site, dice: random.Random) -> Any:
    """A host with ranks and readings is not of the job."""
    del site.job["hosts"][dice.choice(site.hosts)]


@attack("scope")
def nccl_was_free_to_choose(site: Site, dice: random.Random) -> Any:
    """The job allowed any network, or another one than was used."""
    site.job["network"] = dice.choice(("", "Socket", "IBext_v8", None))


@attack("scope")
def counters_are_of_another_nic(site: Site, dice: random.Random) -> Any:
    """On some hosts the reading is of NICs that NCCL did not use."""
    for host in some(dice, site.hosts):
        for word in ("start", "before", "after"):
            for rail, device in enumerate(site.rdma[host][word]["devices"]):
                device["name"] = f"mlx5_{rail + 20}"


@attack("scope")
def counters_are_of_another_port(site: Site, dice: random.Random) -> Any:
    """On some hosts the readings are of port 2; NCCL used port 1."""
    for host in some(dice, site.hosts):
        for word in ("start", "before", "after"):
            for device in site.rdma[host][word]["devices"]:
                device["port"] = 2


@attack("scope")
def used_nic_is_idle_another_one_carries(site: Site, dice: random.Random) -> Any:
    """The NIC that NCCL names stood still; a NIC beside it carried the bytes."""
    for host in some(dice, site.hosts):
        for word in ("start", "before", "after"):
            for rail in range(site.run.rails):
                device = site.nic(host, word, rail)
                other = {**copy.deepcopy(device), "name": f"mlx5_{rail + 20}"}
                other["pci"] = f"0000:{0x9B + rail:02x}:00.0"
                other["node_guid"] = other["sys_image_guid"] = device["node_guid"].replace("b8ce", "c0ff")
                site.rdma[host][word]["devices"].append(other)
        site.grow_all(0, hosts=[host])


@attack("scope")
def port_is_infiniband(site: Site, dice: random.Random) -> Any:
    """A NIC's port is InfiniBand."""
    host, rail = dice.choice(site.hosts), _rail(site, dice)
    for word in ("start", "before", "after"):
        site.nic(host, word, rail)["link_layer"] = "InfiniBand"


@attack("scope")
def address_is_in_another_network(site: Site, dice: random.Random) -> Any:
    """A NIC's only address is outside of the networks that were asked for."""
    host, rail = dice.choice(site.hosts), _rail(site, dice)
    for word in ("start", "before", "after"):
        site.nic(host, word, rail)["gids"][0]["gid"] = "0000:0000:0000:0000:0000:ffff:ac10:0909"


@attack("scope")
def address_is_of_roce_v1(site: Site, dice: random.Random) -> Any:
    """A NIC has GIDs of RoCE v1 only: its packets are not the ones that the switch keeps lossless."""
    host, rail = dice.choice(site.hosts), _rail(site, dice)
    for word in ("start", "before", "after"):
        site.nic(host, word, rail)["gids"][0]["type"] = "IB/RoCE v1"


@attack("scope")
def port_is_down(site: Site, dice: random.Random) -> Any:
    """A NIC of the run is DOWN in both readings around it."""
    host, rail = dice.choice(site.hosts), _rail(site, dice)
    for word in ("before", "after"):
        site.nic(host, word, rail)["state"] = "DOWN"


@attack("scope")
def readings_are_of_two_switches(site: Site, dice: random.Random) -> Any:
    """One switch was read before, another one after the run."""
    if not _switch(site):
        return False
    site.switches["sw02"] = {"after": site.switches["sw01"].pop("after")}
    return True


@attack("scope")
def switch_was_read_at_other_ports(site: Site, dice: random.Random) -> Any:
    """Other ports were read after the run than before."""
    if not _switch(site):
        return False
    ports = site.switches["sw01"]["after"]["ports"]
    site.switches["sw01"]["after"]["ports"] = {f"2/{name[2:]}": port for name, port in ports.items()}
    return True


@attack("scope")
def ports_of_a_host_were_not_read(site: Site, dice: random.Random) -> Any:
    """The ports of one host are missing in both readings, another host's moved the sum."""
    if not _switch(site):
        return False
    first, second = _two(site, dice)
    for rail in range(site.run.rails):
        number = site.hosts.index(first) * site.run.rails + rail + 1
        for word in ("before", "after"):
            del site.switches["sw01"][word]["ports"][f"1/{number}"]
    site.grow_ports(2, hosts=[second])
    return True


@attack("scope")
def readings_are_simulated(site: Site, dice: random.Random) -> Any:
    """A reading of a NIC comes from a simulator."""
    site.rdma[dice.choice(site.hosts)][dice.choice(("before", "after"))]["simulated"] = True


@attack("scope")
def reading_has_an_error(site: Site, dice: random.Random) -> Any:
    """A reading failed, and old values stand beside the error."""
    site.rdma[dice.choice(site.hosts)][dice.choice(("before", "after"))]["error"] = "Failed to connect to the host"


@attack("scope")
def switch_reading_has_an_error(site: Site, dice: random.Random) -> Any:
    """The switch did not answer, and old values stand beside the error."""
    if not _switch(site):
        return False
    site.switches["sw01"][dice.choice(("before", "after"))]["error"] = "no route to host"
    return True


@attack("scope")
def layer_is_not_verified(site: Site, dice: random.Random) -> Any:
    """A layer is not as wanted, or one of the hosts was not looked at."""
    layer = dice.choice(sorted(site.inputs["layers"]))
    said = (False, None) if layer in ("nic", "container", "mesh", "run") else (False,)
    site.inputs["layers"][layer]["verified"] = dice.choice(said)


@attack("scope")
def fabric_check_found_a_slow_host(site: Site, dice: random.Random) -> Any:
    """The fabric check before the job names a host of it."""
    host = dice.choice(site.hosts)
    fault = {"thing": "slow", "kind": "nic", "place": f"{host} rail 0", "hosts": [host], "found": "4 of 4 bad"}
    site.inputs["evidence"]["fabric"] = {
        "at": STARTED - 300,
        "report": {
            "schema": 1,
            "form": "quick",
            "ok": False,
            "complete": True,
            "simulated": False,
            "hosts": site.hosts,
            "rails": site.run.rails,
            "missing": [],
            "faults": [{**fault, "remedy": "swap the cable"}],
            "measured": {"ib_write_bw": {"tests": 24, "bad": 4, "medians": {"rail 0": 191.5}}},
        },
    }


# ----------------------------------------------------------------------------------------------------------------- path


def _both(site: Site, dice: random.Random, pattern: str, text: str, ends: int) -> None:
    """Change one channel at one end or at both."""
    lines = site.both_ends(dice.choice(site.channels()))
    for number in dice.sample(lines, min(ends, len(lines))):
        site.nccl[number] = re.sub(pattern, text, site.nccl[number])


@attack("path")
def one_channel_by_sockets(site: Site, dice: random.Random) -> Any:
    """One channel goes through TCP."""
    _both(site, dice, r"via NET/IB/(\d+)\S*", r"via NET/Socket/\1", 2)


@attack("path")
def one_end_by_sockets(site: Site, dice: random.Random) -> Any:
    """One end of a channel says TCP."""
    _both(site, dice, r"via NET/IB/(\d+)\S*", r"via NET/Socket/\1", 1)


@attack("path")
def one_channel_staged(site: Site, dice: random.Random) -> Any:
    """One channel stages in host memory at both ends."""
    _both(site, dice, r"/GDRDMA\S*", "", 2)


@attack("path")
def sending_end_staged(site: Site, dice: random.Random) -> Any:
    """One sending end stages in host memory."""
    number = dice.choice(site.channels("send"))
    site.nccl[number] = re.sub(r"/GDRDMA\S*", "", site.nccl[number])


@attack("path")
def receiving_end_staged(site: Site, dice: random.Random) -> Any:
    """One receiving end stages in host memory."""
    number = dice.choice(site.channels("receive"))
    site.nccl[number] = re.sub(r"/GDRDMA\S*", "", site.nccl[number])


@attack("path")
def all_sending_ends_staged(site: Site, dice: random.Random) -> Any:
    """GPUDirect RDMA in receiving only."""
    for number in site.channels("send"):
        site.nccl[number] = re.sub(r"/GDRDMA\S*", "", site.nccl[number])


@attack("path")
def all_channels_staged(site: Site, dice: random.Random) -> Any:
    """No channel has GPUDirect RDMA."""
    return site.replace(r"/GDRDMA\S*", "")


@attack("path")
def staged_through_shared_memory(site: Site, dice: random.Random) -> Any:
    """Between GPUs of a host the data goes through host memory (SHM), in one channel or in all."""
    return site.replace(r"via P2P/CUMEM/read", "via SHM/direct/direct", count=dice.choice((1, 0)))


@attack("path")
def another_network_plugin(site: Site, dice: random.Random) -> Any:
    """Channels go over another network than the job allowed."""
    name = dice.choice(("IBext_v8", "AWS Libfabric", "OFI", "UCX"))
    return site.replace(r"via NET/IB/", f"via NET/{name}/", count=dice.choice((2, 0)))


@attack("path")
def process_uses_sockets(site: Site, dice: random.Random) -> Any:
    """One process, or all, said that it uses sockets."""
    return site.replace(r"Using network IB", "Using network Socket", count=dice.choice((1, 0)))


@attack("path")
def nic_is_infiniband_for_nccl(site: Site, dice: random.Random) -> Any:
    """NCCL names a NIC as InfiniBand."""
    return site.replace(rf"^({dice.choice(site.hosts)}:.*Using.*)/RoCE", r"\1/IB")


def _say(site: Site, host: str, text: str) -> None:
    """One more line of a process of this host, behind its first one."""
    number = next(number for number, line in enumerate(site.nccl) if line.startswith(f"{host}:"))
    head = site.nccl[number].split("NCCL INFO ", maxsplit=1)[0]
    site.nccl.insert(number + 1, head + text)


@attack("path")
def nccl_says_gpudirect_is_disabled(site: Site, dice: random.Random) -> Any:
    """NCCL found no way for a NIC into GPU memory."""
    host = dice.choice(site.hosts)
    text = dice.choice(
        (
            "NET/IB : GPU Direct RDMA Disabled for HCA 0 'mlx5_0' (no module)",
            f"GPU Direct RDMA Disabled for GPU {site.rank_of(host)} / HCA 0 (distance 9 > 5)",
        )
    )
    _say(site, host, f"NCCL INFO {text}")


@attack("path")
def ring_summary_says_no_gpudirect(site: Site, dice: random.Random) -> Any:
    """NCCL's own summary says GDR 0."""
    return site.replace(r"Connected all rings", "Connected all rings, use ring PXN 0 GDR 0", count=dice.choice((1, 0)))


@attack("path")
def completion_with_error(site: Site, dice: random.Random) -> Any:
    """The NIC reported a failed transfer."""
    status, vendor = dice.choice(((12, 129), (4, 81), (5, 249), (10, 136)))
    _say(
        site,
        dice.choice(site.hosts),
        f"NCCL WARN NET/IB: Got completion from peer 10.0.0.2<40000> with status={status} opcode=0 len=0 vendor err "
        f"{vendor} (Send) localGid ::ffff:10.0.0.1 remoteGidsGids ::ffff:10.0.0.2 hca mlx5_0",
    )


@attack("path")
def environment_forbids_ib(site: Site, dice: random.Random) -> Any:
    """A process was told not to use RDMA."""
    name, value = dice.choice((("NCCL_IB_DISABLE", "1"), ("NCCL_NET", "Socket"), ("NCCL_NET_GDR_LEVEL", "LOC")))
    _say(site, dice.choice(site.hosts), f"NCCL INFO {name} set by environment to {value}.")


@attack("path")
def channel_over_a_nic_that_is_not_there(site: Site, dice: random.Random) -> Any:
    """A channel takes a NIC that NCCL did not list."""
    _both(site, dice, r"via NET/IB/\d+", "via NET/IB/19", dice.choice((1, 2)))


@attack("path")
def hosts_by_nvlink(site: Site, dice: random.Random) -> Any:
    """A channel between hosts goes over memory of the peer: they are no hosts apart, or no RDMA."""
    _both(site, dice, r"\[(send|receive)\] via NET/\S+", "via P2P/CUMEM", 2)


@attack("path")
def channel_line_is_cut(site: Site, dice: random.Random) -> Any:
    """A line of a channel ends within its path."""
    number = dice.choice(site.channels())
    site.nccl[number] = re.sub(r"(via NET/IB).*", dice.choice((r"\1", r"\1/", r"\1/0/GDR", "via N")), site.nccl[number])


@attack("path")
def channel_is_missing_at_one_end(site: Site, dice: random.Random) -> Any:
    """One end of a channel printed no line."""
    del site.nccl[dice.choice(site.channels())]


@attack("path")
def start_did_not_complete(site: Site, dice: random.Random) -> Any:
    """A rank did not finish the start of NCCL."""
    last = [number for number, line in enumerate(site.nccl) if line.endswith("Init COMPLETE")]
    del site.nccl[dice.choice(last)]
    return bool(last)


@attack("path")
def rank_is_missing_in_the_probe(site: Site, dice: random.Random) -> Any:
    """NCCL's log has no line of one rank."""
    rank = dice.randrange(site.run.size)
    site.nccl = [line for line in site.nccl if f":{1000 + rank}:{2000 + rank} " not in line]


@attack("path")
def several_versions_of_nccl(site: Site, dice: random.Random) -> Any:
    """Two hosts loaded different versions."""
    site.nccl.append("NCCL version 2.10.3+cuda11.4")


@attack("path")
def training_without_nccl(site: Site, dice: random.Random) -> Any:
    """The timed run used another backend than the probe."""
    backend = dice.choice(("gloo", "mpi", ""))
    site.records(lambda record: record.update(backend=backend), *some(dice, list(range(site.run.size))))


@attack("path")
def training_without_gpus(site: Site, dice: random.Random) -> Any:
    """Ranks computed on the processor."""
    site.records(lambda record: record.update(device="cpu"), *some(dice, list(range(site.run.size))))


@attack("path")
def kernel_has_no_way_into_gpu_memory(site: Site, dice: random.Random) -> Any:
    """A host has neither P2PDMA nor peer memory: GPUDirect RDMA was not possible on it."""
    said = site.said[dice.choice(site.hosts)]
    said["said"] = said["said"].replace("P2PDMA y, nvidia_peermem y", "P2PDMA n, nvidia_peermem n")


@attack("path")
def nccl_was_aborted(site: Site, dice: random.Random) -> Any:
    """A rank aborted its communicator."""
    return site.replace(r"Init COMPLETE", "Abort COMPLETE", count=dice.choice((1, 0)))


@attack("path")
def path_of_one_pair_is_that_of_a_smaller_log(site: Site, dice: random.Random) -> Any:
    """NCCL's log ends in the middle."""
    site.nccl = site.nccl[: round(len(site.nccl) * dice.choice((0.3, 0.6, 0.9)))]


# --------------------------------------------------------------------------------------------------------------- result


@attack("result")
def loss_is_no_number(site: Site, dice: random.Random) -> Any:
    """A rank's, or everybody's, loss is NaN or infinite."""
    word = dice.choice(("nan", "NaN", "inf", "-inf"))
    rank = dice.choice((r"\d+", str(dice.randrange(site.run.size))))
    step = dice.choice(("50", "100"))
    return site.replace(rf"^(\[1,{rank}\]<stdout>:{step}\t.*\t)7\.100$", rf"\g<1>{word}", of="training")


@attack("result")
def rank_has_no_result(site: Site, dice: random.Random) -> Any:
    """One rank wrote no record."""
    rank = f'"rank": {dice.randrange(site.run.size)},'
    site.training = [line for line in site.training if rank not in line]


@attack("result")
def host_has_no_result(site: Site, dice: random.Random) -> Any:
    """No rank of a host printed anything."""
    first = site.rank_of(dice.choice(site.hosts))
    gone = tuple(f"[1,{rank}]" for rank in range(first, first + site.run.gpus))
    site.training = [line for line in site.training if not line.startswith(gone)]


@attack("result")
def log_is_cut_by_lines(site: Site, dice: random.Random) -> Any:
    """The training's log ends early."""
    site.training = site.training[: round(len(site.training) * dice.choice((0.2, 0.5, 0.8)))]


@attack("result")
def log_is_cut_within_a_line(site: Site, dice: random.Random) -> Any:
    """The training's log ends within its last line."""
    site.training[-1] = site.training[-1][: -dice.choice((1, 2, 40, 200))]


@attack("result")
def rank_is_a_step_short(site: Site, dice: random.Random) -> Any:
    """A rank made a step less than the others."""
    rank = dice.randrange(site.run.size)
    site.records(lambda record: record.update(batches=99), rank)
    return site.replace(rf"^(\[1,{rank}\]<stdout>:)100\t", "\\g<1>99\t", of="training")


@attack("result")
def all_are_a_step_short(site: Site, dice: random.Random) -> Any:
    """All ranks made a step less than the head of the log announced."""
    site.records(lambda record: record.update(batches=99, wall_seconds=99 * 256 / 2000.0))
    return site.replace(r"^(\[1,\d+\]<stdout>:)100\t", "\\g<1>99\t", of="training")


@attack("result")
def last_step_is_missing(site: Site, dice: random.Random) -> Any:
    """A rank did not print its last step."""
    rank = dice.randrange(site.run.size)
    site.training = [line for line in site.training if not line.startswith(f"[1,{rank}]<stdout>:100\t")]


@attack("result")
def more_steps_were_announced(site: Site, dice: random.Random) -> Any:
    """The head of the log announces twice as many steps as the ranks made."""
    return site.replace(r"Num batches: 100", "Num batches: 200", of="training")


_BAR = "-" * 74


@attack("result")
def launcher_reports_exit_status(site: Site, dice: random.Random) -> Any:
    """mpirun says that a process ended with an error."""
    host = dice.choice(site.hosts)
    rank = site.rank_of(host)
    site.training += dice.choice(
        (
            [
                "-" * 55,
                "Primary job  terminated normally, but 1 process returned",
                "a non-zero exit code. Per user-direction, the job has been aborted.",
                "-" * 55,
                _BAR,
                "mpirun detected that one or more processes exited with non-zero status, thus causing",
                "the job to be terminated. The first process to do so was:",
                "",
                f"  Process name: [[53961,1],{rank}]",
                "  Exit code:    7",
                _BAR,
            ],
            [
                _BAR,
                f"mpirun noticed that process rank {rank} with PID 0 on node {host} exited on signal 9 (Killed).",
                _BAR,
            ],
        )
    )


@attack("result")
def rank_died_of_an_exception(site: Site, dice: random.Random) -> Any:
    """A rank's traceback stands in the log."""
    rank = dice.randrange(site.run.size)
    head = f"[1,{rank}]<stderr>:"
    error = dice.choice(
        (
            "torch.cuda.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB",
            "RuntimeError: CUDA error: an illegal memory access was encountered",
            "torch.distributed.DistBackendError: NCCL error: remote process exited or there was a network error",
        )
    )
    trace = ["Traceback (most recent call last):", '  File "train.py", line 5, in <module>', "    main()", error]
    at = next(number for number, line in enumerate(site.training) if RECORD in line)
    site.training[at:at] = [head + line for line in trace]


@attack("result")
def weights_differ(site: Site, dice: random.Random) -> Any:
    """A rank ended with other weights: the gradients were not exchanged."""
    site.records(lambda record: record.update(checksum="6" * 64), *some(dice, list(range(site.run.size)))[:-1] or [0])


@attack("result")
def weights_are_not_known(site: Site, dice: random.Random) -> Any:
    """Ranks do not tell their weights, or one does not."""
    site.records(lambda record: record.update(checksum=""), *some(dice, list(range(site.run.size))))


@attack("result")
def rank_reports_twice(site: Site, dice: random.Random) -> Any:
    """Two records of one rank, none of another."""
    first, second = dice.sample(range(site.run.size), 2)
    site.records(lambda record: record.update(rank=second), first)


@attack("result")
def total_is_not_the_sum(site: Site, dice: random.Random) -> Any:
    """The printed total contradicts the ranks."""
    factor = dice.choice((0.5, 1.2, 4))
    total = 2000.0 * site.run.size
    site.records(lambda record: record.update(total_images_per_second=total * factor))
    return site.replace(rf"total images/sec: {total:.2f}", f"total images/sec: {total * factor:.2f}", of="training")


@attack("result")
def rate_contradicts_the_time(site: Site, dice: random.Random) -> Any:
    """A rank's rate is several times what its steps and its time make."""
    site.records(lambda record: record.update(wall_seconds=record["wall_seconds"] / dice.choice((3, 10))))


@attack("result")
def rate_is_no_rate(site: Site, dice: random.Random) -> Any:
    """A rank's rate is zero, negative or no number."""
    value = dice.choice((0.0, -2000.0, float("nan"), None, "fast"))
    site.records(lambda record: record.update(images_per_second=value), dice.randrange(site.run.size))


@attack("result")
def ranks_had_other_batches(site: Site, dice: random.Random) -> Any:
    """A rank trained with another batch size than the others: they are of different runs."""
    site.records(lambda record: record.update(batch_size=64), dice.randrange(site.run.size))


@attack("result")
def exchange_was_not_measured(site: Site, dice: random.Random) -> Any:
    """A rank, or all, did not measure the all-reduce."""
    site.records(lambda record: record.pop("exchange"), *some(dice, list(range(site.run.size))))


@attack("result")
def exchange_of_another_size(site: Site, dice: random.Random) -> Any:
    """A rank measured another all-reduce than the others."""
    site.records(lambda record: record["exchange"].update(bytes=1 << 20), dice.randrange(site.run.size))


@attack("result")
def exchange_never_happened(site: Site, dice: random.Random) -> Any:
    """Bytes, times or seconds of the all-reduce are zero or negative."""
    key, value = dice.choice((("bytes", 0), ("times", 0), ("seconds", 0), ("seconds", -1.0)))
    site.records(lambda record: record["exchange"].update({key: value}))


@attack("result")
def log_is_empty(site: Site, dice: random.Random) -> Any:
    """There is no training's log."""
    site.training = []


@attack("time")
def host_was_read_before_the_end(site: Site, dice: random.Random) -> Any:
    """Readings lie around another, shorter run: all of the job's times are 10 minutes later."""
    site.job["started"] += 600
    site.job["ended"] += 600
    return site.job["started"] > READ_AT
