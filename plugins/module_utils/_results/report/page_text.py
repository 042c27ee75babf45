"""Style and templates of the web pages, as text: the archive that a module runs from holds Python files only."""

from __future__ import annotations

STYLE = """
:root{color-scheme:light dark;--ink:#1d2530;--soft:#5b6675;--paper:#fff;--page:#f3f5f8;--line:#d9dee6;--good:#1c7a46;
--good-bg:#e3f5ea;--bad:#b3261e;--bad-bg:#fde8e6;--warn:#8a5a00;--warn-bg:#fdf1d8;--sim:#6a1fb0;--sim-bg:#efe3fb;
--bar:#3b7dd8;--code:#eef1f5;--part:#1d5a9e;--part-bg:#e3eefb}
@media (prefers-color-scheme:dark){:root{--ink:#e3e8ef;--soft:#9aa6b5;--paper:#161c25;--page:#0e1218;--line:#2e3744;
--good:#63d394;--good-bg:#12301f;--bad:#ff8d85;--bad-bg:#3a1513;--warn:#f2c15c;--warn-bg:#35280c;--sim:#cfa4ff;
--sim-bg:#2a1540;--bar:#5b96e6;--code:#1e2631;--part:#86b9f5;--part-bg:#13253b}}
*{box-sizing:border-box}
html{-webkit-text-size-adjust:100%}
body{margin:0;background:var(--page);color:var(--ink);font:15px/1.5 system-ui,-apple-system,"Segoe UI",Roboto,
"DejaVu Sans",sans-serif;overflow-wrap:break-word}
main{max-width:1180px;margin:0 auto;padding:16px}
.sim{position:sticky;top:0;z-index:2;text-align:center;font-weight:700;padding:7px 12px;color:var(--sim);
background:repeating-linear-gradient(135deg,var(--sim-bg) 0 14px,var(--paper) 14px 28px);
border-bottom:2px solid var(--sim)}
.verdict{border-left:8px solid;border-radius:8px;padding:14px 18px;background:var(--paper);margin-bottom:16px}
.verdict.good{border-color:var(--good);background:var(--good-bg)}
.verdict.bad{border-color:var(--bad);background:var(--bad-bg)}
.verdict.warn{border-color:var(--warn);background:var(--warn-bg)}
.verdict.part{border-color:var(--part);background:var(--part-bg)}
.verdict h1{margin:0;font-size:1.6rem;line-height:1.25}
.verdict p{margin:.4em 0 0}
.verdict.good h1{color:var(--good)}.verdict.bad h1{color:var(--bad)}.verdict.warn h1{color:var(--warn)}
.verdict.part h1{color:var(--part)}
.soft{color:var(--soft)}
section{background:var(--paper);border:1px solid var(--line);border-radius:8px;padding:14px 18px;margin-bottom:16px}
h2{font-size:1.12rem;margin:0 0 .6em}
h3{font-size:1rem;margin:1em 0 .4em}
.cards{display:grid;grid-template-columns:repeat(auto-fit,minmax(165px,1fr));gap:12px;margin-bottom:16px}
.card{background:var(--paper);border:1px solid var(--line);border-radius:8px;padding:10px 14px}
.card b{display:block;font-size:1.3rem;line-height:1.3;font-variant-numeric:tabular-nums}
.card span{display:block;color:var(--soft);font-size:.85rem}
.plots{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(100%,420px),1fr));gap:14px}
figure{margin:0}
figure img{display:block;width:100%;height:auto;border:1px solid var(--line);border-radius:6px}
figcaption{color:var(--soft);font-size:.85rem;margin-top:4px}
.scroll{overflow-x:auto;margin:0 -4px;padding:0 4px}
table{border-collapse:collapse;width:100%;font-size:.9rem}
th,td{text-align:left;padding:5px 10px 5px 0;border-bottom:1px solid var(--line);vertical-align:top}
th{color:var(--soft);font-weight:600;overflow-wrap:normal}
td.n,th.n{text-align:right;padding-right:18px;font-variant-numeric:tabular-nums}
td.n{white-space:nowrap}
tr.sum td{font-weight:700}
ul.plain{list-style:none;margin:0;padding:0}
ul.plain li{padding:7px 0;border-bottom:1px solid var(--line)}
ul.plain li:last-child{border-bottom:0}
.limit{display:grid;grid-template-columns:17em 11em 1fr;gap:2px 14px}
.witness{display:grid;grid-template-columns:8.2em 15em 1fr;gap:4px 14px}
.pill{display:inline-block;border-radius:999px;padding:1px 10px;font-size:.82rem;font-weight:700;white-space:nowrap;
justify-self:start;align-self:start}
.agrees,.yes{color:var(--good);background:var(--good-bg)}
.disagrees,.impossible,.no{color:var(--bad);background:var(--bad-bg)}
.missing{color:var(--warn);background:var(--warn-bg)}
.mark{color:var(--sim);background:var(--sim-bg)}
.published{color:var(--soft);background:var(--code)}
details summary{cursor:pointer;color:var(--soft)}
.facts{font:12.5px/1.45 ui-monospace,"DejaVu Sans Mono",monospace;background:var(--code);border-radius:6px;
padding:8px 10px;margin:6px 0 0;overflow-wrap:anywhere}
.facts div+div{margin-top:6px}
.stage{display:grid;grid-template-columns:7em 1fr 5em;gap:10px;align-items:center;font-size:.9rem;padding:2px 0}
.stage i{display:block;height:10px;border-radius:5px;background:var(--bar);min-width:2px}
.stage span:last-child{text-align:right;font-variant-numeric:tabular-nums}
.two{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(100%,360px),1fr));gap:0 28px}
code{font:12.5px ui-monospace,"DejaVu Sans Mono",monospace;background:var(--code);border-radius:4px;padding:0 4px}
footer{color:var(--soft);font-size:.85rem;padding:4px 2px 24px}
@media (max-width:700px){main{padding:10px}section,.verdict{padding:12px}.verdict h1{font-size:1.15rem}
.witness,.limit{grid-template-columns:1fr}.cards{grid-template-columns:1fr 1fr;gap:8px}.card b{font-size:1.08rem}
.sim{font-size:.85rem}
.scroll thead{display:none}.scroll tr{display:block;padding:6px 0;border-bottom:1px solid var(--line)}
.scroll td,.scroll td.n{display:grid;grid-template-columns:9.5em 1fr;gap:8px;padding:1px 0;border:0;text-align:left;
white-space:normal}
.scroll td:not([data-of]){grid-template-columns:1fr}.scroll td:empty{display:none}
.scroll td[data-of]::before{content:attr(data-of);color:var(--soft)}
.scroll th[scope=row]{display:block;border:0;padding:1px 0}}
@media print{.sim{position:static}body{background:#fff}section{break-inside:avoid}}
"""

