//! Glumac & Kovacic 2018: spectral radius and relative consistency of four masters of a two-mass oscillator.

mod frontier;
mod master;

use koppel::analysis::consistency;
use koppel_io::plot::Scale::{Linear, Logarithmic};

use crate::context::Context;
use crate::course::Course;
use crate::exhibit::{Comparison, Within, curve, plot, short};
use crate::paper::Stage;
use crate::{Exhibit, Result};
use master::{MASTERS, Master, logarithmic, oscillator};

pub(crate) const STAGES: &[Stage] = &[
    Stage { name: "responses and errors", seconds: [2.0, 0.5], make: responses },
    Stage { name: "stiffness, damping and step", seconds: [2.0, 1.0], make: radii },
    Stage { name: "frontiers", seconds: [20.0, 3.0], make: frontier::frontiers },
];

/// Signals of the figures: what they are, and their names.
const SIGNALS: [(&str, &str); 3] = [("position", "second.x"), ("velocity", "second.v"), ("force", "first.F")];

/// Figures 2 and 3.
fn responses(context: &Context<'_>) -> Result<Vec<Exhibit>> {
    let mut figure_2 = Exhibit::new(
        "Figure 2",
        "outputs with four masters, h = 1 s",
        "The Control masters have the parameters of (70) and (71); the reference is the uncut system, solved exactly.",
    );
    let reference = Course::reference(&MASTERS[0].case(1.0)?, &MASTERS[0].run(1.0)?)?;
    let mut courses = Vec::new();
    for master in MASTERS {
        courses.push((master.name, Course::of(&master.case(1.0)?, &master.run(1.0)?)?));
    }
    for (what, signal) in SIGNALS {
        let mut curves = vec![reference.curve("uncut", signal)];
        curves.extend(courses.iter().map(|(name, course)| course.curve(name, signal)));
        figure_2 =
            figure_2.curves(what, plot(&format!("Figure 2, {what}"), ["time, s", what], [Linear; 2], curves));
    }
    Ok(vec![figure_2, errors(context)?])
}

/// Figure 3: relative consistency beside the errors of runs, over the step.
fn errors(context: &Context<'_>) -> Result<Exhibit> {
    let steps = logarithmic(0.01, 10.0, if context.is_quick { 31 } else { 61 });
    let jobs: Vec<(usize, f64)> = (0..4).flat_map(|m| steps.iter().map(move |h| (m, *h))).collect();
    let system = oscillator()?;
    let rows = context.map(&jobs, |(m, step)| {
        let master = &MASTERS[*m];
        let (case, run) = (master.case(*step)?, master.run(*step)?);
        let (course, exact) = (Course::of(&case, &run)?, Course::reference(&case, &run)?);
        let delta = consistency(&system, &run)?;
        let errors = SIGNALS.map(|(_, signal)| course.nrms(&exact, signal));
        Ok([delta, errors[0], errors[1], errors[2]])
    })?;
    let of = |m: usize, k: usize| -> Vec<f64> {
        rows[m * steps.len()..(m + 1) * steps.len()].iter().map(|row| row[k]).collect()
    };
    let mut exhibit = Exhibit::new(
        "Figure 3",
        "relative consistency and errors of the outputs over the step",
        "Runs of a hundred steps or 100 s, whichever is longer; root mean square error at communication points over the range. \
         \"Follows\" is judged by the rank correlation of consistency and error over the steps of one master.",
    )
    .reduced(context.is_quick, "31 of 61 steps");
    let titles = ["relative consistency", "error of position", "error of velocity", "error of force"];
    for (k, title) in titles.into_iter().enumerate() {
        let curves = (0..4).map(|m| curve(MASTERS[m].name, steps.iter().copied().zip(of(m, k)))).collect();
        let name = title.replace(' ', "-");
        exhibit = exhibit.curves(&name, plot(title, ["h, s", title], [Logarithmic; 2], curves));
    }
    for (k, (what, _)) in SIGNALS.into_iter().enumerate() {
        let correlations = [0, 1, 2, 3].map(|m| rank_correlation(&of(m, 0), &of(m, k + 1)));
        let least = correlations.into_iter().fold(1.0, f64::min);
        exhibit = exhibit.compare(
            Comparison::statement(
                "the global error follows relative consistency",
                least > 0.9,
                format!("smallest rank correlation of the four masters {}", short(least)),
            )
            .what(format!("error of {what}")),
        );
    }
    Ok(exhibit)
}

