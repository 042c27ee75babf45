"""From what a node has to what its mesh needs, as operations. Pure: no I/O, no Ansible import."""

from __future__ import annotations

from typing import Any, Iterator

from .._layer import Operation, ParseError, RefusedError
from . import blocks, render
from .state import FILE_HEADER, KEY_COMMENT_PREFIX, NEXT_SUFFIX, Layout, MeshState, Wanted, mesh_addresses

PRIVATE_MODE = 0o600
PUBLIC_MODE = 0o644

# Action, which is a method of the transport -> what it does, and how to take it back. Keys cannot be brought back.
_WORDS = {
    "mkdir": ("create the directory {path}", "rmdir {path}"),
    "ssh_keygen": ("generate the key {path} on this node; it stays here", "delete {path} and {path}.pub"),
    "write": ("write {path}", "write the former lines of {path} back"),
    "chmod": ("set {path} to {after}", "set {path} back to {before}"),
    "replace": ("put {path} in the place of {to}", ""),
    "unlink": ("delete {path}", ""),
    "rmdir": ("remove the empty directory {path}", "mkdir {path}"),
    "userdel": ("delete the account {name}", ""),
    "usermod": ("add {name} to the group docker", "gpasswd --delete {name} docker"),
}
_EARLIER = " of an earlier release"


def _lines(content: bytes | None) -> list[str] | None:
    return None if content is None else content.decode("utf-8", "replace").splitlines()


def _is_ours(content: bytes | None) -> bool:
    """Whole files carry the header in their first two lines (a script begins with its interpreter)."""
    return content is not None and FILE_HEADER.encode() in content.split(b"\n")[:2]


def _mode(path: str) -> int:
    """Of a file that is ours as a whole."""
    return 0o755 if path.endswith(".sh") else PRIVATE_MODE if path.startswith("/") else PUBLIC_MODE


