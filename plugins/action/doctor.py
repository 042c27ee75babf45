"""Action of rocemesh.multinode.doctor: name the root cause in logs and outputs.

An action, because the rule packs are YAML files of the controller, which Ansible sends to no node. How it judges is in
module_utils/_doctor.
"""

from __future__ import annotations

import json
import pathlib
from typing import Any

from ..module_utils._doctor import catalogue, doctor
from ..modules.doctor import DOCUMENTATION
from ..plugin_utils.decision import Decision


class ActionModule(Decision):
    documentation = DOCUMENTATION

    def decide(self, options: dict[str, Any], variables: dict[str, Any]) -> dict[str, Any]:
        if options["bundle"] is None and options["evidence"] is None:
            raise ValueError("doctor: one of the following is required: bundle, evidence")
        catalogue.use(options["packs"])
        try:
            found = doctor.diagnose(
                options["bundle"], doctor.evidence_texts(options["evidence"] or {}), options["looked"]
            )
            if options["dest"] and not self._task.check_mode:
                text = json.dumps(found, indent=2) + "\n"
                pathlib.Path(options["dest"]).write_text(text, encoding="utf-8")
        except OSError as error:
            raise ValueError(doctor.unusable("doctor", error, options)) from error
        return {**found, "text": doctor.table(found), "exit_status": doctor.STATUS[found["verdict"]]}
