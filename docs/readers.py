"""Write docs/readers.md from the registry of readers; --check: only say whether it is current (exit 1)."""

from __future__ import annotations

import pathlib
import sys

ROOT = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "collections"))

from ansible_collections.rocemesh.multinode.plugins.module_utils._results.readers.registry import (  # noqa: E402
    COMMON,
    KINDS,
    Kind,
)

PAGE = ROOT / "docs" / "readers.md"
HEAD = """# Logs that can be read

<!-- made from plugins/module_utils/_results/readers/registry.py by readers.py: change that file -->

```yaml
- ansible.builtin.debug:
    msg: "{{ '/srv/logs/mpirun.log' | rocemesh.multinode.read_log('tf_cnn', ranks=4) }}"
```

The filter takes the text of a log or its absolute path, of any size, and returns what the kind finds. `?` marks what
may be null. Every kind returns also:

"""
TAIL = """
## A new kind

1. `plugins/module_utils/_results/readers/NAME.py`: a `Reader(LogReader)` that takes lines and ends in a result with
   `as_dict()`, and `read(source)`.
2. An entry in `KINDS` of `registry.py` beside it: name, program, notes, `read`, the schema of the result, options.
3. The name among `kind` of `plugins/filter/read_log.py`, and a recorded log for the tests. `docs/readers.py` writes
   this page. The whole recipe: [CONTRIBUTING](../CONTRIBUTING.md#a-reader-of-a-log).
"""


def table(rows: list[tuple[str, str, str]]) -> str:
    return "| key | type | is |\n|---|---|---|\n" + "".join(
        f"| `{key}` | {kind} | {text[:1].lower() + text[1:]} |\n" for key, kind, text in rows
    )


def section(kind: Kind) -> str:
    options = "".join(
        f"- `{option.name}`{'' if option.default is None else f' (default {option.default})'}: {option.description}\n"
        for option in kind.options
    )
    return (
        f"\n## {kind.name}\n\nReads {kind.program}. "
        + " ".join(kind.notes)
        + "\n\n"
        + (f"{options}\n" if options else "")
        + table([(key, *entry) for key, entry in kind.schema.items()])
    )


def page() -> str:
    return HEAD + table([(key, *entry) for key, entry in COMMON.items()]) + "".join(map(section, KINDS)) + TAIL


if __name__ == "__main__":
    if "--check" in sys.argv:
        if PAGE.read_text(encoding="utf-8") != page():
            sys.exit("docs/readers.md is not what the registry says; run docs/readers.py")
    else:
        PAGE.write_text(page(), encoding="utf-8")
