"""Co-simulation that stays stable and accurate at large communication steps.

    import koppel

    system = koppel.load("dual-mass.toml", {"run.step": 1e-3})
    print(system.check()["verdict"])
    result = system.run()
    result["left.x"], result.certificate["verdict"]

    runs = koppel.Study("study.toml").run("folder", executor=client)
"""

import sys as _sys

from ._koppel import Error, Result, RunError, System, __version__, host_fmus_with as _host_fmus_with, load, read_results
from .study import Study

__all__ = ["Error", "Result", "RunError", "Study", "System", "__version__", "load", "read_results"]

# An isolated FMU lives in a process of its own: this interpreter again.
_host_fmus_with(_sys.executable, ["-m", "koppel.isolated"])
