//! 3.2.2 by an implementation of its own, of the thesis alone: nothing of the engine is used.
//!
//! It finds out what the text leaves open. Each reading of it makes the design of experiments with models learned by RLS; the
//! one nearest to the text makes it in full.

mod coupling;
mod masses;
mod models;

use self::coupling::error;
use self::masses::reference;
use crate::context::Context;
use crate::exhibit::{Comparison, Within, numbers, short, texts};
use crate::{Exhibit, Result};

/// How a learned difference equation becomes y' = J_y y + J_1 u + c.
#[derive(Clone, Copy, PartialEq)]
enum Model {
    /// As it is; older terms are known. `true`: step 1 counts them too.
    Recursion(bool),
    /// Gilbert's realisation, and (2.18) with the pseudo-inverse of C: J_y is the mean of the poles.
    Gilbert,
    /// The same with numerator and denominator of (2.88) not brought to one length.
    Unpadded,
}

#[derive(Clone, Copy)]
struct Reading {
    what: &'static str,
    model: Model,
    /// The kick is an input that the identification sees.
    is_kick_known: bool,
    has_constant: bool,
    /// Inputs move to their new value over the step.
    is_continuous: bool,
    is_foh: bool,
    /// Input u^{k-1} of (2.86) taken by its letter.
    is_late: bool,
    /// Quality by the model after its update.
    is_quality_after: bool,
    /// Covariance as printed.
    is_covariance_printed: bool,
    is_delta_reset: bool,
    /// Seconds a kick lasts.
    width: f64,
    covariance: f64,
}

const AS_THE_TEXT: Reading = Reading {
    what: "as the text: Gilbert, C⁺, the kick belongs to S1, no constant",
    model: Model::Gilbert,
    is_kick_known: false,
    has_constant: false,
    is_continuous: false,
    is_foh: false,
    is_late: false,
    is_quality_after: false,
    is_covariance_printed: false,
    is_delta_reset: false,
    width: 1e-3,
    covariance: 1e6,
};

const READINGS: [Reading; 14] = [
    Reading {
        what: "recursion, kick and constant known, step 1 by (2.57) alone",
        model: Model::Recursion(false),
        is_kick_known: true,
        has_constant: true,
        ..AS_THE_TEXT
    },
    Reading {
        what: "that, step 1 with all terms, as koppel does it",
        model: Model::Recursion(true),
        is_kick_known: true,
        has_constant: true,
        ..AS_THE_TEXT
    },
    Reading {
        what: "recursion, the kick not known",
        model: Model::Recursion(true),
        has_constant: true,
        ..AS_THE_TEXT
    },
    AS_THE_TEXT,
    Reading { what: "as the text, (2.88) not padded", model: Model::Unpadded, ..AS_THE_TEXT },
    Reading { what: "as the text, inputs interpolated", is_continuous: true, ..AS_THE_TEXT },
    Reading { what: "as the text, FOH while learning", is_foh: true, ..AS_THE_TEXT },
    Reading { what: "as the text, u of the step before", is_late: true, ..AS_THE_TEXT },
    Reading {
        what: "as the text, u of the step before, interpolated, FOH",
        is_late: true,
        is_continuous: true,
        is_foh: true,
        ..AS_THE_TEXT
    },
    Reading { what: "as the text, quality after the update", is_quality_after: true, ..AS_THE_TEXT },
    Reading { what: "as the text, covariance as printed", is_covariance_printed: true, ..AS_THE_TEXT },
    Reading { what: "as the text, δ reset every step", is_delta_reset: true, ..AS_THE_TEXT },
    Reading { what: "as the text, P(0) = 10¹²", covariance: 1e12, ..AS_THE_TEXT },
    Reading { what: "as the text, kicks of one micro step", width: 1e-5, ..AS_THE_TEXT },
];

/// One run of the design.
#[derive(Clone, Copy)]
struct Factors {
    learning: f64,
    switch: f64,
    hold_above: f64,
    modified_above: f64,
    forgetting: f64,
    m: usize,
    n: usize,
    has_step_one: bool,
}

/// The values of all factors: learning, switch, forgetting; thresholds are those of Table 3.7 unless it is to be quick.
fn design(learning: &[f64], switch: &[f64], forgetting: &[f64], is_quick: bool) -> Vec<Factors> {
    const THRESHOLDS: [f64; 7] = [0.01, 0.05, 0.1, 0.5, 1.0, 2.0, 5.0];
    let thresholds = if is_quick { &THRESHOLDS[4..6] } else { &THRESHOLDS[..] };
    let mut all = Vec::new();
    for (learning, switch) in pairs(learning, switch) {
        for (hold_above, modified_above) in pairs(thresholds, thresholds) {
            for &forgetting in forgetting {
                for (m, n, has_step_one) in (0..8).map(|k| (1 + k % 2, 1 + k / 2 % 2, k >= 4)) {
                    all.push(Factors {
                        learning,
                        switch,
                        hold_above,
                        modified_above,
                        forgetting,
                        m,
                        n,
                        has_step_one,
                    });
                }
            }
        }
    }
    all
}

