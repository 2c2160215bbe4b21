//! Whole systems as data: parts by model name, wires, external signals, and a run that works.
//!
//! Every case also gives its reference: the same graph closed at every instant, by [`monolith`], with no coupling in
//! between.

#![allow(dead_code, unused_imports, reason = "every test uses its part")]

mod helicopter;
mod loops;
mod oscillators;
mod random;
mod vehicles;

pub(crate) use oscillators::random_dual_mass_case;
pub(crate) use random::{RandomDualMass, random_dual_mass};

use koppel::error::{Error, Result};
use koppel::models::build;
use koppel::run::RunConfig;
use koppel::signal::external::ExternalConfig;
use koppel::solver::{SolverConfig, Tolerances};
use koppel::system::{Connection, Ode, OdeModel, System, SystemBuilder, monolith};
use std::collections::BTreeMap;

/// One subsystem of a case.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Part {
    /// Name of the subsystem.
    pub(crate) name: String,
    /// Name of its model.
    pub(crate) model: String,
    /// Parameters that differ from the model's defaults.
    pub(crate) parameters: BTreeMap<String, f64>,
    /// Its own solver.
    pub(crate) solver: SolverConfig,
}

/// A system with a run.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Case {
    /// Short name.
    pub(crate) name: &'static str,
    /// One line about it.
    pub(crate) title: &'static str,
    /// The subsystems.
    pub(crate) parts: Vec<Part>,
    /// The wires between them.
    pub(crate) connections: Vec<Connection>,
    /// Signals from outside by the input they act on; several on one input are summed.
    pub(crate) externals: Vec<(String, ExternalConfig)>,
    /// The run.
    pub(crate) run: RunConfig,
}

type Maker = fn() -> Case;

/// Names and makers of all cases.
static CASES: &[(&str, Maker)] = &[
    ("dual-mass", oscillators::dual_mass),
    ("nonlinear-dual-mass", oscillators::nonlinear_dual_mass),
    ("pendulum-oscillator", oscillators::pendulum_oscillator),
    ("double-pendulum", loops::double_pendulum),
    ("helicopter", || helicopter::helicopter(1)),
    ("helicopter-2", || helicopter::helicopter(2)),
    ("helicopter-3", || helicopter::helicopter(3)),
    ("helicopter-4", || helicopter::helicopter(4)),
    ("helicopter-5", || helicopter::helicopter(5)),
    ("random-dual-mass", oscillators::random_dual_mass),
    ("two-mass", oscillators::two_mass),
    ("two-mass-displacement", oscillators::two_mass_displacement),
    ("undamped-two-mass", oscillators::undamped_two_mass),
    ("control-loop", loops::control_loop),
    ("integral-loop", loops::integral_loop),
    ("feedthrough-pair", loops::feedthrough_pair),
    ("quarter-truck", vehicles::quarter_truck),
    ("quarter-truck-wheel-force", vehicles::quarter_truck_wheel_force),
    ("lugre-mass", vehicles::lugre_mass),
    ("epas", || vehicles::epas(1.0)),
    ("epas-fast", || vehicles::epas(3.0)),
    ("van-der-pol", oscillators::van_der_pol),
];

/// Names of all cases.
pub(crate) fn cases() -> impl ExactSizeIterator<Item = &'static str> {
    CASES.iter().map(|(name, _)| *name)
}

/// The case of this name.
pub(crate) fn case(name: &str) -> Result<Case> {
    let Some((name, make)) = CASES.iter().find(|(known, _)| *known == name) else {
        let known = cases().map(str::to_owned).collect();
        return Err(Error::Unknown { kind: "case", name: name.into(), known }.into());
    };
    Ok(Case { name, ..make() })
}

impl Case {
    fn new(title: &'static str, run: RunConfig) -> Self {
        Case { name: "", title, parts: Vec::new(), connections: Vec::new(), externals: Vec::new(), run }
    }

    fn part(mut self, name: &str, model: &str, parameters: &[(&str, f64)], solver: SolverConfig) -> Self {
        let parameters = parameters.iter().map(|(name, value)| ((*name).to_owned(), *value)).collect();
        self.parts.push(Part { name: name.into(), model: model.into(), parameters, solver });
        self
    }

    fn connect(mut self, from: &str, to: &str) -> Self {
        self.connections.push(Connection::new(from, to));
        self
    }

    /// Position and velocity of `giver` to `taker`, the force back.
    fn force_for_motion(self, giver: &str, taker: &str) -> Self {
        self.connect(&format!("{giver}.x"), &format!("{taker}.x"))
            .connect(&format!("{giver}.v"), &format!("{taker}.v"))
            .connect(&format!("{taker}.F"), &format!("{giver}.F"))
    }

    fn external(mut self, to: &str, signal: ExternalConfig) -> Self {
        self.externals.push((to.into(), signal));
        self
    }

    /// The equations of the parts, in their order.
    pub(crate) fn equations(&self) -> Result<Vec<Box<dyn Ode>>> {
        self.parts.iter().map(|part| build(&part.model, &part.parameters)).collect()
    }

    /// The co-simulation: every part with its own solver.
    pub(crate) fn system(&self) -> Result<System> {
        let mut builder = SystemBuilder::new();
        for (part, ode) in self.parts.iter().zip(self.equations()?) {
            builder = builder.add(&part.name, OdeModel::new(ode, &part.solver)?);
        }
        for connection in &self.connections {
            builder = builder.connect(connection.clone());
        }
        for (to, signal) in &self.externals {
            builder = builder.external(to, signal.clone());
        }
        builder.build()
    }

    /// The same system uncut: one subsystem `monolith` with the outputs `part.output` under the same external signals.
    ///
    /// A non-linear algebraic loop between the parts is refused.
    pub(crate) fn reference(&self) -> Result<System> {
        let closed = monolith(&self.system()?.graph, self.equations()?)?;
        let solver = self.reference_solver(closed.linear().is_some());
        let mut builder = SystemBuilder::new().add("monolith", OdeModel::new(closed, &solver)?);
        for (to, signal) in &self.externals {
            builder = builder.external(&format!("monolith.{to}"), signal.clone());
        }
        builder.build()
    }

    /// The parts' own solver where all share one with a fixed step, so that only the coupling makes the difference
    /// (Genser 2020, 3.1); else the best there is.
    fn reference_solver(&self, is_linear: bool) -> SolverConfig {
        let shared = self.parts.first().map(|part| part.solver);
        match shared {
            Some(solver @ (SolverConfig::Euler { .. } | SolverConfig::Rk4 { .. }))
                if self.parts.iter().all(|part| part.solver == solver) =>
            {
                solver
            }
            _ if is_linear => SolverConfig::Exact {},
            _ => SolverConfig::Adaptive(Tolerances { rtol: 1e-11, atol: 1e-13, ..Tolerances::default() }),
        }
    }
}
