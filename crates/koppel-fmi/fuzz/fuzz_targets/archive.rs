//! Any bytes as an FMU file: opened, described and unpacked, or refused.
#![no_main]

use koppel_fmi::archive::Archive;
use koppel_fmi::description::Description;
use libfuzzer_sys::fuzz_target;
use std::io::Cursor;
use std::path::Path;

fuzz_target!(|bytes: &[u8]| {
    let size = bytes.len() as u64;
    if let Ok(mut archive) = Archive::new(Path::new("fuzz.fmu"), Cursor::new(bytes), size) {
        let _ = Description::read(&mut archive);
        let _ = archive.unpack();
    }
});
