//! The binary inside exported FMUs: the C functions of `koppel-fmu` as a shared library.
//!
//! A package of its own, which nobody uses in code: cargo gives shared libraries no hash in their names, so the builds of
//! different selections of packages overwrite each other. For a library that holds all it needs this does no harm.

extern crate koppel_fmu as _;
