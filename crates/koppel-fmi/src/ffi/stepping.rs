//! Steps of co-simulation, what an FMU asks inside them, and events.

use super::instance::{Instance, InstanceStatus, Version, call, restore_float_mode};
use super::plain::PlainStep;
use super::trace::{self, Notes};
use super::{CallError, CompletedStep, EventInfo, Interruption, StepCall, fmi2, fmi3};
#[cfg(target_os = "linux")]
use crate::description::FmiVersion;
#[cfg(target_os = "linux")]
use crate::wine;
use std::ffi::c_int;

/// A moment inside a step at which the FMU asks back.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Moment {
    /// Simulated time.
    pub(crate) time: f64,
    /// Inputs may be set.
    pub(crate) set_requested: bool,
    /// Outputs may be read.
    pub(crate) get_allowed: bool,
    /// A step of the FMU's own solver ends here.
    pub(crate) step_finished: bool,
}

/// What a step ended with.
#[derive(Clone, Copy, Debug)]
pub(crate) struct StepInfo {
    /// The FMU wants an event at the time it came to.
    pub(crate) event_needed: bool,
    /// The FMU wants to end the simulation.
    pub(crate) terminate_simulation: bool,
    /// It stopped before the end of the step.
    pub(crate) early_return: bool,
    /// How far it came.
    pub(crate) last_successful_time: f64,
}

/// What is called back inside a step.
pub(crate) type Update<'a> = dyn FnMut(&Instance, Moment) -> Result<(), CallError> + 'a;

/// The callback of the running step, and what went wrong in it.
pub(super) struct Running {
    instance: *const Instance,
    update: *mut Update<'static>,
    failure: Option<CallError>,
}

impl Running {
    /// Answers a question of the FMU.
    ///
    /// # Safety
    ///
    /// The step that made it is running, further up this thread's stack.
    pub(super) unsafe fn answer(&mut self, moment: Moment) {
        if self.failure.is_none() {
            // SAFETY: promised by the caller.
            self.failure = unsafe { (*self.update)(&*self.instance, moment) }.err();
        }
    }

    /// The number of the instance.
    ///
    /// # Safety
    ///
    /// As above.
    pub(super) unsafe fn instance(&self) -> u64 {
        // SAFETY: promised by the caller.
        unsafe { (*self.instance).number() }
    }
}

/// What plain steps call, if they were prepared.
pub(super) enum Plain {
    None,
    Two(PlainStep<fmi2::Plain>),
    Three(PlainStep<fmi3::Plain>),
    /// In another process.
    #[cfg(target_os = "linux")]
    Wine(wine::PlainStep),
}

impl Instance {
    /// Makes plain steps with these reals possible, if the FMU has what they need.
    pub(crate) fn prepare_plain_steps(&mut self, inputs: &[u32], outputs: &[u32]) -> bool {
        #[cfg(target_os = "linux")]
        if let Some(remote) = self.remote() {
            let (version, can_step) = match &self.functions.version {
                Version::Two(own) => (FmiVersion::Fmi2, own.do_step.get().is_ok()),
                Version::Three(own) => (FmiVersion::Fmi3, own.do_step.get().is_ok()),
            };
            let plain = wine::PlainStep::new(remote, version, inputs, outputs).filter(|_| can_step);
            self.plain = plain.map_or(Plain::None, Plain::Wine);
            return !matches!(self.plain, Plain::None);
        }
        let plain = match &self.functions.version {
            Version::Two(own) => {
                fmi2::Plain::of(own).map(|calls| Plain::Two(PlainStep::new(calls, inputs, outputs)))
            }
            Version::Three(own) => {
                fmi3::Plain::of(own).map(|calls| Plain::Three(PlainStep::new(calls, inputs, outputs)))
            }
        };
        self.plain = plain.unwrap_or(Plain::None);
        !matches!(self.plain, Plain::None)
    }

