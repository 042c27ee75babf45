"""The four verbs that every layer answers: observe, plan, apply, verify.

Imports on Python 3.8: modules that run on nodes use it.
"""

from __future__ import annotations

import contextlib
import dataclasses
import enum
import os
import tempfile
from typing import Any, Generic, Iterator, Mapping, Sequence, TypeVar


class Reboot(str, enum.Enum):
    """What has to restart before a change is in force; ordered by how much it stops."""

    NONE = "none"
    VM_POWER_CYCLE = "vm_power_cycle"
    ESXI_HOST = "esxi_host"


_REBOOT_RANK = {Reboot.NONE: 0, Reboot.VM_POWER_CYCLE: 1, Reboot.ESXI_HOST: 2}


@dataclasses.dataclass(frozen=True)
class Operation:
    """One change, as data: what `plan` returns and `apply` carries out.

    ``description``: one line for a person; ``changes``: key -> (before, after), the exact content of ``--diff``;
    ``command``: what the layer's transport sends (CLI line, argument vector as text, API call), never a secret;
    ``inverse``: how to take it back, in the same language as ``command`` (empty: nothing to take back);
    ``disrupts``: whose traffic or power it disturbs, in words (empty: none);
    ``reboot``: the restart that this change waits for; ``payload``: whatever the transport needs besides the text.
    """

    description: str
    command: str
    changes: Mapping[str, tuple[Any, Any]]
    inverse: str = ""
    disrupts: str = ""
    reboot: Reboot = Reboot.NONE
    payload: Mapping[str, Any] = dataclasses.field(default_factory=dict)

    def as_result(self) -> dict[str, Any]:
        return {
            "description": self.description,
            "command": self.command,
            "disrupts": self.disrupts,
            "reboot": self.reboot.value,
        }


def place_of(host: str, port: int) -> str:
    """For a message; an IPv6 address in brackets, as in a URL."""
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


class LayerError(Exception):
    """A failure that a person can act on: it names the host, the thing, the value and what to do next."""

    code = "layer_error"

    def __init__(
        self, what: str, *, host: str, thing: str = "", value: Any = None, remedy: str = "", **details: Any
    ) -> None:
        subject = " ".join(part for part in (thing, "" if value is None else repr(value)) if part)
        text = ": ".join(part for part in (host, subject, what.rstrip(".")) if part) + "."
        if remedy:
            text += " What to do: " + remedy.rstrip(".") + "."
        super().__init__(text)
        self.host = host
        self.thing = thing
        self.value = value
        self.remedy = remedy
        self.details = details

    def as_result(self) -> dict[str, Any]:
        """Arguments for ``fail_json``."""
        return {"msg": str(self), "error_code": self.code, **self.details}


class UnreachableError(LayerError):
    """The device did not answer, or the session broke."""

    code = "unreachable"


class CredentialError(LayerError):
    """The device answered and refused the login or the privilege."""

    code = "credentials"


class ParseError(LayerError):
    """The device printed something that this code does not know; the raw text is part of the message."""

    code = "unknown_format"

    def __init__(self, what: str, *, host: str, raw: str, **rest: Any) -> None:
        excerpt = raw if len(raw) <= 2000 else raw[:2000] + " [cut]"
        rest.setdefault("remedy", "report this text; nothing was changed on the strength of a guess")
        super().__init__(f"{what}; the raw text was: {excerpt!r}", host=host, **rest)
        self.details["raw"] = excerpt


class RefusedError(LayerError):
    """The request is wrong or would do harm; nothing was changed."""

    code = "refused"


class ApplyError(LayerError):
    """The device refused or broke in the middle; ``applied`` and ``undo`` say how far it got."""

    code = "apply_failed"


class VerifyError(LayerError):
    """Everything was sent and accepted, and the wanted state is still not there."""

    code = "not_in_force"


@dataclasses.dataclass(frozen=True)
class Pending:
    """What is configured but not in force: the restart it waits for, and one reason for each pending change."""

    scope: Reboot = Reboot.NONE
    reasons: tuple[str, ...] = ()


State = TypeVar("State")
Wanted = TypeVar("Wanted")


class Layer(Generic[State, Wanted]):
    """One device or node. Subclasses inject their transport; `plan` must stay pure."""

    host: str = ""

    def observe(self) -> State:
        """Read the real state. The only code that parses what a device prints."""
        raise NotImplementedError

    def plan(self, state: State, wanted: Wanted) -> list[Operation]:
        """What has to change, in order; no I/O. Empty means that the wanted state is there."""
        raise NotImplementedError

    def apply(self, operation: Operation) -> None:
        """Carry out one operation; raise a `LayerError` if the device does not take it."""
        raise NotImplementedError

    def apply_all(self, operations: Sequence[Operation], applied: list[Operation]) -> None:
        """Carry out all, in order; each is in ``applied`` as soon as it is done. Raises what `apply` raises.

        A layer whose operations do not wait for each other may carry them out side by side.
        """
        for operation in operations:
            try:
                self.apply(operation)
            except LayerError as error:
                error.details.setdefault("failed_operation", operation.command)
                raise
            except OSError as error:  # of a file: a full disk, or one that is read-only
                what, remedy = operation.command, "put that right there, then run this again"
                raise ApplyError(
                    str(error), host=self.host, thing=what, remedy=remedy, failed_operation=what
                ) from error
            applied.append(operation)

    def commit(self, operations: Sequence[Operation]) -> None:
        """Called once after all operations were verified (save a running configuration). Default: nothing."""

    def failed(self, error: LayerError) -> None:
        """Called once when `converge` fails; the error is raised again afterwards. Default: nothing."""

    def pending(self, state: State) -> Pending:
        """What this state waits for; computed from the state alone, so that it is still true on the next run."""
        return Pending()

    def pending_after(self, state: State, operations: Sequence[Operation]) -> Pending:
        """What would wait once ``operations`` were carried out on ``state``: what check mode predicts.

        Default: what waits already, and every operation that needs a restart. A layer whose operations can also end a
        wait (a value set back to the one in force) overrides this with what it knows of them.
        """
        now = self.pending(state)
        adding = [operation for operation in operations if operation.reboot is not Reboot.NONE]
        return Pending(
            scope=strictest([now.scope, *(operation.reboot for operation in adding)]),
            reasons=(*now.reasons, *(operation.description for operation in adding)),
        )

    def warnings(self, state: State, wanted: Wanted) -> list[str]:
        return []

    def facts(self, state: State) -> dict[str, Any]:
        """The observed state, for the module's result."""
        return {}


