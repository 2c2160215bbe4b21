//! Numbers in and out of an instance, whatever their types.

use super::ports::{Slot, exact_start};
use crate::description::{Description, ValueType, Variable};
use crate::ffi::{CallError, Interruption, LogMessage, State, StepCall, fmi2, fmi3};

/// An instance of either version.
pub(super) enum Backend {
    Two(fmi2::Instance),
    Three(fmi3::Instance),
}

/// What an FMU is told of the simulation to come.
#[derive(Clone, Copy, Debug)]
pub(super) struct Experiment {
    pub(super) tolerance: Option<f64>,
    pub(super) start: f64,
    pub(super) stop: Option<f64>,
}

/// Variables of one type that are moved in one call.
#[derive(Debug)]
struct Group {
    value_type: ValueType,
    references: Vec<u32>,
    /// For every value of the call, its place in the list of ports.
    places: Vec<usize>,
}

impl Group {
    /// The first port, if the values of the call are ports side by side.
    fn run(&self) -> Option<usize> {
        let first = *self.places.first()?;
        let is_run = self.places.iter().enumerate().all(|(k, place)| *place == first + k);
        (is_run && self.value_type == ValueType::Float64).then_some(first)
    }
}

/// Buffers for types that are not `f64`.
#[derive(Debug, Default)]
pub(super) struct Scratch {
    f64: Vec<f64>,
    f32: Vec<f32>,
    i8: Vec<i8>,
    u8: Vec<u8>,
    i16: Vec<i16>,
    u16: Vec<u16>,
    i32: Vec<i32>,
    u32: Vec<u32>,
    i64: Vec<i64>,
    u64: Vec<u64>,
    /// What was rounded last: its place and value.
    pub(super) rounded: Option<(usize, i128)>,
}

/// Up to here every whole number is a floating-point number.
pub(super) const LARGEST: f64 = 9_007_199_254_740_992.0;

/// A list of ports, grouped by type.
#[derive(Debug, Default)]
pub(super) struct Access {
    groups: Vec<(Group, Option<usize>)>,
    /// Integers of too many digits are rounded when they are read.
    rounds: bool,
    /// Integers of many digits that ports start with, written when their rounded values are.
    exact: Vec<(usize, i128)>,
}

/// What can go wrong when numbers are moved.
#[derive(Debug)]
pub(super) enum AccessError {
    Call(CallError),
    /// The value at this place is not exact as `f64`.
    NotExact {
        place: usize,
        value: String,
    },
    /// The value for this place is none of its type.
    WrongType {
        place: usize,
        expected: &'static str,
        value: f64,
    },
}

impl From<CallError> for AccessError {
    fn from(error: CallError) -> Self {
        AccessError::Call(error)
    }
}

impl Access {
    /// All ports of the list.
    pub(super) fn new(description: &Description, slots: &[Slot]) -> Access {
        Access::some(description, slots, |_| true)
    }

    /// Those ports of the list whose variables are chosen; places count in the whole list.
    pub(super) fn some(
        description: &Description,
        slots: &[Slot],
        is_chosen: impl Fn(&Variable) -> bool,
    ) -> Access {
        let mut groups: Vec<Group> = Vec::new();
        for (place, slot) in slots.iter().enumerate() {
            let variable = &description.variables[slot.variable];
            if !is_chosen(variable) {
                continue;
            }
            let known = groups.iter().position(|group| group.value_type == variable.value_type);
            let at = known.unwrap_or_else(|| {
                groups.push(Group {
                    value_type: variable.value_type,
                    references: Vec::new(),
                    places: Vec::new(),
                });
                groups.len() - 1
            });
            if slot.element == 0 {
                groups[at].references.push(variable.value_reference);
            }
            groups[at].places.push(place);
        }
        let with_run = |group: Group| {
            let run = group.run();
            (group, run)
        };
        let mut access =
            Access { groups: groups.into_iter().map(with_run).collect(), rounds: false, exact: Vec::new() };
        for (place, slot) in slots.iter().enumerate() {
            access.keep_exact(place, exact_start(&description.variables[slot.variable], slot.element));
        }
        access
    }

    /// Rounds integers of too many digits instead of refusing them.
    pub(super) fn rounding(mut self) -> Access {
        self.rounds = true;
        self
    }

