"""Ask detect-secrets, with rules of its own, whether a finished archive still holds a secret.

detect-secrets (Yelp, Apache-2.0) is called line by line through its plugins. None of its filters runs, nothing is
verified over the network. Left out are its rules for addresses and for hexadecimal digits: digests, GUIDs and PCI
addresses are no secrets.
"""

from __future__ import annotations

import importlib
import io
import json
import tarfile
from pathlib import Path
from typing import Any, Iterator, Sequence

from .patterns import form

REQUIREMENT = "detect-secrets>=1.5,<2"
# Modules of detect-secrets and their classes.
RULES = json.loads(Path(__file__).with_name("detectors.json").read_text(encoding="utf-8"))
ENTROPY = 4.8  # bits per letter; identifiers of programs in quotes have less
_SHOWN = 20


def rules() -> list[Any]:
    """The plugins. Raises ValueError without detect-secrets; the text says how to install it."""
    try:
        classes = [
            getattr(importlib.import_module(f"detect_secrets.plugins.{module}"), name) for module, name in RULES.items()
        ]
    except (ImportError, AttributeError) as error:
        raise ValueError(
            f"collect: detect-secrets is not usable ({error}), expected {REQUIREMENT}. Run python3 -m pip install "
            f"'{REQUIREMENT}' in the environment of ansible-playbook"
        ) from error
    return [each(limit=ENTROPY) if each.__name__ == "Base64HighEntropyString" else each() for each in classes]


def doubts(packed: bytes) -> list[str]:
    """What the rules find in an archive: piece, line and rule of each, never the secret. Raises as `rules`."""
    plugins = rules()
    known: dict[str, str] = {}
    found = []
    for piece, text in _texts(packed):
        for number, line in enumerate(text.splitlines(), 1):
            bare = form("mark").sub("", line)
            if bare not in known:
                known[bare] = _rule(bare, plugins)
            if known[bare]:
                found.append(f"{piece} line {number}: {known[bare]}")
    return found


def _texts(packed: bytes) -> Iterator[tuple[str, str]]:
    with tarfile.open(fileobj=io.BytesIO(packed), mode="r:gz") as archive:
        for member in archive:
            stream = archive.extractfile(member)
            if stream is not None:
                yield member.name, stream.read().decode("utf-8", "replace")
                yield member.name + " (its name)", member.name


def _rule(line: str, plugins: Sequence[Any]) -> str:
    """The rule that finds a secret in the line, or nothing."""
    for plugin in plugins:
        for secret in map(str, filter(None, plugin.analyze_string(line))):
            low = hasattr(plugin, "entropy_limit") and plugin.calculate_shannon_entropy(secret) <= plugin.entropy_limit
            if not low and not form("no_secret").fullmatch(secret):
                return str(plugin.secret_type)
    return ""


def refusal(found: Sequence[str], dest: str) -> str:
    more = [f"and {len(found) - _SHOWN} more"] if len(found) > _SHOWN else []
    return (
        f"collect: dest {dest!r} is not written: detect-secrets finds {len(found)} possible secrets in it, expected 0. "
        f"{'; '.join([*found[:_SHOWN], *more])}. Give the value a variable whose name ends in _secret in the "
        "inventory, so that it becomes a stand-in, or take the line out of the bundle"
    )
