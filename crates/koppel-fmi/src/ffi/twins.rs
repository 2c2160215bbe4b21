//! What instances of FMI 2.0 and 3.0 have in common: the same calls under names that differ in a digit.

/// Calls a function of the table and turns its status into a result.
macro_rules! call {
    ($self:ident, $name:expr, $function:expr $(, $argument:expr)*) => {{
        $self.alive($name)?;
        $crate::ffi::trace::enter(const { $crate::ffi::trace::number($name) }, $self.pointer.as_ptr() as u64);
        // SAFETY: the instance is alive, and the arguments are what the standard asks for: buffers of the lengths given.
        let code = unsafe { ($function)($self.pointer.as_ptr() $(, $argument)*) };
        $self.check($name, code)
    }};
}

/// An optional function, or the complaint that it is missing.
macro_rules! function {
    ($self:ident, $field:ident, $name:expr) => {
        $self.functions.$field.ok_or($crate::ffi::CallError::Missing { call: $name })?
    };
}

/// Calls without arguments.
macro_rules! simple {
    ($($field:ident $symbol:expr;)*) => {$(
        #[doc = concat!("`", $symbol, "`.")]
        pub fn $field(&self) -> Result<(), $crate::ffi::CallError> {
            let function = function!(self, $field, $symbol);
            call!(self, $symbol, function)
        }
    )*};
}

/// Calls that take or give a list of numbers.
macro_rules! lists {
    ($($method:ident $field:ident $symbol:expr, $type:ty, $pointer:ident;)*) => {$(
        #[doc = concat!("`", $symbol, "`.")]
        #[inline]
        pub fn $method(&self, list: $type) -> Result<(), $crate::ffi::CallError> {
            let function = function!(self, $field, $symbol);
            call!(self, $symbol, function, list.$pointer(), list.len())
        }
    )*};
}

