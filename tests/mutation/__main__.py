"""Mutants of the code that decides: each is a small lie in a rule, and some test has to notice.

    python -m tests.mutation known     # those that once survived (known.yml)
    python -m tests.mutation code      # a few of each file that decides, drawn by a fixed seed
    python -m tests.mutation roles     # mutants of the roles' conditions, played against the simulators
    python -m tests.mutation guide     # items of docs/guide.yml taken away; the tests that its row names have to fail
    python -m tests.mutation sample    # some of those that were caught: still caught? A minute; part of `make test`

``--room`` and ``--per-file`` narrow or widen it; ``--new`` leaves out what the results have as caught. Results:
tests/mutation/results; who survives has to stand in explained.yml with the reason, or is named in undecided.yml.

Why no mutmut or cosmic-ray: both want to import the package from a plain layout and start pytest per mutant. The
collection is imported through a link as ansible_collections.rocemesh.multinode, ansible takes seconds to import, and
neither knows a role's conditions. A fork of a warm process that runs the tests of one line needs a second per mutant.
"""

from __future__ import annotations

import argparse
import os
import pathlib
import shutil
import signal
import subprocess
import sys

from tests.mutation import engine


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.mutation")
    parser.add_argument("what", choices=("known", "code", "roles", "guide", "sample"))
    parser.add_argument("--room", action="append", help="only this room, or role; may be repeated")
    parser.add_argument("--per-file", type=int, default=0, help="mutants per file (code), per role (roles), or at all")
    parser.add_argument("--new", action="store_true", help="leave out what was caught the last time")
    parser.add_argument("--home", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_arguments: sys.exit(143))
    if arguments.home is None:
        return _in_a_copy(pathlib.Path(__file__).resolve().parents[2])
    engine.load_libraries()
    from tests.mutation import commands  # noqa: PLC0415 - the copy's

    return commands.run(arguments.what, pathlib.Path(arguments.home), arguments)


def _in_a_copy(home: pathlib.Path) -> int:
    """Mutants are planted in a copy: what is killed leaves the tree as it was."""
    copy = engine.copied(home)
    command = [sys.executable, "-m", "tests.mutation", *sys.argv[1:], "--home", str(home)]
    environment = {**os.environ, "PYTHONPATH": f"{copy / 'collections'}:{copy}"}
    try:
        with subprocess.Popen(command, cwd=copy, env=environment) as inner:
            try:
                return inner.wait()
            finally:
                inner.terminate()
    finally:
        shutil.rmtree(copy)


if __name__ == "__main__":
    sys.exit(main())
