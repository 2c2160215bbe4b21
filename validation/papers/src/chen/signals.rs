//! What a coupling does to a signal: over frequency (Figures 4 and 15), and to a sweep (Figure 5).

use std::f64::consts::TAU;

use koppel::coupling::{CouplingConfig, HinfConfig, Hold};
use koppel::frequency::error_table;
use koppel::hinf::{HoldOrder, designed};
use koppel::linalg::{Complex, Matrix};
use koppel::run::{Run, RunConfig};
use koppel::signal::external::ExternalConfig;
use koppel::solver::SolverConfig;
use koppel::system::{Connection, LinearOde, OdeModel, StateSpace, SystemBuilder, Variable};
use koppel_io::plot::Scale::{Linear, Logarithmic};

use super::{START, hinf};
use crate::context::Context;
use crate::exhibit::{Comparison, Within, curve, plot, short};
use crate::watched::{Trace, Watched, seen};
use crate::{Exhibit, Result};

pub(super) fn exhibits(_: &Context<'_>) -> Result<Vec<Exhibit>> {
    Ok(vec![figure_4()?, figure_5()?, figure_15()?])
}

/// |u - y| / |y| over f Δt.
struct Errors {
    names: Vec<&'static str>,
    frequencies: Vec<f64>,
    rows: Vec<Vec<f64>>,
}

