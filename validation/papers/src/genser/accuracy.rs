//! 3.4: accuracy over the step and the coupling's ratio. Figures 3.58 to 3.66.

use koppel_io::heat_map::HeatMap;
use koppel_io::plot::Scale::{Linear, Logarithmic};

use super::dual_mass::{courses, linear, methods, stale};
use super::stability;
use crate::context::Context;
use crate::course::{Course, global_error};
use crate::exhibit::{Comparison, Within, curve, numbers, plot, short};
use crate::{Exhibit, Result};

/// Up to so many times the error of another method counts as equally accurate.
const EQUAL: f64 = 2.0;
/// Errors that count as accurate. The thesis shows colours only.
const ACCURATE: f64 = 0.2;
const STOP: f64 = 0.2;
/// What else might.
const LIMITS: [f64; 4] = [0.05, 0.1, 0.5, 0.99];

/// Steps up to which results are accurate by other limits, in ms.
fn by_limit(largest: impl Fn(f64) -> f64) -> String {
    let report = LIMITS.map(|limit| format!("{} ms with {limit}", short(largest(limit))));
    format!(
        "the thesis shows colours without a limit: it is {}; the end of its runs is not printed either",
        report.join(", ")
    )
}

const HOW: &str = "c_k d_k = 10^7.25 as for the regions of stability; runs of 0.2 s; errors above 1 count as 1. The thesis shows colours; \"accurate\" is an \
     error below 0.2 here.";

pub(super) fn exhibits(context: &Context<'_>) -> Result<Vec<Exhibit>> {
    let mut all = maps(context)?;
    all.push(over_step(context)?);
    all.extend(shown()?);
    Ok(all)
}

fn maps(context: &Context<'_>) -> Result<Vec<Exhibit>> {
    let every = if context.is_quick { 10 } else { 2 };
    let ratios: Vec<f64> = (0..71).step_by(every).map(|j| 10_f64.powf(-2.0 + 0.1 * f64::from(j))).collect();
    let steps: Vec<f64> = if context.is_quick {
        vec![1e-3, 4e-3, 8e-3]
    } else {
        (1..=10).map(|k| 1e-3 * f64::from(k)).collect()
    };
    let jobs: Vec<(f64, f64)> =
        steps.iter().flat_map(|step| ratios.iter().map(move |ratio| (*step, *ratio))).collect();
    let rows = context.map(&jobs, |(step, ratio)| {
        let dk = (10_f64.powf(7.25) / ratio).sqrt();
        let case = linear(ratio * dk, dk)?;
        let mut errors = [0.0; 4];
        let exact = Course::reference(&case, &stale(koppel::coupling::CouplingConfig::zoh(), STOP, *step))?;
        for (error, (_, coupling)) in errors.iter_mut().zip(methods(*step)) {
            let course = Course::of(&case, &stale(coupling, STOP, *step))?;
            *error = global_error(&case, &course, &exact)?.min(1.0);
        }
        Ok(errors)
    })?;
    let mut all = Vec::new();
    let mut shares = [0.0; 4];
    for (m, number) in ["Figure 3.58", "Figure 3.59", "Figure 3.60", "Figure 3.61"].into_iter().enumerate() {
        let name = methods(1e-3)[m].0;
        let error = |k: usize, j: usize| rows[k * ratios.len() + j][m];
        let map = HeatMap {
            title: format!("{number}, error of {name}"),
            x: "c_k / d_k, 1/s".into(),
            y: "ΔT, s".into(),
            columns: ratios.iter().map(|r| short(*r)).collect(),
            rows: steps.iter().map(|s| short(*s)).collect(),
            values: (0..ratios.len()).map(|j| (0..steps.len()).map(|k| error(k, j)).collect()).collect(),
        };
        // The largest step with accurate results, of those connected to the smallest.
        let largest = |limit: f64| {
            let is_accurate = |k: usize| (0..ratios.len()).any(|j| error(k, j) < limit);
            let accurate = steps.iter().enumerate().take_while(|(k, _)| is_accurate(*k));
            accurate.last().map_or(f64::NAN, |(_, s)| 1e3 * s)
        };
        shares[m] = rows.iter().filter(|row| row[m] < ACCURATE).count() as f64 / rows.len() as f64;
        let mut exhibit = Exhibit::new(number, &format!("accuracy over step and ratio, {name}"), HOW)
            .reduced(context.is_quick, "every fifth ratio and 3 of 10 steps")
            .table(
                "errors",
                vec![
                    numbers("ΔT, s", jobs.iter().map(|job| job.0)),
                    numbers("c_k / d_k, 1/s", jobs.iter().map(|job| job.1)),
                    numbers("error", rows.iter().map(|row| row[m])),
                ],
            )
            .drawing("errors", map.svg());
        if let Some(paper) = [3.0, 5.0, 8.0].get(m).filter(|_| !context.is_quick) {
            exhibit = exhibit.compare(
                Comparison::number(
                    "largest step with accurate results, ms",
                    largest(ACCURATE),
                    *paper,
                    Within::Absolute(1.0),
                )
                .because(by_limit(largest)),
            );
        }
        all.push(exhibit);
    }
    let order = shares.windows(2).all(|two| two[0] <= two[1]);
    let report =
        (0..4).map(|m| format!("{} {}", methods(1e-3)[m].0, short(shares[m]))).collect::<Vec<_>>().join(", ");
    if let Some(last) = all.last_mut() {
        last.comparisons.push(Comparison::statement(
            "the area of accurate results is the largest of all methods",
            order,
            format!("shares of accurate cells: {report}"),
        ));
    }
    Ok(all)
}

