"""What a container and its environment say, compared with what the path shall be. Pure."""

from __future__ import annotations

import re
from typing import Any, Iterator, Mapping, Sequence

from .._judge.finding import Finding
from .nccl_variables import CHOOSES_GID, version_of
from .path_intent import CONTAINER, Intent, row, same
from .path_nic import gid_of, rail_of
from .rails import refused

# Interfaces that end at their own host.
_LOCAL = re.compile(r"(?:lo|docker\d*|br-[0-9a-f]+|virbr\d*|veth\w*|podman\d*|cni\d*)$")


def _number(env: Mapping[str, Any], name: str, host: str) -> int | None:
    """An environment variable as NCCL reads it (decimal or 0x); None when it is not set."""
    text = str(env.get(name, "")).strip()
    if not text:
        return None
    try:
        return int(text, 0)
    except ValueError:
        remedy = "set it to a number, or not at all"
        raise refused("consistency", f"{host}: is no number", remedy, name, text) from None


def selects(selector: str, device: str, port: int) -> bool:
    """Whether NCCL_IB_HCA takes a port: ``mlx5`` (beginning), ``=mlx5_0:1`` (exact), ``^`` in front turns it round."""
    excluded = selector.startswith("^")
    rest = selector[1:] if excluded else selector
    exact = rest.startswith("=")
    hit = False
    for entry in (rest[1:] if exact else rest).split(","):
        name, _colon, number = entry.strip().partition(":")
        named = device == name if exact else device.startswith(name)
        hit = hit or (named and (not number or number == str(port)))
    return hit is not excluded


def or_none(value: Any) -> Any:
    """None for a value that was not given: older Ansible turns a template's none into an empty text."""
    return None if value in (None, "", "None") else value


def container_rows(
    host: str, container: Mapping[str, Any], ports: Sequence[Mapping[str, Any]], mtus: Mapping[str, int], intent: Intent
) -> Iterator[Finding]:
    env: Mapping[str, Any] = container.get("env") or {}
    name = f"{host} {container.get('name') or 'container'}"
    network = container.get("network_mode")
    yield row("MTU", CONTAINER, f"{name} network", "host", network, same(network, "host"),
              "start the container with --net=host: another network hides the RoCE interface")  # fmt: skip
    yield from _container_mtu(name, container, ports, mtus, intent)
    byte = _number(env, "NCCL_IB_TC", name)
    shown = "not set" if byte is None else byte
    # Without it NCCL (2.7.8 to 2.30.7) sends with traffic class 0, unless its program sets another (since 2.26).
    sent = byte or 0
    yield row("DSCP", CONTAINER, f"{name} NCCL_IB_TC", f"DSCP {intent.dscp}", f"{shown} = DSCP {sent >> 2}",
              sent >> 2 == intent.dscp, f"export NCCL_IB_TC={intent.traffic_class}")  # fmt: skip
    yield row("traffic class", CONTAINER, f"{name} NCCL_IB_TC", intent.traffic_class, shown,
              sent == intent.traffic_class, f"export NCCL_IB_TC={intent.traffic_class}")  # fmt: skip
    for variable in ("NCCL_IB_FIFO_TC", "UCX_IB_TRAFFIC_CLASS"):
        other = _number(env, variable, name)
        if other is not None:
            yield row("traffic class", CONTAINER, f"{name} {variable}", intent.traffic_class, other,
                      other == intent.traffic_class, f"export {variable}={intent.traffic_class}")  # fmt: skip
    level = _number(env, "NCCL_IB_SL", name)
    if level is not None:
        yield row("priority", CONTAINER, f"{name} NCCL_IB_SL", intent.priority, level, level == intent.priority,
                  f"export NCCL_IB_SL={intent.priority}, or leave it out: DSCP decides")  # fmt: skip
    for port in ports:
        table = (port.get("qos") or {}).get("dscp_prio") or {}
        priority = table.get(str(sent >> 2))
        yield row("priority", CONTAINER, f"{name} over {port['name']}", intent.priority, priority,
                  priority == intent.priority if table else None,
                  "let traffic class and the NIC's DSCP table agree")  # fmt: skip
    yield from _container_gid(name, container, ports, env, intent)
    yield from _container_link(name, env, intent)


