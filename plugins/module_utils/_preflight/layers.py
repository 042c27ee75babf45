"""What is right of each value and wrong of several together: identities, addresses, networks, ports, MTU. Pure."""

from __future__ import annotations

import collections
import ipaddress
import re
from typing import Any, Iterator, Mapping, Sequence

from .._judge.finding import Finding
from .._results.readers.reading import by_key, few
from . import relations
from .findings import found
from .values import truth, words

# Host of the inventory -> effective values of its variables.
Site = Mapping[str, Mapping[str, Any]]
# Ansible's own variables that are judged as well.
LOGIN = frozenset(("ansible_connection", "ansible_password", "ansible_become_password", "ansible_port"))
_SSH, _HTTPS = 22, 443
# No range of ports is longer on any switch; a longer one is a slip of the pen of another kind.
_MOST_PORTS = 1024
_RANGE = re.compile(r"^(?P<prefix>.*?)(?P<first>\d+)-(?P<again>.*?)(?P<last>\d+)$")


def judge(
    site: Site, groups: Mapping[str, Sequence[str]], defaults: Mapping[str, Any], unclear: Mapping[str, set[str]]
) -> Iterator[Finding]:
    """Findings of the inventory alone. ``defaults``: of options; ``unclear``: host -> variables that have no value
    here."""
    members = {name: [host for host in groups.get(name) or () if host in site] for name in groups}
    switches, nodes = members.get("switches", []), members.get("gpu_vms", [])
    yield from _identities(site, members.get("esxi_hosts", []), nodes)
    yield from _vcenters(site, members.get("esxi_hosts", []))
    yield from _logins(site, [*switches, *nodes])
    mesh = {host: (_mesh(site[host])[1],) for host in nodes if _mesh(site[host])[1]}
    yield from _same(mesh, "rocemesh_address", "its address in the RoCE network")
    for host in nodes:
        yield from _placed(host, site[host])
        yield from _fits(host, site, switches)
        yield from _covers(host, site[host])
    for host in switches:
        yield from _ports(host, site[host])
    yield from relations.judge(site, members, defaults, unclear)


def _mesh(row: Mapping[str, Any]) -> tuple[str, Any]:
    """Variable of the address that the mesh uses, and the address; None: it has none that can be read."""
    variable = "mesh_address" if row.get("mesh_address") else "rocemesh_address"
    return variable, _address(row.get(variable))


def _identities(site: Site, esxi_hosts: Sequence[str], nodes: Sequence[str]) -> Iterator[Finding]:
    """A name in vCenter is one machine; vCenter finds it in any case of its letters."""
    for hosts, variable in ((esxi_hosts, "esxi_host_name"), (nodes, "gpu_vm_name")):
        keys = {host: (str(site[host].get(variable) or host).casefold(), _vcenter(site[host])) for host in hosts}
        yield from _same(keys, variable, "its own name in vCenter (two names that differ in case alone are one)")


def _vcenter(row: Mapping[str, Any]) -> tuple[str, str]:
    return str(row.get("rocemesh_vcenter_hostname") or "").casefold(), str(row.get("rocemesh_vcenter_port") or "")


def _vcenters(site: Site, hosts: Sequence[str]) -> Iterator[Finding]:
    """An ESXi host alone may be asked about itself, and knows no other one."""
    own = {host: str(site[host].get("esxi_host_name") or host).casefold() for host in hosts}
    asked = {host: _vcenter(site[host])[0] for host in hosts}
    wrong = [host for host in hosts if asked[host] in own.values() and asked[host] != own[host]]
    if wrong:
        yield found("vcenter_is_host", few(wrong), asked=asked[wrong[0]])


def _logins(site: Site, hosts: Sequence[str]) -> Iterator[Finding]:
    keys: dict[str, tuple[Any, ...]] = {}
    for host in hosts:
        row = site[host]
        if str(row.get("ansible_connection") or "ssh") == "local":
            continue
        place = row.get("switch_host") or row.get("ansible_host") or host
        keys[host] = (str(_address(place) or str(place).casefold()), _login_port(row))
    yield from _same(keys, "ansible_host", "its own address")
    # An address of the RoCE network is that of its VM alone.
    owners = {(str(_mesh(site[host])[1]), _login_port(site[host])): host for host in hosts if _mesh(site[host])[1]}
    for host, key in keys.items():
        owner = owners.get(key, host)
        if owner != host and keys.get(owner) != key:
            yield found("login_is_roce", host, address=key[0], owner=owner)
        vcenter = _vcenter(site[host])
        if key == (vcenter[0], str(_SSH)) and vcenter[1] in ("", str(_HTTPS)):
            yield found("vcenter_is_login", host, address=key[0], host=host)


