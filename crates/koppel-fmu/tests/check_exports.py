"""Goes through exported FMUs with FMPy: validation, trajectories, derivatives, states, inputs that move inside a step.

    python check_exports.py MANIFEST

The manifest names the FMUs and holds what koppel computes without FMI. Fails with all that is wrong.
"""

import json
import os
import shutil
import sys
import time
from ctypes import c_double, c_size_t, c_void_p

import fmpy
from fmpy.fmi1 import FMICallException
from fmpy.fmi2 import FMU2Model, FMU2Slave
from fmpy.fmi3 import FMU3Model, FMU3Slave
from fmpy.validation import validate_fmu

TOLERANCE = 1e-9

problems = []
largest = {}
feeding = []


class Part:
    """An instance of either version."""

    def __init__(self, entry, description, folder, exchange=False, **options):
        self.two = entry["version"] == 2
        section = description.modelExchange if exchange else description.coSimulation
        kind = {
            (True, True): FMU2Model,
            (True, False): FMU2Slave,
            (False, True): FMU3Model,
            (False, False): FMU3Slave,
        }[self.two, exchange]
        self.fmu = kind(
            guid=description.guid if self.two else description.instantiationToken,
            unzipDirectory=folder,
            modelIdentifier=section.modelIdentifier,
            instanceName="part",
        )
        self.reference = {v.name: v.valueReference for v in description.modelVariables}
        self.fmu.instantiate(**options)

    def initialize(self, values=None, inputs=None):
        self.set(values or {})
        if self.two:
            self.fmu.setupExperiment(startTime=0.0)
            self.fmu.enterInitializationMode()
        else:
            self.fmu.enterInitializationMode(startTime=0.0)
        self.set(inputs or {})
        self.fmu.exitInitializationMode()

    def set(self, values):
        references = [self.reference[name] for name in values]
        setter = self.fmu.setReal if self.two else self.fmu.setFloat64
        setter(references, list(values.values()))

    def get(self, names):
        getter = self.fmu.getReal if self.two else self.fmu.getFloat64
        return getter([self.reference[name] for name in names])

    def step(self, now, size):
        self.fmu.doStep(currentCommunicationPoint=now, communicationStepSize=size)

    def derivatives(self, x):
        n = len(x)
        states, rates = (c_double * n)(*x), (c_double * n)()
        self.fmu.setContinuousStates(states, n)
        (self.fmu.getDerivatives if self.two else self.fmu.getContinuousStateDerivatives)(rates, n)
        return list(rates)

    def states(self, n):
        states = (c_double * n)()
        self.fmu.getContinuousStates(states, n)
        return list(states)

    def directional(self, unknowns, knowns, seed):
        unknowns = [self.reference[name] for name in unknowns]
        knowns = [self.reference[name] for name in knowns]
        return self.fmu.getDirectionalDerivative(unknowns, knowns, seed)

    def close(self):
        self.fmu.terminate()
        self.fmu.freeInstance()


def compare(what, found, expected, tolerance=TOLERANCE):
    """Rows of values; each column within `tolerance` of its largest value (at least 1e-6)."""
    if len(found) != len(expected):
        problems.append(f"{what}: {len(found)} rows, expected {len(expected)}")
        return
    columns = list(zip(*expected))
    scale = [max(1e-6, max(abs(v) for v in column)) for column in columns]
    worst = max(abs(a - b) / s for f, e in zip(found, expected) for a, b, s in zip(f, e, scale))
    kind = what.split(": ")[1]
    largest[kind] = max(largest.get(kind, 0.0), worst)
    if not worst <= tolerance:
        problems.append(f"{what}: differs by {worst:.2e}")


def co_simulation(entry, description, folder, moving):
    inputs, step = entry["inputs"], entry["step"]
    slopes, start = {}, [0.0]
    part = None

    def ask(environment, now, set_requested, get_allowed, finished, can_return, early, early_time):
        if set_requested:
            part.set({name: value + slope * (now - start[0]) for name, (value, slope) in slopes.items()})

    references = [v.valueReference for v in description.modelVariables if v.name in inputs]
    asks = moving and entry["version"] == 3
    options = dict(intermediateUpdate=ask, requiredIntermediateVariables=references) if asks else {}
    part = Part(entry, description, folder, **options)
    part.initialize(inputs=dict(zip(inputs, entry["excitation"][0][0])))
    rows = [part.get(entry["outputs"])]
    for k, (values, rates) in enumerate(entry["excitation"]):
        part.set(dict(zip(inputs, values)))
        if moving:
            start[0] = step * k
            slopes.update({name: (value, rate) for name, value, rate in zip(inputs, values, rates)})
            if entry["version"] == 2:
                part.fmu.setRealInputDerivatives([part.reference[n] for n in inputs], [1] * len(inputs), rates)
        part.step(step * k, step)
        rows.append(part.get(entry["outputs"]))
    part.close()
    return rows


