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


def probe(base: Mapping[str, Any], prefix: str, network: str = "IB") -> dict[str, Any]:
    """``base`` and what makes NCCL tell its path.

    ``prefix``: path in the container, without suffix. Every process writes ``PREFIX.HOST.PID.log``, rank 0 also
    ``PREFIX.topology.xml``. ``network``: the only network that NCCL may use, "" for NCCL's own choice. RefusedError.
    """
    files = _files(prefix)
    return {**_network(base, network), **files, "NCCL_TOPO_DUMP_FILE": f"{prefix}.topology.xml"}


def timed(base: Mapping[str, Any], prefix: str = "", network: str = "IB") -> dict[str, Any]:
    """``base`` and what makes NCCL write its path into files; without ``prefix`` NCCL writes warnings alone.

    ``prefix``, ``network``: as for `probe`. Raises RefusedError.
    """
    quiet = {name: value for name, value in _network(base, network).items() if name not in _TALK}
    return {**quiet, **_files(prefix)} if prefix else {**quiet, "NCCL_DEBUG": "WARN"}


def _files(prefix: str) -> dict[str, str]:
    """One file of NCCL's words per process. Raises RefusedError."""
    if not _PREFIX.fullmatch(prefix):
        raise refusal("no_prefix", prefix)
    return {"NCCL_DEBUG": "INFO", "NCCL_DEBUG_SUBSYS": SUBSYSTEMS, "NCCL_DEBUG_FILE": f"{prefix}.%h.%p.log"}


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
