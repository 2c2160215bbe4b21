//! Makes cargo tell where it builds: the library inside FMUs is looked for there.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
}
