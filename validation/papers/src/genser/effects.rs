//! Exhibits that every design of experiments has: analysis of variance, main and interaction effects, sorted runs, histograms.

use koppel_io::heat_map::HeatMap;
use koppel_io::levels::{Levels, Mark};
use koppel_io::plot::Scale::{Linear, Logarithmic};
use koppel_study::analysis::{interaction, response};

use super::study::Studied;
use crate::Exhibit;
use crate::exhibit::{Comparison, Within, curve, numbers, plot, short, texts};

/// Points of a share that ours may lie from the thesis'.
const POINTS: f64 = 5.0;

impl Studied {
    /// Table and heat map of the sums of squares, with the printed shares in percent.
    pub(super) fn variance(&self, exhibit: Exhibit, printed: &[(&[&str], f64)], reason: &str) -> Exhibit {
        let factors = &self.data.factors;
        let terms = &self.anova.terms;
        let names: Vec<String> = factors.iter().map(|factor| factor.name.clone()).collect();
        let sum: f64 = terms.iter().map(|term| term.sum).sum();
        let value = |i: usize, j: usize| {
            let wanted = if i == j { vec![i] } else { vec![i.min(j), i.max(j)] };
            terms.iter().find(|term| term.factors == wanted).map_or(f64::NAN, |term| 100.0 * term.sum / sum)
        };
        let map = HeatMap {
            title: "Shares of the sums of squares, %".into(),
            x: String::new(),
            y: String::new(),
            columns: names.clone(),
            rows: names,
            values: (0..factors.len()).map(|i| (0..factors.len()).map(|j| value(i, j)).collect()).collect(),
        };
        let paper = |term: &koppel_study::analysis::Term| {
            let is_same = |names: &[&str]| {
                let mut wanted: Vec<usize> = names.iter().map(|name| self.factor(name)).collect();
                wanted.sort_unstable();
                wanted == term.factors
            };
            printed.iter().find(|(names, _)| is_same(names)).map_or(f64::NAN, |(_, share)| *share)
        };
        let columns = vec![
            texts("effect", terms.iter().map(|term| self.words(&term.factors))),
            numbers("sum of squares", terms.iter().map(|term| term.sum)),
            numbers("degrees of freedom", terms.iter().map(|term| term.freedom as f64)),
            numbers("mean square", terms.iter().map(|term| term.mean)),
            numbers("share, %", terms.iter().map(|term| 100.0 * term.sum / sum)),
            numbers("share in the thesis, %", terms.iter().map(paper)),
        ];
        // With --quick a factor may have one level, and then no effect.
        let known = printed.iter().filter(|(names, _)| self.effect(names).1.is_finite());
        let compared = known.map(|(names, share)| {
            let what = format!("share of {}, %", names.join(" – "));
            Comparison::number(what, self.effect(names).1, *share, Within::Absolute(POINTS)).because(reason)
        });
        exhibit.table("anova", columns).drawing("heat-map", map.svg()).compare_all(compared)
    }

    /// Means at the levels of each factor.
    pub(super) fn main_effects(&self, mut exhibit: Exhibit) -> Exhibit {
        for factor in &self.data.factors {
            let found = response(factor, &self.y);
            let picture = Levels {
                title: format!("Main effect of {}", factor.name),
                x: factor.name.clone(),
                y: "mean error".into(),
                levels: factor.shown(),
                series: vec![("mean".into(), found.iter().map(|r| r.mean).collect())],
                mark: Mark::Lines,
            };
            let columns = vec![
                texts(&factor.name, factor.shown()),
                numbers("mean error", found.iter().map(|r| r.mean)),
                numbers("smallest", found.iter().map(|r| r.min)),
                numbers("largest", found.iter().map(|r| r.max)),
            ];
            exhibit = exhibit.table(&factor.name, columns).drawing(&factor.name, picture.svg());
        }
        exhibit
    }

