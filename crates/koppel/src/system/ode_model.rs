//! An ordinary differential equation as a subsystem: x' = f(t, x, u), y = g(t, x, u), with a micro solver or, for
//! linear models, the exact solution.

use super::capabilities::Capabilities;
use super::events::EventLog;
use super::exact::Exact;
use super::linearization::Linearization;
use super::message::Message;
use super::ode_events::{Drive, OdeEvents};
use super::ports::{Ports, VariableId, VariableKind};
use super::snapshot::Snapshot;
use super::subsystem::{LinearModel, Mailbox, Subsystem};
use crate::error::{Error, Result, Subject, Trouble};
use crate::linalg::Matrix;
use crate::signal::{Part, Piece, Request, Samples, Segment, Step};
use crate::solver::{Point, Rhs, Solver, SolverConfig, SolverError, difference_jacobian};
use crate::state_space::StateSpace;

/// The equations of a model. States are locals `0..states()` of its ports; `start` of those is x(0).
pub trait Ode: Send {
    /// Its variables.
    fn ports(&self) -> &Ports;

    /// How many states; the first that many locals. A model without states needs no `derivative`.
    fn states(&self) -> usize {
        0
    }

    /// How many states change continuously: the first that many. The others change at events only.
    fn continuous(&self) -> usize {
        self.states()
    }

    /// Parameters, by index, that the start value of a state is computed from.
    fn start_parameters(&self, _state: usize) -> Vec<usize> {
        Vec::new()
    }

    /// dx = f(t, x, u).
    fn derivative(&self, _time: f64, _x: &[f64], _u: &[f64], _dx: &mut [f64]) {}

    /// y = g(t, x, u).
    fn output(&self, time: f64, x: &[f64], u: &[f64], y: &mut [f64]);

    /// Value of parameter `index`; a model without parameters is not asked.
    fn parameter(&self, _index: usize) -> f64 {
        f64::NAN
    }

    /// Changes parameter `index`.
    fn set_parameter(&mut self, _index: usize, _value: f64) -> Result<()> {
        Ok(())
    }

    /// The matrices, if the equations are linear with constant coefficients.
    fn linear(&self) -> Option<StateSpace> {
        None
    }

    /// How often a program inside acts, in s: at multiples of it. What it gives are states that stay as they are in between.
    fn period(&self) -> Option<f64> {
        None
    }

    /// Writes what the states that the program gives become when it acts, and leaves the others.
    fn sample(&self, _x: &[f64], _u: &[f64], _next: &mut [f64]) {}

    /// dx = f as derivatives see it: what a program gives follows with a lag of its period.
    fn smooth_derivative(&self, time: f64, x: &[f64], u: &[f64], dx: &mut [f64]) {
        self.derivative(time, x, u, dx);
    }

    /// What happens at crossings and at instants of its own, if anything does.
    fn events(&self) -> Option<&dyn OdeEvents> {
        None
    }

    /// Its derivatives, if it gives them.
    fn slopes(&self) -> Option<&dyn OdeSlopes> {
        None
    }

    /// Why a derivative or an output is not finite here, if it can tell.
    fn explain(&self, _time: f64, _x: &[f64], _u: &[f64]) -> Option<Trouble> {
        None
    }
}

/// Exact derivatives of an [`Ode`].
pub trait OdeSlopes {
    /// A, B, C and D; of what a program gives as `smooth_derivative` has it.
    fn linearize(&self, time: f64, x: &[f64], u: &[f64], out: &mut StateSpace);

    /// D alone.
    fn feed_through(&self, time: f64, x: &[f64], u: &[f64], out: &mut Matrix);

    /// How fast the outputs change while the states change at `dx` and the inputs are held.
    fn rates(&self, time: f64, x: &[f64], u: &[f64], dx: &[f64], rates: &mut [f64]);

    /// ∂f/∂x of `derivative`, row by row.
    fn jacobian(&self, time: f64, x: &[f64], u: &[f64], out: &mut [f64]);
}