    /// Sets reals, steps and gets reals, with nothing between the calls and no answer to questions inside the step.
    #[inline]
    pub(crate) fn plain_step(
        &self,
        step: StepCall,
        values: &[f64],
        results: &mut [f64],
    ) -> Result<(), Box<Interruption>> {
        match self.life.get() {
            InstanceStatus::Noted => self.plain_calls(step, values, results, Notes::of_step(self.number())),
            InstanceStatus::Alive => self.plain_calls(step, values, results, Notes::NONE),
            InstanceStatus::Dead => Err(self.dead()),
        }
    }

    #[inline(always)]
    fn plain_calls(
        &self,
        step: StepCall,
        values: &[f64],
        results: &mut [f64],
        notes: Notes,
    ) -> Result<(), Box<Interruption>> {
        let failed = |call, code: c_int| Interruption::of(self.failed(call, code.into()));
        let instance = self.pointer.as_ptr();
        // SAFETY: the instance is alive.
        let done = unsafe {
            match &self.plain {
                Plain::None => Err(self.dead()),
                Plain::Two(plain) => {
                    self.log.set_time(step.time);
                    plain.run(instance, step, values, results, notes, failed)
                }
                Plain::Three(plain) => {
                    self.log.set_time(step.time);
                    plain.run(instance, step, values, results, notes, failed)
                }
                #[cfg(target_os = "linux")]
                Plain::Wine(plain) => self.remote_step(plain, step, values, results),
            }
        };
        restore_float_mode(&self.log, "its step");
        done
    }

    /// A plain step in another process.
    #[cfg(target_os = "linux")]
    fn remote_step(
        &self,
        plain: &wine::PlainStep,
        step: StepCall,
        values: &[f64],
        results: &mut [f64],
    ) -> Result<(), Box<Interruption>> {
        self.log.set_time(step.time);
        let Some(remote) = self.remote() else { return Err(self.dead()) };
        trace::enter(trace::number("fmi2DoStep"), self.number());
        let done = plain.run(remote, step, values, results);
        trace::leave();
        done.map_err(|stopped| match stopped {
            wine::Stopped::Failed(call, code) => Interruption::of(self.failed(call, code.into())),
            wine::Stopped::Early(info) => Box::new(Interruption::Stopped(info)),
        })
    }

    #[cold]
    fn dead(&self) -> Box<Interruption> {
        let call = match &self.functions.version {
            Version::Two(_) => "fmi2DoStep",
            Version::Three(_) => "fmi3DoStep",
        };
        Interruption::of(CallError::Dead { call })
    }

    /// True if an FMU may ask back inside its steps, as those of FMI 3.0 do.
    #[inline]
    pub(crate) fn asks_inside(&self) -> bool {
        matches!(self.functions.version, Version::Three(_))
    }

    /// One step of FMI 2.0.
    #[inline]
    pub(crate) fn do_step(&self, step: StepCall) -> Result<(), CallError> {
        let do_step = self.two("fmi2DoStep")?.do_step.get()?;
        call!(self, do_step, step.time, step.size, step.never_back.into())
    }

    /// One step of FMI 3.0. `update` answers the FMU's questions inside it.
    pub(crate) fn do_step_asking(
        &self,
        step: StepCall,
        update: &mut Update<'_>,
    ) -> Result<StepInfo, CallError> {
        let StepCall { time, size, never_back } = step;
        let step = self.three("fmi3DoStep")?.do_step.get()?;
        let update: *mut Update<'_> = update;
        // SAFETY: only the lifetime changes; the pointer is taken back before this function returns.
        let update = unsafe { std::mem::transmute::<*mut Update<'_>, *mut Update<'static>>(update) };
        let mut running = Running { instance: self, update, failure: None };
        let context = self.context.as_ptr();
        // SAFETY: the context lives as long as the instance, and only this thread uses it.
        unsafe { (*context).running.set(&raw mut running) };
        let (mut event, mut terminate, mut early, mut reached) = (0_u8, 0_u8, 0_u8, time + size);
        let (to_event, to_end) = (&raw mut event, &raw mut terminate);
        let mut run =
            || call!(self, step, time, size, never_back, to_event, to_end, &mut early, &mut reached);
        let done = run();
        // SAFETY: as above.
        unsafe { (*context).running.set(std::ptr::null_mut()) };
        if let Some(failure) = running.failure {
            return Err(failure);
        }
        done?;
        Ok(StepInfo {
            event_needed: event != 0,
            terminate_simulation: terminate != 0,
            early_return: early != 0,
            last_successful_time: reached,
        })
    }

