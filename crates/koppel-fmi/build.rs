//! Compiles the one C function of koppel: FMI 2.0's logger takes a variable number of arguments, which stable Rust cannot
//! define. A C compiler is there wherever Rust can link.

fn main() {
    println!("cargo::rerun-if-changed=src/ffi/logger.c");
    cc::Build::new().file("src/ffi/logger.c").warnings(true).compile("koppel_fmi_logger");
}