/// An [`Ode`] with a solver.
pub struct OdeModel {
    pub(super) ode: Box<dyn Ode>,
    pub(super) method: Method,
    capabilities: Capabilities,
    pub(super) time: f64,
    pub(super) x: Vec<f64>,
    pub(super) u: Vec<f64>,
    /// Inputs at a sample.
    pub(super) inputs_inside: Vec<f64>,
    /// States after a program has acted.
    pub(super) next: Vec<f64>,
    /// It has events, or a program inside.
    acts: bool,
    /// What its events need, if it has any.
    pub(super) drive: Option<Box<Drive>>,
    /// It can tell why a value is not finite.
    explains: bool,
    /// Room for derivatives of the equations.
    linearization: Linearization,
}

pub(super) enum Method {
    Micro(Box<Solver>),
    Exact(Box<Exact>),
}

/// Parts of a step in which the exact solution is sampled when a coupling wants the solver's own points: it has none.
const EXACT_POINTS: u32 = 10;
/// Part of a period that is no time: instants nearer than that are the same.
pub(crate) const NO_TIME: f64 = 1e-6;

impl OdeModel {
    /// Puts a solver to the equations.
    pub fn new(ode: Box<dyn Ode>, config: &SolverConfig) -> Result<Self> {
        ode.ports().check_names()?;
        let method = if matches!(config, SolverConfig::Exact {}) {
            let matrices = ode.linear().ok_or_else(|| Error::Unsupported {
                what: Subject::named("exact", "solver `exact`"),
                reason: "the model is not linear; use `adaptive`, `stiff`, `rk4` or `euler`".into(),
            })?;
            Method::Exact(Box::new(Exact::new(matrices)))
        } else {
            Method::Micro(Box::new(Solver::new(config, ode.states())?))
        };
        let (x, u) = (vec![0.0; ode.states()], vec![0.0; ode.ports().inputs.len()]);
        let (linearization, next) = (Linearization::new(ode.as_ref()), x.clone());
        let capabilities = Capabilities {
            solver: config.to_string().into(),
            solver_config: Some(*config),
            is_linear: linearization.is_exact(),
            ..Capabilities::new("")
        };
        let drive = ode.events().map(|events| Box::new(Drive::new(events, x.len())));
        let (explains, inputs_inside) = (ode.slopes().is_some(), u.clone());
        let acts = drive.is_some() || ode.period().is_some();
        Ok(OdeModel {
            ode,
            method,
            capabilities,
            time: 0.0,
            x,
            u,
            inputs_inside,
            next,
            acts,
            drive,
            explains,
            linearization,
        })
    }

    /// The equations.
    pub fn ode(&self) -> &dyn Ode {
        self.ode.as_ref()
    }

    /// Takes over the time of an importer that integrates by itself.
    pub fn set_time(&mut self, time: f64) {
        self.time = time;
    }

    /// Integrates one part of the step and samples the outputs on the way, from one act of the program inside to the next if
    /// there is one.
    #[inline]
    fn integrate(&mut self, part: Part<'_>, samples: &mut Samples) -> Result<()> {
        if self.acts { self.flow_between_acts(part, samples) } else { self.flow(part, samples) }
    }

    #[inline(never)]
    fn flow_between_acts(&mut self, part: Part<'_>, samples: &mut Samples) -> Result<()> {
        if self.drive.is_some() {
            return self.flow_between_events(part, samples);
        }
        let Some(period) = self.ode.period() else { return self.flow(part, samples) };
        let Part { piece, offset: begin, size, .. } = part;
        let mut offset = begin;
        while begin + size - offset > NO_TIME * period {
            let acts = (piece.start + offset) / period;
            if (acts - acts.round()).abs() <= NO_TIME {
                self.act(piece, offset);
            }
            // Counted, not added, so that round-off cannot gather.
            let next = ((acts + NO_TIME).floor() + 1.0) * period - piece.start;
            let end = if next < begin + size - NO_TIME * period { next } else { begin + size };
            self.flow(Part { piece, offset, size: end - offset, ends_at_node: false }, samples)?;
            offset = end;
        }
        Ok(())
    }

