"""Plots of a summary as PNG: throughput over time, scaling, bandwidth against limits, communication against compute.

matplotlib is optional: `why_not` says what is missing, and a report without plots is still complete. The same summary
gives the same bytes (no date, no version in the file), so writing a report twice changes nothing.
"""

from __future__ import annotations

import dataclasses
import io
import statistics
from pathlib import Path
from typing import Any, Callable, Mapping, Sequence

from ..figures.statistics import groups
from .timeline import BETWEEN, SECONDS

MATPLOTLIB_IMPORT_ERROR: Exception | None = None
matplotlib: Any = None
try:
    import matplotlib
    import matplotlib.backends.backend_agg
    import matplotlib.figure
    import matplotlib.style
    import matplotlib.ticker
except ImportError as import_error:
    MATPLOTLIB_IMPORT_ERROR = import_error

WIDTH, HEIGHT, DPI = 5.2, 3.5, 160  # inches, dots per inch: text stays legible when a phone shows it 350 pixels wide
MANY_RANKS = 16  # more lines than this become a band: so many cannot be followed
_STYLES = Path(__file__).with_name("templates")
_SIMULATED = {"light": "#6a1fb0", "dark": "#cfa4ff"}


@dataclasses.dataclass(frozen=True)
class Plot:
    """``light`` and ``dark``: PNG bytes of the same figure. ``alt``: what it shows, for who cannot see it."""

    name: str
    alt: str
    light: bytes
    dark: bytes


def why_not() -> str:
    """Empty: plots can be drawn. Else the reason, and what to do."""
    if MATPLOTLIB_IMPORT_ERROR is None:
        return ""
    return (
        "the Python library matplotlib is missing where the report was written. The tables hold every figure; "
        "for plots: pip install matplotlib, then write the report again"
    )


def draw(summary: Mapping[str, Any]) -> list[Plot]:
    """Every plot for which this summary has figures; none without matplotlib."""
    if MATPLOTLIB_IMPORT_ERROR is not None:
        return []
    drawn = []
    for name, title, benchmark, paint in _PLOTS:
        source = summary["benchmarks"].get(benchmark, {"rows": (), "simulated": False})
        simulated = bool(summary["simulated"] or source["simulated"])
        (alt, light), (_alt, dark) = (
            _png(theme, title, simulated, paint, summary, source["rows"]) for theme in _SIMULATED
        )
        if alt:
            drawn.append(Plot(name, alt, light, dark))
    return drawn


_Summary = Mapping[str, Any]
_Rows = Sequence[Mapping[str, Any]]
# Paints into axes, and says what it shows; empty: there is nothing to draw.
_Painter = Callable[[Any, _Summary, _Rows], str]


def _png(theme: str, title: str, simulated: bool, paint: _Painter, *given: Any) -> tuple[str, bytes]:
    """What it shows, and the picture. ``given``: to the painter."""
    with matplotlib.style.context([_STYLES / f"{name}.mplstyle" for name in ("plots", theme)]):
        figure = matplotlib.figure.Figure(figsize=(WIDTH, HEIGHT), dpi=DPI, layout="constrained")
        canvas: Any = matplotlib.backends.backend_agg.FigureCanvasAgg(figure)
        axes = figure.add_subplot()
        axes.set_title(title + (" (SIMULATED)" if simulated else ""), fontsize=11, loc="left", fontweight="bold")
        alt = paint(axes, *given)
        if not alt:
            return "", b""
        if simulated:
            axes.text(
                0.5, 0.5, "SIMULATED", transform=axes.transAxes, ha="center", va="center", rotation=18, fontsize=34,
                fontweight="bold", color=_SIMULATED[theme], alpha=0.22, zorder=5,
            )  # fmt: skip
        stream = io.BytesIO()
        # No version, no date: the same figures give the same file.
        canvas.print_png(stream, metadata={"Software": None})
    return alt, stream.getvalue()


def _ink() -> Any:
    return matplotlib.rcParams["text.color"]


