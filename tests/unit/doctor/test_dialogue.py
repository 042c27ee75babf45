"""The doctor asks a person: what is shown, what may be given, when it ends; and facts of roles as pieces."""

from __future__ import annotations

import configparser
from pathlib import Path
from typing import Any

import pytest
from ansible.parsing.dataloader import DataLoader
from ansible.template import Templar
from ansible_collections.rocemesh.multinode.plugins.callback.doctor_status import CallbackModule
from ansible_collections.rocemesh.multinode.plugins.module_utils._doctor import dialogue
from ansible_collections.rocemesh.multinode.plugins.module_utils._doctor.doctor import diagnose, evidence_texts

from lab.gym import model, site
from lab.gym.faults import FAULTS
from tests.older_core import trust_as_template
from tests.unit.roles.collection import ROOT, load

PIECES = model.broken([(FAULTS["gpu_ecc"], "gpu02")])
LOG = {site.JOB: PIECES[site.JOB]}
DMESG = PIECES["hosts/gpu02/dmesg.txt"]


class Person:
    """Gives these answers one after another, then stops."""

    def __init__(self, *answers: str | None) -> None:
        self.answers = list(answers)
        self.shown: list[str] = []

    def __call__(self, text: str) -> str | None:
        self.shown.append(text)
        return self.answers.pop(0) if self.answers else "q"


def test_a_person_gives_a_file_and_one_cause_is_left(tmp_path: Path) -> None:
    (tmp_path / "out.txt").write_text(DMESG)
    person = Person(f"{tmp_path}/out.txt\n")
    talk = dialogue.talk(None, LOG, person)
    assert (talk.ended, talk.asked, talk.answer["settled"]) == (dialogue.SETTLED, ["kernel_log"], "gpu_fault")
    assert "dmesg -T" in person.shown[0] and "on the hosts" in person.shown[0]


def test_what_is_pasted_of_many_hosts_is_of_each_of_them() -> None:
    said = "gpu01 | CHANGED | rc=0 >>\nquiet\n" + "gpu02 | CHANGED | rc=0 >>\n" + DMESG
    talk = dialogue.talk(None, LOG, Person(said))
    assert talk.answer["findings"][0]["hosts"] == ["gpu02"]


def test_what_begins_like_the_home_of_nobody_is_an_output() -> None:
    assert dialogue.talk(None, LOG, Person("~# dmesg", "q")).asked == ["kernel_log"]


def test_nothing_printed_leads_to_the_next_question_and_q_ends_it() -> None:
    talk = dialogue.talk(None, LOG, Person("", "q"))
    assert (talk.ended, talk.asked) == (dialogue.STOPPED, ["kernel_log"])
    assert talk.answer["next"][0]["look"] not in ("", "kernel_log")


def test_without_a_terminal_the_answer_has_the_list() -> None:
    talk = dialogue.talk(None, LOG, Person(None))
    assert (talk.ended, talk.asked) == (dialogue.NO_TERMINAL, [])
    assert talk.answer["next"] == diagnose(None, LOG)["next"]


def test_it_ends_though_nothing_ever_settles_it() -> None:
    talk = dialogue.talk(None, LOG, Person(*[""] * 50))
    assert talk.ended == dialogue.NO_MORE and len(talk.asked) <= dialogue.MOST


SWITCH = {
    "roce": {"mode": "lossless", "trust": "L3", "ecn": "ecn, absolute", "pfc": "enabled"},
    "ports": {"1/1": {"mtu": 9216, "admin": "up", "oper": "up", "counters": {"rx_discards": 0, "tx_discards": 0}}},
    "problems": [],
    "unreadable": [],
}
KERNEL = {"name": "atsSupport", "type": "Bool", "configured": "TRUE", "runtime": "TRUE", "default": "FALSE"}
ROW = {"asked": "esx01", "problem": "", "maintenance": False, "connection": "connected"}
VCENTER = {"hosts": [ROW], "vms": [{"asked": "gpu01", "problem": "", "power": "poweredOn"}]}
RIGHT: dict[str, Any] = {
    "gpu01": {"said": "=== ROCEMESH ulimit.txt\nulimit -l: unlimited"},
    "switches/sw01": SWITCH,
    "esxi/esx01": {"found": [KERNEL]},
    "vms/gpu01": {"changes": [], "power_state": "poweredOn"},
    "vcenter": VCENTER,
}


def ask(**more: Any) -> dict[str, Any]:
    names = {name.replace("__", "/"): value for name, value in more.items()}
    return diagnose(None, evidence_texts({**RIGHT, **names}))


def test_facts_of_a_right_site_show_no_fault() -> None:
    found = ask()
    assert (found["verdict"], found["findings"], found["unknown"]) == ("no_fault_seen", [], [])
    assert [gap["code"] for gap in found["not_shown"]] == ["job"]