    /// The program inside acts.
    fn act(&mut self, piece: Piece<'_>, offset: f64) {
        piece.values(offset, &mut self.u);
        self.next.copy_from_slice(&self.x);
        self.ode.sample(&self.x, &self.u, &mut self.next);
        self.x.copy_from_slice(&self.next);
    }

    /// Integrates one part of the step, in which no program acts.
    fn flow(&mut self, part: Part<'_>, samples: &mut Samples) -> Result<()> {
        let Part { piece, offset, size, .. } = part;
        let from = piece.start + offset;
        let to = from + size;
        self.time = to;
        let solver = match &mut self.method {
            Method::Micro(solver) => solver,
            Method::Exact(exact) => return exact.advance(piece, offset, size, &mut self.x),
        };
        let ode = self.ode.as_ref();
        let mut rhs = UnderInput { ode, piece, u: &mut self.u };
        let done = if samples.request() == Request::SolverPoints {
            let inputs_inside = &mut self.inputs_inside;
            solver.advance(&mut rhs, from, to, &mut self.x, &mut |time, x: &[f64]| {
                piece.values(time - piece.start, inputs_inside);
                ode.output(time, x, inputs_inside, samples.push(time));
            })
        } else {
            solver.advance(&mut rhs, from, to, &mut self.x, &mut |_, _: &[f64]| {})
        };
        done.map_err(|error| self.explained(error, piece))
    }

    /// An error of the solver, by the equation that caused it where that is known.
    #[cold]
    pub(super) fn explained(&mut self, error: SolverError, piece: Piece<'_>) -> Box<Error> {
        if let SolverError::NonFinite { time, .. } = error {
            piece.values(time - piece.start, &mut self.u);
            if let Some(trouble) = self.trouble_near(time) {
                return Error::Equation { trouble, time }.into();
            }
        }
        error.into()
    }

    /// Why a value is not finite here, or at a stage of the solver a little further on.
    #[cold]
    fn trouble_near(&self, time: f64) -> Option<Trouble> {
        let mut dx = vec![0.0; self.x.len()];
        self.ode.derivative(time, &self.x, &self.u, &mut dx);
        let ahead = |part: f64| -> Option<Trouble> {
            let x: Vec<f64> = self.x.iter().zip(&dx).map(|(x, dx)| x + part * dx).collect();
            self.ode.explain(time + part, &x, &self.u)
        };
        let here = self.ode.explain(time, &self.x, &self.u);
        here.or_else(|| (0..50).find_map(|k| ahead(1e-15 * 2.0_f64.powi(k) * time.abs().max(1.0))))
    }

    /// Refuses outputs that are not finite, if the model can tell why they are not.
    #[inline]
    fn check(&self, outputs: &[f64]) -> Result<()> {
        if self.explains && outputs.iter().any(|output| !output.is_finite()) { self.refuse() } else { Ok(()) }
    }

    #[cold]
    fn refuse(&self) -> Result<()> {
        match self.ode.explain(self.time, &self.x, &self.u) {
            Some(trouble) => Err(Error::Equation { trouble, time: self.time }.into()),
            None => Ok(()),
        }
    }

    /// In how many parts the step is walked to sample it; `None` where the solver samples by itself or nobody asks.
    fn nodes(&self, request: Request) -> Option<u32> {
        match (request, &self.method) {
            (Request::Nodes(nodes), _) => Some(nodes),
            (Request::SolverPoints, Method::Exact(_)) => Some(EXACT_POINTS),
            (Request::SolverPoints, Method::Micro(_)) | (Request::Nothing, _) => None,
        }
    }

    /// Adds the outputs at `tau` after the start of a piece to the samples.
    fn sample(&mut self, piece: Piece<'_>, tau: f64, samples: &mut Samples) {
        let time = piece.start + tau;
        piece.values(tau, &mut self.u);
        self.ode.output(time, &self.x, &self.u, samples.push(time));
    }
}

