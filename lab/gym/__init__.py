# Copyright: (c) 2026, rocemesh.multinode contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The fault gym: what a whole site prints when it is right, and what it prints with one thing broken.

``site`` makes the outputs of a right site, ``faults`` and the tables beside it say what each fault changes in them,
``command`` sets a fault in the running lab where a simulated device can show it. All of it is SIMULATED: written after
the sources that stand at each fault, not recorded.
"""
