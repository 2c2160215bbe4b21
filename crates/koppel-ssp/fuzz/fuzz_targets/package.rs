//! Any bytes as an archive: an answer, never a panic. Nightly only: `cargo +nightly fuzz run package`
#![no_main]

use koppel_ssp::{Limits, Options, Ssp, Tolerance};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let limits = Limits { total: 1 << 24, document: 1 << 20, ..Limits::default() };
    let options = Options { tolerance: Tolerance::Tolerant, limits, ..Options::default() };
    if let Ok(ssp) = Ssp::from_bytes("x", bytes.to_vec(), &options) {
        let _ = ssp.flatten();
    }
});