_HEAD = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; img-src data:; style-src 'unsafe-inline'">
<link rel="icon" href="data:,">
"""

MACROS = """
{%- macro cells(header, rows, words=1) -%}
<div class="scroll"><table><thead><tr>
{% for name in header %}<th{{ ' class="n"'|safe if loop.index0 >= words }}>{{ name }}</th>{% endfor %}
</tr></thead><tbody>
{% for row in rows %}
<tr>{% for cell in row %}<td data-of="{{ header[loop.index0] }}"{{ ' class="n"'|safe if loop.index0 >= words }}>
{{- cell }}</td>{% endfor %}</tr>
{% endfor %}
</tbody></table></div>
{%- endmacro -%}
{%- macro pairs(entries) -%}
<div class="scroll"><table><tbody>
{% for key, value in entries.items() %}
<tr><th scope="row">{{ key }}</th><td>{{ value|flat }}</td></tr>
{% endfor %}
</tbody></table></div>
{%- endmacro -%}
"""

REPORT = (
    _HEAD
    + """<title>{{ 'SIMULATED - ' if s.simulated }}{{ verdict.state }} - {{ s.run_id }}</title>
<style>{{ style|safe }}</style>
</head>
<body>
{% if s.simulated %}
<div class="sim" role="note">SIMULATED DEVICES &mdash; no statement about hardware</div>
{% endif %}
<main>
<div class="verdict {{ tone }}" id="verdict">
<h1>{{ state }}</h1>
<p>{{ why[:1]|upper }}{{ why[1:] }}</p>
<p><b>{{ headline }}</b></p>
<p class="soft">Run {{ s.run_id }}, {{ s.started or 'unknown' }} to {{ s.finished or 'unknown' }} (UTC)</p>
</div>

