"""The check from its first plan to its report, with what hosts would print."""

from __future__ import annotations

import base64
import dataclasses
import json
import re
import xml.etree.ElementTree as ET
import zlib
from pathlib import Path
from typing import Any

import pytest
import yaml
from ansible_collections.rocemesh.multinode.plugins.module_utils._fabric.check import Options, next_part
from ansible_collections.rocemesh.multinode.plugins.module_utils._layer import LayerError

from tests.unit.fabric.test_schedule import agent

HEAD = (
    "                    RDMA_Write BW Test\n Mtu             : 4096[B]\n"
    " #bytes     #iterations    BW peak[Gb/sec]    BW average[Gb/sec]   MsgRate[Mpps]"
)
NODE = agent()


def device(host: int, rail: int, **rest: Any) -> dict[str, Any]:
    return {
        "name": f"mlx5_{rail}",
        "port": 1,
        "netdev": f"ens{rail}",
        "link_layer": "Ethernet",
        "state": "ACTIVE",
        "rate": "400 Gb/sec (4X NDR)",
        "active_mtu": 4096,
        "netdev_mtu": 9000,
        "roce_gid_index": 3,
        "roce_gid_ipv4": f"10.{rail}.0.{host + 1}",
        "qos": {"trust": "dscp", "pfc_priorities": [3]},
        "pcie": {"current_link_width": 16, "max_link_width": 16, "current_link_speed": 32.0, "max_link_speed": 32.0},
        **rest,
    }


def site(
    hosts: int = 6, rails: int = 2, changed: dict[tuple[int, int], dict[str, Any]] | None = None, **options: Any
) -> dict[str, Any]:
    names = [f"gpu{number:02d}" for number in range(hosts)]
    readings = {
        name: {
            "devices": [device(host, rail, **(changed or {}).get((host, rail), {})) for rail in range(rails)],
            "simulated": True,
        }
        for host, name in enumerate(names)
    }
    ports = {f"1/{host + 1}": {"neighbors": [{"system": name, "port": "ens1"}]} for host, name in enumerate(names)}
    return {
        "hosts": [{"name": name, "address": f"192.0.2.{number % 250}"} for number, name in enumerate(names)],
        "readings": readings,
        "switches": {"leaf1": {"ports": ports}},
        "options": {"networks": [f"10.{rail}.0.0/16" for rail in range(rails)], **options},
    }


