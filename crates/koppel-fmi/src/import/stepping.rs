//! One communication step: inputs in, `doStep`, outputs out.

use super::events::Events;
use super::feed::{Feed, choose};
use super::inside::Inside;
use super::route::Route;
use super::{Base, Phase};
use crate::error::{Error, Result};
use crate::ffi::{CallError, Instance, Interruption, Moment, Status, StepCall, StepInfo};
use koppel::signal::{Part, Piece, Request, Samples, Segment, Step};
use std::ops::{Deref, DerefMut};

/// Which steps under held inputs are plain: three calls and nothing between them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Plain {
    None,
    /// Those of the one size that the FMU takes.
    OneSize,
    All,
}

/// An FMU that takes steps: where it stands, what it is given, what happens inside steps.
pub(super) struct Stepper {
    pub(super) base: Base,
    /// Which held steps are plain.
    pub(super) plain: Plain,
    pub(super) feed: Feed,
    /// The FMU takes steps of different sizes.
    pub(super) varies_steps: bool,
    /// Some output may depend on an input directly.
    pub(super) has_feed_through: bool,
    /// If there are events to be handled.
    pub(super) events: Option<Events>,
    /// If outputs can be read inside a step.
    pub(super) inside: Option<Inside>,
    /// How often the FMU has asked for inputs inside steps.
    pub(super) asked: u64,
    /// Where it stands, and the size of its last step.
    pub(super) time: f64,
    pub(super) last_size: Option<f64>,
    /// The one size of all calls of `doStep`, for an FMU that takes no other.
    pub(super) only_size: Option<f64>,
}

impl Deref for Stepper {
    type Target = Base;

    #[inline]
    fn deref(&self) -> &Base {
        &self.base
    }
}

impl DerefMut for Stepper {
    #[inline]
    fn deref_mut(&mut self) -> &mut Base {
        &mut self.base
    }
}

impl Stepper {
    /// A step under held inputs with nothing between the calls: what most steps of most runs are.
    #[inline(always)]
    pub(super) fn plain_step(
        &mut self,
        step: &Step,
        inputs: &[f64],
        outputs: &mut [f64],
    ) -> koppel::Result<()> {
        (self.time, self.last_size) = (step.start + step.size, Some(step.size));
        self.feed.is_known = false;
        self.capabilities.step_calls += 1;
        let call = StepCall { time: step.start, size: step.size, never_back: self.past.is_over(step.start) };
        match self.backend.plain_step(call, inputs, outputs) {
            Ok(()) => Ok(()),
            Err(interruption) => self.interrupted(*interruption, step, outputs),
        }
    }

    pub(super) fn is_of_one_size(&self, step: &Step) -> bool {
        self.plain == Plain::OneSize && self.only_size == Some(step.size)
    }

    /// Says in the capabilities how it is driven.
    pub(super) fn describe(&mut self) {
        let inputs = match self.feed.route {
            Route::Intermediate => "intermediate update".into(),
            Route::Derivatives { order } => format!("derivatives up to order {order}"),
            Route::Substeps => format!("{} sub-steps with equal mean", self.options.substeps.max(1)),
        };
        let events = if self.has_event_mode() { "; events handled" } else { "" };
        self.base.describe("", "co-simulation", &format!("inputs by {inputs}{events}"));
    }

    #[inline(never)]
    pub(super) fn step_with_care(
        &mut self,
        step: &Step,
        input: &Segment<'_>,
        outputs: &mut [f64],
        samples: &mut Samples,
    ) -> koppel::Result<()> {
        (self.time, self.last_size) = (step.start + step.size, Some(step.size));
        self.past.begin_step(step.start);
        let mut done = self.go(step, input, outputs, samples);
        if let Err(error) = &mut done {
            self.close(error, step, outputs);
        }
        Ok(done?)
    }

    /// After a step that failed. The end that an FMU asks for lies inside the step.
    #[cold]
    fn close(&mut self, error: &mut Error, step: &Step, outputs: &mut [f64]) {
        if let Error::Terminated { time, .. } = error {
            *time = time.clamp(step.start, step.end());
            self.time = *time;
        }
        self.close_failed(error, outputs);
    }

