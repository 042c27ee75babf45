# Copyright: (c) 2026, rocemesh.multinode contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""From what a node has to what its mesh needs, as operations. Pure: no I/O, no Ansible import."""

from __future__ import annotations

from typing import Any, Sequence

from .._layer import Operation, ParseError, RefusedError
from . import blocks, earlier, render
from .state import (
    ADOPTED_SUFFIX,
    FILE_HEADER,
    KEY_COMMENT_PREFIX,
    NEXT_SUFFIX,
    Account,
    FileState,
    KeyState,
    Layout,
    MeshState,
    Wanted,
    mesh_addresses,
)

PRIVATE_MODE = 0o600
PUBLIC_MODE = 0o644


def _text(mode: int, uid: int) -> str:
    return f"mode {mode:04o}, uid {uid}"


def _lines(content: bytes | None) -> list[str] | None:
    return None if content is None else content.decode("utf-8", "replace").splitlines()


def _is_ours(content: bytes | None) -> bool:
    """Whole files carry the header in their first two lines (a script begins with its interpreter)."""
    return content is not None and FILE_HEADER.encode() in content.split(b"\n")[:2]


def _name_in(directory: str, relative: str) -> str:
    """The last part of ``relative`` if it lies directly in ``directory``, else an empty string."""
    parent, _slash, name = relative.rpartition("/")
    return name if parent == directory else ""


