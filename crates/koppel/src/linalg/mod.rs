//! Dense linear algebra: one matrix type, a few tested factorisations.
