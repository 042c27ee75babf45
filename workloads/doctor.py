"""The doctor without Ansible and without an inventory: `python3 workloads/doctor.py LOG`.

Exit status: 0 healthy, 1 the log cannot be read or the command is wrong, 2 faulty, 3 cannot tell, 6 no fault seen.
It needs PyYAML.
"""

from __future__ import annotations

import argparse
import importlib
import json
import sys
from pathlib import Path
from typing import Any


def _doctor() -> Any:
    """From the folder beside this one: there need be no Ansible, and so no collection."""
    sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "plugins"))
    return importlib.import_module("module_utils._doctor.doctor")


def _harmless(text: str) -> str:
    """A quoted line of a log may hold what a terminal obeys."""
    return "".join(each if each.isprintable() or each == "\n" else repr(each)[1:-1] for each in text)


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="doctor", description="Name the root cause in a log, folder or archive.")
    parser.add_argument("bundle", help="a log, a folder, or an archive (tar, zip); '-' reads standard input")
    parser.add_argument("--json", metavar="FILE", help="write the whole answer there ('-': to standard output)")
    try:
        options = parser.parse_args(arguments)
    except SystemExit as ended:  # argparse ends with 2, which means faulty here
        return min(int(ended.code or 0), 1)
    doctor = _doctor()
    try:
        if options.bundle == "-":
            found = doctor.diagnose(None, {"standard input": sys.stdin.buffer.read().decode("utf-8", "replace")})
        else:
            found = doctor.diagnose(options.bundle)
        if options.json and options.json != "-":
            Path(options.json).write_text(json.dumps(found, indent=2) + "\n", encoding="utf-8")
    except ImportError as error:
        print(f"doctor: {error}", file=sys.stderr)
        return 1
    except OSError as error:
        print(f"doctor: {error.filename}: {error.strerror}; name a file or folder that is there", file=sys.stderr)
        return 1
    print(json.dumps(found, indent=2) if options.json == "-" else _harmless(doctor.table(found)), end="")
    return int(doctor.STATUS[found["verdict"]])


if __name__ == "__main__":
    sys.exit(main())