class _Planner:
    """Collects the operations of one node; every method adds what is missing and nothing else."""

    def __init__(self, state: MeshState, wanted: Wanted, host: str) -> None:
        self.state = state
        self.wanted = wanted
        self.host = host
        self.operations: list[Operation] = []

    # -- small helpers

    def path(self, relative: str) -> str:
        return _shown(self.state, relative)

    def file(self, relative: str) -> FileState:
        return self.state.files.get(relative, FileState(relative))

    def refuse(self, relative: str, what: str, remedy: str) -> RefusedError:
        return RefusedError(what, host=self.host, thing=self.path(relative), remedy=remedy)

    def add(
        self,
        description: str,
        action: str,
        relative: str,
        changes: dict[str, tuple[Any, Any]],
        inverse: str,
        **payload: Any,
    ) -> None:
        uid = payload.get("uid")
        if self.state.effective_uid != 0 and uid is not None and uid != self.state.effective_uid:
            raise self.refuse(
                relative,
                f"has to belong to uid {uid}, and only root can arrange that",
                "run the task as root (become: true), or with rootless Docker set container_owner to the mesh user",
            )
        self.operations.append(
            Operation(
                description=description,
                command=f"{action} {self.path(relative)}",
                changes=changes,
                inverse=inverse,
                payload={"action": action, "path": relative, **payload},
            )
        )

    # -- what must not be touched

    def check_places(self, layouts: Sequence[Layout]) -> None:
        """Refuse symbolic links, devices and other people's files before anything is planned on them. Without the
        guide's way, the user's side only loses what is known to be ours."""
        account, container = self.state.account, self.state.container_account
        users = self.wanted.guide or self.wanted.state == "absent"
        for layout in layouts:
            for relative in (*layout.above, layout.container):
                self._check(relative, "directory", (container,))
                self._check_unshared(relative)
            for relative in (layout.ssh, *layout.blocks) if users else ():
                self._check(relative, "directory" if relative == layout.ssh else "file", (account,))
            for relative in (*layout.owned, *layout.keys, *(key + ".pub" for key in layout.keys)):
                if relative.startswith("/"):
                    self._check(relative, "file", (container,))
                elif users:
                    self._check(relative, "file", (account,))

    def _check_unshared(self, path: str) -> None:
        """A directory that somebody else may write is one in which names can be exchanged."""
        found = self.file(path)
        if found.exists and found.mode & 0o022:
            raise self.refuse(
                path,
                f"can be written by others than its owner (mode {found.mode:04o}), who could lead the engine "
                "elsewhere; nothing was changed",
                f"chmod go-w {path}, or name another directory",
            )

    def _check(self, relative: str, kind: str, owners: Sequence[Account]) -> None:
        found = self.file(relative)
        if not found.exists:
            return
        if found.kind != kind:
            raise self.refuse(
                relative,
                "is a {}, not a {}; it is not followed".format(
                    "symbolic link" if found.kind == "symlink" else found.kind, kind
                ),
                f"replace it by a real {kind} of user {self.state.account.name}",
            )
        if found.uid not in (0, *(owner.uid for owner in owners)):
            raise self.refuse(
                relative,
                f"belongs to uid {found.uid}, not to user {self.state.account.name}",
                "find out who put it there, then correct the owner",
            )

    # -- directories and keys

    def directories(self) -> None:
        layout = self.wanted.layout
        account, container = self.state.account, self.state.container_account
        places = [(layout.ssh, 0o700, account)] if self.wanted.guide else []
        places += [(path, 0o755, self.root()) for path in layout.above]
        # root owns the mounted directory: the ssh client of the container trusts only files of its own root.
        places.append((layout.container, 0o755, container))
        for relative, mode, owner in places:
            if not self.file(relative).exists:
                self.add(
                    f"create the directory {self.path(relative)}",
                    "mkdir",
                    relative,
                    {self.path(relative): (None, "directory, " + _text(mode, owner.uid))},
                    f"rmdir {self.path(relative)}",
                    mode=mode,
                    uid=owner.uid,
                    gid=owner.gid,
                )

    def root(self) -> Account:
        """Who owns what belongs to no user: root. Without root's rights only a directory of one's own can be used."""
        uid = self.state.effective_uid
        return Account("root" if uid == 0 else self.state.container_account.name, uid, 0 if uid == 0 else -1, "/")

    def _pairs(self, layout: Layout) -> list[tuple[str, str, Account]]:
        """Those that a rotation renews."""
        users = [(layout.host_key, "host", self.state.account)] if self.wanted.guide else []
        return [*users, (layout.container_key, "container", self.state.container_account)]

    def _pair(self, relative: str) -> KeyState:
        return self.state.keys.get(relative, KeyState(FileState(relative), FileState(relative + ".pub")))

    def server_pair(self) -> None:
        relative, owner = self.wanted.layout.server_key, self.state.container_account
        pair = self._pair(relative)
        if pair.private.exists:
            self._repair(relative, owner, pair)
        else:
            self._generate(relative, "server", owner, pair)

    def key_pairs(self) -> None:
        rotation = self.wanted.rotation
        if not self.wanted.guide:
            self.server_pair()
        for relative, role, owner in self._pairs(self.wanted.layout):
            pair, following = self._pair(relative), self._pair(relative + NEXT_SUFFIX)
            if following.public_file.exists and not following.private.exists:
                # A rotation was interrupted after its private key had taken its place.
                path = following.public_file.path
                self.add(
                    f"delete {self.path(path)}, left by a rotation", "unlink", path, {self.path(path): ("", None)}, ""
                )
                following = KeyState(FileState(relative + NEXT_SUFFIX), FileState(path))
            if not pair.private.exists:
                self._generate(relative, role, owner, pair)
            elif rotation == "commit" and following.usable is not None:
                self._commit(relative, role, pair)
                continue
            else:
                self._repair(relative, owner, pair)
            if following.private.exists:
                self._repair(relative + NEXT_SUFFIX, owner, following)
            elif rotation == "prepare" and pair.private.exists:
                self._generate(relative + NEXT_SUFFIX, "next " + role, owner, following)

    def _commit(self, relative: str, role: str, pair: KeyState) -> None:
        """The next pair takes the place of the present one. Interrupted anywhere, each half can be computed again."""
        steps = [("unlink", relative + ".pub")] if pair.public_file.exists else []
        steps += [("replace", relative + NEXT_SUFFIX), ("replace", relative + NEXT_SUFFIX + ".pub")]
        for action, source in steps:
            target = relative + (".pub" if source.endswith(".pub") else "")
            self.add(
                f"put the next {role} key in the place of {self.path(target)}"
                if action == "replace"
                else f"delete {self.path(source)}, the public half of the old {role} key",
                action,
                source,
                {self.path(target): ("old key", "next key" if action == "replace" else None)},
                "",
                **({"to": target} if action == "replace" else {}),
            )

    def _generate(self, relative: str, role: str, owner: Account, pair: KeyState) -> None:
        if pair.public_file.exists:
            raise self.refuse(
                relative + ".pub",
                "is there without its private key",
                "restore the private key or delete this file; a new pair is then generated",
            )
        layout = self.wanted.layout
        kind, bits = ("ed25519", 0) if role == "server" else (layout.key_type, layout.key_bits)
        self.add(
            f"generate the {role} key pair ({kind}) on this node; the private key stays here",
            "ssh-keygen",
            relative,
            {self.path(relative): (None, f"{kind} private key, " + _text(PRIVATE_MODE, owner.uid))},
            "delete {0} and {0}.pub".format(self.path(relative)),
            key_type=kind,
            bits=bits,
            comment=f"{KEY_COMMENT_PREFIX}:{self.state.account.name}@{self.wanted.name}:{role}",
            uid=owner.uid,
            gid=owner.gid,
        )

    def _repair(self, relative: str, owner: Account, pair: KeyState) -> None:
        if pair.public is not None and pair.derived is not None and pair.public.text != pair.derived.text:
            raise self.refuse(
                relative + ".pub",
                "is not the public half of the private key beside it",
                "delete the .pub file; it is then computed again from the private key",
            )
        self.permissions(relative, pair.private, PRIVATE_MODE, owner)
        if not pair.public_file.exists and pair.derived is not None:
            content = (pair.derived.text + "\n").encode()
            self.add(
                f"write the missing public half of {self.path(relative)}",
                "write",
                relative + ".pub",
                {self.path(relative + ".pub"): (None, _lines(content))},
                f"delete {self.path(relative)}.pub",
                content=content,
                mode=PUBLIC_MODE,
                uid=owner.uid,
                gid=owner.gid,
            )

    def permissions(self, relative: str, found: FileState, mode: int, owner: Account) -> None:
        if found.mode == mode and found.uid == owner.uid:
            return
        before, after = _text(found.mode, found.uid), _text(mode, owner.uid)
        self.add(
            f"give {self.path(relative)} to {owner.name} with mode {mode:04o} (was {before})",
            "chmod",
            relative,
            {self.path(relative) + " (permissions)": (before, after)},
            f"set {self.path(relative)} back to {before}",
            mode=mode,
            uid=owner.uid,
            gid=owner.gid,
        )

    # -- files

    def owned_file(self, relative: str, text: str, mode: int, owner: Account) -> None:
        found = self.file(relative)
        content = text.encode("utf-8")
        path = self.path(relative)
        before = found.content
        kept = path + ADOPTED_SUFFIX
        if found.exists and not _is_ours(before):
            if not self.wanted.adopt:
                raise self.refuse(
                    relative,
                    "exists and was not written by this module",
                    f"move it away, or set adopt: true; it is then kept as {kept} and state=absent puts it back",
                )
            if self.file(relative + ADOPTED_SUFFIX).exists:
                raise self.refuse(
                    relative + ADOPTED_SUFFIX,
                    f"exists already, so {path} cannot be kept under that name",
                    "move one of the two away",
                )
            self.add(
                f"keep the file that was there as {kept}",
                "rename",
                relative,
                {kept: (None, "the former " + path)},
                f"rename {kept} to {path}",
                to=relative + ADOPTED_SUFFIX,
            )
            before = None
        if before != content:
            self.add(
                f"write {path}",
                "write",
                relative,
                {path: (_lines(before), _lines(content))},
                f"delete {path}" if before is None else f"write the former lines of {path} back",
                content=content,
                mode=mode,
                uid=owner.uid,
                gid=owner.gid,
            )
        else:
            self.permissions(relative, found, mode, owner)

    def _block_body(self, relative: str) -> list[str] | None:
        content = self.file(relative).content
        try:
            return blocks.body(content)
        except blocks.BlockError as error:
            raise ParseError(
                str(error),
                host=self.host,
                thing=self.path(relative),
                raw=error.raw,
                remedy="repair the marker lines by hand; nothing was changed",
            ) from error

    def block(self, relative: str, lines: list[str], why: str) -> None:
        """Put ``lines`` into the marked block of somebody else's file; owner and mode of that file stay."""
        found = self.file(relative)
        before = self._block_body(relative)
        if before == lines:
            return
        if not lines:
            self.remove_block(relative)
            return
        path = self.path(relative)
        new = not found.exists
        self.add(
            "{}: {} (only the marked block of {} changes)".format("create" if new else "edit", why, path),
            "write",
            relative,
            {path + " (marked block)": (before, lines)},
            f"remove the marked block from {path}" if before is None else "write the former block back",
            content=blocks.ensure(found.content if found.exists else None, lines),
            mode=PRIVATE_MODE if new else found.mode & 0o777,
            uid=self.state.account.uid if new else found.uid,
            gid=self.state.account.gid if new else found.gid,
        )

    # -- taking it back

    def remove_block(self, relative: str) -> None:
        found = self.file(relative)
        before = self._block_body(relative)
        if before is None:
            return
        rest = blocks.remove(found.content)
        path = self.path(relative)
        changes: dict[str, tuple[Any, Any]] = {path + " (marked block)": (before, None)}
        if rest is None:
            self.add(f"delete {path}, which held nothing else", "unlink", relative, changes, "present again")
            return
        self.add(
            f"remove the marked block from {path}; every other byte stays",
            "write",
            relative,
            changes,
            "state=present again",
            content=rest,
            mode=found.mode & 0o777,
            uid=found.uid,
            gid=found.gid,
        )

    def remove_owned(self, relative: str) -> None:
        found, kept = self.file(relative), self.file(relative + ADOPTED_SUFFIX)
        path = self.path(relative)
        if _is_ours(found.content):
            self.add(f"delete {path}", "unlink", relative, {path: (_lines(found.content), None)}, "present again")
        elif found.exists:
            return
        if kept.exists:
            self.add(
                f"put the former {path} back",
                "rename",
                relative + ADOPTED_SUFFIX,
                {path: (None, "the former file")},
                "",
                to=relative,
            )

    def remove_keys(self, paths: Sequence[str]) -> None:
        for relative in paths:
            pair = self.state.keys.get(relative)
            if pair is None or pair.public is None or not pair.public.generated_here:
                continue
            for path in (relative, relative + ".pub"):
                if self.file_or_key(pair, path).exists:
                    self.add(
                        f"delete the key {self.path(path)}; only a new one can replace it (state=identity)",
                        "unlink",
                        path,
                        {self.path(path): ("key generated by this module", None)},
                        "",
                    )

    @staticmethod
    def file_or_key(pair: KeyState, path: str) -> FileState:
        return pair.public_file if path.endswith(".pub") else pair.private

    def remove_directories(self) -> None:
        """Those of the mesh that hold nothing any more, the innermost first; what somebody else put there stays."""
        layout = self.wanted.layout
        for relative in (layout.container, *reversed(layout.above[1:])):
            if self.file(relative).kind != "directory":
                continue
            left = set(self.state.entries.get(relative, ()))
            for operation in self.operations:
                action = operation.payload["action"]
                if action in ("unlink", "rename", "rmdir"):
                    left.discard(_name_in(relative, operation.payload["path"]))
                if action == "rename":
                    left.add(_name_in(relative, operation.payload["to"]))
            left.discard("")
            if not left:
                path = self.path(relative)
                self.add(
                    f"remove the empty directory {path}",
                    "rmdir",
                    relative,
                    {path: ("directory", None)},
                    f"mkdir {path}",
                )