def _throughput(axes: Any, summary: _Summary, _rows: _Rows) -> str:
    timeline = summary["throughput_over_time"]
    ranks = [rank for rank in (timeline or {}).get("ranks", ()) if len(rank["x"]) > 1]
    if not timeline or not ranks:
        return ""
    many = len(ranks) > MANY_RANKS
    if many:
        _band(axes, ranks)
    for rank in [] if many else ranks:
        said = {"label": f"rank {rank['rank']}", "marker": "o", "markersize": 3, "linewidth": 1.4}
        axes.plot(rank["x"], rank["images_per_second"], **said)
    axes.set_ylim(0, 1.15 * max(max(rank["images_per_second"]) for rank in ranks))
    axes.set_xlabel("seconds since the warm-up" if timeline["x_unit"] == SECONDS else "step")
    axes.set_ylabel("images/s per rank" + ("" if timeline["kind"] == BETWEEN else "\n(mean since the warm-up)"))
    axes.legend(loc="lower right", ncols=1 if many or len(ranks) <= 4 else 4)
    last = [rank["images_per_second"][-1] for rank in ranks]
    return f"Images per second of {len(ranks)} ranks over time; at the end {min(last):.2f} to {max(last):.2f} images/s."


def _band(axes: Any, ranks: Sequence[Mapping[str, Any]]) -> None:
    """Median and range of all ranks at each of their common points (by position: ranks log at the same steps)."""
    length = min(len(rank["x"]) for rank in ranks)
    columns = list(zip(*(rank["images_per_second"][:length] for rank in ranks)))
    x = [statistics.median(values) for values in zip(*(rank["x"][:length] for rank in ranks))]
    ends = list(map(min, columns)), list(map(max, columns))
    axes.fill_between(x, *ends, alpha=0.25, color="C0", label=f"slowest to fastest of {len(ranks)} ranks")
    axes.plot(x, list(map(statistics.median, columns)), color="C0", linewidth=1.8, label="median rank")


def _scaling(axes: Any, _summary: _Summary, rows: _Rows) -> str:
    compared = [row for row in rows if row["speedup_1gpu"] is not None]
    series = {
        f"{precision}, batch {batch}": sorted(found, key=lambda row: row["gpus"])
        for (precision, batch), found in groups(compared, ("precision", "batch")).items()
        if len(found) > 1
    }
    if not series:
        return ""
    ticks = sorted({row["gpus"] for found in series.values() for row in found})
    axes.plot([1, ticks[-1]], [1, ticks[-1]], color=_ink(), linestyle=":", linewidth=1.2, label="ideal")
    for name, found in series.items():
        single = next(row["median"] for row in found if row["gpus"] == 1)
        x, y = [row["gpus"] for row in found], [row["speedup_1gpu"] for row in found]
        low = [max(0.0, row["speedup_1gpu"] - (row["low"] or row["median"]) / single) for row in found]
        high = [max(0.0, (row["high"] or row["median"]) / single - row["speedup_1gpu"]) for row in found]
        axes.errorbar(x, y, yerr=[low, high], marker="o", markersize=4, capsize=3, linewidth=1.5, label=name)
    axes.set_xscale("log", base=2)
    axes.set_yscale("log", base=2)
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_major_formatter(lambda value, _position: f"{value:g}")
    axes.set_xticks(ticks)
    axes.minorticks_off()
    axes.set(xlabel="ranks (GPUs)", ylabel="speed-up against one GPU")
    axes.legend(loc="upper left")
    ends = (f"{name}: {found[-1]['speedup_1gpu']:.2f} on {found[-1]['gpus']}" for name, found in series.items())
    return f"Speed-up against one GPU, with the ideal line. {'; '.join(ends)}."


def _bars(axes: Any, labels: Sequence[str], size: int, values: Sequence[float], **more: Any) -> None:
    """A bar lies at each label: the first one on top, and none as thick as the plot."""
    axes.set_yticks(range(len(labels)), labels, fontsize=size)
    axes.set_ylim(max(len(labels), 3) - 0.5, -0.5)
    axes.grid(False, axis="y")
    axes.barh(range(len(labels)), values, height=0.6, **more)


