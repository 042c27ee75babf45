"""Replays of what was seen on the wire and on consoles: requests as they leave, answers as they come.

Shapes follow captured fixtures of govmomi, generated stubs of the esxcli handlers, and published console output; values
are illustrative.
"""

from __future__ import annotations

import xml.etree.ElementTree as ET
from types import SimpleNamespace
from typing import Any

import pytest
from ansible_collections.rocemesh.multinode.plugins.module_utils._layer import ApplyError
from ansible_collections.rocemesh.multinode.plugins.module_utils._vsphere import esxcli
from ansible_collections.rocemesh.multinode.plugins.module_utils._vsphere.inventory import esxcli_rows, numa_column
from ansible_collections.rocemesh.multinode.plugins.module_utils._vsphere.plan import KERNEL_LIST, KERNEL_SET
from ansible_collections.rocemesh.multinode.plugins.module_utils._vsphere.state import parse_kernel_list, pci_id
from ansible_collections.rocemesh.multinode.plugins.module_utils._vsphere.transport import Connection, vim

from tests.unit.vsphere.fakes import ENDPOINT

pyvmomi = pytest.importorskip("pyVmomi")
DECLARED = 'xmlns:xsd="http://www.w3.org/2001/XMLSchema" xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance"'


class Recorded(pyvmomi.SoapStubAdapter):  # type: ignore[misc]
    """pyVmomi's own serialiser and deserialiser, with recorded answers instead of a server."""

    def __init__(self, *bodies: str) -> None:
        super().__init__("127.0.0.1", 0, version="vim.version.version9")
        self.bodies = list(bodies)
        self.requests: list[str] = []

    def InvokeMethod(self, mo: Any, info: Any, args: Any, outerStub: Any = None) -> Any:
        self.requests.append(self.SerializeRequest(mo, info, args).decode())
        envelope = (
            '<soapenv:Envelope xmlns:soapenv="http://schemas.xmlsoap.org/soap/envelope/" ' + DECLARED + ">"
            f"<soapenv:Body>{self.bodies.pop(0)}</soapenv:Body></soapenv:Envelope>"
        )
        return pyvmomi.SoapAdapter.SoapResponseDeserializer(self).Deserialize(envelope.encode(), info.result)


EXECUTER = (
    '<RetrieveManagedMethodExecuterResponse xmlns="urn:vim25"><returnval type="{}">{}</returnval>'
    "</RetrieveManagedMethodExecuterResponse>"
)


def answer(response: str, prefix: str = "") -> str:
    text = response.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    declared = ' xmlns:reflect="urn:reflect"' if prefix else ""
    return (
        f'<ExecuteSoapResponse xmlns="urn:vim25"><returnval{declared}><{prefix}response>{text}</{prefix}response>'
        "</returnval></ExecuteSoapResponse>"
    )


def fault(message: str, detail: str) -> str:
    text = detail.replace("<", "&lt;").replace(">", "&gt;")
    return (
        '<ExecuteSoapResponse xmlns="urn:vim25"><returnval><fault><faultMsg>' + message + "</faultMsg><faultDetail>"
        f"{text}</faultDetail></fault></returnval></ExecuteSoapResponse>"
    )


def row(**fields: str) -> str:
    inner = "".join(f"<{name}>{value}</{name}>" for name, value in sorted(fields.items()))
    return f'<DataObject xsi:type="VimEsxCLIsystemsettingskernellistSettingsKernel">{inner}</DataObject>'


VGA = row(
    Name="vga",
    Type="Bool",
    Configured="FALSE",
    Runtime="TRUE",
    Default="TRUE",
    Description="Enable/Disable VGA support.",
)
LIST = f'<obj {DECLARED} xmlns="urn:vim25" versionId="5.0" xsi:type="ArrayOfDataObject">{VGA}</obj>'
TRUE = f'<obj {DECLARED} versionId="5.0" xsi:type="xsd:boolean">true</obj>'


