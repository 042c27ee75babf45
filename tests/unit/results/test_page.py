"""The web page and its plots: escaped, self-contained, complete without plots; and the page as a browser shows it."""

from __future__ import annotations

import base64
import html.parser
import http.server
import json
import pathlib
import re
import shutil
import struct
import subprocess
import threading
from collections.abc import Iterator
from typing import Any, ClassVar

import pytest
from ansible_collections.rocemesh.multinode.plugins.module_utils._results.report import (
    comparison,
    page,
    plots,
)

from tests.unit.results import report_samples

WIDTHS = {"laptop": 1366, "phone": 390}
# What the page itself measures once everything is loaded, written where --dump-dom shows it.
PROBE = """<script>
addEventListener("load", () => {
  const images = [...document.images].map(image => image.complete && image.naturalWidth);
  const wide = [...document.querySelectorAll("body *")].filter(e => !e.closest(".scroll") &&
    e.getBoundingClientRect().right > innerWidth + 0.5).map(e => e.outerHTML.slice(0, 120));
  const requests = performance.getEntriesByType("resource").map(entry => entry.name.slice(0, 60));
  document.documentElement.setAttribute("data-probe", JSON.stringify({
    width: innerWidth, content: document.documentElement.scrollWidth, images, wide,
    requests: requests.filter(name => !name.startsWith("data:")),
    text: parseFloat(getComputedStyle(document.body).fontSize)}));
});
</script>"""


@pytest.fixture(scope="module")
def full() -> tuple[str, list[plots.Plot]]:
    summary = report_samples.summary(simulated=True, ranks=4)
    drawn = plots.draw(summary)
    return page.report(summary, drawn), drawn


