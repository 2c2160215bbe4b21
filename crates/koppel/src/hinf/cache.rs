//! Designs that have been made already in this process.

use super::synthesis::synthesize;
use super::{Design, Specification};
use crate::error::Result;
use std::sync::{Arc, Mutex, PoisonError};

/// Newest last.
static DESIGNS: Mutex<Vec<Arc<Design>>> = Mutex::new(Vec::new());
/// More are seldom wanted at once; the oldest makes room.
const KEPT: usize = 64;

/// The design for a specification: made once, then kept.
pub fn designed(specification: &Specification) -> Result<Arc<Design>> {
    let mut designs = DESIGNS.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(known) = designs.iter().find(|design| design.specification == *specification) {
        return Ok(known.clone());
    }
    let design = Arc::new(synthesize(specification)?);
    if designs.len() == KEPT {
        designs.remove(0);
    }
    designs.push(design.clone());
    Ok(design)
}
