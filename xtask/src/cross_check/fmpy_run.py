"""FMPy beside koppel, for `cargo xtask proof cross-check`; one FMU per process.

    python fmpy_run.py describe FMU
    python fmpy_run.py run FMU KIND START STOP STEP TOLERANCE INPUT VALUES OUT NAME...

`describe` prints the step the FMU proposes, then a line per variable: name, type, causality and variability. `run` simulates and
writes the variables NAME at every communication point to OUT (CSV). KIND is cs or me; a TOLERANCE of 0 is that of the FMU;
INPUT is a CSV file, or `-`; VALUES are start values by name, as JSON.
"""

import csv
import json
import sys


def describe(fmu: str) -> None:
    from fmpy import read_model_description

    description = read_model_description(fmu, validate=False)
    experiment = description.defaultExperiment
    if experiment is not None and experiment.stepSize is not None:
        print("step", experiment.stepSize, sep="\t")
    for variable in description.modelVariables:
        print(variable.name, variable.type, variable.causality, variable.variability, sep="\t")


def run(fmu, kind, start, stop, step, tolerance, table, values, out, *names) -> None:
    from fmpy import simulate_fmu
    from fmpy.util import read_csv

    messages = []
    result = simulate_fmu(
        fmu,
        validate=False,
        start_time=float(start),
        stop_time=float(stop),
        output_interval=float(step),
        relative_tolerance=float(tolerance) or None,
        fmi_type={"cs": "CoSimulation", "me": "ModelExchange"}[kind],
        solver="CVode",
        record_events=False,
        start_values=json.loads(values),
        input=None if table == "-" else read_csv(table),
        output=list(names),
        fmi_call_logger=None,
        logger=lambda *arguments: messages.append(arguments),
    )
    with open(out, "w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(result.dtype.names)
        writer.writerows([float(value) for value in row] for row in result)


if __name__ == "__main__":
    {"describe": describe, "run": run}[sys.argv[1]](*sys.argv[2:])
