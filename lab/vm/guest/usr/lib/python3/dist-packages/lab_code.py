"""Keeps the byte code of Python that is imported from zip files, as Ansible's modules are each time.

An emulated processor needs seconds to compile what a real one compiles in a tenth. A traceback then names the zip file
that the code was first read from.
"""

from __future__ import annotations

import _imp
import marshal
import os
import sys
import zipimport
from collections.abc import Callable
from types import CodeType

FOLDER = "/var/cache/lab-code"
_KEY = sys.hexversion  # code of another Python is none for this one
_compile: Callable[[str, bytes], CodeType] = vars(zipimport)["_compile_source"]


def _compile_source(pathname: str, source: bytes) -> CodeType:
    # Where the zip file lies is another place each time; what stands in it may be the same.
    name = pathname.rpartition("/")[2].encode()
    path = f"{FOLDER}/{_imp.source_hash(_KEY, name + bytes(1) + source).hex()}"
    try:
        with open(path, "rb") as stream:
            kept: CodeType = marshal.loads(stream.read())
            return kept
    except (OSError, ValueError, EOFError):
        pass
    code = _compile(pathname, source)
    try:
        with open(f"{path}.{os.getpid()}", "wb") as stream:
            stream.write(marshal.dumps(code))
        os.rename(f"{path}.{os.getpid()}", path)
    except OSError:  # not root: nothing is kept
        pass
    return code


vars(zipimport)["_compile_source"] = _compile_source