fn pairs<'a>(one: &'a [f64], other: &'a [f64]) -> impl Iterator<Item = (f64, f64)> + 'a {
    one.iter().flat_map(move |a| other.iter().map(move |b| (*a, *b)))
}

/// Runs of a design by their error.
struct Sorted {
    runs: Vec<(Factors, f64)>,
}

impl Sorted {
    fn new(context: &Context<'_>, reading: &Reading, design: &[Factors]) -> Result<Self> {
        let exact = reference(reading.width);
        let errors = context.map(design, |f| Ok(error(reading, f, &exact)))?;
        let mut runs: Vec<(Factors, f64)> = design.iter().copied().zip(errors).collect();
        runs.sort_by(|a, b| a.1.total_cmp(&b.1));
        Ok(Sorted { runs })
    }

    /// Mean error of some of them.
    fn mean(&self, is: impl Fn(&Factors) -> bool) -> f64 {
        let chosen = self.runs.iter().filter(|(f, _)| is(f));
        let (sum, count) = chosen.fold((0.0, 0.0), |(sum, count), (_, error)| (sum + error, count + 1.0));
        sum / count
    }

    /// Means of M = N = 1, M = 1 and N = 2, M = 2 and N = 1, M = N = 2.
    fn by_order(&self) -> [f64; 4] {
        [(1, 1), (1, 2), (2, 1), (2, 2)].map(|(m, n)| self.mean(|f| f.m == m && f.n == n))
    }

    /// The first 500 of 17 640.
    fn first(&self) -> &[(Factors, f64)] {
        &self.runs[..(self.runs.len() * 500 / 17_640).max(4)]
    }

    /// Those within 10 % of the best.
    fn nearly_best(&self) -> &[(Factors, f64)] {
        let limit = 1.1 * self.runs[0].1;
        &self.runs[..self.runs.partition_point(|(_, error)| *error <= limit)]
    }
}

fn share(runs: &[(Factors, f64)], is: impl Fn(&Factors) -> bool) -> f64 {
    100.0 * runs.iter().filter(|(f, _)| is(f)).count() as f64 / runs.len() as f64
}

pub(super) fn exhibits(context: &Context<'_>) -> Result<Vec<Exhibit>> {
    Ok(vec![readings(context)?, in_full(context)?])
}

/// All readings, each with a part of the design.
fn readings(context: &Context<'_>) -> Result<Exhibit> {
    let forgetting: &[f64] = if context.is_quick { &[1.0] } else { &[0.95, 0.98, 0.99, 0.999, 1.0] };
    let design = design(&[0.2], &[0.01], forgetting, context.is_quick);
    let mut all = Vec::new();
    for reading in &READINGS {
        all.push(Sorted::new(context, reading, &design)?);
    }
    let of = |take: &dyn Fn(&Sorted) -> f64| all.iter().map(take).collect::<Vec<f64>>();
    let columns = vec![
        texts("reading", READINGS.iter().map(|reading| reading.what)),
        numbers("mean error, M = N = 1", of(&|s| s.by_order()[0])),
        numbers("M = 1, N = 2", of(&|s| s.by_order()[1])),
        numbers("M = 2, N = 1", of(&|s| s.by_order()[2])),
        numbers("M = N = 2", of(&|s| s.by_order()[3])),
        numbers("M ≠ N and th_SBC = 0.01", of(&|s| s.mean(|f| f.m != f.n && f.hold_above < 0.02))),
        numbers("first 500: M = N, %", of(&|s| share(s.first(), |f| f.m == f.n))),
        numbers("th_SBC ≥ 2, %", of(&|s| share(s.first(), |f| f.hold_above >= 2.0))),
        numbers("th_mod < 2, %", of(&|s| share(s.first(), |f| f.modified_above < 2.0))),
        numbers("λ ≥ 0.99, %", of(&|s| share(s.first(), |f| f.forgetting > 0.985))),
        numbers("step 1, %", of(&|s| share(s.first(), |f| f.has_step_one))),
    ];
    let mut exhibit = Exhibit::new(
        "Section 3.2.2, readings",
        "what the text on RLS leaves open, tried",
        format!(
            "An implementation of its own makes {} runs for each of {} readings. The mean squares 372, 372 and 1524 of Table 3.10 mean: errors of 1.18 less than those of M ≠ N in the sum \
             of both equal orders, and 0.58 between these. As no error exceeds 1, runs with M ≠ N have a mean of at least 0.88; \"approximately 5800\" runs below 1 make it 1, and 0.12 and 0.70 for \
             M = N = 1 and 2. Runs with th_SBC = 0.01 hardly ever use a model: those with M ≠ N were lost by something else than the method.",
            design.len(),
            READINGS.len()
        ),
    )
    .reduced(context.is_quick, "fewer thresholds and one λ")
    .table("readings", columns);
    for (reading, sorted) in READINGS.iter().zip(&all) {
        let means = sorted.by_order();
        let seen = format!(
            "{}; with th_SBC = 0.01 {}; {} % of the first 500 have M = N, {} % step 1",
            means.map(short).join(", "),
            short(sorted.mean(|f| f.m != f.n && (context.is_quick || f.hold_above < 0.02))),
            short(share(sorted.first(), |f| f.m == f.n).round()),
            short(share(sorted.first(), |f| f.has_step_one).round()),
        );
        exhibit = exhibit.compare(
            Comparison::statement(
                "mean errors 0.12, at least 0.88 twice, 0.70",
                means[1].min(means[2]) > 0.88,
                seen,
            )
            .what(reading.what)
            .because("with no reading are all runs with M ≠ N lost"),
        );
    }
    Ok(exhibit)
}