class _Planner:
    """Collects the operations of one node; every method adds what is missing and nothing else."""

    def __init__(self, state: MeshState, wanted: Wanted, host: str) -> None:
        self.state, self.wanted, self.host = state, wanted, host
        self.operations: list[Operation] = []

    def refuse(self, path: str, what: str, remedy: str) -> RefusedError:
        return RefusedError(what, host=self.host, thing=self.state.shown(path), remedy=remedy)

    def add(self, action: str, path: str, before: Any, after: Any, *, note: str = "", **payload: Any) -> None:
        """``note``: follows the description; ``payload``: arguments of the transport. What has a mode has an owner."""
        shown, owner = self.state.shown(path), self.state.owner(path)
        if "mode" in payload or action == "ssh_keygen":
            payload = {"uid": owner.uid, "gid": owner.gid, **payload}
        names = {"path": shown, "to": self.state.shown(str(payload.get("to", ""))), "before": before, "after": after}
        description, inverse = (text.format(**{**payload, **names}) for text in _WORDS[action])
        if action == "write" and before is None:
            inverse = f"delete {shown}"
        changes = {shown + (" (permissions)" if action == "chmod" else ""): (before, after)}
        what = {"action": action, "path": path, **payload}
        self.operations.append(Operation(description + note, f"{action} {shown}", changes, inverse, payload=what))

    # -- what must not be touched

    def check_places(self) -> None:
        """Refuse symbolic links, devices and other people's files before anything is planned on them."""
        users = self.wanted.guide or self.wanted.state == "absent"
        layout, keys = self.wanted.layout, self.wanted.keys
        for path in layout.places:
            self._check(path, "directory")
            found = self.state.file(path)
            if found.exists and found.mode & 0o022:
                what = f"can be written by others than its owner (mode {found.mode:04o}); nothing was changed"
                raise self.refuse(path, what, f"chmod go-w {path}")
        if users:
            self._check(layout.ssh, "directory")
        for path in (*layout.blocks, *layout.owned, *keys, *(key + ".pub" for key in keys)):
            if users or path.startswith("/"):
                self._check(path, "file")

    def _check(self, path: str, kind: str) -> None:
        found, owner = self.state.file(path), self.state.owner(path)
        if not found.exists:
            return
        if found.kind != kind:
            here = "symbolic link" if found.kind == "symlink" else found.kind
            remedy = f"replace it by a real {kind} of user {owner.name}"
            raise self.refuse(path, f"is a {here}, not a {kind}; it is not followed", remedy)
        # Root alone puts files into the container's directory; their account may be the one that it had before.
        if found.uid not in (0, owner.uid) and not path.startswith(Layout.container + "/"):
            what = f"belongs to uid {found.uid}, not to user {owner.name}"
            raise self.refuse(path, what, "find out who put it there, then correct the owner")

    # -- directories and keys

    def directories(self) -> None:
        layout = self.wanted.layout
        places = [(layout.ssh, 0o700)] if self.wanted.guide else []
        for path, mode in (*places, *((path, 0o755) for path in layout.places)):
            if not self.state.file(path).exists:
                self.add("mkdir", path, None, f"directory, mode {mode:04o}", mode=mode)

    def key_pairs(self) -> None:
        """The host key of the container's server is not part of a rotation: every peer has it pinned."""
        layout, rotation, file = self.wanted.layout, self.wanted.rotation, self.state.file
        for path in self.wanted.pairs:
            following = path + NEXT_SUFFIX
            if file(following + ".pub").exists and not file(following).exists:
                # A rotation was interrupted after its private key had taken its place.
                self.add("unlink", following + ".pub", "", None, note=", left by a rotation")
            if not file(path).exists:
                if file(path + ".pub").exists:
                    remedy = "restore the private key or delete this file; a new pair is then generated"
                    raise self.refuse(path + ".pub", "is there without its private key", remedy)
                self.generate(path)
            elif rotation == "commit" and self.state.key(following):
                self.commit(path)
                continue
            else:
                self.repair(path)
            if file(following).exists:
                self.repair(following)
            elif rotation == "prepare" and path != layout.server_key:
                self.generate(following)

    def commit(self, path: str) -> None:
        """The next pair takes the place of the present one. Interrupted anywhere, each half can be computed again."""
        if self.state.file(path + ".pub").exists:
            self.add("unlink", path + ".pub", "old key", None)
        for suffix in ("", ".pub"):
            self.add("replace", path + NEXT_SUFFIX + suffix, "next key", None, to=path + suffix)

    def generate(self, path: str) -> None:
        kind = "ed25519" if path == self.wanted.layout.server_key else self.wanted.layout.key_type
        comment = f"{KEY_COMMENT_PREFIX}:{self.state.account.name}@{self.wanted.name}:{path.rpartition('/')[2]}"
        self.add("ssh_keygen", path, None, f"{kind} private key", key_type=kind, comment=comment)

    def repair(self, path: str) -> None:
        public, derived = self.state.public.get(path), self.state.derived.get(path)
        if public and derived and public.text != derived.text:
            remedy = "delete the .pub file; it is then computed again from the private key"
            raise self.refuse(path + ".pub", "is not the public half of the private key beside it", remedy)
        self.permissions(path, PRIVATE_MODE)
        if derived and not self.state.file(path + ".pub").exists:
            content = (derived.text + "\n").encode()
            self.add("write", path + ".pub", None, _lines(content), content=content, mode=PUBLIC_MODE)

    def permissions(self, path: str, mode: int) -> None:
        found, uid = self.state.file(path), self.state.owner(path).uid
        if (found.mode, found.uid) != (mode, uid):
            before, after = (f"mode {m:04o}, uid {u}" for m, u in ((found.mode, found.uid), (mode, uid)))
            self.add("chmod", path, before, after, mode=mode)

    # -- files

    def file(self, path: str, text: str | None) -> None:
        """One that is ours as a whole. None: it should not be there."""
        found = self.state.file(path)
        if text is None:
            if _is_ours(found.content):
                self.add("unlink", path, _lines(found.content), None)
            return
        content = text.encode("utf-8")
        if found.exists and not _is_ours(found.content):
            raise self.refuse(path, "exists and was not written by this module", "move it away")
        if found.content != content:
            self.add("write", path, _lines(found.content), _lines(content), content=content, mode=_mode(path))
        else:
            self.permissions(path, _mode(path))

    def block(self, path: str, lines: list[str] | None) -> None:
        """Put ``lines`` into the marked block of a file of another owner, or remove it; owner and mode stay."""
        found, shown = self.state.file(path), self.state.shown(path)
        try:
            before, content = blocks.edit(found.content, lines)
        except blocks.BlockError as error:
            remedy = "repair the marker lines by hand; nothing was changed"
            raise ParseError(str(error), host=self.host, thing=shown, raw=error.raw, remedy=remedy) from error
        if before == lines:
            return
        if content is None:
            self.add("unlink", path, before, None)
            return
        note = " (the marked block; every other byte stays)"
        owner = {"uid": found.uid, "gid": found.gid} if found.exists else {}
        mode = found.mode & 0o777 if found.exists else PRIVATE_MODE
        self.add("write", path, before, lines, note=note, content=content, mode=mode, **owner)

    # -- taking it back

    def remove_key(self, path: str) -> None:
        public = self.state.public.get(path)
        for each in (path, path + ".pub"):
            if public and public.generated_here and self.state.file(each).exists:
                self.add("unlink", each, "key generated by this module", None)

    def remove_directory(self, path: str) -> None:
        """If it holds nothing any more."""
        gone = [each.payload["path"] for each in self.operations if each.payload["action"] in ("unlink", "rmdir")]
        names = self.state.entries.get(path)
        if names is not None and not {f"{path}/{name}" for name in names} - set(gone):
            self.add("rmdir", path, "directory", None)

    # -- the three states

    def check_own_entry(self) -> None:
        """The keys must exist, and the peers must have been given the keys that this node really has."""
        for path, field in self.wanted.pairs.items():
            here, given = self.state.key(path), getattr(self.wanted.own, field, ())
            if here is None and not self.wanted.planning:
                remedy = "run this module with state=identity first; it generates the keys"
                raise self.refuse(path, "does not exist", remedy)
            if here and given and here.text not in given:
                what = f"is not the key that peers has for this node ({self.wanted.name})"
                raise self.refuse(path, what, "collect state=identity from every node again, then repeat")

    def files(self) -> None:
        """What is wanted is written, the rest of what is ours goes. Access is granted last and taken away first."""
        wanted, layout, absent = self.wanted, self.wanted.layout, self.wanted.state == "absent"
        texts, lines = ({}, {}) if absent else render.files(wanted, self.state, self.host)
        for path in layout.blocks:
            if path not in lines:
                self.block(path, None)
        for path in layout.owned:
            self.file(path, texts.get(path))
        for path in lines:
            self.block(path, lines[path])
        others = (layout.server_key,) if wanted.guide else (layout.host_key, layout.host_key + NEXT_SUFFIX)
        for path in wanted.keys if absent else others:
            self.remove_key(path)


