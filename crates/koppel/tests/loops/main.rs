//! Loops: structure, zero-stability, consistent starts, iteration and filters.

#![expect(clippy::print_stdout, reason = "tables for the reader")]
#![expect(clippy::unwrap_used, reason = "a test that cannot be set up fails")]

#[path = "../common/cases/mod.rs"]
mod cases;
mod derivatives;
mod double_pendulum;
mod ends;
mod failures;
mod filters;
mod halving;
mod late;
mod members;
mod starts;
mod steps;
mod zero_stability;