def _check_own_entry(planner: _Planner) -> None:
    """The keys must exist, and the peers must have been told the keys that this node really has."""
    state, wanted = planner.state, planner.wanted
    own = {peer.name: peer for peer in wanted.peers}.get(wanted.name)
    layout = wanted.layout
    keys = [(layout.container_key, "container_public_key")]
    keys.append((layout.host_key, "host_public_key") if wanted.guide else (layout.server_key, "ssh_host_keys"))
    for relative, attribute in keys:
        pair = state.keys.get(relative)
        here = pair.usable if pair else None
        if here is None:
            if not wanted.planning:
                raise planner.refuse(
                    relative, "does not exist", "run this module with state=identity first; it generates the keys"
                )
            continue
        given = getattr(own, attribute) if own else None
        texts = given if isinstance(given, tuple) else (given.text,) if given else ()
        if texts and here.text not in texts:
            raise planner.refuse(
                relative,
                f"is not the key that peers has for this node ({wanted.name})",
                "collect state=identity from every node again, then repeat",
            )


def plan(state: MeshState, wanted: Wanted, host: str) -> list[Operation]:
    """Operations in a safe order: access is granted last and taken away first.

    Raises `RefusedError` (symbolic link, foreign file, missing keys, wrong address) and `ParseError` (broken markers).
    """
    planner = _Planner(state, wanted, host)
    if wanted.state == "absent":
        _absent(planner)
        return planner.operations
    if wanted.introduces:
        mesh_addresses(state, wanted, host=host)
    planner.check_places(wanted.layouts)
    planner.directories()
    if wanted.introduces:
        planner.key_pairs()
    else:
        _check_own_entry(planner)
    if wanted.state == "present":
        _present_files(planner)
    return planner.operations


