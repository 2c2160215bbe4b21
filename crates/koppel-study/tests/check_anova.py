"""Analyses of variance of the same data by statsmodels, and points of SciPy's Sobol sequence.

Reads one JSON document from standard input: a list of data sets, each with `factors` (columns of levels) and `y`, and the
size of a Sobol sequence. Writes sums of squares, degrees of freedom, F and p of each term, the residual last.
"""

import json
import sys

import pandas as pd
from scipy.stats import qmc
from statsmodels.formula.api import ols
from statsmodels.stats.anova import anova_lm


def analysis(data):
    names = [f"f{k}" for k in range(len(data["factors"]))]
    frame = pd.DataFrame(dict(zip(names, data["factors"])))
    frame["y"] = data["y"]
    terms = [f"C({name}, Sum)" for name in names]
    pairs = [f"{a}:{b}" for k, a in enumerate(terms) for b in terms[k + 1 :]]
    model = ols("y ~ " + " + ".join(terms + pairs), data=frame).fit()
    table = anova_lm(model, typ=2)
    rows = [*terms, *pairs, "Residual"]
    number = lambda value: None if value != value else value
    return [[number(table.loc[row, key]) for key in ("sum_sq", "df", "F", "PR(>F)")] for row in rows]


asked = json.load(sys.stdin)
points = qmc.Sobol(asked["dimensions"], scramble=False).random(asked["points"])
json.dump({"anova": [analysis(data) for data in asked["data"]], "sobol": points.tolist()}, sys.stdout)
