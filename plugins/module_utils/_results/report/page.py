"""The pages of a run and of a comparison, from templates: HTML that needs nothing beside itself, and Markdown. Pure.

Everything that devices and logs said is escaped, and the policy of the HTML pages forbids scripts and any request.
"""

from __future__ import annotations

import base64
import functools
from pathlib import Path
from typing import Any, Mapping, Sequence

from . import view
from .plots import Plot

_TEMPLATES = Path(__file__).with_name("templates")


def report(summary: Mapping[str, Any], plots: Sequence[Plot] = (), no_plots: str = "", heat_map: str = "") -> str:
    """report.html. ``no_plots``: why there are none; ``heat_map``: SVG of the fabric check."""
    return _rendered("report.html.j2", **view.of(summary, no_plots), plots=plots, heat_map=heat_map.encode())


def markdown(summary: Mapping[str, Any], plots: Sequence[str] = (), no_plots: str = "", heat_map: str = "") -> str:
    """report.md. ``plots``, ``heat_map``: names of the files beside it; ``no_plots``: why there are none."""
    return _rendered("report.md.j2", **view.of(summary, no_plots), plots=plots, heat_map=heat_map)


def compare(table: Mapping[str, Any], form: str = "html") -> str:
    """compare.html, or compare.md; ``table`` as `comparison.build` returns it."""
    return _rendered(f"compare.{form}.j2", t=table)


@functools.lru_cache(maxsize=None)
def _environment() -> Any:
    # Here: the file is imported where modules run, too, and only the controller has the library for certain.
    import jinja2  # noqa: PLC0415

    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(_TEMPLATES),
        autoescape=lambda name: bool(name) and ".html." in str(name),
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    named = (view.number, view.percent, view.flat, view.figure, view.cell, view.line, embedded)
    environment.filters.update({function.__name__: function for function in named})
    environment.globals.update(style=(_TEMPLATES / "style.css").read_text(encoding="utf-8"))
    return environment


def _rendered(name: str, **values: Any) -> str:
    return str(_environment().get_template(name).render(**values))


def embedded(content: bytes, kind: str) -> str:
    return f"data:image/{kind};base64,{base64.b64encode(content).decode()}"
