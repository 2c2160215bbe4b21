//! Kübler & Schiehlen 2000, 5: a double pendulum cut at its hinge.

mod pendulum;

use koppel_io::plot::Scale::{Linear, Logarithmic};

use crate::context::Context;
use crate::exhibit::{Comparison, Within, curve, plot, short};
use crate::paper::Stage;
use crate::{Exhibit, Result};
use pendulum::{
    STOP, Swing, Way, euler_limit, exact, fastest_euler_filter, fastest_filter, frozen_limit, mean_error,
    swing, uncut_euler,
};

pub(crate) const STAGES: &[Stage] = &[
    Stage { name: "stability", seconds: [2.0, 1.0], make: stability },
    Stage { name: "errors over the mass ratio", seconds: [10.0, 4.0], make: errors },
];

/// The macro step of Figure 10.
const STEP: f64 = 1e-4;

fn drawn(name: &str, swing: &Swing, angle: usize) -> koppel_io::plot::Curve {
    let points = swing.times.iter().copied().zip(swing.angles.iter().map(|a| a[angle]));
    let every = (swing.times.len() / 1000).max(1);
    curve(name, points.step_by(every).filter(|(_, a)| a.abs() < 10.0))
}

/// Figure 9.
fn stability(context: &Context<'_>) -> Result<Vec<Exhibit>> {
    let mut exhibit = Exhibit::new(
        "Figure 9",
        "stability with and without iteration, mass ratios 0.5 and 2",
        format!(
            "Angle of the lower pendulum, H = 0.1 ms, {STOP} s. Without iteration a run ends once an acceleration exceeds 1e6 m/s²."
        ),
    );
    for beta in [0.5, 2.0] {
        let [plain, iterated] = [Way::Plain, Way::Iterated].map(|way| swing(beta, &way, STEP, STOP));
        let (plain, iterated) = (plain?, iterated?);
        let curves = vec![drawn("with iteration", &iterated, 1), drawn("without iteration", &plain, 1)];
        let title = format!("Figure 9, β = {beta}");
        exhibit = exhibit
            .curves(&format!("beta-{beta}"), plot(&title, ["time, s", "α2, rad"], [Linear; 2], curves))
            .compare(Comparison::statement(
                format!("with iteration stable at β = {beta}"),
                iterated.is_bounded,
                format!("bounded for {} s", short(iterated.times.last().copied().unwrap_or(0.0))),
            ))
            .compare(Comparison::statement(
                format!("without iteration {} at β = {beta}", if beta > 1.0 { "unstable" } else { "stable" }),
                plain.is_bounded == (beta <= 1.0),
                format!(
                    "{} {} s",
                    if plain.is_bounded { "bounded for" } else { "lost after" },
                    short(plain.times.last().copied().unwrap_or(0.0))
                ),
            ));
    }
    let steps = [1e-3, 1e-4, 1e-5, 1e-6];
    let ends = context.map(&steps, |step| {
        let swing = swing(2.0, &Way::Plain, *step, 0.2)?;
        Ok((swing.is_bounded, swing.times.len()))
    })?;
    let report =
        steps.iter().zip(&ends).map(|(step, (_, count))| format!("H = {step:e}: lost after {count} steps"));
    Ok(vec![exhibit.compare(Comparison::statement(
        "at β = 2 no step is small enough without iteration",
        ends.iter().all(|(is_bounded, _)| !is_bounded),
        report.collect::<Vec<_>>().join(", "),
    ))])
}

/// One mass ratio.
struct Ratio {
    beta: f64,
    /// Uncut, plain, iterated, filtered.
    errors: [f64; 4],
    omega: f64,
    /// At equal cost: iterated, filtered.
    equal: [f64; 2],
    evaluations: f64,
}

/// Figures 10, 11 and 12.
fn errors(context: &Context<'_>) -> Result<Vec<Exhibit>> {
    let exponents: Vec<i32> = if context.is_quick { vec![-2, 0, 2, 5] } else { (-4..=10).collect() };
    let betas: Vec<f64> = match context.is_quick {
        true => exponents.iter().map(|e| 2_f64.powi(*e)).collect(),
        false => exponents.iter().map(|e| 2_f64.powf(f64::from(*e) / 2.0)).collect(),
    };
    let ratios = context.map(&betas, |beta| ratio(*beta))?;
    let printed = fastest_filter(4.0, STEP)?;
    Ok(vec![figure_10(context, &ratios, printed)?, figure_11(context, &ratios), figure_12()?])
}

