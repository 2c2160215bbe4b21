"""Load, run, check."""

import logging
import os
import pathlib
import signal
import subprocess
import threading
import time
import zipfile

import koppel
import numpy as np
import pytest

from conftest import ROOT


def test_signals_are_arrays_with_units(examples):
    result = koppel.load(examples / "dual-mass.toml").run()
    assert result.time[0] == 0.0 and np.all(np.diff(result.time) > 0)
    assert list(result)[0] == "time" and len(result) == len(result.keys())
    for name in result:
        assert result[name].dtype == np.float64 and result[name].shape == result.time.shape
    assert result.units["time"] == "s"
    assert result.certificate["verdict"] in ("trusted", "unconfirmed", "wrong")
    assert result.statistics["steps"] > 0


def test_an_oscillator_swings_as_it_must(tmp_path):
    path = tmp_path / "decay.toml"
    path.write_text(
        """
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
    )
    result = koppel.load(path).run()
    omega = np.sqrt(25.0 - 0.25)
    t = result.time
    expected = np.exp(-0.5 * t) * (np.cos(omega * t) + 0.5 / omega * np.sin(omega * t))
    assert np.max(np.abs(result["a.x"] - expected)) < 1e-9


def test_settings_replace_those_of_the_file(examples):
    coarse = koppel.load(examples / "dual-mass.toml", {"run.step": 1e-3, "run.stop": 0.1})
    fine = coarse.replace({"run.step": np.float64(5e-4), "run.coupling": {"method": "foh"}})
    assert coarse.settings["run"]["step"] == 1e-3
    assert fine.settings["run"]["step"] == 5e-4
    assert len(fine.run().time) == 201 and len(coarse.run().time) == 101


def test_settings_are_chosen_once_for_both_runs_and_for_the_forecast(examples):
    settings = {"run.coupling": {"method": "auto", "save": "calls"}, "run.step": "auto"}
    system = koppel.load(examples / "quarter-truck.toml", settings)
    result = system.run(confirm="always")
    assert result.certificate["evidence"] == "linear-model"
    assert system.check()["verdict"] == "stable"


def test_the_certificate_may_be_left_out_or_confirmed(examples):
    system = koppel.load(examples / "dual-mass.toml", {"run.stop": 0.1})
    assert system.run(certificate=False).certificate is None
    with pytest.raises(ValueError, match="switched off"):
        system.run(certificate=False, confirm="always")
    with pytest.raises(ValueError, match='"off", "auto" or "always"'):
        system.run(confirm="sometimes")
    friction = koppel.load(examples / "van-der-pol.toml", {"run.coupling": "zoh", "run.step": 0.01})
    assert friction.run().certificate["evidence"] == "shadows"
    assert friction.run(second_run=True).certificate["evidence"] == "shadows"
    assert friction.run(confirm="off").certificate["evidence"] == "none"


def test_check_tells_what_to_expect(examples):
    forecast = koppel.load(examples / "dual-mass.toml").check()
    assert forecast["verdict"] in ("stable", "unstable", "marginal", "untrusted")
    assert forecast["spectral_radius"] > 0
    with pytest.raises(ValueError, match="0.05"):
        koppel.load(examples / "dual-mass.toml").check(error=-1.0)


def test_mistakes_name_their_place(examples, tmp_path):
    with pytest.raises(koppel.Error, match="no-such-file.toml"):
        koppel.load(tmp_path / "no-such-file.toml")
    with pytest.raises(koppel.Error, match="left"):
        koppel.load(examples / "dual-mass.toml", {"lefft.m": 1.0})
    with pytest.raises(TypeError, match="left.m"):
        koppel.load(examples / "dual-mass.toml", {"left.m": object()})
    with pytest.raises(KeyError, match="left.x"):
        koppel.load(examples / "dual-mass.toml", {"run.stop": 0.01}).run()["left.xx"]
    broken = tmp_path / "broken.toml"
    broken.write_text("[run]\nstep = \n")
    with pytest.raises(koppel.Error, match=r"broken.toml:2:\d+"):
        koppel.load(broken)


def test_all_mistakes_are_told(tmp_path):
    wrong = tmp_path / "wrong.toml"
    wrong.write_text('[run]\nstpe = 1\nstop = true\n[subsystems.a]\nmodel = "mas"\n[[connections]]\nform = "a.x"\n')
    with pytest.raises(koppel.Error, match=r"wrong.toml:2:1: unknown key `stpe`") as raised:
        koppel.load(wrong)
    mistakes = raised.value.mistakes
    places = [(m["place"]["line"], m["place"]["column"]) for m in mistakes]
    assert places == [(2, 1), (3, 8), (5, 9), (7, 1)]
    assert "step" in mistakes[0]["known"] and mistakes[0]["hints"][0].startswith("did you mean `step`?")
    assert mistakes[2]["message"] == "unknown model `mas`"
    assert all(m["place"]["file"].endswith("wrong.toml") for m in mistakes)
    with pytest.raises(koppel.Error) as raised:
        koppel.read_results(tmp_path / "nothing.csv")
    assert len(raised.value.mistakes) == 1


def test_a_failed_run_keeps_what_it_has(examples):
    # Far too light for its solver.
    system = koppel.load(examples / "dual-mass.toml", {"left.m": 1e-5})
    with pytest.raises(koppel.RunError, match="left.*t = ") as raised:
        system.run(certificate=False)
    assert len(raised.value.result.time) > 1


def test_ctrl_c_ends_a_run(examples):
    # Whoever started the tests may have switched it off.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    system = koppel.load(examples / "dual-mass.toml", {"run.stop": 1e6, "run.record": ["left.x"], "run.record_every": 1000000})
    threading.Timer(0.5, lambda: signal.raise_signal(signal.SIGINT)).start()
    begin = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        system.run(certificate=False)
    signal.signal(signal.SIGINT, before)
    assert time.monotonic() - begin < 20


def test_progress_and_its_errors(examples):
    system = koppel.load(examples / "dual-mass.toml", {"run.stop": 1e6, "run.record_every": 1000000})
    seen = []

    def progress(share):
        seen.append(share)
        if len(seen) == 3:
            raise RuntimeError("enough")

    with pytest.raises(RuntimeError, match="enough"):
        system.run(certificate=False, progress=progress)
    assert 0 < seen[0] < seen[1] < seen[2] < 1


def test_result_files_of_the_command_line(tmp_path):
    path = tmp_path / "result.csv"
    path.write_text("time,a.x\n0,1\n0.5,2\n")
    result = koppel.read_results(path)
    assert result["a.x"].tolist() == [1.0, 2.0] and result.time.tolist() == [0.0, 0.5]
    with pytest.raises(koppel.Error, match="nothing.csv"):
        koppel.read_results(tmp_path / "nothing.csv")


FMUS = pathlib.Path(os.environ.get("KOPPEL_TEST_FMUS", ROOT / "target" / "test-fmus"))


def test_an_isolated_fmu_lives_in_another_interpreter(tmp_path):
    fmu = FMUS / "Oscillator3.fmu"
    path = tmp_path / "oscillator.toml"
    path.write_text(f'[run]\nstep = 0.1\nstop = 3.0\n[subsystems.a]\nfmu = "{fmu}"\nisolate = true\n')
    result = koppel.load(path).run()
    # m = c = 1, no damping, from x = 1.
    assert np.max(np.abs(result["a.x"] - np.cos(result.time))) < 1e-6


def test_messages_of_fmus_go_to_logging(tmp_path, caplog):
    path = tmp_path / "oscillator.toml"
    fmu = FMUS / "Oscillator2.fmu"
    path.write_text(
        f'[run]\nstep = 0.1\nstop = 3.0\n[subsystems.a]\nfmu = "{fmu}"\nisolate = true\nparameters = {{ m = -1.0 }}\n'
    )
    # Those of pythonfmu say such things only if they are asked for debug messages.
    with caplog.at_level(logging.DEBUG, logger="koppel.fmu"), pytest.raises(koppel.RunError, match="`a` failed at t = 0 s"):
        koppel.load(path).run()
    said = [record for record in caplog.records if "the mass must be positive" in record.getMessage()]
    assert said and said[0].name == "koppel.fmu" and said[0].subsystem == "a" and said[0].time == 0.0
    assert said[0].getMessage().startswith("`a` at t = 0 s [")
    # Otherwise not.
    caplog.clear()
    with caplog.at_level(logging.INFO, logger="koppel.fmu"), pytest.raises(koppel.RunError):
        koppel.load(path).run()
    assert not [record for record in caplog.records if "the mass" in record.getMessage()]


def test_probed_fmus_are_known_to_the_next_run(tmp_path):
    path = tmp_path / "dual-mass.toml"
    fmu = "fmu = '{}'\nisolate = true\n".format
    path.write_text(
        "[run]\nstep = 1e-3\nstop = 0.01\ncoupling = 'vfps'\n"
        f"[subsystems.left]\n{fmu(FMUS / 'DualMassLeft.fmu')}[subsystems.right]\n{fmu(FMUS / 'DualMassRight.fmu')}"
        + "".join(
            f"[[connections]]\nfrom = '{a}'\nto = '{b}'\n"
            for a, b in [("left.x", "right.x"), ("left.v", "right.v"), ("right.F", "left.F")]
        )
    )
    folder = tmp_path / "cache"
    first = koppel.load(path, cache=folder).run()
    kept = sorted(folder.glob("*.probe"))
    assert len(kept) >= 2
    # The command line's own folder, named by the environment.
    os.environ["KOPPEL_CACHE"] = str(folder)
    try:
        system = koppel.load(path)
        np.testing.assert_array_equal(system.run()["left.x"], first["left.x"])
        assert sorted(folder.glob("*.probe")) == kept
        # What was tried is known to the system itself; what was probed is read again.
        [file.write_bytes(file.read_bytes()[:-1]) for file in kept]
        with pytest.warns(UserWarning, match="in the cache is damaged"):
            system.run()
    finally:
        del os.environ["KOPPEL_CACHE"]
    [file.unlink() for file in kept]
    koppel.load(path, cache=False).run()
    assert not list(folder.glob("*.probe"))
    with pytest.raises(TypeError, match="True, False or a folder"):
        koppel.load(path, cache=3)


def broken_mass(folder):
    """Two coupled masses whose states cannot be restored."""
    tests = ROOT / "crates" / "koppel-fmi" / "tests"
    library = folder / "mass.so"
    flags = ["-O2", "-fPIC", "-shared", "-DBROKEN=fmi2SetFMUstate", "-DHOW=CRASH"]
    subprocess.run(["cc", *flags, "-o", library, tests / "fmus" / "mass2.c", "-lm"], check=True)
    with zipfile.ZipFile(folder / "mass.fmu", "w") as archive:
        description = (tests / "fixtures" / "mass2.xml").read_text()
        archive.writestr("modelDescription.xml", description.replace(' unit="N"', "").replace(' unit="m"', ""))
        archive.write(library, "binaries/linux64/mass.so")
    path = folder / "masses.toml"
    path.write_text(
        "[run]\nstep = 0.05\nstop = 1.0\ncoupling = 'vfps'\n"
        + "".join(f"[subsystems.{name}]\nfmu = 'mass.fmu'\n" for name in ["left", "right"])
        + "".join(
            f"[[connections]]\nfrom = '{a}.x'\nto = '{b}.F'\n" for a, b in [("left", "right"), ("right", "left")]
        )
    )
    return path


def test_what_is_done_without_is_told_by_run_check_and_studies(tmp_path):
    path = broken_mass(tmp_path)
    for call in [koppel.System.check, koppel.System.run]:
        with pytest.warns(UserWarning, match="koppel does not use it") as told:
            call(koppel.load(path, cache=False))
        assert len([one for one in told if "`left` declares canGetAndSetFMUState" in str(one.message)]) == 1
    study = tmp_path / "study.toml"
    study.write_text(
        'title = "Steps"\nsystem = "masses.toml"\n[factors]\n"run.step" = [0.05, 0.1]\n'
        '[measures]\npeak = { of = "left.x", take = "max" }\n'
    )
    with pytest.warns(UserWarning, match="koppel does not use it") as told:
        koppel.Study(study).run(tmp_path / "out")
    assert len([one for one in told if "`left` declares canGetAndSetFMUState" in str(one.message)]) == 1


def test_what_the_command_line_refuses_is_refused_with_the_same_words(examples):
    settings = {
        "upper.beta": 2.0,
        "run.reading": "stale",
        "run.coupling": "zoh",
        "run.step": 1e-4,
        "run.stop": 0.01,
    }
    system = koppel.load(examples / "double-pendulum.toml", settings)
    with pytest.raises(koppel.Error) as refused:
        system.run()
    first, *hints = str(refused.value).splitlines()
    # As crates/koppel-cli/tests/loops.rs has it from the command line.
    assert first.startswith("the run is not zero-stable: the loop ") and "by 1.36" in first
    assert any("accept_unstable" in hint for hint in hints)
    assert len(system.run(accept_unstable=True).time) == 101


def test_a_run_that_will_go_wrong_is_warned_of(examples):
    system = koppel.load(examples / "dual-mass.toml", {"run.coupling": "zoh", "run.step": 0.1, "run.stop": 20.0})
    with pytest.warns(UserWarning, match="the run will be"):
        try:
            system.run()
        except koppel.RunError:
            pass
