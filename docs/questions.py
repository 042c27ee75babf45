"""Write docs/questions.md: how many commands the doctor asks for. Plays the whole fault gym, about half a minute.

PYTHONPATH=collections:. .venv/bin/python docs/questions.py
"""

from __future__ import annotations

import collections
from pathlib import Path

from ansible_collections.rocemesh.multinode.plugins.module_utils._doctor.catalogue import catalogue
from ansible_collections.rocemesh.multinode.plugins.module_utils._judge.packs.model import SURELY

from lab.gym import questions
from lab.gym.faults import FAULTS

PAIRS = 300
Games = list[tuple[questions.Game, questions.Game]]
_SYMPTOMS = {
    "slow": "half the bandwidth",
    "retry": "completion error 12: no acknowledgement",
    "gone": "connection closed by the peer",
    "hang": "a watchdog's timeout",
    "": "the log says it itself",
}
_HEAD = """\
# How well the doctor asks

<!-- made from the fault gym by docs/questions.py: change plugins/module_utils/_judge/packs/looks.yml -->

One starts with the job's log alone, as ranks print it. A command is one line, run once on all machines of one
kind; its output is what the site with this fault prints (SIMULATED, `lab/gym`). It ends when the doctor says
that one cause is left (`settled`): certain, said by the device itself, or the only one that no command
excluded. "Check list" runs the same commands from top to bottom of the second table, and ends in the same way.
"Right": the cause that is named then is a fault that was set, at its place.

"""


def _row(name: str, games: Games) -> str:
    asked, fixed = (sum(len(game[way].asked) for game in games) / len(games) for way in (0, 1))
    most = max(len(game.asked) for game, _fixed in games)
    right = sum(game.right for game, _fixed in games)
    return f"| {name} | {len(games)} | {asked:.2f} | {most} | {fixed:.2f} | {right} |\n"


def play() -> Games:
    """Every fault, and pairs, both ways."""
    return [(questions.play(faults), questions.play(faults, check_list=True)) for faults in questions.sets(PAIRS)]


def table(games: Games) -> str:
    """The page."""
    singles, pairs = games[: len(FAULTS)], games[len(FAULTS) :]
    by_symptom = collections.defaultdict(list)
    for game in singles:
        by_symptom[game[0].symptom].append(game)
    text = _HEAD
    text += (
        "| what the log says | sets | commands, mean | most | check list, mean | right |\n|---|--:|--:|--:|--:|--:|\n"
    )
    text += "".join(_row(_SYMPTOMS[symptom], by_symptom[symptom]) for symptom in _SYMPTOMS)
    text += _row("**each fault alone**", singles) + _row("**random pairs**", pairs) + _row("**all**", games)
    text += "\n## The commands\n\n| name | where | command | cost | shows |\n|---|---|---|--:|---|\n"
    for look in catalogue().looks:
        shows = ", ".join(cause if chance == SURELY else f"{cause} (often)" for cause, chance in look.chances.items())
        run = look.run.replace("|", "\\|")
        text += f"| `{look.id}` | {look.where} | `{run}` | {look.cost} | {shows} |\n"
    return text


if __name__ == "__main__":
    Path(__file__).with_suffix(".md").write_text(table(play()), encoding="utf-8")