/// The reading nearest to the text, with all runs.
fn in_full(context: &Context<'_>) -> Result<Exhibit> {
    let design = match context.is_quick {
        true => design(&[0.1, 0.2], &[0.002], &[0.99, 1.0], true),
        false => design(&[0.1, 0.2, 0.5], &[0.002, 0.01, 0.05], &[0.95, 0.98, 0.99, 0.999, 1.0], false),
    };
    let sorted = Sorted::new(context, &AS_THE_TEXT, &design)?;
    let best = sorted.nearly_best();
    let mean =
        |take: &dyn Fn(&Factors) -> f64| best.iter().map(|(f, _)| take(f)).sum::<f64>() / best.len() as f64;
    let unequal = share(sorted.first(), |f| f.m != f.n);
    let with = share(best, |f| f.has_step_one);
    let short_learning = "not explained: the shortest learning that was tried is the best; the thesis has 0.1, 0.2 and 0.5 s in 50, 99 and 30 of 179 runs";
    let thresholds = "not explained: the models' error (2.93) stays below 0.5 but for the kicks, so that thresholds above it do the same";
    let near = Within::Relative(0.1);
    Ok(Exhibit::new(
        "Table 3.12, as the text has it",
        "optimal parameters, the method by the letter",
        format!(
            "{} runs of an implementation of its own: kicks belong to S1 and are unknown to its model (3.1.2), no constant is learned (2.86), models become interface Jacobians by Gilbert's \
             realisation and C⁺ (2.90), (2.18). The input of (2.86) is that of the step that ends, the covariance is divided as a whole.",
            design.len()
        ),
    )
    .reduced(context.is_quick, "fewer levels of the factors")
    .table(
        "nearly-best",
        vec![
            numbers("error", best.iter().map(|(_, error)| *error)),
            numbers("timeLearning", best.iter().map(|(f, _)| f.learning)),
            numbers("timeSwitchphase", best.iter().map(|(f, _)| f.switch)),
            numbers("thresholdMbc2sbcCoupling", best.iter().map(|(f, _)| f.hold_above)),
            numbers("thresholdMbcNoInputOpt", best.iter().map(|(f, _)| f.modified_above)),
            numbers("lambda", best.iter().map(|(f, _)| f.forgetting)),
            numbers("M", best.iter().map(|(f, _)| f.m as f64)),
            numbers("N", best.iter().map(|(f, _)| f.n as f64)),
        ],
    )
    .compare(Comparison::number("nearly best runs (Figures 3.41, 3.42)", best.len() as f64, 179.0, near))
    .compare(Comparison::statement(
        "in the best 500 runs M and N are equal (Figure 3.40)",
        unequal == 0.0,
        format!("{} % are not", short(unequal)),
    ))
    .compare(Comparison::number("timeLearning", mean(&|f| f.learning), 0.22, near).because(short_learning))
    // Printed with one digit.
    .compare(Comparison::number("timeSwitchphase", mean(&|f| f.switch), 0.005, Within::Absolute(0.0005)))
    .compare(Comparison::number("thresholdMbc2sbcCoupling", mean(&|f| f.hold_above), 3.54, near).because(thresholds))
    .compare(Comparison::number("thresholdMbcNoInputOpt", mean(&|f| f.modified_above), 0.21, near).because(thresholds))
    .compare(Comparison::number("lambda", mean(&|f| f.forgetting), 0.996, near))
    .compare(Comparison::number("M", mean(&|f| f.m as f64), 1.0, near))
    .compare(Comparison::number("N", mean(&|f| f.n as f64), 1.0, near))
    .compare(Comparison::statement("useErrDiffEqu is true", with > 50.0, format!("in {} %", short(with)))))
}
