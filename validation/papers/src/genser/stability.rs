//! 3.3.1: regions of stability over the step and the coupling's ratio. Figures 3.52 to 3.56.

use koppel::coupling::CouplingConfig;
use koppel::run::{Parallel, Run, RunConfig};
use koppel::system::Subsystem;
use koppel_io::heat_map::HeatMap;

use super::dual_mass::{linear, methods, stale};
use crate::context::Context;
use crate::exhibit::{Comparison, Within, numbers, short};
use crate::watched::{Trace, Watched, seen};
use crate::{Exhibit, Result};

const HOW: &str = "The thesis does not print its grid: here c_k d_k = 10^7.25, c_k/d_k from 1e-2 to 1e5 in tenths of a decade, ΔT from 0.5 to 10 ms \
     in steps of 0.5 ms, runs of 0.1 s with the amplitude taken every 0.5 ms. Unstable if a signal is larger in the last fifth than in \
     the first. Only the part connected to ΔT = 0.5 ms counts.";

/// Ratios c_k / d_k in 1/s.
fn ratios(every: usize) -> Vec<f64> {
    (0..71).step_by(every).map(|j| 10_f64.powf(-2.0 + 0.1 * f64::from(j))).collect()
}

/// What the thesis does not print: the path c_k d_k = 10^`product` through the plane, and the length of runs.
#[derive(Clone, Copy)]
struct Setting {
    product: f64,
    stop: f64,
}

const USUAL: Setting = Setting { product: 7.25, stop: 0.1 };
const OTHERS: [Setting; 7] = [
    Setting { stop: 0.05, ..USUAL },
    USUAL,
    Setting { stop: 0.2, ..USUAL },
    Setting { stop: 0.4, ..USUAL },
    Setting { product: 6.5, ..USUAL },
    Setting { product: 8.0, ..USUAL },
    Setting { product: 9.0, ..USUAL },
];

fn is_stable(coupling: &CouplingConfig, ratio: f64, step: f64, setting: Setting) -> Result<bool> {
    let dk = (10_f64.powf(setting.product) / ratio).sqrt();
    decays(coupling, [ratio * dk, dk], step, setting.stop)
}

/// Area of a region, in ms times decades.
fn area(region: &[Vec<bool>]) -> f64 {
    let cells = (region.len() * region[0].len()) as f64;
    10.0 * 7.1 * region.iter().flatten().filter(|is_in| **is_in).count() as f64 / cells
}

/// With other settings, on a coarser grid: per setting and method the area and the largest stable step in ms, and the share of
/// ratios above 2e4 at which the pre-step method is stable at 2 ms.
struct Varied {
    areas: Vec<[f64; 4]>,
    largest: Vec<[f64; 4]>,
    high: Vec<f64>,
}

impl Varied {
    fn new(context: &Context<'_>) -> Result<Self> {
        let ratios = ratios(if context.is_quick { 10 } else { 4 });
        let steps: Vec<f64> = (1..=10).map(|k| 1e-3 * f64::from(k)).collect();
        let settings = if context.is_quick { &OTHERS[..2] } else { &OTHERS[..] };
        let mut varied = Varied { areas: Vec::new(), largest: Vec::new(), high: Vec::new() };
        for setting in settings {
            let mut jobs: Vec<(usize, f64, f64)> = Vec::new();
            for (m, step) in (0..4).flat_map(|m| steps.iter().map(move |step| (m, *step))) {
                jobs.extend(ratios.iter().map(|ratio| (m, step, *ratio)));
            }
            let cells = context
                .map(&jobs, |(m, step, ratio)| is_stable(&methods(*step)[*m].1, *ratio, *step, *setting))?;
            let rows: Vec<Vec<bool>> = cells.chunks(ratios.len()).map(<[bool]>::to_vec).collect();
            let regions: Vec<Vec<Vec<bool>>> = rows.chunks(steps.len()).map(connected).collect();
            let longest = |region: &Vec<Vec<bool>>| {
                1e3 * steps
                    .iter()
                    .zip(region)
                    .filter(|(_, row)| row.contains(&true))
                    .map(|(s, _)| *s)
                    .fold(0.0, f64::max)
            };
            varied.areas.push([0, 1, 2, 3].map(|m| area(&regions[m])));
            varied.largest.push([0, 1, 2, 3].map(|m| longest(&regions[m])));
            let high: Vec<bool> = ratios
                .iter()
                .zip(&rows[3 * steps.len() + 1])
                .filter(|(r, _)| **r > 2e4)
                .map(|(_, s)| *s)
                .collect();
            varied.high.push(high.iter().filter(|is| **is).count() as f64 / high.len() as f64);
        }
        Ok(varied)
    }

