//! Strings and binaries. Each call is about all elements of one variable.

use super::{Bytes, Instance, Text};
use crate::ffi::twins::{call, function};
use crate::ffi::{CallError, c_string, text_from};

impl Instance {
    /// `fmi3GetString` for a variable with `count` elements; `take` gets each.
    pub fn get_strings(
        &self,
        reference: u32,
        count: usize,
        mut take: impl FnMut(usize, &str),
    ) -> Result<(), CallError> {
        let get = function!(self, get_string, "fmi3GetString");
        let mut texts: Vec<Text> = vec![std::ptr::null(); count];
        call!(self, "fmi3GetString", get, &reference, 1, texts.as_mut_ptr(), count)?;
        for (element, text) in texts.into_iter().enumerate() {
            // SAFETY: the text belongs to the FMU and lives until the next call.
            take(element, &unsafe { text_from(text) });
        }
        Ok(())
    }

    /// `fmi3SetString` for all elements of a variable.
    pub fn set_strings<'a>(
        &self,
        reference: u32,
        texts: impl Iterator<Item = &'a str>,
    ) -> Result<(), CallError> {
        let set = function!(self, set_string, "fmi3SetString");
        let texts =
            texts.map(|text| c_string("fmi3SetString", "the text", text)).collect::<Result<Vec<_>, _>>()?;
        let pointers: Vec<Text> = texts.iter().map(|text| text.as_ptr()).collect();
        call!(self, "fmi3SetString", set, &reference, 1, pointers.as_ptr(), pointers.len())
    }

    /// `fmi3GetBinary` for a variable with `count` elements; `take` gets each.
    pub fn get_binaries(
        &self,
        reference: u32,
        count: usize,
        mut take: impl FnMut(usize, &[u8]),
    ) -> Result<(), CallError> {
        let get = function!(self, get_binary, "fmi3GetBinary");
        let mut sizes = vec![0_usize; count];
        let mut values: Vec<Bytes> = vec![std::ptr::null(); count];
        call!(self, "fmi3GetBinary", get, &reference, 1, sizes.as_mut_ptr(), values.as_mut_ptr(), count)?;
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

    /// `fmi3SetBinary` for all elements of a variable.
    pub fn set_binaries<'a>(
        &self,
        reference: u32,
        values: impl Iterator<Item = &'a [u8]>,
    ) -> Result<(), CallError> {
        let set = function!(self, set_binary, "fmi3SetBinary");
        let (sizes, pointers): (Vec<usize>, Vec<Bytes>) =
            values.map(|bytes| (bytes.len(), bytes.as_ptr())).unzip();
        call!(self, "fmi3SetBinary", set, &reference, 1, sizes.as_ptr(), pointers.as_ptr(), sizes.len())
    }
}
