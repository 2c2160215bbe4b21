//! Pareto frontiers of spectral radius and relative consistency: (70), (71), Figures 6 and 7.

use koppel_io::heat_map::HeatMap;
use koppel_io::plot::Scale::{Linear, Logarithmic};

use koppel::analysis::LinearSystem;

use super::master::{Master, control_12, control_21, logarithmic, oscillator};
use crate::context::Context;
use crate::exhibit::{Comparison, Within, curve, numbers, plot, short};
use crate::{Exhibit, Result};

/// The norm that gives the paper's numbers.
const NORM: &str = "Relative consistency with the Frobenius norm after two steps, which gives the paper's numbers; its 1-norm does not.";

pub(super) fn frontiers(context: &Context<'_>) -> Result<Vec<Exhibit>> {
    let system = oscillator()?;
    let mut exhibits = Vec::new();
    for (number, name, found, paper) in [
        (
            "(70)",
            "Control21, α = 0.6, h = 9.11",
            control_21("", 0.6).objectives(&system, 9.11)?,
            [0.45, 0.78],
        ),
        (
            "(71)",
            "Control12, α = (0.59, 0.36), h = 8.9",
            control_12("", [0.59, 0.36]).objectives(&system, 8.9)?,
            [0.41, 1.1],
        ),
    ] {
        let digits = if number == "(70)" { 0.005 } else { 0.05 };
        let exhibit = Exhibit::new(number, name, NORM)
            .compare(Comparison::number("spectral radius", found[0], paper[0], Within::Absolute(0.005)))
            .compare(Comparison::number(
                "relative consistency",
                found[1],
                paper[1],
                Within::Absolute(digits),
            ));
        exhibits.push(exhibit);
    }
    exhibits.push(of_control_21(context)?);
    exhibits.push(of_control_12(context)?);
    Ok(exhibits)
}

/// Spectral radius and relative consistency; none for α from 1 on, where relaxed hold forgets nothing and the engine refuses it.
fn objectives(system: &LinearSystem, master: &Master, alpha: f64, step: f64) -> Result<[f64; 2]> {
    if alpha < 1.0 { master.objectives(system, step) } else { Ok([f64::NAN; 2]) }
}

/// Which points no other beats: worse in nothing and better in something. Points are (ρ, δ).
fn frontier(points: &[[f64; 2]]) -> Vec<usize> {
    let mut order: Vec<usize> =
        (0..points.len()).filter(|k| points[*k].iter().all(|v| v.is_finite())).collect();
    order.sort_by(|a, b| {
        points[*a][0].total_cmp(&points[*b][0]).then(points[*a][1].total_cmp(&points[*b][1]))
    });
    let mut best = f64::INFINITY;
    let mut kept: Vec<usize> = Vec::new();
    for at in order {
        // Equal points do not beat each other.
        let is_same = kept.last().is_some_and(|last| points[*last] == points[at]);
        if points[at][1] < best || is_same {
            best = points[at][1];
            kept.push(at);
        }
    }
    kept
}