    fn go(
        &mut self,
        step: &Step,
        input: &Segment<'_>,
        outputs: &mut [f64],
        samples: &mut Samples,
    ) -> Result<()> {
        samples.clear();
        let (is_sampled, has_events) = (samples.request() != Request::Nothing, self.events.is_some());
        let begin = Part { piece: input.piece(0), offset: 0.0, size: 0.0, ends_at_node: true };
        if has_events {
            self.mail.forget_told();
            begin.piece.values(0.0, &mut self.feed.next);
            self.begin_step(step.start, 1e-9 * step.size)?;
        } else if self.phase == Phase::Initializing {
            self.exit_initialization()?;
        }
        if !has_events && !is_sampled && input.constant().is_some() {
            self.feed.set_at(&mut self.base, begin)?;
            self.do_step(step.start, step.size, None)?;
            return self.get_outputs(outputs);
        }
        if is_sampled {
            self.sample(begin, samples)?;
        }
        // Sub-steps that slopes ask for are seen anyway.
        let is_cut = !has_events && self.feed.route == Route::Substeps && input.constant().is_none();
        let nodes = if is_cut { asked_nodes(samples) } else { self.nodes(samples) };
        input.each_part(nodes, |part| -> Result<()> {
            if has_events {
                self.walk(part, samples)?
            } else {
                self.advance(part, samples)?
            }
            if is_sampled && part.ends_at_node { self.sample(part, samples) } else { Ok(()) }
        })?;
        if self.has_feed_through {
            input.end_values(&mut self.feed.next);
            self.feed.set(&mut self.base)?;
        }
        self.get_outputs(outputs)
    }

    /// Parts of a step at whose ends the outputs are seen. An FMU that shows nothing inside its steps is driven in sub-steps
    /// where the points of its solver are wanted.
    pub(super) fn nodes(&self, samples: &Samples) -> u32 {
        let is_hidden = samples.request() == Request::SolverPoints && self.inside.is_none();
        if is_hidden && self.varies_steps { self.options.substeps.max(1) } else { asked_nodes(samples) }
    }

    /// One step to its end under the inputs set, or with those of `piece` wherever the FMU asks.
    #[inline]
    fn do_step(&mut self, time: f64, size: f64, piece: Option<Piece<'_>>) -> Result<()> {
        if self.backend.asks_inside() {
            let info = self.call_step(time, size, piece, None)?;
            return self.check_end(info, time + size, size);
        }
        let step = self.begin_call(time, size)?;
        match self.backend.do_step(step) {
            Ok(()) => Ok(()),
            Err(source) => Err(self.step_failed(source, time, size)),
        }
    }

    /// Before a call of `doStep`.
    #[inline]
    fn begin_call(&mut self, time: f64, size: f64) -> Result<StepCall> {
        self.check_size(time, size)?;
        self.capabilities.step_calls += 1;
        self.backend.log().set_time(time);
        Ok(self.step_call(time, size))
    }

    /// One call of `doStep` of FMI 3.0. The FMU may ask for inputs, which are those of `piece`, and show outputs on the way, and may end
    /// early.
    pub(super) fn call_step(
        &mut self,
        time: f64,
        size: f64,
        piece: Option<Piece<'_>>,
        samples: Option<&mut Samples>,
    ) -> Result<StepInfo> {
        let step = self.begin_call(time, size)?;
        let mut samples = samples.filter(|samples| samples.request() == Request::SolverPoints);
        let Stepper { inside, feed, asked, .. } = self;
        let Feed { smooth, next, chosen, taken, .. } = feed;
        let mut update = |fmu: &Instance, moment: Moment| {
            *asked += u64::from(moment.set_requested);
            if let (Some(piece), Some((references, places))) =
                (piece.filter(|_| moment.set_requested && !taken.is_refused()), smooth.reals())
            {
                piece.values((moment.time - piece.start).clamp(0.0, piece.size), next);
                choose(next, places, chosen);
                taken.note(1, fmu.set_reals(references, chosen))?;
            }
            match (inside.as_ref(), &mut samples) {
                (Some(inside), Some(samples)) => inside.take(fmu, moment, chosen, samples),
                _ => Ok(()),
            }
        };
        let done = self.base.backend.do_step_asking(step, &mut update);
        if self.feed.taken.is_refused() {
            self.do_without(time);
        }
        match done {
            Ok(info) if info.terminate_simulation => Err(self.ended(info.last_successful_time)),
            Ok(info) => Ok(info),
            Err(source) => Err(self.step_failed(source, time, size)),
        }
    }

    /// A step that was to go on until its end did.
    pub(super) fn check_end(&self, info: StepInfo, end: f64, size: f64) -> Result<()> {
        if info.early_return && info.last_successful_time < end - 1e-9 * size {
            let (instance, reached) = (self.name.clone(), info.last_successful_time);
            let messages = self.backend.log().take();
            return Err(Error::EndedEarly { instance, reached, end, messages }.into());
        }
        Ok(())
    }

    /// A step from here, and whether the FMU may forget what was before.
    #[inline]
    pub(super) fn step_call(&self, time: f64, size: f64) -> StepCall {
        StepCall { time, size, never_back: self.past.is_over_inside(time) }
    }

