"""For every Python that a test starts: what is imported from an archive is compiled once, and not once per module that
Ansible runs; what each start of Ansible reads is read once, and a play does not look for circles of garbage all the
time: that is a fifth of its work, and it ends soon."""

from __future__ import annotations

import gc
import os
import sys
import zipimport

import kept_reading
from kept_code import keeping

_FOLDER = os.environ.get("ROCEMESH_TESTS_KEPT", "")
if _FOLDER and hasattr(zipimport, "_compile_source"):
    zipimport._compile_source = keeping(_FOLDER, zipimport._compile_source)
    kept_reading.begin(_FOLDER)
    if any(word.endswith("ansible-playbook") for word in getattr(sys, "orig_argv", ())):
        gc.set_threshold(100_000, 20, 100)