def printed(
    part: dict[str, Any],
    value: Any = lambda _pair: 390.0,
    silent: tuple[int, ...] = (),
    counted: dict[int, Any] | None = None,
) -> str:
    """What the first host would print: every probe answered, every measurement with `value` of its pair.

    ``counted``: host to the counters of its NICs that grew.
    """
    plan = json.loads(zlib.decompress(base64.b64decode(part["plan"])))
    rails, count = plan["rails"], len(plan["hosts"])
    lines: dict[int, dict[str, Any]] = {
        host: {"look": {}, "probes": [], "heard": {}, "sources": {}, "heads": [HEAD], "tests": []}
        for host in range(count)
    }
    for host, found in (counted or {}).items() if part["part"] == "measure" else ():
        lines[host]["counters"] = found
    for turn, sweeps in enumerate(plan["rounds"]):
        for pair in (pair for sweep in sweeps for pair in NODE.pairs(sweep, count, rails, plan["absent"])):
            if part["part"] == "reach":
                for source, target in (pair, pair[::-1]):
                    told = {"tos": plan["tos"], "in": f"ens{target % rails}", "size": 64}
                    lines[source // rails]["probes"].append({"from": source, "to": target, "small": told, "full": told})
                continue
            figure = value(pair)
            rate = figure * 1e3 / 8 / 1048576
            row = f" 1048576    20000            0.00               {figure:.2f}              {rate:.6f}"
            test = [row] if figure else [" Failed status 12: wr_id 0 syndrom 0x81"]
            lines[pair[0] // rails]["tests"].append(
                [turn, 0, *pair, "client", 0 if figure else -1, test, 0 if figure else 1]
            )
    documents = [dict(piece, host=host) for host, line in lines.items() for piece in NODE.pieces({**line, "end": True})]
    text = [f"[1,0]<stdout>:FABRIC {json.dumps(each)}\n" for each in documents if each["host"] not in silent]
    assert max(map(len, text)) < 1 << 16  # what the reader of tags takes
    return "".join(text)


def whole(
    what: dict[str, Any],
    value: Any = lambda _pair: 390.0,
    silent: tuple[int, ...] = (),
    counted: dict[int, Any] | None = None,
) -> tuple[dict[str, Any], list[str]]:
    outputs: list[str] = []
    parts = []
    part = next_part(what, [])
    while part["part"] != "done":
        parts.append(part["part"])
        assert len(parts) < 6
        outputs.append(printed(part, value, silent, counted))
        part = next_part(what, outputs)
    return part, parts


def test_right_fabric_takes_two_parts_and_is_ok() -> None:
    part, parts = whole(site())
    assert parts == ["reach", "measure"]
    report = part["report"]
    assert report["ok"] and report["complete"] and report["simulated"] and report["faults"] == []
    assert report["measured"]["ib_write_bw"]["medians"]["rail 0"] == pytest.approx(390.0)
    assert report["table"] == [
        "SIMULATED: a device or a program of this check is no real one.",
        "6 host(s), 2 rail(s): nothing found.",
    ]
    assert json.loads(json.dumps(report, allow_nan=False)) == report
    picture = ET.fromstring(part["heat_map"])
    assert len(picture.findall("{http://www.w3.org/2000/svg}rect")) == 36
    assert "SIMULATED" in part["heat_map"]


def test_slow_nic_is_confirmed_and_named_with_its_switch_port() -> None:
    part, parts = whole(site(), lambda pair: 150.0 if 5 in pair else 390.0)
    assert parts == ["reach", "measure", "confirm"]
    (fault,) = part["report"]["faults"]
    assert (fault["thing"], fault["kind"], fault["hosts"]) == ("slow", "nic", ["gpu02"])
    assert fault["place"] == "gpu02 rail 1 (mlx5_1) at leaf1 1/3"
    assert "38 %" in fault["found"] and fault["remedy"]
    assert not part["report"]["ok"]


def test_slow_nic_of_a_small_switch_is_not_the_switch() -> None:
    part, _parts = whole(site(4), lambda pair: 150.0 if 5 in pair else 390.0)
    assert [fault["place"] for fault in part["report"]["faults"]] == ["gpu02 rail 1 (mlx5_1) at leaf1 1/3"]


def test_what_perftest_said_stands_beside_a_dead_place() -> None:
    part, _parts = whole(site(), lambda pair: 0.0 if 4 in pair or 5 in pair else 390.0)
    (fault,) = part["report"]["faults"]
    assert (fault["thing"], fault["place"]) == ("dead", "host gpu02")
    assert "Failed status 12" in fault["found"]


def test_host_without_an_answer_is_missing_and_the_report_is_not_complete() -> None:
    part, _parts = whole(site(), silent=(3,))
    report = part["report"]
    assert report["missing"] == ["gpu03"]
    assert not report["ok"] and not report["complete"]
    assert [(fault["thing"], fault["place"]) for fault in report["faults"]] == [("agent", "host gpu03")]


@pytest.mark.parametrize(
    ("change", "thing"),
    [
        ({"netdev_mtu": 1500}, "mtu"),
        ({"active_mtu": 1024}, "rdma mtu"),
        ({"rate": "100 Gb/sec (4X EDR)"}, "rate"),
        ({"state": "DOWN"}, "state"),
        ({"qos": {"trust": "pcp", "pfc_priorities": [3]}}, "trust"),
        ({"qos": {"trust": "dscp", "pfc_priorities": []}}, "pfc"),
        ({"firmware": "20.31.1014"}, "firmware"),
        ({"pcie": {"current_link_width": 8, "max_link_width": 16}}, "pcie"),
        ({"pcie": {"current_link_speed": 8.0, "max_link_speed": 32.0}}, "pcie"),
    ],
)
def test_nic_that_reads_otherwise_than_its_rail_is_named(change: dict[str, Any], thing: str) -> None:
    odd = {(host, 1): {"firmware": "28.39.1002"} for host in range(6)}
    odd[4, 1] = {**odd[4, 1], **change}
    part, _parts = whole(site(changed=odd))
    assert [(fault["thing"], fault["hosts"]) for fault in part["report"]["faults"]] == [(thing, ["gpu04"])]


def test_slot_of_an_older_generation_in_all_hosts_is_no_fault() -> None:
    link = {"pcie": {"current_link_speed": 16.0, "max_link_speed": 32.0}}
    part, _parts = whole(site(changed={(host, 1): link for host in range(6)}))
    assert part["report"]["faults"] == [] and part["report"]["ok"]


def test_host_with_one_more_port_is_refused_where_no_network_says_which_are_rails() -> None:
    what = site()
    what["options"]["networks"] = []
    extra = {**what["readings"]["gpu02"]["devices"][0], "name": "mlx5_9", "netdev": "eth9", "roce_gid_ipv4": "10.9.0.2"}
    what["readings"]["gpu02"]["devices"].append(extra)
    with pytest.raises(LayerError, match="rocemesh_roce_networks") as refused:
        next_part(what, [])
    assert refused.value.host == "gpu02" and refused.value.as_result()["no_plan"]


def test_host_with_one_port_less_is_refused_where_no_network_says_which() -> None:
    """Its other ports were measured on the wrong rails, and their cables said to be plugged wrongly."""
    what = site()
    del what["readings"]["gpu02"]["devices"][0]
    part, _parts = whole(what)
    assert [fault["place"] for fault in part["report"]["faults"]] == ["gpu02 rail 0"]
    what["options"]["networks"] = []
    with pytest.raises(LayerError) as refused:
        next_part(what, [])
    assert refused.value.host == "gpu02" and refused.value.as_result()["no_plan"]


@pytest.mark.parametrize(
    ("name", "own", "lldp"),
    [
        ("gpu02.rack1.example", "", "gpu02"),
        ("gpu02.rack1.example", "", "GPU02.rack1.example"),
        ("GPU02", "", "gpu02.rack1.example"),
        ("trainer", "gpu02.rack1.example", "GPU02"),
    ],
)
def test_neighbor_is_the_host_however_both_write_its_name(name: str, own: str, lldp: str) -> None:
    what = site()
    what["hosts"][2]["name"] = name
    what["readings"][name] = {**what["readings"].pop("gpu02"), "hostname": own}
    what["switches"]["leaf1"]["ports"]["1/3"]["neighbors"][0]["system"] = lldp
    part, _parts = whole(what, lambda pair: 150.0 if 5 in pair else 390.0)
    assert [fault["place"] for fault in part["report"]["faults"]] == [f"{name} rail 1 (mlx5_1) at leaf1 1/3"]


def test_neighbor_whose_name_several_hosts_have_is_none_of_them() -> None:
    what = site()
    for host in (2, 3):
        what["hosts"][host]["name"] = name = f"gpu.rack{host}"
        what["readings"][name] = what["readings"].pop(f"gpu{host:02d}")
    what["switches"]["leaf1"]["ports"]["1/3"]["neighbors"][0]["system"] = "gpu"
    part, _parts = whole(what, lambda pair: 150.0 if 5 in pair else 390.0)
    assert [fault["place"] for fault in part["report"]["faults"]] == ["gpu.rack2 rail 1 (mlx5_1)"]


def test_cable_in_another_switch_is_named_by_lldp() -> None:
    what = site()
    what["switches"]["leaf9"] = {"ports": {"1/7": what["switches"]["leaf1"]["ports"].pop("1/3")}}
    part, _parts = whole(what)
    (fault,) = part["report"]["faults"]
    assert (fault["thing"], fault["hosts"]) == ("cable", ["gpu02"])
    assert "leaf9 1/7" in fault["found"] and "leaf1" in fault["found"]


@pytest.mark.parametrize(("hosts", "away"), [(6, 2), (3, 1)])
def test_hosts_of_another_rack_have_a_switch_of_their_own(hosts: int, away: int) -> None:
    what = site(hosts)
    moved = {f"1/{number + 1}": what["switches"]["leaf1"]["ports"].pop(f"1/{number + 1}") for number in range(away)}
    what["switches"]["leaf2"] = {"ports": moved}
    part, _parts = whole(what)
    assert part["report"]["faults"] == [] and part["report"]["ok"]


def test_ports_that_are_no_roce_are_left_out_and_told() -> None:
    changed = {
        (1, 1): {"link_layer": "InfiniBand"},
        (2, 1): {"roce_gid_ipv4": None},
        (3, 1): {"roce_gid_ipv4": "172.16.0.1"},
    }
    part, _parts = whole(site(changed=changed))
    assert len(part["report"]["notes"]) == 3
    assert "gpu01 mlx5_1:1 is left out: InfiniBand, not Ethernet" in part["report"]["notes"]


@pytest.mark.parametrize(("first", "networks"), [("172.16.0.1", True), (None, True), (None, False)])
def test_address_of_a_vlan_is_that_of_its_rail(first: str | None, networks: bool) -> None:
    """The interface of the port is the one below it, which may have an address of another network first."""
    on_vlan = {"index": 5, "type": "RoCE v2", "ipv4": "10.1.0.3", "netdev": "ens1.111"}
    others = [{"index": 3, "type": "RoCE v2", "ipv4": first, "netdev": "ens1"}] if first else []
    older = {"index": 4, "type": "RoCE v1", "ipv4": "10.1.0.3", "netdev": "ens1.111"}
    read = {
        "roce_gid_index": 3 if first else 5,
        "roce_gid_ipv4": first or "10.1.0.3",
        "gids": [*others, older, on_vlan],
    }
    what = site(changed={(2, 1): read}, **({} if networks else {"networks": []}))
    plan = json.loads(zlib.decompress(base64.b64decode(next_part(what, [])["plan"])))
    nic = plan["hosts"][2]["rails"][1]
    assert (nic["address"], nic["gid_index"], nic["netdev"]) == ("10.1.0.3", 5, "ens1.111")
    assert plan["absent"] == [] and plan["hosts"][1]["rails"][1]["netdev"] == "ens1"


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            {"options": {"networks": ["203.0.113.0/24"]}},
            "no host has an active RoCE v2 port.*203.0.113.0/24.*What to do",
        ),
        ({"options": {"limit": 5}}, "fabric_limit.*takes .* and the limit is 5 s"),
        ({"options": {"form": "fast"}}, "fabric_form 'fast': is none of quick, full, bisection"),
        ({"options": {"programs": ["rm"]}}, "fabric_programs 'rm': is none of ib_write_bw"),
        ({"options": {"seconds": 0}}, "fabric_options.seconds 0.0: perftest takes whole seconds"),
        ({"options": {"speed": 1}}, "options 'speed': is not known"),
    ],
)
def test_refused_before_anything_begins(change: dict[str, Any], message: str) -> None:
    with pytest.raises((LayerError, ValueError), match=message):
        next_part({**site(), **change}, [])