/// Figure 3.62.
fn over_step(context: &Context<'_>) -> Result<Exhibit> {
    let steps: Vec<f64> = match context.is_quick {
        true => vec![1e-3, 2e-3, 5e-3, 9e-3],
        false => (1..=20).map(|k| 0.5e-3 * f64::from(k)).collect(),
    };
    let case = linear(2e5, 200.0)?;
    let rows = context.map(&steps, |step| {
        let exact = Course::reference(&case, &stale(koppel::coupling::CouplingConfig::zoh(), STOP, *step))?;
        let mut errors = [0.0; 4];
        for (error, (_, coupling)) in errors.iter_mut().zip(methods(*step)) {
            *error =
                global_error(&case, &Course::of(&case, &stale(coupling, STOP, *step))?, &exact)?.min(1.0);
        }
        Ok(errors)
    })?;
    let curves = (0..4)
        .map(|m| curve(methods(1e-3)[m].0, steps.iter().copied().zip(rows.iter().map(|row| row[m]))))
        .collect();
    let within = |m: usize, limit: f64| {
        steps.iter().zip(&rows).take_while(|(_, row)| row[m] < limit).last().map_or(0.0, |(s, _)| 1e3 * s)
    };
    let last = |m: usize| within(m, ACCURATE);
    let above = steps.iter().zip(&rows).filter(|(step, _)| **step > 2e-3);
    let smaller = above.clone().filter(|(_, row)| row[3] < row[2]).count();
    let mut exhibit = Exhibit::new("Figure 3.62", "error over the step, c_k = 2e5, d_k = 200", HOW)
        .reduced(context.is_quick, "4 of 20 steps")
        .curves("errors", plot("Figure 3.62", ["ΔT, s", "error"], [Linear, Logarithmic], curves));
    for (m, name) in [(0, "ZOH"), (1, "NEPCE")] {
        exhibit = exhibit.compare(Comparison::statement(
            format!("{name} is inaccurate from 2 ms on"),
            last(m) < 2.0,
            format!("accurate to {} ms", short(last(m))),
        ));
    }
    for (m, name, paper) in [(2, "MBCorr", 5.0), (3, "Pre-Step", 9.0)] {
        exhibit = exhibit.compare(
            Comparison::number(format!("{name}, accurate to, ms"), last(m), paper, Within::Absolute(0.5))
                .because(by_limit(|limit| within(m, limit))),
        );
    }
    Ok(exhibit.compare(Comparison::statement(
        "above 2 ms Pre-Step is more accurate than MBCorr",
        smaller == above.clone().count(),
        format!("at {smaller} of {} steps", above.count()),
    )))
}

