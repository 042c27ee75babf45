"""From signs to an answer: which causes fit, which only follow from others, what to look at next. Pure."""

from __future__ import annotations

import collections
import dataclasses
import re
from typing import Any, Iterable

from .._judge.packs.loader import form
from .._judge.packs.model import CANDIDATE, CERTAINTIES, ECHO, FACT, FAULT, HARMLESS, PROVEN, Rule, release
from .alarms import alarms, bare, says
from .catalogue import catalogue, listed
from .completeness import CANNOT_TELL, FAULTY, HEALTHY, NO_FAULT_SEEN, gaps
from .pace import Gap
from .questions import general, looks_done, open_causes, settled, to_ask
from .ranking import explained, fault_line, one_per_layer, order, own_words, with_topics
from .reading import PER_FORM, Reading
from .seen import Heard, Hit
from .suspect import REPORTED, Suspect, compare, put_first

_ELSEWHERE = re.compile(r"(?:^|/)(?:switches|esxi|vms)/")
_FIGURES = re.compile(r"\w*\d[\w.]*")  # lines that differ in these alone are shown once
_SHOWN = 8  # findings of an answer
_CANDIDATES = 2  # of a log in which nothing is certain
_GAPS = 16
_ENDS = 8  # of jobs, that are shown
_VAGUE = 0.3
_UNSPECIFIC = 0.5
_OUTLIVED = ("hang", "nccl_trail")
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
    lacking = gaps(reading.jobs, partial, "checked_sound" in reading.seen)
    broken = [gap for gap in lacking if gap.code in ("figure", "wrong_values")]
    slow = {gap.file for gap in broken if gap.code == "figure"}
    _forget(reading, slow)
    aside = _aside(reading, slow)
    found = [finding for finding in _findings(reading) if not _noted_only(finding, aside, reading)]
    silenced = _silenced(reading.seen) | aside
    kinds = collections.Counter(seen.sign.kind for name, seen in reading.seen.items() if name not in silenced)
    known = any(record.ends for record in reading.jobs) or any(kinds[kind] for kind in HARMLESS)
    common = {name for name, seen in reading.seen.items() if seen.sign.kind == FACT or name in listed("general")}
    own = reading.seen.keys() - set(listed("general"))
    known = known or (reading.field and not reading.spoken)
    of_field = reading.field or (known and own and not kinds[FAULT] and not kinds[ECHO])
    if of_field or reading.lines < _LINES_OF_A_FIELD:
        found = _about(found, reading)
    else:
        # Any program loses connections and memory: without a word of the field that names no cause.
        few = reading.lines == _LINES_OF_A_FIELD
        found = [one for one in found if one.is_certain or few or not common.issuperset(hit.sign for hit in one.hits)]
        notes = [*notes, *([] if found else [NOT_MY_FIELD])]
    if "one_host" in reading.seen:
        found = [each for each in found if each.is_certain or each.cause.layer not in listed("between")]
    against = [(finding, _against(finding, reading.seen)) for finding in found]
    found = [finding for finding, hit in against if not hit]
    notes = [*notes, *(f"Not {one.cause.id}: {hit.file}:{hit.line}: {hit.quote}" for one, hit in against if hit)]
    done = looks_done(reading, read, looked)
    certain = [finding for finding in found if finding.is_certain]
    stopped = _BEGUN in reading.seen and _DONE not in reading.seen and not found
    troubled = reading.troubled()
    shown = _shown(found, certain, reading)
    trouble = shown or troubled or kinds[FAULT] or kinds[ECHO] or stopped or broken or NOT_MY_FIELD in notes
    forms = {_FIGURES.sub("", hit.quote): hit for hit in reversed([*reading.alarms, *reading.open_hints()])}
    unread = [*reversed(forms.values())]
    lacking += [Gap("line", f"what this line means: {hit.quote}", hit.file, hit.line) for hit in unread]
    verdict = FAULTY if certain else CANNOT_TELL if trouble or not known else NO_FAULT_SEEN if lacking else HEALTHY
    lacking = lacking if verdict == NO_FAULT_SEEN or (broken and verdict == CANNOT_TELL) else []
    causes = open_causes(found, reading.seen, done)
    line = shown[0].hits[0] if shown and shown[0].hits else fault_line(reading)
    questions = to_ask(causes, done)
    if verdict == CANNOT_TELL:
        only = "switch" if line and form("switch").search(line.quote) else ""
        first = general(False, False, "stopped") if stopped else []
        questions = [*first, *questions, *general(bool(kinds[FAULT] or kinds[ECHO] or troubled), reading.nccl, only)]
    elif verdict == NO_FAULT_SEEN and any(gap.code != "job" for gap in lacking):
        questions = general(False, reading.nccl)
    # What would have helped and was not there.
    asked = [text for text, names in listed("wanted").items() if not any(name in reading.seen for name in names)]
    text = f"{reading.skipped} forms of lines (alike but for their figures) were read {PER_FORM} times each"
    skipped = [text] if reading.skipped else []
    return {
        "verdict": verdict,
        "settled": settled(found, causes, reading.seen),
        "findings": [finding.as_dict() for finding in shown],
        "line": line.as_dict() if line and verdict in (FAULTY, CANNOT_TELL) else {},
        "next": [dataclasses.asdict(question) for question in questions] if verdict != HEALTHY else [],
        "asked": asked if verdict not in (HEALTHY, NO_FAULT_SEEN) else [],
        "shown": list(dict.fromkeys(f"{job.file}: {end}" for job in reading.jobs for end in job.ends))[:_ENDS],
        "not_shown": [dataclasses.asdict(gap) for gap in lacking[:_GAPS]],
        "unknown": [hit.as_dict() for hit in unread],
        "notes": [*notes, *(note for job in reading.jobs for note in job.notes), *skipped],
        "lines": reading.lines,
    }


