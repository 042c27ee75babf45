# Copyright: (c) 2026, rocemesh.multinode contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A SIMULATED Cumulus Linux 5.x switch: NVUE's REST API over real HTTPS, with revisions, physics and injectable faults.

Run it with ``python -m lab.nvue --help``. What a release takes comes from the package nvueschema (extra "lab").

Paths, revision states and the shapes of answers are those of NVIDIA's manual (5.2 to 5.16) and of published clients.
Whatever had to be invented, above all error texts, carries the words "synthetic wording".
"""