/// The calls both versions have: `fmi2` or `fmi3`, how a state is spelled, and what differs more.
macro_rules! twins {
    ($fmi:literal, $state:literal, $deserialize:literal, $derivatives:ident $derivatives_symbol:literal) => {
        impl Instance {
            /// Its log.
            pub(crate) fn log(&self) -> &$crate::ffi::Log {
                &self.log
            }

            /// The instance, if the FMU gave one.
            fn made(
                call: &'static str,
                functions: &Arc<Functions>,
                log: &Arc<$crate::ffi::Log>,
                pointer: *mut std::ffi::c_void,
                context: $crate::ffi::Owned<Context>,
            ) -> Result<Instance, $crate::ffi::CallError> {
                let Some(pointer) = NonNull::new(pointer) else {
                    // SAFETY: no instance was made that could use it.
                    drop(unsafe { Box::from_raw(context.as_ptr()) });
                    return Err($crate::ffi::CallError::NoInstance { call, messages: log.take() });
                };
                $crate::ffi::trace::announce(pointer.as_ptr() as u64, log.instance());
                Ok(Instance {
                    functions: functions.clone(),
                    pointer: $crate::ffi::Owned(pointer),
                    context,
                    log: log.clone(),
                    plain: None,
                    life: Cell::new($crate::ffi::Life::now()),
                })
            }

            fn alive(&self, call: &'static str) -> Result<(), $crate::ffi::CallError> {
                if self.life.get() == $crate::ffi::Life::Dead { Err($crate::ffi::CallError::Dead { call }) } else { Ok(()) }
            }

            #[inline]
            fn check(&self, call: &'static str, code: std::ffi::c_int) -> Result<(), $crate::ffi::CallError> {
                if $crate::ffi::OK.contains(&code) { Ok(()) } else { Err(self.failed(call, code.into())) }
            }

            #[cold]
            fn failed(&self, call: &'static str, status: $crate::ffi::Status) -> $crate::ffi::CallError {
                if status == $crate::ffi::Status::Fatal {
                    self.life.set($crate::ffi::Life::Dead);
                }
                $crate::ffi::CallError::Status { call, status, messages: self.log.take() }
            }

            /// Makes plain steps with these reals possible, if the FMU has what they need.
            pub(crate) fn prepare_plain_steps(&mut self, inputs: &[u32], outputs: &[u32]) -> bool {
                let calls = PlainCalls::of(&self.functions);
                self.plain = calls.map(|calls| $crate::ffi::plain::PlainStep::new(calls, inputs, outputs));
                self.plain.is_some()
            }

            /// Sets reals, steps and gets reals, with nothing between the calls and no answer to questions inside the step.
            #[inline]
            pub(crate) fn plain_step(
                &self,
                step: $crate::ffi::StepCall,
                values: &[f64],
                results: &mut [f64],
            ) -> Result<(), Box<$crate::ffi::Interruption>> {
                if self.life.get() != $crate::ffi::Life::Alive {
                    // In registers: plain steps then keep nothing in memory for it.
                    return self.other_plain_step(step.time, step.size, step.never_back, values, results);
                }
                let Some(plain) = &self.plain else { return Err(Self::dead()) };
                self.plain_calls::<false>(plain, step, values, results)
            }

            #[cold]
            fn dead() -> Box<$crate::ffi::Interruption> {
                $crate::ffi::Interruption::of($crate::ffi::CallError::Dead { call: concat!($fmi, "DoStep") })
            }

            /// The same with its calls noted for another process, if the instance lives.
            #[inline(never)]
            fn other_plain_step(
                &self,
                time: f64,
                size: f64,
                never_back: bool,
                values: &[f64],
                results: &mut [f64],
            ) -> Result<(), Box<$crate::ffi::Interruption>> {
                match &self.plain {
                    Some(plain) if self.life.get() != $crate::ffi::Life::Dead => {
                        let step = $crate::ffi::StepCall { time, size, never_back };
                        self.plain_calls::<true>(plain, step, values, results)
                    }
                    _ => Err(Self::dead()),
                }
            }

            #[inline(always)]
            fn plain_calls<const NOTED: bool>(
                &self,
                plain: &$crate::ffi::plain::PlainStep<PlainCalls>,
                step: $crate::ffi::StepCall,
                values: &[f64],
                results: &mut [f64],
            ) -> Result<(), Box<$crate::ffi::Interruption>> {
                self.log.set_time(step.time);
                let failed = |call, code: std::ffi::c_int| {
                    $crate::ffi::Interruption::of(self.failed(call, code.into()))
                };
                // SAFETY: the instance is alive.
                unsafe { plain.run::<NOTED>(self.pointer.as_ptr(), step, values, results, failed) }
            }

            #[doc = concat!("`", $fmi, "ExitInitializationMode`.")]
            pub fn exit_initialization_mode(&self) -> Result<(), $crate::ffi::CallError> {
                call!(self, concat!($fmi, "ExitInitializationMode"), self.functions.exit_initialization_mode)
            }

            #[doc = concat!("`", $fmi, "Terminate`.")]
            pub fn terminate(&self) -> Result<(), $crate::ffi::CallError> {
                call!(self, concat!($fmi, "Terminate"), self.functions.terminate)
            }

            #[doc = concat!("`", $fmi, "Reset`.")]
            pub fn reset(&self) -> Result<(), $crate::ffi::CallError> {
                call!(self, concat!($fmi, "Reset"), self.functions.reset)
            }

            #[doc = concat!("`", $fmi, "Get", $state, "`, into `state`, whose memory is used again if there is some.")]
            pub fn get_state(&self, state: &mut Option<$crate::ffi::State>) -> Result<(), $crate::ffi::CallError> {
                const CALL: &str = concat!($fmi, "Get", $state);
                let get = function!(self, get_fmu_state, CALL);
                let mut raw = state.as_ref().map_or(std::ptr::null_mut(), |state| state.0.as_ptr());
                call!(self, CALL, get, &mut raw)?;
                *state = $crate::ffi::State::of(raw);
                if state.is_some() { Ok(()) } else { Err($crate::ffi::CallError::NoState { call: CALL }) }
            }

            #[doc = concat!("`", $fmi, "Set", $state, "`.")]
            pub fn set_state(&self, state: &$crate::ffi::State) -> Result<(), $crate::ffi::CallError> {
                const CALL: &str = concat!($fmi, "Set", $state);
                let set = function!(self, set_fmu_state, CALL);
                call!(self, CALL, set, state.0.as_ptr())
            }

            #[doc = concat!("`", $fmi, "Free", $state, "`.")]
            pub fn free_state(&self, state: $crate::ffi::State) -> Result<(), $crate::ffi::CallError> {
                const CALL: &str = concat!($fmi, "Free", $state);
                let free = function!(self, free_fmu_state, CALL);
                let mut raw = state.0.as_ptr();
                call!(self, CALL, free, &mut raw)
            }

            #[doc = concat!("`", $fmi, "Serialize", $state, "`, appended to `bytes`.")]
            pub fn serialize(
                &self,
                state: &$crate::ffi::State,
                bytes: &mut Vec<u8>,
            ) -> Result<(), $crate::ffi::CallError> {
                const SIZE: &str = concat!($fmi, "Serialized", $state, "Size");
                const CALL: &str = concat!($fmi, "Serialize", $state);
                let get_size = function!(self, serialized_fmu_state_size, SIZE);
                let write = function!(self, serialize_fmu_state, CALL);
                let mut size = 0;
                call!(self, SIZE, get_size, state.0.as_ptr(), &mut size)?;
                let at = bytes.len();
                bytes.resize(at + size, 0);
                call!(self, CALL, write, state.0.as_ptr(), bytes[at..].as_mut_ptr(), size)
            }

            #[doc = concat!("`", $deserialize, "`.")]
            pub fn deserialize(&self, bytes: &[u8]) -> Result<$crate::ffi::State, $crate::ffi::CallError> {
                let read = function!(self, deserialize_fmu_state, $deserialize);
                let mut raw = std::ptr::null_mut();
                call!(self, $deserialize, read, bytes.as_ptr(), bytes.len(), &mut raw)?;
                $crate::ffi::State::of(raw).ok_or($crate::ffi::CallError::NoState { call: $deserialize })
            }

            #[doc = concat!("`", $fmi, "SetTime`.")]
            #[inline]
            pub fn set_time(&self, time: f64) -> Result<(), $crate::ffi::CallError> {
                let set = function!(self, set_time, concat!($fmi, "SetTime"));
                call!(self, concat!($fmi, "SetTime"), set, time)
            }

            simple! {
                enter_event_mode concat!($fmi, "EnterEventMode");
                enter_continuous_time_mode concat!($fmi, "EnterContinuousTimeMode");
            }

            lists! {
                set_continuous_states set_continuous_states concat!($fmi, "SetContinuousStates"), &[f64], as_ptr;
                get_continuous_states get_continuous_states concat!($fmi, "GetContinuousStates"), &mut [f64], as_mut_ptr;
                get_nominals_of_continuous_states get_nominals_of_continuous_states concat!($fmi, "GetNominalsOfContinuousStates"), &mut [f64], as_mut_ptr;
                get_event_indicators get_event_indicators concat!($fmi, "GetEventIndicators"), &mut [f64], as_mut_ptr;
                get_derivatives $derivatives $derivatives_symbol, &mut [f64], as_mut_ptr;
            }
        }

        impl Instance {
            /// Frees the instance; nothing can be called any more.
            pub(crate) fn free(&mut self) {
                self.plain = None;
                if self.life.replace($crate::ffi::Life::Dead) == $crate::ffi::Life::Dead {
                    // After a fatal status not even freeing is allowed; the context stays, as the FMU may still use it.
                    return;
                }
                // SAFETY: the instance is alive and never used again; then nobody knows the context any more.
                unsafe {
                    $crate::ffi::trace::enter(const { $crate::ffi::trace::number(concat!($fmi, "FreeInstance")) }, self.pointer.as_ptr() as u64);
                    (self.functions.free_instance)(self.pointer.as_ptr());
                    $crate::ffi::trace::leave();
                    drop(Box::from_raw(self.context.as_ptr()));
                }
            }
        }

        impl Drop for Instance {
            fn drop(&mut self) {
                self.free();
            }
        }
    };
}

pub(super) use {call, function, lists, simple, twins};
