//! Any bytes as modelDescription.xml, and as the other XML files of an FMU.
#![no_main]

use koppel_fmi::description::Description;
use libfuzzer_sys::fuzz_target;

const FMI3: &[u8] = include_bytes!("../../tests/fixtures/fmi3.xml");

fuzz_target!(|bytes: &[u8]| {
    let _ = Description::parse(bytes, "modelDescription.xml");
    if let Ok(mut description) = Description::parse(FMI3, "modelDescription.xml") {
        let _ = description.add_terminals(bytes, "terminalsAndIcons.xml");
        let _ = description.add_sources(bytes, "buildDescription.xml");
    }
});