def model_exchange(entry, description, folder):
    """Runge-Kutta 4 on the FMU's derivatives."""
    part = Part(entry, description, folder, exchange=True)
    inputs, step, n = entry["inputs"], entry["step"], len(entry["states"])
    part.initialize(inputs=dict(zip(inputs, entry["excitation"][0][0])))
    (part.fmu.newDiscreteStates if part.two else part.fmu.updateDiscreteStates)()
    part.fmu.enterContinuousTimeMode()
    x = part.states(n)
    rows = [part.get(entry["outputs"])]
    count = round(step / entry["micro"])
    h = step / count
    for k, (values, _) in enumerate(entry["excitation"]):
        part.set(dict(zip(inputs, values)))
        for m in range(count):
            part.fmu.setTime(step * k + h * m)
            k1 = part.derivatives(x)
            k2 = part.derivatives([a + 0.5 * h * b for a, b in zip(x, k1)])
            k3 = part.derivatives([a + 0.5 * h * b for a, b in zip(x, k2)])
            k4 = part.derivatives([a + h * b for a, b in zip(x, k3)])
            x = [a + h / 6 * (p + 2 * q + 2 * r + s) for a, p, q, r, s in zip(x, k1, k2, k3, k4)]
        part.derivatives(x)
        part.fmu.completedIntegratorStep()
        rows.append(part.get(entry["outputs"]))
    derivatives(entry, part, x)
    part.close()
    return rows


def derivatives(entry, part, x):
    """Directional derivatives against differences of what the FMU gives; adjoint ones against directional ones."""
    what = f"{entry['fmu']}: derivatives"
    inputs, outputs, states = entry["inputs"], entry["outputs"], entry["states"]
    x = [value + 0.01 * (i + 1) for i, value in enumerate(x)]
    u = [0.3 + 0.1 * i for i in range(len(inputs))]
    unknowns = outputs + [f"der({name})" for name in states]
    knowns = inputs + states

    def evaluate(z):
        part.set(dict(zip(inputs, z[: len(inputs)])))
        rates = part.derivatives(z[len(inputs) :])
        return part.get(outputs) + rates

    z = u + x
    jacobian = []
    for j, name in enumerate(knowns):
        size = 1e-5 * max(1e-2, abs(z[j]))
        high, low = evaluate(z[:j] + [z[j] + size] + z[j + 1 :]), evaluate(z[:j] + [z[j] - size] + z[j + 1 :])
        differences = [(a - b) / (2 * size) for a, b in zip(high, low)]
        evaluate(z)
        column = part.directional(unknowns, [name], [1.0])
        jacobian.append(column)
        compare(what, [[c] for c in column], [[d] for d in differences], 1e-5)
    seed = [0.5 - 0.2 * j for j in range(len(knowns))]
    both = part.directional(unknowns, knowns, seed)
    summed = [sum(s * column[i] for s, column in zip(seed, jacobian)) for i in range(len(unknowns))]
    compare(what + " (sum)", [both], [summed], 1e-12)
    if not part.two:
        weights = [0.3 + 0.1 * i for i in range(len(unknowns))]
        references = [[part.reference[name] for name in names] for names in (unknowns, knowns)]
        adjoint = part.fmu.getAdjointDerivative(*references, weights, len(knowns))
        expected = [sum(w * c for w, c in zip(weights, column)) for column in jacobian]
        compare(what + " (adjoint)", [adjoint], [expected], 1e-12)


