"""One rank of a job without torch: it exchanges a byte with the others at every step, prints what a training prints,
and says in gloo's words what happens to it. What is to go wrong stands in FOLDER/shape.json; FOLDER is seen by all
nodes.

While nothing has gone wrong nobody has a time limit, so a machine under load is no fault: it begins with FOLDER/hurt.
"""

from __future__ import annotations

import json
import os
import pathlib
import resource
import signal
import socket
import sys
import time
from typing import Any, NoReturn

FOLDER = pathlib.Path(sys.argv[1])
RANK, WORLD = int(os.environ["OMPI_COMM_WORLD_RANK"]), int(os.environ["OMPI_COMM_WORLD_SIZE"])
SHAPE: dict[str, Any] = json.loads((FOLDER / "shape.json").read_text())
MINE = SHAPE.get("rank") == RANK
PATIENCE_MS = 1000  # after the moment at which something went wrong
PARENT = os.getppid()  # Open MPI's daemon, or mpirun itself
END_SECONDS = 10  # that a victim gives Open MPI to end it
STEPS, AT = 6, 3
GLOO = "[../third_party/gloo/gloo/transport/tcp"


def say(text: str) -> None:
    os.write(1, f"{text}\n".encode())


def note(name: str, text: str = "") -> None:
    """Whole, or not there."""
    hidden = FOLDER / f".{name}.{RANK}"
    hidden.write_text(text)
    hidden.rename(FOLDER / name)


def wait_for(name: str) -> str:
    while not (FOLDER / name).exists():
        time.sleep(0.02)
    return (FOLDER / name).read_text()


def gave_up() -> None:
    """All victims of a hang say so before the first one ends the job, as they do where their limits are the same."""
    say(f"RuntimeError: {GLOO}/unbound_buffer.cc:81] Timed out waiting {PATIENCE_MS}ms for recv operation to complete")
    note(f"said-{RANK}")
    while len(list(FOLDER.glob("said-*"))) < SHAPE.get("victims", WORLD - 1):
        time.sleep(0.02)
    sys.exit(1)


def lost(text: str) -> NoReturn:
    """A victim ends by Open MPI, not by itself: else its own exit may be reported before that of the rank it lost."""
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM})
    say(f"RuntimeError: {GLOO}/pair.cc:598] {text}")
    until = time.monotonic() + END_SECONDS
    while time.monotonic() < until and os.getppid() == PARENT:
        if signal.sigtimedwait({signal.SIGTERM}, 0.05):
            break
    sys.exit(1)


def take(peer: socket.socket, name: str) -> None:
    """A byte of a peer."""
    since: float | None = None
    while True:
        try:
            data = peer.recv(1)
        except (TimeoutError, BlockingIOError):
            if (FOLDER / "hurt").exists():
                since = since or time.monotonic()
                if time.monotonic() - since > PATIENCE_MS / 1000:
                    gave_up()
            continue
        except OSError:
            data = b""
        if data:
            return
        lost(f"Connection closed by peer [{name}]:29500")


def join() -> list[tuple[socket.socket, str]]:
    """Rank 0 holds a connection to each other rank, they one to it."""
    if RANK == 0:
        with socket.create_server(("", 0)) as server:
            note("port", str(server.getsockname()[1]))
            made = [server.accept() for _other in range(WORLD - 1)]
        peers = [(peer, address[0]) for peer, address in made]
    else:
        port = int(wait_for("port"))
        peers = [(socket.create_connection((SHAPE["head"], port)), SHAPE["head"])]
    for peer, _name in peers:
        peer.settimeout(0.1)
    return peers


def exchange(peers: list[tuple[socket.socket, str]]) -> None:
    order = ("take", "give") if RANK == 0 else ("give", "take")
    for word in order:
        for peer, name in peers:
            if word == "take":
                take(peer, name)
                continue
            try:
                peer.send(b"x")
            except OSError:
                lost(f"Write error [{name}]:29500: Broken pipe")


def hurt(how: str) -> None:
    """What goes wrong from inside; other things are done to this rank from outside."""
    if how == "raise":
        raise ValueError("no such layer: conv9")
    if how == "full-disk":
        with open("/mnt/small/checkpoint", "wb") as stream:
            stream.write(b"x" * (1 << 20))
    if how == "memory":
        resource.setrlimit(resource.RLIMIT_AS, (1 << 28, 1 << 28))
        bytearray(1 << 30)
    if how == "import":
        __import__("dataset_of_the_other_image")
    if how == "crash":
        os.kill(os.getpid(), signal.SIGSEGV)
    if how == "watchdog":
        say(f"[Rank {RANK}] Watchdog caught collective operation timeout: nobody came")
    if how in ("dataset", "slow"):
        note("hurt")
        if how == "dataset":
            os.mkfifo(FOLDER / "train-00000")
            (FOLDER / "train-00000").open("rb")  # nobody writes into it
        while True:
            time.sleep(1)


def main() -> None:
    how = SHAPE.get("how", "")
    note(f"pid-{RANK}", str(os.getpid()))
    if MINE and how == "never-joins":
        while True:
            time.sleep(1)
    say("Running warm up")
    peers = join()
    for step in range(1, STEPS + 1):
        exchange(peers)
        if step == AT:
            note(f"ready-{RANK}")
            if MINE:
                hurt(how)
            if SHAPE.get("outside"):
                wait_for("go")
        say(f"{step}\timages/sec: 10.0 +/- 0.0 (jitter = 0.0)\t7.0")
    record = {"rank": RANK, "world": WORLD, "host": socket.gethostname(), "images_per_second": 10.0}
    say(f"ROCEMESH {json.dumps(record)}")


main()