impl Errors {
    fn new(methods: Vec<(&'static str, CouplingConfig)>) -> Result<Self> {
        let frequencies: Vec<f64> = (0..=300).map(|k| 1e-4 * 1e4_f64.powf(f64::from(k) / 300.0)).collect();
        let configs: Vec<CouplingConfig> = methods.iter().map(|(_, coupling)| coupling.clone()).collect();
        let rows = error_table(&configs, Hold::Constant, &frequencies)?;
        let rows = rows.into_iter().map(Option::unwrap_or_default).collect();
        Ok(Errors { names: methods.iter().map(|(name, _)| *name).collect(), frequencies, rows })
    }

    /// At the frequency of the grid nearest to `f`.
    fn at(&self, method: usize, f: f64) -> f64 {
        let distance = |g: f64| (g / f).ln().abs();
        let near = (0..self.frequencies.len())
            .min_by(|a, b| distance(self.frequencies[*a]).total_cmp(&distance(self.frequencies[*b])));
        near.map_or(f64::NAN, |k| self.rows[method][k])
    }

    /// d log |error| / d log f between two frequencies.
    fn slope(&self, method: usize, from: f64, to: f64) -> f64 {
        (self.at(method, to) / self.at(method, from)).ln() / (to / from).ln()
    }

    fn curves(&self) -> Vec<koppel_io::plot::Curve> {
        let line = |(name, row): (&&'static str, &Vec<f64>)| {
            curve(*name, self.frequencies.iter().copied().zip(row.iter().copied()))
        };
        self.names.iter().zip(&self.rows).map(line).collect()
    }
}

/// How many times larger the error of order 3 becomes at most above f Δt = 0.06 if its corner is lowered to 0.01, with poles
/// in a disc of this part of the step, and where.
fn raised(disc: f64) -> Result<(f64, f64)> {
    let at = |hz| hinf(|c| (c.weight_order, c.weight_hz, c.disc) = (3, Some(hz), Some(disc)));
    let errors = Errors::new(vec![("low", at(0.01)), ("high", at(0.06))])?;
    let high = errors.frequencies.iter().enumerate().filter(|(_, f)| **f > 0.06);
    let ratio = high.map(|(k, f)| (errors.rows[0][k] / errors.rows[1][k], *f));
    Ok(ratio.fold((0.0, f64::NAN), |most, new| if new.0 > most.0 { new } else { most }))
}

fn figure_4() -> Result<Exhibit> {
    let errors = Errors::new(vec![
        ("ZOH", CouplingConfig::zoh()),
        ("FOH", CouplingConfig::foh(START)),
        ("SOH", CouplingConfig::soh(START)),
        ("H∞, order 1", hinf(|_| {})),
        ("H∞, order 2", hinf(|c| c.weight_order = 2)),
        ("H∞, order 3", hinf(|c| c.weight_order = 3)),
        ("H∞, order 3 at 0.01", hinf(|c| (c.weight_order, c.weight_hz) = (3, Some(0.01)))),
    ])?;
    let mut exhibit = Exhibit::new(
        "Figure 4",
        "coupling error over normalised frequency",
        "Transfer functions of the couplings as the engine has them, compensator scaled so that constants pass, poles in a disc of a tenth of the step.",
    );
    for (name, scale) in [("decibel", Logarithmic), ("absolute", Linear)] {
        let mut shown = plot(
            &format!("Figure 4, {name} scale"),
            ["f Δt", "|ξ_u|"],
            [Logarithmic, scale],
            errors.curves(),
        );
        if scale == Linear {
            shown.curves.iter_mut().for_each(|c| c.points.retain(|p| p.1 < 4.0));
        }
        exhibit = exhibit.curves(name, shown);
    }
    for (method, order) in [(0, 1.0), (1, 2.0), (2, 3.0)] {
        exhibit = exhibit.compare(Comparison::number(
            format!("order of the error of {}", errors.names[method]),
            errors.slope(method, 1e-3, 1e-2),
            order,
            Within::Absolute(0.05),
        ));
    }
    let corners = [0.01, 0.03, 0.06];
    let orders: Vec<f64> = (0..3).map(|k| errors.slope(3 + k, 1.5 * corners[k], 3.0 * corners[k])).collect();
    let floors: Vec<f64> = (0..3).map(|k| errors.slope(3 + k, 0.1 * corners[k], 0.3 * corners[k])).collect();
    let is_rising = orders.windows(2).all(|two| two[1] > two[0]);
    // Where a constant passes unchanged the floor below the corner becomes a slope of one.
    let below = |f: f64| {
        let best = (0..3).map(|hold| errors.at(hold, f)).fold(f64::INFINITY, f64::min);
        (3..6).filter(|method| errors.at(*method, f) < best).count()
    };
    let (most, at) = raised(0.1)?;
    let mut by_disc = Vec::new();
    for disc in [0.01, 0.03, 0.2, 0.3] {
        let (most, at) = raised(disc)?;
        by_disc.push(format!("{} times with a disc of {disc} (at {})", short(most), short(at)));
    }
    let better: Vec<String> =
        [0.02, 0.05, 0.1, 0.2, 0.3].iter().map(|f| format!("{} of 3 at {f}", below(*f))).collect();
    Ok(exhibit
        .compare(Comparison::statement(
            "a weight of higher order makes the error converge faster above its corner",
            is_rising,
            format!("slopes {} above the corners", orders.iter().map(|s| short(*s)).collect::<Vec<_>>().join(", ")),
        ))
        .compare(
            Comparison::statement(
                "below the corner of the weight the error stays at a lower limit",
                floors.iter().all(|slope| slope.abs() < 0.3),
                format!("slopes {} below the corners", floors.iter().map(|s| short(*s)).collect::<Vec<_>>().join(", ")),
            )
            .because("the engine scales the compensator so that constants pass unchanged; without that the error would stay at γ"),
        )
        .compare(Comparison::statement(
            "a lower corner lowers the limit and raises the error at high frequency",
            errors.at(6, 2e-3) < errors.at(5, 2e-3) && most > 1.0,
            format!(
                "order 3, corner 0.01 against 0.06: {} and {} at f Δt = 0.002; at most {} times as large above 0.06, at {}",
                short(errors.at(6, 2e-3)),
                short(errors.at(5, 2e-3)),
                short(most),
                short(at)
            ),
        )
        .because(format!("how fast the poles of the compensator may be, which the paper does not print, decides it: at most {}", by_disc.join(", "))))
        .compare(Comparison::statement(
            "with the proposed corners the error is below that of the holds over a wide range",
            below(0.2) == 3 && below(0.3) == 3 && below(0.1) >= 2,
            format!("H∞ couplings below the best hold: {}", better.join(", ")),
        )))
}

fn figure_15() -> Result<Exhibit> {
    let held = |hold| hinf(|c| c.hold = hold);
    let errors = Errors::new(vec![
        ("held by ZOH", held(HoldOrder::Zoh)),
        ("held by FOH", held(HoldOrder::Foh)),
        ("held by SOH", held(HoldOrder::Soh)),
    ])?;
    let low = errors.frequencies.iter().copied().filter(|f| *f < 0.1);
    let apart = low.map(|f| {
        let all = [0, 1, 2].map(|k| errors.at(k, f));
        let (least, most) = crate::course::range(&all);
        most / least
    });
    let apart = apart.fold(0.0, f64::max);
    let most = [0, 1, 2].map(|k| errors.rows[k].iter().copied().fold(0.0, f64::max));
    let order = |hold| -> Result<f64> {
        let config = HinfConfig { hold, ..HinfConfig::default() };
        Ok(designed(&config.specification(0.05))?.compensator.poles.len() as f64)
    };
    let mut exhibit =
        Exhibit::new("Figure 15", "coupling error of H∞ by how values are held", "As Figure 4.")
            .curves("errors", plot("Figure 15", ["f Δt", "|ξ_u|"], [Logarithmic; 2], errors.curves()))
            .compare(Comparison::statement(
                "the error changes little with the hold at low frequency",
                apart < 2.0,
                format!("at most {} times below f Δt = 0.1", short(apart)),
            ))
            .compare(Comparison::statement(
                "at high frequency it grows with the order of the hold",
                most[0] < most[1] && most[1] < most[2],
                format!("largest {}, {}, {}", short(most[0]), short(most[1]), short(most[2])),
            ));
    for (hold, name, paper) in
        [(HoldOrder::Zoh, "ZOH", 5.0), (HoldOrder::Foh, "FOH", 7.0), (HoldOrder::Soh, "SOH", 9.0)]
    {
        exhibit = exhibit.compare(
            Comparison::number(
                format!("order of K1 with {name}"),
                order(hold)?,
                paper,
                Within::Absolute(0.0),
            )
            .because("the closed form cancels the weight's pole, which the synthesis of the paper keeps"),
        );
    }
    Ok(exhibit)
}

/// Time, what the receiver gets, and what the source gives, twenty times a step.
fn reconstructed(
    coupling: CouplingConfig,
    step: f64,
    stop: f64,
    signal: ExternalConfig,
) -> Result<Vec<(f64, f64, f64)>> {
    let one = |value: f64| Matrix::from_slice(1, 1, &[value]);
    let traces = [Trace::default(), Trace::default()];
    let part = |trace: &Trace| -> Result<Watched> {
        let matrices = StateSpace::new("s", one(0.0), one(0.0), one(0.0), one(1.0))?;
        let ode = LinearOde::new(matrices, vec![Variable::new("u")], vec![Variable::new("y")], &[0.0])?;
        let inner = OdeModel::new(Box::new(ode), &SolverConfig::Exact {})?;
        let micro = step / 20.0;
        Ok(Watched { inner: Box::new(inner), micro, spacing: micro, trace: trace.clone() })
    };
    let system = SystemBuilder::new()
        .add("source", part(&traces[0])?)
        .add("sink", part(&traces[1])?)
        .connect(Connection::new("source.y", "sink.u"))
        .external("source.u", signal)
        .build()?;
    let mut run = Run::new(system, &RunConfig { coupling, ..RunConfig::new(stop, step) })?;
    while !run.is_done() {
        run.advance()?;
    }
    let [source, sink] = traces.map(|trace| seen(&trace));
    Ok(source.iter().zip(&sink).map(|((t, y), (_, u))| (*t, u[0], y[0])).collect())
}

/// Root mean square of u - y for t in [from, to], over the best delay up to `most` samples.
fn error(rows: &[(f64, f64, f64)]) -> f64 {
    let square: f64 = rows.iter().map(|(_, u, y)| (u - y).powi(2)).sum();
    (square / rows.len() as f64).sqrt()
}

fn figure_5() -> Result<Exhibit> {
    let sweep = ExternalConfig::Sweep {
        amplitude: 1.0,
        from: 0.001,
        to: 30.0,
        duration: 2.0,
        start: 0.0,
        offset: 0.0,
    };
    let config = |smoother_hz| HinfConfig {
        smoother_hz: Some(smoother_hz),
        weight_hz: Some(1.0),
        disc: Some(1e-3),
        ..HinfConfig::default()
    };
    let zoh = reconstructed(CouplingConfig::zoh(), 0.01, 2.0, sweep.clone())?;
    let mut exhibit = Exhibit::new(
        "Figure 5",
        "a sweep from 0.001 to 30 Hz, sent every 10 ms",
        "Smoothers at 50 and 30 Hz, weight of order 1 at 1 Hz, poles within |1 + 0.001 λ| < 1. The duration of the sweep is not \
         printed; 2 s here.",
    );
    let mut gains = Vec::new();
    for (name, corner) in [("a", 50.0), ("b", 30.0)] {
        let rows = reconstructed(CouplingConfig::from(config(corner)), 0.01, 2.0, sweep.clone())?;
        let late = |rows: &[(f64, f64, f64)], pick: fn(&(f64, f64, f64)) -> f64| -> Vec<(f64, f64)> {
            rows.iter().filter(|row| row.0 > 1.6).map(|row| (row.0, pick(row))).collect()
        };
        let curves = vec![
            curve("reference", late(&rows, |row| row.2)),
            curve("ZOH", late(&zoh, |row| row.1)),
            curve("H∞ smoothed", late(&rows, |row| row.1)),
        ];
        let design = designed(&config(corner).specification(0.01))?;
        gains.push(design.compensator.at(Complex::imaginary(TAU * 20.0)).abs());
        let (ours, held) = (error(&rows), error(&zoh));
        exhibit = exhibit
            .curves(
                name,
                plot(
                    &format!("Figure 5 ({name}), smoother at {corner} Hz"),
                    ["time, s", "u"],
                    [Linear; 2],
                    curves,
                ),
            )
            .compare(
                Comparison::statement(
                    "the rebuilt signal is close to the reference, closer than a held one",
                    ours < 0.6 * held,
                    format!("root mean square error {} against {} of ZOH", short(ours), short(held)),
                )
                .what(format!("smoother at {corner} Hz")),
            );
    }
    let gamma = designed(&config(50.0).specification(0.01))?.gamma;
    Ok(exhibit.compare(Comparison::statement(
        "the stronger smoother makes the compensator amplify more",
        gains[1] > gains[0],
        format!(
            "|K1| at 20 Hz: {} with 30 Hz, {} with 50 Hz; γ = {}",
            short(gains[1]),
            short(gains[0]),
            short(gamma)
        ),
    )))
}
