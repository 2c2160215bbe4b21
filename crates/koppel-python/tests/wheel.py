"""What an installed koppel must do, far from its sources: run by `cargo xtask proof wheel` in an empty folder."""

import concurrent.futures
import importlib.metadata
import pathlib
import pydoc

import koppel
import numpy as np

SYSTEM = """
[run]
step = 0.01
stop = 2.0

[subsystems.a]
model = "linear"
A = [[0.0, 1.0], [-25.0, -1.0]]
B = [[0.0], [1.0]]
C = [[1.0, 0.0]]
inputs = ["u"]
outputs = ["x"]
start = { "x[1]" = 1.0 }
solver = "exact"
"""

STUDY = """
title = "Steps"
system = "decay.toml"

[factors]
"run.step" = [0.01, 0.02, 0.04, 0.1]

[measures]
end = { of = "a.x", take = "final" }
"""


def swing(t):
    omega = np.sqrt(25.0 - 0.25)
    return np.exp(-0.5 * t) * (np.cos(omega * t) + 0.5 / omega * np.sin(omega * t))


def main():
    here, package = pathlib.Path.cwd(), pathlib.Path(koppel.__file__).parent
    assert here not in package.parents and (package / "py.typed").is_file(), package
    assert importlib.metadata.version("koppel") == koppel.__version__
    (here / "decay.toml").write_text(SYSTEM)
    (here / "study.toml").write_text(STUDY)

    result = koppel.load("decay.toml").run()
    assert isinstance(result["a.x"], np.ndarray) and len(result.time) == 201
    assert np.max(np.abs(result["a.x"] - swing(result.time))) < 1e-9

    with concurrent.futures.ProcessPoolExecutor(2) as pool:
        runs = koppel.Study("study.toml").run(here / "runs", executor=pool)
    assert list(runs["run.step"]) == [0.01, 0.02, 0.04, 0.1]
    assert np.max(np.abs(runs["end"] - swing(2.0))) < 1e-9
    assert (here / "runs" / "runs.parquet").is_file() and (here / "runs" / "index.html").is_file()

    try:
        koppel.load("decay.toml", {"run.stpe": 0.1})
    except koppel.Error as error:
        assert "step" in str(error), error
    else:
        raise AssertionError("a mistake was not found")

    for thing, word in [(koppel, "load"), (koppel.load, "settings"), (koppel.System.run, "progress"), (koppel.Study.run, "executor")]:
        assert word in pydoc.plain(pydoc.render_doc(thing)), thing


if __name__ == "__main__":
    main()