fn ratio(beta: f64) -> Result<Ratio> {
    let error = |swing: &Swing| -> f64 {
        if swing.is_bounded { mean_error(&swing.angles, &exact(beta, &swing.times)) } else { f64::INFINITY }
    };
    let iterated = swing(beta, &Way::Iterated, STEP, STOP)?;
    let omega = fastest_filter(beta, STEP)?;
    let uncut = mean_error(&uncut_euler(beta, STEP, iterated.times.len()), &exact(beta, &iterated.times));
    let errors = [
        uncut,
        error(&swing(beta, &Way::Plain, STEP, STOP)?),
        error(&iterated),
        error(&swing(beta, &Way::Filtered(omega), STEP, STOP)?),
    ];
    // The filter may take as many steps as the iteration makes evaluations.
    let finer = STEP / iterated.evaluations;
    let filtered = swing(beta, &Way::Filtered(fastest_filter(beta, finer)?), finer, STOP)?;
    let equal = [errors[2], error(&filtered)];
    Ok(Ratio { beta, errors, omega, equal, evaluations: iterated.evaluations })
}

const MEASURE: &str = "Error: mean over time and both angles of |α - α_ref| over the largest |α_ref|, against the uncut pendulum \
     solved by a method of order four. Infinite errors are not drawn.";

fn figure_10(context: &Context<'_>, ratios: &[Ratio], printed: f64) -> Result<Exhibit> {
    let names = ["uncut, Euler", "without iteration", "with iteration", "with filter"];
    let line = |k: usize| curve(names[k], ratios.iter().map(|r| (r.beta, r.errors[k])));
    let curves: Vec<_> = (0..4).map(line).collect();
    let omegas = curve("ω, rad/s", ratios.iter().map(|r| (r.beta, r.omega)));
    let light: Vec<&Ratio> = ratios.iter().filter(|r| r.beta <= 1.0).collect();
    let heavy: Vec<&Ratio> = ratios.iter().filter(|r| r.beta > 1.0).collect();
    let spread = |r: &&Ratio| {
        let (low, high) = crate::course::range(&r.errors);
        high / low
    };
    let widest = light.iter().map(spread).fold(0.0, f64::max);
    let from_uncut = ratios.iter().map(|r| (r.errors[2] / r.errors[0] - 1.0).abs()).fold(0.0, f64::max);
    let smallest = heavy.iter().map(|r| r.errors[3] / r.errors[2]).fold(f64::INFINITY, f64::min);
    let largest = heavy.iter().map(|r| r.errors[3] / r.errors[2]).fold(0.0, f64::max);
    let lost = heavy.iter().filter(|r| r.errors[1].is_infinite()).count();
    let [first, last] = [ratios.first(), ratios.last()].map(|r| r.map_or(f64::NAN, |r| r.errors[2]));
    Ok(Exhibit::new(
        "Figure 10",
        "error over the mass ratio with the same step, H = 0.1 ms",
        format!("{MEASURE} The filter is the fastest with which the run stays bounded, found by bisection to 1 %."),
    )
    .reduced(context.is_quick, "4 of 15 mass ratios")
    .curves("errors", plot("Figure 10", ["β", "mean error"], [Logarithmic; 2], curves))
    .curves("filters", plot("Figure 10, the fastest filter", ["β", "ω, rad/s"], [Logarithmic; 2], vec![omegas]))
    .compare(
        Comparison::statement(
            "for β ≤ 1 all errors are about the same",
            widest < 2.0,
            format!("largest over smallest at most {}", short(widest)),
        ),
    )
    .compare(Comparison::statement(
        "without iteration unstable for β > 1",
        lost == heavy.len(),
        format!("lost at {lost} of {} mass ratios above 1", heavy.len()),
    ))
    .compare(Comparison::statement(
        "iteration is as accurate as the uncut system, for all β",
        from_uncut < 0.01,
        format!("errors differ by at most {} %", short(100.0 * from_uncut)),
    ))
    .compare(Comparison::statement(
        "the error grows with β",
        last > first,
        format!("from {} to {}", short(first), short(last)),
    ))
    .compare(Comparison::statement(
        "filters are stable for all β",
        ratios.iter().all(|r| r.errors[3].is_finite()),
        "every run stays bounded",
    ))
    .compare(Comparison::statement(
        "for β > 1 the filter's error is much larger than that of iteration",
        smallest > 2.0,
        format!("{} to {} times", short(smallest), short(largest)),
    ).because("the engine solves the filter exactly, so that a faster one is stable than in the paper"))
    .compare(Comparison::number(
        "fastest filter at β = 4, 1/s, all solved by Euler's method, by hand",
        fastest_euler_filter(4.0, STEP),
        1900.0,
        Within::Absolute(50.0),
    )
    .because(
        format!(
            "the run's length and the rule by which it counts as stable are not printed; the frozen loop with its largest gain is stable to {} 1/s, \
             with that of the start to {} 1/s",
            short(euler_limit(4.0, STEP)?),
            short(euler_limit(4.0 * 1.3_f64.sin().powi(2), STEP)?)
        ),
    ))
    .compare(
        Comparison::number("fastest filter at β = 4, 1/s, the engine's", printed, 1900.0, Within::Absolute(50.0)).because(
            format!(
                "the engine solves the filter exactly, which bears a faster one; its frozen loop at the start is stable to {} 1/s",
                short(frozen_limit(4.0, STEP)?)
            ),
        ),
    ))
}

