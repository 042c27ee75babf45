"""Write docs/readers.md from readers.yml and the readers; --check: only say whether it is current (exit 1)."""

from __future__ import annotations

import pathlib
import sys
from typing import Any, Mapping

import yaml

ROOT = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "collections"))

from ansible_collections.rocemesh.multinode.plugins.module_utils._results.readers.registry import KINDS, Kind  # noqa: E402

PAGE = ROOT / "docs" / "readers.md"
WORDS: Mapping[str, Any] = yaml.safe_load((ROOT / "docs" / "readers.yml").read_text(encoding="utf-8"))
HEAD = """# Logs that can be read

<!-- made from readers.yml by readers.py: change that file -->

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
2. An entry in `KINDS` of `registry.py` beside it (name, `read`, options), and one in `docs/readers.yml`: program,
   notes, options, what it gives.
3. The name among `kind` of `plugins/filter/read_log.py`, and a recorded log for the tests. `docs/readers.py` writes
   this page. The whole recipe: [CONTRIBUTING](../CONTRIBUTING.md#a-reader-of-a-log).
"""


def table(keys: Mapping[str, Mapping[str, str]]) -> str:
    return "| key | type | is |\n|---|---|---|\n" + "".join(
        f"| `{key}` | {of['type']} | {of['is'][:1].lower() + of['is'][1:]} |\n" for key, of in keys.items()
    )


def section(kind: Kind) -> str:
    words = WORDS["kinds"][kind.name]
    options = "".join(
        f"- `{option.name}`{'' if option.default is None else f' (default {option.default})'}: "
        f"{words['options'][option.name]}\n"
        for option in kind.options
    )
    return (
        f"\n## {kind.name}\n\nReads {words['program']}. "
        + " ".join(words["notes"])
        + "\n\n"
        + (f"{options}\n" if options else "")
        + table(words["gives"])
    )


def page() -> str:
    return HEAD + table(WORDS["common"]) + "".join(map(section, KINDS)) + TAIL


if __name__ == "__main__":
    if "--check" in sys.argv:
        if PAGE.read_text(encoding="utf-8") != page():
            sys.exit("docs/readers.md is not what the registry says; run docs/readers.py")
    else:
        PAGE.write_text(page(), encoding="utf-8")
