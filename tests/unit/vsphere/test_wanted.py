"""What module vmx_passthru is asked for, given singly or as a whole."""

from __future__ import annotations

from typing import Any

import pytest
from ansible_collections.rocemesh.multinode.plugins.module_utils._layer import RefusedError
from ansible_collections.rocemesh.multinode.plugins.module_utils._vsphere.keys import OWNED_KEYS, TRUTHS, VmxWanted
from ansible_collections.rocemesh.multinode.plugins.modules.vmx_passthru import KEY_OPTIONS, wanted_from

SINGLY: dict[str, Any] = {
    **{name: option.get("default") for name, option in KEY_OPTIONS.items()},
    "vm": "gpu01",
    "planned_host": None,
    "power_policy": "fail",
    "final_power": "as_found",
    "power_only": False,
}


def asked(wanted: dict[str, Any], **singly: Any) -> VmxWanted:
    return wanted_from({**SINGLY, **singly, "wanted": wanted}, False)


def test_what_is_wanted_as_a_whole_goes_before_what_is_given_singly() -> None:
    found = asked({"use_64bit_mmio": "yes", "allow_p2p": None}, use_64bit_mmio=False, mmio_size_gb="64")
    assert (found.use_64bit_mmio, found.allow_p2p, found.relax_acs, found.mmio_size_gb) == (True, None, True, "64")


@pytest.mark.parametrize(
    "wish",
    [
        VmxWanted(),
        VmxWanted(allow_p2p=None, relax_acs=False, use_64bit_mmio=True, mmio_size_gb=128, reserve_memory=True),
        VmxWanted(firmware="efi", allow_shared_gpu=True, numa=("0", "1"), gpu_pci_ids={1: "0000:3d:00.0", 2: ""}),
    ],
)
def test_what_a_run_resolved_leads_another_run_to_the_same_wish(wish: VmxWanted) -> None:
    assert asked(wish.arguments()).arguments() == wish.arguments()
    assert set(wish.arguments()) == set(KEY_OPTIONS)


@pytest.mark.parametrize(
    ("wanted", "words"),
    [
        ({"power_policy": "poweroff"}, "power_policy is no such option"),
        ({"power_policy": None}, "power_policy is no such option"),
        ({"allow_p2p": "perhaps"}, "perhaps"),
        ({"firmware": "bios"}, "firmware"),
        ({"gpu_pci_ids": {"first": ""}}, "device numbers"),
    ],
)
def test_what_is_no_such_wish_is_refused(wanted: dict[str, Any], words: str) -> None:
    with pytest.raises(RefusedError, match=f"gpu01: .*{words}.*What to do"):
        asked(wanted)


def test_keys_that_are_true_or_false_are_owned_and_options() -> None:
    assert {key.lower() for key in TRUTHS.values()} <= OWNED_KEYS and set(TRUTHS) <= set(KEY_OPTIONS)