/// Figure 6: (68), 100 steps as the printed 9.11 shows.
fn of_control_21(context: &Context<'_>) -> Result<Exhibit> {
    let (alphas, steps) = if context.is_quick { (12, 34) } else { (111, 100) };
    let alphas: Vec<f64> = (0..alphas).map(|k| 1.1 * f64::from(k) / f64::from(alphas - 1)).collect();
    let steps = logarithmic(1e-3, 10.0, steps);
    let jobs: Vec<[f64; 2]> = alphas.iter().flat_map(|a| steps.iter().map(|h| [*a, *h])).collect();
    let system = oscillator()?;
    let points =
        context.map(&jobs, |[alpha, step]| objectives(&system, &control_21("", *alpha), *alpha, *step))?;
    let best = frontier(&points);
    let is_seidel = |k: &&usize| jobs[**k][0] == 0.0;
    let seidel: Vec<usize> = best.iter().filter(is_seidel).copied().collect();
    let others: Vec<usize> = best.iter().filter(|k| !is_seidel(k)).copied().collect();
    let mut exhibit = Exhibit::new(
        "Figure 6",
        "Pareto frontier of Control21 over α and h",
        "α even from 0 to 1.1, h even in the logarithm from 1e-3 to 10 s; 100 values of h contain the printed 9.11, 111 of α the printed 0.6. From α = 1 on the engine refuses to run.",
    )
    .reduced(context.is_quick, "12 values of α and 34 of h instead of 111 and 100");
    for (k, title) in ["spectral radius", "relative consistency"].into_iter().enumerate() {
        let value = |v: f64| if k == 0 { v.min(1.5) } else { v.max(1e-12).log10() };
        let map = HeatMap {
            title: format!(
                "Figure 6, {}",
                if k == 0 { "spectral radius, at most 1.5" } else { "log10 of relative consistency" }
            ),
            x: "α".into(),
            y: "h, s".into(),
            columns: alphas.iter().map(|a| short(*a)).collect(),
            rows: steps.iter().map(|h| short(*h)).collect(),
            values: points.chunks(steps.len()).map(|c| c.iter().map(|p| value(p[k])).collect()).collect(),
        };
        exhibit = exhibit.drawing(&title.replace(' ', "-"), map.svg());
    }
    let columns = |pick: fn(&[f64; 2], &[f64; 2]) -> f64, of: &[usize]| -> Vec<f64> {
        of.iter().map(|k| pick(&jobs[*k], &points[*k])).collect()
    };
    exhibit = exhibit.table(
        "frontier",
        vec![
            numbers("α", columns(|job, _| job[0], &best)),
            numbers("h, s", columns(|job, _| job[1], &best)),
            numbers("spectral radius", columns(|_, point| point[0], &best)),
            numbers("relative consistency", columns(|_, point| point[1], &best)),
        ],
    );
    let largest = |of: &[usize]| of.iter().map(|k| jobs[*k][1]).fold(0.0, f64::max);
    // Is the printed point beaten by any of the grid?
    let printed = control_21("", 0.6).objectives(&system, 9.11)?;
    let beats = |p: &&[f64; 2]| {
        p[0] <= printed[0] && p[1] <= printed[1] && (p[0] < printed[0] - 1e-9 || p[1] < printed[1] - 1e-9)
    };
    let beaten = points.iter().filter(beats).count();
    let small = best.iter().filter(|k| jobs[**k][1] < 0.1);
    let share = small.clone().filter(is_seidel).count() as f64 / small.count().max(1) as f64;
    Ok(exhibit
        .curves(
            "frontier-drawn",
            plot(
                "Figure 6, points of the frontier",
                ["α", "h, s"],
                [Linear, Logarithmic],
                vec![
                    curve("Seidel21", seidel.iter().map(|k| (jobs[*k][0], jobs[*k][1]))),
                    curve("Control21", others.iter().map(|k| (jobs[*k][0], jobs[*k][1]))),
                ],
            ),
        )
        .compare(Comparison::statement(
            "for small steps Seidel21 dominates",
            share > 0.5,
            format!("Seidel21 makes up {} of the frontier with h < 0.1 s", short(share)),
        ))
        .compare(Comparison::statement(
            "the Control21 points of the frontier lie at large steps",
            largest(&others) > 5.0,
            format!(
                "up to h = {} s with α > 0, {} s with α = 0",
                short(largest(&others)),
                short(largest(&seidel))
            ),
        ))
        .compare(
            Comparison::statement(
                "α = 0.6, h = 9.11 lies on the frontier",
                beaten == 0,
                format!("{beaten} of {} points are better in both", points.len()),
            )
            .what("the highlighted point"),
        ))
}

