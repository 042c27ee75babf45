"""Build the documents as a website with search; no network is needed to build or to read it.

    python docs/site.py [FOLDER]    # writes HTML to FOLDER (default: .build/site); every warning is an error
    python docs/site.py --reference # writes docs/reference.md from the modules' and roles' own documentation
    python docs/site.py --check     # exit status 1 if docs/reference.md is not current
    python docs/site.py --dry       # reads every page, follows every link, and writes no HTML

The pages keep their places in the repository, so their links to each other hold. A link to a file that is no page leads
to the repository. The site's contents are the links of docs/index.md: a page without a link there is an error.
"""

from __future__ import annotations

import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator

import yaml

ROOT = pathlib.Path(__file__).resolve().parents[1]
REPOSITORY = "https://github.com/rocemesh/multinode/blob/main/"
PAGES = ("docs/*.md", "roles/*/README.md", "lab/README.md", "CONTRIBUTING.md", "SECURITY.md")
ANCHOR = re.compile(r'<a id="([^"]+)"></a>')
LINK = re.compile(r"(?<=\]\()([^)\s]+)(?=\))")
# Markdown of GitHub has no directive for contents, so it is appended to the page.
CONTENTS = "\n```{{toctree}}\n:hidden:\n:caption: {caption}\n\n{pages}\n```\n"
CONF = """
project = "rocemesh.multinode"
extensions = ["myst_parser", "sphinx_antsibull_ext"]
html_theme = "furo"
html_title = "rocemesh.multinode"
myst_heading_anchors = 4
source_suffix = {".md": "markdown", ".rst": "restructuredtext"}
root_doc = "docs/index"
show_warning_types = True
myst_enable_extensions = ["attrs_inline"]
# Examples hold output of devices and shortened YAML. The plugins' pages refer to Ansible's own documentation, whose
# index is on the network; antsibull-docs checks the references within the collection.
suppress_warnings = ["misc.highlighting_failure", "ref.ref"]
"""


def pages() -> list[pathlib.Path]:
    return sorted(path for pattern in PAGES for path in ROOT.glob(pattern))


def with_links(text: str, page: pathlib.Path, known: set[pathlib.Path]) -> str:
    """The page with its links to files that are no pages made absolute. Raises ValueError for a link to no file."""

    def absolute(match: re.Match[str]) -> str:
        target, _hash, _anchor = match[1].partition("#")
        if not target or "://" in target or target.startswith("mailto:"):
            return match[1]
        path = (page.parent / target).resolve()
        if path in known or path.suffix == ".png":
            return match[1]
        if not path.exists():
            raise ValueError(f"{page.relative_to(ROOT)}: {target} is linked and does not exist. Mend the link.")
        return REPOSITORY + path.relative_to(ROOT).as_posix()

    # Fenced and indented blocks show text as it is.
    parts = re.split(r"(^```.*?^```$)", text, flags=re.MULTILINE | re.DOTALL)
    for number in range(0, len(parts), 2):
        parts[number] = ANCHOR.sub(r"[]{#\1}", LINK.sub(absolute, parts[number]))
    return "".join(parts)


def contents(index: str) -> Iterator[tuple[str, list[str]]]:
    """Heading and linked pages of each part of docs/index.md."""
    for part in index.split("\n## ")[1:]:
        heading, _line, body = part.partition("\n")
        yield heading, [target.removesuffix(".md") for target in LINK.findall(body) if target.endswith(".md")]


def stage(tree: pathlib.Path) -> None:
    known = {path.resolve() for path in pages()}
    for page in pages():
        copy = tree / page.relative_to(ROOT)
        copy.parent.mkdir(parents=True, exist_ok=True)
        text = with_links(page.read_text(encoding="utf-8"), page, known)
        if page.name == "index.md":
            text += "".join(
                CONTENTS.format(caption=heading, pages="\n".join(targets)) for heading, targets in contents(text)
            )
        elif page.name == "reference.md":
            roles = "\n".join(f"../roles/{path.parent.name}/README" for path in sorted(ROOT.glob("roles/*/README.md")))
            plugins = "../plugins/index"
            text += CONTENTS.format(caption="Roles", pages=roles) + CONTENTS.format(caption="Plugins", pages=plugins)
        copy.write_text(text, encoding="utf-8")
    for picture in ROOT.glob("docs/*.png"):
        shutil.copy(picture, tree / "docs")
    (tree / "conf.py").write_text(CONF, encoding="utf-8")


def build(target: pathlib.Path, builder: str = "html") -> int:
    with tempfile.TemporaryDirectory(prefix="rocemesh-site-") as name:
        tree = pathlib.Path(name)
        stage(tree)
        (tree / "plugins").mkdir(mode=0o755)
        tools = pathlib.Path(sys.executable).parent
        for command in (
            [
                *[tools / "antsibull-docs", "collection", "--use-current", "--squash-hierarchy", "--fail-on-error"],
                *["--dest-dir", tree / "plugins", "rocemesh.multinode"],
            ],
            [sys.executable, "-m", "sphinx", "-b", builder, "-q", "-W", "--keep-going", "-j", "auto", tree, target],
        ):
            done = subprocess.run([str(part) for part in command], cwd=ROOT, check=False)
            if done.returncode:
                return done.returncode
    print(f"{target}/docs/index.html" if builder == "html" else "no warning")
    return 0


def reference() -> str:
    """docs/reference.md: one line per module and per role, from their own documentation."""
    lines = ["# Modules and roles", "", "<!-- made by site.py from the modules and roles: change those -->", ""]
    lines += [
        "Options, defaults and results: `ansible-doc rocemesh.multinode.NAME`.",
        "",
        "| module | purpose |",
        "|---|---|",
    ]
    for path in sorted((ROOT / "plugins" / "modules").glob("*.py")):
        found = re.search(r'^DOCUMENTATION = r?"""(.*?)"""', path.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
        if found is None:
            raise ValueError(f"{path}: no DOCUMENTATION")
        document = yaml.safe_load(found[1])
        lines.append(f"| [`{path.stem}`](../plugins/modules/{path.name}) | {document['short_description']} |")
    lines += ["", "| role | purpose |", "|---|---|"]
    for path in sorted((ROOT / "roles").glob("*/meta/argument_specs.yml")):
        role = path.parents[1].name
        entry = yaml.safe_load(path.read_text(encoding="utf-8"))["argument_specs"]["main"]
        lines.append(f"| [`{role}`](../roles/{role}/README.md) | {entry['short_description']} |")
    return "\n".join(lines) + "\n"


def main(arguments: list[str]) -> int:
    page = ROOT / "docs" / "reference.md"
    if arguments == ["--reference"]:
        page.write_text(reference(), encoding="utf-8")
        return 0
    if arguments == ["--check"]:
        current = page.read_text(encoding="utf-8") == reference()
        print("docs/reference.md is current" if current else "docs/reference.md: run python docs/site.py --reference")
        return 0 if current else 1
    if arguments == ["--dry"]:
        with tempfile.TemporaryDirectory(prefix="rocemesh-site-") as nothing:
            return build(pathlib.Path(nothing), "dummy")
    return build(pathlib.Path(arguments[0] if arguments else ROOT / ".build" / "site").resolve())


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