def _login_port(row: Mapping[str, Any]) -> str:
    return str(row.get("switch_port") or row.get("ansible_port") or row.get("ansible_ssh_port") or _SSH)


def _same(keys: Mapping[str, tuple[Any, ...]], variable: str, what: str) -> Iterator[Finding]:
    for key, several in by_key((key, host) for host, key in keys.items()).items():
        if len(several) > 1:
            yield found("same_value", few(several), variable=variable, value=key[0], hosts=few(several), what=what)


def _placed(host: str, row: Mapping[str, Any]) -> Iterator[Finding]:
    """The address that MPI and the mesh use lies in the networks that they are limited to."""
    variable, address = _mesh(row)
    if address is None:
        return
    for name in ("run_network", "mesh_cidr"):
        around = _networks(row.get(name))
        if not around:
            continue
        inside = [network for network in around if address in network]
        if not inside:
            words = {"variable": variable, "address": str(address), "name": name}
            yield found("address_outside", host, around=few(around), **words)
            return
        for network in inside:
            ends = (network.network_address, network.broadcast_address)
            if network.num_addresses > 2 and network.version == 4 and address in ends:
                yield found("address_at_end", host, variable=variable, address=address, network=network)
                return


def _fits(host: str, site: Site, switches: Sequence[str]) -> Iterator[Finding]:
    mtu = relations.Said(site[host], {}).number("guest_mtu")
    for switch in switches:
        most = relations.Said(site[switch], {}).number("switch_mtu")
        if 0 < most < mtu:
            yield found("mtu_too_large", host, mtu=mtu, most=most, switch=switch)
            return


def _covers(host: str, row: Mapping[str, Any]) -> Iterator[Finding]:
    """The networks by which a VM's interfaces are chosen hold every rail."""
    around = [] if _named(row) else _networks(row.get("guest_networks"))
    rails = _networks(row.get("rocemesh_roce_networks"))
    bare = [rail for rail in rails if not any(rail[0] in network and rail[-1] in network for network in around)]
    if around and bare:
        yield found("rails_uncovered", host, around=few(around), bare=few(bare))


def _named(row: Mapping[str, Any]) -> list[str]:
    """Interfaces that the site chooses by their names."""
    return [name for name in words(row.get("guest_interfaces")) if name != "auto"]


def _ports(host: str, row: Mapping[str, Any]) -> Iterator[Finding]:
    named: list[str] = []
    driver = relations.driver_of(row)
    for text in relations.each_port(row["switch_ports"]) if isinstance(row.get("switch_ports"), (list, str)) else ():
        ports, wrong = expand(text), relations.port(text, driver)
        if wrong:
            yield found("port_form", host, port=text, form=wrong)
        elif ports is None:
            yield found("port_backwards", host, port=text)
        named += ports or []
    twice = [port for port, times in collections.Counter(named).items() if times > 1]
    if twice:
        yield found("port_twice", host, ports=", ".join(twice[:4]))


def expand(text: str) -> list[str] | None:
    """``1/1-1/4`` -> its four ports; a text that is no such range is one port; None: it runs backwards."""
    match = _RANGE.match(text.strip())
    if not match or match["again"] not in ("", match["prefix"]):
        return [text.strip()]
    numbers = range(int(match["first"]), int(match["last"]) + 1)
    if len(numbers) > _MOST_PORTS:
        return [text.strip()]
    return [f"{match['prefix']}{number}" for number in numbers] or None


# ------------------------------------------------------------------------------------------------------------ readings