    /// Means at pairs of levels; every pair once.
    pub(super) fn interactions(&self, mut exhibit: Exhibit) -> Exhibit {
        let factors = &self.data.factors;
        for (i, one) in factors.iter().enumerate() {
            for other in &factors[i + 1..] {
                let found = interaction(one, other, &self.y);
                let of = |k: usize| found.means.iter().map(|row| row[k]).collect::<Vec<_>>();
                let lines: Vec<(String, Vec<f64>)> = other
                    .shown()
                    .into_iter()
                    .enumerate()
                    .map(|(k, label)| (format!("{} = {label}", other.name), of(k)))
                    .collect();
                let name = format!("{}-{}", one.name, other.name);
                let mut columns = vec![texts(&one.name, one.shown())];
                columns.extend(lines.iter().map(|(name, values)| numbers(name, values.clone())));
                let picture = Levels {
                    title: format!("{} with {}", one.name, other.name),
                    x: one.name.clone(),
                    y: "mean error".into(),
                    levels: one.shown(),
                    series: lines,
                    mark: Mark::Lines,
                };
                exhibit = exhibit.table(&name, columns).drawing(&name, picture.svg());
            }
        }
        exhibit
    }

    /// Errors in ascending order, and the values of the factors in the same order.
    pub(super) fn sorted(&self, exhibit: Exhibit, shown: usize) -> Exhibit {
        let order = &self.sorting.order;
        let mut columns = vec![
            numbers("rank", (0..order.len()).map(|k| (k + 1) as f64)),
            numbers("run", order.iter().map(|row| self.data.runs[*row] as f64)),
            numbers("error", order.iter().map(|row| self.y[*row])),
        ];
        for factor in &self.data.factors {
            columns.push(texts(&factor.name, order.iter().map(|row| factor.labels[*row].clone())));
        }
        let line = curve("error", order.iter().enumerate().map(|(k, row)| ((k + 1) as f64, self.y[*row])));
        let mut exhibit = exhibit.table("runs", columns).drawing(
            "error",
            plot("Errors in ascending order", ["rank", "error"], [Linear, Logarithmic], vec![line]).svg(),
        );
        for factor in &self.data.factors {
            let points =
                order.iter().take(shown).enumerate().map(|(k, row)| ((k + 1) as f64, factor.at[*row] as f64));
            let title = format!("{}, the best {} runs", factor.name, shown.min(order.len()));
            let picture = plot(&title, ["rank", "level"], [Linear; 2], vec![curve(&factor.name, points)]);
            exhibit = exhibit.drawing(&factor.name, picture.svg());
        }
        exhibit
    }

    /// How often values appear among the nearly best runs.
    pub(super) fn histograms(&self, mut exhibit: Exhibit) -> Exhibit {
        for (factor, optimum) in self.data.factors.iter().zip(&self.sorting.optimum) {
            let counts: Vec<f64> = optimum.counts.iter().map(|count| *count as f64).collect();
            let picture = Levels {
                title: format!("{} of the {} nearly best runs", factor.name, self.sorting.nearly_best),
                x: factor.name.clone(),
                y: "runs".into(),
                levels: factor.shown(),
                series: vec![("runs".into(), counts.clone())],
                mark: Mark::Bars,
            };
            let columns = vec![texts(&factor.name, factor.shown()), numbers("runs", counts)];
            exhibit = exhibit.table(&factor.name, columns).drawing(&factor.name, picture.svg());
        }
        exhibit
    }

    /// The set of optimal parameters.
    pub(super) fn optimal(&self, exhibit: Exhibit) -> Exhibit {
        let report = |k: usize| {
            let (factor, optimum) = (&self.data.factors[k], &self.sorting.optimum[k]);
            optimum.mean.map_or_else(|| factor.levels[optimum.mode].label.clone(), short)
        };
        let count = self.data.factors.len();
        let columns = vec![
            texts("parameter", self.data.factors.iter().map(|factor| factor.name.clone())),
            texts("value", (0..count).map(report)),
        ];
        exhibit.table("optimum", columns)
    }

    /// The largest effects are those the thesis names, in whatever order.
    pub(super) fn largest_are(&self, names: &[&str]) -> Comparison {
        let ranking = self.ranking();
        let first: Vec<String> = ranking.iter().take(names.len()).map(|(name, _)| name.clone()).collect();
        let report =
            ranking.iter().take(names.len() + 2).map(|(name, share)| format!("{name} {} %", short(*share)));
        Comparison::statement(
            format!("the largest effects are {}", names.join(", ")),
            names.iter().all(|name| first.iter().any(|own| own == name)),
            report.collect::<Vec<_>>().join(", "),
        )
    }
}