def session(*bodies: str, kind: str = "ReflectManagedMethodExecuter") -> tuple[Connection, Recorded]:
    stub = Recorded(EXECUTER.format(kind, "ManagedMethodExecuter-21"), *bodies)
    connection = Connection(ENDPOINT)
    connection._service = SimpleNamespace(_stub=stub)
    return connection, stub


def parsed(request: str) -> ET.Element:
    body = ET.fromstring(request).find("{http://schemas.xmlsoap.org/soap/envelope/}Body")
    assert body is not None
    return body[0]


def texts(element: ET.Element, name: str) -> list[str]:
    return [e.text or "" for e in element.iter() if e.tag.rpartition("}")[2] == name]


def test_transcript_executer_is_asked_of_the_host_and_kept() -> None:
    connection, stub = session(answer(LIST), answer(LIST))
    host = vim.HostSystem("host-21")
    connection.run_esxcli(host, "esx01", KERNEL_LIST)
    connection.run_esxcli(host, "esx01", KERNEL_LIST)
    first = parsed(stub.requests[0])
    assert first.tag == "{urn:vim25}RetrieveManagedMethodExecuter"
    assert (first[0].get("type"), first[0].text) == ("HostSystem", "host-21")
    assert [parsed(request).tag.rpartition("}")[2] for request in stub.requests] == [
        "RetrieveManagedMethodExecuter",
        "ExecuteSoap",
        "ExecuteSoap",
    ]


def test_transcript_kernel_set_request() -> None:
    connection, stub = session(answer(TRUE))
    connection.run_esxcli(vim.HostSystem("host-21"), "esx01", KERNEL_SET, {"value": "TRUE", "setting": "atsSupport"})
    sent = parsed(stub.requests[1])
    assert (sent[0].get("type"), sent[0].text) == ("ReflectManagedMethodExecuter", "ManagedMethodExecuter-21")
    assert texts(sent, "moid") == ["ha-cli-handler-system-settings-kernel"]
    assert texts(sent, "version") == ["urn:vim25/5.0"]
    assert texts(sent, "method") == ["vim.EsxCLI.system.settings.kernel.set"]
    assert texts(sent, "name") == ["setting", "value"], "in the host's own, alphabetical order"
    assert texts(sent, "val") == ["<setting>atsSupport</setting>", "<value>TRUE</value>"]
    assert "&lt;setting&gt;atsSupport&lt;/setting&gt;" in stub.requests[1]


def test_transcript_list_without_arguments_sends_none() -> None:
    connection, stub = session(answer(LIST))
    connection.run_esxcli(vim.HostSystem("host-21"), "esx01", KERNEL_LIST)
    assert texts(parsed(stub.requests[1]), "argument") == []


@pytest.mark.parametrize("prefix", ["", "reflect:"])
@pytest.mark.parametrize("declared", [True, False])
def test_transcript_kernel_list_answer_in_every_reported_spelling(prefix: str, declared: bool) -> None:
    text = LIST if declared else LIST.replace(DECLARED + " ", "")
    connection, _stub = session(answer(text, prefix))
    rows = connection.run_esxcli(vim.HostSystem("host-21"), "esx01", KERNEL_LIST)
    setting = parse_kernel_list(rows, "esx01")["vga"]
    assert (setting.configured, setting.runtime, setting.default) == ("FALSE", "TRUE", "TRUE")
    assert setting.is_pending and setting.description == "Enable/Disable VGA support."


def test_transcript_upstream_simulators_name_of_the_executer_is_read_too() -> None:
    connection, stub = session(answer(TRUE), kind="ManagedMethodExecuter")
    assert connection.run_esxcli(vim.HostSystem("host-21"), "esx01", KERNEL_SET, {"setting": "x"}) == "true"
    assert parsed(stub.requests[1])[0].get("type") == "ReflectManagedMethodExecuter"


