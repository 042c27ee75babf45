from __future__ import annotations

import pytest
from ansible_collections.rocemesh.multinode.plugins.module_utils._layer import ParseError
from ansible_collections.rocemesh.multinode.plugins.module_utils._vsphere import esxcli
from ansible_collections.rocemesh.multinode.plugins.module_utils._vsphere.state import parse_kernel_list
from hypothesis import given
from hypothesis import strategies as st

ROW = (
    '<DataObject xsi:type="VimEsxCLIsystemsettingskernellistSettingsKernel"><Configured>FALSE</Configured>'
    "<Default>TRUE</Default><Description>Enable/Disable VGA support.</Description><Name>vga</Name>"
    "<Runtime>TRUE</Runtime><Type>Bool</Type></DataObject>"
)
NAMESPACES = (
    'xmlns:xsd="http://www.w3.org/2001/XMLSchema" '
    'xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance" xmlns="urn:vim25"'
)


def listing(inner: str, namespaces: str = NAMESPACES) -> str:
    return f'<obj {namespaces} versionId="5.0" xsi:type="ArrayOfDataObject">{inner}</obj>'


def test_arguments_are_sorted_because_the_host_refuses_another_order() -> None:
    assert esxcli.arguments({"value": "TRUE", "setting": "atsSupport"}) == [
        ("setting", "<setting>atsSupport</setting>"),
        ("value", "<value>TRUE</value>"),
    ]


def test_values_are_escaped_inside_the_snippet() -> None:
    assert esxcli.arguments({"value": "a<b&c"}) == [("value", "<value>a&lt;b&amp;c</value>")]


def test_command_becomes_handler_and_method() -> None:
    assert esxcli.address("system.settings.kernel.list") == (
        "ha-cli-handler-system-settings-kernel",
        "vim.EsxCLI.system.settings.kernel.list",
    )
    with pytest.raises(ValueError):
        esxcli.address("list")


@pytest.mark.parametrize("namespaces", [NAMESPACES, ""])
def test_list_is_read_with_and_without_declared_prefixes(namespaces: str) -> None:
    rows = esxcli.parse_response(listing(ROW, namespaces), "esx01")
    assert isinstance(rows, list) and rows[0]["Name"] == "vga"
    setting = parse_kernel_list(rows, "esx01")["vga"]
    assert (setting.configured, setting.runtime, setting.default, setting.is_pending) == ("FALSE", "TRUE", "TRUE", True)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (f'<obj {NAMESPACES} xsi:type="xsd:boolean">true</obj>', "true"),
        (f'<obj {NAMESPACES} xsi:type="X"><A>1</A><A>2</A><B/></obj>', {"A": ["1", "2"], "B": ""}),
        (listing(""), []),
        (listing("<DataObject><A>1</A><A>2</A><A>3</A></DataObject>"), [{"A": ["1", "2", "3"]}]),
    ],
)
def test_shapes_of_an_answer(text: str, expected: object) -> None:
    assert esxcli.parse_response(text, "esx01") == expected


@pytest.mark.parametrize("text", ["", "not xml", "<a></b>", '<!DOCTYPE x [<!ENTITY e "e">]><obj>&e;</obj>', "<a/><b/>"])
def test_unknown_answer_is_an_error_that_shows_the_text(text: str) -> None:
    with pytest.raises(ParseError) as caught:
        esxcli.parse_response(text, "esx01")
    assert caught.value.details["raw"] == text
    assert "esx01" in str(caught.value)


@pytest.mark.parametrize(
    ("message", "detail", "expected"),
    [
        ("EsxCLI.CLIFault.summary", "<d><f><errMsg>one</errMsg><errMsg>two</errMsg></f></d>", "one; two"),
        ("EsxCLI.CLIFault.summary", "garbage <", "garbage <"),
        ("not found", "", "not found"),
        ("", "", "no reason given"),
    ],
)
def test_reason_of_a_fault_is_dug_out_of_its_detail(message: str, detail: str, expected: str) -> None:
    assert esxcli.parse_fault(message, detail) == expected


def test_kernel_row_without_a_column_is_not_guessed() -> None:
    with pytest.raises(ParseError, match="Runtime"):
        parse_kernel_list([{"Name": "x", "Type": "Bool", "Configured": "TRUE", "Default": "TRUE"}], "esx01")
    with pytest.raises(ParseError, match="list"):
        parse_kernel_list("true", "esx01")


@given(
    st.dictionaries(
        st.from_regex(r"[a-z]{1,8}", fullmatch=True),
        st.text(alphabet=st.characters(codec="utf-8", categories=["L", "N", "P", "S", "Zs"])),
    )
)
def test_any_value_survives_the_way_to_the_host(values: dict[str, str]) -> None:
    for name, text in esxcli.arguments(values):
        assert esxcli.parse_response(text, "esx01") == values[name]