/// The right-hand side under one polynomial piece of input.
pub(super) struct UnderInput<'a> {
    pub(super) ode: &'a dyn Ode,
    pub(super) piece: Piece<'a>,
    pub(super) u: &'a mut [f64],
}

impl Rhs for UnderInput<'_> {
    fn dim(&self) -> usize {
        self.ode.states()
    }

    fn derivative(&mut self, time: f64, x: &[f64], dx: &mut [f64]) {
        self.piece.values(time - self.piece.start, self.u);
        self.ode.derivative(time, x, self.u, dx);
    }

    fn jacobian(&mut self, at: &Point<'_>, jac: &mut [f64], scratch: &mut [f64]) {
        let Some(slopes) = self.ode.slopes() else { return difference_jacobian(self, at, jac, scratch) };
        self.piece.values(at.time - self.piece.start, self.u);
        slopes.jacobian(at.time, at.state, self.u, jac);
    }
}

impl Subsystem for OdeModel {
    fn ports(&self) -> &Ports {
        self.ode.ports()
    }

    fn capabilities(&self) -> &Capabilities {
        &self.capabilities
    }

    fn initialize(&mut self, start: f64) -> Result<()> {
        self.time = start;
        for (x, local) in self.x.iter_mut().zip(&self.ode.ports().locals) {
            *x = local.start;
        }
        for (u, input) in self.u.iter_mut().zip(&self.ode.ports().inputs) {
            *u = input.start;
        }
        if let Method::Micro(solver) = &mut self.method {
            solver.reset();
        }
        self.drive.iter_mut().for_each(|drive| drive.reset());
        Ok(())
    }

    fn read(&mut self, inputs: Option<&[f64]>, outputs: &mut [f64]) -> Result<()> {
        if let Some(inputs) = inputs {
            self.u.copy_from_slice(inputs);
        }
        self.ode.output(self.time, &self.x, &self.u, outputs);
        self.check(outputs)
    }

    fn step(
        &mut self,
        step: &Step,
        input: &Segment<'_>,
        outputs: &mut [f64],
        samples: &mut Samples,
    ) -> Result<()> {
        samples.clear();
        if samples.request() != Request::Nothing {
            self.sample(input.piece(0), 0.0, samples);
        }
        if let Some(nodes) = self.nodes(samples.request()) {
            input.each_part(nodes, |part| -> Result<()> {
                self.integrate(part, samples)?;
                if part.ends_at_node {
                    self.sample(part.piece, part.offset + part.size, samples);
                }
                Ok(())
            })?;
        } else {
            for piece in input.pieces() {
                let part = Part { piece, offset: 0.0, size: piece.size, ends_at_node: false };
                self.integrate(part, samples)?;
            }
        }
        self.time = step.end();
        input.end_values(&mut self.u);
        self.ode.output(self.time, &self.x, &self.u, outputs);
        self.check(outputs)
    }

    fn get(&mut self, variable: VariableId) -> Result<f64> {
        Ok(match variable.kind {
            VariableKind::Input => self.u[variable.index],
            VariableKind::Parameter => self.ode.parameter(variable.index),
            VariableKind::Local => self.x[variable.index],
            VariableKind::Output => {
                let mut y = vec![0.0; self.ode.ports().outputs.len()];
                self.read(None, &mut y)?;
                y[variable.index]
            }
        })
    }

    fn set(&mut self, variable: VariableId, value: f64) -> Result<()> {
        match variable.kind {
            VariableKind::Parameter => {
                self.ode.set_parameter(variable.index, value)?;
                self.acts = self.drive.is_some() || self.ode.period().is_some();
                self.linearization = Linearization::new(self.ode.as_ref());
                self.capabilities.is_linear = self.linearization.is_exact();
                if let (Method::Exact(exact), Some(matrices)) = (&mut self.method, self.ode.linear()) {
                    **exact = Exact::new(matrices);
                }
                Ok(())
            }
            VariableKind::Local => {
                self.x[variable.index] = value;
                Ok(())
            }
            VariableKind::Input | VariableKind::Output => Err(Error::Unsupported {
                what: setting(&self.ode.ports().variable(variable).name),
                reason: "only parameters and states can be set; inputs are connected".into(),
            }
            .into()),
        }
    }