    /// Wherever a port is given the rounded value of this integer, the integer itself is meant.
    pub(super) fn keep_exact(&mut self, place: usize, value: Option<i128>) {
        self.exact.retain(|(known, _)| *known != place);
        self.exact
            .extend(value.filter(|value| value.unsigned_abs() > LARGEST as u128).map(|value| (place, value)));
    }

    /// Reads all ports of the list.
    #[inline]
    pub(super) fn read(
        &self,
        from: &Backend,
        scratch: &mut Scratch,
        values: &mut [f64],
    ) -> Result<(), AccessError> {
        for (group, run) in &self.groups {
            match run {
                Some(first) => {
                    from.get_real(&group.references, &mut values[*first..][..group.places.len()])?
                }
                None => group.read(from, scratch, values, self.rounds)?,
            }
        }
        Ok(())
    }

    /// Writes all ports of the list.
    #[inline]
    pub(super) fn write(
        &self,
        to: &Backend,
        scratch: &mut Scratch,
        values: &[f64],
    ) -> Result<(), AccessError> {
        for (group, run) in &self.groups {
            match run {
                Some(first) => to.set_real(&group.references, &values[*first..][..group.places.len()])?,
                None => group.write(to, scratch, values, &self.exact)?,
            }
        }
        Ok(())
    }

    /// The references, if all ports of the list are scalar reals in the order of the list.
    pub(super) fn only_reals(&self) -> Option<&[u32]> {
        match &self.groups[..] {
            [] => Some(&[]),
            [(group, Some(0))] if group.references.len() == group.places.len() => Some(&group.references),
            _ => None,
        }
    }

    /// References of `Float64` variables, with the ports of their values.
    pub(super) fn reals(&self) -> Option<(&[u32], &[usize])> {
        let group = self
            .groups
            .iter()
            .map(|(group, _)| group)
            .find(|group| group.value_type == ValueType::Float64)?;
        Some((&group.references, &group.places))
    }
}

/// The integer that is meant by a rounded value, if there is one.
fn exact_value(exact: &[(usize, i128)], place: usize, number: f64) -> Option<i128> {
    if number.abs() < LARGEST {
        return None;
    }
    exact.iter().find(|(known, value)| *known == place && *value as f64 == number).map(|(_, value)| *value)
}

/// Moves values of one type between a buffer and the ports.
macro_rules! move_values {
    (read $group:ident, $values:ident, $s:ident.$buffer:ident, $rounds:ident, $call:expr) => {{
        let buffer = &mut $s.$buffer;
        buffer.resize($group.places.len(), Default::default());
        $call(&$group.references, &mut buffer[..])?;
        for (place, value) in $group.places.iter().zip(buffer.iter()) {
            let number = *value as f64;
            if number.abs() >= LARGEST
                && !$group.value_type.is_float()
                && (*value as i128).unsigned_abs() > LARGEST as u128
            {
                if !$rounds {
                    return Err(AccessError::NotExact { place: *place, value: value.to_string() });
                }
                $s.rounded = Some((*place, *value as i128));
            }
            $values[*place] = number;
        }
    }};
    (write $group:ident, $values:ident, $exact:ident, $buffer:expr, $type:ty, $call:expr) => {{
        let buffer = &mut $buffer;
        buffer.clear();
        for place in &$group.places {
            let number = $values[*place];
            let value = match exact_value($exact, *place, number) {
                Some(exact) => exact as $type,
                None => number as $type,
            };
            if value as f64 != number && !$group.value_type.is_float() {
                let expected = $group.value_type.name();
                return Err(AccessError::WrongType { place: *place, expected, value: number });
            }
            buffer.push(value);
        }
        $call(&$group.references, &buffer[..])?;
    }};
}

