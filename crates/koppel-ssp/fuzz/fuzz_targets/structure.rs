//! Any bytes as SSD, SSV, SSM and SSB: an answer, never a panic. Nightly only:
//! `cargo +nightly fuzz run structure corpus tests/fixtures/vehicle tests/fixtures/arrays`
#![no_main]

use koppel_ssp::{Tolerance, flatten_structure, read_dictionary, read_mapping, read_parameters, read_structure};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    read_parameters(bytes, "x", Tolerance::Tolerant);
    read_mapping(bytes, "x", Tolerance::Tolerant);
    read_dictionary(bytes, "x", Tolerance::Tolerant);
    if let Some(structure) = read_structure(bytes, "x", Tolerance::Tolerant).content {
        flatten_structure(&structure, Tolerance::Tolerant);
        let _ = koppel_ssp::write_structure(&structure);
    }
});
