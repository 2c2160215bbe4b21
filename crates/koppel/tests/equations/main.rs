//! Models written as equations.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod blocks;
mod derivatives;
mod events;
mod mistakes;
mod references;
mod size;
mod texts;
