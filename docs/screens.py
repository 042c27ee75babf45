"""Make docs/screen-report.png for the README from the report of a real run, by a headless chromium.

    python docs/screens.py reports/latest      # after `make lab`: draws, and notes in docs/screens.json what from
    python docs/screens.py --check             # is it the noted one, and do reports still look so?

What a report looks like is decided by the files in PAGE; their digest is noted beside that of the picture. If one of
them changes, the check (by hand, no test) asks for a new picture.
Exit status: 0 current, 1 not, 2 no picture or no chromium.
"""

from __future__ import annotations

import hashlib
import json
import pathlib
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[1]
PICTURE = ROOT / "docs" / "screen-report.png"
NOTE = ROOT / "docs" / "screens.json"
PAGE = "plugins/module_utils/_results/report"
BROWSERS = ("chromium", "chromium-browser", "google-chrome")
WIDTH, HEIGHT = 1280, 900


def digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def look() -> str:
    """Of all files that decide what a page looks like."""
    files = sorted((ROOT / PAGE).glob("*.py"))
    return digest(b"".join(path.name.encode() + path.read_bytes() for path in files))


def another(picture: pathlib.Path, note: pathlib.Path) -> list[str]:
    """Whether the picture is not the noted one; raises FileNotFoundError if one of the two is missing."""
    noted = json.loads(note.read_text())
    same = noted["picture"] == digest(picture.read_bytes())
    return [] if same else [f"{picture.name} is not the picture that {note.name} speaks of"]


def stale(picture: pathlib.Path, note: pathlib.Path) -> list[str]:
    """What is not as it was noted, what decides what pages look like as well; raises as ``another``."""
    wrong = another(picture, note)
    if json.loads(note.read_text())["look"] != look():
        wrong.append(f"{PAGE} has changed since {picture.name} was made")
    return wrong


def draw(report: pathlib.Path, picture: pathlib.Path, width: int = WIDTH) -> None:
    """Raises FileNotFoundError (no page, no browser), CalledProcessError."""
    page = report / "report.html"
    page.stat()
    browser = next((path for path in map(shutil.which, BROWSERS) if path), None)
    if browser is None:
        raise FileNotFoundError(f"none of {', '.join(BROWSERS)} is installed")
    with tempfile.TemporaryDirectory() as profile:
        subprocess.run(
            [browser, "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", f"--user-data-dir={profile}",
             f"--window-size={width},{HEIGHT}", f"--screenshot={picture}", page.resolve().as_uri()],
            check=True, capture_output=True,
        )  # fmt: skip


def note(report: pathlib.Path, picture: pathlib.Path) -> dict[str, str]:
    """No time and no name of a machine: the same report and code make the same note."""
    return {
        "look": look(),
        "page": digest((report / "report.html").read_bytes()),
        "picture": digest(picture.read_bytes()),
        "summary": digest((report / "summary.json").read_bytes()),
    }


def main(arguments: list[str]) -> int:
    try:
        if arguments == ["--check"]:
            wrong = stale(PICTURE, NOTE)
            for each in wrong:
                print(f"{each}. What to do: make lab, then python docs/screens.py reports/latest", file=sys.stderr)
            return 1 if wrong else 0
        if len(arguments) != 1:
            print(__doc__, file=sys.stderr)
            return 2
        report = pathlib.Path(arguments[0])
        draw(report, PICTURE)
        NOTE.write_text(json.dumps(note(report, PICTURE), indent=2, sort_keys=True) + "\n")
    except FileNotFoundError as error:
        print(f"screens: {error}. What to do: name the folder of a report; install chromium", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
