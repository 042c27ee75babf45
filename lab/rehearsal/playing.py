"""Raises the site of an inventory in simulators and plays site.yml on it, inside of the namespace."""

from __future__ import annotations

import contextlib
import ipaddress
import json
import os
import secrets
import socket
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from cryptography import x509

from lab import keys
from lab.config import REPO, LabError, Paths
from lab.rehearsal import engine, namespace, simulators
from lab.rehearsal.guest import Guest
from lab.rehearsal.site import Leaf, Site, address_of, site

PASSWORD = secrets.token_urlsafe(18)
_FIRST_NAMED = ipaddress.IPv4Address("127.79.0.1")  # of what the inventory names and not numbers


def rehearse(inventories: Sequence[str], dest: Path, further: Sequence[str]) -> int:
    """Exit status of ansible-playbook."""
    namespace.refuse_a_way_out(os.environ[namespace.OUTER])
    dest.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="rocemesh-rehearsal-") as name, contextlib.ExitStack() as stack:
        folder = Path(name)
        found = site(read(inventories, folder, further))
        at = places(found)
        namespace.give_addresses(list(dict.fromkeys(at.values())))
        namespace.give_names({name: where for name, where in at.items() if address_of(name) is None}, folder)
        namespace.give_accounts(found.users, folder)
        variables = raise_site(found, at, folder, stack)
        where = folder / "where"
        (where / "host_vars").mkdir(parents=True)
        (where / "hosts.yml").write_text("{}\n")
        for host, its in variables.items():
            (where / "host_vars" / f"{host}.yml").write_text(json.dumps(its))
        print("\n".join(introduction(found)), flush=True)
        words = ["playbooks/site.yml", "--check", *_limit(found, further)]
        status = play(words, [*inventories, str(where / "hosts.yml")], dest, further)
        print(closing(status, dest), flush=True)
        return status


def _limit(found: Site, further: Sequence[str]) -> list[str]:
    named = any(word == "-l" or word.startswith("--limit") for word in further)
    others = ":".join(["all", *(f"!{name}" for name in found.left_out)])
    return [] if named or not found.left_out else ["--limit", others]


def introduction(found: Site) -> list[str]:
    hosts = sum(len(vcenter.topology["hosts"]) for vcenter in found.vcenters)
    lines = [
        f"SIMULATED: {len(found.leaves)} switches, {len(found.vcenters)} vCenters, {hosts} ESXi hosts, "
        f"{len(found.machines)} GPU VMs, {sum(len(each.of('nic')) for each in found.machines)} NICs, "
        f"{sum(len(each.of('gpu')) for each in found.machines)} GPUs, in a network namespace with loopback alone."
    ]
    if found.left_out:
        lines.append(f"Not rehearsed: {', '.join(found.left_out)} (there is no simulator for this switch system).")
    return lines


def closing(status: int, dest: Path) -> str:
    played = "the stages above, up to the failure" if status else "readings, checks and plan of the stages above"
    return (
        f"Rehearsed with --check: {played}. Not rehearsed: the changes themselves, restarts, the build of the image, "
        f"the job.\nAll output: {dest}/reports/site.log. Nothing of the site was contacted."
    )


def play(words: Sequence[str], inventories: Sequence[str], dest: Path, further: Sequence[str]) -> int:
    program = str(Path(sys.executable).with_name("ansible-playbook"))
    chosen = [word for inventory in inventories for word in ("-i", inventory)]
    paths = [str(REPO / word) if word.endswith(".yml") else word for word in words]
    return subprocess.run([program, *paths, *chosen, *further], cwd=dest, env=environment(), check=False).returncode


def environment() -> dict[str, str]:
    wanted = {"ANSIBLE_CONFIG": str(REPO / "ansible.cfg"), "ANSIBLE_STDOUT_CALLBACK": "rocemesh.multinode.stages"}
    return {**wanted, **os.environ}


