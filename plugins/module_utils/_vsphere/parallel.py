"""The same work for many hosts at once, over one session: each thread waits for an answer of its own.

Results come in the order of the requests, not of the answers, so that no output depends on timing.
"""

from __future__ import annotations

import concurrent.futures
import threading
from typing import Callable, Sequence, TypeVar, Union

from .._layer import LayerError, UnreachableError

WORKERS = 16  # requests under way; far below what vCenter serves, and one session all the same
Item = TypeVar("Item")
Result = TypeVar("Result")
Outcome = Union[Result, LayerError, None]


def is_silence(error: BaseException) -> bool:
    """No answer from vCenter itself, in contrast to what it says about one host: others would fare alike."""
    return isinstance(error, UnreachableError) and "fault" not in error.details


def in_parallel(work: Callable[[Item], Result], items: Sequence[Item]) -> list[Outcome[Result]]:
    """What ``work`` returned for each item, or the `LayerError` that it raised; None for one that was not begun,
    because vCenter had stopped answering by then. Any other exception is raised here."""
    silent = threading.Event()

    def attempt(item: Item) -> Outcome[Result]:
        if silent.is_set():
            return None
        try:
            return work(item)
        except LayerError as error:
            if is_silence(error):
                silent.set()
            return error

    if len(items) < 2:
        return [attempt(item) for item in items]
    with concurrent.futures.ThreadPoolExecutor(max_workers=min(WORKERS, len(items))) as pool:
        return list(pool.map(attempt, items))


def worth_telling(outcomes: Sequence[object]) -> list[LayerError]:
    """Results per host; one error if vCenter timed out for several hosts."""
    errors = [outcome for outcome in outcomes if isinstance(outcome, LayerError)]
    silent = [error for error in errors if is_silence(error)]
    return [error for error in errors if error not in silent[1:]]


def together(errors: Sequence[LayerError], host: str, what: str, failed: Sequence[str] = ()) -> LayerError:
    """One error for all hosts that failed in the same step: the text of each, and the kind of the first. ``failed``:
    names of the hosts, if others than those of the errors."""
    if len(errors) == 1:
        return errors[0]
    error = type(errors[0])(
        "{}: {}".format(what, " | ".join(str(error) for error in errors)),
        host=host,
        remedy="put right what is named for each host, or leave these hosts out of the list",
        failed_hosts=list(failed or [error.host for error in errors]),
    )
    if "failed_operation" in errors[0].details:
        error.details["failed_operation"] = errors[0].details["failed_operation"]
    return error