/// Runs by name, the uncut system, and the runs' errors.
type Shown = (Vec<(&'static str, Course)>, Course, Vec<f64>);

/// Figures 3.63 to 3.66.
fn shown() -> Result<Vec<Exhibit>> {
    let case = linear(2e5, 200.0)?;
    let at = |step: f64, of: &[usize]| -> Result<Shown> {
        let exact = Course::reference(&case, &stale(koppel::coupling::CouplingConfig::zoh(), STOP, step))?;
        let mut runs = Vec::new();
        let mut errors = Vec::new();
        for (name, coupling) in of.iter().map(|m| methods(step)[*m].clone()) {
            let course = Course::of(&case, &stale(coupling, STOP, step))?;
            errors.push(global_error(&case, &course, &exact)?);
            runs.push((name, course));
        }
        Ok((runs, exact, errors))
    };
    let listed = |runs: &[(&'static str, Course)], errors: &[f64]| {
        runs.iter()
            .zip(errors)
            .map(|((name, _), e)| format!("{name} {}", short(*e)))
            .collect::<Vec<_>>()
            .join(", ")
    };
    let how = "c_k = 2e5, d_k = 200, 0.2 s.";
    let mut decays = [false; 2];
    for (own, (_, coupling)) in decays.iter_mut().zip(methods(1e-3)) {
        *own = stability::decays(&coupling, [2e5, 200.0], 1e-3, STOP)?;
    }
    let stable = |is_stable: bool| if is_stable { "stable" } else { "unstable" };
    let mut longer = Vec::new();
    for stop in [0.05, 0.5, 2.0] {
        longer.push(stable(stability::decays(&methods(1e-3)[1].1, [2e5, 200.0], 1e-3, stop)?));
    }
    let (runs, exact, errors) = at(1e-3, &[0, 1, 2, 3])?;
    let first =
        courses(Exhibit::new("Figure 3.63", "courses of all couplings, ΔT = 1 ms", how), &runs, &exact)
            .compare(
                Comparison::statement(
                    "ZOH and NEPCE are unstable",
                    !decays[0] && !decays[1],
                    format!(
                        "by the rule of 3.3.1 {} and {}; errors {}",
                        stable(decays[0]),
                        stable(decays[1]),
                        listed(&runs, &errors)
                    ),
                )
                .because(format!(
                    "not explained: over runs of 0.05, 0.5 and 2 s, as their length is not printed, NEPCE is {}",
                    longer.join(", ")
                )),
            )
            .compare(
                Comparison::statement(
                    "MBCorr and Pre-Step are equally accurate",
                    errors[2] < EQUAL * errors[3] && errors[3] < EQUAL * errors[2],
                    listed(&runs, &errors),
                )
                .because(format!(
                    "not explained: both are below 5 %, but Pre-Step is {} times as accurate; up to {EQUAL} times counts as equal, a limit chosen after the result was seen",
                    short(errors[2] / errors[3])
                )),
            );
    let (runs, exact, errors) = at(2e-3, &[2, 3])?;
    let second = courses(
        Exhibit::new("Figures 3.64, 3.65", "courses of the model-based couplings, ΔT = 2 ms", how),
        &runs,
        &exact,
    )
    .compare(Comparison::statement(
        "both are quite accurate",
        errors.iter().all(|e| *e < ACCURATE),
        listed(&runs, &errors),
    ));
    let (runs, exact, errors) = at(6e-3, &[2, 3])?;
    let third = courses(
        Exhibit::new("Figure 3.66", "courses of the model-based couplings, ΔT = 6 ms", how),
        &runs,
        &exact,
    )
    .compare(
        Comparison::statement("MBCorr is unstable", errors[0] > 0.5, listed(&runs, &errors))
            .because("its error equation is solved exactly here; by Euler's method it is unstable"),
    )
    .compare(Comparison::statement(
        "Pre-Step is stable and sufficiently accurate",
        errors[1] < 0.1,
        listed(&runs, &errors),
    ));
    Ok(vec![first, second, third])
}