def plan(state: MeshState, wanted: Wanted, host: str) -> list[Operation]:
    """Operations in a safe order.

    Raises `RefusedError` (symbolic link, foreign file, missing keys, wrong address) and `ParseError` (broken markers).
    """
    planner = _Planner(state, wanted, host)
    if wanted.introduces:
        mesh_addresses(state, wanted, host=host)
    planner.check_places()
    if wanted.state != "absent":
        planner.directories()
        planner.key_pairs() if wanted.introduces else planner.check_own_entry()
    if state.outside:
        planner.add("usermod", "/", "not in the group docker", "in the group docker", name=state.account.name)
    if wanted.state != "identity":
        planner.files()
    for action, path, arguments in state.earlier:
        planner.add(action, path, _EARLIER, None, note=_EARLIER, **arguments)
    for path in wanted.layout.places[:0:-1] if wanted.state == "absent" else ():
        planner.remove_directory(path)
    return planner.operations


def warnings(state: MeshState, wanted: Wanted, host: str) -> Iterator[str]:
    if state.busy:
        yield (
            f"{host}: a launch of an earlier release holds the account {state.busy}, which stays. "
            "Run this again when the job is over."
        )
    holders: dict[str, list[str]] = {}
    for peer in wanted.peers:
        for key in (*peer.host_public_keys, *peer.container_public_keys):
            holders.setdefault(key, []).append(peer.name)
    for names in {tuple(names) for names in holders.values() if len(names) > 1}:
        yield (
            f"{host}: {', '.join(names)} share one private key: the holder of one of them has all of them. "
            "Delete the copied keys and collect state=identity again."
        )
    if wanted.state == "absent":
        made = {path for path in wanted.layout.owned if _is_ours(state.file(path).content)}
        made |= {path for path, public in state.public.items() if public.generated_here}
        for path in (*wanted.layout.owned, *wanted.keys):
            if state.file(path).exists and path not in made:
                yield f"{host}: {state.shown(path)} was not made by this module and stays."
