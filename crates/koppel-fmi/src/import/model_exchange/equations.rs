//! The FMU as the right-hand side of a solver, and what is looked at after every micro step.
//!
//! States are solved in units of their nominal values, rounded to powers of two: the solvers' tolerances then mean what the
//! FMU's author meant, and no digit is lost by the scaling.

use crate::ffi::{CallError, Instance, Status};
use crate::import::access::{Access, AccessError, Scratch};
use crate::import::past::Past;
use koppel::signal::{Piece, Samples};
use koppel::solver::{Point, Rhs, difference_jacobian, has_crossed};
use std::ops::ControlFlow;

/// Why a solver was stopped before the end of its window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stop {
    /// An event indicator has changed its sign within the last micro step.
    Crossed,
    /// The FMU asks for an event at the end of a micro step.
    StepEvent,
    /// The FMU asks to end the simulation.
    Terminate,
}

/// Derivatives and states by reference, for the Jacobian.
#[derive(Debug)]
pub(super) struct Jacobian {
    pub(super) derivatives: Vec<u32>,
    pub(super) states: Vec<u32>,
}

/// Room for points of the solution.
#[derive(Debug, Default)]
pub(super) struct Buffers {
    /// States in the FMU's units.
    pub(super) plain: Vec<f64>,
    /// Inputs.
    pub(super) u: Vec<f64>,
    /// Time, states and event indicators after the last micro step without event.
    pub(super) time: f64,
    pub(super) x: Vec<f64>,
    pub(super) z: Vec<f64>,
    /// Event indicators after the newest micro step, and in between.
    pub(super) z_now: Vec<f64>,
    pub(super) z_middle: Vec<f64>,
    /// States of a trial, and a unit vector.
    pub(super) trial: Vec<f64>,
    pub(super) seed: Vec<f64>,
}

impl Buffers {
    pub(super) fn new(states: usize, inputs: usize, indicators: usize) -> Buffers {
        let (x, z) = (vec![0.0; states], vec![0.0; indicators]);
        Buffers {
            plain: x.clone(),
            u: vec![0.0; inputs],
            time: 0.0,
            trial: x.clone(),
            seed: x.clone(),
            x,
            z_now: z.clone(),
            z_middle: z.clone(),
            z,
        }
    }
}

/// x' = f(t, x) under one piece of the inputs.
pub(super) struct Equations<'a> {
    pub(super) backend: &'a Instance,
    pub(super) scratch: &'a mut Scratch,
    /// Inputs that move on this piece.
    pub(super) moving: Option<(&'a Access, Piece<'a>)>,
    pub(super) outputs: &'a Access,
    pub(super) scales: &'a [f64],
    pub(super) jacobian: Option<&'a Jacobian>,
    pub(super) completes_steps: bool,
    pub(super) past: &'a Past,
    /// Samples wanted at every micro step.
    pub(super) samples: Option<&'a mut Samples>,
    pub(super) at: &'a mut Buffers,
    pub(super) stop: Option<Stop>,
    /// What went wrong in a call.
    pub(super) failure: Option<AccessError>,
    /// The last call that was refused for this state: a shorter step may do.
    pub(super) discarded: Option<CallError>,
}

