//! What goes into an instance and comes out of it: numbers, texts, bytes, derivatives, clocks.

use super::instance::{Instance, Version, call};
use super::{CallError, c_string, text_from};
use crate::description::ValueType;
use std::ffi::c_char;

/// Types of numbers in memory, each with a name and what converts it.
macro_rules! numbers {
    ($($type:ident $memory:ident;)*) => {
        /// How a number lies in memory.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub(crate) enum Memory { $(
            #[doc = concat!("`", stringify!($type), "`.")]
            $memory,
        )* }

        /// A buffer for every type, so that moving numbers allocates nothing.
        #[derive(Debug, Default)]
        pub(crate) struct Buffers { $($type: Vec<$type>,)* }

        $(impl Number for $type {
            const MEMORY: Memory = Memory::$memory;

            fn buffer(buffers: &mut Buffers) -> &mut Vec<$type> {
                &mut buffers.$type
            }

            #[inline]
            fn to_real(self) -> f64 {
                self as f64
            }

            #[inline]
            fn from_real(value: f64) -> $type {
                value as $type
            }

            #[inline]
            fn to_integer(self) -> i128 {
                self as i128
            }

            #[inline]
            fn from_integer(value: i128) -> $type {
                value as $type
            }
        })*
    };
}

/// A number as FMUs get and give it.
pub(crate) trait Number: Copy + Default + ToString {
    /// How it lies in memory.
    const MEMORY: Memory;

    /// The buffer of its type.
    fn buffer(buffers: &mut Buffers) -> &mut Vec<Self>;

    fn to_real(self) -> f64;

    fn from_real(value: f64) -> Self;

    fn to_integer(self) -> i128;

    fn from_integer(value: i128) -> Self;
}

numbers! {
    f64 F64;
    f32 F32;
    i8 I8;
    u8 U8;
    i16 I16;
    u16 U16;
    i32 I32;
    u32 U32;
    i64 I64;
    u64 U64;
}

/// What an FMU says about the interval of a clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum IntervalQualifier {
    /// There is none yet.
    NotYetKnown,
    /// It is the one told before.
    Unchanged,
    /// It is new.
    Changed,
}

impl IntervalQualifier {
    fn from_code(code: std::ffi::c_int) -> IntervalQualifier {
        match code {
            1 => IntervalQualifier::Unchanged,
            2 => IntervalQualifier::Changed,
            _ => IntervalQualifier::NotYetKnown,
        }
    }
}

impl Instance {
    /// How numbers of a type lie in memory: Booleans are integers in FMI 2.0, bytes in FMI 3.0.
    pub(crate) fn memory(&self, value_type: ValueType) -> Memory {
        use ValueType as T;
        match (&self.functions.version, value_type) {
            (Version::Two(_), T::Boolean | T::Int32 | T::Enumeration) => Memory::I32,
            (Version::Two(_), _) => Memory::F64,
            (Version::Three(_), T::Float32) => Memory::F32,
            (Version::Three(_), T::Int8) => Memory::I8,
            (Version::Three(_), T::UInt8 | T::Boolean) => Memory::U8,
            (Version::Three(_), T::Int16) => Memory::I16,
            (Version::Three(_), T::UInt16) => Memory::U16,
            (Version::Three(_), T::Int32) => Memory::I32,
            (Version::Three(_), T::UInt32) => Memory::U32,
            (Version::Three(_), T::Int64 | T::Enumeration) => Memory::I64,
            (Version::Three(_), T::UInt64) => Memory::U64,
            (Version::Three(_), _) => Memory::F64,
        }
    }

    /// Gets numbers of a type. The values of arrays lie side by side.
    pub(crate) fn get_numbers<T: Number>(
        &self,
        value_type: ValueType,
        references: &[u32],
        values: &mut [T],
    ) -> Result<(), CallError> {
        assert_eq!(T::MEMORY, self.memory(value_type), "a number of the type's size");
        let (from, count) = (references.as_ptr(), references.len());
        let (to, size) = (values.as_mut_ptr().cast(), values.len());
        match &self.functions.version {
            Version::Two(own) => {
                assert_eq!(count, size, "one value per reference");
                call!(self, own.getter(value_type), from, count, to)
            }
            Version::Three(own) => call!(self, own.getter(value_type)?, from, count, to, size),
        }
    }

