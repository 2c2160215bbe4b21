//! 3.2.2: settings of the pre-step method on learned models. Tables 3.10 to 3.13, Figures 3.19 to 3.51.

use koppel::coupling::{ErrorEquationConfig, Hold};
use koppel::identify::{ModelConfig, MoespConfig, RlsConfig};

use super::optimal::optimal_run;
use super::study::{Plan, Studied};
use crate::context::Context;
use crate::exhibit::{Comparison, Within, short};
use crate::{Exhibit, Result};

const RLS: Plan = Plan {
    name: "rls",
    text: include_str!("../../studies/rls.toml"),
    quick: &[
        ("timeLearning", "[0.1, 0.2]"),
        ("timeSwitchphase", "[0.002, 0.01]"),
        ("thresholdMbc2sbcCoupling", "[0.1, 5]"),
        ("thresholdMbcNoInputOpt", "[0.1, 5]"),
        ("lambda", "[0.99, 1.0]"),
    ],
};

const MOESP: Plan = Plan {
    name: "moesp",
    text: include_str!("../../studies/moesp.toml"),
    quick: &[
        ("timeLearning", "[0.1, 0.2]"),
        ("timeSwitchphase", "[0.002]"),
        ("thresholdMbc2sbcCoupling", "[0.1, 5]"),
        ("thresholdMbcNoInputOpt", "[0.1, 5]"),
        ("windowSize", "[50, 200]"),
    ],
};

pub(super) const SYSTEM: &str = "1 s of the dual mass with a progressive spring, ΔT = 1 ms, kicks 1 ms wide (one micro step wide they excite nothing), errors above 1 \
     count as 1.";

/// Table 3.10, in percent; what is not listed is below 1 %. For thresholdMbcNoInputOpt 9.4 is printed, but its square 11 is 0.42 %
/// of the sum 2595 of all.
const TABLE_3_10: &[(&[&str], f64)] = &[
    (&["timeLearning"], 0.1),
    (&["timeSwitchphase"], 0.8),
    (&["thresholdMbc2sbcCoupling"], 1.2),
    (&["thresholdMbcNoInputOpt"], 0.42),
    (&["lambda"], 0.8),
    (&["M"], 14.3),
    (&["N"], 14.3),
    (&["useErrDiffEqu"], 1.7),
    (&["M", "N"], 58.7),
    (&["M", "useErrDiffEqu"], 1.6),
    (&["N", "useErrDiffEqu"], 1.6),
    (&["thresholdMbc2sbcCoupling", "M"], 0.7),
    (&["thresholdMbc2sbcCoupling", "N"], 0.7),
    (&["thresholdMbc2sbcCoupling", "thresholdMbcNoInputOpt"], 0.4),
];

/// Table 3.11, in percent.
const TABLE_3_11: &[(&[&str], f64)] = &[
    (&["timeLearning"], 1.5),
    (&["timeSwitchphase"], 0.5),
    (&["thresholdMbc2sbcCoupling"], 29.8),
    (&["thresholdMbcNoInputOpt"], 0.9),
    (&["modelOrder"], 11.4),
    (&["windowSize"], 3.1),
    (&["useErrDiffEqu"], 22.2),
    (&["timeLearning", "timeSwitchphase"], 4.2),
    (&["thresholdMbc2sbcCoupling", "thresholdMbcNoInputOpt"], 2.8),
    (&["thresholdMbc2sbcCoupling", "modelOrder"], 3.9),
    (&["thresholdMbc2sbcCoupling", "windowSize"], 2.3),
    (&["thresholdMbc2sbcCoupling", "useErrDiffEqu"], 8.4),
    (&["thresholdMbcNoInputOpt", "modelOrder"], 2.4),
    (&["modelOrder", "windowSize"], 2.0),
];

const ORDERS: &str = "by the printed squares all runs with M ≠ N were lost, whatever their thresholds; in no reading of the text are they (Section 3.2.2, readings), and M = 2 with N = 1 is as good as M = N = 1";
const KICKS: &str = "the kicks are an input here, which models know; unknown to them, as the text has it, M = N = 1 and step 1 come out (Table 3.12, as the text has it)";
const THRESHOLDS: &str = "not explained: the models' error (2.93) stays below 0.5 but for the kicks here, so that thresholds above it do the same; with the kicks unknown to the models their means are 2.1 and 1.8";
const SWITCH: &str = "not explained: 0.0055 s come out with the kicks unknown to the models, as the text has it, which do not meet the printed value either";
/// Why MOESP differs; each variation with 320 of the runs.
pub(super) const STATES: &str = "the measured past stands for the state here, so that order 2 models what there is, while (2.18) forgets the states that one sample does not show. How inputs move over a step decides the rest: \
     interpolated, as Figure 2.1 has it, 9 % of the runs are lost; held 32 %, held with r = 3 29 %, δ begun anew 34 %, read fresh 38 %, FOH while learning 15 %; in none of them has order 1 the best runs";
