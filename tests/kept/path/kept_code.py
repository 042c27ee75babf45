"""Compiled once and not once per process: kept by source and name, so another source is compiled anew; what cannot be
kept is only not kept."""

from __future__ import annotations

import _imp
import marshal
import os
import sys

TYPE_CHECKING = False  # every Python that a test starts imports this: nothing that takes time
if TYPE_CHECKING:
    from types import CodeType
    from typing import Callable


def keeping(folder: str, compile_source: Callable[[str, bytes], CodeType]) -> Callable[[str, bytes], CodeType]:
    def kept(pathname: str, source: bytes) -> CodeType:
        # Of a member of an archive, its name there: the archive's own is another one each time.
        name = pathname.rpartition(f".zip{os.sep}")[2].encode()
        found = f"{folder}/{_imp.source_hash(0, name + source).hex()}.{sys.implementation.cache_tag}"
        try:
            with open(found, "rb") as stream:
                code: CodeType = marshal.load(stream)
                return code
        except (OSError, EOFError, ValueError):
            code = compile_source(pathname, source)
        part = f"{found}.{os.getpid()}"
        try:
            with open(part, "wb") as stream:
                marshal.dump(code, stream)
            os.replace(part, found)
        except OSError:
            return code
        return code

    return kept