/// Equations (63) and (64), Figures 4 and 5.
fn radii(context: &Context<'_>) -> Result<Vec<Exhibit>> {
    const COUNT: usize = 100;
    let values = logarithmic(1e-5, 1e5, COUNT);
    let jobs: Vec<(usize, &str, f64)> = ["ck", "dk"]
        .into_iter()
        .flat_map(|p| (0..4).flat_map(move |m| (0..COUNT).map(move |k| (m, p, k))))
        .map(|(m, parameter, k)| (m, parameter, values[k]))
        .collect();
    let radii = context.map(&jobs, |(m, parameter, value)| {
        let master = MASTERS[*m];
        let mut case = master.case(9.0)?;
        case.parts[0].parameters.insert((*parameter).into(), *value);
        Master::radius(&master::linear(&case)?, &master.run(9.0)?)
    })?;
    let of = |p: usize, m: usize| &radii[(p * 4 + m) * COUNT..(p * 4 + m + 1) * COUNT];
    let mut limits = Exhibit::new(
        "(63), (64)",
        "largest stable stiffness and damping of the coupling, h = 9 s",
        "The last of 100 values from 1e-5 to 1e5, even in the logarithm, below which all are stable. The paper does not name h; 9 s gives its numbers.",
    );
    let mut figure = Exhibit::new(
        "Figure 4",
        "spectral radius over stiffness and damping of the coupling",
        "The same 100 values, h = 9 s.",
    );
    let printed = [("c_k", "(63)", [0.89, 0.89, 3.59, 3.59]), ("d_k", "(64)", [2.26, 2.26, 1e5, 1e5])];
    for (p, (symbol, number, paper)) in printed.into_iter().enumerate() {
        let mut last = [0.0; 4];
        for m in 0..4 {
            let stable = of(p, m).iter().take_while(|radius| **radius < 1.0).count();
            last[m] = stable.checked_sub(1).map_or(f64::NAN, |at| values[at]);
            let what = format!("{number}: largest stable {symbol}, {}", MASTERS[m].name);
            limits = limits.compare(Comparison::number(what, last[m], paper[m], Within::Absolute(0.005)));
        }
        let curves = (0..4).map(|m| curve(MASTERS[m].name, values.iter().copied().zip(of(p, m).to_vec())));
        let title = format!("Figure 4, spectral radius over {symbol}");
        figure = figure
            .curves(symbol, plot(&title, [symbol, "ρ"], [Logarithmic; 2], curves.collect()))
            .compare(Comparison::statement(
                format!("Control masters bear a larger {symbol} than Seidel masters"),
                last[2].min(last[3]) > last[0].max(last[1]),
                format!(
                    "{} and {} against {} and {}",
                    short(last[2]),
                    short(last[3]),
                    short(last[0]),
                    short(last[1])
                ),
            ));
    }
    Ok(vec![limits, figure, over_step(context)?])
}

/// Figure 5.
fn over_step(context: &Context<'_>) -> Result<Exhibit> {
    let steps = logarithmic(1e-3, 10.0, if context.is_quick { 41 } else { 201 });
    let jobs: Vec<(usize, f64)> = (0..4).flat_map(|m| steps.iter().map(move |h| (m, *h))).collect();
    let system = oscillator()?;
    let rows = context.map(&jobs, |(m, step)| MASTERS[*m].objectives(&system, *step))?;
    let of = |m: usize, k: usize| -> Vec<f64> {
        rows[m * steps.len()..(m + 1) * steps.len()].iter().map(|row| row[k]).collect()
    };
    let mut exhibit = Exhibit::new(
        "Figure 5",
        "spectral radius and relative consistency over the step",
        "Steps even in the logarithm from 1e-3 to 10 s.",
    )
    .reduced(context.is_quick, "41 of 201 steps");
    for (k, title) in ["spectral radius", "relative consistency"].into_iter().enumerate() {
        let curves = (0..4).map(|m| curve(MASTERS[m].name, steps.iter().copied().zip(of(m, k)))).collect();
        let scale = if k == 0 { [Logarithmic, Linear] } else { [Logarithmic; 2] };
        let name = title.replace(' ', "-");
        exhibit = exhibit.curves(&name, plot(&format!("Figure 5, {title}"), ["h, s", title], scale, curves));
    }
    // Where one falls and the other rises with the step.
    let conflicts = (0..4).map(|m| {
        let (radius, delta) = (of(m, 0), of(m, 1));
        let opposed =
            (1..steps.len()).filter(|k| (radius[*k] - radius[*k - 1]) * (delta[*k] - delta[*k - 1]) < 0.0);
        opposed.count() as f64 / (steps.len() - 1) as f64
    });
    let shares: Vec<f64> = conflicts.collect();
    let least = shares.iter().copied().fold(1.0, f64::min);
    Ok(exhibit.compare(Comparison::statement(
        "the two objectives are in conflict",
        least > 0.5,
        format!(
            "with every master one grows while the other falls on at least {} of the steps",
            short(least)
        ),
    )))
}

/// Spearman's: correlation of ranks.
fn rank_correlation(a: &[f64], b: &[f64]) -> f64 {
    let ranks = |values: &[f64]| -> Vec<f64> {
        let mut order: Vec<usize> = (0..values.len()).collect();
        order.sort_by(|i, j| values[*i].total_cmp(&values[*j]));
        let mut ranks = vec![0.0; values.len()];
        order.into_iter().enumerate().for_each(|(rank, at)| ranks[at] = rank as f64);
        ranks
    };
    let (a, b) = (ranks(a), ranks(b));
    let n = a.len() as f64;
    let squares: f64 = a.iter().zip(&b).map(|(x, y)| (x - y).powi(2)).sum();
    1.0 - 6.0 * squares / (n * (n * n - 1.0))
}

#[cfg(test)]
mod tests {
    #[test]
    fn ranks_that_agree_and_ranks_that_do_not() {
        assert_eq!(super::rank_correlation(&[1.0, 2.0, 9.0], &[0.1, 5.0, 6.0]), 1.0);
        assert_eq!(super::rank_correlation(&[1.0, 2.0, 9.0], &[7.0, 5.0, 1.0]), -1.0);
    }
}