<div class="cards">
{% for label, figure, note in cards %}
<div class="card"><span>{{ label }}</span><b>{{ figure }}</b><span>{{ note }}</span></div>
{% endfor %}
</div>

<section id="witnesses">
<h2>Witnesses</h2>
<p class="soft">A run is proven only if every one of these was heard and agrees; only the fabric check and the doctor
may be missing. Where the switch could not be read, the path alone is proven. What is missing is unknown, not good.</p>
{% for decides in (true, false) %}
{% if not decides %}<p class="soft">{{ beside }}</p>{% endif %}
<ul class="plain">
{% for witness in verdict.witnesses if witness.decides == decides %}
<li class="witness"><span class="pill {{ witness.state }}">
{{- 'not read' if witness.state == 'missing' and not decides else witness.state -}}
</span><b>{{ witness.title }}</b>
<span>{{ witness.evidence }}</span></li>
{% endfor %}
</ul>
{% endfor %}
{% if counter_rows %}
<h3>Counters, before and after the training</h3>
{{ cells(counter_header, counter_rows) }}
{% endif %}
</section>

{% if s.doctor is defined and s.doctor %}
<section id="doctor">
<h2>What is wrong</h2>
<p>{{ s.doctor.message }}</p>
{% if doctor_rows %}{{ cells(doctor_header, doctor_rows, 6) }}{% endif %}
{% if doctor_lines %}
<details><summary>what to look at next, and what was not found</summary>
<div class="facts">{% for line in doctor_lines %}<div>{{ line }}</div>{% endfor %}</div></details>
{% endif %}
</section>
{% endif %}

{% if s.problems %}
<section id="problems">
<h2>Problems ({{ s.problems|length }})</h2>
<ul class="plain">
{% for problem in s.problems %}
<li>{{ problem.message }} <code>{{ problem.code }}</code></li>
{% endfor %}
</ul>
</section>
{% endif %}

<section id="plots">
<h2>Plots</h2>
{% if plots %}
<div class="plots">
{% for plot in plots %}
<figure><picture><source media="(prefers-color-scheme: dark)" srcset="{{ plot.dark }}">
<img src="{{ plot.light }}" width="832" height="560" alt="{{ plot.alt }}"></picture>
<figcaption>{{ plot.alt }}</figcaption></figure>
{% endfor %}
</div>
{% else %}
<p>None: {{ no_plots or 'this run has no figures to draw' }}.</p>
{% endif %}
{% if s.throughput_over_time and s.throughput_over_time.reason %}
<p class="soft">Throughput over time: {{ s.throughput_over_time.reason }}.</p>
{% endif %}
</section>

<section id="speed">
<h2>Speed per rank</h2>
{% if s.ranks %}
{% if fold_ranks %}<details><summary>{{ s.ranks }} ranks</summary>{% endif %}
<div class="scroll"><table><thead><tr>
{%- for column in rank_columns %}<th{{ ' class="n"'|safe if column.figure and loop.index0 }}>{{ column.heading }}</th>
{%- endfor %}</tr></thead><tbody>
{% for row in rank_rows %}
<tr>
{%- for text in row %}{% set column = rank_columns[loop.index0] %}
<td{{ ' class="n"'|safe if column.figure and loop.index0 }} data-of="{{ column.heading }}">{{ text }}</td>
{%- endfor %}</tr>
{% endfor %}
<tr class="sum"><td>sum</td><td></td>
<td class="n" data-of="images/s">{{ s.images_per_second.sum_of_ranks|number }}</td>
{{- '<td></td>'|safe * (rank_columns|length - 3) }}</tr>
{% if s.images_per_second.total is not none %}
<tr class="sum"><td>printed</td><td></td>
<td class="n" data-of="images/s">{{ s.images_per_second.total|number }}</td>
{{- '<td></td>'|safe * (rank_columns|length - 3) }}</tr>
{% endif %}
</tbody></table></div>
{% if fold_ranks %}</details>{% endif %}
{% if s.images_per_second.total is none %}
<p>No total was printed: the run did not end normally.</p>
{% elif s.agreement.relative_difference is not none %}
<p>The sum of the ranks {{ 'agrees with' if s.agreement.ok else 'CONTRADICTS' }} the printed total
({{ '%+.2f'|format(100 * s.agreement.relative_difference) }} %, allowed 1 %). Each rank prints the total of all ranks:
totals are not added. The warm-up is left out.</p>
{% endif %}
{% else %}
<p>No rank has a result.</p>
{% endif %}
</section>

