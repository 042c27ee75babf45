"""What a rule is made of: of the doctor, and of a failed run. Pure data types.

A *sign* is something that a line says. A *cause* is what may be wrong, where one looks, and what puts it right. A
*rule* joins signs to causes.

How sure a rule may be. ``proven``: the line states the cause with its figures (a limit and the value above it).
``likely``: the line states the cause, or two facts that do not follow from each other agree. Everything else is a
``candidate``: a single message that several faults print names none of them.

*Conditions* are on what signs read: ``release_nccl<2.26.5``, ``crash_frame~ncclCommAbort``; NAME WAY VALUE without a
space. Figures and releases are compared number by number; ``~`` searches a pattern. VALUE may be a sign, too: ``==``
holds if all values of both are equal, ``=`` if one is, ``!=`` if two of them differ. Any other condition holds if it
does for one value. NAME==NAME and NAME!=NAME compare hosts.
"""

from __future__ import annotations

import dataclasses
import functools
import operator
import re
from typing import Any, Callable, Mapping, Match, Pattern, Sequence

PROVEN, LIKELY, CANDIDATE = "proven", "likely", "candidate"
CERTAINTIES = (PROVEN, LIKELY, CANDIDATE)

# Kinds of signs. A fault is trouble by itself; a fact means something only beside others; an echo says that another
# process failed; normal looks like trouble and is none:
# it silences the line. Quiet silences as well, but a failing system prints it, too: it is no good word. Good is what a
# working system prints; it silences nothing.
FAULT, FACT, ECHO, NORMAL, QUIET, GOOD = SIGNS = "fault", "fact", "echo", "normal", "quiet", "good"
HARMLESS = (NORMAL, QUIET, GOOD)

# Kinds of machines, and where a look runs.
GUEST, CONTAINER, SWITCH, ESXI, VM, JOB = "hosts", "containers", "switches", "esxi", "vms", "job"
PLACES = {
    GUEST: "on the hosts",
    CONTAINER: "in the containers, by way of docker exec",
    SWITCH: "on the switch",
    ESXI: "on the ESXi hosts",
    VM: "on the ESXi hosts, in the folders of the VMs",
    JOB: "in what the job printed",
}
# How likely a cause is in the output of a look that can show it.
SURELY, OFTEN = 0.9, 0.4

_FORM = re.compile(r"(?P<name>\w+)(?P<way><=|>=|==|!=|[<>=~])(?P<value>\S+)")
COMPARE: dict[str, Callable[[Any, Any], bool]] = {
    "<": operator.lt, ">": operator.gt, "<=": operator.le, ">=": operator.ge, "==": operator.eq, "!=": operator.ne,
    "=": operator.eq,
}  # fmt: skip


@dataclasses.dataclass(frozen=True)
class Look:
    """A read-only command that decides between several causes, as `looks.yml` has it."""

    id: str
    place: str
    run: str
    pieces: Sequence[str]
    shows: Sequence[str]
    may_show: Sequence[str] = ()
    heard: Sequence[str] = ()
    cost: int = 1

    @property
    def where(self) -> str:
        return PLACES[self.place]

    @functools.cached_property
    def chances(self) -> Mapping[str, float]:
        """Cause -> how likely it is in the output."""
        return {**dict.fromkeys(self.shows, SURELY), **dict.fromkeys(self.may_show, OFTEN)}

    def printed(self, name: str) -> bool:
        """Whether a piece of this name is what it prints."""
        folder, _slash, file = name.rpartition("/")
        if folder.split("/")[0] != self.place:
            return False
        return "*" in self.pieces or file in self.pieces or file.rpartition(".")[0] in self.pieces