impl Group {
    fn read(
        &self,
        from: &Backend,
        s: &mut Scratch,
        values: &mut [f64],
        rounds: bool,
    ) -> Result<(), AccessError> {
        use ValueType as T;
        match from {
            Backend::Two(i) => match self.value_type {
                T::Boolean => {
                    move_values!(read self, values, s.i32, rounds, |r, v: &mut [i32]| i.get_boolean(r, v))
                }
                T::Int32 | T::Enumeration => {
                    move_values!(read self, values, s.i32, rounds, |r, v: &mut [i32]| i.get_integer(r, v));
                }
                _ => move_values!(read self, values, s.f64, rounds, |r, v: &mut [f64]| i.get_real(r, v)),
            },
            Backend::Three(i) => match self.value_type {
                T::Float32 => {
                    move_values!(read self, values, s.f32, rounds, |r, v: &mut [f32]| i.get_float32(r, v))
                }
                T::Int8 => move_values!(read self, values, s.i8, rounds, |r, v: &mut [i8]| i.get_int8(r, v)),
                T::UInt8 => {
                    move_values!(read self, values, s.u8, rounds, |r, v: &mut [u8]| i.get_uint8(r, v))
                }
                T::Int16 => {
                    move_values!(read self, values, s.i16, rounds, |r, v: &mut [i16]| i.get_int16(r, v))
                }
                T::UInt16 => {
                    move_values!(read self, values, s.u16, rounds, |r, v: &mut [u16]| i.get_uint16(r, v))
                }
                T::Int32 => {
                    move_values!(read self, values, s.i32, rounds, |r, v: &mut [i32]| i.get_int32(r, v))
                }
                T::UInt32 => {
                    move_values!(read self, values, s.u32, rounds, |r, v: &mut [u32]| i.get_uint32(r, v))
                }
                T::Int64 | T::Enumeration => {
                    move_values!(read self, values, s.i64, rounds, |r, v: &mut [i64]| i.get_int64(r, v));
                }
                T::UInt64 => {
                    move_values!(read self, values, s.u64, rounds, |r, v: &mut [u64]| i.get_uint64(r, v))
                }
                T::Boolean => {
                    move_values!(read self, values, s.u8, rounds, |r, v: &mut [u8]| i.get_boolean(r, v))
                }
                _ => move_values!(read self, values, s.f64, rounds, |r, v: &mut [f64]| i.get_float64(r, v)),
            },
        }
        Ok(())
    }

    fn write(
        &self,
        to: &Backend,
        s: &mut Scratch,
        values: &[f64],
        exact: &[(usize, i128)],
    ) -> Result<(), AccessError> {
        use ValueType as T;
        if self.value_type == T::Boolean
            && let Some(place) =
                self.places.iter().find(|place| values[**place] != 0.0 && values[**place] != 1.0)
        {
            return Err(AccessError::WrongType { place: *place, expected: "Boolean", value: values[*place] });
        }
        match to {
            Backend::Two(i) => match self.value_type {
                T::Boolean => {
                    move_values!(write self, values, exact, s.i32, i32, |r, v: &[i32]| i.set_boolean(r, v))
                }
                T::Int32 | T::Enumeration => {
                    move_values!(write self, values, exact, s.i32, i32, |r, v: &[i32]| i.set_integer(r, v));
                }
                _ => move_values!(write self, values, exact, s.f64, f64, |r, v: &[f64]| i.set_real(r, v)),
            },
            Backend::Three(i) => match self.value_type {
                T::Float32 => {
                    move_values!(write self, values, exact, s.f32, f32, |r, v: &[f32]| i.set_float32(r, v))
                }
                T::Int8 => move_values!(write self, values, exact, s.i8, i8, |r, v: &[i8]| i.set_int8(r, v)),
                T::UInt8 => {
                    move_values!(write self, values, exact, s.u8, u8, |r, v: &[u8]| i.set_uint8(r, v))
                }
                T::Int16 => {
                    move_values!(write self, values, exact, s.i16, i16, |r, v: &[i16]| i.set_int16(r, v))
                }
                T::UInt16 => {
                    move_values!(write self, values, exact, s.u16, u16, |r, v: &[u16]| i.set_uint16(r, v))
                }
                T::Int32 => {
                    move_values!(write self, values, exact, s.i32, i32, |r, v: &[i32]| i.set_int32(r, v))
                }
                T::UInt32 => {
                    move_values!(write self, values, exact, s.u32, u32, |r, v: &[u32]| i.set_uint32(r, v))
                }
                T::Int64 | T::Enumeration => {
                    move_values!(write self, values, exact, s.i64, i64, |r, v: &[i64]| i.set_int64(r, v));
                }
                T::UInt64 => {
                    move_values!(write self, values, exact, s.u64, u64, |r, v: &[u64]| i.set_uint64(r, v))
                }
                T::Boolean => {
                    move_values!(write self, values, exact, s.u8, u8, |r, v: &[u8]| i.set_boolean(r, v))
                }
                _ => move_values!(write self, values, exact, s.f64, f64, |r, v: &[f64]| i.set_float64(r, v)),
            },
        }
        Ok(())
    }
}

