"""What `ansible-doc` says of every option of the vSphere modules: type, unit, default, effect on power."""

from __future__ import annotations

import importlib
import json
from typing import Any

import pytest
import yaml
from ansible_collections.rocemesh.multinode.plugins.doc_fragments.vsphere import ModuleDocFragment
from ansible_collections.rocemesh.multinode.plugins.module_utils._vsphere import arguments

FRAGMENT = "rocemesh.multinode.vsphere"
MODULES = ("esxi_kernel_setting", "esxi_pci_info", "esxi_reboot", "vmx_passthru")
# Options that decide over power, traffic or data, and the words that must stand in their text.
EFFECTS = {
    "esxi_reboot.required": ("stops",),
    "esxi_reboot.vm_policy": ("shuts down",),
    "esxi_reboot.vm_allowlist": ("shut down",),
    "esxi_reboot.hard_off": ("power", "lost"),
    "esxi_reboot.restore_vms": ("powered off",),
    "esxi_reboot.power_on": ("run",),
    "esxi_reboot.in_maintenance": ("reboots", "maintenance mode"),
    "esxi_reboot.vsan_mode": ("data",),
    "vmx_passthru.allow_p2p": ("power-on",),
    "vmx_passthru.relax_acs": ("power-on",),
    "vmx_passthru.use_64bit_mmio": ("power-on",),
    "vmx_passthru.reserve_memory": ("while the VM is off",),
    "vmx_passthru.firmware": ("does not boot",),
    "vmx_passthru.gpu_pci_ids": ("power-on",),
    "vmx_passthru.power_policy": ("stops", "power"),
    "vmx_passthru.final_power": ("powers",),
    "esxi_kernel_setting.settings": ("Nothing stops or restarts",),
    "esxi_kernel_setting.allow_security_settings": ("booting",),
}
UNITS = ("Seconds", "GB", "TCP port", "Number")


def options(module: str) -> dict[str, dict[str, Any]]:
    """Its own, and those of the parts of the fragment that not all modules share."""
    name = f"ansible_collections.rocemesh.multinode.plugins.modules.{module}"
    document = yaml.safe_load(importlib.import_module(name).DOCUMENTATION)
    parts = [part for part in ("hosts", "lease") if f"{FRAGMENT}.{part}" in document["extends_documentation_fragment"]]
    shared = [yaml.safe_load(getattr(ModuleDocFragment, part.upper()))["options"] for part in parts]
    return {name: option for options in (*shared, document["options"]) for name, option in options.items()}


SHARED = dict(yaml.safe_load(ModuleDocFragment.DOCUMENTATION)["options"])
EVERY = [(module, name) for module in MODULES for name in options(module)] + [("fragment", name) for name in SHARED]


def text_of(option: dict[str, Any]) -> str:
    said = option["description"]
    return said if isinstance(said, str) else " ".join(said)


@pytest.mark.parametrize(("module", "name"), EVERY)
def test_option_says_type_unit_and_default(module: str, name: str) -> None:
    option = SHARED[name] if module == "fragment" else options(module)[name]
    text = text_of(option)
    assert option["type"] and text.rstrip().endswith(".")
    if option["type"] == "int":
        assert any(unit in text for unit in UNITS), f"{name}: no unit"
    absent_is_told = "default" in option or option.get("required") or "choices" in option
    words = (
        "not given",
        "not set",
        "Without",
        "Only",
        "if the name is not unique",
        "needed",
        "Names or",
        "default",
        "none",
    )
    assert absent_is_told or any(word in text for word in words), f"{name}: what happens without it"


@pytest.mark.parametrize("option", EFFECTS)
def test_option_that_touches_power_or_data_says_so(option: str) -> None:
    module, name = option.split(".")
    text = text_of(options(module)[name])
    assert all(word in text for word in EFFECTS[option]), text


def test_argument_specs_and_documentation_name_the_same_options() -> None:
    """Kept by ansible-test as well; here in a second, and with the defaults."""
    for module in MODULES:
        name = f"ansible_collections.rocemesh.multinode.plugins.modules.{module}"
        seen: dict[str, Any] = {}

        def keep(_seen: dict[str, Any] = seen, **given: Any) -> None:  # pylint: disable=dangerous-default-value
            _seen.update(given)
            raise SystemExit

        loaded = importlib.import_module(name)
        maker: Any = loaded if hasattr(loaded, "make_module") else arguments
        original = maker.make_module
        maker.make_module = keep
        try:
            with pytest.raises(SystemExit):
                loaded.main()
        finally:
            maker.make_module = original
        documented = {**SHARED, **options(module)}
        given = {option: spec.get("default") for option, spec in seen["argument_spec"].items()}
        assert json.loads(json.dumps(given)) == {option: doc.get("default") for option, doc in documented.items()}
