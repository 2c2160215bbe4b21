//! Benchmark systems with known answers.
