"""A SIMULATED Cumulus Linux 5.x switch: NVUE's REST API over real HTTPS, with revisions, physics and injectable faults.

Run it with ``python -m lab.nvue --help``. What a release takes comes from the package nvueschema (extra "lab").

Paths, revision states and the shapes of answers are those of NVIDIA's manual (5.2 to 5.16) and of published clients.
Whatever had to be invented, above all error texts, carries the words "synthetic wording".
"""
