"""Studies on this machine, or on whatever runs functions elsewhere."""

from __future__ import annotations

import concurrent.futures
import functools
import os
import warnings
from collections.abc import Callable
from typing import Any

from . import _koppel

#: Most runs that are handed over at once.
BATCH = 50


@functools.lru_cache(maxsize=4)
def _opened(path: str, header: str) -> _koppel.Study:
    """The study as this process finds it; read once."""
    study = _koppel.Study(path)
    different = study.differences(header)
    if different:
        raise _koppel.Error(f"this worker has another study at `{path}`: {', '.join(different)} differ\n  hint: give all workers the same files and the same koppel")
    return study


def _make(path: str, header: str, runs: list[int]) -> list[str]:
    """What a worker does: some runs, as lines of the log."""
    return _opened(path, header).make(runs)


class Study:
    """A study file: what is varied, how, and what is measured.

    A file with a mistake raises `koppel.Error`, which names the place.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = os.path.abspath(path)
        self._study = _koppel.Study(self.path)
        for text in self._study.warnings:
            warnings.warn(text, stacklevel=2)

    @property
    def title(self) -> str:
        """Title."""
        return self._study.title

    @property
    def runs(self) -> int:
        """How many runs there are."""
        return self._study.runs

    @property
    def factors(self) -> list[str]:
        """Names of what is varied."""
        return self._study.factors

    @property
    def measures(self) -> list[str]:
        """Names of what is measured."""
        return self._study.measures

    def __repr__(self) -> str:
        return f"<koppel.Study: {self.title}, {self.runs} runs>"

    def run(
        self,
        folder: str | os.PathLike[str],
        *,
        executor: Any = None,
        threads: int = 0,
        batch: int | None = None,
        retries: int = 2,
        progress: Callable[[int, int], object] | None = None,
    ) -> dict[str, Any]:
        """Makes all runs that are not in `folder` yet, and returns the table of all: a dict of columns.

        executor: a `concurrent.futures` executor or a Dask client; its workers need koppel and the files of the study
            under the same path. Without one, runs are made on the cores of this machine (`threads` of them; 0: all).
        batch: runs handed over at once.
        retries: how often a batch whose worker failed is tried again.
        progress: called with the numbers of finished and of all runs.

        A run that fails is a row with its failure. Whatever ends the study, finished runs are kept: the same call goes
        on with those that are missing.
        """
        if executor is None:
            return self._study.run(os.fspath(folder), threads, progress)
        if hasattr(executor, "get_executor"):  # a Dask client
            executor = executor.get_executor(pure=False)
        collection = self._study.collect(os.fspath(folder))
        missing = collection.missing()
        if batch is None:
            batch = max(1, min(BATCH, len(missing) // 16))
        if batch < 1:
            raise ValueError(f"batch = {batch}: at least one run is handed over at once")
        try:
            self._spread(executor, collection, missing, batch, retries, progress)
        finally:
            table = collection.finish()
        return table

    def _spread(
        self,
        executor: Any,
        collection: _koppel.Collection,
        missing: list[int],
        batch: int,
        retries: int,
        progress: Callable[[int, int], object] | None,
    ) -> None:
        """Hands batches to the executor until all of them have come back."""
        header, done = self._study.header, self.runs - len(missing)
        tries: dict[Any, tuple[list[int], int]] = {}

        def submit(runs: list[int], number: int) -> None:
            tries[executor.submit(_make, self.path, header, runs)] = (runs, number)

        for begin in range(0, len(missing), batch):
            submit(missing[begin : begin + batch], 0)
        try:
            while tries:
                finished, _ = concurrent.futures.wait(tries, return_when=concurrent.futures.FIRST_COMPLETED)
                for future in finished:
                    runs, number = tries.pop(future)
                    try:
                        done += collection.take(future.result())
                    except concurrent.futures.BrokenExecutor as error:
                        raise _koppel.Error(f"the executor is broken: {error}\n  hint: finished runs are kept; the same call with a new executor goes on with the {self.runs - done} that are missing") from error
                    except _koppel.Error:
                        raise
                    except Exception:
                        if number >= retries:
                            raise
                        submit(runs, number + 1)
                    if progress is not None:
                        progress(done, self.runs)
        finally:
            for future in tries:
                future.cancel()
