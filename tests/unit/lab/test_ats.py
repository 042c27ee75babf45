from __future__ import annotations

import itertools

import pytest

from lab import ats, config


def cards(current: int, following: int | None = None) -> list[ats.Card]:
    result = ats.factory_cards()
    result[0]["params"]["ATS_ENABLED"].update(current=current, next=current if following is None else following)
    return result


@pytest.mark.parametrize(("runtime", "p2p", "relax", "current"), list(itertools.product([False, True], repeat=4)))
def test_ats_is_on_only_if_host_both_keys_and_card_agree(runtime: bool, p2p: bool, relax: bool, current: bool) -> None:
    keys = {"pciPassthru.allowP2P": str(p2p).upper(), "pciPassthru.RelaxACSforP2P": str(relax).upper()}
    nic = ats.pci_functions(cards(int(current)), ats_runtime=runtime, extra_config=keys)[config.NIC_PCI]
    assert nic["ats_enabled"] is (runtime and p2p and relax and current)
    assert nic["ats_capability"] is current


def test_value_that_waits_for_a_boot_shows_no_capability() -> None:
    keys = dict.fromkeys(ats.P2P_KEYS, "TRUE")
    functions = ats.pci_functions(cards(0, following=1), ats_runtime=True, extra_config=keys)
    assert functions[config.NIC_PCI] == {"ats_capability": False, "ats_enabled": False, "stu": 0}


def test_gpu_is_on_the_bus_without_ats() -> None:
    functions = ats.pci_functions(cards(1), ats_runtime=True, extra_config=dict.fromkeys(ats.P2P_KEYS, "TRUE"))
    assert functions[config.GPU_PCI]["ats_capability"] is False


@pytest.mark.parametrize("value", ["TRUE", "true", "True", '"TRUE"', " yes ", "1", True])
def test_every_spelling_of_true_counts(value: object) -> None:
    assert ats.is_true(value)


@pytest.mark.parametrize("value", ["FALSE", "", None, "0", "no", "enabled?", False])
def test_anything_else_is_not_true(value: object) -> None:
    assert not ats.is_true(value)


def test_key_names_are_compared_without_case() -> None:
    assert ats.p2p_in_force({"PCIPASSTHRU.ALLOWP2P": "TRUE", "pcipassthru.relaxacsforp2p": "TRUE"})


def test_one_key_alone_is_not_enough() -> None:
    assert not ats.p2p_in_force({"pciPassthru.allowP2P": "TRUE"})


def test_host_reboot_makes_next_current_and_leaves_its_input_alone() -> None:
    before = cards(0, following=1)
    after = ats.after_host_reboot(before)
    assert after[0]["params"]["ATS_ENABLED"] == {"default": 0, "current": 1, "next": 1}
    assert before == cards(0, following=1)


def test_waiting_parameters_name_card_parameter_and_both_values() -> None:
    assert ats.waiting_parameters(cards(0, following=1)) == [(config.NIC_PCI, "ATS_ENABLED", 0, 1)]
    assert ats.waiting_parameters(cards(1)) == []


def test_old_firmware_has_no_parameter_and_so_no_capability() -> None:
    old = ats.without_ats(cards(1))
    assert "ATS_ENABLED" not in old[0]["params"]
    keys = dict.fromkeys(ats.P2P_KEYS, "TRUE")
    assert not ats.pci_functions(old, ats_runtime=True, extra_config=keys)[config.NIC_PCI]["ats_capability"]


def test_virtual_function_has_its_own_id_and_no_firmware_settings() -> None:
    (card,) = ats.as_virtual_functions(cards(1))
    assert (card["kind"], card["device_id"], card["params"]) == ("vf", "101e", {})


def test_card_of_a_simulated_node_says_so() -> None:
    assert "SIMULATED" in ats.factory_cards()[0]["description"]