def test_every_option_is_a_variable_of_the_role() -> None:
    role = Path(__file__).parents[3] / "roles/fabric"
    variables = yaml.safe_load((role / "vars/main.yml").read_text())
    keys = set(variables["__fabric_options_defaults"])
    given = dict(re.findall(r"'(\w+)': ([\w.]+)", variables["__fabric_site"]["options"]))
    assert keys | set(given) == {field.name for field in dataclasses.fields(Options)}
    known = set(yaml.safe_load((role / "defaults/main.yml").read_text()))
    assert {f"fabric_{name}" for name in set(given) - keys} <= known
    assert all(given[name] == (f"__fabric_options.{name}" if name in keys else f"fabric_{name}") for name in given)


def test_host_whose_last_line_is_cut_off_is_missing() -> None:
    what = site()
    outputs = [printed(next_part(what, []))]
    outputs.append(printed(next_part(what, outputs)))
    cut = [line for line in outputs[1].splitlines(True) if not ('"end"' in line and '"host": 4' in line)]
    part = next_part(what, [outputs[0], "".join(cut)])
    assert part["report"]["missing"] == ["gpu04"]
    assert not part["report"]["complete"]


def test_line_that_is_not_whole_is_shown_and_refused() -> None:
    with pytest.raises((LayerError, ValueError), match=r"is not whole.*FABRIC"):
        next_part(site(), ['[1,0]<stdout>:FABRIC {"host": 1, "probes": [\n'])