    /// Sets numbers of a type. The values of arrays lie side by side.
    pub(crate) fn set_numbers<T: Number>(
        &self,
        value_type: ValueType,
        references: &[u32],
        values: &[T],
    ) -> Result<(), CallError> {
        assert_eq!(T::MEMORY, self.memory(value_type), "a number of the type's size");
        let (to, count) = (references.as_ptr(), references.len());
        let (from, size) = (values.as_ptr().cast(), values.len());
        match &self.functions.version {
            Version::Two(own) => {
                assert_eq!(count, size, "one value per reference");
                call!(self, own.setter(value_type), to, count, from)
            }
            Version::Three(own) => call!(self, own.setter(value_type)?, to, count, from, size),
        }
    }

    /// Gets reals.
    #[inline]
    pub(crate) fn get_reals(&self, references: &[u32], values: &mut [f64]) -> Result<(), CallError> {
        let (from, count) = (references.as_ptr(), references.len());
        let (to, size) = (values.as_mut_ptr().cast(), values.len());
        match &self.functions.version {
            Version::Two(own) => {
                assert_eq!(count, size, "one value per reference");
                call!(self, &own.get_real, from, count, to)
            }
            Version::Three(own) => call!(self, &own.get_float64, from, count, to, size),
        }
    }

    /// Sets reals.
    #[inline]
    pub(crate) fn set_reals(&self, references: &[u32], values: &[f64]) -> Result<(), CallError> {
        let (to, count) = (references.as_ptr(), references.len());
        let (from, size) = (values.as_ptr().cast(), values.len());
        match &self.functions.version {
            Version::Two(own) => {
                assert_eq!(count, size, "one value per reference");
                call!(self, &own.set_real, to, count, from)
            }
            Version::Three(own) => call!(self, &own.set_float64, to, count, from, size),
        }
    }

    /// Gets the texts of a variable with `count` elements; `take` gets each.
    pub(crate) fn get_strings(
        &self,
        reference: u32,
        count: usize,
        mut take: impl FnMut(usize, &str),
    ) -> Result<(), CallError> {
        let mut texts: Vec<*const c_char> = vec![std::ptr::null(); count];
        match &self.functions.version {
            Version::Two(own) => call!(self, &own.get_string, &reference, 1, texts.as_mut_ptr())?,
            Version::Three(own) => {
                call!(self, own.get_string.get()?, &reference, 1, texts.as_mut_ptr(), count)?
            }
        }
        for (element, text) in texts.into_iter().enumerate() {
            // SAFETY: the text belongs to the FMU and lives until the next call.
            take(element, &unsafe { text_from(text) });
        }
        Ok(())
    }

