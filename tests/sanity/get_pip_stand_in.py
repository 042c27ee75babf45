"""Stands in for the get-pip script that ansible-test would download: pip comes with the interpreter (ensurepip).

Called with get-pip's command line. What it asks for (a pinned pip, setuptools) comes from wherever this machine's pip
looks for packages.
"""

import ensurepip
import os
import subprocess
import sys

ensurepip.bootstrap(default_pip=True)
os.environ.pop("PIP_CONFIG_FILE", None)  # ensurepip points it at /dev/null
wanted = [argument for argument in sys.argv[1:] if not argument.startswith("-")]
sys.exit(subprocess.call([sys.executable, "-m", "pip", "install", "-q", *wanted]))
