"""Kernel settings of several hosts in one call and one session."""

from __future__ import annotations

import select
import socket
import threading
from collections.abc import Iterator
from typing import Any

import pytest

from .conftest import Run, Vcenter

ALL = ["esx01", "esx02", "esx03", "esx04"]
ATS: dict[str, Any] = {"settings": {"atsSupport": True}}


def configured(vcenter: Vcenter) -> dict[str, str]:
    return {name: host["kernel"]["atsSupport"]["configured"] for name, host in vcenter.state()["hosts"].items()}


def test_cluster_is_done_in_one_session_with_few_requests(run: Run, vcenter: Vcenter) -> None:
    vcenter.ask("DELETE", "/traffic")
    done = run("esxi_kernel_setting", cluster="lab", **ATS)
    traffic = vcenter.ask("GET", "/traffic")
    assert [row["esxi_host"] for row in done["hosts"]] == ALL and done["changed"]
    assert configured(vcenter) == dict.fromkeys(ALL, "TRUE")
    assert traffic["sessions"] == 1
    # per host: the executer, list, set, list
    assert traffic["methods"]["ExecuteSoap"] == 12 and traffic["methods"]["RetrieveManagedMethodExecuter"] == 4
    assert done["diff"]["before"] == {f"{name} atsSupport": "FALSE" for name in ALL}
    assert done["undo"][0] == "esx04: esxcli system settings kernel set --setting atsSupport --value FALSE"
    assert done["reboot_required"] and len(done["reboot_reasons"]) == 4
    assert "settings" not in done, "which host's would they be"

    vcenter.ask("DELETE", "/traffic")
    again = run("esxi_kernel_setting", cluster="lab", **ATS)
    assert not again["changed"] and vcenter.ask("GET", "/traffic")["methods"]["ExecuteSoap"] == 4


def test_hosts_by_name_and_moid_in_the_given_order(run: Run, vcenter: Vcenter) -> None:
    seen = run("esxi_kernel_setting", check=True, cluster="lab", **ATS)["hosts"]
    ids = {row["esxi_host"]: row["esxi_host_moid"] for row in seen}
    done = run("esxi_kernel_setting", esxi_hostnames=[ids["esx03"], "ESX01"], **ATS)
    assert [row["esxi_host"] for row in done["hosts"]] == ["esx03", "esx01"]
    assert [name for name, value in configured(vcenter).items() if value == "TRUE"] == ["esx01", "esx03"]


@pytest.mark.parametrize(
    ("given", "text"),
    [
        ({"esxi_hostnames": ["esx01", "esx09"]}, "no such host"),
        ({"esxi_hostnames": ["esx01", "esx01"]}, "in the list already"),
        ({"esxi_hostnames": []}, "at least one host"),
        ({"cluster": "elsewhere"}, "no such cluster; vCenter knows lab"),
        ({}, "one of the following is required"),
        ({"esxi_hostname": "esx01", "esxi_hostnames": ["esx02"]}, "mutually exclusive"),
    ],
)
def test_wrong_hosts_are_refused(run: Run, vcenter: Vcenter, given: dict[str, Any], text: str) -> None:
    failed = run("esxi_kernel_setting", **given, **ATS)
    assert failed.failed and text in failed.msg
    assert vcenter.calls() == []


def test_one_host_that_cannot_stops_all_before_the_first_write(run: Run, vcenter: Vcenter) -> None:
    vcenter.fault("kernel_setting_absent", host="esx03", setting="atsSupport")
    failed = run("esxi_kernel_setting", cluster="lab", **ATS)
    assert failed["error_code"] == "refused" and "esx03" in failed.msg
    assert vcenter.calls() == []
    vcenter.fault("kernel_setting_absent", host="esx02", setting="atsSupport")
    both = run("esxi_kernel_setting", cluster="lab", **ATS)
    assert both["failed_hosts"] == ["esx02", "esx03"] and "no host was changed" in both.msg
    assert vcenter.calls() == []


def test_silent_host_is_named_and_nothing_is_written(run: Run, vcenter: Vcenter) -> None:
    vcenter.fault("host_never_returns", host="esx04")
    run("esxi_reboot", esxi_hostname="esx04", required=True, reboot_timeout=1)
    vcenter.ask("DELETE", "/calls")
    failed = run("esxi_kernel_setting", cluster="lab", **ATS)
    assert failed["error_code"] == "unreachable" and "esx04" in failed.msg and "HostNotConnected" in failed.msg
    assert vcenter.calls() == []
    done = run("esxi_kernel_setting", esxi_hostnames=ALL[:3], **ATS)
    # The first host is written alone, the others side by side: either of them may be the second.
    written = vcenter.calls()
    assert done["changed"] and written[0] == f"esxcli system.settings.kernel.set {ALL[0]}"
    assert sorted(written) == [f"esxcli system.settings.kernel.set {name}" for name in ALL[:3]]