/// Calls both versions have.
impl Backend {
    /// A step of an FMU for which plain steps were prepared.
    #[inline]
    pub(super) fn plain_step(
        &self,
        step: StepCall,
        inputs: &[f64],
        outputs: &mut [f64],
    ) -> Result<(), Box<Interruption>> {
        match self {
            Backend::Two(instance) => instance.plain_step(step, inputs, outputs),
            Backend::Three(instance) => instance.plain_step(step, inputs, outputs),
        }
    }

    #[inline]
    pub(super) fn get_real(&self, references: &[u32], values: &mut [f64]) -> Result<(), CallError> {
        match self {
            Backend::Two(instance) => instance.get_real(references, values),
            Backend::Three(instance) => instance.get_float64(references, values),
        }
    }

    #[inline]
    pub(super) fn set_real(&self, references: &[u32], values: &[f64]) -> Result<(), CallError> {
        match self {
            Backend::Two(instance) => instance.set_real(references, values),
            Backend::Three(instance) => instance.set_float64(references, values),
        }
    }

    pub(super) fn set_log_time(&self, time: f64) {
        match self {
            Backend::Two(instance) => instance.log().set_time(time),
            Backend::Three(instance) => instance.log().set_time(time),
        }
    }

    /// What the FMU has said of late.
    pub(super) fn said(&self) -> Vec<LogMessage> {
        match self {
            Backend::Two(instance) => instance.log().take(),
            Backend::Three(instance) => instance.log().take(),
        }
    }

    pub(super) fn log_time(&self) -> f64 {
        match self {
            Backend::Two(instance) => instance.log().time(),
            Backend::Three(instance) => instance.log().time(),
        }
    }

    /// What FMI 2.0 is told before anything is set; FMI 3.0 learns it when initialization begins.
    pub(super) fn set_up(&self, experiment: Experiment) -> Result<(), CallError> {
        let Experiment { tolerance, start, stop } = experiment;
        match self {
            Backend::Two(instance) => instance.setup_experiment(tolerance, start, stop),
            Backend::Three(_) => Ok(()),
        }
    }

    pub(super) fn enter_initialization(&self, experiment: Experiment) -> Result<(), CallError> {
        let Experiment { tolerance, start, stop } = experiment;
        match self {
            Backend::Two(instance) => instance.enter_initialization_mode(),
            Backend::Three(instance) => instance.enter_initialization_mode(tolerance, start, stop),
        }
    }

    pub(super) fn exit_initialization(&self) -> Result<(), CallError> {
        match self {
            Backend::Two(instance) => instance.exit_initialization_mode(),
            Backend::Three(instance) => instance.exit_initialization_mode(),
        }
    }

    /// Frees the instance; nothing can be called any more.
    pub(super) fn free(&mut self) {
        match self {
            Backend::Two(instance) => instance.free(),
            Backend::Three(instance) => instance.free(),
        }
    }

    pub(super) fn reset(&self) -> Result<(), CallError> {
        match self {
            Backend::Two(instance) => instance.reset(),
            Backend::Three(instance) => instance.reset(),
        }
    }

    pub(super) fn terminate(&self) -> Result<(), CallError> {
        match self {
            Backend::Two(instance) => instance.terminate(),
            Backend::Three(instance) => instance.terminate(),
        }
    }

    pub(super) fn get_state(&self, state: &mut Option<State>) -> Result<(), CallError> {
        match self {
            Backend::Two(instance) => instance.get_state(state),
            Backend::Three(instance) => instance.get_state(state),
        }
    }

    pub(super) fn set_state(&self, state: &State) -> Result<(), CallError> {
        match self {
            Backend::Two(instance) => instance.set_state(state),
            Backend::Three(instance) => instance.set_state(state),
        }
    }

    pub(super) fn free_state(&self, state: State) -> Result<(), CallError> {
        match self {
            Backend::Two(instance) => instance.free_state(state),
            Backend::Three(instance) => instance.free_state(state),
        }
    }

    pub(super) fn serialize(&self, state: &State, bytes: &mut Vec<u8>) -> Result<(), CallError> {
        match self {
            Backend::Two(instance) => instance.serialize(state, bytes),
            Backend::Three(instance) => instance.serialize(state, bytes),
        }
    }

    pub(super) fn deserialize(&self, bytes: &[u8]) -> Result<State, CallError> {
        match self {
            Backend::Two(instance) => instance.deserialize(bytes),
            Backend::Three(instance) => instance.deserialize(bytes),
        }
    }
}
