"""esxcli over SOAP: the texts that go out and come back. Pure; `transport` sends them.

A command is a namespace plus a verb ("system.settings.kernel.list"). Each argument travels as a small XML text, and so
does the answer: one ``<obj>`` holding a list of objects, one object, or a plain value. Every field is text.
"""

from __future__ import annotations

import xml.etree.ElementTree as ET
from typing import Any, Dict, Mapping
from xml.sax.saxutils import escape

from .._layer import ParseError

API_VERSION = "urn:vim25/5.0"  # a constant of the protocol, whatever the release of the host
_XSI = "http://www.w3.org/2001/XMLSchema-instance"
_XSD = "http://www.w3.org/2001/XMLSchema"
_TYPE = "{" + _XSI + "}type"

Row = Dict[str, Any]  # column title without spaces -> text, or a list of texts where the element repeats


def address(command: str) -> tuple[str, str]:
    """Return (moid, method) for ``command``."""
    namespace, dot, verb = command.rpartition(".")
    if not dot or not verb or not namespace:
        raise ValueError(f"not an esxcli command: {command!r}")
    return "ha-cli-handler-" + namespace.replace(".", "-"), "vim.EsxCLI." + command


def arguments(values: Mapping[str, str]) -> list[tuple[str, str]]:
    """Return [(name, XML text)], sorted: the host refuses arguments that are not in its own (alphabetical) order."""
    return [(name, f"<{name}>{escape(values[name])}</{name}>") for name in sorted(values)]


def command_line(command: str, values: Mapping[str, str]) -> str:
    """Return the same call as a person would type it on the host."""
    words = ["esxcli", *command.split(".")]
    for name in sorted(values):
        words += ["--" + name, values[name] or "''"]
    return " ".join(words)


def _root(text: str, host: str) -> ET.Element:
    if "<!DOCTYPE" in text or "<!ENTITY" in text:
        raise ParseError("esxcli answered with a document type, which it never does", host=host, raw=text)
    try:
        return ET.fromstring(text)
    except ET.ParseError:
        pass
    # some releases use the prefixes xsi and xsd without declaring them
    try:
        wrapped = ET.fromstring(f'<w xmlns:xsi="{_XSI}" xmlns:xsd="{_XSD}">{text}</w>')
    except ET.ParseError as error:
        raise ParseError(f"the answer of esxcli is not XML ({error})", host=host, raw=text) from error
    if len(wrapped) != 1:
        raise ParseError("the answer of esxcli is not one object", host=host, raw=text)
    return wrapped[0]


def _local(element: ET.Element) -> str:
    return element.tag.rpartition("}")[2]


def _row(element: ET.Element) -> Row:
    row: Row = {}
    for child in element:
        name, value = _local(child), child.text or ""
        if name in row:
            earlier = row[name]
            row[name] = [*earlier, value] if isinstance(earlier, list) else [earlier, value]
        else:
            row[name] = value
    return row


def parse_response(text: str, host: str) -> str | Row | list[Row]:
    """Parse ``<response>`` text: a list of rows, one row, or plain text."""
    root = _root(text, host)
    kind = root.get(_TYPE, "")
    if kind.endswith("ArrayOfDataObject") or (not kind and [c for c in root if _local(c) == "DataObject"]):
        return [_row(child) for child in root]
    if len(root):
        return _row(root)
    return root.text or ""


def parse_fault(message: str, detail: str) -> str:
    """Return what went wrong: the useful text is in the detail, the message is only a catalogue key."""
    texts: list[str] = []
    if detail:
        try:
            texts = [e.text.strip() for e in _root(detail, "").iter() if _local(e) == "errMsg" and e.text]
        except ParseError:
            texts = [detail]
    return "; ".join(texts) or message or "no reason given"
