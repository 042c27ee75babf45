"""The unit tests that a change touches: `make check` runs them. The change is what differs from where this branch left
main, with what is not committed yet.

A room of `plugins/module_utils` has the folder of its name, and so have `lab`, `workloads` and the rooms of tests; a
plugin has the test files that name it; everything that is written, not run (roles, playbooks, documents), has the
contracts of `roles` and `shipping`.
"""

from __future__ import annotations

import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[1]
UNIT = pathlib.PurePath("tests/unit")
CONTRACTS = ("roles", "shipping")


def _git(*words: str) -> list[str]:
    done = subprocess.run(["git", *words], cwd=ROOT, capture_output=True, text=True, check=False)
    return done.stdout.splitlines()


def changed() -> list[str]:
    base = next(
        (found[0] for branch in ("origin/main", "main") if (found := _git("merge-base", "HEAD", branch))), "HEAD"
    )
    return _git("diff", "--name-only", base) + _git("ls-files", "--others", "--exclude-standard")


def rooms(path: str) -> set[str]:
    """The folders of tests/unit for one changed file."""
    first, *rest = pathlib.PurePath(path).parts
    if path.startswith("plugins/module_utils/"):
        return {pathlib.PurePath(rest[1]).stem.removeprefix("_")}
    if path.startswith("tests/unit/") and len(rest) > 2:
        return {rest[1]}
    if first in ("lab", "workloads"):
        return {first, *CONTRACTS}
    return {"runner"} if first == "tests" else set(CONTRACTS)


def naming(path: str) -> set[str]:
    """The test files that name a plugin."""
    if not re.fullmatch(r"plugins/(modules|action|filter|plugin_utils/decisions)/\w+\.py", path):
        return set()
    return set(_git("grep", "-lw", pathlib.PurePath(path).stem, "--", f"{UNIT}/*/test_*.py"))


def tests(paths: list[str]) -> list[str]:
    folders = {str(UNIT / room) for path in paths for room in rooms(path)}
    files = {name for path in paths for name in naming(path)}
    found = folders | {name for name in files if str(pathlib.PurePath(name).parent) not in folders}
    return sorted(name for name in found if (ROOT / name).exists())


if __name__ == "__main__":
    print("\n".join(tests(sys.argv[1:] or changed())))
