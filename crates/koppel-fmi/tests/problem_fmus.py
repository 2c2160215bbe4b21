"""The subsystems of eight coupling problems as their users would write them with pythonfmu.

Outputs are computed at the end of a step with the inputs of that step, and not again when inputs are set. Nothing but
plain co-simulation: no saved states, no input derivatives, no dependencies declared.
"""

from pathlib import Path

TEMPLATE = '''
from math import cos, sin

from pythonfmu import Fmi2Causality, Fmi2Initial, Fmi2Slave, Real

PARTS = {parts}


class {name}(Fmi2Slave):
    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        self.state = {state}
        for name in {inputs}:
            setattr(self, name, 0.0)
            self.register_variable(Real(name, causality=Fmi2Causality.input))
        self.tell()
        for name in {outputs}:
            self.register_variable(Real(name, causality=Fmi2Causality.output, initial=Fmi2Initial.exact))

    def slope(self, state):
        {states} = state
        return {slopes}

    def tell(self):
        {states} = self.state
        {told}

    def exit_initialization_mode(self):
        self.tell()

    def do_step(self, current_time, step_size):
        h = step_size / PARTS
        for _ in range(PARTS):
            s = self.state
            a = self.slope(s)
            b = self.slope([x + 0.5 * h * k for x, k in zip(s, a)])
            c = self.slope([x + 0.5 * h * k for x, k in zip(s, b)])
            d = self.slope([x + h * k for x, k in zip(s, c)])
            self.state = [x + h / 6 * (p + 2 * q + 2 * r + t) for x, p, q, r, t in zip(s, a, b, c, d)]
        self.tell()
        return True
'''


def spring_mass(m, c, d, ck, dk):
    """A mass that carries the coupling spring and gives its force."""
    force = f"{ck} * (xo - self.x) + {dk} * (vo - self.v)"
    return dict(
        state=[0.0, 0.0],
        states="xo, vo",
        inputs=["x", "v"],
        outputs=["F"],
        slopes=f"[vo, (-{c} * xo - {d} * vo - ({force})) / {m}]",
        told=f"self.F = {force}",
    )


def scalar(a, b, c, d, start):
    """One state with feed-through."""
    return dict(
        state=[start],
        states="(x,)",
        inputs=["u"],
        outputs=["y"],
        slopes=f"[{a} * x + {b} * self.u]",
        told=f"self.y = {c} * x + {d} * self.u",
    )


def linear(inputs, outputs, a, b, c):
    """x' = A x + B u, y = C x, from rows of numbers."""
    states = [f"x{i}" for i in range(len(a))]
    row = lambda numbers, names: " + ".join(f"{n!r} * {name}" for n, name in zip(numbers, names) if n) or "0.0"
    driven = [f"self.{name}" for name in inputs]
    slopes = ", ".join(f"{row(p, states)} + {row(q, driven)}" for p, q in zip(a, b))
    told = ", ".join(row(p, states) for p in c)
    return dict(
        state=[0.0] * len(a),
        states=", ".join(states),
        inputs=inputs,
        outputs=outputs,
        slopes=f"[{slopes}]",
        told=f"{', '.join(f'self.{name}' for name in outputs)} = {told}",
    )


def matrix(name, columns):
    """Rows of a matrix of the helicopter, where koppel has them."""
    source = Path(__file__).resolve().parents[2] / "koppel" / "src" / "models" / "helicopter_matrices.rs"
    text = source.read_text().split(f"const {name}: ")[1].split("= [")[1].split("]")[0]
    numbers = [float(number) for number in text.replace("\n", " ").split(",") if number.strip()]
    return [numbers[i : i + columns] for i in range(0, len(numbers), columns)]


MOTION = ["heave", "pitch", "roll", "heading_rate", "roll_rate", "pitch_rate"]
BLADES = ["collective", "longitudinal_cyclic", "lateral_cyclic", "tail_collective"]
FORCE = "1000.0 * ({x} - sin({alpha})) + 10.0 * ({v} - {omega} * cos({alpha}))"

SUSPENSION = "15000.0 * (zo - self.z) + 1000.0 * (vo - self.v)"

SLIP = "(v - 5e5 * abs(v) * z / 320.0)"
FRICTION = f"5e5 * z + 316.0 * {SLIP} + 0.4 * v"

