"""What the switch must look like: read through a second door (the simulator's state), not through the module."""

import json
import urllib.request


def running():
    with urllib.request.urlopen("http://127.78.0.2:8080/state", timeout=10) as answer:
        return json.load(answer)


def test_roce_is_lossless_and_saved():
    state = running()
    assert state["running"]["roce"] == "lossless"
    assert not state["unsaved"]


def test_ports_are_access_ports_of_the_isolated_vlan_with_jumbo_frames():
    ports = running()["running"]["ports"]
    for number in range(1, 5):
        port = ports[f"1/{number}"]
        assert (port["mode"], port["access_vlan"], port["mtu"]) == ("access", 111, 9216)


def test_ports_outside_the_request_are_untouched():
    ports = running()["running"]["ports"]
    assert ports["1/5"]["access_vlan"] == 1
    assert ports["1/31"]["mode"] == "trunk"
