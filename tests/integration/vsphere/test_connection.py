"""Login, certificates, lost sessions, silent servers: each a message that a person can act on."""

from __future__ import annotations

import pathlib
import socket
from typing import Any

import pytest

from .conftest import Pki, Run, Vcenter, run_module

READ = {"esxi_hostname": "esx01", "settings": {"atsSupport": False}}


def kernel(vcenter: Vcenter, **changed: Any) -> Any:
    return run_module("esxi_kernel_setting", {**vcenter.login, **READ, **changed})


def test_wrong_password_names_the_account_and_not_the_password(vcenter: Vcenter) -> None:
    failed = kernel(vcenter, password="wrong-secret")
    assert failed["error_code"] == "credentials"
    assert "administrator@vsphere.local" in failed.msg and "InvalidLogin" in failed.msg
    assert "wrong-secret" not in str({**failed, "invocation": None})
    assert vcenter.calls() == []


def test_certificate_of_an_unknown_authority_is_refused_on_loopback_too(vcenter: Vcenter, pki: Pki) -> None:
    failed = kernel(vcenter, ca_path=str(pki.other_ca))
    assert failed["error_code"] == "unreachable"
    assert "does not verify" in failed.msg and "ca_path" in failed.msg
    assert kernel(vcenter, ca_path=None).failed
    assert not kernel(vcenter, ca_path=None, validate_certs=False).failed


def test_certificate_for_another_name_is_refused(vcenter: Vcenter) -> None:
    failed = kernel(vcenter, hostname="localhost")
    assert "does not verify" in failed.msg


def test_unreadable_ca_file_is_named(vcenter: Vcenter, tmp_path: pathlib.Path) -> None:
    failed = kernel(vcenter, ca_path=str(tmp_path / "missing.crt"))
    assert "missing.crt" in failed.msg and failed["error_code"] == "refused"


def test_server_that_never_answers_ends_with_the_timeout(vcenter: Vcenter) -> None:
    before = socket.getdefaulttimeout()
    with socket.create_server(("127.0.0.1", 0)) as silent:
        failed = kernel(vcenter, port=silent.getsockname()[1], timeout=1)  # without it nothing ever ends this
    assert failed["error_code"] == "unreachable"
    assert socket.getdefaulttimeout() == before, "the process-wide default must be put back"


@pytest.mark.parametrize("timeout", [0, -1])
def test_a_timeout_that_is_no_time_is_refused(run: Run, vcenter: Vcenter, timeout: int) -> None:
    assert "timeout" in kernel(vcenter, timeout=timeout).msg
    host: dict[str, Any] = {"esxi_hostname": "esx02", "vm_policy": "shutdown", "vm_allowlist": ["gpu03"]}
    assert run("esxi_reboot", required=True, reboot_timeout=timeout, **host).failed
    assert vcenter.calls() == []


def test_closed_port_is_unreachable(vcenter: Vcenter) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    assert "ConnectionRefusedError" in kernel(vcenter, port=port).msg


def test_connection_cut_in_the_middle_is_unreachable(vcenter: Vcenter) -> None:
    vcenter.fault("drop_connection", method="ExecuteSoap")
    assert kernel(vcenter)["error_code"] == "unreachable"


def test_slow_answer_ends_with_the_timeout(vcenter: Vcenter) -> None:
    vcenter.fault("slow", method="ExecuteSoap", seconds=3)
    assert kernel(vcenter, timeout=1)["error_code"] == "unreachable"


def test_missing_privilege_is_named(run: Run, vcenter: Vcenter) -> None:
    vcenter.fault("no_permission", method="ReconfigVM_Task")
    failed = run("vmx_passthru", vm="split")
    assert failed["error_code"] == "credentials"
    assert "VirtualMachine.Config.AdvancedConfig" in failed.msg and "split" in failed.msg


@pytest.mark.parametrize("variable", ["VMWARE_HOST", "VMWARE_USER", "VMWARE_PASSWORD"])
def test_login_comes_from_the_environment(vcenter: Vcenter, monkeypatch: pytest.MonkeyPatch, variable: str) -> None:
    login = {**vcenter.login, **READ}
    names = {
        "VMWARE_HOST": "hostname",
        "VMWARE_USER": "username",
        "VMWARE_PASSWORD": "password",
        "VMWARE_PORT": "port",
        "VMWARE_CA_PATH": "ca_path",
    }
    for name, option in names.items():
        monkeypatch.setenv(name, str(login.pop(option)))
    assert not run_module("esxi_kernel_setting", login).failed
    monkeypatch.delenv(variable)
    assert "missing required arguments" in run_module("esxi_kernel_setting", login).msg
