"""``python -m lab.rehearsal -i INVENTORY [--dest FOLDER] [options of ansible-playbook]``: docs/rehearsal.md."""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import NoReturn

from lab.config import LabError
from lab.rehearsal import namespace


def main(arguments: Sequence[str]) -> NoReturn:
    """Ends with the exit status of ansible-playbook."""
    parser = argparse.ArgumentParser(prog="python -m lab.rehearsal", description="Play site.yml in simulators.")
    parser.add_argument("-i", "--inventory", action="append", required=True, help="as of ansible-playbook")
    parser.add_argument("--dest", type=Path, default=Path("reports/rehearsal"), help="folder for logs and reports")
    chosen, further = parser.parse_known_args(arguments)
    inventories = [str(Path(each).absolute()) for each in chosen.inventory]
    missing = [each for each in inventories if not Path(each).exists()]
    if missing:
        raise LabError(f"{missing[0]} is not there. Name the file or folder of your inventory.")
    given = json.dumps([inventories, str(chosen.dest.absolute()), further])
    command, environment = namespace.entering("lab.rehearsal.playing", [given])
    os.execvpe(command[0], command, environment)


if __name__ == "__main__":
    try:
        main(sys.argv[1:])
    except LabError as error:
        sys.exit(f"rehearsal: {error}")
