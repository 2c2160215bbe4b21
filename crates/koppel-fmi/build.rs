//! Compiles the C functions of koppel.
//!
//! * FMI 2.0's logger takes a variable number of arguments, which stable Rust cannot define. A C compiler is there wherever
//!   Rust can link.
//! * The program that hosts Windows FMUs under Wine, where a compiler for Windows is installed; otherwise koppel is built
//!   without it.

use std::path::PathBuf;
use std::process::Command;

fn main() {
    println!("cargo::rerun-if-changed=src/ffi/logger.c");
    println!("cargo::rerun-if-changed=windows/worker.c");
    println!("cargo::rerun-if-env-changed=PATH");
    cc::Build::new().file("src/ffi/logger.c").warnings(true).compile("koppel_fmi_logger");
    let worker = PathBuf::from(std::env::var_os("OUT_DIR").expect("cargo sets OUT_DIR")).join("worker.exe");
    if std::env::var("CARGO_CFG_TARGET_OS").as_deref() != Ok("linux") || !build_worker(&worker) {
        std::fs::write(&worker, []).expect("OUT_DIR can be written to");
    }
}

/// The flags are those of `cargo xtask windows-worker`.
fn build_worker(worker: &PathBuf) -> bool {
    let mut compile = Command::new("x86_64-w64-mingw32-gcc");
    compile
        .args([
            "-O2",
            "-std=gnu99",
            "-s",
            "-static",
            "-Wl,--stack,67108864,--no-insert-timestamp",
            "windows/worker.c",
            "-o",
        ])
        .arg(worker);
    compile.status().is_ok_and(|status| status.success())
}
