"""The role's templates, rendered by Ansible's own templating with the role's own variables, without a playbook."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Mapping

import yaml
from ansible.parsing.dataloader import DataLoader
from ansible.template import Templar
from ansible_collections.rocemesh.multinode.plugins.module_utils._handoff.job import files_of, job_of

from tests.older_core import trust_as_template

ROLE = Path(__file__).parents[3] / "roles/run"
ROLE_VARS: dict[str, Any] = yaml.safe_load((ROLE / "vars/main.yml").read_text())


def render(name: str, asked: Mapping[str, Any], topologies: Mapping[str, str] | None = None) -> str:
    job = job_of(asked)
    own = {key: value for key, value in ROLE_VARS.items() if key.startswith("__run_handoff_s") or "subsystems" in key}
    variables = {
        "__run_handoff": {
            "job": job,
            "files": files_of(job, topologies or {}),
            "topologies": dict(topologies or {}),
        },
        "run_handoff_name": job["name"],
        **{key: _trusted(value) for key, value in own.items()},
    }
    templar = Templar(DataLoader(), variables)
    scope = templar.template(trust_as_template("{{ __run_handoff_scope }}"))
    found = Templar(DataLoader(), {**variables, **scope}).copy_with_new_env(searchpath=[str(ROLE / "templates")])
    text: str = found.template(trust_as_template((ROLE / "templates/handoff" / f"{name}.j2").read_text()))
    return text


def _trusted(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _trusted(one) for key, one in value.items()}
    return trust_as_template(value) if isinstance(value, str) else value
