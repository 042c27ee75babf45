"""Action of rocemesh.multinode.doctor_ask: the person at the terminal runs the next command and gives what it printed.

An action, because only the controller has the person's terminal. What is asked and when it ends is in
module_utils/_doctor/dialogue.py.
"""

from __future__ import annotations

import json
import pathlib
from typing import Any

from ansible.errors import AnsibleError, AnsiblePromptInterrupt
from ansible.utils.display import Display

from ..module_utils._doctor import catalogue, dialogue, doctor
from ..modules.doctor_ask import DOCUMENTATION
from ..plugin_utils.decision import Decision

_END_OF_TEXT = {b"\x04"}


class ActionModule(Decision):
    documentation = DOCUMENTATION

    def decide(self, options: dict[str, Any], variables: dict[str, Any]) -> dict[str, Any]:
        texts = doctor.evidence_texts(options["evidence"])
        catalogue.use(options["packs"])
        try:
            talk = dialogue.talk(options["bundle"], texts, _prompt)
            if options["dest"] and not self._task.check_mode:
                text = json.dumps(talk.answer, indent=2) + "\n"
                pathlib.Path(options["dest"]).write_text(text, encoding="utf-8")
        except OSError as error:
            raise ValueError(doctor.unusable("doctor_ask", error, options)) from error
        text = doctor.table(talk.answer)
        Display().display("\n" + text)
        return {
            **talk.answer,
            "asked_for": talk.asked,
            "ended": talk.ended,
            "text": text,
            "exit_status": doctor.STATUS[talk.answer["verdict"]],
        }


def _prompt(text: str) -> str | None:
    """What the person typed up to Ctrl-D, q for Ctrl-C; None without a terminal of our own."""
    try:
        typed = Display().prompt_until(text, complete_input=_END_OF_TEXT)
    except AnsiblePromptInterrupt:
        return "q"
    except (AnsibleError, OSError):
        return None
    return typed.decode("utf-8", "replace") if isinstance(typed, bytes) else str(typed)