def placement(vcenter: Mapping[str, Any], esxi_hosts: Sequence[str]) -> Iterator[Finding]:
    """``esxi_hosts``: names in this vCenter of all its hosts in the inventory. A VM of the run lives on one of them."""
    rows = [row for row in vcenter.get("hosts") or () if not row.get("problem")]
    known = {str(row.get("name")) for row in rows} | set(esxi_hosts)
    for row in vcenter.get("vms") or ():
        host = str(row.get("esxi_host") or "")
        if host and not row.get("problem") and host not in known:
            yield found("vm_elsewhere", str(row.get("asked")), host=host, there=few(sorted(known)) or "none")
    running = [str(name) for row in rows for name in row.get("running_vms") or ()]
    for row in vcenter.get("vms") or ():
        asked = str(row.get("asked"))
        like = [name for name in running if name != asked and name.casefold() == asked.casefold()]
        if like and asked not in running:
            yield found("vm_name_case", asked, asked=asked, like=like[0])


def addresses(site: Site, nodes: Mapping[str, Mapping[str, Any]]) -> Iterator[Finding]:
    """What the inventory says of addresses against those that each node has, and who listens at that of the mesh.
    ``nodes``: what node_info returned; one without addresses is left out."""
    has = {
        host: [ipaddress.ip_interface(text).ip for texts in reading["addresses"].values() for text in texts]
        for host, reading in nodes.items()
        if reading.get("addresses") and host in site
    }
    owner = {each: host for host, own in has.items() for each in own}
    for host, own in has.items():
        row = site[host]
        variable, wanted = _mesh(row)
        if wanted and wanted not in own:
            around = [network for name in ("run_network", "mesh_cidr") for network in _networks(row.get(name))]
            there = [str(each) for each in own if any(each in network for network in around)]
            where = f"{wanted} is an address of {owner[wanted]}" if wanted in owner else f"no interface has {wanted}"
            has_there = f"; in its network this VM has {few(there)}" if there else ""
            yield found("address_not_there", host, variable=variable, wanted=wanted, where=where, there=has_there)
        for network in _networks(row.get("rocemesh_roce_networks")) if nodes[host].get("rdma_devices") else ():
            if not any(each in network for each in own):
                yield found("rail_without_address", host, network=network)
        transport, port = relations.mesh_server(relations.Said(row, {}))
        taken = ("*", "::" if wanted and wanted.version == 6 else "0.0.0.0", str(wanted))
        for each in nodes[host].get("listeners") or () if transport == "container" else ():
            if each["port"] == port and each["address"] in taken:
                yield found("port_taken", host, **each)


def interfaces(site: Site, nodes: Mapping[str, Mapping[str, Any]]) -> Iterator[Finding]:
    """The interfaces of the RoCE network against those that each node has. A twin's are not those of its kernel."""
    for host, reading in nodes.items():
        there = reading.get("addresses")
        if not there or host not in site or reading.get("simulated") or not reading.get("rdma_devices"):
            continue
        row = site[host]
        names = _named(row)
        for name in [name for name in names if name not in there]:
            yield found("interface_missing", host, name=name, there=few(sorted(there)))
        environment = row["run_env"] if isinstance(row.get("run_env"), Mapping) else {}
        for variable, known in (("NCCL_SOCKET_IFNAME", list(there)), ("NCCL_IB_HCA", reading["rdma_devices"])):
            lost = _without(str(environment.get(variable) or ""), known)
            if lost:
                words = {"variable": variable, "lost": few(lost), "known": few(sorted(known))}
                yield found("nccl_name_missing", host, **words)
        chosen = relations.Said(row, {}).number("guest_mtu") > 0 or truth(row.get("guest_qos_enabled"))
        around = [] if names or not chosen else _networks(row.get("guest_networks"))
        own = [ipaddress.ip_interface(text).ip for texts in there.values() for text in texts]
        if around and not any(each in network for each in own for network in around):
            yield found("network_not_there", host, around=few(around))


def _without(text: str, there: Sequence[str]) -> list[str]:
    """What of NCCL's list begins no name there, or with ``=`` is none of them; ``^`` excludes, and needs none."""
    wanted = [] if text.startswith("^") else [word.partition(":")[0] for word in words(text.lstrip("="))]
    return [n for n in wanted if n not in there and (text[0] == "=" or not any(o.startswith(n) for o in there))]


def _address(value: Any) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    try:
        return ipaddress.ip_address(str(value))
    except ValueError:
        return None


def _networks(value: Any) -> list[ipaddress.IPv4Network | ipaddress.IPv6Network]:
    """Nothing where one cannot be read: that is a finding of its own."""
    texts = words(value) if isinstance(value, (str, list)) else []
    try:
        return [ipaddress.ip_network(text, strict=False) for text in texts if "/" in text]
    except ValueError:
        return []
