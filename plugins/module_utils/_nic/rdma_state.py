"""RDMA devices of a node as data, and the only code that parses what their tools print. Pure: no I/O.

Sources: public transcripts of ibv_devinfo, ofed_info, lsmod and nvidia-smi; mlnx_qos and dcb of iproute2 6.1 and 6.15
as they print with Linux 6.1. Not verified on hardware.

Imports on Python 3.8: runs on the nodes.
"""

from __future__ import annotations

import dataclasses
import ipaddress
import re
from typing import Any, Mapping, Sequence

from .._layer import ParseError

ROCE_V2 = "RoCE v2"
ETHERNET = "Ethernet"


# ---- GIDs -----------------------------------------------------------------------------------------------------------


@dataclasses.dataclass(frozen=True)
class Gid:
    """One entry of a port's GID table. ``type``: "IB/RoCE v1" or "RoCE v2"; ``netdev`` '' when it is not known;
    ``vlan_of``: the interface below a VLAN, '' for another interface."""

    index: int
    gid: str
    type: str
    netdev: str
    vlan_of: str = ""

    @property
    def ipv4(self) -> str:
        """The IPv4 address of a mapped GID (::ffff:a.b.c.d), else ''."""
        mapped = ipaddress.IPv6Address(self.gid).ipv4_mapped
        return str(mapped) if mapped else ""


def parse_gid(text: str, host: str, where: str) -> str:
    """The GID as printed; '' for the all-zero entry, which is an empty slot."""
    try:
        address = ipaddress.IPv6Address(text)
    except ValueError:
        raise ParseError("a GID that is no 128-bit number", host=host, thing=where, raw=text) from None
    return "" if int(address) == 0 else text


def choose_gid(gids: Sequence[Gid], netdev: str = "") -> Gid | None:
    """The GID for RoCE v2 over IPv4: the first on ``netdev`` itself, else the first of all (a VLAN interface's)."""
    fitting = [gid for gid in gids if gid.type == ROCE_V2 and gid.ipv4]
    return next((gid for gid in fitting if gid.netdev == netdev), fitting[0] if fitting else None)


# ---- ibv_devinfo ----------------------------------------------------------------------------------------------------


@dataclasses.dataclass(frozen=True)
class VerbsPort:
    """What only the verbs library tells about a port; MTUs in bytes."""

    active_mtu: int
    max_mtu: int


_HCA = re.compile(r"^hca_id:\s*(\S+)$")
_VERBS_LINE = re.compile(r"^(\w+):\s*(.*?)$")


def parse_ibv_devinfo(text: str, host: str) -> dict[tuple[str, int], VerbsPort]:
    """``ibv_devinfo`` -> (device, port) -> its MTUs. ``active_mtu: 4096 (5)``: bytes, and the code."""
    ports: dict[tuple[str, int], dict[str, str]] = {}
    device, port = "", 0
    for line in text.splitlines():
        words = line.strip()
        found = _HCA.match(words)
        if found:
            device, port = found.group(1), 0
            continue
        pair = _VERBS_LINE.match(words)
        if not device or pair is None:
            if words and not device:
                raise ParseError("an unknown beginning", host=host, thing="ibv_devinfo", raw=text)
            continue
        if pair.group(1) == "port" and pair.group(2).isdigit():
            port = int(pair.group(2))
            ports[(device, port)] = {}
        elif port:
            ports[(device, port)].setdefault(pair.group(1), pair.group(2))
    return {
        key: VerbsPort(*(_verbs_mtu(values, name, host, text) for name in ("active_mtu", "max_mtu")))
        for key, values in ports.items()
    }


def _verbs_mtu(values: Mapping[str, str], name: str, host: str, text: str) -> int:
    found = re.match(r"(\d+) \(\d\)", values.get(name, ""))
    if not found:
        raise ParseError(f"a port without a readable {name}", host=host, thing="ibv_devinfo", raw=text)
    return int(found.group(1))


# ---- QoS ------------------------------------------------------------------------------------------------------------


@dataclasses.dataclass(frozen=True)
class Qos:
    """``pfc``: priorities with flow control; ``dscp_prio``: DSCP -> priority; ``prio_tc``: priority -> traffic class.

    ``source``: which tool said so.
    """

    trust: str
    pfc: tuple[int, ...]
    dscp_prio: Mapping[int, int]
    prio_tc: Mapping[int, int]
    source: str

    def as_result(self) -> dict[str, Any]:
        """Keys of the two maps as text, as JSON has them."""
        return {
            "trust": self.trust,
            "pfc_priorities": list(self.pfc),
            "dscp_prio": {str(key): value for key, value in sorted(self.dscp_prio.items())},
            "prio_tc": {str(key): value for key, value in sorted(self.prio_tc.items())},
            "source": self.source,
        }


