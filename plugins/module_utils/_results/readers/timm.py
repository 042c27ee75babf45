"""Read what timm's own benchmark program (benchmark.py of pytorch-image-models) prints: its JSON or its CSV. Pure.

It is one process on one device: no gradients are exchanged, and several ranks are several measurements. Forms: recorded
on a CPU (v0.9.2 and 1.0.29); the CSV and older releases from its source (commit 066e490, 2022).
"""

from __future__ import annotations

import csv
import dataclasses
import functools
import json
from typing import Any, Mapping

from .reading import RECORD_LIMIT, PartsReader, Several, positive, who
from .tables import Patterns
from .tags import Line

_DELIMITER = "--result"
_LONGEST = 1 << 20  # characters of one result
_LINES = Patterns("timm.yml")
_ROUNDING = 1.02
NOTE = "timm's benchmark.py: one process, no exchange of gradients"


@dataclasses.dataclass(frozen=True)
class Measured:
    """``kind``: train or infer; ``step_ms``: milliseconds of a step; ``precision``, ``layout``: as its log says."""

    rank: int | None
    model: str
    kind: str
    images_per_second: float
    step_ms: float | None
    batch: int | None
    image_size: int | None
    precision: str | None
    layout: str | None

    def figure(self, alone: bool) -> dict[str, Any]:
        """As `compare_figures` takes it. Ranks that share nothing are never added; ``alone``: there is no other one."""
        settings = {"precision": self.precision, "batch": self.batch}
        pixels = f"{self.image_size} pixels" if self.image_size not in (None, 224) else ""  # ours are 224
        return {
            "name": f"timm {self.model}" + ("" if alone or self.rank is None else f", rank {self.rank}"),
            "images_per_second": self.images_per_second,
            "nodes": 1,
            "ranks": 1,
            "note": "; ".join(filter(None, (NOTE, self.layout, pixels))),
            **{key: value for key, value in settings.items() if value is not None},
        }


@dataclasses.dataclass
class _Voice:
    """What one rank has said so far."""

    parts: list[str] | None = None  # of a result that has begun
    size: int = 0
    header: list[str] | None = None  # of a CSV
    precision: str | None = None
    layout: str | None = None


class Reader(PartsReader[Measured]):
    name = "timm"
    wants = "result of timm's benchmark.py (--result and JSON, or CSV with train_samples_per_sec)"
    MOST = RECORD_LIMIT

    def __init__(self) -> None:
        super().__init__()
        self._voices: dict[int | None, _Voice] = {}

    def line(self, line: Line) -> None:
        text = line.text.strip()
        if line.rank not in self._voices and len(self._voices) >= RECORD_LIMIT:
            return
        voice = self._voices.setdefault(line.rank, _Voice())
        if said := _LINES["precision"].search(text):
            voice.precision, voice.layout = (_LINES.table["formats"].get(word, word) for word in said.groups())
        elif reduced := _LINES["reduced"].search(text):
            self.problems.add("batch_reduced", who=who(line.rank), batch=reduced["batch"])
        elif text == _DELIMITER:
            self.problems.add_if(voice.parts is not None, "unfinished", who=who(line.rank))
            voice.parts, voice.size, voice.header = [], 0, None
        elif voice.parts is not None:
            self._json(line, voice, voice.parts)
        elif "_samples_per_sec" in text and text.startswith("model,"):
            voice.header = text.split(",")
        elif voice.header is not None:
            self._row(line.rank, voice, voice.header, text)

    def _json(self, line: Line, voice: _Voice, parts: list[str]) -> None:
        """json.dumps with an indent: only the outermost bracket is at the beginning of a line."""
        if line.stream == "stderr":
            return  # its logger speaks there
        parts.append(line.text)
        voice.size += len(line.text)
        if voice.size > _LONGEST:
            self.problems.add("too_long", who=who(line.rank), most=_LONGEST)
            voice.parts = None
            return
        if line.text.rstrip() not in ("}", "]", "{}", "[]"):
            return
        text, voice.parts = "\n".join(parts), None
        try:
            said = json.loads(text)
        except ValueError:
            self.problems.add("not_json", who=who(line.rank), text=text[:80])
            return
        for entry in said if isinstance(said, list) else [said]:
            self._entry(line.rank, voice, entry)

    def _row(self, rank: int | None, voice: _Voice, header: list[str], text: str) -> None:
        cells = next(csv.reader([text]), [])
        if not text:
            voice.header = None
        elif len(cells) != len(header):
            self.problems.add("cut_row", who=who(rank), cells=len(cells), header=len(header), text=text[:80])
            voice.header = None
        else:
            self._entry(rank, voice, dict(zip(header, cells)))

    def _entry(self, rank: int | None, voice: _Voice, entry: Any) -> None:
        if not isinstance(entry, Mapping) or not entry.get("model"):
            self.problems.add("not_a_result", who=who(rank), text=str(entry)[:80])
            return
        model = str(entry["model"])[:120]
        problem = functools.partial(self.problems.add, who=who(rank), model=model)
        if entry.get("error"):
            problem("failed", error=str(entry["error"])[:160])
            return
        kinds = [kind for kind in ("train", "infer") if f"{kind}_samples_per_sec" in entry]
        if not kinds:
            problem("no_rate")
        for kind in kinds:
            rate, step, batch, size = (
                positive(entry.get(f"{kind}_{name}"))
                for name in ("samples_per_sec", "step_time", "batch_size", "img_size")
            )
            if rate is None:
                problem("no_rate/value", kind=kind, value=str(entry.get(f"{kind}_samples_per_sec"))[:40])
                continue
            if step and batch and rate > batch / step * 1e3 * _ROUNDING:
                problem("rate_disagrees", kind=kind, rate=rate, batch=batch, step=step)
            images, pixels = (int(value) if value else None for value in (batch, size))
            said = Measured(rank, model, kind, rate, step, images, pixels, voice.precision, voice.layout)
            self.begin(rank, said)

    def found(self) -> Several[Measured]:
        for rank, voice in self._voices.items():
            self.problems.add_if(voice.parts is not None, "unfinished", who=who(rank))
        alone = len({each.rank for each in self.parts}) == 1
        figures = [each.figure(alone) for each in self.parts if each.kind == "train"]
        return self.several("results", self.parts, self.parts, figures=figures)


read = Reader.read
