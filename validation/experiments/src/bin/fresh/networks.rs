//! Random linear networks.

use super::equations::linear;
use super::problems::{Fresh, wire};
use koppel::SplitMix64;
use koppel::linalg::{Matrix, eigenvalues};
use koppel::system::SystemBuilder;

/// Numbers in [-1, 1).
struct Numbers(SplitMix64);

impl Numbers {
    fn next(&mut self) -> f64 {
        2.0 * self.0.unit() - 1.0
    }
}

/// A stable random subsystem of two modes: frequencies from 0.5 to 5 rad/s, damping ratios from 0.05 to 0.6.
fn random_part(numbers: &mut Numbers) -> (Matrix, Matrix, Matrix, Vec<f64>) {
    let mut a = Matrix::zeros(4, 4);
    for mode in 0..2 {
        let omega = 0.5 * 10.0_f64.powf(0.5 * (numbers.next() + 1.0));
        let damping = 0.325 + 0.275 * numbers.next();
        let at = 2 * mode;
        a[(at, at + 1)] = omega;
        a[(at + 1, at)] = -omega;
        a[(at + 1, at + 1)] = -2.0 * damping * omega;
    }
    let mut filled = |rows: usize, cols: usize| Matrix::from_fn(rows, cols, |_, _| numbers.next());
    let (b, c) = (filled(4, 2), filled(2, 4));
    let start = (0..4).map(|_| numbers.next()).collect();
    (a, b, c, start)
}

/// Three to five random subsystems in a ring with one wire across, with the largest gain that leaves them stable by a
/// margin.
pub(crate) fn random_network(seed: u64) -> Fresh {
    let build = move || {
        let mut numbers = Numbers(SplitMix64(seed.wrapping_mul(0x1000_0001)));
        let count = 3 + (seed % 3) as usize;
        let parts: Vec<_> = (0..count).map(|_| random_part(&mut numbers)).collect();
        // Input 0 of each from output 0 of the one before, input 1 from output 1 of the one after.
        let closed = |gain: f64| {
            let n = 4 * count;
            let mut whole = Matrix::zeros(n, n);
            for (k, (a, b, _, _)) in parts.iter().enumerate() {
                whole.set_block(4 * k, 4 * k, a);
                for (input, from) in [(0, (k + count - 1) % count), (1, (k + 1) % count)] {
                    let c = &parts[from].2;
                    for i in 0..4 {
                        for j in 0..4 {
                            whole[(4 * k + i, 4 * from + j)] += gain * b[(i, input)] * c[(input, j)];
                        }
                    }
                }
            }
            eigenvalues(&whole).expect("finite").iter().map(|e| e.re).fold(f64::NEG_INFINITY, f64::max)
        };
        let mut gain = 4.0;
        while closed(gain) > -0.02 && gain > 1e-3 {
            gain *= 0.8;
        }
        let mut builder = SystemBuilder::new();
        for (k, (a, b, c, start)) in parts.iter().enumerate() {
            builder = builder.add(&format!("part{k}"), linear(a.clone(), b.clone(), c.clone(), start));
        }
        for k in 0..count {
            let (before, after) = ((k + count - 1) % count, (k + 1) % count);
            builder = builder
                .connect(wire(&format!("part{before}.y0"), &format!("part{k}.u0")).gain(gain))
                .connect(wire(&format!("part{after}.y1"), &format!("part{k}.u1")).gain(gain));
        }
        builder.build().expect("wires fit")
    };
    Fresh {
        name: format!("random network {seed}"),
        build: Box::new(build),
        stop: 20.0,
        smallest: 0.02,
        doublings: 7,
    }
}
