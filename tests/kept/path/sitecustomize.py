"""For every Python that a test starts: what is imported from an archive is compiled once, and not once per module that
Ansible runs; what each start of Ansible reads is read once."""

from __future__ import annotations

import os
import zipimport

import kept_reading
from kept_code import keeping

_FOLDER = os.environ.get("ROCEMESH_TESTS_KEPT", "")
if _FOLDER and hasattr(zipimport, "_compile_source"):
    zipimport._compile_source = keeping(_FOLDER, zipimport._compile_source)
    kept_reading.begin(_FOLDER)
