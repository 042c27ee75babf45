# Copyright: (c) 2026, rocemesh.multinode contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The certificate of the simulated vCenter is made as in the tests of its own."""

from tests.integration.vsphere.conftest import pki

__all__ = ["pki"]
