"""How well the doctor asks. ROCEMESH_GYM_QUESTIONS=all plays every fault and 300 pairs and compares docs/questions.md;
without it, a sample of both."""

from __future__ import annotations

import os
from pathlib import Path

from ansible_collections.rocemesh.multinode.plugins.module_utils._doctor.catalogue import catalogue, listed
from ansible_collections.rocemesh.multinode.plugins.module_utils._doctor.doctor import diagnose

from docs import questions as page
from lab.gym import model, questions, site
from lab.gym.faults import FAULTS

ROOT = Path(__file__).resolve().parents[3]
ALL = os.environ.get("ROCEMESH_GYM_QUESTIONS") == "all"
EVERY = 6  # of the single faults, in the sample
PAIRS = 300 if ALL else 12


def chosen() -> list[questions.Set]:
    found = questions.sets(PAIRS)
    singles, pairs = found[: len(FAULTS)], found[len(FAULTS) :]
    return [*(singles if ALL else singles[::EVERY]), *pairs]


def test_few_commands_lead_from_the_job_s_log_to_one_cause_and_it_is_the_right_one() -> None:
    games = [(questions.play(faults), questions.play(faults, check_list=True)) for faults in chosen()]
    asked = [len(game.asked) for game, _fixed in games]
    fixed = [len(game.asked) for _game, game in games]
    assert sum(asked) <= 3 * len(games)
    assert 2 * sum(asked) <= sum(fixed)
    singles = [game for game, _fixed in games if len(game.names) == 1]
    assert [game for game in singles if not game.right] == []
    assert sum(game.right for game, _fixed in games) >= 0.95 * len(games)
    if ALL:
        assert (ROOT / "docs" / "questions.md").read_text(encoding="utf-8") == page.table(games)


def test_what_every_command_of_the_page_decides_stands_there() -> None:
    text = (ROOT / "docs" / "questions.md").read_text(encoding="utf-8")
    assert all(f"| `{look.id}` |" in text for look in catalogue().looks)


def test_commands_and_suspects_name_causes_and_signs_that_exist() -> None:
    signs = {sign.name for sign in catalogue().signs} | {
        name for rule in catalogue().rules for group in rule.needed for name in group
    }
    for look in catalogue().looks:
        assert set(look.chances) <= set(catalogue().causes), look.id
        assert set(look.heard) <= signs, look.id
    for suspects in (*listed("suspects").values(), *listed("clues").values()):
        assert set(suspects) <= set(catalogue().causes)
    assert {*listed("suffers"), *listed("clues"), *listed("behind"), *listed("bare"), *listed("unspecific")} <= signs
    assert set(listed("suffers").values()) == set(listed("suspects"))
    assert set(listed("behind").values()) <= set(catalogue().causes)


def test_every_output_of_the_gym_is_what_some_command_prints() -> None:
    pieces = {change.piece.format(**model.names("gpu02")) for fault in FAULTS.values() for change in fault.changes}
    assert [name for name in pieces if not any(look.printed(name) for look in catalogue().looks)] == []


def test_a_command_that_was_run_is_not_asked_for_again_even_if_it_printed_nothing() -> None:
    log = {site.JOB: model.broken([(FAULTS["gpu_ecc"], "gpu02")])[site.JOB]}
    first = diagnose(None, log)
    assert (first["next"][0]["look"], first["settled"]) == ("kernel_log", "")
    again = diagnose(None, log, ["kernel_log"])
    assert "kernel_log" not in [question["look"] for question in again["next"]]
    said = diagnose(None, {**log, "hosts/gpu02/dmesg.txt": "NVRM: Xid (PCI:0000:0b:00): 48, pid=1, DBE\n"})
    assert said["settled"] == "gpu_fault"


def test_a_link_that_is_down_is_not_a_cable_before_the_switch_was_asked() -> None:
    whole = model.broken([(FAULTS["switch_port_shut"], "gpu02")])
    log = {name: whole[name] for name in (site.JOB, "hosts/gpu02/ethtool.txt")}
    found = diagnose(None, log)
    assert (found["findings"][0]["cause"], found["settled"]) == ("link_faulty", "")
    assert found["next"][0]["look"] == "switch_ports"
    ports = f"switches/{site.SWITCH}/interfaces.txt"
    assert diagnose(None, {**log, ports: whole[ports]})["settled"] == "switch_port_off"


def test_a_line_that_names_its_rank_alone_is_of_the_host_of_that_rank() -> None:
    said = site.rank("gpu02") + "[1,1]<stderr>:OSError: [Errno 28] No space left on device: '/data/x'\n"
    assert diagnose(None, {site.JOB: said})["findings"][0]["host"] == "gpu02"
