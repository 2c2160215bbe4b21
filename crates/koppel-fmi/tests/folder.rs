//! An FMU that changes the current folder of the process. Alone in its program, as all threads share that folder.
#![cfg(all(target_os = "linux", target_arch = "x86_64"))]
#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]
#![allow(dead_code, reason = "some of the common functions serve other tests")]

mod common;

use common::{MASS2, TestFmu};
use koppel::system::Subsystem;
use koppel_fmi::Fmu;
use koppel_fmi::import::{CoSimulation, Options};

#[test]
fn the_folder_of_the_program_stays_its_own() {
    let here = std::env::current_dir().unwrap();
    assert_ne!(here, std::path::Path::new("/"));
    let fmu = TestFmu::new("mass2.c", MASS2, &["-DWANDER"]);
    let mut body = CoSimulation::new(&Fmu::open(&fmu.path()).unwrap(), &Options::default()).unwrap();
    assert_eq!(std::env::current_dir().unwrap(), here, "after it was made");
    body.initialize(0.0).unwrap();
    assert_eq!(std::env::current_dir().unwrap(), here, "after it was initialised");
}