fn figure_11(context: &Context<'_>, ratios: &[Ratio]) -> Exhibit {
    let line = |name: &str, k: usize| curve(name, ratios.iter().map(|r| (r.beta, r.equal[k])));
    let small: Vec<&Ratio> = ratios.iter().filter(|r| r.beta <= 0.5).collect();
    let above: Vec<&Ratio> = ratios.iter().filter(|r| r.beta > 4.0).collect();
    let is_smaller = small.iter().all(|r| r.equal[1] < r.equal[0]);
    let (low, high) =
        crate::course::range(&above.iter().map(|r| r.equal[1] / r.equal[0]).collect::<Vec<_>>());
    let evaluations = ratios.iter().map(|r| r.evaluations);
    let most = evaluations.clone().fold(0.0, f64::max);
    let least = evaluations.fold(f64::INFINITY, f64::min);
    let report = small
        .iter()
        .map(|r| format!("β = {}: {} against {}", short(r.beta), short(r.equal[1]), short(r.equal[0])));
    Exhibit::new(
        "Figure 11",
        "error over the mass ratio with the same cost",
        format!(
            "{MEASURE} Cost is counted in evaluations of the loop, so that the result does not depend on the machine: with iteration \
             H = 0.1 ms and {} to {} evaluations a step, with the filter as much smaller a step.",
            short(least),
            short(most)
        ),
    )
    .reduced(context.is_quick, "4 of 15 mass ratios")
    .curves(
        "errors",
        plot("Figure 11", ["β", "mean error"], [Logarithmic; 2], vec![line("with iteration", 0), line("with filter", 1)]),
    )
    .compare(Comparison::statement(
        "for small β the filter's error is the smaller one",
        is_smaller,
        report.collect::<Vec<_>>().join(", "),
    ))
    .compare(Comparison::statement(
        "for β > 4 the filter's error is the larger one, and grows",
        low > 1.0 && above.windows(2).all(|two| two[1].equal[1] > 0.5 * two[0].equal[1]),
        format!("{} to {} times that of iteration", short(low), short(high)),
    ))
    .compare(Comparison::statement(
        "iteration gives reliable results for all β",
        ratios.iter().all(|r| r.equal[0] < 0.05),
        format!("errors at most {}", short(ratios.iter().map(|r| r.equal[0]).fold(0.0, f64::max))),
    ))
}

fn figure_12() -> Result<Exhibit> {
    let beta = 32.0;
    let iterated = swing(beta, &Way::Iterated, STEP, STOP)?;
    let finer = STEP / iterated.evaluations;
    let filtered = swing(beta, &Way::Filtered(fastest_filter(beta, finer)?), finer, STOP)?;
    let reference = exact(beta, &iterated.times);
    let errors = [&iterated, &filtered].map(|s| mean_error(&s.angles, &exact(beta, &s.times)));
    let mut exhibit =
        Exhibit::new("Figure 12", "iteration and filter at β = 32", "At the same cost, as Figure 11.");
    for (angle, name) in ["alpha1", "alpha2"].into_iter().enumerate() {
        let points = iterated.times.iter().copied().zip(reference.iter().map(|a| a[angle])).step_by(20);
        let curves = vec![
            curve("reference", points),
            drawn("with iteration", &iterated, angle),
            drawn("with filter", &filtered, angle),
        ];
        let title = format!("Figure 12, {name}");
        exhibit = exhibit.curves(name, plot(&title, ["time, s", "rad"], [Linear; 2], curves));
    }
    Ok(exhibit.compare(Comparison::statement(
        "with iteration the motion is right, with the filter it is not",
        errors[0] < 0.05 && errors[1] > 5.0 * errors[0],
        format!("mean errors {} and {}", short(errors[0]), short(errors[1])),
    )))
}
