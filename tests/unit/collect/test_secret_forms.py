# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The list of forms is as long as promised, and its judge sees a secret in each encoding."""

from __future__ import annotations

from collections import Counter

import pytest

from .secret_forms import ENCODINGS, forms, survives


def test_forms_are_300_or_more_with_unique_names() -> None:
    names = Counter(form.name for form in forms())
    assert len(names) >= 300
    assert not [name for name, count in names.items() if count > 1]


@pytest.mark.parametrize("encoding", ENCODINGS)
def test_survives_unchanged_text_holds_secret(encoding: str) -> None:
    for form in forms():
        text, secrets = form.fill(seed=1)
        assert secrets, form.name
        shown = ENCODINGS[encoding](text)
        assert [secret for secret in secrets if not survives(secret, shown)] == [], form.name


def test_survives_text_without_secret_is_clean() -> None:
    for form in forms():
        secrets = form.fill(seed=1)[1]
        other = ENCODINGS["plain"](form.fill(seed=2)[0])
        assert not [secret for secret in secrets if len(secret) > 16 and survives(secret, other)], form.name