def _absent(planner: _Planner) -> None:
    layouts = planner.wanted.layouts
    planner.check_places(layouts)
    for relative in planner.wanted.layout.blocks:
        planner.remove_block(relative)
    for relative in planner.wanted.layout.owned:
        planner.remove_owned(relative)
    planner.remove_keys(list(dict.fromkeys(key for layout in layouts for key in layout.keys)))
    _earlier(planner)
    planner.remove_directories()


def _earlier(planner: _Planner) -> None:
    if planner.state.earlier is not None and planner.state.effective_uid == 0:
        planner.operations += earlier.plan(planner.state.earlier)


def _present_files(planner: _Planner) -> None:
    wanted, layout = planner.wanted, planner.wanted.layout
    container = planner.state.container_account
    for relative, text in (
        (layout.container_known_hosts, render.known_hosts(wanted)),
        (layout.container_config, render.container_config(wanted)),
    ):
        planner.owned_file(relative, text, PRIVATE_MODE, container)
    config, keys, start = layout.server_files
    if wanted.guide:
        _guide_files(planner)
        for relative in reversed(layout.server_files):
            planner.remove_owned(relative)
        planner.remove_keys((layout.server_key,))
    else:
        own = [peer.addresses for peer in wanted.peers if peer.name == wanted.name]
        addresses = own[0] if own else mesh_addresses(planner.state, wanted, host=planner.host)
        planner.owned_file(config, render.server_config(wanted, addresses), PRIVATE_MODE, container)
        planner.owned_file(start, render.start_script(), 0o755, container)
        # The user's side is the guide's way.
        for relative in layout.blocks:
            planner.remove_block(relative)
        for relative in layout.user_files:
            planner.remove_owned(relative)
        planner.remove_keys((layout.host_key, layout.host_key + NEXT_SUFFIX))
        planner.owned_file(keys, render.server_keys(wanted), PRIVATE_MODE, container)
    _earlier(planner)


