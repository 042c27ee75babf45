"""Prints what the unit tests need of pyproject.toml beside an ansible-core of any release, one requirement a line.

Left out is what brings one release of ansible-core along or refuses others; no unit test imports it.
"""

from __future__ import annotations

import pathlib
import re
import sys

if sys.version_info >= (3, 11):
    import tomllib
else:
    from pip._vendor import tomli as tomllib

LEFT_OUT = ("ansible", "ansible-core", "ansible-lint", "galaxy-importer", "molecule")


def wanted(text: str) -> list[str]:
    project = tomllib.loads(text)["project"]
    extras = project["optional-dependencies"]
    every = [*project["dependencies"], *extras["lab"], *extras["dev"]]
    return [each for each in every if re.split(r"[^\w.-]", each, maxsplit=1)[0] not in LEFT_OUT]


if __name__ == "__main__":
    pyproject = pathlib.Path(__file__).resolve().parents[1] / "pyproject.toml"
    print("\n".join(wanted(pyproject.read_text(encoding="utf-8"))))
