# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Wherever the broker lets a daemon report, Open MPI's own reading of the same text leads into the mesh only.

ROCEMESH_CONTACTS=100000 tries as many strings as the full form; a part of them is tried in every run.
"""

from __future__ import annotations

import os

import pytest

from tests.unit.mesh.contacts import DAEMONS, TRICKS, accepted_contact, generate, outside

COUNT = int(os.environ.get("ROCEMESH_CONTACTS", "4000"))


@pytest.mark.parametrize("daemon", DAEMONS)
def test_what_is_accepted_leads_into_the_mesh_only(daemon: str) -> None:
    reading = DAEMONS[daemon][0]
    let_through, dangerous = 0, 0
    for contact in generate(4147, COUNT):
        told = accepted_contact(daemon, contact)
        dangerous += bool(outside(reading(contact)))
        if told:
            let_through += 1
            assert reading(told) and not outside(reading(told)), (contact, told)
            # Built anew, and still the same contact.
            assert reading(told) == reading(contact), (contact, told)
    assert let_through > COUNT / 20 and dangerous > COUNT / 20, "the generator tries nothing"


@pytest.mark.parametrize("contact", TRICKS)
@pytest.mark.parametrize("daemon", DAEMONS)
def test_a_contact_that_reads_in_two_ways_is_refused(daemon: str, contact: str) -> None:
    assert accepted_contact(daemon, "1.0;" + contact) == ""
    assert any(TRICKS[contact] in reading("1.0;" + contact) for reading, _option in DAEMONS.values())


@pytest.mark.parametrize(
    ("daemon", "contact"),
    [("orted", "tcp://192.0.2.1:4000:24"), ("orted", "tcp6://[fd00::1]:4000:64"), ("prted", "tcp://192.0.2.1:4000"),
     ("prted", "tcp6://[fd00::1:2,fd00::3:4]:4000"), ("prted", "tcp://192.0.2.1,192.0.2.2:4000:24")],
)  # fmt: skip
def test_prefix_lengths_belong_to_the_daemon_that_reads_them(daemon: str, contact: str) -> None:
    """orted takes the last number for the port, prted the last but one; each is told what it reads as it was meant."""
    assert accepted_contact(daemon, "1.0;" + contact) == ""


@pytest.mark.parametrize(
    ("daemon", "contact"),
    [("orted", "1994326016.0;tcp://192.0.2.2,192.0.2.3:59111,59112;tcp6://[fd00::2,fd00::3]:49507"),
     ("prted", "prterun-vm-10777@0.0;tcp://192.0.2.2,192.0.2.3:52903:64,24,16,24;tcp6://[fd00::2]:58089:64,24,16,24")],
)  # fmt: skip
def test_what_mpirun_sends_from_a_head_with_many_addresses_is_accepted_as_it_is(daemon: str, contact: str) -> None:
    assert accepted_contact(daemon, contact) == contact
