"""From signs to an answer: which causes fit, which only follow from others, what to look at next. Pure."""

from __future__ import annotations

import collections
import dataclasses
import re
from typing import Any, Iterable

from .._judge.conditions import Condition, release
from .._judge.packs.model import CANDIDATE, CERTAINTIES, ECHO, FACT, FAULT, HARMLESS, PROVEN, Rule
from .alarms import alarms
from .catalogue import catalogue, listed
from .clocks import put_first
from .comparing import REPORTED, compare
from .completeness import CANNOT_TELL, FAULTY, HEALTHY, NO_FAULT_SEEN, ended_well, ends, gaps
from .fabric import SOUND
from .job_output import Gap, JobOutput
from .questions import SILENT, STOPPED, Question, general, rank
from .ranking import SYMPTOMS, explained, fault_line, one_per_layer, order
from .reading import MILD, PER_FORM, Hit, Reading
from .suspect import Suspect
from .topics import with_topics

_OWN = re.compile(r"(?:^|/)(?:hosts|containers)/")
_ELSEWHERE = re.compile(r"(?:^|/)(?:switches|esxi|vms)/")
_FIGURES = re.compile(r"\w*\d[\w.]*")  # lines that differ in these alone are shown once
_SHOWN = 8  # findings of an answer
_CANDIDATES = 2  # of a log in which nothing is certain
_GAPS = 16
_HOSTS = 64  # that a finding names
_VAGUE = 0.3
_UNSPECIFIC = 0.5
_RUN = 3  # cost from which a question takes a job
_CLUE = 4.0  # what a fact makes suspect goes before what a symptom does
_LEFT = 0.3  # of the best candidate's weight: less is as good as excluded
_BEGUN, _DONE = "init_start", "init_end"
_LINES_OF_A_FIELD = 3  # fewer lines were chosen by a person
NOT_MY_FIELD = "Not my field: no word of GPUs, RDMA, MPI, training or their machines is in it."


def answer(
    reading: Reading,
    notes: Iterable[str] = (),
    read: Iterable[str] = (),
    looked: Iterable[str] = (),
    partial: Iterable[str] = (),
) -> dict[str, Any]:
    """What the module returns: verdict, findings, next, asked. ``read``: names of all pieces; ``looked``: commands that
    were run though they printed nothing; ``partial``: pieces that were not read to their end."""
    _name_ranks(reading)
    lacking = gaps(reading.jobs, partial, SOUND.name in reading.seen)
    slow = {gap.file for gap in lacking if gap.code == "figure"}
    _forget(reading, slow)
    aside = _aside(reading, slow)
    found = [finding for finding in _findings(reading) if not _noted_only(finding, aside, reading)]
    silenced = _silenced(reading.seen) | aside
    kinds = collections.Counter(seen.sign.kind for name, seen in reading.seen.items() if name not in silenced)
    known = any(record.ends for record in reading.jobs) or any(kinds[kind] for kind in HARMLESS)
    own = reading.seen.keys() - set(listed("general"))
    known = known or (reading.field and not reading.spoken)
    of_field = reading.field or (known and own and not kinds[FAULT] and not kinds[ECHO])
    if of_field or reading.lines < _LINES_OF_A_FIELD:
        found = _about(found, reading)
    else:
        # Any program loses connections and memory: without a word of the field that names no cause.
        found = [finding for finding in found if finding.certainty != CANDIDATE or not _of_any_trade(finding, reading)]
        notes = [*notes, *([] if found else [NOT_MY_FIELD])]
    if JobOutput.ONE_HOST.name in reading.seen:
        found = [each for each in found if each.certainty != CANDIDATE or each.cause.layer not in listed("between")]
    against = [(finding, _against(finding, reading.seen)) for finding in found]
    found = [finding for finding, hit in against if not hit]
    notes = [*notes, *(f"Not {one.cause.id}: {hit.file}:{hit.line}: {hit.quote}" for one, hit in against if hit)]
    done = _looked(reading, read, looked)
    certain = [finding for finding in found if finding.certainty != CANDIDATE]
    stopped = _BEGUN in reading.seen and _DONE not in reading.seen and not found
    troubled = reading.troubled()
    shown = _shown(found, certain, reading)
    trouble = shown or troubled or kinds[FAULT] or kinds[ECHO] or stopped or NOT_MY_FIELD in notes
    forms = {_FIGURES.sub("", hit.quote): hit for hit in reversed([*reading.alarms, *reading.open_hints()])}
    unread = [*reversed(forms.values())]
    lacking += [Gap("line", f"what this line means: {hit.quote}", hit.file, hit.line) for hit in unread]
    verdict = FAULTY if certain else CANNOT_TELL if trouble or not known else NO_FAULT_SEEN if lacking else HEALTHY
    open_causes = _open(found, reading, done)
    questions = _questions(open_causes, done)
    settled = _settled(found, open_causes, reading)
    if verdict == CANNOT_TELL:
        failed = bool(kinds[FAULT] or kinds[ECHO] or troubled)
        questions = [*([STOPPED] if stopped else []), *questions, *general(failed, reading.nccl)]
    elif verdict == NO_FAULT_SEEN and any(gap.code != "job" for gap in lacking):
        questions = general(False, reading.nccl)
    # What would have helped and was not there.
    asked = [text for text, names in listed("wanted").items() if not any(name in reading.seen for name in names)]
    line = shown[0].hits[0] if shown and shown[0].hits else fault_line(reading)
    return {
        "verdict": verdict,
        "settled": settled,
        "findings": [finding.as_dict() for finding in shown],
        "line": line.as_dict() if line and verdict in (FAULTY, CANNOT_TELL) else {},
        "next": [dataclasses.asdict(question) for question in questions] if verdict != HEALTHY else [],
        "asked": asked if verdict not in (HEALTHY, NO_FAULT_SEEN) else [],
        "shown": ends(reading.jobs),
        "not_shown": [dataclasses.asdict(gap) for gap in lacking[:_GAPS]] if verdict == NO_FAULT_SEEN else [],
        "unknown": [hit.as_dict() for hit in unread],
        "notes": [*notes, *_skipped(reading)],
        "lines": reading.lines,
    }


