"""Made once and not once per process: kept by source and name, so another source is made anew; what cannot be kept is
only not kept."""

from __future__ import annotations

import _imp
import marshal
import os
import sys

TYPE_CHECKING = False  # every Python that a test starts imports this: nothing that takes time
if TYPE_CHECKING:
    from types import CodeType
    from typing import Any, Callable


def keeping(folder: str, compile_source: Callable[[str, bytes], CodeType]) -> Callable[[str, bytes], CodeType]:
    def kept(pathname: str, source: bytes) -> CodeType:
        # Of a member of an archive, its name there: the archive's own is another one each time.
        name = pathname.rpartition(f".zip{os.sep}")[2].encode()
        kind = sys.implementation.cache_tag
        code: CodeType = once(folder, name + source, kind, lambda: compile_source(pathname, source))
        return code

    return kept


def once(folder: str, source: bytes | str, kind: str, make: Callable[[], Any]) -> Any:
    """What ``make`` gives for this source; of what is code or plain values."""
    data = source if isinstance(source, bytes) else source.encode("utf-8", "surrogatepass")
    found = f"{folder}/{_imp.source_hash(0, data).hex()}.{kind}"
    try:
        with open(found, "rb") as stream:
            return marshal.load(stream)
    except (OSError, EOFError, ValueError):
        pass
    made = make()
    part = f"{found}.{os.getpid()}"
    try:
        with open(part, "wb") as stream:
            marshal.dump(made, stream)
        os.replace(part, found)
    except (OSError, ValueError):
        return made
    return made
