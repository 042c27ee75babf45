"""Build the collection from an allowlist: tracked files that match a line of SHIPPED, and nothing else that lies about.

    python .ci/tarball.py [FOLDER]    # builds there (default: the working directory) and names the tarball
    python .ci/tarball.py --list      # the files, one per line

`build_ignore` in galaxy.yml says the same for whoever installs from git, where only tracked files are: a manifest there
would ask every user for the Python library distlib. tests/unit/shipping compares the two.
"""

from __future__ import annotations

import fnmatch
import pathlib
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[1]
# As fnmatch reads them: * also matches a slash.
SHIPPED = (
    "galaxy.yml",
    "CHANGELOG.md",
    "CONTRIBUTING.md",
    "LICENSE",
    "README.md",
    "SECURITY.md",
    "bindep.txt",
    "execution-environment.yml",
    "REUSE.toml",
    "requirements.txt",
    "docs/*.json",
    "docs/*.md",
    "docs/*.png",  # pictures of docs/screens.py, if it was run
    "docs/*.yml",
    "extensions/*.py",
    "extensions/*.yml",
    "inventories/example*/*.yml",
    "lab/README.md",  # the lab stays in the repository; what it simulates, documents link to
    "meta/*.yml",
    "playbooks/*.yml",
    "plugins/*.py",
    "plugins/module_utils/*.yml",
    "plugins/module_utils/_collect/*.json",
    "plugins/module_utils/_collect/words.txt",
    "plugins/module_utils/_fabric/*.j2",
    "plugins/module_utils/_results/figures/*.json",
    "plugins/module_utils/_results/report/*.json",
    "plugins/module_utils/_results/report/templates/*",
    "roles/*.j2",
    "roles/*.md",
    "roles/*.yml",
    "workloads/.dockerignore",
    "workloads/*.py",
    "workloads/multinode/Dockerfile*",
)


def shipped(names: list[str]) -> list[str]:
    return sorted(name for name in names if any(fnmatch.fnmatchcase(name, pattern) for pattern in SHIPPED))


def tracked() -> list[str]:
    """Raises CalledProcessError outside of a git checkout."""
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, check=True, capture_output=True)
    return [name for name in listed.stdout.decode().split("\0") if name and (ROOT / name).is_file()]


def program() -> str:
    """ansible-galaxy of the Python that runs this, or of the shell."""
    beside = pathlib.Path(sys.executable).with_name("ansible-galaxy")
    found = str(beside) if beside.exists() else shutil.which("ansible-galaxy")
    if not found:
        sys.exit("there is no ansible-galaxy. What to do: run this with the Python of .venv, or make dev before")
    return found


def build(folder: pathlib.Path) -> str:
    """Path of the tarball. Raises CalledProcessError; what ansible-galaxy says stands on the terminal."""
    with tempfile.TemporaryDirectory() as work:
        for name in shipped(tracked()):
            target = pathlib.Path(work, name)
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, target)
        done = subprocess.run(
            [program(), "collection", "build", "--force", "--output-path", str(folder.resolve()), work],
            check=True, stdout=subprocess.PIPE, text=True,
        )  # fmt: skip
    return named(done.stdout)


def named(said: str) -> str:
    """The path in what ansible-galaxy says: "Created collection for NAME at PATH". Raises ValueError without one."""
    for line in said.splitlines():
        _what, at, path = line.partition(" at ")
        if at and path.endswith(".tar.gz"):
            return path
    raise ValueError(f"ansible-galaxy names no tarball: {said!r}")


if __name__ == "__main__":
    if "--list" in sys.argv:
        print("\n".join(shipped(tracked())))
    else:
        print(build(pathlib.Path(*sys.argv[1:2])))
