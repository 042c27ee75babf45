"""What in a text tells addresses, serial numbers and names. One alternation: nothing is replaced twice.

Forms: RFC 5952 and 4291 (IPv6), RFC 9562 (UUID), lspci(8) and nvidia-smi(1) for serial numbers,
VMware's ``uuid.bios``. Secrets: mask.py.
"""

from __future__ import annotations

import re
from typing import Iterable, Iterator, Pattern

# Group name -> pattern. The first that matches at a place wins.
_FORMS: dict[str, str] = {
    "uuid": r"(?:(?<![^\W_])|(?<=%[0-9a-f]{2}))(?:GPU-|MIG-)?"
    r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}(?![^\W_])",
    "biosuuid": r"\b(?:[0-9a-f]{2} ){7}[0-9a-f]{2}-(?:[0-9a-f]{2} ){7}[0-9a-f]{2}\b",
    "eui": r"(?<![\w:-])[0-9a-f]{2}(?:-[0-9a-f]{2}){7}(?![\w:-])"
    r"|(?<![\w:])[0-9a-f]{2}(?::[0-9a-f]{2}){7}(?![\w:])",
    "serial": r"\b(?:serial(?:[ _-]?(?:number|no\.?))?|s/n|service[ _]tag|asset[ _]tag|part serial)\b"
    r"[\"']?[ \t]*[:=][ \t]*[\"']?(?P<value>[\w./-]+)",
    "mac": r"(?<![\w:-])[0-9a-f]{2}(?::[0-9a-f]{2}){5}(?![\w:-])|(?<![\w:-])[0-9a-f]{2}(?:-[0-9a-f]{2}){5}(?![\w:-])"
    r"|(?<![\w.])[0-9a-f]{4}\.[0-9a-f]{4}\.[0-9a-f]{4}(?![\w.])",
    "guid": r"(?<![\w:])[0-9a-f]{4}(?::[0-9a-f]{4}){3}(?![\w:])|(?<=guid)[\"']?[ \t]*[:=]?[ \t]*0x[0-9a-f]{16}\b",
    # Eight groups, or two colons: "host0a:12:34 [0]" of NCCL is none.
    "v6": r"(?<![\w:.])(?=[0-9a-f:]*::|(?:[0-9a-f]{1,4}:){7}|(?:[0-9a-f]{1,4}:){6}\d+\.)"
    r"(?:[0-9a-f:]+:(?:\d{1,3}\.){3}\d{1,3}|[0-9a-f:]+)(?![\w:]|\.\d)(?:/\d{1,3}(?!\w))?",
    # Not the releases of OFED (5.2-2.2.4.0), which only look like an address.
    "v4": r"(?<![\w.])(?<!\d\.\d-)(?:\d{1,3}\.){3}\d{1,3}(?!\w|\.\d)(?:/\d{1,2}(?!\w))?",
    "dashed": r"\bip-\d{1,3}-\d{1,3}-\d{1,3}-\d{1,3}\b",
    "home": r"(?<=/home/)[\w.-]+|(?<=/Users/)[\w.-]+",
    "user": r"(?<![\w./@-])[a-z_][\w.-]*(?=@(?:\d+\.\d+\.\d+\.\d+"
    r"|[a-z][\w-]*\d[\w-]*(?![\w.-]*\.(?:service|timer|socket))\b"
    r"|[\w-]+\.(?!service|timer|socket|mount)[\w.-]*[a-z]))",
}
# Ends of names of hosts. Ends of files (so, cc, py, log) are none of them.
_ENDS = (
    "com net org edu gov local localdomain lan corp internal intra intern home io cloud ai tech example test invalid"
)
_ENDS += " de fr uk nl ch at eu us cn jp kr in it es se no fi pl cz"
_DOMAIN = rf"(?<![\w.-])(?:[a-z0-9](?:[a-z0-9-]*[a-z0-9])?\.)+(?:{'|'.join(_ENDS.split())})(?![\w-]|\.\w)"
# Whose names stand in the messages of programs: they tell nothing of a site.
_PUBLIC = re.compile(
    r"(?:^|\.)(?:nvidia|mellanox|github|githubusercontent|gitlab|pytorch|open-mpi|openmpi|kernel|ubuntu|canonical|debian"
    r"|redhat|docker|vmware|broadcom|python|pypi|intel|amd|apache|openfabrics|linuxfoundation|freedesktop|microsoft|google|tensorflow"
    r"|huggingface|pmix|openpmix|schedmd|kubernetes|gnu|w3|ietf|example)\.(?:com|org|io|net|ai)$",
    re.IGNORECASE,
)
# Where programs print who they are, and where a text may speak of a host.
_SURE = (
    re.compile(r"^(?:\[\d{4}-\d\d-\d\d [^\]\n]+\] )?(?P<name>[A-Za-z0-9][\w.-]*):\d+:\d+ \[\d+\]", re.MULTILINE),
    re.compile(
        r"^(?:[A-Z][a-z]{2} +\d+ [\d:]{8}|\d{4}-\d\d-\d\dT\S+) (?P<name>[A-Za-z][\w.-]*) [\w.@/-]+(?:\[\d+\])?: ",
        re.MULTILINE,
    ),
)
_PERHAPS = (
    re.compile(
        r"\b(?:local host|remote host|host ?name|node ?name|host|node|from|to)[ \t]*[:=]?[ \t]+"
        r"(?P<name>[a-z][a-z-]*\d[\w-]*)\b",
        re.IGNORECASE,
    ),
    re.compile(r"^(?P<name>[A-Za-z]+-\d[\w-]*)(?:: |\| )", re.MULTILINE),
    re.compile(r"(?<=[\w.-])@(?P<name>[a-z][\w-]*\d[\w-]*)\b"),
)
_PIECE = re.compile(r"(?:^|/)(?:hosts|containers|switches|esxi|vms|nodes)/(?P<name>[^/]+)/")
_INTERFACE = re.compile(r"(?:mlx\d|GPU|eth\d|en[ospx]\d|ib\d|prio\d|rank\d|step\d|epoch\d|line\d)")
# What looks like the name of a host and is the name of a part.
_PART = re.compile(
    r"(?:gpu|node)[-_]?\d$|(?:mlx|bnxt|erdma|efa|irdma|rocep|nic|eth|en[ospx]|ib|hca|pci|cuda|cudnn|nccl|nvlink|nvme|nvidia|prio|step|epoch|rank"
    r"|line|channel|tree|ring|port|dev|device|cpu|numa|lane|group|comm|ipv|layer|vmnic|vmk|vmhba|uverbs|umad|issm|sd|dm"
    r"|[a-z]|gh|gb|sha|utf|md|fp|bf|int|tf|sxm|connectx|lib\w+|sm|mpi|openmpi|torch|python|gcc|libc|ucx|round|iter"
    r"|iteration|test|version|level|size|count|index|id|type"
    r"|error|code|status|vlan|mtu|queue|qp|tx|rx|socket|slot|worker-thread)[-_]?\d[\w.:-]*$",
    re.IGNORECASE,
)