const LEARNING: &str = "not explained: the shortest learning that was tried is the best here";

/// Numbers of the figures of one study.
struct Numbers {
    table: &'static str,
    main: &'static str,
    interactions: &'static str,
    sorted: &'static str,
    histograms: &'static str,
    optimum: &'static str,
    by: &'static str,
    /// Why shares of the analysis of variance differ.
    shares: &'static str,
}

fn common(
    context: &Context<'_>,
    studied: &Studied,
    numbers: &Numbers,
    printed: &[(&[&str], f64)],
) -> Vec<Exhibit> {
    let full = if numbers.by == "RLS" { 17_640 } else { 7056 };
    let quick = format!("fewer levels of the factors, {} of {full} runs", studied.runs);
    let inputs =
        if numbers.by == "RLS" { "held" } else { "interpolated between communication points (Figure 2.1)" };
    let how =
        format!("{} runs. {SYSTEM} Inputs are {inputs}. Shares are those of sums of squares.", studied.runs);
    let new = |number: &str, title: &str| {
        Exhibit::new(number, &format!("{title}, models by {}", numbers.by), how.clone())
            .reduced(context.is_quick, &quick)
    };
    vec![
        studied.variance(new(numbers.table, "analysis of variance"), printed, numbers.shares),
        studied.main_effects(new(numbers.main, "main effects")),
        studied.interactions(new(numbers.interactions, "interaction effects")),
        studied.sorted(new(numbers.sorted, "runs in ascending order"), 500),
        studied.histograms(new(numbers.histograms, "values of the nearly best runs")),
        studied.optimal(new(numbers.optimum, "optimal parameters")),
    ]
}

/// The mean of every number against the printed one, the most frequent of every name, and why they differ.
fn optimum(
    studied: &Studied,
    mut exhibit: Exhibit,
    means: &[(&str, f64, &str)],
    names: &[(&str, &str, &str)],
) -> Exhibit {
    for (name, paper, reason) in means {
        let found = studied.optimum(name);
        exhibit =
            exhibit.compare(Comparison::number(*name, found, *paper, Within::Relative(0.1)).because(*reason));
    }
    for (name, paper, reason) in names {
        let found = studied.mode(name);
        exhibit = exhibit
            .compare(Comparison::statement(*paper, found == *paper, found).because(*reason).what(*name));
    }
    exhibit
}