    /// Sets the texts of all elements of a variable.
    pub(crate) fn set_strings<'a>(
        &self,
        reference: u32,
        texts: impl Iterator<Item = &'a str>,
    ) -> Result<(), CallError> {
        let call = match &self.functions.version {
            Version::Two(own) => own.set_string.name,
            Version::Three(own) => own.set_string.get()?.name,
        };
        let texts = texts.map(|text| c_string(call, "the text", text)).collect::<Result<Vec<_>, _>>()?;
        let pointers: Vec<*const c_char> = texts.iter().map(|text| text.as_ptr()).collect();
        let (from, count) = (pointers.as_ptr(), pointers.len());
        match &self.functions.version {
            Version::Two(own) => call!(self, &own.set_string, &reference, 1, from),
            Version::Three(own) => call!(self, own.set_string.get()?, &reference, 1, from, count),
        }
    }

    /// Gets the bytes of a variable with `count` elements (FMI 3.0); `take` gets each.
    pub(crate) fn get_binaries(
        &self,
        reference: u32,
        count: usize,
        mut take: impl FnMut(usize, &[u8]),
    ) -> Result<(), CallError> {
        let get = self.three("fmi3GetBinary")?.get_binary.get()?;
        let mut sizes = vec![0_usize; count];
        let mut values: Vec<*const u8> = vec![std::ptr::null(); count];
        call!(self, get, &reference, 1, sizes.as_mut_ptr(), values.as_mut_ptr(), count)?;
        for (element, (size, value)) in sizes.into_iter().zip(values).enumerate() {
            if value.is_null() || size == 0 {
                take(element, &[]);
            } else {
                // SAFETY: the FMU says that so many bytes are there; they live until the next call.
                take(element, unsafe { std::slice::from_raw_parts(value, size) });
            }
        }
        Ok(())
    }

    /// Sets the bytes of all elements of a variable (FMI 3.0).
    pub(crate) fn set_binaries<'a>(
        &self,
        reference: u32,
        values: impl Iterator<Item = &'a [u8]>,
    ) -> Result<(), CallError> {
        let set = self.three("fmi3SetBinary")?.set_binary.get()?;
        let (sizes, pointers): (Vec<usize>, Vec<*const u8>) =
            values.map(|bytes| (bytes.len(), bytes.as_ptr())).unzip();
        call!(self, set, &reference, 1, sizes.as_ptr(), pointers.as_ptr(), sizes.len())
    }

    /// Sets derivatives of inputs over the step to come (FMI 2.0).
    pub(crate) fn set_input_derivatives(
        &self,
        references: &[u32],
        orders: &[i32],
        values: &[f64],
    ) -> Result<(), CallError> {
        let count = references.len();
        assert!(count == orders.len() && count == values.len(), "one order and value per reference");
        let set = self.two("fmi2SetRealInputDerivatives")?.set_real_input_derivatives.get()?;
        call!(self, set, references.as_ptr(), count, orders.as_ptr(), values.as_ptr())
    }

    /// `change` of the unknowns for a change `seed` of the knowns.
    pub(crate) fn directional_derivative(
        &self,
        unknowns: &[u32],
        knowns: &[u32],
        seed: &[f64],
        change: &mut [f64],
    ) -> Result<(), CallError> {
        let (of, by, from, to) = (unknowns.as_ptr(), knowns.as_ptr(), seed.as_ptr(), change.as_mut_ptr());
        let (n, m, seeds, changes) = (unknowns.len(), knowns.len(), seed.len(), change.len());
        match &self.functions.version {
            Version::Two(own) => {
                assert!(m == seeds && n == changes, "one value per reference");
                call!(self, own.get_directional_derivative.get()?, of, n, by, m, from, to)
            }
            Version::Three(own) => {
                let get = own.get_directional_derivative.get()?;
                call!(self, get, of, n, by, m, from, seeds, to, changes)
            }
        }
    }

    /// `change`ᵀ = `seed`ᵀ J, where J is the Jacobian of the unknowns by the knowns (FMI 3.0).
    pub(crate) fn adjoint_derivative(
        &self,
        unknowns: &[u32],
        knowns: &[u32],
        seed: &[f64],
        change: &mut [f64],
    ) -> Result<(), CallError> {
        let get = self.three("fmi3GetAdjointDerivative")?.get_adjoint_derivative.get()?;
        let (of, by, from, to) = (unknowns.as_ptr(), knowns.as_ptr(), seed.as_ptr(), change.as_mut_ptr());
        let (n, m, seeds, changes) = (unknowns.len(), knowns.len(), seed.len(), change.len());
        call!(self, get, of, n, by, m, from, seeds, to, changes)
    }

    /// 1 where the clock is active (FMI 3.0).
    pub(crate) fn get_clock(&self, references: &[u32], active: &mut [u8]) -> Result<(), CallError> {
        assert_eq!(references.len(), active.len(), "one value per reference");
        let get = self.three("fmi3GetClock")?.get_clock.get()?;
        call!(self, get, references.as_ptr(), references.len(), active.as_mut_ptr())
    }

    /// 1 activates the clock (FMI 3.0).
    pub(crate) fn set_clock(&self, references: &[u32], active: &[u8]) -> Result<(), CallError> {
        assert_eq!(references.len(), active.len(), "one value per reference");
        let set = self.three("fmi3SetClock")?.set_clock.get()?;
        call!(self, set, references.as_ptr(), references.len(), active.as_ptr())
    }

    /// The interval of one clock in seconds (FMI 3.0).
    pub(crate) fn interval_decimal(&self, reference: u32) -> Result<(f64, IntervalQualifier), CallError> {
        let get = self.three("fmi3GetIntervalDecimal")?.get_interval_decimal.get()?;
        let (mut interval, mut code) = (0.0, 0);
        call!(self, get, &reference, 1, &mut interval, &mut code)?;
        Ok((interval, IntervalQualifier::from_code(code)))
    }

    /// The interval of one clock as counter and resolution, whose quotient are seconds (FMI 3.0).
    pub(crate) fn interval_fraction(
        &self,
        reference: u32,
    ) -> Result<(u64, u64, IntervalQualifier), CallError> {
        let get = self.three("fmi3GetIntervalFraction")?.get_interval_fraction.get()?;
        let (mut counter, mut resolution, mut code) = (0, 1, 0);
        call!(self, get, &reference, 1, &mut counter, &mut resolution, &mut code)?;
        Ok((counter, resolution, IntervalQualifier::from_code(code)))
    }

    /// Begins to change structural parameters (FMI 3.0).
    pub(crate) fn enter_configuration_mode(&self) -> Result<(), CallError> {
        call!(self, self.three("fmi3EnterConfigurationMode")?.enter_configuration_mode.get()?)
    }

    /// Ends it.
    pub(crate) fn exit_configuration_mode(&self) -> Result<(), CallError> {
        call!(self, self.three("fmi3ExitConfigurationMode")?.exit_configuration_mode.get()?)
    }
}