def _shown(found: list[Suspect], certain: list[Suspect], reading: Reading) -> list[Suspect]:
    """Of a log, what is certain, else two candidates that a line is specific to; of machines that were read one by one,
    what each has."""
    if any(hit.placed for finding in found for hit in finding.hits):
        return found[:_SHOWN]
    if certain or reading.machines or not reading.printed:
        return certain[:_SHOWN] or found[:_CANDIDATES]
    first = [each for each in found[:1] if reading.spoken or each.rules[0].id.startswith("topic_")]
    return [each for each in found if each in first or _borne(each, reading.seen)][:_CANDIDATES]


def _borne(finding: Suspect, seen: Any) -> bool:
    """A line speaks for this cause, other than what any program prints that fails or suffers; for a cause that a rule
    only thinks of as well, one that says more than that something fails."""
    for rule in finding.rules:
        said = {name for name in rule.names if name in seen and seen[name].sign.kind != ECHO} - set(listed("bare"))
        if said and (rule.causes[0] == finding.cause.id or not said <= set(listed("unspecific"))):
            return True
    return False


def _findings(reading: Reading) -> list[Suspect]:
    seen = reading.seen
    table: dict[str, Suspect] = {}
    fired = [rule for rule in catalogue().rules if _fires(rule, seen)]
    heard = {name for rule in fired for name in rule.names}
    if any(seen[name].sign.kind != ECHO for name in heard if name in seen):
        # A sign that only reports another's failure counts if there is no other sign.
        faults = {name for name, entry in seen.items() if entry.sign.kind == FAULT}
        louder = [rule for rule in fired if any(faults.intersection(group) for group in rule.needed)]
        echoes = [rule for rule in fired if rule not in louder]
        fired = louder or fired
    else:
        echoes = []
    telling = [rule for rule in fired if _told(rule, seen)]
    explicit = [rule for rule in fired if not _vague(rule, seen)] if _places(seen) else []
    plain = [rule for rule in fired if not _vague(rule, seen) and not _unspecific(rule, seen)]
    specific = bool(plain) and any(_unspecific(rule, seen) for rule in fired)
    for rule in fired:
        named = [seen[name] for name in rule.names if name in seen]
        hits = sorted((hit for entry in named for hit in _of_hosts(entry)), key=lambda hit: _loudness(hit, seen))
        reported = rule in telling
        strength = len(rule.needed) + sum(hit.device != "" or hit.host != "" for hit in hits[:1]) * 0.01
        if explicit and _vague(rule, seen):
            strength *= _VAGUE
        elif specific and _unspecific(rule, seen):
            strength *= _UNSPECIFIC
        for place, cause in enumerate(rule.causes):
            weight = strength - 0.15 * place + (REPORTED if reported and place == 0 else 0)
            certainty = min(rule.certainty, rule.reported if reported else CANDIDATE, key=CERTAINTIES.index)
            certain = certainty if place == 0 else CANDIDATE
            _enter(table, cause, hits, rule, certainty=certain, weight=weight, reported=reported and place == 0)
            table[cause].first = table[cause].first or (
                place == 0 and (rule in explicit or (specific and rule in plain))
            )
            if place == 0:
                _note_releases(table[cause], rule, seen)
            if place == 0 and rule in explicit and not reported:
                table[cause].said += [hit.host for hit in hits if hit.host and seen[hit.sign].sign.kind == FAULT]
    compare(reading, table)
    for finding in table.values():
        put_first(finding, seen)
    return one_per_layer(explained(sorted(table.values(), key=order), echoes, reading))