def _shown(found: list[Suspect], certain: list[Suspect], reading: Reading) -> list[Suspect]:
    """Of a log, what is certain, else two candidates that a line is specific to, else what a program says itself; of
    machines that were read one by one, what each has."""
    if any(hit.placed for finding in found for hit in finding.hits):
        return found[:_SHOWN]
    if certain or reading.machines or not reading.printed:
        return certain[:_SHOWN] or found[:_CANDIDATES]
    first = found[:1] if reading.spoken else []
    borne = [each for each in found if each in first or _borne(each, reading)]
    ended = {rule.causes[0] for each in found for rule in each.rules if {*listed("tells")}.intersection(rule.names)}
    return borne[:_CANDIDATES] or [each for each in found if each.cause.id in ended][:1] or own_words(reading)


def _borne(finding: Suspect, reading: Reading) -> bool:
    """A line speaks for this cause, other than what any program prints that fails or suffers; for a cause that a rule
    only thinks of as well, in a few lines alone, and one that says more than that something fails."""
    for rule in finding.rules:
        heard = [entry.sign.name for entry in reading.seen.of(rule.names) if entry.sign.kind != ECHO]
        said = set(heard).difference(listed("bare"))
        if said and (rule.causes[0] == finding.cause.id or (reading.is_short and said - {*listed("unspecific")})):
            return True
    return False


def _findings(reading: Reading) -> list[Suspect]:
    seen = reading.seen

    def loudness(hit: Hit) -> tuple[bool, bool, bool]:
        return not seen.is_fault(hit), not hit.placed, says("raises", hit.quote)

    table: dict[str, Suspect] = {}
    fired = [rule for rule in catalogue().rules if seen.fires(rule)]
    echoes: list[Rule] = []
    if any(entry.sign.kind != ECHO for rule in fired for entry in seen.of(rule.names)):
        # A sign that only reports another's failure counts if there is no other sign.
        faults = {name for name, entry in seen.items() if entry.sign.kind == FAULT}
        louder = [rule for rule in fired if any(faults.intersection(group) for group in rule.needed)]
        echoes = [rule for rule in fired if rule not in louder]
        fired = louder or fired
    places = seen.has_places()
    vague = {rule for rule in fired if seen.is_vague(rule)}
    unspecific = {rule for rule in fired if seen.is_unspecific(rule)}
    specific = bool(unspecific) and not vague | unspecific >= set(fired)
    explicit = places and not vague >= set(fired)
    for rule in fired:
        first, *others = rule.causes
        hits = sorted((hit for entry in seen.of(rule.names) for hit in entry.of_hosts()), key=loudness)
        reported = seen.is_reported(rule)
        strength = len(rule.needed) + sum(hit.device != "" or hit.host != "" for hit in hits[:1]) * 0.01
        if explicit and rule in vague:
            strength *= _VAGUE
        elif specific and rule in unspecific:
            strength *= _UNSPECIFIC
        entry = Suspect.of(first, table)
        entry.add(hits, rule, strength + (REPORTED if reported else 0), reported)
        entry.certainty = min(
            entry.certainty, rule.certainty, rule.reported if reported else CANDIDATE, key=CERTAINTIES.index
        )
        entry.first |= rule not in vague and (places or (specific and rule not in unspecific))
        _note_releases(entry, rule, seen)
        if places and rule not in vague and not reported:
            entry.said += [hit.host for hit in hits if hit.host and seen.is_fault(hit)]
        for place, cause in enumerate(others, 1):
            Suspect.of(cause, table).add(hits, rule, strength - 0.15 * place)
    compare(seen, table)
    for finding in table.values():
        put_first(finding, seen)
    return one_per_layer(explained(sorted(table.values(), key=order), echoes, seen))