class Collector(html.parser.HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.open: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag not in ("meta", "link", "img", "source", "br"):
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open and self.open[-1] == tag, f"</{tag}> closes {self.open[-3:]}"
        self.open.pop()


def collect(text: str) -> Collector:
    found = Collector()
    found.feed(text)
    assert found.open == []
    return found


# ------------------------------------------------------------------------------------------------------------- static


def test_page_asks_for_nothing_and_runs_nothing(full: tuple[str, list[plots.Plot]]) -> None:
    tags = collect(full[0]).tags
    assert {tag for tag, _attrs in tags} & {"script", "iframe", "object", "embed", "base", "form"} == set()
    targets = [
        value
        for _tag, attrs in tags
        for name, value in attrs.items()
        if name in ("src", "href", "srcset", "poster", "action", "background") and value
    ]
    assert targets and all(value.startswith("data:") for value in targets)
    assert not re.search(r"url\(|@import", full[0])
    assert ("default-src 'none'; img-src data:; style-src 'unsafe-inline'") in full[0]


def test_first_line_is_the_verdict_and_every_plot_of_a_simulated_run_is_marked(
    full: tuple[str, list[plots.Plot]],
) -> None:
    text = re.sub(r"<(style|title)>.*?</\1>", "", full[0], flags=re.DOTALL)
    words = re.sub(r"<[^>]+>", " ", text.split("<body>")[1]).split()
    assert words[:2] == ["SIMULATED", "DEVICES"]
    assert re.search(r"<h1>SIMULATED - NOT PROVEN</h1>", full[0])
    assert not re.search(r"(?<!NOT )PROVEN", full[0])


def test_a_report_of_hardware_has_no_mark_of_simulation() -> None:
    summary = report_samples.summary(simulated=False, benchmarks=report_samples.benchmarks(simulated=False))
    assert "SIMULATED" not in page.report(summary)
    assert "SIMULATED" not in page.markdown(summary)


@pytest.mark.parametrize(
    "evil", ["<script>alert(1)</script>", '"><img src=http://192.0.2.1/x>', "{{ 7 * 7 }}", "a|b\n# c"]
)
def test_what_devices_and_logs_say_stays_text(evil: str) -> None:
    layer = {"changed": True, "verified": True, "found": {evil: evil}, "changes": [evil]}
    summary = report_samples.summary(
        layers={"switch": layer},
        problems=[{"code": "x", "message": evil}],
        workload={evil: evil},
        evidence={"nccl_path": {"verdict": "unknown", "reason": evil}},
        hosts_rebooted=[evil],
        stage_marks=[{"name": evil, "at": 0.0}],
    )
    tags = collect(page.report(summary)).tags
    assert "script" not in [tag for tag, _attrs in tags]
    assert [attrs for tag, attrs in tags if tag == "img"] == []
    assert "49" not in re.findall(r"<li>([^<]*)", page.report(summary))
    text = page.markdown(summary)
    assert "<script" not in text and "<img" not in text
    assert all(line.count("|") > 1 for line in text.splitlines() if line.startswith("|"))


def test_plots_are_png_files_and_the_same_ones_every_time(full: tuple[str, list[plots.Plot]]) -> None:
    drawn = full[1]
    assert [plot.name for plot in drawn] == ["throughput", "scaling", "bandwidth", "communication", "limits"]
    for plot in drawn:
        for image in (plot.light, plot.dark):
            assert image.startswith(b"\x89PNG\r\n\x1a\n")
            width, height = struct.unpack(">II", image[16:24])
            assert width >= 800 and height >= 500
        assert plot.alt and base64.b64encode(plot.light).decode() in full[0]
    again = plots.draw(report_samples.summary(simulated=True, ranks=4))
    assert [plot.light for plot in again] == [plot.light for plot in drawn]


def test_without_matplotlib_the_report_is_complete_and_says_why(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plots, "MATPLOTLIB_IMPORT_ERROR", ImportError("no module named matplotlib"))
    summary = report_samples.summary()
    assert plots.draw(summary) == []
    reason = plots.why_not()
    assert "matplotlib is missing" in reason and "pip install matplotlib" in reason
    text = page.report(summary, [], reason)
    assert reason in text
    assert "<img" not in text
    for row in summary["benchmarks"]["scaling"]["rows"]:
        assert f"{row['median']:,.2f}" in text
    assert reason in page.markdown(summary, [], reason)


def test_a_run_without_any_figure_still_has_a_page() -> None:
    summary = report_samples.summary(ranks=0, benchmarks={}, limits={}, stage_marks=[])
    assert plots.draw(summary) == []
    text = page.report(summary)
    assert "No rank has" in text and "SIMULATED - NOT PROVEN" in text
    collect(text)


def test_names_with_dollar_signs_are_drawn_as_names() -> None:
    documents = report_samples.benchmarks()
    documents["bandwidth"]["results"][0]["network"] = "a$b$\\frac"
    assert len(plots.draw(report_samples.summary(benchmarks=documents))) == 5


def test_many_ranks_become_a_band_and_a_folded_table() -> None:
    summary = report_samples.summary(ranks=64)
    text = page.report(summary, [plot for plot in plots.draw(summary) if plot.name == "throughput"])
    assert "<details><summary>64 ranks</summary>" in text


# ------------------------------------------------------------------------------------------------------------ browser


class Recorder(http.server.BaseHTTPRequestHandler):
    """Serves the page and remembers what else was asked for."""

    pages: ClassVar[dict[str, bytes]] = {}
    asked: ClassVar[list[str]] = []

    def do_GET(self) -> None:
        self.asked.append(self.path)
        body = self.pages.get(self.path)
        self.send_response(200 if body else 404)
        self.send_header("Content-Type", "text/html; charset=utf-8")
        self.send_header("Content-Length", str(len(body or b"")))
        self.end_headers()
        self.wfile.write(body or b"")

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the name in the standard library
        pass


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Recorder) as running:
        thread = threading.Thread(target=running.serve_forever, daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{running.server_address[1]}"
        running.shutdown()
        thread.join()


def chromium() -> str:
    found = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if not found:
        pytest.fail("no chromium: run lab/bootstrap.sh --dev (Debian: apt-get install chromium)", pytrace=False)
    return found


def browse(url: str, width: int, profile: pathlib.Path, *more: str) -> str:
    """The page as the browser has it after loading, in a window of this width. Frames narrower than a desktop window's
    least width are not to be had from a window: the page is framed by one that is."""
    done = subprocess.run(
        [
            chromium(),
            "--headless=new",
            "--no-sandbox",  # the test may run as root in a container; the page is our own
            "--disable-gpu",
            "--disable-background-networking",
            "--hide-scrollbars",
            f"--user-data-dir={profile}",
            f"--window-size={width},900",
            "--virtual-time-budget=10000",
            *more,
            "--dump-dom",
            url,
        ],
        capture_output=True,
        text=True,
        timeout=180,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    return done.stdout


def probe(text: str, url: str, width: int, profile: pathlib.Path) -> dict[str, Any]:
    """Figures from inside the page. The page's own policy allows no script, so the probed copy goes without it."""
    policy = re.compile(r'<meta http-equiv="Content-Security-Policy"[^>]*>')
    assert len(policy.findall(text)) == 1
    # The width of a headless window has a floor of 500; a frame has none.
    Recorder.pages = {
        "/": '<link rel="icon" href="data:,"><body style="margin:0">'
        f'<iframe id="f" src="/page" style="border:0;width:{width}px;height:900px"></iframe>'
        '<script>addEventListener("load",()=>document.documentElement.setAttribute("data-probe",'
        'document.getElementById("f").contentDocument.documentElement.dataset.probe))</script>'.encode(),
        "/page": policy.sub(PROBE, text).encode(),
    }
    Recorder.asked.clear()
    dom = browse(url + "/", max(width, 1366), profile)
    found = re.search(r'data-probe="([^"]*)"', dom)
    assert found, dom[:500]
    result: dict[str, Any] = json.loads(found[1].replace("&quot;", '"').replace("&amp;", "&"))
    return {**result, "asked": [path for path in Recorder.asked if path not in ("/", "/page")]}


@pytest.fixture(scope="module")
def pages(full: tuple[str, list[plots.Plot]]) -> dict[str, str]:
    table = comparison.build([comparison.Entry("run 1", report_samples.summary())])
    return {
        "report": full[0],
        "many ranks": page.report(report_samples.summary(ranks=64)),
        "comparison": page.compare(table),
    }


@pytest.mark.parametrize("width", WIDTHS.values(), ids=WIDTHS)
@pytest.mark.parametrize("name", ["report", "many ranks", "comparison"])
def test_browser_shows_the_page_without_overflow_broken_image_or_request(
    name: str, width: int, pages: dict[str, str], server: str, tmp_path: pathlib.Path
) -> None:
    found = probe(pages[name], server, width, tmp_path)
    assert found["width"] == width
    assert found["content"] <= width, found["wide"]
    assert found["wide"] == []
    assert len(found["images"]) == (5 if name == "report" else 0)
    assert all(isinstance(size, int) and size >= 800 for size in found["images"])
    assert found["requests"] == []
    assert found["asked"] == []
    assert found["text"] >= 14


def test_the_probe_finds_what_it_looks_for(
    full: tuple[str, list[plots.Plot]], server: str, tmp_path: pathlib.Path
) -> None:
    broken = '<img src="/missing.png"><div style="width:2000px">x</div></body>'
    found = probe(full[0].replace("</body>", broken), server, 390, tmp_path)
    assert found["content"] > 390 and found["wide"]
    assert 0 in found["images"]
    assert found["asked"] == ["/missing.png"]


def test_the_policy_of_the_page_stops_scripts_and_requests(
    full: tuple[str, list[plots.Plot]], server: str, tmp_path: pathlib.Path
) -> None:
    """Should something ever slip through the escaping, the browser still neither runs nor fetches it."""
    slipped = '<script>document.title="ran"</script><img src="/stolen.png"></body>'
    Recorder.pages = {"/page": full[0].replace("</body>", slipped).encode()}
    Recorder.asked.clear()
    dom = browse(server + "/page", 1366, tmp_path)
    assert "<title>SIMULATED" in dom
    assert Recorder.asked == ["/page"]