    fn linear_model(&mut self) -> Option<&mut dyn LinearModel> {
        Some(self)
    }

    fn save(&mut self, snapshot: &mut Snapshot) -> Result<()> {
        let reals = &mut snapshot.reals;
        reals.clear();
        reals.push(self.time);
        reals.extend_from_slice(&self.x);
        reals.extend_from_slice(&self.u);
        reals.extend((0..self.ode.ports().parameters.len()).map(|p| self.ode.parameter(p)));
        if let Method::Micro(solver) = &self.method {
            reals.extend_from_slice(solver.memory());
        }
        self.drive.iter().for_each(|drive| reals.extend_from_slice(&drive.memory));
        Ok(())
    }

    fn restore(&mut self, snapshot: &Snapshot) -> Result<()> {
        let (time, rest) = snapshot.reals.split_at(1);
        let (x, rest) = rest.split_at(self.x.len());
        let (u, rest) = rest.split_at(self.u.len());
        let (parameters, memory) = rest.split_at(self.ode.ports().parameters.len());
        self.time = time[0];
        self.x.copy_from_slice(x);
        self.u.copy_from_slice(u);
        for (index, value) in parameters.iter().enumerate() {
            if self.ode.parameter(index) != *value {
                self.set(VariableId { kind: VariableKind::Parameter, index }, *value)?;
            }
        }
        let events = self.drive.as_ref().map_or(0, |drive| drive.memory.len());
        let (memory, of_events) = memory.split_at(memory.len() - events);
        if let Method::Micro(solver) = &mut self.method {
            solver.set_memory(memory);
        }
        if let Some(drive) = &mut self.drive {
            drive.memory.copy_from_slice(of_events);
            drive.log.forget_after(self.time);
        }
        Ok(())
    }

    fn mailbox(&mut self) -> Option<&mut dyn Mailbox> {
        if self.drive.is_some() { Some(self) } else { None }
    }
}

/// It has no messages, but may have events.
impl Mailbox for OdeModel {
    fn send(&mut self, _output: usize, _message: &mut Message) -> Result<()> {
        Ok(())
    }

    fn receive(&mut self, _input: usize, _message: &Message) -> Result<()> {
        Ok(())
    }

    fn events(&mut self) -> Option<&mut EventLog> {
        self.drive.as_mut().map(|drive| &mut drive.log)
    }
}

impl LinearModel for OdeModel {
    fn linearize(&mut self, inputs: &[f64], out: &mut StateSpace) -> Result<bool> {
        self.linearization.matrices(self.ode.as_ref(), self.time, &self.x, inputs, out);
        Ok(true)
    }

    fn feed_through(&mut self, inputs: &[f64], out: &mut Matrix) -> Result<bool> {
        if let Some(slopes) = self.ode.slopes() {
            slopes.feed_through(self.time, &self.x, inputs, out);
            return Ok(true);
        }
        Ok(self.linearization.exact_feed_through().map(|d| out.copy_from(d)).is_some())
    }

    fn rates(&mut self, inputs: &[f64], rates: &mut [f64]) -> Result<bool> {
        self.linearization.rates(self.ode.as_ref(), self.time, &self.x, inputs, rates);
        Ok(true)
    }

    fn state_rates(&mut self, inputs: &[f64], rates: &mut [f64]) -> Result<bool> {
        self.ode.smooth_derivative(self.time, &self.x, inputs, rates);
        Ok(true)
    }
}

/// The setting of a variable.
fn setting(name: &str) -> Subject {
    Subject::named(name, format!("setting `{name}`"))
}