def _about(found: list[Suspect], reading: Reading) -> list[Suspect]:
    """Where no rule is certain: what a person's lines are about as well. Not where devices speak for themselves."""
    seen = reading.seen
    if seen.has_places() or any(finding.is_certain for finding in found):
        return found
    named = any(not (seen.is_unspecific(rule) or seen.is_vague(rule)) for finding in found for rule in finding.rules)
    return found if named or reading.printed else one_per_layer(with_topics(found, reading))


def _against(finding: Suspect, seen: Heard) -> Hit | None:
    """What was read of the hosts and refutes it. What is proven, or what a device reports of itself, is not refuted."""
    if finding.certainty == PROVEN or finding.reported or finding.odd:
        return None
    kinds = {hit: seen[hit.sign].sign.kind if hit.sign in seen else FAULT for hit in finding.hits}
    said = {hit.host for hit, kind in kinds.items() if hit.host and kind != FACT}
    for rule in finding.cause.refuted_by:
        if seen.fires(rule):
            telling = [entry for entry in seen.of(rule.names) if entry.sign.kind != FAULT]
            hits = [hit for entry in telling for hit in entry.hosts.values()]
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
    """Drop what is no trouble where a job came to its end and is not ``slow``: the word "hang", NCCL's returns,
    and what was said before that end in lines that their program calls no trouble, that warn of a slow job, or that a
    host was not there yet, which has taken part. What a library did not need stays a question."""
    well = {job.file for job in reading.jobs if job.well} - slow
    met = {host.split(".")[0] for job in reading.jobs for hosts in job.devices.values() for host in hosts}
    ends = {record.file: record.outlived for record in reading.jobs if record.file in well}
    lone = {*listed("lone")} - {name for rule in catalogue().rules if reading.seen.fires(rule) for name in rule.names}
    for name, entry in list(reading.seen.items()):
        hits = [*entry.hits, *entry.hosts.values(), entry.last]
        before = all(hit.line <= ends.get(hit.file, 0) for hit in hits)
        again = name in listed("retried") and all(hit.host.split(".")[0] in met for hit in hits)
        mild = name in ("slow", *listed("outlived")) or again or all(form("mild").search(hit.quote) for hit in hits)
        over = name in _OUTLIVED and {hit.file for hit in hits} <= well
        if over or name in lone or (entry.sign.kind == FAULT and before and mild):
            reading.alarms += entry.hits[:1] if name in listed("outlived") else []
            del reading.seen[name]


def _aside(reading: Reading, slow: set[str]) -> set[str]:
    """Faults that NCCL tells without a word of trouble, where no line has one and no job was seen at work."""
    faults = {name: entry for name, entry in reading.seen.items() if entry.sign.kind == FAULT}
    notes = {
        name
        for name, entry in faults.items()
        if all("NCCL INFO" in hit.quote and not alarms(bare(hit.quote)) for hit in entry.hits)
    }
    echoes = any(entry.sign.kind == ECHO for entry in reading.seen.values())
    work = slow or reading.machines or any(job.network for job in reading.jobs)
    return set() if work or echoes or faults.keys() - notes or reading.troubled() else notes


def _noted_only(finding: Suspect, aside: set[str], reading: Reading) -> bool:
    """Which address NCCL takes, right or wrong, it says nowhere else."""
    seen = [reading.seen[hit.sign].sign for hit in finding.hits if hit.sign in reading.seen]
    faults = {sign.name for sign in seen if sign.kind == FAULT}
    return bool(faults) and faults <= aside and finding.cause.layer not in listed("between")


def _note_releases(entry: Suspect, rule: Rule, seen: Heard) -> None:
    """The release that mends all that is read."""
    for condition in rule.conditions:
        product = seen[condition.name].sign.product
        known = entry.releases.get(product)
        if product and condition.way == "<" and (not known or release(known[0]) < release(condition.value)):
            entry.releases[product] = (condition.value, seen.values_of(condition.name, rule)[0])


def _silenced(seen: Heard) -> set[str]:
    """Signs of which every rule gives way to a fact that was read."""
    facts = {name for name, entry in seen.items() if entry.sign.kind == FACT}
    away = {rule for rule in catalogue().rules if not facts.isdisjoint(rule.excluded) and not seen.fires(rule)}
    kept = {name for rule in away for name in rule.names}.intersection(seen)
    heard = {name for rule in catalogue().rules if rule not in away for name in rule.names} if kept else set()
    return kept - heard
