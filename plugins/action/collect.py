# Copyright: (c) 2026, rocemesh.multinode contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Action of rocemesh.multinode.collect: an archive with stand-ins.

An action, because what is secret and what is a name follows from the inventory of all hosts. How things are redacted
and packed stands in module_utils/_collect.
"""

from __future__ import annotations

import hashlib
import pathlib
import re
from typing import Any, Iterator, Mapping

from ansible.errors import AnsibleError
from ansible.plugins.action import ActionBase

from ..module_utils._collect import archive
from ..module_utils._doctor.doctor import evidence_texts

ARGUMENTS = {
    "evidence": {"type": "dict", "default": {}},
    "bundle": {"type": "path"},
    "dest": {"type": "path", "required": True},
}
_SECRET = re.compile(r"password|passwd|passphrase|secret|token|api_?key|private_key$|(?:^|_)pass$", re.IGNORECASE)
# Not a secret, but what says where or whether one is.
_NO_SECRET = re.compile(r"(?:_file|_path|_url|_checksum|_required|_enabled)$", re.IGNORECASE)
_NAME = re.compile(r"(?:^|_)(?:host|hostname|host_name|vm_name|fqdn|registry|server|inventory_hostname_short)$")
_USER = re.compile(r"(?:^|_)(?:user|username)$")


class ActionModule(ActionBase):
    TRANSFERS_FILES = False
    _supports_check_mode = True
    _supports_async = False

    def run(self, tmp: str | None = None, task_vars: dict[str, Any] | None = None) -> dict[str, Any]:
        result: dict[str, Any] = super().run(tmp, task_vars)
        _validation, options = self.validate_argument_spec(argument_spec=ARGUMENTS)  # type: ignore[no-untyped-call]
        dest = pathlib.Path(options["dest"])
        try:
            texts = evidence_texts(options["evidence"])
            notes: list[str] = []
            if options["bundle"]:
                read = archive.of_folder(options["bundle"])
                texts = {**read.texts, **texts}
                notes = list(read.notes)
            if not texts:
                return {**result, "failed": True, "msg": _nothing(options["bundle"], notes)}
            known = Known((task_vars or {}).get("hostvars") or {})
            found = archive.redacted(archive.Pieces(texts, notes), known.secrets, known.names)
            data = archive.packed(found)
            if not self._task.check_mode:
                archive.write(data, dest)
        except archive.WouldOverwriteError as error:
            return {**result, "failed": True, "msg": str(error)}
        except OSError as error:
            return {**result, "failed": True, "msg": _unusable(error, options["bundle"], dest)}
        return {
            **result,
            "changed": False,
            "path": str(dest),
            "text": archive.table(found, str(dest)),
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
            for name, value in _values(hostvars, host):
                if _SECRET.search(name) and not _NO_SECRET.search(name):
                    self.secrets.add(value)
                elif _NAME.search(name):
                    self.names.add(value.rpartition("://")[2].partition("/")[0].partition(":")[0])
                elif _USER.search(name):
                    self.names.add(value.partition("@")[0])


def _values(hostvars: Mapping[str, Any], host: str) -> Iterator[tuple[str, str]]:
    """Strings of a host, also those in its dictionaries. What has no value here cannot stand in a text."""
    for name in list(hostvars[host]):
        if name in ("hostvars", "vars", "groups") or name.startswith("ansible_facts"):
            continue
        if not (_SECRET.search(name) or _NAME.search(name) or _USER.search(name)):
            continue
        try:
            value = hostvars[host][name]
            if isinstance(value, str):
                yield name, str(value)
            elif isinstance(value, (list, tuple)):
                yield from ((name, str(each)) for each in value if isinstance(each, str))
            elif isinstance(value, Mapping):
                yield from ((name, str(each)) for each in value.values() if isinstance(each, str))
        except AnsibleError:
            continue


def _nothing(bundle: Any, notes: list[str]) -> str:
    why = f"bundle {bundle!r} holds no text ({'; '.join(notes) or 'it is empty'})" if bundle else "nothing was read"
    return f"collect: {why}. What to do: give a folder, archive or log as bundle, or outputs as evidence"


def _unusable(error: OSError, bundle: Any, dest: pathlib.Path) -> str:
    named = pathlib.Path(error.filename) if error.filename else dest
    which = "bundle" if bundle and named == pathlib.Path(bundle) else "dest"
    todo = "give an existing folder, archive or file" if which == "bundle" else "name a file in a folder that is there"
    return f"collect: {which} {str(named)!r}: {error.strerror}. What to do: {todo}"
