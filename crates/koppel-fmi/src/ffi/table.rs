//! Tables of function pointers, resolved once.

use super::{CallError, LoadError, trace};
#[cfg(target_os = "linux")]
use crate::wine;
use libloading::Library;
use std::ffi::c_void;
use std::path::Path;

/// A function of a library, with its name.
#[derive(Clone, Copy, Debug)]
pub(super) struct Function<F> {
    pub(super) name: &'static str,
    /// The number of the name.
    pub(super) number: u64,
    pub(super) pointer: F,
}

/// A function that a library may leave out, with its name in any case.
#[derive(Clone, Copy, Debug)]
pub(super) struct Optional<F>(Result<Function<F>, &'static str>);

impl<F> Optional<F> {
    /// The function, or the complaint that it is missing.
    #[inline]
    pub(super) fn get(&self) -> Result<&Function<F>, CallError> {
        self.0.as_ref().map_err(|call| CallError::Missing { call })
    }
}

/// Where functions are looked up.
#[derive(Clone, Copy)]
pub(super) enum Source<'a> {
    /// A library that stays open.
    Native(&'a Library),
    /// A Windows library in processes of its own.
    #[cfg(target_os = "linux")]
    Wine(&'a wine::Library),
}

/// A library with its path.
pub(super) struct Opened<'a> {
    pub(super) source: Source<'a>,
    pub(super) path: &'a Path,
}

impl Opened<'_> {
    fn symbol(&self, symbol: &'static str) -> Option<*const c_void> {
        match self.source {
            Source::Native(library) => {
                // SAFETY: only its address is taken.
                let found = unsafe { library.get::<*const c_void>(symbol.as_bytes()) };
                found.ok().map(|found| *found)
            }
            #[cfg(target_os = "linux")]
            Source::Wine(library) => wine::stub(library, symbol),
        }
    }
}

/// What a table is made of.
pub(super) trait Entry: Sized {
    /// Finds the symbol.
    ///
    /// # Safety
    ///
    /// The type is that of the standard for the function of this name.
    unsafe fn find(opened: &Opened<'_>, symbol: &'static str) -> Result<Self, LoadError>;
}

impl<F: Copy> Entry for Optional<F> {
    unsafe fn find(opened: &Opened<'_>, symbol: &'static str) -> Result<Self, LoadError> {
        const { assert!(size_of::<F>() == size_of::<*const c_void>(), "a function pointer") };
        let function = |pointer: *const c_void| {
            // SAFETY: promised by the caller.
            let pointer = unsafe { std::mem::transmute_copy::<*const c_void, F>(&pointer) };
            Function { name: symbol, number: trace::number(symbol), pointer }
        };
        Ok(Optional(opened.symbol(symbol).map(function).ok_or(symbol)))
    }
}

impl<F: Copy> Entry for Function<F> {
    unsafe fn find(opened: &Opened<'_>, symbol: &'static str) -> Result<Self, LoadError> {
        // SAFETY: promised by the caller.
        let Optional(found) = unsafe { Entry::find(opened, symbol) }?;
        found.map_err(|symbol| LoadError::Symbol { path: opened.path.into(), symbol })
    }
}

/// Declares a table: every line is a field, its symbol and its type. Those after `optional` may be missing.
macro_rules! table {
    (
        $(#[$about:meta])*
        $table:ident {
            $($field:ident $symbol:literal ($($argument:ty),*) $(-> $result:ty)?;)*
        } optional {
            $($maybe:ident $maybe_symbol:literal ($($maybe_argument:ty),*) $(-> $maybe_result:ty)?;)*
        }
    ) => {
        $(#[$about])*
        pub(super) struct $table {
            $(pub(super) $field: $crate::ffi::table::Function<unsafe extern "C" fn($($argument),*) $(-> $result)?>,)*
            $(pub(super) $maybe: $crate::ffi::table::Optional<unsafe extern "C" fn($($maybe_argument),*) $(-> $maybe_result)?>,)*
        }

        impl $table {
            /// The symbols of all functions.
            pub(super) const SYMBOLS: &'static [&'static str] = &[$($symbol,)* $($maybe_symbol,)*];

            /// Finds the functions.
            pub(super) fn load(opened: &$crate::ffi::table::Opened<'_>) -> Result<$table, $crate::ffi::LoadError> {
                use $crate::ffi::table::Entry;
                // SAFETY: the types are those of the standard, whose names the symbols bear.
                unsafe {
                    Ok($table {
                        $($field: Entry::find(opened, $symbol)?,)*
                        $($maybe: Entry::find(opened, $maybe_symbol)?,)*
                    })
                }
            }
        }
    };
}

/// Declares functions that the versions have under different names.
macro_rules! shared {
    ($(#[$about:meta])* $table:ident { $($field:ident: $type:ty,)* }) => {
        $(#[$about])*
        pub(super) struct $table { $(pub(super) $field: $type,)* }

        impl $table {
            /// Finds the functions by their names, which are in the order of the fields.
            pub(super) fn load(
                opened: &$crate::ffi::table::Opened<'_>,
                names: &[&'static str],
            ) -> Result<$table, $crate::ffi::LoadError> {
                let mut names = names.iter().copied();
                let mut next = || names.next().unwrap_or_default();
                // SAFETY: the types are those of the standard, whose names the versions list.
                unsafe { Ok($table { $($field: $crate::ffi::table::Entry::find(opened, next())?,)* }) }
            }
        }
    };
}

pub(super) use {shared, table};