PROBLEMS = {
    "PendulumPendulum": dict(
        state=[0.08726646259971647, 0.0],
        states="alpha, omega",
        inputs=["x", "v"],
        outputs=["alpha", "omega"],
        slopes="[omega, -9.81 * sin(alpha) + cos(alpha) * ("
        + FORCE.format(x="self.x", v="self.v", alpha="alpha", omega="omega")
        + ")]",
        told="self.alpha, self.omega = alpha, omega",
    ),
    "PendulumOscillator": dict(
        state=[0.18715574274765817, 0.0],
        states="x, v",
        inputs=["alpha", "omega"],
        outputs=["x", "v"],
        slopes="[v, -(" + FORCE.format(x="x", v="v", alpha="self.alpha", omega="self.omega") + ")]",
        told="self.x, self.v = x, v",
    ),
    "HelicopterHelicopter": linear(BLADES, MOTION, matrix("PLANT_A", 8), matrix("PLANT_B", 4), matrix("PLANT_C", 8)),
    "HelicopterController": dict(
        # Its fastest pole is a few hundred per second.
        parts=64,
        **linear(
            [f"e_{name}" for name in MOTION],
            BLADES,
            matrix("CONTROLLER_A", 20),
            matrix("CONTROLLER_B", 6),
            matrix("CONTROLLER_C", 20),
        ),
    ),
    "FeedthroughFirst": scalar(-0.9, 0.5, 3.0, 1.0, 1.0),
    "FeedthroughSecond": scalar(-1.0, 10.0, -31.0, -0.9, 0.0),
    "LugreDriver": dict(
        state=[0.0],
        states="(s,)",
        inputs=["w", "x", "v"],
        outputs=["F", "s"],
        slopes="[(self.w - s) / 0.05]",
        told="self.F, self.s = 2e4 * (s - self.x) + 50.0 * ((self.w - s) / 0.05 - self.v), s",
    ),
    "LugreMass": dict(
        # Bristles answer within a fraction of a millisecond.
        parts=64,
        state=[0.0, 0.0, 0.0],
        states="x, v, z",
        inputs=["F"],
        outputs=["x", "v", "friction"],
        slopes=f"[v, (self.F - ({FRICTION})) / 3.78, {SLIP}]",
        told=f"self.x, self.v, self.friction = x, v, {FRICTION}",
    ),
    "DualMassLeft": dict(
        state=[0.1, 0.0],
        states="x, v",
        inputs=["F"],
        outputs=["x", "v"],
        slopes="[v, (self.F - 1e6 * x - 1.0 * v) / 10.0]",
        told="self.x, self.v = x, v",
    ),
    "DualMassRight": spring_mass(10.0, 1e7, 2.0, 2e5, 200.0),
    "QuarterTruckChassis": dict(
        state=[0.0, 0.0],
        states="zo, vo",
        inputs=["z", "v"],
        outputs=["F"],
        slopes=f"[vo, -({SUSPENSION}) / 400.0]",
        told=f"self.F = {SUSPENSION}",
    ),
    "QuarterTruckWheel": dict(
        state=[0.0, 0.0],
        states="z, v",
        inputs=["F", "road"],
        outputs=["z", "v"],
        slopes="[v, (self.F + 150000.0 * (self.road - z)) / 40.0]",
        told="self.z, self.v = z, v",
    ),
    "ControlLoopController": dict(
        state=[0.0],
        states="(z,)",
        inputs=["e"],
        outputs=["u"],
        slopes="[self.e]",
        told="self.u = 10.0 * self.e + 10.0 * z",
    ),
    "ControlLoopPlant": dict(
        state=[0.0],
        states="(y,)",
        inputs=["u"],
        outputs=["y"],
        slopes="[self.u - y]",
        told="self.y = y",
    ),
    "VanDerPolOscillator": dict(
        state=[2.0, 0.0],
        states="x, v",
        inputs=["F"],
        outputs=["x", "v"],
        slopes="[v, (1.0 - x * x) * v - x + self.F]",
        told="self.x, self.v = x, v",
    ),
    "VanDerPolMass": spring_mass(1.0, 1.0, 0.1, 1.0, 0.1),
}


def sources():
    """Names and scripts."""
    for name, parts in PROBLEMS.items():
        yield name, TEMPLATE.format(name=name, **{"parts": 8, **parts})