pub(super) fn rls(context: &Context<'_>) -> Result<Vec<Exhibit>> {
    let studied = RLS.run(context)?;
    let numbers = Numbers {
        table: "Table 3.10, Figure 3.19",
        main: "Figure 3.20",
        interactions: "Figures 3.21 to 3.28",
        sorted: "Figures 3.38 to 3.40",
        histograms: "Figures 3.41, 3.42",
        optimum: "Table 3.12",
        by: "RLS",
        shares: ORDERS,
    };
    let mut all = common(context, &studied, &numbers, TABLE_3_10);
    let [table, main, interactions, sorted, histograms, optimal] = &mut all[..] else { return Ok(all) };
    *table = std::mem::take(table)
        .compare(studied.largest_are(&["M", "N", "M – N"]).because(ORDERS))
        .compare_all(if_unequal_are_lost(&studied));
    for name in ["M", "N"] {
        let means = studied.means(name);
        *main = std::mem::take(main).compare(
            Comparison::statement(
                "1 is better than 2",
                means[0] < means[1],
                format!("mean errors {} and {}", short(means[0]), short(means[1])),
            )
            .because(ORDERS)
            .what(name),
        );
    }
    let means = studied.means("useErrDiffEqu");
    *main = std::mem::take(main).compare(
        Comparison::statement(
            "without step 1 the mean error is smaller",
            means[0] < means[1],
            format!("mean errors {} without, {} with", short(means[0]), short(means[1])),
        )
        .what("useErrDiffEqu"),
    );
    *interactions = std::mem::take(interactions).compare(equal_orders(&studied));
    *sorted = std::mem::take(sorted).compare_all(best_runs(&studied));
    let capped = studied.y.iter().filter(|y| **y < 1.0).count() as f64;
    *sorted = std::mem::take(sorted).compare(
        Comparison::number("runs below the largest error", capped, 5800.0, Within::Relative(0.1))
            .because(ORDERS),
    );
    *histograms = std::mem::take(histograms).compare(
        Comparison::number(
            "nearly best runs",
            studied.sorting.nearly_best as f64,
            179.0,
            Within::Relative(0.1),
        )
        .because(KICKS),
    );
    *optimal = optimum(
        &studied,
        std::mem::take(optimal),
        &[
            ("timeLearning", 0.22, LEARNING),
            ("timeSwitchphase", 0.005, SWITCH),
            ("thresholdMbc2sbcCoupling", 3.54, THRESHOLDS),
            ("thresholdMbcNoInputOpt", 0.21, THRESHOLDS),
            ("lambda", 0.996, KICKS),
            ("M", 1.0, KICKS),
            ("N", 1.0, KICKS),
        ],
        &[("useErrDiffEqu", "true", KICKS)],
    );
    let model = ModelConfig::Rls(RlsConfig { forgetting: 0.996, ..RlsConfig::default() });
    all.push(optimal_run(
        "Figures 3.43, 3.44",
        "Table 3.12",
        model,
        [0.22, 0.005, 3.54, 0.21],
        (ErrorEquationConfig::Carried, Hold::Constant),
    )?);
    Ok(all)
}

/// Figure 3.26 (f): M and N should be equal.
fn equal_orders(studied: &Studied) -> Comparison {
    let of = |name: &str| &studied.data.factors[studied.factor(name)];
    let found = koppel_study::analysis::interaction(of("M"), of("N"), &studied.y).means;
    Comparison::statement(
        "M and N should be equal: the lines of their interaction cross",
        found[0][0] < found[0][1] && found[1][1] < found[1][0],
        format!(
            "mean errors (M, N): (1, 1) {}, (1, 2) {}, (2, 1) {}, (2, 2) {}",
            short(found[0][0]),
            short(found[0][1]),
            short(found[1][0]),
            short(found[1][1])
        ),
    )
    .because(ORDERS)
}

/// The largest effects if runs with M ≠ N count as lost, as the printed squares say.
fn if_unequal_are_lost(studied: &Studied) -> Vec<Comparison> {
    let order = |name: &str| &studied.data.factors[studied.factor(name)].numbers;
    let (m, n) = (order("M"), order("N"));
    let y = studied.y.iter().zip(m.iter().zip(n)).map(|(y, (m, n))| if m == n { *y } else { 1.0 });
    let Some(lost) = studied.with_errors(y.collect()) else { return Vec::new() };
    let share = |names: &[&str], paper: f64| {
        let what = format!("share of {} if runs with M ≠ N count as lost, %", names.join(" – "));
        Comparison::number(what, lost.effect(names).1, paper, Within::Absolute(5.0))
            .because("the mean errors of M = N = 1 and M = N = 2 are 0.12 and 0.70 in the thesis")
    };
    vec![
        share(&["M"], 14.3),
        share(&["N"], 14.3),
        share(&["M", "N"], 58.7),
        lost.largest_are(&["M", "N", "M – N"]).what("if runs with M ≠ N count as lost"),
    ]
}

/// What the thesis sees in the best runs.
fn best_runs(studied: &Studied) -> Vec<Comparison> {
    let share = |count: usize| studied.sorting.order.len() * count / 17_640;
    let first = |count: usize| studied.sorting.order.iter().take(share(count).max(4));
    let number = |name: &str, row: usize| studied.data.factors[studied.factor(name)].numbers[row];
    let total = first(500).count();
    let unequal = first(500).filter(|row| number("M", **row) != number("N", **row)).count();
    let low = first(400).filter(|row| number("thresholdMbc2sbcCoupling", **row) < 2.0).count();
    let high = first(500).filter(|row| number("thresholdMbcNoInputOpt", **row) >= 2.0).count();
    let forgetful = first(500).filter(|row| number("lambda", **row) < 0.985).count();
    let report = |count: usize| format!("{count} of the first {total} differ from that");
    vec![
        Comparison::statement("in the best 500 runs M and N are equal", unequal == 0, report(unequal))
            .because(KICKS),
        Comparison::statement(
            "in the best 400 runs thresholdMbc2sbcCoupling is 2 or 5",
            low == 0,
            report(low),
        )
        .because(THRESHOLDS),
        Comparison::statement(
            "in the best 500 runs thresholdMbcNoInputOpt is below 2",
            high == 0,
            report(high),
        )
        .because(THRESHOLDS),
        Comparison::statement(
            "0.95 and 0.98 are to be avoided as λ",
            forgetful * 4 < total,
            report(forgetful),
        )
        .because(KICKS),
    ]
}

