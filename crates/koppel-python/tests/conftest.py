"""Systems of the repository, and a small study."""

import pathlib

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[3]

STUDY = """
title = "Holds on the dual-mass oscillator"
system = "{system}"

[factors]
"run.coupling" = ["zoh", "foh"]
"run.step" = {{ from = 2e-4, to = 1e-2, steps = {steps}, log = true }}
"right.ck" = {{ from = 1e4, to = 1e6, steps = 8, log = true }}

[reference]
monolithic = true

[measures]
error = {{ error = "all", most = 10 }}
stable = {{ stable = "bounded", limit = 3 }}
"""


@pytest.fixture
def examples():
    return ROOT / "examples"


@pytest.fixture
def study(tmp_path, examples):
    """Writes a study of 16 * steps runs."""

    def write(steps=4):
        path = tmp_path / "study.toml"
        path.write_text(STUDY.format(system=examples / "dual-mass.toml", steps=steps))
        return path

    return write