_ENABLED = re.compile(r"^\s*enabled\s+((?:[01]\s*){8})$", re.MULTILINE)
_DSCP_ROW = re.compile(r"^\s*prio:(\d) dscp:([\d,]+)\s*$", re.MULTILINE)
_TC_HEAD = re.compile(r"^tc: (\d+) ")
_TC_PRIORITY = re.compile(r"^\s+priority:\s+(\d)\s*$")


def parse_mlnx_qos(text: str, host: str) -> Qos:
    """``mlnx_qos -i IF``. Without a DSCP table (trust pcp) ``dscp_prio`` is empty."""
    trust = re.search(r"^Priority trust state:\s*(\S+)\s*$", text, re.MULTILINE)
    enabled = _ENABLED.search(text)
    if not trust or not enabled:
        raise ParseError("no trust state or no PFC table", host=host, thing="mlnx_qos", raw=text)
    dscp_prio = {
        int(dscp): int(priority) for priority, values in _DSCP_ROW.findall(text) for dscp in values.split(",") if dscp
    }
    prio_tc: dict[int, int] = {}
    tc: int | None = None
    for line in text.splitlines():
        head, row = _TC_HEAD.match(line), _TC_PRIORITY.match(line)
        if head:
            tc = int(head.group(1))
        elif row and tc is not None:
            prio_tc[int(row.group(1))] = tc
    return Qos(
        trust=trust.group(1),
        pfc=tuple(index for index, bit in enumerate(enabled.group(1).split()) if bit == "1"),
        dscp_prio=dscp_prio,
        prio_tc=prio_tc,
        source="mlnx_qos",
    )


def _pairs(text: str, label: str, value: str, host: str, thing: str) -> dict[int, str]:
    """The map behind ``label`` of a dcb subcommand: ``prio-pfc 0:off 1:off ...``."""
    found = re.search(rf"(?:^|\s){label}((?:\s+\d+:(?:{value}))+)", text)
    if found is None:
        raise ParseError(f"no {label}", host=host, thing=thing, raw=text)
    return {int(key): word for key, word in re.findall(rf"(\d+):({value})", found.group(1))}


def parse_dcb(pfc: str, app: str, ets: str, host: str) -> Qos:
    """``dcb pfc show``, ``dcb -N app show`` and ``dcb ets show`` of one interface.

    The driver trusts DSCP as soon as there is a DSCP entry in the application table; mlnx_qos reads it the same way.
    """
    flow = _pairs(pfc, "prio-pfc", "on|off", host, "dcb pfc show")
    dscp = _pairs(app, "dscp-prio", r"\d", host, "dcb app show") if "dscp-prio" in app else {}
    classes = _pairs(ets, "prio-tc", r"\d", host, "dcb ets show") if "prio-tc" in ets else {}
    return Qos(
        trust="dscp" if dscp else "pcp",
        pfc=tuple(sorted(number for number, word in flow.items() if word == "on")),
        dscp_prio={key: int(word) for key, word in dscp.items()},
        prio_tc={key: int(word) for key, word in classes.items()},
        source="dcb",
    )


def parse_global_tclass(text: str) -> int | None:
    """``tc/1/traffic_class`` of MLNX_OFED: ``Global tclass=106``; None when nothing is set."""
    found = re.search(r"Global tclass=(\d+)", text)
    return int(found.group(1)) if found else None


_ETHTOOL = re.compile(r"^\s*([\w.\[\]-]+):\s*(\d+)\s*$")
_LOSSLESS = re.compile(
    r"^(?:[rt]x_prio[0-7]_(?:pause|pause_duration|pause_transition|discards|buf_discard|cong_discard|bytes|packets)"
    r"|rx_discards_phy|tx_discards_phy|rx_out_of_buffer|out_of_buffer|rx_global_pause|tx_global_pause)$"
)


def parse_ethtool_counters(text: str) -> dict[str, int]:
    """The counters of ``ethtool -S IF`` that tell whether priorities are lossless."""
    found = (_ETHTOOL.match(line) for line in text.splitlines())
    return {row.group(1): int(row.group(2)) for row in found if row and _LOSSLESS.match(row.group(1))}


# ---- drivers --------------------------------------------------------------------------------------------------------


