"""What vCenter must show: read through the simulator's state, not through the module."""

import json
import urllib.request


def hosts():
    with urllib.request.urlopen("http://127.78.0.3:8080/state", timeout=10) as answer:
        return json.load(answer)["hosts"]


def test_ats_support_is_configured_on_every_host():
    assert {name: host["kernel"]["atsSupport"]["configured"] for name, host in hosts().items()} == {
        "esx01": "TRUE",
        "esx02": "TRUE",
    }


def test_other_kernel_settings_are_untouched():
    for host in hosts().values():
        assert host["kernel"]["vga"]["configured"] == "FALSE"
