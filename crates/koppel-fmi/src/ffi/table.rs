//! Tables of function pointers, resolved once.

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
        #[repr(C)]
        #[derive(Clone, Debug)]
        pub struct $table {
            $(
                #[doc = concat!("`", $symbol, "`.")]
                pub $field: unsafe extern "C" fn($($argument),*) $(-> $result)?,
            )*
            $(
                #[doc = concat!("`", $maybe_symbol, "`, if the library has it.")]
                pub $maybe: Option<unsafe extern "C" fn($($maybe_argument),*) $(-> $maybe_result)?>,
            )*
        }

        impl $table {
            /// The symbols of all functions.
            pub const SYMBOLS: &'static [&'static str] = &[$($symbol,)* $($maybe_symbol,)*];

            /// Opens the library for good and resolves its functions.
            pub fn load(path: &std::path::Path) -> Result<$table, $crate::ffi::LoadError> {
                let library = $crate::ffi::open(path)?;
                // SAFETY: the types are those of the standard, whose names the symbols bear.
                let table = unsafe {
                    $table {
                        $(
                            $field: match library.get(concat!($symbol, "\0")) {
                                Ok(function) => *function,
                                Err(_) => {
                                    return Err($crate::ffi::LoadError::Symbol { path: path.into(), symbol: $symbol });
                                }
                            },
                        )*
                        $($maybe: library.get(concat!($maybe_symbol, "\0")).ok().map(|function| *function),)*
                    }
                };
                std::mem::forget(library);
                Ok(table)
            }
        }
    };
}

pub(super) use table;