@dataclasses.dataclass(frozen=True, eq=False)  # one object for each name: nothing compares their patterns
class Sign:
    """A line matches ``text``; if there is a ``test``, its figures do, too. The group ``value`` is compared between
    hosts, ``host`` and ``device`` say where. ``piece``: heard only in pieces whose name has this. ``alone``: what wraps
    any error; heard only where nothing else on its line says more; as a topic, what any suffering machine says.
    ``product``: whose release it reads. ``ended``: heard only in a job that is known to have ended well. ``again``: it
    works again, so far; of what is below it, it says nothing."""

    name: str
    text: str
    kind: str = FAULT
    test: Callable[[Match[str]], bool] | None = None
    piece: Pattern[str] | None = None
    alone: bool = False
    product: str = ""
    ended: bool = False
    again: bool = False

    @functools.cached_property
    def pattern(self) -> Pattern[str]:
        return re.compile(self.text, re.IGNORECASE)  # when first asked: few of them are, of most texts

    def heard(self, text: str) -> Match[str] | None:
        match = self.pattern.search(text)
        return match if match is None or self.test is None or self.test(match) else None


def groups_of(match: Match[str] | None) -> dict[str, str]:
    """What a pattern took out of a line: its groups ``host``, ``host2`` of several alternatives are one ``host``."""
    found = match.groupdict() if match else {}
    return {name.rstrip("0123456789"): text for name, text in found.items() if text}


@dataclasses.dataclass(frozen=True)
class Condition:
    name: str
    way: str
    value: str

    def holds(self, values: Sequence[str], others: Sequence[str]) -> bool:
        """``others``: values of the sign that ``value`` names; empty if it names none."""
        if self.way == "~":
            return any(re.search(self.value, text, re.IGNORECASE) for text in values)
        pairs = [(release(one), release(two)) for one in values for two in others or (self.value,)]
        if self.way not in ("==", "=", "!="):
            pairs = [pair for pair in pairs if all(isinstance(each[0], int) for each in pair)]
        found = [COMPARE[self.way](*pair) for pair in pairs]
        return bool(found) and (all(found) if self.way == "==" else any(found))


def parse(word: str) -> Condition | None:
    """None for the name of a sign."""
    found = _FORM.fullmatch(word)
    return Condition(**found.groupdict()) if found else None


def release(text: str) -> tuple[object, ...]:
    """As it is compared: number by number; a text without numbers is only equal or not."""
    return tuple(map(int, re.findall(r"\d+", text))) or (text,)


@dataclasses.dataclass(frozen=True)
class Rule:
    """``when``: names of signs; "a|b" either of them, "!a" not; conditions. ``causes``: most probable first.
    ``explains``: signs that follow from it; echoes always do. ``reported``: how sure if the device's own piece says it.
    ``fix``: in place of the first cause's. ``summary``, ``remedy``: of a failed run, whose own cause is the ``id``."""

    id: str
    when: str
    causes: tuple[str, ...]
    source: str
    certainty: str = CANDIDATE
    explains: tuple[str, ...] = ()
    reported: str = CANDIDATE
    fix: str = ""
    summary: str = ""
    remedy: str = ""

    @functools.cached_property
    def conditions(self) -> tuple[Condition, ...]:
        return tuple(filter(None, map(parse, self.when.split())))

    @functools.cached_property
    def needed(self) -> tuple[tuple[str, ...], ...]:
        words = [word for word in self.when.split() if not word.startswith("!") and not parse(word)]
        return (*(tuple(word.split("|")) for word in words), *((condition.name,) for condition in self.conditions))

    @functools.cached_property
    def names(self) -> tuple[str, ...]:
        return tuple(name for group in self.needed for name in group)

    @functools.cached_property
    def excluded(self) -> tuple[str, ...]:
        return tuple(name for word in self.when.split() if word.startswith("!") for name in word[1:].split("|"))


@dataclasses.dataclass(frozen=True)
class Cause:
    """``look``: where, and the read-only command that decides; ``cost`` 1 one look here, 2 another machine or root,
    3 a short job, 5 something that needs a window. ``refuted_by``: what speaks against it where it is a candidate."""

    id: str
    layer: str
    means: str
    where: str
    look: str
    fix: str
    source: str
    role: str = ""
    interrupts: str = "nothing"
    cost: int = 1
    refuted_by: tuple[Rule, ...] = ()