    /// What was varied, and between which values a figure lies then: a reason only if the printed value is among them.
    fn words(values: impl Iterator<Item = f64>, paper: f64) -> String {
        let (low, high) = crate::course::range(&values.collect::<Vec<_>>());
        let is_met = (low..=high).contains(&paper);
        format!(
            "{}grid, path and length of the runs are not printed: with runs of 0.05 to 0.4 s and c_k d_k from 10^6.5 to 10^9 it is {} to {}{}",
            if is_met { "" } else { "not explained: " },
            short(low),
            short(high),
            if is_met { "" } else { ", which does not meet the printed value" }
        )
    }
}

/// The rule of 3.3.1: no signal is larger in the last fifth of a run than in the first.
pub(super) fn decays(coupling: &CouplingConfig, [ck, dk]: [f64; 2], step: f64, stop: f64) -> Result<bool> {
    let case = linear(ck, dk)?;
    let config = RunConfig { threads: Parallel::Never, ..stale(coupling.clone(), stop, step) };
    let traces = [Trace::default(), Trace::default()];
    let mut system = case.system()?;
    let mut own = traces.iter();
    let watch = |inner| -> Box<dyn Subsystem> {
        let trace = own.next().cloned().unwrap_or_default();
        Box::new(Watched { inner, micro: 1e-5, spacing: 5e-4, trace })
    };
    system.subsystems = system.subsystems.into_iter().map(watch).collect();
    let mut run = Run::new(system, &config)?;
    let start: Vec<Vec<f64>> = (0..2).map(|id| run.outputs(id).to_vec()).collect();
    while !run.is_done() {
        if run.advance().is_err() {
            return Ok(false);
        }
    }
    let mut is_stable = true;
    for trace in &traces {
        let points = seen(trace);
        let width = points.first().map_or(0, |(_, y)| y.len());
        let first = start.iter().find(|y| y.len() == width);
        for j in 0..width {
            let largest = |from: f64, to: f64| {
                let within = points.iter().filter(|(t, _)| *t > from - 1e-9 && *t < to + 1e-9);
                within.map(|(_, y)| y[j].abs()).fold(0.0, f64::max)
            };
            let early = largest(0.0, 0.2 * stop).max(first.map_or(0.0, |y| y[j].abs()));
            is_stable &= largest(0.8 * stop, stop) <= early;
        }
    }
    Ok(is_stable)
}

/// The part of the stable cells that is connected to the smallest step.
fn connected(rows: &[Vec<bool>]) -> Vec<Vec<bool>> {
    let columns = rows[0].len();
    let mut reached = vec![vec![false; columns]; rows.len()];
    let mut edge: Vec<(usize, usize)> = (0..columns).map(|j| (0, j)).collect();
    while let Some((k, j)) = edge.pop() {
        if !rows[k][j] || std::mem::replace(&mut reached[k][j], true) {
            continue;
        }
        let neighbours = [(k.wrapping_sub(1), j), (k + 1, j), (k, j.wrapping_sub(1)), (k, j + 1)];
        edge.extend(neighbours.into_iter().filter(|(k, j)| *k < rows.len() && *j < columns));
    }
    reached
}

