//! The comparison of docs/hinf.md: `cargo run --release --package koppel-lmi [-- MARGIN]`.
#![expect(clippy::print_stdout, reason = "it prints a table")]

use koppel::hinf::{Design, Specification, designed};
use koppel::linalg::Complex;
use koppel_lmi::{MARGIN, norm, synthesize};

/// Order and corner, in Hz, of the three weights of Chen et al. 2021, 3.3.
const WEIGHTS: [(usize, f64); 3] = [(1, 1.0), (2, 3.0), (3, 6.0)];

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let margin = std::env::args().nth(1).map_or(Ok(MARGIN), |text| text.parse())?;
    println!("H = 10 ms, disc 1 ms, margin {margin}\n");
    println!("| weight | method | γ | norm | K1(∞) | largest \\|1 + disc λ\\| |");
    println!("| --- | --- | ---: | ---: | ---: | ---: |");
    for (order, weight_hz) in WEIGHTS {
        let specification = Specification { weight_hz, ..Specification::new(0.01, order) };
        let weight = format!("order {order}, {weight_hz} Hz");
        println!("{}", row(&weight, "closed form", &*designed(&specification)?));
        println!("{}", row(&weight, "inequalities", &synthesize(&specification, margin)?));
    }
    Ok(())
}

fn row(weight: &str, method: &str, design: &Design) -> String {
    let distance = |pole: &Complex| (Complex::ONE + *pole * design.specification.disc).abs();
    let radius = design.compensator.poles.iter().map(distance).fold(0.0, f64::max);
    let (gamma, norm, gain) = (design.gamma, norm(design), design.jump_gain());
    format!("| {weight} | {method} | {gamma:.6} | {norm:.6} | {gain:.0} | {radius:.3} |")
}
