"""Studies here and on executors."""

import concurrent.futures
import os
import signal

import koppel
import numpy as np
import pytest


def logged(folder):
    """Numbers of all runs in the log, as often as they stand there."""
    lines = (folder / "runs.log").read_text().splitlines()[1:]
    return sorted(int(line.split("\t")[0]) for line in lines)


def same(one, other):
    assert list(one) == list(other)
    for name in one:
        if isinstance(one[name], list):
            assert one[name] == other[name]
        else:
            np.testing.assert_array_equal(one[name], other[name])


def test_an_executor_gives_the_same_table(study, tmp_path):
    study = koppel.Study(study())
    assert study.runs == 64 and study.factors == ["run.coupling", "run.step", "right.ck"]
    here = study.run(tmp_path / "here")
    assert np.isfinite(here["error"]).all() and set(here["stable"]) == {0.0, 1.0}
    seen = []
    with concurrent.futures.ProcessPoolExecutor(2) as pool:
        there = study.run(tmp_path / "there", executor=pool, progress=lambda *at: seen.append(at))
    same(here, there)
    assert seen[-1] == (64, 64) and len(seen) == 16
    assert (tmp_path / "here" / "runs.csv").read_bytes() == (tmp_path / "there" / "runs.csv").read_bytes()


def test_what_is_finished_is_not_made_again(study, tmp_path):
    study = koppel.Study(study())

    def enough(done, runs):
        if done > 20:
            raise RuntimeError("enough")

    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        with pytest.raises(RuntimeError, match="enough"):
            study.run(tmp_path / "part", executor=pool, batch=4, progress=enough)
        first = logged(tmp_path / "part")
        assert 20 < len(first) < 64
        study.run(tmp_path / "part", executor=pool)
    assert logged(tmp_path / "part") == list(range(64))


def test_a_broken_executor_keeps_finished_runs(study, tmp_path):
    study = koppel.Study(study())
    pool = concurrent.futures.ProcessPoolExecutor(2)

    def kill(done, runs):
        if done > 10:
            for process in list(pool._processes.values())[:1]:
                os.kill(process.pid, signal.SIGKILL)

    with pytest.raises(koppel.Error, match="are missing"):
        study.run(tmp_path / "part", executor=pool, batch=2, progress=kill)
    assert 10 < len(logged(tmp_path / "part")) < 64
    study.run(tmp_path / "part")
    assert logged(tmp_path / "part") == list(range(64))


def test_a_worker_with_other_files_is_refused(study, tmp_path):
    path = study()
    known = koppel.Study(path)
    path.write_text(path.read_text().replace("1e6", "2e6"))
    with concurrent.futures.ProcessPoolExecutor(1) as pool:
        with pytest.raises(koppel.Error, match="another study.*factors"):
            known.run(tmp_path / "out", executor=pool)


def test_mistakes(study, tmp_path):
    path = study()
    path.write_text(path.read_text().replace("right.ck", "right.kc"))
    with pytest.raises(koppel.Error, match=r"study.toml:\d+:\d+"):
        koppel.Study(path)
    with concurrent.futures.ThreadPoolExecutor(1) as pool, pytest.raises(ValueError, match="batch"):
        koppel.Study(study()).run(tmp_path / "out", executor=pool, batch=0)