@dataclasses.dataclass(frozen=True)
class Release:
    """The driver distribution on the disk. ``product``: MLNX_OFED, DOCA-OFED or inbox; ``source``: who said so."""

    product: str
    version: str
    source: str


def parse_ofed_info(text: str) -> Release | None:
    """``MLNX_OFED_LINUX-5.2-2.2.4.0:`` (-s) or ``MLNX_OFED_LINUX-4.4-1.0.0.0 (OFED-4.4-1.0.0):`` (first line).

    ``OFED-internal-25.10-1.6.6:`` is what DOCA-OFED is said to print (inferred).
    """
    line = text.strip().splitlines()[0] if text.strip() else ""
    found = re.match(r"^(MLNX_OFED_LINUX|OFED-internal)-(\d[0-9.]*-\d[0-9.]*\d)(?:\s.*)?:?$", line)
    if not found:
        return None
    product = "MLNX_OFED" if found.group(1) == "MLNX_OFED_LINUX" else "DOCA-OFED"
    return Release(product, found.group(2), "ofed_info")


def parse_dpkg(text: str) -> Release | None:
    """``PACKAGE STATUS VERSION`` lines of dpkg-query; doca-ofed is named before the kernel package that it brings."""
    rows = [line.split() for line in text.splitlines()]
    versions = {row[0]: row[2] for row in rows if len(row) == 3 and row[1] == "installed"}
    for package, product in (("doca-ofed", "DOCA-OFED"), ("mlnx-ofed-kernel-dkms", "MLNX_OFED")):
        if package in versions:
            return Release(product, versions[package], f"package {package}")
    return None


def parse_modules(text: str) -> dict[str, list[str]]:
    """``/proc/modules`` or ``lsmod``: module -> the modules that hold it; lines that are no module are skipped."""
    rows = [words for words in map(str.split, text.splitlines()) if all(each.isdigit() for each in words[1:3])]
    users = {words[0]: "".join(words[3:4]).split(",") for words in rows if len(words) >= 3}
    return {name: [user for user in listed if user not in ("", "-")] for name, listed in users.items()}


OPEN_MODULE_LICENSE = "Dual MIT/GPL"
_DMABUF_KERNEL = (5, 12)


def dma_buf(kernel: str, nvidia_license: str | None) -> bool | None:
    """Whether NCCL can register GPU memory through dma-buf: kernel 5.12 and NVIDIA's open kernel module.

    Inferred from NCCL's documentation, not tried. None: one of both is not known.
    """
    numbers = re.match(r"^(\d+)\.(\d+)", kernel)
    if not numbers:
        return None
    if (int(numbers.group(1)), int(numbers.group(2))) < _DMABUF_KERNEL:
        return False
    return None if nvidia_license is None else nvidia_license == OPEN_MODULE_LICENSE


# ---- GPUs -----------------------------------------------------------------------------------------------------------

_LINK = re.compile(r"^(X|NV\d+|PIX|PXB|PHB|NODE|SYS)$")
_GDR_LINKS = ("PIX", "PXB")


def parse_topology(text: str, host: str) -> list[dict[str, Any]]:
    """``nvidia-smi topo -m`` -> one {gpu, nic, link, gdr_by_default} per pair of a GPU and an RDMA device.

    NCCL uses GPUDirect by default only up to PXB; a VM's flat bus shows PHB or SYS.
    """
    rows = [re.sub(r"\x1b\[[0-9;]*m", "", line).split("\t") for line in text.splitlines()]
    header = next((row for row in rows if any(cell.strip() == "GPU0" for cell in row[1:])), None)
    if header is None:
        raise ParseError("no table of links", host=host, thing="nvidia-smi topo -m", raw=text)
    columns = [cell.strip() for cell in header[1:]]
    legend = dict(re.findall(r"^\s*(NIC\d+):\s*(\S+)\s*$", text, re.MULTILINE))
    pairs: list[dict[str, Any]] = []
    for row in rows:
        name = row[0].strip()
        if not re.match(r"^GPU\d+$", name) or row is header:
            continue
        for column, cell in zip(columns, row[1:]):
            link = cell.strip()
            if not re.match(r"^(NIC\d+|mlx\w+)$", column):
                continue
            if not _LINK.match(link):
                raise ParseError("an unknown kind of link", host=host, thing="nvidia-smi topo -m", raw="\t".join(row))
            nic = legend.get(column, column)
            pairs.append({"gpu": name, "nic": nic, "link": link, "gdr_by_default": link in _GDR_LINKS})
    return pairs
