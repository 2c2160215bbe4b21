"""The subsystems of four coupling problems as their users would write them with pythonfmu.

Outputs are computed at the end of a step with the inputs of that step, and not again when inputs are set. Nothing but
plain co-simulation: no saved states, no input derivatives, no dependencies declared.
"""

TEMPLATE = '''
from pythonfmu import Fmi2Causality, Fmi2Initial, Fmi2Slave, Real

PARTS = 8


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


SUSPENSION = "15000.0 * (zo - self.z) + 1000.0 * (vo - self.v)"

PROBLEMS = {
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
        yield name, TEMPLATE.format(name=name, **parts)