    /// All steps of an FMU that says so have the size of the first.
    #[inline]
    pub(super) fn check_size(&mut self, time: f64, size: f64) -> Result<()> {
        if self.varies_steps { Ok(()) } else { self.compare_size(time, size) }
    }

    #[cold]
    fn compare_size(&mut self, time: f64, size: f64) -> Result<()> {
        let only = *self.only_size.get_or_insert(size);
        if (size - only).abs() <= 1e-6 * only {
            return Ok(());
        }
        Err(Error::OtherStepSize { instance: self.name.clone(), time, size, only }.into())
    }

    /// What follows a plain step that did not simply succeed.
    #[cold]
    #[inline(never)]
    pub(super) fn interrupted(
        &mut self,
        why: Interruption,
        step: &Step,
        outputs: &mut [f64],
    ) -> koppel::Result<()> {
        let (time, size) = (step.start, step.size);
        let finished = match why {
            Interruption::Failed(source) => Err(self.step_failed(source, time, size)),
            Interruption::Stopped(info) if info.terminate_simulation => {
                Err(self.ended(info.last_successful_time))
            }
            Interruption::Stopped(info) => self.check_end(info, time + size, size),
        };
        let mut done = finished.and_then(|()| self.get_outputs(outputs));
        if let Err(error) = &mut done {
            self.close(error, step, outputs);
        }
        Ok(done?)
    }

    /// Why a step failed.
    #[cold]
    fn step_failed(&self, source: CallError, time: f64, size: f64) -> Box<Error> {
        if !matches!(source, CallError::Status { status: Status::Discard, .. }) {
            return self.failed(source);
        }
        let fmu = &self.backend;
        let (instance, end, reached) = (self.name.clone(), time + size, fmu.last_successful_time());
        Box::new(match source {
            CallError::Status { messages, .. } if fmu.is_terminated() => {
                Error::Terminated { instance, time: reached.unwrap_or(time), has_outputs: false, messages }
            }
            source => Error::Discarded { instance, time, end, reached, source },
        })
    }

    /// Takes another route for the inputs if the FMU has just refused one.
    fn do_without(&mut self, time: f64) {
        let is_bound = !self.varies_steps && self.only_size.is_some();
        if self.feed.do_without(&mut self.base, is_bound, time) {
            self.describe();
        }
    }

    /// Moves over a part of a piece of the inputs, the way the FMU can follow it best.
    fn advance(&mut self, part: Part<'_>, samples: &mut Samples) -> Result<()> {
        let piece = part.piece;
        let time = piece.start + part.offset;
        if samples.request() == Request::SolverPoints && self.inside.is_some() {
            return self.advance_sampling(part, samples);
        }
        // An FMU with steps of one size gets them, whatever the slopes happen to be.
        if piece.terms == 1 || self.varies_steps && part.is_constant(self.feed.next.len()) {
            self.feed.set_at(&mut self.base, part)?;
            return self.do_step(time, part.size, None);
        }
        match self.feed.route {
            Route::Intermediate => {
                self.feed.set_at(&mut self.base, part)?;
                self.feed.is_known = false;
                self.do_step(time, part.size, Some(piece))
            }
            Route::Derivatives { order } if piece.terms <= order + 1 => {
                self.feed.set_derivatives(&mut self.base, part)?;
                if self.feed.taken.is_refused() {
                    self.do_without(time);
                    return self.advance(part, samples);
                }
                self.do_step(time, part.size, None)
            }
            Route::Derivatives { .. } | Route::Substeps => {
                let parts = self.options.substeps.max(1);
                for k in 0..parts {
                    let sub = part.divided(k, parts);
                    match self.feed.route {
                        Route::Derivatives { .. } => self.feed.set_chord(&mut self.base, sub)?,
                        _ => self.feed.set_stair(&mut self.base, part, (k, parts), samples.request())?,
                    }
                    // A first refusal, so nothing of the part is walked yet.
                    if self.feed.taken.is_refused() {
                        self.do_without(time);
                        return self.advance(part, samples);
                    }
                    self.do_step(piece.start + sub.offset, sub.size, None)?;
                    if samples.request() == Request::SolverPoints && k + 1 < parts {
                        self.sample(sub, samples)?;
                    }
                }
                Ok(())
            }
        }
    }

    /// Adds the outputs at the end of a part.
    pub(super) fn sample(&mut self, part: Part<'_>, samples: &mut Samples) -> Result<()> {
        if self.has_feed_through {
            part.piece.values(part.offset + part.size, &mut self.feed.next);
            self.feed.set(&mut self.base)?;
        }
        self.get_outputs(samples.push(part.piece.start + part.offset + part.size))
    }
}

/// Parts of a step that were asked for.
fn asked_nodes(samples: &Samples) -> u32 {
    if let Request::Nodes(nodes) = samples.request() { nodes } else { 1 }
}