def read(inventories: Sequence[str], folder: Path, further: Sequence[str]) -> Any:
    """What read.yml says of them. Raises LabError with the words of Ansible."""
    program = str(Path(sys.executable).with_name("ansible-playbook"))
    chosen = [word for inventory in inventories for word in ("-i", inventory)]
    described = folder / "site.json"
    kept = _of_the_inventory(further)
    done = subprocess.run(
        [program, str(REPO / "lab/rehearsal/read.yml"), *chosen, *kept, "-e", f"rehearsal_description={described}"],
        cwd=folder,
        env={**environment(), "ANSIBLE_STDOUT_CALLBACK": "ansible.builtin.default"},
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode != 0 or not described.exists():
        raise LabError(f"the inventory cannot be read:\n{done.stdout}{done.stderr}")
    return json.loads(described.read_text())


def _of_the_inventory(further: Sequence[str]) -> list[str]:
    """Without what chooses hosts of the site: the inventory is read as a whole."""
    kept: list[str] = []
    for at, word in enumerate(further):
        chosen = ("-l", "--limit")
        if word not in chosen and not word.startswith("--limit=") and (at == 0 or further[at - 1] not in chosen):
            kept.append(word)
    return kept


def places(found: Site) -> dict[str, str]:
    """Name or address -> the address where it listens here."""
    names = [each.address for each in found.leaves] + [each.hostname for each in found.vcenters]
    names += [name for name, _port in found.registries]
    listening = {}
    for number, name in enumerate(dict.fromkeys(names)):
        own = address_of(name)
        listening[name] = str(own if own is not None else _FIRST_NAMED + number)
    return listening


def raise_site(
    found: Site, places: Mapping[str, str], folder: Path, stack: contextlib.ExitStack
) -> dict[str, dict[str, Any]]:
    """Host -> variables that lead to the simulators: passwords, certificates and keys, the Python of a VM."""
    password = folder / "password"
    password.write_text(PASSWORD)
    servers: dict[str, list[x509.GeneralName]] = {}
    for vcenter in found.vcenters:
        servers[f"vcenter-{len(servers)}"] = _alternatives(vcenter.hostname, places)
    for leaf in found.leaves:
        servers[leaf.name] = _alternatives(leaf.address, places)
    paths = Paths(folder)
    keys.pki(paths, servers)
    login = {
        "rocemesh_vcenter_password": PASSWORD,
        "rocemesh_vcenter_ca_path": str(paths.pki / "ca.crt"),
        "container_registry_password": PASSWORD,
    }
    variables: dict[str, dict[str, Any]] = {host: {**login} for host in found.hosts}
    for number, vcenter in enumerate(found.vcenters):
        topology = folder / f"topology-{number}.json"
        topology.write_text(json.dumps(vcenter.topology))
        _start(stack, [
            os.environ["ROCEMESH_LABVSPHERE"], "--listen", _listen(places[vcenter.hostname], vcenter.port),
            "--control", "127.0.0.1:0", "--cert", str(paths.pki / f"vcenter-{number}.crt"),
            "--key", str(paths.pki / f"vcenter-{number}.key"), "--user", vcenter.username,
            "--password-file", str(password), "--topology", str(topology),
        ])  # fmt: skip
    for leaf in found.leaves:
        variables[leaf.name] |= _switch(leaf, places[leaf.address], paths, password, stack)
    for machine in found.machines:
        guest = Guest(folder / "guests", machine)
        guest.put_gpus_on_bus()
        here = {"ansible_connection": "local", "ansible_python_interpreter": str(guest.python), "ansible_become": False}
        variables[machine.name] |= here
    stack.enter_context(engine.listening())
    for name, port in found.registries:
        stack.enter_context(_somebody_listens(places[name], port))
    return variables


def _alternatives(name: str, places: Mapping[str, str]) -> list[x509.GeneralName]:
    own = address_of(name)
    listed: list[x509.GeneralName] = [x509.IPAddress(ipaddress.ip_address(places[name]))]
    return listed if own is not None else [x509.DNSName(name), *listed]


def _listen(address: str, port: int) -> str:
    return f"[{address}]:{port}" if ":" in address else f"{address}:{port}"


def _start(stack: contextlib.ExitStack, command: Sequence[str]) -> None:
    stack.enter_context(simulators.started(command))


def _switch(leaf: Leaf, address: str, paths: Paths, password: Path, stack: contextlib.ExitStack) -> dict[str, Any]:
    common = ["--host", address, "--port", str(leaf.port), "--control", "127.0.0.1:0", "--password-file", str(password)]
    common += ["--user", leaf.username, "--name", leaf.name, "--new", *leaf.ports]
    if leaf.driver == "cumulus":
        served = ["--certificate", str(paths.pki / f"{leaf.name}.crt"), "--key", str(paths.pki / f"{leaf.name}.key")]
        _start(stack, [sys.executable, "-m", "lab.nvue", *common, *served])
        return {"switch_password": PASSWORD, "switch_ca_path": str(paths.pki / "ca.crt")}
    key = paths.root / f"{leaf.name}.key"
    _start(stack, [sys.executable, "-m", "lab.switch", *common, "--host-key", str(key)])
    known = paths.root / f"{leaf.name}.known_hosts"
    public = key.with_name(f"{key.name}.pub").read_text()
    rows = [keys.known_hosts_line(name, leaf.port, public) for name in dict.fromkeys((leaf.address, address))]
    known.write_text("\n".join(rows) + "\n")
    return {"switch_password": PASSWORD, "switch_known_hosts": str(known)}


@contextlib.contextmanager
def _somebody_listens(address: str, port: int) -> Iterator[None]:
    """The registry: no stage that is rehearsed asks more of it."""
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    with socket.create_server((address, port), family=family) as server:

        def serve() -> None:
            with contextlib.suppress(OSError):
                while True:
                    server.accept()[0].close()

        threading.Thread(target=serve, daemon=True).start()
        yield


if __name__ == "__main__":
    try:
        _inventories, _dest, _further = json.loads(sys.argv[1])
        sys.exit(rehearse(_inventories, Path(_dest), _further))
    except LabError as error:
        sys.exit(f"rehearsal: {error}")
