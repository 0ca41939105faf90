"""Threads: every kernel releases the GIL, so plain threads are all that is needed.

Work is cut the same way whatever the number of threads, or its parts do not influence each other: results never depend
on `n_jobs`.
"""

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from itertools import pairwise
from typing import TypeVar

from joblib import effective_n_jobs

Task = TypeVar("Task")

__all__ = ["effective_n_jobs", "ranges", "team"]


@contextmanager
def team(n_threads: int) -> Iterator[Callable[[Callable[[Task], None], Sequence[Task]], None]]:
    """Give a function that calls another one on each task of a list, with this many threads; it waits for all.

    Examples
    --------
    >>> found = []
    >>> with team(2) as run:
    ...     run(found.append, [1, 2, 3])
    >>> sorted(found)
    [1, 2, 3]
    """
    with ThreadPoolExecutor(n_threads) as pool:

        def run(function: Callable[[Task], None], tasks: Sequence[Task]) -> None:
            if n_threads == 1:
                for task in tasks:
                    function(task)
            else:
                for future in [pool.submit(function, task) for task in tasks]:
                    future.result()

        yield run


def ranges(n: int, parts: int, multiple: int = 1) -> list[tuple[int, int]]:
    """Cut 0 to n into at most this many ranges of almost equal length, their ends at multiples of a number.

    Examples
    --------
    >>> ranges(10, 3)
    [(0, 3), (3, 6), (6, 10)]
    >>> ranges(10, 3, multiple=4)
    [(0, 4), (4, 8), (8, 10)]
    """
    units = -(-n // multiple)
    ends = [min(units * part // parts * multiple, n) for part in range(parts + 1)]
    return [(start, stop) for start, stop in pairwise(ends) if stop > start]
