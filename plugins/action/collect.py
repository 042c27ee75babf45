"""Action of rocemesh.multinode.collect: an archive with stand-ins.

An action, because what is secret and what is a name follows from the inventory of all hosts. Redaction and packing
are in module_utils/_collect.
"""

from __future__ import annotations

import hashlib
import pathlib
import re
from typing import Any, Iterator, Mapping

from ansible.errors import AnsibleError

from ..module_utils._collect import archive, second_opinion
from ..module_utils._doctor.doctor import evidence_texts, unusable
from ..modules.collect import DOCUMENTATION
from ..plugin_utils.decision import Decision

_SECRET = re.compile(r"password|passwd|passphrase|secret|token|api_?key|private_key$|(?:^|_)pass$", re.IGNORECASE)
_KEY = re.compile(r"_key$", re.IGNORECASE)
# Not a secret, but what says where or whether one is.
_NO_SECRET = re.compile(r"(?:_file|_path|_url|_checksum|_required|_enabled)$", re.IGNORECASE)
_NAME = re.compile(r"(?:^|_)(?:host|hostname|host_name|vm_name|fqdn|registry|server|inventory_hostname_short)$")
_USER = re.compile(r"(?:^|_)(?:user|username)$")
_KINDS = {"secret": _SECRET, "key": _KEY, "name": _NAME, "user": _USER}
_SHORTEST_KEY = 8  # the value of sort_key is a word of every text


class ActionModule(Decision):
    documentation = DOCUMENTATION

    def decide(self, options: dict[str, Any], variables: dict[str, Any]) -> dict[str, Any]:
        dest = pathlib.Path(options["dest"])
        try:
            archive.check_free(dest)
            second_opinion.rules()
            texts = evidence_texts(options["evidence"])
            notes: list[str] = []
            if options["bundle"]:
                read = archive.of_folder(options["bundle"])
                texts = {**read.texts, **texts}
                notes = list(read.notes)
            if not texts:
                raise ValueError(_nothing(options["bundle"], notes))
            known = Known(variables.get("hostvars") or {})
            found = archive.redacted(archive.Pieces(texts, notes), known.secrets, known.names)
            data = archive.packed(found)
            doubts = second_opinion.doubts(data)
            if doubts:
                raise ValueError(second_opinion.refusal(doubts, str(dest)))
            if not self._task.check_mode:
                archive.write(data, dest)
        except OSError as error:
            raise ValueError(unusable("collect", error, options)) from error
        return {
            "path": str(dest),
            "text": archive.table(found, str(dest), written=not self._task.check_mode),
            "pieces": list(found.texts),
            "stand_ins": dict(found.stand_ins),
            "sha256": hashlib.sha256(data).hexdigest(),
        }


class Known:
    """Secrets and names of the inventory, of all hosts."""

    def __init__(self, hostvars: Mapping[str, Any]) -> None:
        self.secrets: set[str] = set()
        self.names: set[str] = set()
        for host in hostvars:
            self.names.add(str(host))
            for kind, value in _values(hostvars[host]):
                if kind == "secret" or (kind == "key" and len(value) >= _SHORTEST_KEY):
                    self.secrets.add(value)
                elif kind == "name":
                    self._name(value.rpartition("://")[2].partition("/")[0].partition(":")[0])
                elif kind == "user":
                    self._name(value.partition("@")[0])

    def _name(self, name: str) -> None:
        """Figures alone (a number of a host in what a module returned) identify no one."""
        if re.search(r"[^\W\d]", name):
            self.names.add(name)


def _kind(name: str) -> str:
    """What a variable, or a key in one, holds by its name: one of _KINDS, "none" if it says so, or nothing known."""
    if _NO_SECRET.search(name):
        return "none"
    return next((kind for kind, pattern in _KINDS.items() if pattern.search(name)), "")


def _values(variables: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Kind and text of all that the variables of a host hold of secrets, keys, names and users."""
    # As they were written: a variable that cannot hold any is not evaluated, for lookups may cost or do something.
    written = getattr(variables, "_vars", variables)
    for name in list(variables):
        if name in ("hostvars", "vars", "groups") or name.startswith("ansible_facts"):
            continue
        if _kind(name) in _KINDS or _holds(written.get(name)):
            yield from _texts(_kind(name), variables, name)


def _holds(value: Any) -> bool:
    """Whether a key anywhere in it names a secret, a host or a user."""
    if isinstance(value, Mapping):
        return any(_kind(str(key)) in _KINDS or _holds(each) for key, each in value.items())
    return isinstance(value, (list, tuple)) and any(map(_holds, value))


def _texts(kind: str, holder: Any, key: Any) -> Iterator[tuple[str, str]]:
    """Texts in ``holder[key]``; keys in it are judged by their own names, and those that say nothing are of ``kind``.
    What has no value here cannot stand in a text."""
    try:
        value = holder[key]
        # Up to ansible-core 2.18 a value that is encrypted by itself is no str, and decrypted when it becomes one.
        text = str(value) if isinstance(value, str) or getattr(value, "__ENCRYPTED__", False) else None
    except AnsibleError:
        return
    if text is not None:
        if kind in _KINDS:
            yield kind, text
    elif isinstance(value, Mapping):
        for inner in list(value):
            yield from _texts(_kind(str(inner)) or kind, value, inner)
    elif isinstance(value, (list, tuple)):
        for place in range(len(value)):
            yield from _texts(kind, value, place)


def _nothing(bundle: Any, notes: list[str]) -> str:
    why = f"bundle {bundle!r} holds no text ({'; '.join(notes) or 'it is empty'})" if bundle else "nothing was read"
    return f"collect: {why}. What to do: give a folder, archive or log as bundle, or outputs as evidence"
