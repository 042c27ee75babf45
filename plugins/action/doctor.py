"""Action of rocemesh.multinode.doctor: name the root cause in logs and outputs.

An action, because the rule packs are YAML files of the controller, which Ansible sends to no node, and because only the
controller has the person's terminal. How it judges, what it asks and when it ends is in module_utils/_doctor.
"""

from __future__ import annotations

import json
import pathlib
from typing import Any

from ansible.errors import AnsibleError, AnsiblePromptInterrupt
from ansible.utils.display import Display

from ..module_utils._doctor import catalogue, dialogue, doctor
from ..modules.doctor import DOCUMENTATION
from ..plugin_utils.decision import Decision

_END_OF_TEXT = {b"\x04"}


class ActionModule(Decision):
    documentation = DOCUMENTATION

    def decide(self, options: dict[str, Any], variables: dict[str, Any]) -> dict[str, Any]:
        bundle, asked = options["bundle"], {}
        if bundle is None and options["evidence"] is None:
            raise ValueError("doctor: one of the following is required: bundle, evidence")
        texts = doctor.evidence_texts(options["evidence"] or {})
        catalogue.use(options["packs"])
        try:
            if options["interactive"]:
                talk = dialogue.talk(bundle, texts, _prompt)
                found, asked = talk.answer, {"asked_for": talk.asked, "ended": talk.ended}
            else:
                found = doctor.diagnose(bundle, texts, options["looked"])
            if options["dest"] and not self._task.check_mode:
                pathlib.Path(options["dest"]).write_text(json.dumps(found, indent=2) + "\n", encoding="utf-8")
        except OSError as error:
            raise ValueError(doctor.unusable("doctor", error, options)) from error
        text = doctor.table(found)
        if options["interactive"]:
            Display().display("\n" + text)
        return {**found, **asked, "text": text, "exit_status": doctor.STATUS[found["verdict"]]}


def _prompt(text: str) -> str | None:
    """What the person typed up to Ctrl-D, q for Ctrl-C; None without a terminal of our own."""
    try:
        typed = Display().prompt_until(text, complete_input=_END_OF_TEXT)
    except AnsiblePromptInterrupt:
        return "q"
    except (AnsibleError, OSError):
        return None
    return typed.decode("utf-8", "replace") if isinstance(typed, bytes) else str(typed)
