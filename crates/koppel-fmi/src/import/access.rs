//! Numbers in and out of an instance, whatever their types.

use super::ports::{Slot, exact_start};
use crate::description::{Description, ValueType, Variable};
use crate::ffi::{Buffers, CallError, Instance, Memory, Number};

/// Variables of one type that are moved in one call.
#[derive(Debug)]
struct Group {
    value_type: ValueType,
    references: Vec<u32>,
    /// For every value of the call, its place in the list of ports.
    places: Vec<usize>,
}

impl Group {
    /// The first port, if the values of the call are contiguous ports.
    fn run(&self) -> Option<usize> {
        let first = *self.places.first()?;
        let is_run = self.places.iter().enumerate().all(|(k, place)| *place == first + k);
        (is_run && self.value_type == ValueType::Float64).then_some(first)
    }
}

/// Room for numbers on their way, and what was met there.
#[derive(Debug, Default)]
pub(super) struct Scratch {
    buffers: Buffers,
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
        from: &Instance,
        scratch: &mut Scratch,
        values: &mut [f64],
    ) -> Result<(), AccessError> {
        for (group, run) in &self.groups {
            match run {
                Some(first) => {
                    from.get_reals(&group.references, &mut values[*first..][..group.places.len()])?
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
        to: &Instance,
        scratch: &mut Scratch,
        values: &[f64],
    ) -> Result<(), AccessError> {
        for (group, run) in &self.groups {
            match run {
                Some(first) => to.set_reals(&group.references, &values[*first..][..group.places.len()])?,
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

/// Calls a function for the type that numbers have in memory.
macro_rules! by_memory {
    ($memory:expr, $method:ident of $group:ident ($($argument:expr),*)) => {
        match $memory {
            Memory::F64 => $group.$method::<f64>($($argument),*),
            Memory::F32 => $group.$method::<f32>($($argument),*),
            Memory::I8 => $group.$method::<i8>($($argument),*),
            Memory::U8 => $group.$method::<u8>($($argument),*),
            Memory::I16 => $group.$method::<i16>($($argument),*),
            Memory::U16 => $group.$method::<u16>($($argument),*),
            Memory::I32 => $group.$method::<i32>($($argument),*),
            Memory::U32 => $group.$method::<u32>($($argument),*),
            Memory::I64 => $group.$method::<i64>($($argument),*),
            Memory::U64 => $group.$method::<u64>($($argument),*),
        }
    };
}

impl Group {
    fn read(
        &self,
        from: &Instance,
        scratch: &mut Scratch,
        values: &mut [f64],
        rounds: bool,
    ) -> Result<(), AccessError> {
        by_memory!(from.memory(self.value_type), read_as of self (from, scratch, values, rounds))
    }

    fn read_as<T: Number>(
        &self,
        from: &Instance,
        scratch: &mut Scratch,
        values: &mut [f64],
        rounds: bool,
    ) -> Result<(), AccessError> {
        let buffer = T::buffer(&mut scratch.buffers);
        buffer.resize(self.places.len(), T::default());
        from.get_numbers(self.value_type, &self.references, buffer)?;
        for (place, value) in self.places.iter().zip(buffer.iter()) {
            let number = value.to_real();
            if number.abs() >= LARGEST
                && !self.value_type.is_float()
                && value.to_integer().unsigned_abs() > LARGEST as u128
            {
                if !rounds {
                    return Err(AccessError::NotExact { place: *place, value: value.to_string() });
                }
                scratch.rounded = Some((*place, value.to_integer()));
            }
            values[*place] = number;
        }
        Ok(())
    }

    fn write(
        &self,
        to: &Instance,
        scratch: &mut Scratch,
        values: &[f64],
        exact: &[(usize, i128)],
    ) -> Result<(), AccessError> {
        if self.value_type == ValueType::Boolean
            && let Some(place) =
                self.places.iter().find(|place| values[**place] != 0.0 && values[**place] != 1.0)
        {
            return Err(AccessError::WrongType { place: *place, expected: "Boolean", value: values[*place] });
        }
        by_memory!(to.memory(self.value_type), write_as of self (to, scratch, values, exact))
    }

    fn write_as<T: Number>(
        &self,
        to: &Instance,
        scratch: &mut Scratch,
        values: &[f64],
        exact: &[(usize, i128)],
    ) -> Result<(), AccessError> {
        let buffer = T::buffer(&mut scratch.buffers);
        buffer.clear();
        for place in &self.places {
            let number = values[*place];
            let value = exact_value(exact, *place, number).map_or(T::from_real(number), T::from_integer);
            if value.to_real() != number && !self.value_type.is_float() {
                let expected = self.value_type.name();
                return Err(AccessError::WrongType { place: *place, expected, value: number });
            }
            buffer.push(value);
        }
        Ok(to.set_numbers(self.value_type, &self.references, buffer)?)
    }
}
