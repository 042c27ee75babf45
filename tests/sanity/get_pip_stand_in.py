# Offline stand-in for get-pip.py: install pip into the bare virtualenv from PyPI
import os
import subprocess
import sys

import ensurepip

ensurepip.bootstrap(default_pip=True)
os.environ.pop("PIP_CONFIG_FILE", None)  # ensurepip points it at /dev/null
wanted = [arg for arg in sys.argv[1:] if not arg.startswith("-")]
sys.exit(subprocess.call([sys.executable, "-m", "pip", "install", "-q", *wanted]))
