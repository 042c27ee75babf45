"""``python -m lab``: up, site, down, status, reset, logs, stages, carry, fault."""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from . import config, control, engine, files, lifecycle, scheduler, site, status
from .gym import verbs as gym


def _status(arguments: argparse.Namespace) -> int:
    if not (config.paths().run / "engine.json").exists():
        print("the lab is not up; `python -m lab up`", file=sys.stderr)
        return 3
    if arguments.hash:
        print(status.fingerprint())
        return 0
    facts = status.collect()
    print(json.dumps(facts, indent=1, sort_keys=True) if arguments.json else status.table(facts))
    return 0 if all(facts[name] for name in ("switch", "vsphere", "physics")) else 1


def _logs(arguments: argparse.Namespace) -> int:
    run = config.paths().run
    if arguments.name in config.BY_NAME or arguments.name == "registry":
        node = config.BY_NAME.get(arguments.name)
        options = ["--tail", "200", *(["--follow"] if arguments.follow else [])]
        command = engine.command("logs", *options, node.container if node else config.REGISTRY_CONTAINER)
        return subprocess.run(command, env=engine.environment(), check=False).returncode
    known = {log.stem: log for log in [*run.glob("*.log"), *engine.HOME.glob("dockerd.log")]}
    if arguments.name and arguments.name not in known:
        names = ", ".join([*sorted(known), "registry", *config.BY_NAME])
        raise config.LabError(f"no log named {arguments.name!r}; there are {names}")
    chosen = [known[arguments.name]] if arguments.name else sorted(known.values())
    if not chosen:
        raise config.LabError("no logs: the lab was not started")
    return subprocess.run(
        ["tail", "-n", "40", *(["-F"] if arguments.follow else []), *map(str, chosen)], check=False
    ).returncode


def _stages(arguments: argparse.Namespace) -> int:
    """Times of a run: {name: seconds}, or an object that has this under "stages" (a site run's summary.json)."""
    path = Path(arguments.file) if arguments.file else config.paths().run / "stages.json"
    content = files.read_json(path)
    if content is None:
        raise config.LabError(f"{path} is not there; `python -m lab up` and playbooks/site.yml write such a file")
    for name, seconds in content.get("stages", content).items():
        print(f"{seconds:7.1f} s  {name}")
    return 0


def _carry(arguments: argparse.Namespace) -> int:
    lifecycle.require_up(config.paths())
    control.request("POST", control.url("physics", "/carry"), {"on": arguments.word == "on"}, timeout=60)
    return 0


def _train(_arguments: argparse.Namespace) -> int:
    lifecycle.require_up(config.paths())
    return scheduler.train(config.paths())


def _fault(arguments: argparse.Namespace) -> int:
    run = config.paths().run
    up = (run / "engine.json").exists()
    folder = Path(arguments.bundle) if arguments.bundle else run / "gym"
    if arguments.word == "list":
        print(gym.listing(), end="")
    elif arguments.word == "clear":
        print(gym.clear(folder, up=up))
    elif not arguments.name:
        raise config.LabError("fault set: which one? `python -m lab fault list` names them")
    else:
        print(gym.set_fault(arguments.name, arguments.where, folder, up=up))
    return 0


def parser() -> argparse.ArgumentParser:
    result = argparse.ArgumentParser(
        prog="python -m lab", description="A data centre on one machine (SIMULATED hardware)."
    )
    commands = result.add_subparsers(dest="command", required=True)
    commands.add_parser("up", help="build and start everything that is not there yet")
    play = commands.add_parser("site", help="play the whole guide on it; further options go to ansible-playbook")
    play.add_argument("--everything", action="store_true", help="show the whole output, not one line per stage")
    down = commands.add_parser("down", help="remove everything that the lab made on this machine")
    down.add_argument("--keep-cache", action="store_true", help="keep the images and the base, for a faster `up`")
    reset = commands.add_parser("reset", help="factory state of every part, without building anything")
    reset.add_argument("--keep-registry", action="store_true", help="keep what was pushed to the registry")
    show = commands.add_parser("status", help="what there is, and what waits for a restart")
    form = show.add_mutually_exclusive_group()
    form.add_argument("--json", action="store_true", help="everything, for programs")
    form.add_argument("--hash", action="store_true", help="one sha256 over everything durable")
    logs = commands.add_parser("logs", help="logs of the lab's programs and nodes")
    logs.add_argument(
        "name", nargs="?", help="switch, vsphere, physics, dockerd, registry or a node; default: all programs"
    )
    logs.add_argument("-f", "--follow", action="store_true")
    carry = commands.add_parser(
        "carry", help="whether the switch's VLANs, MTU and links decide over the nodes' traffic"
    )
    carry.add_argument("word", choices=["on", "off"])
    fault = commands.add_parser("fault", help="break one thing and see what the whole site prints then")
    fault.add_argument("word", choices=["list", "set", "clear"])
    fault.add_argument("name", nargs="?")
    fault.add_argument("where", nargs="?", default=gym.DEFAULT_HOST, help="host that it is set at (%(default)s)")
    fault.add_argument("--bundle", metavar="DIR", help="where the site's outputs are written")
    commands.add_parser("train", help="the hand-off, trained under the lab's scheduler (make lab SCHEDULER=slurm)")
    stages = commands.add_parser("stages", help="how long each stage took")
    stages.add_argument("file", nargs="?", help="summary.json of a site run; default: the last `up`")
    return result


def main(arguments: Sequence[str] | None = None) -> int:
    chosen, further = parser().parse_known_args(arguments)
    if further and chosen.command != "site":
        parser().error(f"unrecognized arguments: {' '.join(further)}")
    os.umask(0o022)
    # Where dockerd, iptables and debootstrap are; not on every root's PATH.
    os.environ["PATH"] = os.environ.get("PATH", os.defpath) + ":/usr/sbin:/sbin"
    try:
        if chosen.command == "up":
            lifecycle.up()
        elif chosen.command == "site":
            return site.play(further, everything=chosen.everything)
        elif chosen.command == "reset":
            lifecycle.reset(keep_registry=chosen.keep_registry)
        elif chosen.command == "down":
            lifecycle.down(keep_cache=chosen.keep_cache)
        else:
            verbs = {"status": _status, "logs": _logs, "stages": _stages, "carry": _carry, "fault": _fault}
            return {**verbs, "train": _train}[chosen.command](chosen)
    except config.LabError as error:
        print(f"lab: {error}", file=sys.stderr)
        return 1
    except ConnectionError as error:
        print(f"lab: {error}; `python -m lab status` says what runs", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("lab: interrupted; the same command goes on from here", file=sys.stderr)
        return 130
    return 0