def strictest(scopes: Sequence[Reboot]) -> Reboot:
    return max(scopes, key=lambda scope: _REBOOT_RANK[scope], default=Reboot.NONE)


def _diff(operations: Sequence[Operation]) -> dict[str, Any]:
    before: dict[str, Any] = {}
    after: dict[str, Any] = {}
    for operation in operations:
        for key, (old, new) in operation.changes.items():
            before.setdefault(key, old)
            after[key] = new
    return {"before": before, "after": after}


def inverses(operations: Sequence[Operation]) -> list[str]:
    """What takes them back, in the order in which it has to be sent."""
    return [operation.inverse for operation in reversed(operations) if operation.inverse]


def converge(layer: Layer[State, Wanted], wanted: Wanted, check_mode: bool = False) -> dict[str, Any]:
    """Run the four verbs once and return the module result.

    Keys, with the same meaning in every module: ``changed``, ``diff``, ``operations``, ``undo``,
    ``reboot_required``, ``reboot_scope``, ``reboot_reasons``, ``warnings``, plus the layer's own facts.
    Raises `VerifyError` if the second observation still needs a plan.
    """
    try:
        return _converge(layer, wanted, check_mode)
    except LayerError as error:
        layer.failed(error)
        raise


def _converge(layer: Layer[State, Wanted], wanted: Wanted, check_mode: bool) -> dict[str, Any]:
    state = layer.observe()
    operations = layer.plan(state, wanted)
    warnings = layer.warnings(state, wanted)
    if operations and not check_mode:
        applied: list[Operation] = []
        try:
            layer.apply_all(operations, applied)
            state = layer.observe()
            left = _left(layer, state, wanted)
            if left:
                raise VerifyError(
                    "accepted by the device, but not in force afterwards: " + "; ".join(op.description for op in left),
                    host=layer.host,
                    remedy="read the device's own log; nothing was saved or claimed",
                )
            layer.commit(operations)
        except LayerError as error:
            # What has been carried out, and how to take it back, unless the layer reports it already.
            error.details.setdefault("applied", [operation.command for operation in applied])
            error.details.setdefault("undo", inverses(applied))
            raise
        warnings = layer.warnings(state, wanted)
    elif not operations and not check_mode:
        layer.commit(())
    pending = layer.pending_after(state, operations) if check_mode else layer.pending(state)
    return {
        "changed": bool(operations),
        "diff": _diff(operations),
        "operations": [operation.as_result() for operation in operations],
        "undo": inverses(operations),
        "reboot_required": pending.scope is not Reboot.NONE,
        "reboot_scope": pending.scope.value,
        "reboot_reasons": list(pending.reasons),
        "warnings": warnings,
        **layer.facts(state),
    }


def _left(layer: Layer[State, Wanted], state: State, wanted: Wanted) -> list[Operation]:
    """A refusal means that nothing was changed, and after the operations that is no longer true."""
    try:
        return layer.plan(state, wanted)
    except RefusedError as error:
        raise VerifyError(
            f"it is no longer what it was when this run began: {error}",
            host=layer.host,
            remedy="look at who else is changing it, then run this again",
        ) from None


def exit_with(module: Any, layer: Layer[State, Wanted], wanted: Wanted, **facts: Any) -> None:
    """Converge and leave the module, with these facts beside those of the layer.

    ``module`` is an AnsibleModule (not imported here, so that the verbs stay free of Ansible).
    """
    with failing(module):
        result = converge(layer, wanted, check_mode=module.check_mode)
        for warning in result.pop("warnings"):
            module.warn(warning)  # AnsibleModule puts them back into the result under "warnings"
        module.exit_json(**result, **facts)


@contextlib.contextmanager
def failing(module: Any) -> Iterator[None]:
    """The one place where typed errors become ``fail_json``."""
    try:
        yield
    except LayerError as error:
        module.fail_json(**error.as_result())


def write_whole(path: str, text: str, mode: int = 0o644) -> None:
    """A reader never sees half of it, and it has this mode whatever the umask. Raises OSError; then nothing is left."""
    handle, new = tempfile.mkstemp(dir=os.path.dirname(path) or ".", prefix=f".{os.path.basename(path)}.")
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as stream:
            stream.write(text)
        os.chmod(new, mode)
        os.replace(new, path)
    except BaseException:
        os.unlink(new)
        raise