/// Figure 7.
fn of_control_12(context: &Context<'_>) -> Result<Exhibit> {
    let (alphas, steps) = if context.is_quick { (9, 20) } else { (40, 80) };
    let alphas: Vec<f64> = (0..alphas).map(|k| f64::from(k) / f64::from(alphas - 1)).collect();
    let steps = logarithmic(1e-3, 10.0, steps);
    let mut jobs: Vec<[f64; 3]> = Vec::new();
    for a in &alphas {
        for b in &alphas {
            jobs.extend(steps.iter().map(|h| [*a, *b, *h]));
        }
    }
    let system = oscillator()?;
    let points = context
        .map(&jobs, |[a, b, step]| objectives(&system, &control_12("", [*a, *b]), a.max(*b), *step))?;
    let best = frontier(&points);
    let seidel: Vec<usize> =
        best.iter().filter(|k| jobs[**k][0] == 0.0 && jobs[**k][1] == 0.0).copied().collect();
    let others: Vec<usize> = best.iter().filter(|k| !seidel.contains(k)).copied().collect();
    let drawn = |of: &[usize]| of.iter().map(|k| (points[*k][0], points[*k][1])).collect::<Vec<_>>();
    let column = |k: usize| best.iter().map(move |at| (at, k));
    let printed = control_12("", [0.59, 0.36]).objectives(&system, 8.9)?;
    let beats = |p: &&[f64; 2]| p[0] <= printed[0] - 0.01 && p[1] <= printed[1] * 0.99;
    let beaten = points.iter().filter(beats).count();
    let least = |of: &[usize]| of.iter().map(|k| points[*k][0]).fold(f64::INFINITY, f64::min);
    Ok(Exhibit::new(
        "Figure 7",
        "Pareto frontier of Control12 by its objectives",
        "The search space is not printed; α1 and α2 even from 0 to 1 (40 values contain 0.59 and 0.36), 80 values of h even in the \
         logarithm from 1e-3 to 10 s (they contain 8.9).",
    )
    .reduced(context.is_quick, "9 by 9 values of α and 20 of h instead of 40 by 40 and 80")
    .table(
        "frontier",
        vec![
            numbers("α1", column(0).map(|(at, k)| jobs[*at][k])),
            numbers("α2", column(1).map(|(at, k)| jobs[*at][k])),
            numbers("h, s", column(2).map(|(at, k)| jobs[*at][k])),
            numbers("spectral radius", column(0).map(|(at, k)| points[*at][k])),
            numbers("relative consistency", column(1).map(|(at, k)| points[*at][k])),
        ],
    )
    .curves(
        "frontier-drawn",
        plot(
            "Figure 7, the frontier",
            ["ρ", "δ"],
            [Linear, Logarithmic],
            vec![curve("Seidel12", drawn(&seidel)), curve("Control12", drawn(&others)), curve("(71)", [(printed[0], printed[1])])],
        ),
    )
    .compare(Comparison::statement(
        "Seidel12 dominates on a part of the frontier",
        !seidel.is_empty(),
        format!("{} of {} points of the frontier are Seidel12", seidel.len(), best.len()),
    ))
    .compare(Comparison::statement(
        "some Control12 masters are more stable than every Seidel12",
        least(&others) < least(&seidel),
        format!("smallest ρ {} against {}", short(least(&others)), short(least(&seidel))),
    ))
    .compare(
        Comparison::statement(
            "α = (0.59, 0.36), h = 8.9 lies on the frontier",
            beaten == 0,
            format!("{beaten} of {} points are better in both by more than 0.01 and 1 %", points.len()),
        )
        .what("the highlighted point"),
    ))
}

#[cfg(test)]
mod tests {
    #[test]
    fn only_what_nothing_beats_is_kept() {
        let points =
            [[1.0, 5.0], [2.0, 3.0], [3.0, 3.0], [2.0, 4.0], [4.0, 1.0], [4.0, 1.0], [0.5, f64::NAN]];
        let mut found = super::frontier(&points);
        found.sort_unstable();
        assert_eq!(found, [0, 1, 4, 5]);
    }
}