{% if fabric_line %}
<section id="fabric">
<h2>Fabric before the job</h2>
<p>{{ fabric_line }}</p>
{% if fabric_rows %}{{ cells(fabric_header, fabric_rows, 4) }}{% endif %}
{% if gpu_rows %}{{ cells(gpu_header, gpu_rows, 12) }}{% endif %}
{% if heat_map %}<figure><img src="{{ heat_map }}" alt="Host against host">
<figcaption>Host against host; also in fabric.svg</figcaption></figure>{% endif %}
</section>
{% endif %}

<section id="limits">
<h2>Limits</h2>
<p class="soft">Computed from what is known of this cluster; nothing is assumed.</p>
<ul class="plain">
{% for limit in s.limits.limits %}
<li class="limit"><span>{{ limit.name }}</span><b>{{ limit.value|figure(limit.unit) }}</b>
<span class="soft">{{ limit.how|replace('unknown, because ', 'because ') }}</span></li>
{% endfor %}
</ul>
{% if known %}
<h3>Known of the cluster</h3>
{{ cells(['', 'value', 'source'], known, 3) }}
{% endif %}
{% if s.limits.comparisons %}
<h3>Measured against them</h3>
<div class="scroll"><table><thead><tr><th>measured</th><th>limit</th><th class="n">value</th>
<th class="n">of limit</th></tr>
</thead><tbody>
{% for entry in s.limits.comparisons %}
<tr><td data-of="measured">{{ entry.what }}</td><td data-of="limit">{{ entry.limit_name }}</td>
<td class="n" data-of="value">{{ entry.achieved|number }} {{ entry.unit }}</td>
<td class="n" data-of="of limit">{{ entry.ratio|percent }}
{%- if entry.exceeded %} <span class="pill no">above</span>{% endif %}</td></tr>
{% endfor %}
</tbody></table></div>
{% endif %}
{% if s.limits.in_words is defined and s.limits.in_words %}
<h3>Is that normal?</h3>
<p class="soft">What others published is no limit of this cluster, and judges nothing.</p>
<ul class="plain">
{% for entry in s.limits.in_words %}<li><b>{{ entry.what }}</b> {{ entry.text }}</li>{% endfor %}
</ul>
{% endif %}
<p>Exposed communication:
{% if s.limits.communication.exposed_share is not none %}{{ s.limits.communication.exposed_share|percent }} of a step,
overlap {{ s.limits.communication.overlap|percent }} ({{ s.limits.communication.how }}).
{% else %}{{ s.limits.communication.how }}.{% endif %}</p>
{% for note in s.limits.notes %}<p class="soft">{{ note }}</p>{% endfor %}
</section>

{% for kind, found, header, rows in benchmarks %}
<section id="benchmark-{{ kind }}">
<h2>Benchmark: {{ kind }} {% if found.simulated %}<span class="pill mark">SIMULATED</span>{% endif %}</h2>
<p class="soft">Backend: {{ found.backend }}.</p>
{% if rows %}{{ cells(header, rows, 2 if kind == 'bandwidth' else 1) }}{% else %}<p>No result.</p>{% endif %}
{% for problem in found.problems %}<p><span class="pill no">problem</span> {{ problem }}</p>{% endfor %}
</section>
{% endfor %}