def everything(names: Iterable[str]) -> Pattern[str]:
    """Names as words, and every form."""
    parts = dict(_FORMS)
    words = sorted({each for each in names if each}, key=lambda each: (-len(each), each))
    dotted = "|".join(re.escape(each) for each in words if "." in each)
    if dotted:
        parts["known"] = rf"(?<![\w.-])(?:{dotted})(?![\w-]|\.\w)"
    parts["domain"] = _DOMAIN
    plain = "|".join(re.escape(each) for each in words if "." not in each)
    if plain:
        parts["name"] = rf"(?<![^\W_])(?-i:{plain})(?![^\W_])"
    return re.compile("|".join(f"(?P<{key}>{form})" for key, form in parts.items()), re.IGNORECASE | re.DOTALL)


def is_public(domain: str) -> bool:
    return _PUBLIC.search(domain) is not None


def host_of_piece(name: str) -> str:
    match = _PIECE.search(name)
    return match["name"] if match else ""


def hosts_in(text: str) -> Iterator[str]:
    """Names of hosts that stand where programs print them."""
    for pattern in (*_SURE, *_PERHAPS):
        for match in pattern.finditer(text):
            name = match["name"].rstrip(".-")
            part = (_INTERFACE if pattern in _SURE else _PART).match(name)
            if not part and not re.fullmatch(r"[\d.]+", name) and len(name) > 2:
                yield name
