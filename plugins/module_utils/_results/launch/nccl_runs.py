"""Environment of the two runs, a short PROBE and the TIMED run: NCCL describes its path in both. Pure.

With the subsystems below NCCL writes while it sets up communicators and connections, and nothing per collective: COLL,
TUNING, CALL, PROXY and P2P are left out. While data moves it then writes only that a request was sent again, that a
completion failed, or that a port changed. So the timed run is observed by its own log, one file per process, and its
output stays as it is. NCCL writes its warnings into these files, too. Both runs demand the same network: a fall back
to sockets is an error instead of a slow success. Facts: NCCL's documentation of its environment and its source
(src/debug.cc, src/enqueue.cc, src/transport/net.cc, src/transport/net_ib, tags 2.7.8 to 2.30.7).
"""

from __future__ import annotations

import re
from typing import Any, Mapping

from ..._judge.sentences import refusal
from ..._layer import RefusedError

# INIT: ranks and, with NET, the channels; NET alone has the lines about GPUDirect; GRAPH the neighbours in the ring.
SUBSYSTEMS = "INIT,NET,ENV,GRAPH"
_TALK = ("NCCL_DEBUG", "NCCL_DEBUG_SUBSYS", "NCCL_DEBUG_FILE", "NCCL_TOPO_DUMP_FILE")
# NCCL replaces % in the name of its file; the shell that collects the files must not replace anything.
_PREFIX = re.compile(r"/[A-Za-z0-9._/-]*[A-Za-z0-9_-]")
_NETWORK = re.compile(r"[A-Za-z][\w .-]*")


def environment(base: Mapping[str, Any], kind: str, prefix: str = "", network: str = "IB") -> dict[str, Any]:
    """``base`` and what makes NCCL write its path into files. ``kind``: probe or timed; a timed run without ``prefix``
    writes warnings alone.

    ``prefix``: path in the container, without suffix. Every process writes ``PREFIX.HOST.PID.log``, rank 0 of a probe
    also ``PREFIX.topology.xml``. ``network``: the only network that NCCL may use, "" for NCCL's own choice. Raises
    RefusedError.
    """
    found = _network(base, network)
    if kind == "timed":
        found = {name: value for name, value in found.items() if name not in _TALK}
        if not prefix:
            return {**found, "NCCL_DEBUG": "WARN"}
    if not _PREFIX.fullmatch(prefix):
        raise refusal("no_prefix", prefix)
    found |= {"NCCL_DEBUG": "INFO", "NCCL_DEBUG_SUBSYS": SUBSYSTEMS, "NCCL_DEBUG_FILE": f"{prefix}.%h.%p.log"}
    return {**found, "NCCL_TOPO_DUMP_FILE": f"{prefix}.topology.xml"} if kind == "probe" else found


def _network(base: Mapping[str, Any], network: str) -> dict[str, Any]:
    if not network:
        return dict(base)
    if not _NETWORK.fullmatch(network):
        raise RefusedError("not the name of a network", host="probe", thing="NCCL_NET", value=network)
    if network != "Socket" and str(base.get("NCCL_IB_DISABLE", 0)).strip().lower() in ("1", "true"):
        raise refusal("ib_disabled", base["NCCL_IB_DISABLE"], network=network)
    given = base.get("NCCL_NET")
    if given not in (None, "", network):
        raise refusal("other_network", given, network=network)
    return {**base, "NCCL_NET": network}