<section id="layers">
<h2>Layers</h2>
<ul class="plain">
{% for title, layer, found in layers %}
<li><b>{{ title }}</b>
<span class="pill {{ 'yes' if layer.verified else 'no' if layer.verified is not none else 'missing' }}">
{{- 'verified' if layer.verified else 'NOT as wanted' if layer.verified is not none else 'not looked at' }}</span>
{% if layer.changed %}<span class="pill published">changed by this run</span>{% endif %}
{% if layer.simulated %}<span class="pill mark">SIMULATED</span>{% endif %}
{% if layer.changes %}
<details><summary>{{ layer.changes|length }} change{{ 's' if layer.changes|length != 1 }}</summary>
<div class="facts">{% for change in layer.changes %}<div>{{ change }}</div>{% endfor %}</div></details>
{% endif %}
{% if found %}
<details><summary>what was found</summary>
<div class="facts">{% for host, text in found %}<div>{% if host %}<b>{{ host }}</b> {% endif %}{{ text }}</div>
{% endfor %}</div></details>
{% endif %}
</li>
{% endfor %}
</ul>
<p>ESXi hosts rebooted by this run{{ ' (SIMULATED)' if s.simulated }}: {{ s.hosts_rebooted|join(', ') or 'none' }}.</p>
</section>

{% if stages %}
<section id="time">
<h2>Time</h2>
{% for name, spent, share in stages %}
<div class="stage"><span>{{ name }}</span><i style="width:{{ '%.1f'|format(100 * share) }}%"></i>
<span>{{ spent|number(1) }} s</span></div>
{% endfor %}
</section>
{% endif %}

{% if s.workload or s.versions %}
<section id="workload">
<div class="two">
{% if s.workload %}<div><h2>Workload</h2>{{ pairs(s.workload) }}</div>{% endif %}
{% if s.versions %}<div><h2>Versions</h2>{{ pairs(s.versions) }}</div>{% endif %}
</div>
</section>
{% endif %}
<footer>rocemesh.multinode. Everything on this page is in summary.json, format {{ s.format }}.</footer>
</main>
</body>
</html>
"""
)

COMPARE = (
    _HEAD
    + """<title>{{ t.title }}</title>
<style>{{ style|safe }}</style>
</head>
<body>
{% if t.simulated %}
<div class="sim" role="note">SIMULATED DEVICES in {{ t.simulated }} of the rows &mdash; no statement about
hardware</div>
{% endif %}
<main>
<div class="verdict {{ 'warn' if t.simulated or t.problems else 'good' }}"><h1>{{ t.title }}</h1>
<p>{{ t.line }}</p></div>
{% if t.problems %}
<section><h2>Problems ({{ t.problems|length }})</h2><ul class="plain">
{% for problem in t.problems %}<li>{{ problem }}</li>{% endfor %}
</ul></section>
{% endif %}
{% for part in t.parts %}
<section>
<h2>{{ part.title }}</h2>
{% if part.note %}<p class="soft">{{ part.note }}</p>{% endif %}
<div class="scroll"><table><thead><tr>
{% for name in part.header %}<th{{ ' class="n"'|safe if loop.index0 in part.figures }}>{{ name }}</th>{% endfor %}
</tr></thead><tbody>
{% for row in part.rows %}
<tr>{% for cell in row.cells %}
<td data-of="{{ part.header[loop.index0] }}"{{ ' class="n"'|safe if loop.index0 in part.figures }}>{{ cell }}
{%- if loop.first and row.mark %}
 <span class="pill {{ 'mark' if row.simulated else 'published' }}">{{ row.mark }}</span>
{% endif %}</td>{% endfor %}</tr>
{% endfor %}
</tbody></table></div>
</section>
{% endfor %}
{% if t.sources %}
<section><h2>Sources of the published figures</h2><ul class="plain">
{% for source in t.sources %}<li>{{ source }}</li>{% endfor %}
</ul></section>
{% endif %}
</main>
</body>
</html>
"""
)
