# Copyright: (c) 2026, rocemesh.multinode contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A SIMULATED Cumulus Linux 4.3 switch: the ``net`` command over real SSH, one command per channel.

Run it with ``python -m lab.nclu --help``. Needs asyncssh and the standard library.

The JSON of ``net show interface`` has the shape of a published 4.3.0 answer, ``net pending`` that of published
transcripts. Texts that had to be invented carry the words "synthetic wording".
"""