def _about(found: list[Suspect], reading: Reading) -> list[Suspect]:
    """Where no rule is certain: what the lines are about as well. Not where devices speak for themselves."""
    if _places(reading.seen) or any(finding.certainty != CANDIDATE for finding in found):
        return found
    named = any(
        not (_unspecific(rule, reading.seen) or _vague(rule, reading.seen))
        for finding in found
        for rule in finding.rules
    )
    return one_per_layer(found if named else with_topics(found, reading, fault_line(reading)))


def _of_any_trade(finding: Suspect, reading: Reading) -> bool:
    faults = {hit.sign for hit in finding.hits if reading.seen[hit.sign].sign.kind != FACT}
    return reading.lines > _LINES_OF_A_FIELD and faults <= set(listed("general"))


def _against(finding: Suspect, seen: Any) -> Hit | None:
    """What was read of the hosts and refutes it. What is proven, or what a device reports of itself, is not refuted."""
    if finding.certainty == PROVEN or finding.reported or finding.odd:
        return None
    kinds = {hit: seen[hit.sign].sign.kind if hit.sign in seen else FAULT for hit in finding.hits}
    said = {hit.host for hit, kind in kinds.items() if hit.host and kind != FACT}
    for rule in finding.cause.refuted_by:
        if _fires(rule, seen):
            names = [name for name in rule.names if name in seen]
            hits: list[Hit] = [
                hit for name in names if seen[name].sign.kind != FAULT for hit in seen[name].hosts.values()
            ]
            if finding.cause.layer == "container":  # what a host reads is no word about its containers
                hits = [hit for hit in hits if "hosts" not in hit.file.split("/")]
            read = {hit.host for hit in hits if hit.host and not _ELSEWHERE.search(hit.file)}
            if hits and (not read or said <= read):
                return hits[0]
    return None


def _name_ranks(reading: Reading) -> None:
    """A line that names its rank alone is of the host that has this rank."""
    for seen in reading.seen.values() if reading.ranks else ():
        for place, hit in enumerate(seen.hits):
            if not hit.host and hit.rank in reading.ranks:
                named = dataclasses.replace(hit, host=reading.ranks[hit.rank])
                seen.hits[place] = named
                seen.hosts.setdefault(named.host, named)


def _forget(reading: Reading, slow: set[str]) -> None:
    """Drop what is no trouble where a job came to its end and is not ``slow``: the word "hang", and what was said
    before that end in lines that their program itself calls no trouble, or that warn of a slow job."""
    well = ended_well(reading.jobs) - slow
    ends = {record.file: record.outlived for record in reading.jobs if record.file in well}
    for name, entry in list(reading.seen.items()):
        hits = [*entry.hits, *entry.hosts.values(), *entry.last]
        mild = all(hit.line <= ends.get(hit.file, 0) and (name == "slow" or MILD.search(hit.quote)) for hit in hits)
        if entry.sign.kind == FAULT and (mild or (name == "hang" and {hit.file for hit in hits} <= well)):
            del reading.seen[name]


def _aside(reading: Reading, slow: set[str]) -> set[str]:
    """Faults that NCCL tells without a word of trouble, where no line has one and no job was seen at work."""
    faults = {name: entry for name, entry in reading.seen.items() if entry.sign.kind == FAULT}
    notes = {
        name
        for name, entry in faults.items()
        if all("NCCL INFO" in hit.quote and not alarms().in_line(alarms().bare(hit.quote)) for hit in entry.hits)
    }
    echoes = any(entry.sign.kind == ECHO for entry in reading.seen.values())
    work = slow or reading.machines or any(job.network for job in reading.jobs)
    return set() if work or echoes or faults.keys() - notes or reading.troubled() else notes


def _noted_only(finding: Suspect, aside: set[str], reading: Reading) -> bool:
    """Which address NCCL takes, right or wrong, it says nowhere else."""
    seen = [reading.seen[hit.sign].sign for hit in finding.hits if hit.sign in reading.seen]
    faults = {sign.name for sign in seen if sign.kind == FAULT}
    return bool(faults) and faults <= aside and finding.cause.layer not in listed("between")


