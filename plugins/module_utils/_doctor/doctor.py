"""The doctor from outside: a bundle in, an answer out; the answer as text and as exit status."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Iterable, Mapping

from . import facts, host_output
from .boots import Boots
from .bundle import MANIFEST, Bundle, Piece, Selection
from .catalogue import catalogue
from .completeness import CANNOT_TELL, FAULTY, HEALTHY, NO_FAULT_SEEN
from .judge import NOT_MY_FIELD, answer
from .reading import Reading

# 4 and 5 are Ansible's own: a host was unreachable, an option is wrong.
STATUS = {HEALTHY: 0, FAULTY: 2, CANNOT_TELL: 3, NO_FAULT_SEEN: 6}


def diagnose(
    path: str | Path | None,
    evidence: Mapping[str, str] | None = None,
    looked: Iterable[str] = (),
    *,
    selection: Selection | None = None,
    boots: Boots | None = None,
    ended: bool = False,
) -> dict[str, Any]:
    """A bundle, outputs by name of the piece, or both. ``looked``: commands that were run, whatever they printed;
    ``selection``: what of the bundle is read; ``boots``: leaves out of it what systems said before a run; ``ended``: it
    is known that the job ended well. Raises OSError if ``path`` cannot be read."""
    reading = Reading([sign for sign in catalogue().signs if ended or not sign.ended])
    notes: list[str] = []
    names: list[str] = []
    partial: list[str] = []
    size = 0
    if path is not None:
        bundle = Bundle(path, selection)
        for piece in bundle.pieces():
            if piece.name != MANIFEST:  # a list of names, of which none says anything of the site
                reading.piece(boots.of_the_run(piece) if boots else piece)
        notes, names, size, partial = bundle.notes, bundle.read, bundle.bytes, bundle.partial
    for name, text in (evidence or {}).items():
        reading.piece(Piece(name, iter((text.encode("utf-8", "replace"),))))
        names.append(name)
        size += len(text)
    found = answer(reading, notes, names, looked, partial)
    message = sentence(found) if names else _unread(notes)
    return {**found, "read": names[:1000], "bytes": size, "message": message}


def _unread(notes: list[str]) -> str:
    why = "; ".join(notes[:3]) or "there is nothing in it"
    todo = "What to do: give a log, or a folder or archive of logs."
    return f"Cannot tell: nothing of it is a text that could be read ({why}). {todo}"


def sentence(found: dict[str, Any]) -> str:
    """One sentence for a person."""
    if found["verdict"] == HEALTHY:
        shown = "; ".join(found["shown"][:2]) or "the fabric check measured everything"
        return f"Healthy: {shown}. No line is trouble."
    lacking = "; ".join(gap["text"] for gap in found["not_shown"][:2])
    if found["verdict"] == NO_FAULT_SEEN:
        return f"No fault seen in what was read. Not shown: {lacking}. Add the whole output of a job that ended."
    first = found["findings"][0] if found["findings"] else None
    if found["verdict"] == FAULTY and first:
        where = f" on {first['host']}" if first["host"] else ""
        how = f"({first['layer']}, {first['certainty']})"
        return f"Faulty{where}: {first['means']} {how} What to do: {first['fix']['what']}."
    # Without a finding not the command of a suspect.
    question = min(found["next"], key=lambda each: bool(each["look"]) and not first, default=None)
    look = f" Look next, {question['where']}: {question['run']}" if question else ""
    line = " This line says it: {file}:{line}: {text!r}.".format(**found["line"]) if found["line"] else ""
    line += f" Not shown: {lacking}." if lacking else ""
    if NOT_MY_FIELD in found["notes"]:
        return f"{NOT_MY_FIELD} Give the log of the job that failed, or what its hosts print."
    if first:
        layers = ", ".join(dict.fromkeys(entry["layer"] for entry in found["findings"][:4]))
        return f"Cannot tell yet; candidates: {layers}.{line}{look}"
    return f"Cannot tell: nothing in this names a cause.{line}{look}"


def table(found: dict[str, Any]) -> str:
    """The whole answer for a person."""
    lines = [found["message"], ""]
    for number, finding in enumerate(found["findings"], 1):
        where = " ".join(filter(None, (finding["host"], finding["device"])))
        rank = f" rank {finding['rank']}" if finding["rank"] is not None else ""
        fix = finding["fix"]
        lines += [
            f"{number}. {finding['certainty']}: {finding['cause']} ({finding['layer']}) {where}{rank}".rstrip(),
            f"   {finding['means']}",
            # Several signs may be on one line.
            *list(dict.fromkeys(f"   seen: {at['file']}:{at['line']}: {at['text']}" for at in finding["evidence"]))[:2],
            *(f"   explains: {text}" for text in finding["explains"]),
            f"   look: {finding['next']['where']}: {finding['next']['run']}",
            f"   fix ({fix['who']}; interrupts {fix['interrupts']}): {fix['what']}",
        ]
    unknown = found["unknown"][:5] if found["verdict"] != HEALTHY else []
    parts = {
        "Not shown:": [
            f"  - {gap['text']}" + (f" ({gap['file']}:{gap['line']})" if gap["line"] else "")
            for gap in found["not_shown"]
        ],
        "Next, cheapest first:": [f"  - {each['where']}: {each['run']}" for each in found["next"][:5]],
        "Lines that look like trouble and that no rule knows:": [
            f"  {entry['file']}:{entry['line']}: {entry['text']}" for entry in unknown
        ],
    }
    for title, rows in parts.items():
        lines += ["", title, *rows] if rows else []
    if found["asked"]:
        lines += ["", "Wanted and not found: " + "; ".join(found["asked"])]
    lines += [f"note: {note}" for note in found["notes"]]
    return "\n".join(lines) + "\n"


def unusable(module: str, error: OSError, options: Mapping[str, Any]) -> str:
    """Which option of a module names a file that cannot be used, why, and what to do."""
    named = str(error.filename or options.get("dest") or options.get("bundle"))
    which = "bundle" if options.get("bundle") and named == str(options["bundle"]) else "dest"
    todo = "give an existing folder, archive or file" if which == "bundle" else "name a file in a folder that is there"
    return f"{module}: {which} {named!r}: {error.strerror}. What to do: {todo}"


def evidence_texts(evidence: Mapping[str, Any]) -> dict[str, str]:
    """Name of a piece -> its text. What a host said to many commands is taken apart (``host_output.py``). Facts of the
    roles (a name with a slash, or vcenter) become the pieces of ``facts.py``."""
    found: dict[str, str] = {}
    for name, value in evidence.items():
        if not isinstance(value, Mapping):
            found[name] = str(value)
        elif "/" in name or name == "vcenter":
            found |= facts.pieces(name, value)
        else:
            found |= host_output.pieces(name, value)
    return found