def _bandwidth(axes: Any, summary: _Summary, rows: _Rows) -> str:
    if not rows:
        return ""
    limits = {limit["name"]: limit["value"] for limit in summary["limits"]["limits"]}
    bound = limits.get("all-reduce bus bandwidth")
    values = [row["gb_s"] for row in rows]
    low = [0.0 if row["gb_s_low"] is None else max(0.0, row["gb_s"] - row["gb_s_low"]) for row in rows]
    high = [0.0 if row["gb_s_high"] is None else max(0.0, row["gb_s_high"] - row["gb_s"]) for row in rows]
    labels = [f"{row['network']}\n{row['path']}, {row['ranks']} ranks" for row in rows]
    _bars(axes, labels, 8, values, xerr=[low, high], color="C0", ecolor=_ink(), capsize=3)
    if bound:
        axes.axvline(bound, color="C4", linestyle="--", linewidth=1.5)
    drawn = f"dashed: limit of this network, {bound:.2f} GB/s" if bound else "limit of the network unknown"
    axes.set(xlabel=f"GB/s per rank ({drawn})", xlim=(0, 1.15 * max([*values, bound or 0.0])))
    limit_text = f"limit {bound:.2f} GB/s" if bound else "limit unknown"
    best = max(rows, key=lambda row: row["gb_s"])
    return (
        f"All-reduce bandwidth of {len(rows)} measurements, {limit_text}; the fastest is {best['network']} over "
        f"{best['path']} with {best['gb_s']:.3f} GB/s."
    )


def _communication(axes: Any, _summary: _Summary, rows: _Rows) -> str:
    if not rows:
        return ""
    labels = [f"{row['model']}\nbatch {row['batch']}" for row in rows]
    x = range(len(rows))
    compute = [1e3 * row["compute_s"] for row in rows]
    comm = [1e3 * row["comm_s"] for row in rows]
    axes.bar(x, compute, color="C0", label="compute", width=0.6)
    hatched = {"hatch": "//", "edgecolor": matplotlib.rcParams["axes.facecolor"]}
    axes.bar(x, comm, bottom=compute, color="C1", label="communication", width=0.6, **hatched)
    crowded = len(rows) > 5
    axes.set_xticks(x, labels, fontsize=8, rotation=45 if crowded else 0, ha="right" if crowded else "center")
    axes.yaxis.set_major_locator(matplotlib.ticker.MaxNLocator(6))
    axes.grid(False, axis="x")
    axes.set(ylabel="milliseconds per batch", ylim=(None, 1.25 * max(map(sum, zip(compute, comm)))))
    axes.legend(loc="upper right", ncols=2)
    worst = max(rows, key=lambda row: row["comm_share"])
    return (
        f"Compute and communication time per batch of {len(rows)} cases; the largest share of communication is "
        f"{100 * worst['comm_share']:.1f} % ({worst['model']}, batch {worst['batch']})."
    )


def _limits(axes: Any, summary: _Summary, _rows: _Rows) -> str:
    rows = [entry for entry in summary["limits"]["comparisons"] if entry["ratio"] is not None]
    if not rows:
        return ""
    ratios = [100 * entry["ratio"] for entry in rows]
    labels = [f"{entry['what']}\n({entry['limit_name']})" for entry in rows]
    _bars(axes, labels, 7, ratios, color=["C4" if entry["exceeded"] else "C2" for entry in rows])
    axes.axvline(100, color=_ink(), linestyle="--", linewidth=1.3)
    axes.set(xlabel="% of the limit (dashed line)", xlim=(0, max(110.0, 1.1 * max(ratios))))
    shares = "; ".join(f"{entry['what']} {100 * entry['ratio']:.1f} %" for entry in rows)
    return f"Share of the limit: {shares}."


# Name, title, benchmark that it is drawn of.
_PLOTS: Sequence[tuple[str, str, str, _Painter]] = (
    ("throughput", "Throughput over time", "", _throughput),
    ("scaling", "Scaling", "scaling", _scaling),
    ("bandwidth", "All-reduce bandwidth", "bandwidth", _bandwidth),
    ("communication", "Compute and communication", "training", _communication),
    ("limits", "Achieved share of the limits", "", _limits),
)