def states(entry, description, folder):
    """Save, step, restore, step: the same bits, also through bytes and in another instance."""
    step, outputs = entry["step"], entry["outputs"]
    part, other = Part(entry, description, folder), Part(entry, description, folder)
    part.initialize()
    other.initialize()
    part.step(0.0, step)
    state = part.fmu.getFMUState()
    data = part.fmu.serializeFMUState(state) if can(description, "canSerializeFMUstate") else None

    def go(part):
        part.step(step, step)
        part.step(2 * step, step)
        return part.get(outputs + ["time"])

    first = go(part)
    part.fmu.setFMUState(state)
    if go(part) != first:
        problems.append(f"{entry['fmu']}: a restored state leads elsewhere")
    part.fmu.freeFMUState(state)
    if data is not None:
        state = other.fmu.deserializeFMUState(data)
        other.fmu.setFMUState(state)
        if go(other) != first:
            problems.append(f"{entry['fmu']}: a state read from bytes leads elsewhere")
        other.fmu.freeFMUState(state)
    part.fmu.reset()
    part.initialize()
    part.step(0.0, step)
    if go(part) != first:
        problems.append(f"{entry['fmu']}: after a reset it leads elsewhere")
    part.close()
    other.close()


def can(description, name):
    section = description.coSimulation
    return getattr(section, name, None) or getattr(section, name.replace("FMUstate", "FMUState"), None)


def feed_through(entry, description, folder):
    """Directional derivatives of a system's outputs against differences."""
    part = Part(entry, description, folder)
    inputs = [v.name for v in description.modelVariables if v.causality == "input"]
    part.initialize()
    part.step(0.0, entry["step"])
    part.set({name: value + 0.02 for name, value in zip(inputs, part.get(inputs))})
    declared = {u.variable.name: [d.name for d in u.dependencies] for u in description.outputs}
    for name in inputs:
        before = part.get([name])[0]
        column = part.directional(entry["outputs"], [name], [1.0])
        part.set({name: before + 1e-5})
        high = part.get(entry["outputs"])
        part.set({name: before - 1e-5})
        low = part.get(entry["outputs"])
        part.set({name: before})
        differences = [(a - b) / 2e-5 for a, b in zip(high, low)]
        compare(f"{entry['fmu']}: feed-through", [[c] for c in column], [[d] for d in differences], 1e-5)
        for output, slope in zip(entry["outputs"], column):
            if (slope != 0.0) != (name in declared[output]):
                problems.append(f"{entry['fmu']}: {name} on {output}: {slope}, declared {declared[output]}")
        feeding.append(any(column))
    part.close()


def system_rows(entry, path, start_values):
    """FMPy's own loop."""
    result = fmpy.simulate_fmu(
        path,
        start_time=entry["times"][0],
        stop_time=entry["times"][-1],
        step_size=entry["step"],
        output_interval=entry["step"],
        output=entry["outputs"],
        start_values=start_values,
        fmi_type="CoSimulation",
    )
    return [[float(row[name]) for name in entry["outputs"]] for row in result]


def exchanged_rows(entry, path):
    """FMPy's own solver, which locates the events."""
    result = fmpy.simulate_fmu(
        path,
        start_time=entry["times"][0],
        stop_time=entry["times"][-1],
        output_interval=entry["step"],
        relative_tolerance=1e-10,
        output=entry["outputs"],
        fmi_type="ModelExchange",
    )
    # At an event there is a row before and one after it; koppel's is one of them.
    rows = {}
    for row in result:
        values = [float(row[name]) for name in entry["outputs"]]
        rows.setdefault(round(float(row["time"]), 9), []).append(values)
    distance = lambda row, own: max(abs(a - b) for a, b in zip(row, own))
    own = zip(entry["times"], entry["rows"])
    return [min(rows[round(time, 9)], key=lambda row: distance(row, values)) for time, values in own]


def plain(entry, description, folder):
    """Declares nothing, and gives nothing."""
    part = Part(entry, description, folder)
    part.initialize()
    for name in ("canGetAndSetFMUstate", "canSerializeFMUstate", "canInterpolateInputs", "providesIntermediateUpdate"):
        if can(description, name):
            problems.append(f"{entry['fmu']}: declares {name}")
    forbidden = {"a state": part.fmu.getFMUState, "derivatives": lambda: part.directional(["x"], ["F"], [1.0])}
    if part.two:
        reference = part.reference["F"]
        forbidden["input derivatives"] = lambda: part.fmu.setRealInputDerivatives([reference], [1], [1.0])
    for what, call in forbidden.items():
        try:
            call()
        except FMICallException:
            continue
        problems.append(f"{entry['fmu']}: gives {what}")
    part.close()


