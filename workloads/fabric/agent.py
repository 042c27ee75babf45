"""One host of the fabric check: asks and answers probes, starts perftest when its round begins. One per host.

All hosts have the same plan, so nobody is told what to do next. The first host listens; when everybody called, it says
when round 0 begins, in seconds from now, and every round has a fixed length from there: a host that is dead or slow
holds up nobody, and the end is known before the beginning. Clocks of the hosts are not compared.

Results go to the first host, which prints them in lines "FABRIC {json}" that no reader has to cut. Programs that this
one started, and nobody else's, are ended by their handle when their time is over.

Usage: agent.py PLAN      PLAN: JSON, deflated, base64 (module_utils/_fabric/wire.py writes it)
Exit status 0, also of a host that could not take part (its line is missing then): mpirun ends all ranks if one fails.
"""

from __future__ import annotations

import base64
import contextlib
import errno
import json
import os
import re
import signal
import socket
import struct
import subprocess
import sys
import threading
import time
import zlib
from typing import Any, Callable, Iterator, Sequence, Tuple

Pair = Tuple[int, int]
MAGIC = b"rocemesh-fabric"
PATIENCE = 30.0  # until every host has called
LEAD = 0.5  # between the word to begin and the beginning
SERVER_FIRST = 0.4  # the client comes so much later
PIECE = 50  # entries of a list in one line of output
ANSWER = 0.25  # for one probe, three of them
IP_RECVTOS, IP_PKTINFO, IP_MTU_DISCOVER, PMTUDISC_DO = 13, 8, 10, 2
SO_BINDTODEVICE = 25
# Lines of perftest that say something: title, head, rows, failures.
_KEEP = re.compile(
    r"Test\s*$|#bytes|^\s*\d+\s+\d+\s|Failed|Unable|Couldn't|Completion with|Did not detect|Mtu\s|GID index"
    r"|SIMULATED|initializing CUDA"
)
# What the controller judges (module_utils/_fabric/counters.py).
COUNTERS = [
    "symbol_error",
    "link_error_recovery",
    "link_downed",
    "port_rcv_errors",
    "rx_icrc_encapsulated",
    "rx_crc_errors",
    "out_of_sequence",
    "out_of_seq_request",
    "packet_seq_err",
    "rcvd_seq_err",
    "local_ack_timeout_err",
    "implied_nak_seq_err",
    "rnr_nak_retry_err",
    "out_of_buffer",
]
_children: dict[int, subprocess.Popen[bytes]] = {}


# ------------------------------------------------------------------------------------------------------------ the plan


def decode(text: str) -> dict[str, Any]:
    plan: dict[str, Any] = json.loads(zlib.decompress(base64.b64decode(text)))
    return plan