pub(super) fn moesp(context: &Context<'_>) -> Result<Vec<Exhibit>> {
    let studied = MOESP.run(context)?;
    let numbers = Numbers {
        table: "Table 3.11, Figure 3.29",
        main: "Figure 3.30",
        interactions: "Figures 3.31 to 3.37",
        sorted: "Figures 3.45 to 3.47",
        histograms: "Figures 3.48, 3.49",
        optimum: "Table 3.13",
        by: "MOESP",
        shares: STATES,
    };
    let mut all = common(context, &studied, &numbers, TABLE_3_11);
    let [table, main, _, sorted, histograms, optimal] = &mut all[..] else { return Ok(all) };
    *table = std::mem::take(table).compare(
        studied.largest_are(&["thresholdMbc2sbcCoupling", "modelOrder", "useErrDiffEqu"]).because(STATES),
    );
    let windows = studied.means("windowSize");
    let apart = |values: &[f64]| {
        let (low, high) = crate::course::range(values);
        high - low
    };
    let listed = windows.iter().map(|m| short(*m)).collect::<Vec<_>>().join(", ");
    if windows.len() > 2 {
        *main = std::mem::take(main).compare(
            Comparison::statement(
                "windows of 200, 500 and 1000 differ little, 50 differs from them",
                apart(&windows[1..]) < apart(&windows),
                listed,
            )
            .what("windowSize"),
        );
    }
    let orders = studied.means("modelOrder");
    *main = std::mem::take(main).compare(
        Comparison::statement(
            "order 1 is better than 2",
            orders[0] < orders[1],
            format!("mean errors {} and {}", short(orders[0]), short(orders[1])),
        )
        .because(STATES)
        .what("modelOrder"),
    );
    let first =
        |count: usize| studied.sorting.order.iter().take((studied.sorting.order.len() * count / 7056).max(4));
    let number = |name: &str, row: usize| studied.data.factors[studied.factor(name)].numbers[row];
    let high = first(500).filter(|row| number("modelOrder", **row) > 1.0).count();
    let low = first(430).filter(|row| number("thresholdMbc2sbcCoupling", **row) < 2.0).count();
    let (few, many) = (first(430).count(), first(500).count());
    *sorted = std::mem::take(sorted)
        .compare(
            Comparison::statement(
                "in the best 500 runs the order is 1",
                high == 0,
                format!("not in {high} of {many}"),
            )
            .because(STATES),
        )
        .compare(
            Comparison::statement(
                "in the best 430 runs thresholdMbc2sbcCoupling is 2 or 5",
                low == 0,
                format!("not in {low} of {few}"),
            )
            .because(STATES),
        );
    *histograms = std::mem::take(histograms).compare(Comparison::number(
        "runs taken",
        studied.sorting.nearly_best as f64,
        50.0,
        Within::Absolute(0.0),
    ).because("all runs within 10 % of the best are taken, and fifty at least; the thesis has three of them"));
    *optimal = optimum(
        &studied,
        std::mem::take(optimal),
        &[
            ("timeLearning", 0.29, LEARNING),
            ("timeSwitchphase", 0.004, STATES),
            ("thresholdMbc2sbcCoupling", 4.22, STATES),
            ("thresholdMbcNoInputOpt", 1.72, STATES),
            ("modelOrder", 1.0, STATES),
            ("windowSize", 778.0, STATES),
        ],
        &[("useErrDiffEqu", "false", STATES)],
    );
    let model = ModelConfig::Moesp(MoespConfig { order: Some(1), window: 778, rows: None });
    all.push(optimal_run(
        "Figures 3.50, 3.51",
        "Table 3.13",
        model,
        [0.29, 0.004, 4.22, 1.72],
        (ErrorEquationConfig::Off, Hold::Continuous),
    )?);
    Ok(all)
}
