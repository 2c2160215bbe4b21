"""Builds the FMUs of the tests with exporters koppel did not write: pythonfmu (FMI 2.0) and pythonfmu3 (FMI 3.0).

    python3 crates/koppel-fmi/tests/make_fmus.py [FOLDER]

FOLDER is target/test-fmus by default. The exporters are installed into FOLDER/venv, where they are found again the
next time; the FMUs need the same Python when they run. Tests look in target/test-fmus, or where KOPPEL_TEST_FMUS says.
FMPy, which the tests of exported FMUs run, statsmodels, which those of studies compare with, and the schemas by which validate.py
judges are installed beside them.
"""

import subprocess
import sys
import sysconfig
from pathlib import Path

import problem_fmus

PACKAGES = ["pythonfmu==0.7.0", "pythonfmu3==0.3.4", "FMPy==0.3.32", "lxml==6.1.3", "statsmodels==0.15.0", "pytest==9.2.0", "distributed==2026.8.0"]
# Of this one only the schemas of SSP are used: it is installed without what it depends on.
SCHEMAS = "pyssp_standard==0.9.1"

# A mass on a spring and damper, driven by a force: m a + d v + c x = F. Solved by Runge-Kutta 4 in ten parts per step.
OSCILLATOR = '''
PARTS = 10


def advance(model, step_size):
    def slope(x, v):
        return v, (model.F - model.c * x - model.d * v) / model.m

    h = step_size / PARTS
    for _ in range(PARTS):
        x, v = model.x, model.v
        k1 = slope(x, v)
        k2 = slope(x + 0.5 * h * k1[0], v + 0.5 * h * k1[1])
        k3 = slope(x + 0.5 * h * k2[0], v + 0.5 * h * k2[1])
        k4 = slope(x + h * k3[0], v + h * k3[1])
        model.x = x + h / 6 * (k1[0] + 2 * k2[0] + 2 * k3[0] + k4[0])
        model.v = v + h / 6 * (k1[1] + 2 * k2[1] + 2 * k3[1] + k4[1])
    model.steps += 1
    model.moving = abs(model.v) > 1e-12
'''

OSCILLATOR2 = (
    """
from pythonfmu import Boolean, Fmi2Causality, Fmi2Initial, Fmi2Slave, Fmi2Variability, Integer, Real, String


class Oscillator2(Fmi2Slave):
    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        self.m, self.c, self.d, self.F = 1.0, 1.0, 0.0, 0.0
        self.x, self.v, self.steps, self.moving, self.label = 1.0, 0.0, 0, False, "oscillator"
        fixed = dict(causality=Fmi2Causality.parameter, variability=Fmi2Variability.fixed, initial=Fmi2Initial.exact)
        for name in ("m", "c", "d"):
            self.register_variable(Real(name, **fixed))
        self.register_variable(Real("F", causality=Fmi2Causality.input))
        self.register_variable(Real("x", causality=Fmi2Causality.output, initial=Fmi2Initial.exact))
        self.register_variable(Real("v", causality=Fmi2Causality.output, initial=Fmi2Initial.exact))
        self.register_variable(Integer("steps", causality=Fmi2Causality.output))
        self.register_variable(Boolean("moving", causality=Fmi2Causality.local))
        self.register_variable(String("label", **fixed))

    def do_step(self, current_time, step_size):
        if self.m <= 0.0:
            self.log("the mass must be positive")
            return False
        advance(self, step_size)
        return True
"""
    + OSCILLATOR
)

OSCILLATOR3 = (
    """
from pythonfmu3 import Boolean, Fmi3Causality, Fmi3Initial, Fmi3SlaveBase, Fmi3StepResult, Fmi3Variability
from pythonfmu3 import Fmi3Status, Float64, Int32
from pythonfmu3.cosimulation import CoSimulation


class Oscillator3(Fmi3SlaveBase, CoSimulation):
    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        self.time, self.m, self.c, self.d, self.F = 0.0, 1.0, 1.0, 0.0, 0.0
        self.x, self.v, self.steps, self.moving = 1.0, 0.0, 0, False
        continuous = dict(variability=Fmi3Variability.continuous)
        fixed = dict(causality=Fmi3Causality.parameter, variability=Fmi3Variability.fixed, initial=Fmi3Initial.exact)
        self.register_variable(Float64("time", causality=Fmi3Causality.independent, **continuous))
        for name in ("m", "c", "d"):
            self.register_variable(Float64(name, **fixed))
        self.register_variable(Float64("F", causality=Fmi3Causality.input, start=0.0, **continuous))
        for name in ("x", "v"):
            kind = dict(causality=Fmi3Causality.output, initial=Fmi3Initial.exact, start=getattr(self, name))
            self.register_variable(Float64(name, **kind, **continuous))
        self.register_variable(
            Int32("steps", causality=Fmi3Causality.output, variability=Fmi3Variability.discrete)
        )
        self.register_variable(
            Boolean("moving", causality=Fmi3Causality.local, variability=Fmi3Variability.discrete)
        )

    def do_step(self, current_time, step_size):
        advance(self, step_size)
        self.time = current_time + step_size
        return Fmi3StepResult(status=Fmi3Status.ok)
"""
    + OSCILLATOR
)

