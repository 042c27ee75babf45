"""What vCenter must show of the VMs: read through the simulator's state, not through the module."""

import json
import urllib.request

import pytest


@pytest.fixture(scope="module")
def vms():
    with urllib.request.urlopen("http://127.78.0.3:8080/state", timeout=10) as answer:
        return json.load(answer)["vms"]


# The firmware tables of esx01, which has the first two, name no node for GPUs: where nobody can know it, no key is set.
@pytest.mark.parametrize(("name", "node"), [("gpu01", None), ("gpu02", None), ("gpu03", "0"), ("gpu04", "1")])
def test_keys_are_set_and_in_force(vms, name, node):
    for keys in (vms[name]["extra_config"], vms[name]["in_force"]):
        assert keys["pciPassthru.allowP2P"] == "TRUE"
        assert keys["pciPassthru.RelaxACSforP2P"] == "TRUE"
        assert keys.get("numa.nodeAffinity") == node


def test_every_vm_is_on_again(vms):
    assert {vms[name]["power"] for name in ("gpu01", "gpu02", "gpu03", "gpu04")} == {"on"}


def test_keys_of_others_are_untouched(vms):
    assert vms["gpu01"]["extra_config"]["pciPassthru.use64bitMMIO"] == "TRUE"