def pairs(sweep: Sequence[Any], hosts: int, rails: int, absent: Sequence[int]) -> Iterator[Pair]:
    """The pairs of a sweep: listed ("p"), or a round of a tournament by its rail, number and shift ("t")."""
    if sweep[0] == "p":
        for one, other in sweep[1]:
            yield one, other
        return
    _kind, rail, number, shift = sweep
    players = hosts + hosts % 2
    last = players - 1
    for index in range(players // 2):
        one, other = (number % last, last) if index == 0 else ((number + index) % last, (number - index) % last)
        if (number + index) % 2:
            one, other = other, one
        pair = one * rails + rail, other * rails + (rail + shift) % rails
        if max(one, other) < hosts and not (absent and (pair[0] in absent or pair[1] in absent)):
            yield pair


class Site:
    """The plan from the view of one host."""

    def __init__(self, plan: dict[str, Any], me: int) -> None:
        self.plan, self.me = plan, me
        self.rails: int = plan["rails"]
        self.hosts: list[Any] = plan["hosts"]

    def nic(self, nic: int) -> dict[str, Any]:
        found: dict[str, Any] = self.hosts[nic // self.rails]["rails"][nic % self.rails] or {}
        return found

    def mine(self, nic: int) -> bool:
        return nic // self.rails == self.me

    def counters(self) -> dict[int, dict[str, int]]:
        """Of this host's NICs."""
        own = range(self.me * self.rails, (self.me + 1) * self.rails)
        return {nic: counters(self.nic(nic)) for nic in own if self.nic(nic)}

    def rounds(self) -> Iterator[list[Pair]]:
        """Of each round, the pairs of this host."""
        for sweeps in self.plan["rounds"]:
            yield [
                pair
                for sweep in sweeps
                for pair in pairs(sweep, len(self.hosts), self.rails, self.plan["absent"])
                if self.mine(pair[0]) or self.mine(pair[1])
            ]


# ------------------------------------------------------------------------------------------------------------ probes


class Responder(threading.Thread):
    """Answers probes on one address: which DSCP arrived, how large, and over which interface."""

    def __init__(self, nic: int, address: str, port: int) -> None:
        super().__init__(daemon=True)
        self.nic, self.heard = nic, set()  # type: int, set[int]
        self.socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self.socket.setsockopt(socket.IPPROTO_IP, IP_RECVTOS, 1)
        self.socket.setsockopt(socket.IPPROTO_IP, IP_PKTINFO, 1)
        self.socket.bind((address, port))

    def run(self) -> None:
        while True:
            try:
                data, ancillary, _flags, sender = self.socket.recvmsg(65536, 512)
            except OSError:
                return
            if not data.startswith(MAGIC):
                continue
            said: dict[str, Any] = {"size": len(data)}
            for level, kind, value in ancillary:
                if level == socket.IPPROTO_IP and kind == socket.IP_TOS:
                    said["tos"] = value[0]
                elif level == socket.IPPROTO_IP and kind == IP_PKTINFO:
                    said["in"] = _interface(struct.unpack("=I", value[:4])[0])
            source, number = struct.unpack("!II", data[len(MAGIC) : len(MAGIC) + 8])
            self.heard.add(source)
            try:
                self.socket.sendto(MAGIC + struct.pack("!I", number) + json.dumps(said).encode(), sender)
            except OSError:
                continue


def _interface(index: int) -> str:
    try:
        return socket.if_indextoname(index)
    except OSError:
        return str(index)


def probe(source: int, own: dict[str, Any], peer: dict[str, Any], port: int, tos: int) -> dict[str, Any]:
    """What arrives at a peer: a small packet, then one that fills the MTU and must not be cut."""
    result: dict[str, Any] = {}
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as asker:
        try:
            asker.bind((own["address"], 0))
            asker.setsockopt(socket.IPPROTO_IP, socket.IP_TOS, tos)
            asker.setsockopt(socket.IPPROTO_IP, IP_MTU_DISCOVER, PMTUDISC_DO)
            if own.get("netdev"):
                try:
                    asker.setsockopt(socket.SOL_SOCKET, SO_BINDTODEVICE, own["netdev"].encode() + b"\0")
                except PermissionError:
                    result["unbound"] = True
            asker.connect((peer["address"], port))
        except OSError as error:
            return {"error": errno.errorcode.get(error.errno or 0, str(error))}
        asker.settimeout(ANSWER)
        for name, size in (("small", 64), ("full", max(64, int(own.get("wanted_mtu") or 1500) - 28))):
            answer = _ask(asker, source, size, result)
            if answer is None:
                break
            result[name] = answer
    return result


def _ask(asker: socket.socket, source: int, size: int, result: dict[str, Any]) -> dict[str, Any] | None:
    for number in range(3):
        head = MAGIC + struct.pack("!II", source, number)
        try:
            asker.send(head + bytes(size - len(head)))
            data = asker.recv(4096)
        except socket.timeout:
            continue
        except OSError as error:
            result["error"] = errno.errorcode.get(error.errno or 0, str(error))
            if error.errno in (errno.EMSGSIZE, errno.EPERM, errno.ENETUNREACH):
                return None
            continue
        if data.startswith(MAGIC):
            found: dict[str, Any] = json.loads(data[len(MAGIC) + 4 :])
            if found.get("size", size) != size:
                continue  # a late answer to a smaller probe
            result.pop("error", None)
            return found
    result.setdefault("error", "TIMEOUT")
    return None


def neighbours() -> dict[str, list[str]]:
    """Address to the MAC that answered for it, empty where nobody did, and whether a person has set it."""
    found = {}
    try:
        with open("/proc/net/arp", encoding="ascii", errors="replace") as stream:
            for line in list(stream)[1:]:
                words = line.split()
                if len(words) >= 6:
                    flags = int(words[2], 16)
                    found[words[0]] = [words[3] if flags & 2 else "", "static" if flags & 4 else ""]
    except (OSError, ValueError):
        return {}
    return found


def _source_for(address: str) -> str:
    """Which own address the routing table takes for a peer; empty: no way."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as asker:
        try:
            asker.connect((address, 9))
            return str(asker.getsockname()[0])
        except OSError:
            return ""


def _file(path: str) -> str:
    try:
        with open(path, encoding="ascii", errors="replace") as stream:
            return stream.read().strip()
    except OSError:
        return ""


def look(own: dict[str, Any]) -> dict[str, Any]:
    """What the kernel says about a rail's interface."""
    name = own.get("netdev") or ""
    net, conf = f"/sys/class/net/{name}/", f"/proc/sys/net/ipv4/conf/{name}/"
    found: dict[str, Any] = {key: _file(net + key) for key in ("address", "mtu", "operstate", "speed")}
    for key in ("arp_ignore", "arp_announce", "rp_filter"):
        found[key] = max((_file(path + key) or "0" for path in (conf, "/proc/sys/net/ipv4/conf/all/")), key=int)
    vlan = re.search(r"VID: (\d+)", _file("/proc/net/vlan/" + name))
    found["vlan"] = int(vlan.group(1)) if vlan else 0
    return found


def counters(own: dict[str, Any]) -> dict[str, int]:
    """Of the NIC's port and of its interface; what is not there is left out."""
    ports = f"/sys/class/infiniband/{own.get('device')}/ports/"
    try:
        numbers = os.listdir(ports)
    except OSError:
        numbers = []
    # Of a card with several ports nobody says here which one is the rail's.
    folders = [f"{ports}{numbers[0]}/{kind}/" for kind in ("counters", "hw_counters")] if len(numbers) == 1 else []
    if own.get("netdev"):
        folders.append(f"/sys/class/net/{own['netdev']}/statistics/")
    found: dict[str, int] = {}
    for folder in folders:
        for name in COUNTERS:
            value = _file(folder + name)
            if value.isdigit():
                found[name] = int(value)
    return found


def grown(before: dict[int, dict[str, int]], after: dict[int, dict[str, int]]) -> dict[str, dict[str, list[int]]]:
    """Those that differ: a NIC without one is not there."""
    found: dict[str, dict[str, list[int]]] = {}
    for nic, counts in after.items():
        for name, count in counts.items():
            if name in before.get(nic, {}) and before[nic][name] != count:
                found.setdefault(str(nic), {})[name] = [before[nic][name], count]
    return found


def reach(site: Site, line: Line) -> dict[str, Any]:
    plan, first = site.plan, site.me * site.rails
    answers: dict[str, Any] = {"look": {}, "probes": [], "heard": {}, "sources": {}}
    responders = []
    for nic in range(first, first + site.rails):
        own = site.nic(nic)
        if own:
            answers["look"][str(nic)] = look(own)
            try:
                responders.append(Responder(nic, own["address"], plan["port"]))
            except OSError as error:
                answers["look"][str(nic)]["bind"] = errno.errorcode.get(error.errno or 0, str(error))
    for responder in responders:
        responder.start()
    line.begin()

    def one_rail(nic: int, peers: Sequence[int]) -> None:
        for peer in peers:
            found = probe(nic, site.nic(nic), site.nic(peer), plan["port"], plan["tos"])
            found.update({"from": nic, "to": peer})
            answers["probes"].append(found)

    asked: dict[int, list[int]] = {}
    for mine in site.rounds():
        for one, other in mine:
            for source, target in ((one, other), (other, one)):
                if site.mine(source) and target not in asked.setdefault(source, []):
                    asked[source].append(target)
    _together([threading.Thread(target=one_rail, args=item, daemon=True) for item in asked.items()])
    table = neighbours()
    for source, targets in asked.items():
        for target in targets:
            address = site.nic(target)["address"]
            answers["sources"][f"{source} {target}"] = [_source_for(address), *table.get(address, ["", ""])]
    line.wait_for_all()  # the others may still ask
    for responder in responders:
        answers["heard"][str(responder.nic)] = sorted(responder.heard)
        responder.socket.close()
    return answers


def _together(threads: Sequence[threading.Thread]) -> None:
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


# -------------------------------------------------------------------------------------------------------- measuring


def measure(site: Site, line: Line, before: dict[int, Any]) -> dict[str, Any]:
    """``before``: the counters, read before anybody waits: a NIC that answers late must not shift its host's clock."""
    plan = site.plan
    results: list[Any] = []
    heads: list[str] = []
    slot, programs = float(plan["slot"]), plan["programs"]
    begin = line.begin()

    def one_test(turn: int, step: int, pair: Pair, start: float) -> None:
        client, server = pair
        end = start + slot - 0.1
        port = plan["port"] + server % site.rails + site.rails * ((turn * len(programs) + step) % 2)
        if site.mine(server):
            said = _run(_command(programs[step], site.nic(server), port, ""), start, end)
            if said["rc"] and not said["late"]:
                results.append([turn, step, client, server, "server", -1, said["lines"], said["rc"]])
            return
        address = site.nic(server)["address"]
        said = _run(_command(programs[step], site.nic(client), port, address), start + SERVER_FIRST, end)
        while (
            said["rc"]
            and not said["late"]
            and "connect" in " ".join(said["lines"])
            and time.monotonic() < end - slot / 2
        ):
            said = _run(_command(programs[step], site.nic(client), port, address), time.monotonic() + 0.1, end)
        head = "\n".join(line for line in said["lines"] if not line.strip()[:1].isdigit()) if not said["rc"] else ""
        if head and head not in heads:
            heads.append(head)
        rows = [line for line in said["lines"] if not head or line.strip()[:1].isdigit()]
        results.append(
            [
                turn,
                step,
                client,
                server,
                "client",
                heads.index(head) if head else -1,
                rows,
                -1 if said["late"] else said["rc"],
            ]
        )

    for turn, tests in enumerate(site.rounds()):
        for step in range(len(programs)):
            start = begin + (turn * len(programs) + step) * slot
            _sleep_until(start)
            _together(
                [threading.Thread(target=one_test, args=(turn, step, pair, start), daemon=True) for pair in tests]
            )
    _sleep_until(begin + len(plan["rounds"]) * len(programs) * slot)
    return {"heads": heads, "tests": results, "counters": grown(before, site.counters())}


def _command(program: Sequence[str], own: dict[str, Any], port: int, address: str) -> list[str]:
    words = [*program, "-d", own["device"], "-p", str(port)]
    if int(own.get("gid_index", -1)) >= 0:
        words += ["-x", str(own["gid_index"])]
    return [*words, address] if address else words


def _run(command: Sequence[str], start: float, end: float) -> dict[str, Any]:
    _sleep_until(start)
    try:
        child = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    except OSError as error:
        return {"rc": 127, "late": False, "lines": [f"Unable to start {command[0]}: {error.strerror}"]}
    _children[child.pid] = child
    late = False
    try:
        output, _none = child.communicate(timeout=max(0.1, end - time.monotonic()))
    except subprocess.TimeoutExpired:
        late = True
        child.kill()
        output, _none = child.communicate()
    finally:
        _children.pop(child.pid, None)
    lines = [line.rstrip() for line in output.decode("utf-8", "replace").splitlines() if _KEEP.search(line)]
    return {"rc": child.returncode, "late": late, "lines": lines[:40]}


def _sleep_until(moment: float) -> None:
    time.sleep(max(0.0, moment - time.monotonic()))


# -------------------------------------------------------------------------------------------------- the first host


class Desk(threading.Thread):
    """On the first host: waits for all, says when it begins, takes the results and prints them."""

    def __init__(self, address: str, port: int, hosts: int, word: str, limit: float) -> None:
        super().__init__(daemon=True)
        self.hosts, self.word, self.limit = hosts, word, limit
        self.listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        self.listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self.listener.bind((address, port))
        self.listener.listen(1024)
        self.present: dict[int, Any] = {}
        self.through: dict[int, str] = {}
        self.results: dict[int, dict[str, Any]] = {}
        self.changed = threading.Condition()

    def run(self) -> None:
        threading.Thread(target=self._accept, daemon=True).start()
        self._until(lambda: len(self.present) >= self.hosts, PATIENCE)
        self._tell(f"go {LEAD}")
        self._until(lambda: set(self.present) <= set(self.through), self.limit)
        self._tell("end")
        self._until(lambda: set(self.present) <= set(self.results), PATIENCE)
        for host in sorted(self.results):
            for piece in pieces(dict(self.results[host], end=True)):
                sys.stdout.write("FABRIC " + json.dumps(dict(piece, host=host)) + "\n")
        sys.stdout.flush()

    def _until(self, ready: Callable[[], bool], seconds: float) -> None:
        with self.changed:
            self.changed.wait_for(ready, seconds)

    def _tell(self, text: str) -> None:
        for stream in list(self.present.values()):
            with contextlib.suppress(OSError, ValueError):
                stream.write((text + "\n").encode())
                stream.flush()

    def _accept(self) -> None:
        while True:
            connection, _peer = self.listener.accept()
            threading.Thread(target=self._serve, args=(connection,), daemon=True).start()

    def _serve(self, connection: socket.socket) -> None:
        host = -1
        try:
            stream = connection.makefile("rwb")
            hello = json.loads(stream.readline() or b"{}")
            if hello.get("word") != self.word:
                return
            host = int(hello["host"])
            self._note(self.present, host, stream)
            for line in stream:
                message = json.loads(line)
                if "result" in message:
                    self.results[host] = message["result"]
                self._note(self.through, host, "")
        except (OSError, ValueError, KeyError):
            pass
        finally:
            connection.close()
            with self.changed:
                if host not in self.results:
                    self.present.pop(host, None)  # nobody waits for it any more
                self.changed.notify_all()

    def _note(self, where: dict[int, Any], host: int, what: Any) -> None:
        with self.changed:
            where[host] = what
            self.changed.notify_all()


def pieces(result: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """The same in short lines: lists and maps go in parts, "end" last."""
    for key, value in result.items():
        if isinstance(value, list):
            for first in range(0, len(value), PIECE):
                yield {key: value[first : first + PIECE]}
        elif isinstance(value, dict):
            items = list(value.items())
            for first in range(0, len(items), PIECE):
                yield {key: dict(items[first : first + PIECE])}
        else:
            yield {key: value}


class Line:
    """The connection of a host to the first one."""

    def __init__(self, address: str, port: int, host: int, word: str, limit: float) -> None:
        end = time.monotonic() + PATIENCE
        while True:
            try:
                self.socket = socket.create_connection((address, port), timeout=5)
                break
            except OSError:
                if time.monotonic() > end:
                    raise
                time.sleep(0.1)
        self.socket.settimeout(limit + 2 * PATIENCE)
        self.stream = self.socket.makefile("rwb")
        self.say({"host": host, "word": word})

    def say(self, message: dict[str, Any]) -> None:
        self.stream.write((json.dumps(message) + "\n").encode())
        self.stream.flush()

    def begin(self) -> float:
        words = self.stream.readline().split()
        if len(words) != 2 or words[0] != b"go":
            raise ConnectionError("the first host did not say when to begin")
        moment = time.monotonic() + float(words[1])
        _sleep_until(moment)
        return moment

    def wait_for_all(self) -> None:
        self.say({})
        while self.stream.readline() not in (b"end\n", b""):
            pass

    def close(self) -> None:
        self.stream.close()
        self.socket.close()


def main(arguments: Sequence[str]) -> int:
    plan = decode(arguments[0])
    rank = os.environ.get("OMPI_COMM_WORLD_RANK", os.environ.get("PMIX_RANK", "-1"))
    me = int(os.environ.get("ROCEMESH_FABRIC_HOST", rank))
    if not 0 <= me < len(plan["hosts"]):
        sys.stderr.write(f"this process is rank {me}, and the plan has {len(plan['hosts'])} hosts\n")
        return 1
    signal.signal(signal.SIGTERM, lambda _number, _frame: _stop())
    address, port = plan["desk"]
    limit = float(plan["limit"])
    desk = Desk(address, port, len(plan["hosts"]), plan["word"], limit) if me == 0 else None
    if desk is not None:
        desk.start()
    try:
        site = Site(plan, me)
        before = {} if plan["phase"] == "reach" else site.counters()
        line = Line(address, port, me, plan["word"], limit)
        line.say({"result": reach(site, line) if plan["phase"] == "reach" else measure(site, line, before)})
        line.close()
    except OSError as error:
        sys.stderr.write(f"host {me} did not take part: {error}\n")
    if desk is not None:
        desk.join(limit + 3 * PATIENCE)
    return 0


def _stop() -> None:
    for child in list(_children.values()):
        child.kill()
    os._exit(1)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
