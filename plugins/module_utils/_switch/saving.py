"""The one policy of saving: what another user has not saved is not saved for that user. Pure: no I/O, no Ansible.

Saving writes the whole configuration. Another user's changes may have been unsaved before a run, or be made while it
works, so that both are looked for: against what is saved, and against what ran when the run began.
"""

from __future__ import annotations

import re
from typing import Sequence

POLICIES = ("when_clean", "always", "never")
_SHOWN = 5
# Of a line of a configuration: what follows is of an account, a server or a community.
_SECRET = re.compile(r"(?i)(\S*(?:passw|passphrase|secret|communit|key|auth)\S*) .*")


def without_secret(line: str) -> str:
    return _SECRET.sub(r"\1 (not shown)", line)


def may_save(policy: str, foreign: Sequence[str]) -> bool:
    """``foreign``: lines (``+ ...``, ``- ...``) that the request does not account for, as they are right now."""
    return policy == "always" or (policy == "when_clean" and not foreign)


def warnings(
    policy: str, *, unsaved: bool, foreign: Sequence[str], meanwhile: Sequence[str] = (), restart: str = "reload"
) -> list[str]:
    """``meanwhile``: those of ``foreign`` that appeared while this run worked."""
    result = []
    if unsaved and foreign:
        result.append(
            f"nothing was saved, because another user's changes are unsaved (save={policy}): "
            + shown(foreign)
            + f". A {restart} loses them and what this run changed. Look at them, then use save=always"
        )
    elif unsaved:
        result.append(f"not saved (save={policy}): a {restart} of the switch takes unsaved changes back")
    if meanwhile:
        result.append(f"another user changed the configuration while this run worked: {shown(meanwhile)}")
    return result


def shown(lines: Sequence[str]) -> str:
    more = f" and {len(lines) - _SHOWN} more" if len(lines) > _SHOWN else ""
    return "; ".join(lines[:_SHOWN]) + more