impl Equations<'_> {
    /// Puts the FMU to a point.
    pub(super) fn place(&mut self, time: f64, x: &[f64]) -> Result<(), AccessError> {
        self.backend.set_time(time)?;
        if let Some((inputs, piece)) = &self.moving {
            piece.values(time - piece.start, &mut self.at.u);
            inputs.write(self.backend, self.scratch, &self.at.u)?;
        }
        for ((plain, x), scale) in self.at.plain.iter_mut().zip(x).zip(self.scales) {
            *plain = x * scale;
        }
        Ok(self.backend.set_states(&self.at.plain)?)
    }

    fn try_derivative(&mut self, time: f64, x: &[f64], dx: &mut [f64]) -> Result<(), AccessError> {
        self.place(time, x)?;
        self.backend.get_derivatives(dx)?;
        for (dx, scale) in dx.iter_mut().zip(self.scales) {
            *dx /= scale;
        }
        Ok(())
    }

    /// A state the FMU refuses is one that the solver must avoid; anything else ends the step.
    fn note(&mut self, error: AccessError) {
        match error {
            AccessError::Call(error @ CallError::Status { status: Status::Discard, .. }) => {
                self.discarded = Some(error);
            }
            error => self.failure = Some(error),
        }
    }

    /// After a micro step: has an event indicator changed its sign, does the FMU have more to say?
    pub(super) fn look(&mut self, time: f64, x: &[f64]) -> ControlFlow<()> {
        self.stop = match self.try_look(time, x) {
            Ok(stop) => stop,
            Err(error) => {
                self.failure = Some(error);
                return ControlFlow::Break(());
            }
        };
        if self.stop.is_some() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }

    fn try_look(&mut self, time: f64, x: &[f64]) -> Result<Option<Stop>, AccessError> {
        if let Some(failure) = self.failure.take() {
            return Err(failure);
        }
        self.discarded = None;
        self.place(time, x)?;
        self.backend.get_indicators(&mut self.at.z_now)?;
        if has_crossed(&self.at.z, &self.at.z_now) {
            return Ok(Some(Stop::Crossed));
        }
        let at = &mut *self.at;
        std::mem::swap(&mut at.z, &mut at.z_now);
        at.time = time;
        at.x.copy_from_slice(x);
        let stop = self.complete(time)?;
        self.sample(time)?;
        Ok(stop)
    }

    /// Tells the FMU that the solver has accepted the point it is at.
    pub(super) fn complete(&mut self, time: f64) -> Result<Option<Stop>, AccessError> {
        if !self.completes_steps {
            return Ok(None);
        }
        let done = self.backend.completed_step(self.past.is_over_inside(time))?;
        Ok(match (done.terminate, done.enter_event_mode) {
            (true, _) => Some(Stop::Terminate),
            (false, true) => Some(Stop::StepEvent),
            (false, false) => None,
        })
    }

    /// Adds the outputs at the point the FMU is at.
    pub(super) fn sample(&mut self, time: f64) -> Result<(), AccessError> {
        let Some(samples) = &mut self.samples else { return Ok(()) };
        self.outputs.read(self.backend, self.scratch, samples.push(time))
    }

    /// Event indicators at a point.
    pub(super) fn indicators(&mut self, time: f64, x: &[f64], z: &mut [f64]) -> Result<(), AccessError> {
        self.place(time, x)?;
        Ok(self.backend.get_indicators(z)?)
    }

    /// ∂f/∂x by directional derivatives, column by column.
    fn try_jacobian(
        &mut self,
        at: &Point<'_>,
        jac: &mut [f64],
        column: &mut [f64],
    ) -> Result<(), AccessError> {
        let Some(Jacobian { derivatives, states }) = self.jacobian else { return Ok(()) };
        let n = at.state.len();
        self.place(at.time, at.state)?;
        for j in 0..n {
            self.at.seed.fill(0.0);
            self.at.seed[j] = self.scales[j];
            self.backend.directional_derivative(derivatives, states, &self.at.seed, column)?;
            for i in 0..n {
                jac[i * n + j] = column[i] / self.scales[i];
            }
        }
        Ok(())
    }
}

impl Rhs for Equations<'_> {
    fn dim(&self) -> usize {
        self.scales.len()
    }

    fn derivative(&mut self, time: f64, x: &[f64], dx: &mut [f64]) {
        // After a failure nothing is asked any more: the solver ends on what is no number.
        if self.failure.is_some() {
            dx.fill(f64::NAN);
        } else if let Err(error) = self.try_derivative(time, x, dx) {
            self.note(error);
            dx.fill(f64::NAN);
        }
    }

    fn jacobian(&mut self, at: &Point<'_>, jac: &mut [f64], scratch: &mut [f64]) {
        if self.jacobian.is_none() {
            return difference_jacobian(self, at, jac, scratch);
        }
        let column = &mut scratch[..at.state.len()];
        if self.failure.is_none()
            && let Err(error) = self.try_jacobian(at, jac, column)
        {
            self.note(error);
            jac.fill(f64::NAN);
        }
    }
}
