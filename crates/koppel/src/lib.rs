//! A co-simulation engine: black-box subsystems coupled at large communication steps.
//!
//! Numbers in, numbers out: no file is opened here and nothing is printed.

pub mod linalg;
