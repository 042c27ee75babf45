# Copyright: (c) 2026, rocemesh.multinode contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Where no rule names a cause, or only what every failure says: what the troubled lines speak of. Pure."""

from __future__ import annotations

from typing import Iterable

from .catalogue import CAUSES
from .finding import Finding
from .model import CANDIDATE
from .reading import Hit
from .rules.subjects import SUBJECTS

LAYERS_WANTED = 3
_WEIGHT = 0.05  # of no account beside what a rule says


def guesses(found: list[Finding], lines: Iterable[Hit]) -> list[Finding]:
    """Candidates of layers that ``found`` does not name, so that there are three layers: narrowest first."""
    layers = {finding.cause.layer for finding in found}
    heard = list(lines)
    guessed: list[Finding] = []
    for place in range(max(len(causes) for _pattern, causes in SUBJECTS)):
        for pattern, causes in SUBJECTS:
            hits = [hit for hit in heard if pattern.search(hit.quote)] if place < len(causes) else []
            if not hits or len(layers) >= LAYERS_WANTED or CAUSES[causes[place]].layer in layers:
                continue
            layers.add(CAUSES[causes[place]].layer)
            guessed.append(Finding(CAUSES[causes[place]], CANDIDATE, _WEIGHT, hits[:2], []))
    return guessed