# The same mass for model exchange: its equations, without a solver.
EXCHANGE3 = """
from pythonfmu3 import Fmi3Causality, Fmi3Initial, Fmi3SlaveBase, Fmi3Variability, Float64, ModelExchange


class Exchange3(Fmi3SlaveBase, ModelExchange):
    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        self.time, self.m, self.c, self.d, self.F = 0.0, 1.0, 1.0, 0.0, 0.0
        self.x, self.v, self.dx, self.dv = 1.0, 0.0, 0.0, 0.0
        continuous = dict(variability=Fmi3Variability.continuous)
        fixed = dict(causality=Fmi3Causality.parameter, variability=Fmi3Variability.fixed, initial=Fmi3Initial.exact)
        self.register_variable(Float64("time", causality=Fmi3Causality.independent, **continuous))
        for name in ("x", "v"):
            kind = dict(causality=Fmi3Causality.output, initial=Fmi3Initial.exact, start=getattr(self, name))
            self.register_variable(Float64(name, **kind, **continuous))
        for name, state in (("dx", 1), ("dv", 2)):
            self.register_variable(Float64(name, causality=Fmi3Causality.local, derivative=state, **continuous))
        self.register_variable(Float64("F", causality=Fmi3Causality.input, start=0.0, **continuous))
        for name in ("m", "c", "d"):
            self.register_variable(Float64(name, **fixed))

    def get_continuous_state_derivatives(self):
        self.dx, self.dv = self.v, (self.F - self.c * self.x - self.d * self.v) / self.m
        return [self.dx, self.dv]
"""

# A bouncing ball for model exchange: a state event at the ground.
BALL3 = """
from pythonfmu3 import Fmi3Causality, Fmi3Initial, Fmi3SlaveBase, Fmi3UpdateDiscreteStatesResult, Fmi3Variability
from pythonfmu3 import Float64, Int32, ModelExchange


class Ball3(Fmi3SlaveBase, ModelExchange):
    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        self.time, self.h, self.v, self.dh, self.dv, self.g, self.e, self.count = 0.0, 1.0, 0.0, 0.0, 0.0, 9.81, 0.7, 0
        continuous = dict(variability=Fmi3Variability.continuous)
        fixed = dict(causality=Fmi3Causality.parameter, variability=Fmi3Variability.fixed, initial=Fmi3Initial.exact)
        self.register_variable(Float64("time", causality=Fmi3Causality.independent, **continuous))
        for name in ("h", "v"):
            kind = dict(causality=Fmi3Causality.output, initial=Fmi3Initial.exact, start=getattr(self, name))
            self.register_variable(Float64(name, **kind, **continuous), has_event_indicator=name == "h")
        for name, state in (("dh", 1), ("dv", 2)):
            self.register_variable(Float64(name, causality=Fmi3Causality.local, derivative=state, **continuous))
        for name in ("g", "e"):
            self.register_variable(Float64(name, **fixed))
        self.register_variable(
            Int32("count", causality=Fmi3Causality.output, variability=Fmi3Variability.discrete)
        )

    def get_continuous_state_derivatives(self):
        self.dh, self.dv = self.v, -self.g
        return [self.dh, self.dv]

    def get_event_indicators(self):
        return [self.h]

    def update_discrete_states(self):
        result = Fmi3UpdateDiscreteStatesResult()
        if self.h <= 0.0 and self.v < 0.0:
            self.h, self.v, self.count = 1e-300, -self.e * self.v, self.count + 1
            result.valuesOfContinuousStatesChanged = True
        return result
"""


def build(folder: Path) -> None:
    """Runs inside the virtual environment."""
    from pythonfmu.builder import FmuBuilder as Builder2
    from pythonfmu3.builder import FmuBuilder as Builder3

    for builder, name, source, options in [
        (Builder2, "Oscillator2", OSCILLATOR2, {}),
        (Builder2, "Oscillator2State", OSCILLATOR2, {"canGetAndSetFMUstate": True, "canSerializeFMUstate": True}),
        # Declares what its exporter does not implement.
        (Builder2, "Oscillator2Liar", OSCILLATOR2, {"canInterpolateInputs": True}),
        (Builder3, "Oscillator3", OSCILLATOR3, {}),
        (Builder3, "Oscillator3State", OSCILLATOR3, {"canGetAndSetFMUState": True, "canSerializeFMUState": True}),
        (Builder3, "Exchange3", EXCHANGE3, {}),
        (Builder3, "Ball3", BALL3, {}),
    ]:
        plain = name.removesuffix("State").removesuffix("Liar")
        script = folder / f"{name}.py"
        script.write_text(source.replace(f"class {plain}(", f"class {name}("))
        options = {"needsExecutionTool": False, **options}
        print(f"make_fmus: {builder.build_FMU(script, dest=folder, **options)}")
    for name, source in problem_fmus.sources():
        script = folder / f"{name}.py"
        script.write_text(source)
        print(f"make_fmus: {Builder2.build_FMU(script, dest=folder, needsExecutionTool=False)}")


def main() -> None:
    root = Path(__file__).resolve().parents[3]
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else root / "target" / "test-fmus"
    folder.mkdir(parents=True, exist_ok=True)
    venv = folder / "venv"
    python = venv / ("Scripts" if sysconfig.get_platform().startswith("win") else "bin") / "python"
    if not python.exists():
        subprocess.run([sys.executable, "-m", "venv", str(venv)], check=True)
    installed = subprocess.run([python, "-m", "pip", "freeze"], check=True, capture_output=True, text=True).stdout
    if not all(package in installed.split() for package in PACKAGES):
        subprocess.run([python, "-m", "pip", "install", "--quiet", *PACKAGES], check=True)
    if SCHEMAS not in installed.split():
        subprocess.run([python, "-m", "pip", "install", "--quiet", "--no-deps", SCHEMAS], check=True)
    subprocess.run([python, __file__, "--build", str(folder)], check=True)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--build"]:
        build(Path(sys.argv[2]))
    else:
        main()