def _looked(reading: Reading, read: Iterable[str], looked: Iterable[str]) -> frozenset[str]:
    """Commands whose output is there."""
    names = list(read)
    return frozenset(looked) | {
        look.id
        for look in catalogue().looks
        if any(look.printed(name) for name in names) or any(name in reading.seen for name in look.heard)
    }


def _open(found: list[Suspect], reading: Reading, done: frozenset[str]) -> dict[str, float]:
    """Causes that it may be, with their weights. Where a job only suffers, what one suspects then; what a command would
    have shown and did not is as good as excluded."""
    seen = reading.seen
    plain = [finding for finding in found if any(_plain(rule, seen) for rule in finding.rules)]
    weights = {finding.cause.id: finding.weight for finding in plain or found}
    if not plain:
        suffered = {listed("suffers")[name] for name in seen if name in listed("suffers")}
        clues = [listed("clues")[name] for name in seen if name in listed("clues")]
        weights = dict(
            next((listed("suspects")[symptom] for symptom in listed("suspects") if symptom in suffered), weights)
        )
        for clue in clues:
            weights |= {cause: _CLUE * weight for cause, weight in clue.items()}
    reported = {finding.cause.id for finding in found if finding.reported or finding.certainty != CANDIDATE}
    kept = reported | {finding.cause.id for finding in plain[:1]}
    hidden = _hidden(found, reading) - reported
    if hidden and found[0].reported and any(_left(cause, done) >= _LEFT for cause in hidden):
        # The device says what it sees: only what would look the same is still to be asked for.
        return dict.fromkeys(hidden, found[0].weight)
    if hidden:
        weights |= dict.fromkeys(hidden, found[0].weight)
    return {cause: weight if cause in kept else weight * _left(cause, done) for cause, weight in weights.items()}


def _left(cause: str, done: frozenset[str]) -> float:
    """How likely it is still, where the commands that were run did not show it."""
    left = 1.0
    for look in catalogue().looks:
        if look.id in done:
            left *= 1 - look.shows.get(cause, 0.0)
    return max(SILENT, left)


def _hidden(found: list[Suspect], reading: Reading) -> set[str]:
    """What would look the same from the host."""
    if not found or found[0].certainty != CANDIDATE or found[0].cause.layer not in ("cabling", "host_routing"):
        return set()
    return {cause for name, cause in listed("behind").items() if name in reading.seen}


def _plain(rule: Rule, seen: Any) -> bool:
    """A line says in words what fails: more than what a job suffers whatever it is."""
    return any(seen[name].sign.kind == FAULT and name not in listed("suffers") for name in rule.names if name in seen)


def _questions(causes: dict[str, float], done: frozenset[str]) -> list[Question]:
    looks: dict[str, dict[Question, float]] = {}
    for cause in causes:
        ready = [look for look in catalogue().looks if cause in look.shows]
        looks[cause] = {
            Question(look.where, look.run, look.cost, look.id): look.shows[cause]
            for look in ready
            if look.id not in done
        }
        own = catalogue().causes[cause]
        if not ready or own.cost >= _RUN:
            looks[cause][Question(own.where, own.look, own.cost)] = 1.0
    return rank(causes.items(), looks)


def _settled(found: list[Suspect], causes: dict[str, float], reading: Reading) -> str:
    """The one cause that is left: certain, said by the device itself, or the only one that no command has excluded."""
    if not found:
        return ""
    first = found[0]
    if first.certainty != CANDIDATE or first.reported:
        hidden = _hidden(found, reading)
        return "" if any(causes.get(cause, 0.0) >= first.weight * _LEFT for cause in hidden) else first.cause.id
    best = max(causes.values(), default=0.0)
    left = [cause for cause, weight in causes.items() if weight >= best * _LEFT]
    plain = any(_plain(rule, reading.seen) for rule in first.rules)
    return first.cause.id if plain and left == [first.cause.id] else ""


def _enter(
    table: dict[str, Suspect], cause: str, hits: list[Hit], rule: Rule, *, certainty: str, weight: float, reported: bool
) -> None:
    entry = table.setdefault(cause, Suspect(catalogue().causes[cause], CANDIDATE, 0.0, [], []))
    entry.weight = max(entry.weight, weight) + 0.3 * min(entry.weight, weight)
    entry.certainty = min(entry.certainty, certainty, key=CERTAINTIES.index)
    # What the device reports of itself goes before what others say of it.
    entry.hits = list(dict.fromkeys([*hits, *entry.hits] if reported and not entry.reported else [*entry.hits, *hits]))
    entry.rules.append(rule)
    entry.reported = entry.reported or reported


