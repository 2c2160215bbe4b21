//! Any bytes as an archive: an answer, never a panic. `cargo fuzz run package`
#![no_main]

use koppel_ssp::{Options, Ssp, Tolerance};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let options = Options { tolerance: Tolerance::Tolerant, ..Options::default() };
    if let Ok(ssp) = Ssp::from_bytes("x", bytes.to_vec(), &options) {
        let _ = ssp.flatten();
        let _ = ssp.components();
    }
});