    /// After a discarded step of FMI 2.0: how far it came, if the FMU says.
    pub(crate) fn last_successful_time(&self) -> Option<f64> {
        let get = self.two("fmi2GetRealStatus").ok()?.get_real_status.get().ok()?;
        let mut time = f64::NAN;
        let mut read = || call!(self, get, fmi2::LAST_SUCCESSFUL_TIME, &mut time);
        read().ok().map(|()| time).filter(|time| time.is_finite())
    }

    /// After a discarded step of FMI 2.0: whether the FMU wants to end the simulation.
    pub(crate) fn is_terminated(&self) -> bool {
        let mut flag = 0;
        let mut read = || {
            let get = self.two("fmi2GetBooleanStatus")?.get_boolean_status.get()?;
            call!(self, get, fmi2::TERMINATED, &mut flag)
        };
        read().is_ok_and(|()| flag != 0)
    }

    /// Ends an event of co-simulation (FMI 3.0).
    pub(crate) fn enter_step_mode(&self) -> Result<(), CallError> {
        call!(self, self.three("fmi3EnterStepMode")?.enter_step_mode.get()?)
    }

    /// One iteration of an event.
    pub(crate) fn update_discrete_states(&self) -> Result<EventInfo, CallError> {
        let (flags, next) = match &self.functions.version {
            Version::Two(own) => {
                let mut raw = fmi2::EventInfo::default();
                call!(self, own.new_discrete_states.get()?, &mut raw)?;
                let flags = [
                    raw.new_discrete_states_needed,
                    raw.terminate_simulation,
                    raw.nominals_of_continuous_states_changed,
                    raw.values_of_continuous_states_changed,
                    raw.next_event_time_defined,
                ];
                (flags.map(|flag| flag != 0), raw.next_event_time)
            }
            Version::Three(own) => {
                let (mut flags, mut next) = ([0_u8; 5], 0.0);
                let [needs, terminate, nominals, values, has_next] = &mut flags;
                let update = own.update_discrete_states.get()?;
                call!(self, update, needs, terminate, nominals, values, has_next, &mut next)?;
                (flags.map(|flag| flag != 0), next)
            }
        };
        let [needs_update, terminate, nominals_changed, values_changed, has_next] = flags;
        let next_event = has_next.then_some(next);
        Ok(EventInfo { needs_update, terminate, nominals_changed, values_changed, next_event })
    }

    /// Tells the FMU that a step of the solver is complete.
    pub(crate) fn completed_step(&self, never_back: bool) -> Result<CompletedStep, CallError> {
        let (enter_event_mode, terminate) = match &self.functions.version {
            Version::Two(own) => {
                let (mut event, mut end) = (0, 0);
                let complete = own.completed_integrator_step.get()?;
                call!(self, complete, never_back.into(), &mut event, &mut end)?;
                (event != 0, end != 0)
            }
            Version::Three(own) => {
                let (mut event, mut end) = (0, 0);
                let complete = own.completed_integrator_step.get()?;
                call!(self, complete, never_back, &mut event, &mut end)?;
                (event != 0, end != 0)
            }
        };
        Ok(CompletedStep { enter_event_mode, terminate })
    }
}
