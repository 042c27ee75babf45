"""What Slurm says of a job that did not end well (``_judge/packs/slurm.yml``), in words that say what to do. Pure."""

from __future__ import annotations

import re

from .._judge.packs import loader

_END = re.compile(r"\*\*\* (?:JOB|STEP) ")


def explain(text: str) -> dict[str, str] | None:
    """The first rule that a line of ``text`` meets, as code and message; None if Slurm says nothing of an end."""
    packs, end = loader.load(), _END.search(text)
    early = text[: end.start()] if end else text
    for name, rule in packs.lists["slurm"].items():
        match = re.search(packs.pattern(rule["match"]), early if rule.get("early") else text, re.IGNORECASE)
        if match:
            found = {key: value or "" for key, value in match.groupdict().items()}
            found["by"] = f" by user {found['user']}" if found.get("user") else ""
            found["id"] = found.get("id", "").split(".", maxsplit=1)[0]
            return {"code": rule.get("code", name), "message": rule["message"].format(**found)}
    return None