def test_set_that_is_ignored_on_one_host_is_found(run: Run, vcenter: Vcenter) -> None:
    vcenter.fault("kernel_set_ignored", host="esx02")
    failed = run("esxi_kernel_setting", cluster="lab", **ATS)
    assert failed["error_code"] == "not_in_force" and "on esx02" in failed.msg and "on esx01" not in failed.msg
    vcenter.heal()
    done = run("esxi_kernel_setting", cluster="lab", **ATS)
    assert list(done["diff"]["after"]) == ["esx02 atsSupport"]


def test_check_mode_over_a_cluster_writes_nothing(run: Run, vcenter: Vcenter) -> None:
    planned = run("esxi_kernel_setting", check=True, cluster="lab", **ATS)
    assert planned["changed"] and len(planned["operations"]) == 4 and planned["reboot_required"]
    assert vcenter.calls() == []


# ---------------------------------------------------------------- proxy
@pytest.fixture
def proxy() -> Iterator[tuple[int, list[str]]]:
    """An HTTP proxy that knows CONNECT; it keeps what it was asked for."""
    asked: list[str] = []
    listener = socket.create_server(("127.0.0.1", 0))

    def pump(one: socket.socket, other: socket.socket) -> None:
        with one, other:
            while True:
                for ready in select.select([one, other], [], [], 30)[0]:
                    data = ready.recv(65536)
                    if not data:
                        return
                    (other if ready is one else one).sendall(data)

    def serve() -> None:
        while True:
            try:
                client, _address = listener.accept()
            except OSError:
                return
            head = b""
            while b"\r\n\r\n" not in head:
                head += client.recv(4096)
            asked.append(head.split(b"\r\n")[0].decode())
            host, _colon, port = asked[-1].split()[1].rpartition(":")
            server = socket.create_connection((host, int(port)))
            client.sendall(b"HTTP/1.1 200 Connection established\r\n\r\n")
            threading.Thread(target=pump, args=(client, server), daemon=True).start()

    threading.Thread(target=serve, daemon=True).start()
    yield listener.getsockname()[1], asked
    listener.close()


def test_requests_go_through_the_proxy(run: Run, vcenter: Vcenter, proxy: tuple[int, list[str]]) -> None:
    port, asked = proxy
    done = run("esxi_kernel_setting", esxi_hostname="esx01", proxy_host="127.0.0.1", proxy_port=port, **ATS)
    assert not done.failed, done.msg
    assert asked and {tuple(line.split()[:2]) for line in asked} == {("CONNECT", f"127.0.0.1:{vcenter.port}")}


def test_proxy_needs_its_port_and_a_dead_one_is_named(run: Run) -> None:
    alone = run("esxi_kernel_setting", esxi_hostname="esx01", proxy_host="127.0.0.1", **ATS)
    assert "required together" in alone.msg and "proxy_port" in alone.msg
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    failed = run("esxi_kernel_setting", esxi_hostname="esx01", proxy_host="127.0.0.1", proxy_port=port, **ATS)
    assert failed["error_code"] == "unreachable"


# ---------------------------------------------------------------- VMs
def test_all_vms_are_read_in_one_session(run: Run, vcenter: Vcenter) -> None:
    names = ["gpu01", "gpu02", "gpu03", "split"]
    wanted = {"numa_node_affinity": [], "mmio_size_gb": "auto"}
    alone = [run("vmx_passthru", check=True, vm=name, wanted=wanted) for name in names]
    vcenter.ask("DELETE", "/traffic")
    read = run("vmx_passthru", check=True, vms=[{"vm": name, "wanted": wanted} for name in [*names, "nobody"]])
    traffic = vcenter.ask("GET", "/traffic")
    assert traffic["sessions"] == 1 and traffic["methods"]["QueryEvents"] == 3, "one for each VM that is on"
    assert traffic["requests"] <= len(names) + 10
    for one, row in zip(alone, read["vms"]):
        same = {name: value for name, value in one.items() if name in row and name != "failed"}
        assert {name: row[name] for name in same} == same and not row["failed"] and len(same) > 10
    lost = read["vms"][-1]
    assert lost["failed"] and "no such VM" in lost["msg"]
    assert read["vcenter_uuid"] == alone[0]["vcenter_uuid"] and vcenter.calls() == []


def test_several_vms_are_never_changed(run: Run, vcenter: Vcenter) -> None:
    failed = run("vmx_passthru", vms=[{"vm": "gpu01", "wanted": {}}])
    assert failed.failed and "only read" in failed.msg and vcenter.calls() == []
