"""What the runs of pytest are told: note which test executes which line, or run these tests in this order."""

from __future__ import annotations

import contextlib
import resource
import sys
import threading
from collections.abc import Iterator, Sequence
from types import FrameType
from typing import Any

import pytest


def _worked() -> float:
    """Seconds of CPU of this process and of those that it has waited for: the same on a machine that others use too."""
    spent = [resource.getrusage(whose) for whose in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(one.ru_utime + one.ru_stime for one in spent)


class Recorder:
    """The functions of some files that each test enters, how long each test takes, and which ones fail.

    A function is known by the line at which it begins. By line it would be closer, and several times slower. What a
    file of tests calls while it is read (the rows of a table, say) counts for each of its tests.
    """

    def __init__(self, files: Sequence[str]) -> None:
        self._files = set(files)
        self._current: set[tuple[str, int]] = set()
        self._read: dict[str, set[tuple[str, int]]] = {}
        self.entered: dict[str, set[tuple[str, int]]] = {}
        self.seconds: dict[str, float] = {}
        self.failed: list[str] = []

    def _call(self, frame: FrameType, _event: str, _arg: Any) -> None:
        code = frame.f_code
        if code.co_filename in self._files:
            self._current.add((code.co_filename, code.co_firstlineno))

    @contextlib.contextmanager
    def _noting(self, name: str, kept: dict[str, set[tuple[str, int]]]) -> Iterator[None]:
        self._current = kept[name] = set()
        threading.settrace(self._call)
        sys.settrace(self._call)
        try:
            yield
        finally:
            sys.settrace(None)
            threading.settrace(None)

    @pytest.hookimpl(wrapper=True)
    def pytest_make_collect_report(self, collector: pytest.Collector) -> Iterator[None]:
        with self._noting(collector.nodeid, self._read):
            return (yield)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Iterator[None]:
        begun = _worked()
        try:
            with self._noting(item.nodeid, self.entered):
                return (yield)
        finally:
            self.entered[item.nodeid] |= self._read.get(item.nodeid.split("::")[0], set())
            self.seconds[item.nodeid] = round(_worked() - begun, 3)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed:
            self.failed.append(report.nodeid)


class Selector:
    """Runs only the tests that are named, by file, by function or with their parameters, in the order in which they are
    named; remembers the first that failed."""

    def __init__(self, wanted: Sequence[str]) -> None:
        self._order = {name: number for number, name in enumerate(wanted)}
        self.failed = ""
        self.ran = 0

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        known = []
        for number, item in enumerate(items):
            names = (item.nodeid, item.nodeid.split("[")[0], item.nodeid.split("::")[0])
            place = next((self._order[name] for name in names if name in self._order), None)
            if place is not None:
                known.append((place, number, item))
        items[:] = [item for _place, _number, item in sorted(known, key=lambda one: one[:2])]

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self.ran += report.when == "call"
        if report.failed and not self.failed:
            self.failed = report.nodeid

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        if report.failed and not self.failed:
            self.failed = report.nodeid