pub(super) fn exhibits(context: &Context<'_>) -> Result<Vec<Exhibit>> {
    let (every, first) = if context.is_quick { (5, 4) } else { (1, 1) };
    let ratios = ratios(every);
    let steps: Vec<f64> =
        (1..=20).filter(|k| k % first == 0 || *k == 1).map(|k| 0.5e-3 * f64::from(k)).collect();
    let mut jobs: Vec<(usize, f64, f64)> = Vec::new();
    for m in 0..4 {
        for step in &steps {
            jobs.extend(ratios.iter().map(|ratio| (m, *step, *ratio)));
        }
    }
    let cells =
        context.map(&jobs, |(m, step, ratio)| is_stable(&methods(*step)[*m].1, *ratio, *step, USUAL))?;
    let varied = Varied::new(context)?;
    let paper = [7.5, 10.5, 19.5, 62.0];
    let printed = ["Figure 3.53", "Figure 3.54", "Figure 3.55", "Figure 3.56"];
    let quick = "every fifth ratio and every fourth step";
    let mut figure = Exhibit::new("Figure 3.52", "areas of the regions of stability, ms times decades", HOW)
        .reduced(context.is_quick, quick);
    let mut all = Vec::new();
    let mut areas = [0.0; 4];
    for (m, number) in printed.into_iter().enumerate() {
        let name = methods(1e-3)[m].0;
        let own = &cells[m * steps.len() * ratios.len()..(m + 1) * steps.len() * ratios.len()];
        let rows: Vec<Vec<bool>> = own.chunks(ratios.len()).map(<[bool]>::to_vec).collect();
        let region = connected(&rows);
        areas[m] = area(&region);
        let largest = steps
            .iter()
            .zip(&region)
            .filter(|(_, row)| row.contains(&true))
            .map(|(s, _)| 1e3 * s)
            .fold(0.0, f64::max);
        let map = HeatMap {
            title: format!("{number}, {name}: 1 stable, 0.5 stable but not connected"),
            x: "c_k / d_k, 1/s".into(),
            y: "ΔT, s".into(),
            columns: ratios.iter().map(|r| short(*r)).collect(),
            rows: steps.iter().map(|s| short(*s)).collect(),
            values: (0..ratios.len())
                .map(|j| {
                    (0..steps.len())
                        .map(|k| {
                            if region[k][j] {
                                1.0
                            } else if rows[k][j] {
                                0.5
                            } else {
                                0.0
                            }
                        })
                        .collect()
                })
                .collect(),
        };
        let grid: Vec<(usize, usize)> =
            (0..steps.len()).flat_map(|k| (0..ratios.len()).map(move |j| (k, j))).collect();
        let flag = |is_set: bool| f64::from(u8::from(is_set));
        let exhibit = Exhibit::new(number, &format!("region of stability, {name}"), HOW)
            .reduced(context.is_quick, quick)
            .table(
                "cells",
                vec![
                    numbers("ΔT, s", grid.iter().map(|(k, _)| steps[*k])),
                    numbers("c_k / d_k, 1/s", grid.iter().map(|(_, j)| ratios[*j])),
                    numbers("stable", grid.iter().map(|(k, j)| flag(rows[*k][*j]))),
                    numbers("connected", grid.iter().map(|(k, j)| flag(region[*k][*j]))),
                ],
            )
            .drawing("region", map.svg());
        all.push(described(m, exhibit, largest, &rows, &ratios, &steps, &varied));
        figure = figure.compare(
            Comparison::number(format!("{name}, ms decades"), areas[m], paper[m], Within::Relative(0.1))
                .because(Varied::words(varied.areas.iter().map(|areas| areas[m]), paper[m])),
        );
    }
    let order = areas.windows(2).all(|two| two[0] < two[1]);
    figure = figure.compare(Comparison::statement(
        "regions grow from ZOH over NEPCE and MBCorr to Pre-Step",
        order,
        areas.map(short).join(", "),
    ));
    all.insert(0, figure);
    Ok(all)
}

/// What the text says about each region.
fn described(
    m: usize,
    exhibit: Exhibit,
    largest: f64,
    rows: &[Vec<bool>],
    ratios: &[f64],
    steps: &[f64],
    varied: &Varied,
) -> Exhibit {
    let limit = [3.0, 4.0, 5.0][m.min(2)];
    if m < 3 {
        return exhibit.compare(
            Comparison::number(
                "largest step with a stable coupling, ms",
                largest,
                limit,
                Within::Absolute(0.5),
            )
            .because(Varied::words(varied.largest.iter().map(|largest| largest[m]), limit)),
        );
    }
    let row = |step: f64| steps.iter().position(|s| (s / step - 1.0).abs() < 1e-9);
    let at = |step: f64, test: &dyn Fn(f64) -> bool| {
        row(step).map_or(f64::NAN, |k| {
            let all: Vec<bool> =
                ratios.iter().zip(&rows[k]).filter(|(r, _)| test(**r)).map(|(_, s)| *s).collect();
            all.iter().filter(|s| **s).count() as f64 / all.len() as f64
        })
    };
    let (left, right) = (at(2e-3, &|r| r < 0.1), at(2e-3, &|r| r > 2e4));
    let widths: Vec<f64> =
        rows.iter().map(|row| row.iter().filter(|s| **s).count() as f64 / ratios.len() as f64).collect();
    let (low, high) = crate::course::range(&widths);
    let even = steps.iter().zip(&widths).take_while(|(_, width)| (*width - widths[0]).abs() < 0.2);
    let kept = 1e3 * even.last().map_or(0.0, |(step, _)| *step);
    exhibit
        .compare(Comparison::statement(
            "stable for c_k / d_k < 0.1 too",
            left > 0.9,
            format!("share {} of these ratios at ΔT = 2 ms", short(left)),
        ))
        .compare(
            Comparison::statement(
                "unstable for c_k / d_k > 2e4",
                right == 0.0,
                format!("share {} of these ratios at ΔT = 2 ms are stable", short(right)),
            )
            .because(Varied::words(varied.high.iter().copied(), 0.0)),
        )
        .compare(
            Comparison::statement(
                "nearly independent of the step",
                high - low < 0.2,
                format!("stable at {} to {} of the ratios, by step", short(low), short(high)),
            )
            .because(format!(
                "so it is up to {} ms, within 0.2; beyond that the stable ratios become fewer with every step",
                short(kept)
            )),
        )
}

#[cfg(test)]
mod tests {
    #[test]
    fn islands_do_not_count() {
        let rows = vec![vec![true, true, false], vec![false, true, false], vec![true, false, true]];
        let found = super::connected(&rows);
        assert_eq!(found, [vec![true, true, false], vec![false, true, false], vec![false, false, false]]);
    }
}