def _guide_files(planner: _Planner) -> None:
    wanted, layout, account = planner.wanted, planner.wanted.layout, planner.state.account
    for relative, text, mode in (
        (layout.known_hosts, render.known_hosts(wanted), PUBLIC_MODE),
        (layout.config_mesh, render.host_config(wanted), PUBLIC_MODE),
        (layout.script, render.script(wanted), 0o755),
    ):
        planner.owned_file(relative, text, mode, account)
    planner.block(layout.config, render.host_config_block(layout), "include the mesh in the SSH configuration")
    planner.block(layout.authorized_keys, render.authorized_keys(wanted, account.home), _whose_keys(wanted))


def _whose_keys(wanted: Wanted) -> str:
    if wanted.topology == "head" and not wanted.host_login:
        return f"authorise the keys of {wanted.head}"
    return f"authorise the keys of {len(wanted.peers)} peers"


def _shown(state: MeshState, relative: str) -> str:
    return relative if relative.startswith("/") else f"{state.account.home}/{relative}"


def warnings(state: MeshState, wanted: Wanted, host: str) -> list[str]:
    """What a person should know although it does not stop the run."""
    found = earlier.warnings(state.earlier, host) if wanted.state != "identity" else []
    authorized = state.files.get(wanted.layout.authorized_keys)
    if wanted.guide and authorized and authorized.exists and authorized.mode & 0o022:
        found.append(
            f"{host}: {state.account.home}/{wanted.layout.authorized_keys} can be written by others than its owner "
            f"(mode {authorized.mode:04o}); sshd may refuse it."
        )
    if wanted.state == "present":
        for attribute in ("host_public_key", "container_public_key"):
            holders: dict[str, list[str]] = {}
            for peer in wanted.peers:
                key = getattr(peer, attribute)
                if key is not None:
                    holders.setdefault(key.text, []).append(peer.name)
            for names in holders.values():
                if len(names) > 1:
                    found.append(
                        "{}: {} share one private key ({}): whoever takes one of them has all of them. "
                        "Delete the copied keys and collect state=identity again.".format(
                            host, ", ".join(names), attribute
                        )
                    )
    if wanted.state == "absent":
        for relative in wanted.layout.owned:
            left = state.files.get(relative)
            if left and left.exists and not _is_ours(left.content):
                found.append(f"{host}: {_shown(state, relative)} was not written by this module and stays.")
        for path, pair in state.keys.items():
            if pair.private.exists and not (pair.public and pair.public.generated_here):
                found.append(f"{host}: the key {_shown(state, path)} was not generated by this module and stays.")
    return found