def misuse(entry, description, folder):
    """Wrong calls get an error, never a crash."""
    part = Part(entry, description, folder)
    prefix = "fmi2" if part.two else "fmi3"
    real = "Real" if part.two else "Float64"
    instance = c_void_p(part.fmu.component)

    def refused(name, *arguments, of=instance):
        status = getattr(part.fmu.dll, prefix + name)(of, *arguments)
        if status != 3:
            problems.append(f"{entry['fmu']}: {name}{arguments} gives {status}")

    more = () if part.two else (c_size_t(3),)
    refused(f"Get{real}", None, c_size_t(3), None, *more)
    refused(f"Set{real}", None, c_size_t(3), None, *more)
    refused(f"Get{real}", None, c_size_t(3), None, *more, of=None)
    refused("Terminate")
    refused("ExitInitializationMode")
    refused("SetFMUstate" if part.two else "SetFMUState", None)
    for values in ({"x": 1.0}, {"m": float("nan")}, {"m": -1.0}):
        try:
            part.set(values)
            problems.append(f"{entry['fmu']}: {values} was accepted")
        except FMICallException:
            pass
    part.initialize()
    refused("EnterInitializationMode", *(() if part.two else (False, c_double(), c_double(), False, c_double())))
    try:
        part.set({"x0": 1.0})
        problems.append(f"{entry['fmu']}: a start value was accepted after the start")
    except FMICallException:
        pass
    part.set({"m": 2.0})
    if part.get(["m"]) != [2.0]:
        problems.append(f"{entry['fmu']}: a tunable parameter was not taken")
    part.close()
    token = description.guid if part.two else description.instantiationToken
    for token, resources in (("none", folder), (token, folder + "-nowhere")):
        kind = FMU2Slave if part.two else FMU3Slave
        other = kind(guid=token, unzipDirectory=folder, modelIdentifier="mass", instanceName="wrong")
        other.unzipDirectory = resources
        try:
            other.instantiate()
            problems.append(f"{entry['fmu']}: instantiated with token {token} and resources in {resources}")
        except Exception as error:
            if "Failed to instantiate" not in str(error):
                problems.append(f"{entry['fmu']}: {error}")


def main():
    with open(sys.argv[1]) as file:
        manifest = json.load(file)
    begin = time.time()
    for kind, entries in manifest.items():
        for entry in entries:
            path = entry["fmu"]
            for problem in validate_fmu(path):
                problems.append(f"{path}: {problem}")
            description, folder = fmpy.read_model_description(path), str(fmpy.extract(path))
            try:
                if kind == "models":
                    compare(f"{path}: co-simulation", co_simulation(entry, description, folder, False), entry["constant"])
                    compare(f"{path}: moving inputs", co_simulation(entry, description, folder, True), entry["moving"])
                    if entry["samples"] or not entry["states"]:
                        if description.modelExchange is not None:
                            problems.append(f"{path}: what samples or has no states cannot be a model-exchange FMU")
                    else:
                        compare(f"{path}: model exchange", model_exchange(entry, description, folder), entry["exchange"])
                    states(entry, description, folder)
                elif kind == "systems":
                    compare(f"{path}: system", system_rows(entry, path, {}), entry["rows"])
                    compare(f"{path}: system", system_rows(entry, path, entry["change"]), entry["changed"])
                    feed_through(entry, description, folder)
                    if can(description, "canGetAndSetFMUstate"):
                        states(entry, description, folder)
                elif kind == "events":
                    compare(f"{path}: events", system_rows(entry, path, {}), entry["rows"])
                    compare(f"{path}: events, model exchange", exchanged_rows(entry, path), entry["rows"], 1e-6)
                    states(entry, description, folder)
                else:
                    plain(entry, description, folder)
                    misuse(entry, description, folder)
            except Exception as error:
                problems.append(f"{path}: {type(error).__name__}: {error}")
            finally:
                shutil.rmtree(folder, ignore_errors=True)
    if not any(feeding):
        problems.append("no system has feed-through from its inputs to its outputs")
    count = sum(len(entries) for entries in manifest.values())
    print(f"check_exports: {count} FMUs in {time.time() - begin:.1f} s; largest differences:")
    for kind, value in largest.items():
        print(f"  {kind}: {value:.1e}")
    for problem in problems:
        print(f"check_exports: {problem}")
    sys.stdout.flush()
    # Not through the interpreter's end: an FMU of pythonfmu lets go of its Python objects only after it.
    os._exit(1 if problems else 0)


if __name__ == "__main__":
    main()