def _places(seen: Any) -> bool:
    """The bundle tells of its pieces whose they are: then nearly every fault is reported in plain words."""
    return any(hit.placed for entry in seen.values() for hit in entry.hits)


def _of_hosts(seen: Any) -> list[Hit]:
    """A few hits, and the first of each host."""
    return list(dict.fromkeys([*seen.hits[:2], *list(seen.hosts.values())[:_HOSTS]]))


def _loudness(hit: Hit, seen: Any) -> int:
    return 2 * int(seen[hit.sign].sign.kind != FAULT) + int(not hit.placed)


def _told(rule: Rule, seen: Any) -> bool:
    """Every fault that it rests on was said by a device itself, in a piece of its own."""
    if _vague(rule, seen):
        return False
    faults = [
        [seen[name] for name in group if name in seen and seen[name].sign.kind == FAULT and name not in SYMPTOMS]
        for group in rule.needed
    ]
    return any(faults) and all(
        any(hit.placed for entry in group for hit in entry.hosts.values()) for group in faults if group
    )


def _vague(rule: Rule, seen: Any) -> bool:
    """It rests on nothing but what a suffering job says, whatever the fault is."""
    names = {name for name in rule.names if name in seen}
    return all(seen[name].sign.kind != FAULT or name in SYMPTOMS for name in names)


def _unspecific(rule: Rule, seen: Any) -> bool:
    """None of its faults is more than a word for trouble."""
    faults = {name for name in rule.names if name in seen and seen[name].sign.kind == FAULT}
    return bool(faults) and faults <= set(listed("unspecific"))


def _fires(rule: Rule, seen: Any) -> bool:
    if not all(any(name in seen for name in group) for group in rule.needed):
        return False
    if not all(_holds(condition, rule, seen) for condition in rule.conditions):
        return False
    speaking = [name for name in rule.excluded if name in seen]
    if not speaking:
        return True
    needed = {name for name in rule.names if name in seen} - SYMPTOMS
    here = _own_hosts(needed, seen)
    return bool(here) and all(_own_hosts({name}, seen) and not _own_hosts({name}, seen) & here for name in speaking)


def _note_releases(entry: Suspect, rule: Rule, seen: Any) -> None:
    """The release that mends all that is read."""
    for condition in rule.conditions:
        product = seen[condition.name].sign.product
        known = entry.releases.get(product)
        if product and condition.way == "<" and (not known or release(known[0]) < release(condition.value)):
            entry.releases[product] = (condition.value, _values(condition.name, rule, seen)[0])


def _holds(condition: Condition, rule: Rule, seen: Any) -> bool:
    if condition.name == condition.value:
        values = [value for _host, value in seen[condition.name].values]
        return len(values) > 1 and condition.holds(values, values)
    return condition.holds(_values(condition.name, rule, seen), _values(condition.value, rule, seen))


def _values(name: str, rule: Rule, seen: Any) -> list[str]:
    """Of the hosts that say what is wrong; of all where these read nothing, or are not known."""
    heard = [seen[sign] for sign in rule.names if sign in seen]
    said = {host for entry in heard if entry.sign.kind != FACT for host in entry.hosts}
    values = list(seen[name].values) if name in seen else []
    return [value for host, value in values if host in said] or [value for _host, value in values]


def _silenced(seen: Any) -> set[str]:
    """Signs of which every rule gives way to a fact that was read."""
    heard: set[str] = set()
    kept: set[str] = set()
    for rule in catalogue().rules:
        names = {name for name in rule.names if name in seen}
        facts = any(name in seen and seen[name].sign.kind == FACT for name in rule.excluded)
        (kept if facts and not _fires(rule, seen) else heard).update(names)
    return kept - heard


def _own_hosts(names: Iterable[str], seen: Any) -> set[str]:
    """Hosts that say of themselves what these signs hear: what one of them says is no word about another. Empty where
    another host says it, or the host is not known."""
    hits = [hit for name in names if seen[name].sign.kind == FAULT for hit in _of_hosts(seen[name])]
    return (
        {hit.host for hit in hits} if all(hit.placed and hit.host and _OWN.search(hit.file) for hit in hits) else set()
    )


def _skipped(reading: Reading) -> list[str]:
    text = f"{reading.skipped} forms of lines (alike but for their figures) were read {PER_FORM} times each"
    return [text] if reading.skipped else []