@pytest.mark.parametrize(
    ("name", "value", "cause", "host"),
    [
        ("switches__sw01", {**SWITCH, "roce": {**SWITCH["roce"], "pfc": "disabled"}}, "switch_pfc", "sw01"),
        ("switches__sw01", {**SWITCH, "roce": {"mode": "absent"}}, "switch_pfc", "sw01"),
        ("switches__sw01", {**SWITCH, "problems": ["port 1/1 does not trust DSCP"]}, "switch_pfc", "sw01"),
        ("switches__sw01", {**SWITCH, "ports": {"1/1": {"mtu": 1500}}}, "switch_mtu", "sw01"),
        ("switches__sw01", {**SWITCH, "ports": {"1/1": {"counters": {"tx_discards": 4711}}}}, "switch_pfc", "sw01"),
        ("esxi__esx01", {"found": [{**KERNEL, "runtime": "FALSE"}]}, "esxi_setting", "esx01"),
        ("vcenter", {"hosts": [{**ROW, "maintenance": True}]}, "esxi_setting", "esx01"),
        ("vms__gpu01", {"changes": [{"key": "pciPassthru.allowP2P", "before": None}]}, "passthrough_device", "gpu01"),
        ("vms__gpu01", {"changes": [], "power_state": "poweredOff"}, "passthrough_device", "gpu01"),
    ],
)
def test_a_wrong_fact_leads_to_its_cause_at_its_place(name: str, value: Any, cause: str, host: str) -> None:
    first = ask(**{name: value})["findings"][0]
    assert (first["cause"], first["hosts"]) == (cause, [host])


@pytest.mark.parametrize("name", ["switches__sw01", "esxi__esx01", "vms__gpu01"])
def test_what_does_not_answer_hides_nothing_and_is_never_healthy(name: str) -> None:
    silent = {"answer": "unreachable: did not answer"}
    alone = ask(**{name: silent})
    assert alone["verdict"] == "cannot_tell"
    mtu = {"switches__sw02": {**SWITCH, "ports": {"1/1": {"mtu": 1500}}}}
    assert [finding["cause"] for finding in ask(**{name: silent}, **mtu)["findings"]][:1] == ["switch_mtu"]
    assert ask(vcenter={"failed": True, "msg": "no route"})["verdict"] == "cannot_tell"


class _Task:
    action = "rocemesh.multinode.doctor"


class _Result:
    _task = _Task()

    def __init__(self, status: int) -> None:
        self._result = {"exit_status": status}


class _Playbook:
    def __init__(self, name: str) -> None:
        self._file_name = name


@pytest.mark.parametrize("status", [0, 2, 3])
def test_the_playbook_ends_with_the_status_of_its_last_answer(status: int) -> None:
    callback = CallbackModule()
    callback.v2_playbook_on_start(_Playbook("/x/doctor.yml"))
    callback.v2_runner_on_ok(_Result(3))
    callback.v2_runner_on_ok(_Result(status))
    with pytest.raises(SystemExit) as ended:
        callback.v2_playbook_on_stats(None)
    assert ended.value.code == status


def test_no_other_playbook_and_none_without_an_answer_is_ended() -> None:
    for name, answered in (("site.yml", True), ("doctor.yml", False)):
        callback = CallbackModule()
        callback.v2_playbook_on_start(_Playbook(name))
        if answered:
            callback.v2_runner_on_ok(_Result(3))
        callback.v2_playbook_on_stats(None)


def test_no_callback_stands_behind_the_one_that_ends_the_run() -> None:
    """The journal has no last line otherwise, and calls a run interrupted that has an answer."""
    config = configparser.ConfigParser()
    config.read(Path(__file__).parents[3] / "ansible.cfg")
    assert config["defaults"]["callbacks_enabled"].endswith(CallbackModule.CALLBACK_NAME)


def test_hosts_of_a_site_keep_the_order_of_the_inventory() -> None:
    """Of two hosts with one fault the first is named; sets of Ansible's filters have another order in each run."""
    nodes = [f"gpu{number}" for number in (3, 1, 6, 2, 5, 4, 8, 7)]
    told = {name: trust_as_template(str(text)) for name, text in load(ROOT / "playbooks/vars/site.yml").items()}
    known = {"groups": {"gpu_vms": nodes, "switches": ["sw1"]}, "ansible_play_hosts_all": [*sorted(nodes)[:-1], "sw1"]}
    templar = Templar(DataLoader(), {**told, **known})
    assert templar.template(told["__site_nodes"]) == [name for name in nodes if name != "gpu8"]
    assert (templar.template(told["__site_switches"]), templar.template(told["__site_esxi"])) == (["sw1"], [])
