"""Start the SIMULATED switch: ``python -m lab.nvue --port 8765 --control 127.78.0.6:8080 ...``."""

from __future__ import annotations

import argparse
import pathlib
import signal
import threading

from .control import Control
from .model import Switch
from .server import Server


def _address(text: str) -> tuple[str, int]:
    host, _colon, port = text.rpartition(":")
    if not host or not port.isdigit():
        raise argparse.ArgumentTypeError(f"not HOST:PORT: {text!r}")
    return host, int(port)


def parser() -> argparse.ArgumentParser:
    result = argparse.ArgumentParser(prog="python -m lab.nvue", description="SIMULATED Cumulus switch, NVUE over HTTPS")
    result.add_argument("--host", default="127.78.0.6", help="address to listen on (default %(default)s)")
    result.add_argument("--port", type=int, default=8765, help="HTTPS port, 0: any free one (default %(default)s)")
    result.add_argument("--control", type=_address, required=True, metavar="HOST:PORT", help="control HTTP")
    result.add_argument("--certificate", type=pathlib.Path, required=True, help="PEM file of the server")
    result.add_argument("--key", type=pathlib.Path, required=True, help="PEM file of its key")
    result.add_argument("--password-file", type=pathlib.Path, required=True, help="file with the login password")
    result.add_argument("--user", default="cumulus", help="login user (default %(default)s)")
    result.add_argument("--name", default="sw02", help="host name (default %(default)s)")
    result.add_argument("--release", default="5.11.0", help="release; shapes of answers follow (default %(default)s)")
    result.add_argument("--ports", type=int, default=32, help="number of ports (default %(default)s)")
    result.add_argument("--apply-seconds", type=float, default=0.2, help="seconds that an apply takes")
    result.add_argument("--link-seconds", type=float, default=0.2, help="seconds that a bounced link stays down")
    result.add_argument("--ays-seconds", type=float, default=30.0, help="seconds that it waits for 'are you sure'")
    result.add_argument("--new", nargs="+", metavar="PORT", help="as it comes: these ports, a node behind each")
    result.add_argument(
        "--revision-names", choices=["numbers", "changesets"], default="numbers", help="how revisions are called"
    )
    return result


def main() -> None:
    args = parser().parse_args()
    password = args.password_file.read_text(encoding="utf-8").rstrip("\n")
    if not password:
        raise SystemExit(f"{args.password_file} is empty: refusing to run with an empty password")
    try:
        switch = Switch(
            args.name,
            args.release,
            args.ports,
            apply_seconds=args.apply_seconds,
            link_seconds=args.link_seconds,
            ays_seconds=args.ays_seconds,
            revision_names=args.revision_names,
            new=args.new,
        )
        switch.load()
    except ValueError as error:
        raise SystemExit(str(error)) from None
    server = Server(
        (args.host, args.port),
        switch,
        certificate=str(args.certificate),
        key=str(args.key),
        user=args.user,
        password=password,
    )
    control = Control(args.control, switch)
    stop = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: stop.set())
    for each in (server, control):
        threading.Thread(target=each.serve_forever, daemon=True).start()
    # One line for whoever waits for the start; --port 0 learns the real port here.
    print(f"ready https={args.host}:{server.port} control={args.control[0]}:{control.port}", flush=True)
    stop.wait()
    server.stopping.set()
    server.shutdown()
    control.shutdown()


if __name__ == "__main__":
    main()
