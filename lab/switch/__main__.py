"""Start the SIMULATED switch: ``python -m lab.switch --port 2222 --control 127.78.0.2:8080 ...``."""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import pathlib
import signal
from typing import Tuple

from .control import serve_control
from .server import ALGORITHMS, Listener, load_host_key
from .session import Delays
from .state import Switch


def _address(text: str) -> Tuple[str, int]:
    host, _colon, port = text.rpartition(":")
    if not host or not port.isdigit():
        raise argparse.ArgumentTypeError("not HOST:PORT: {0!r}".format(text))
    return host, int(port)


def parser() -> argparse.ArgumentParser:
    result = argparse.ArgumentParser(prog="python -m lab.switch", description="SIMULATED Onyx switch over SSH")
    result.add_argument("--host", default="127.78.0.2", help="address to listen on (default %(default)s)")
    result.add_argument("--port", type=int, default=2222, help="SSH port, 0: any free one (default %(default)s)")
    result.add_argument("--control", type=_address, required=True, metavar="HOST:PORT", help="control HTTP")
    result.add_argument("--host-key", type=pathlib.Path, required=True, help="SSH host key, created if missing")
    result.add_argument("--password-file", type=pathlib.Path, required=True, help="file with the login password")
    result.add_argument("--user", default="admin", help="login user (default %(default)s)")
    result.add_argument("--name", default="sw01", help="host name in the prompt (default %(default)s)")
    result.add_argument("--version", default="3.10.4006", help="Onyx release; JSON shape follows (default %(default)s)")
    result.add_argument("--ports", type=int, default=32, help="number of ports (default %(default)s)")
    result.add_argument("--cabled", type=int, default=4, help="first ports, with a node behind (default %(default)s)")
    result.add_argument("--command-delay", type=float, default=0.0, help="seconds before each answer")
    result.add_argument("--login-delay", type=float, default=0.0, help="seconds before the first prompt")
    result.add_argument("--link-delay", type=float, default=0.3, help="seconds a bounced link stays down")
    result.add_argument("--no-lldp", action="store_true", help="LLDP is off in the factory state, as NVIDIA shows it")
    result.add_argument("--new", nargs="+", metavar="PORT", help="as it comes: these ports, a node behind each")
    result.add_argument(
        "--ssh-algorithms", choices=sorted(ALGORITHMS), default="default", help="sha1: SHA-1 only, as old images"
    )
    return result


async def serve(args: argparse.Namespace) -> None:
    password = args.password_file.read_text(encoding="utf-8").rstrip("\n")
    if not password:
        raise SystemExit("{0} is empty: refusing to run with an empty password".format(args.password_file))
    switch = Switch(
        args.name,
        args.version,
        args.ports,
        args.link_delay,
        lldp=not args.no_lldp,
        nodes=args.cabled,
        new=args.new,
    )
    listener = Listener(
        switch,
        (args.host, args.port),
        host_key=load_host_key(args.host_key),
        user=args.user,
        password=password,
        delays=Delays(args.command_delay, args.login_delay),
        algorithms=args.ssh_algorithms,
    )
    control = await serve_control(switch, *args.control)
    control_port = control.sockets[0].getsockname()[1]
    # One line for whoever waits for the start; --port 0 learns the real port here.
    print(
        "ready ssh={0}:{1} control={2}:{3}".format(args.host, listener.port, args.control[0], control_port), flush=True
    )
    stop = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    accepting = asyncio.get_running_loop().create_task(listener.serve_forever())
    await stop.wait()
    accepting.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await accepting
    listener.close()
    control.close()


def main() -> None:
    asyncio.run(serve(parser().parse_args()))


if __name__ == "__main__":
    main()