def _container_mtu(
    name: str, container: Mapping[str, Any], ports: Sequence[Mapping[str, Any]], mtus: Mapping[str, int], intent: Intent
) -> Iterator[Finding]:
    """``mtus`` of the container: interface to what it sees there; ``mtu``: that of the first one alone."""
    each = or_none(container.get("mtus"))
    seen = dict(each) if isinstance(each, Mapping) else {}
    first = or_none(container.get("mtu"))
    if not seen and first is not None and ports:
        seen = {ports[0].get("netdev"): first}
    for port in ports:
        value = or_none(seen.get(port.get("netdev")))
        if value is not None:
            wanted = mtus.get(rail_of(port, intent), 0)
            where = f"{name} interface {port.get('netdev')}"
            yield row("MTU", CONTAINER, where, wanted, value, int(value) == wanted, "start the container again")


def _container_link(name: str, env: Mapping[str, Any], intent: Intent) -> Iterator[Finding]:
    """Variables that take the job off the RDMA ports, or slow it down there."""
    disabled = str(env.get("NCCL_IB_DISABLE", "")).strip()
    on = disabled.lower() not in ("1", "true")
    yield row("link", CONTAINER, f"{name} NCCL_IB_DISABLE", "0 or not set", disabled or "not set", on,
              "take NCCL_IB_DISABLE away: with it NCCL sends over TCP")  # fmt: skip
    net = str(env.get("NCCL_NET", "")).strip()
    if net:
        yield row("link", CONTAINER, f"{name} NCCL_NET", "IB, a plugin or not set", net, net.lower() != "socket",
                  "take NCCL_NET away, or set it to IB")  # fmt: skip
    interface = str(env.get("NCCL_SOCKET_IFNAME", "")).strip()
    if interface and not interface.startswith("^"):
        bridges = [word for word in interface.lstrip("=").split(",") if _LOCAL.match(word.strip())]
        yield row("link", CONTAINER, f"{name} NCCL_SOCKET_IFNAME", "an interface that all hosts reach", interface,
                  not bridges, "name the interface of the cluster network: this one ends at its own host")  # fmt: skip
    ordering = str(env.get("NCCL_IB_PCI_RELAXED_ORDERING", "")).strip()
    if ordering:
        yield row("link", CONTAINER, f"{name} NCCL_IB_PCI_RELAXED_ORDERING", "1, 2 or not set", ordering,
                  ordering != "0", "leave it out: without relaxed ordering ATS in a VM gains little")  # fmt: skip
    cross = str(env.get("NCCL_CROSS_NIC", "")).strip()
    if cross and len(intent.networks) > 1:
        yield row("link", CONTAINER, f"{name} NCCL_CROSS_NIC", "0", cross, cross == "0",
                  "export NCCL_CROSS_NIC=0, unless there is a route between the rails")  # fmt: skip


def _container_gid(
    name: str, container: Mapping[str, Any], ports: Sequence[Mapping[str, Any]], env: Mapping[str, Any], intent: Intent
) -> Iterator[Finding]:
    visible = container.get("infiniband")
    yield row("GID", CONTAINER, f"{name} /dev/infiniband", "passed in",
              None if visible is None else "passed in" if visible else "not passed in",
              None if visible is None else bool(visible),
              "start the container with --device=/dev/infiniband")  # fmt: skip
    selector = str(env.get("NCCL_IB_HCA", "")).strip()
    chosen = [port for port in ports if not selector or selects(selector, port["name"], int(port["port"]))]
    if selector:
        wanted = ", ".join(f"{port['name']}:{port['port']}" for port in ports)
        # Without the names of the networks it is not known which of several ports are meant.
        right = len(chosen) == len(ports) if intent.networks else bool(chosen)
        yield row("GID", CONTAINER, f"{name} NCCL_IB_HCA", wanted, selector, right if ports else None,
                  f"export NCCL_IB_HCA={'=' + wanted.replace(' ', '')}: the devices that have a RoCE address"
                  )  # fmt: skip
    index = _number(env, "NCCL_IB_GID_INDEX", name)
    if index is not None and index >= 0:
        for port in chosen:
            own = gid_of(port, intent)[0]
            yield row("GID", CONTAINER, f"{name} NCCL_IB_GID_INDEX on {port['name']}", own, index, same(own, index),
                      f"export NCCL_IB_GID_INDEX={own} on this host; the index can differ between hosts")  # fmt: skip
        return
    numbers = version_of(str(or_none(container.get("nccl_version")) or ""))
    yield row("GID", CONTAINER, f"{name} NCCL_IB_GID_INDEX", "set, or NCCL 2.21",
              f"not set, NCCL {container['nccl_version']}" if numbers else None,
              None if numbers is None else numbers >= CHOOSES_GID,
              "export NCCL_IB_GID_INDEX: NCCL before 2.21 takes GID 0, which is RoCE v1")  # fmt: skip
