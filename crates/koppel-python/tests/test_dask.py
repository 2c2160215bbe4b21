"""A real Dask cluster of two workers, one of which is killed during the study."""

import os
import signal

import koppel
import numpy as np
from distributed import Client, LocalCluster

from test_study import logged, same


def test_no_run_is_lost_and_none_counted_twice_when_a_worker_is_killed(study, tmp_path):
    study = koppel.Study(study(steps=20))
    killed = []

    with LocalCluster(n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None) as cluster:
        with Client(cluster) as client:
            workers = client.run(os.getpid)
            assert len(set(workers.values())) == 2

            def kill(done, runs):
                if done > runs // 4 and not killed:
                    killed.append(next(iter(workers.values())))
                    os.kill(killed[0], signal.SIGKILL)

            there = study.run(tmp_path / "there", executor=client, batch=5, progress=kill)
    assert killed
    assert logged(tmp_path / "there") == list(range(study.runs))
    assert np.array_equal(there["run"], np.arange(study.runs))
    same(study.run(tmp_path / "here"), there)