def test_transcript_struct_answer() -> None:
    kind = "VimEsxCLIsystemhostnamegetFullyQualifiedHostName"
    text = f'<obj {DECLARED} versionId="5.0" xsi:type="{kind}"><HostName>esxbox</HostName><DomainName/></obj>'
    assert esxcli.parse_response(text, "esx01") == {"HostName": "esxbox", "DomainName": ""}


def test_transcript_cli_fault_shows_the_text_of_its_detail() -> None:
    detail = '<detail><f xsi:type="VimEsxCLICLIFault"><errMsg>Invalid kernel setting nope</errMsg></f></detail>'
    connection, _stub = session(fault("EsxCLI.CLIFault.summary", detail))
    with pytest.raises(ApplyError, match="Invalid kernel setting nope") as caught:
        connection.run_esxcli(vim.HostSystem("host-21"), "esx01", KERNEL_SET, {"setting": "nope", "value": "1"})
    assert "EsxCLI.CLIFault.summary" not in str(caught.value)
    assert "esxcli system settings kernel set --setting nope --value 1" in str(caught.value)


@pytest.mark.parametrize(
    ("line", "configured", "pending"),
    [
        ("vga Bool FALSE TRUE TRUE", "FALSE", True),
        ("cpuUniformityHardCheckPanic Bool FALSE FALSE TRUE", "FALSE", False),
        ("entropySources UInt32 0 0 0", "0", False),
        ("atsSupport Bool true FALSE FALSE", "TRUE", True),
    ],
)
def test_transcript_console_rows_of_kernel_settings(line: str, configured: str, pending: bool) -> None:
    fields = dict(zip(("Name", "Type", "Configured", "Runtime", "Default"), line.split(), strict=True))
    (setting,) = list(parse_kernel_list([fields], "esx01").values())
    assert (setting.configured, setting.is_pending) == (configured, pending)


def test_transcript_pci_rows_keep_unknown_columns_and_know_what_means_none() -> None:
    pci = {
        "Address": "0000:3B:00.0",
        "VMkernelName": "",
        "ModuleName": "<NONE>",
        "CurrentOwner": "VM Passthru",
        "PhysicalSlot": "4294967295",
        "ParentDevice": "PCI 0:58:0:0",
        "NUMANode": "0",
        "ColumnOfTomorrow": "x",
    }

    class Site(Connection):
        def run_esxcli(self, *_: Any) -> Any:
            return [pci]

    (found,) = list(esxcli_rows(Site(ENDPOINT), None, "esx01").items())
    assert found[0] == "0000:3b:00.0"
    assert found[1]["ModuleName"] is None and found[1]["ColumnOfTomorrow"] == "x"
    assert numa_column(found[1]) == 0
    for none in ("4294967295", "-1", "255", "", "<NONE>", None):
        assert numa_column({"NUMANode": none}) is None


@pytest.mark.parametrize("value", ["0x15b3", "5555", 5555, 0x15B3])
def test_transcript_ids_come_as_hex_text_or_numbers(value: Any) -> None:
    assert pci_id(value) == 0x15B3
    assert pci_id(-32634) == 0x8086


def test_transcript_keys_leave_as_text_whatever_their_type_was() -> None:
    stub = Recorded(
        '<ReconfigVM_TaskResponse xmlns="urn:vim25"><returnval type="Task">task-1</returnval></ReconfigVM_TaskResponse>'
    )
    vm = vim.VirtualMachine("vm-1", stub)
    extra: dict[str, Any] = {
        "pciPassthru.allowP2P": "TRUE",
        "pciPassthru.64bitMMIOSizeGB": 128,
        "numa.nodeAffinity": "",
    }
    Connection(ENDPOINT).reconfigure(vm, extra, {"memoryReservationLockedToMax": True}, "v7")
    sent = stub.requests[0]
    assert sent.count('xsi:type="xsd:string"') == 3 and "xsd:int" not in sent
    request = parsed(sent)
    assert texts(request, "key") == list(extra) and texts(request, "value") == ["TRUE", "128", ""]
    assert texts(request, "changeVersion") == ["v7"] and texts(request, "memoryReservationLockedToMax") == ["true"]
