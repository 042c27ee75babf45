"""The four verbs for the cards of one GPU VM: wiring between the tools (transport) and the rules (plan).

Imports on Python 3.8: runs on the nodes.
"""

from __future__ import annotations

import dataclasses
from typing import Any, Sequence

from .._layer import Layer, LayerError, Operation, Pending
from . import plan as planning
from .plan import AtsWanted
from .state import PARAMETER, Failure, NicState, parse_flag
from .transport import NicTools


class AtsLayer(Layer[NicState, AtsWanted]):
    """ATS in the cards of one GPU VM."""

    def __init__(self, tools: NicTools, devices: Sequence[str], verify_pci: bool = True) -> None:
        self.host = tools.host
        self.tools = tools
        self.wanted_devices = devices
        self.verify_pci = verify_pci
        self.reboot_kind = ""
        self._seen: NicState | None = None
        # What `pending` said last; in check mode that is a prediction, and `facts` agrees with it.
        self._waiting = False
        self._wanted = AtsWanted(enabled=None)

    def observe(self) -> NicState:
        self.tools.open()
        devices = tuple(
            self.tools.device(function, self.verify_pci) for function in self.tools.choose(self.wanted_devices)
        )
        waiting = next((device.pci for device in devices if planning.needs_host_reboot(device)), "")
        self._seen = NicState(
            tool=self.tools.tool,
            tool_version=self.tools.version,
            devices=devices,
            environment=self.tools.environment(),
            reboot_kind=self.tools.reboot_kind(waiting) if waiting else "",
            notes=tuple(self.tools.notes),
        )
        return self._seen

    def plan(self, state: NicState, wanted: AtsWanted) -> list[Operation]:
        # What this run has just stored, no boot has followed.
        self._wanted = dataclasses.replace(wanted, settled_since=None) if self.reboot_kind else wanted
        return planning.plan(state, self._wanted, self.host)

    def apply(self, operation: Operation) -> None:
        """One `set` on the first function; the card's other functions are asked, and set only if they still differ."""
        first, *others = operation.payload["functions"]
        enabled = operation.payload["enabled"]
        kinds = [self.tools.set(first, enabled)]
        try:
            for device in others:
                answer = self.tools.query(device, PARAMETER)
                printed = None if isinstance(answer, Failure) else answer.values[PARAMETER].get("next")
                if parse_flag(printed, self.host, device) != enabled:
                    kinds.append(self.tools.set(device, enabled))
        except LayerError as error:
            error.args = (f"{error} {first} of the same card has stored it already (back: {operation.inverse}).",)
            raise
        self.reboot_kind = "power_cycle" if "power_cycle" in kinds else "reboot" if "reboot" in kinds else "unknown"

    def commit(self, operations: Sequence[Operation]) -> None:
        # The card stores by itself. This is the place after the last observation, never reached in check mode.
        if self._wanted.require_active and self._seen is not None:
            planning.refuse_inactive(self._seen, self._wanted, self.host)

    def pending(self, state: NicState) -> Pending:
        result = planning.pending(state)
        self._waiting = bool(result.reasons)
        return result

    def pending_after(self, state: NicState, operations: Sequence[Operation]) -> Pending:
        # a value that is set back to the loaded one ends the wait for a reboot
        return self.pending(planning.with_stored(state, operations))

    def warnings(self, state: NicState, wanted: AtsWanted) -> list[str]:
        texts = planning.warnings(state, wanted)
        if self.reboot_kind == "power_cycle":
            texts.append("The card could not prepare a warm reboot: the server has to be powered off and on.")
        return texts

    def facts(self, state: NicState) -> dict[str, Any]:
        return {
            "active": bool(state.devices) and all(planning.is_active(device) for device in state.devices),
            "devices": [planning.as_result(device, self._wanted) for device in state.devices],
            "environment": state.environment,
            "reboot_kind": (self.reboot_kind or state.reboot_kind or "reboot") if self._waiting else "none",
            "tool": state.tool,
            "tool_version": state.tool_version,
        }
