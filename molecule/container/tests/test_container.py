"""What must run on a node."""

import json


def inspect(host):
    with host.sudo():
        return json.loads(host.check_output("docker inspect mpicont"))[0]


def test_container_runs_with_the_guides_flags(host):
    settings = inspect(host)["HostConfig"]
    assert (settings["NetworkMode"], settings["UTSMode"], settings["IpcMode"]) == ("host", "host", "host")
    assert settings["RestartPolicy"]["Name"] == "unless-stopped"
    assert not settings["Privileged"]
    assert {limit["Name"] for limit in settings["Ulimits"]} == {"memlock", "stack"}


def test_container_is_running_and_has_devices(host):
    found = inspect(host)
    assert found["State"]["Running"]
    assert found["HostConfig"]["DeviceRequests"], "no GPU was asked for"
    assert [device["PathOnHost"] for device in found["HostConfig"]["Devices"]] == ["/dev/infiniband"]


def test_registry_is_trusted_through_its_ca(host):
    with host.sudo():
        assert host.file("/etc/docker/certs.d/registry:5000/ca.crt").exists
        assert "insecure-registries" not in host.run("cat /etc/docker/daemon.json").stdout


def test_open_mpi_and_torch_are_in_the_image(host):
    with host.sudo():
        assert host.run("docker exec mpicont sh -c 'command -v orted && python3 -c \"import torch\"'").rc == 0
