//! Compensators by matrix inequalities beside those in closed form, for the three weights of Chen et al. 2021, 3.3.

use koppel::hinf::{Design, HoldOrder, Specification, designed};
use koppel::linalg::Complex;
use koppel_lmi::{norm, synthesize};
use std::f64::consts::TAU;

/// H = 10 ms, disc 1 ms: order and corner of the weight, γ in closed form.
const WEIGHTS: [(usize, f64, f64); 3] = [(1, 1.0, 0.01795), (2, 3.0, 0.002408), (3, 6.0, 0.000716)];

fn specification(order: usize, weight_hz: f64) -> Specification {
    Specification { weight_hz, ..Specification::new(0.01, order) }
}

/// Largest |1 + disc λ| of the poles.
fn radius(design: &Design) -> f64 {
    let size = |pole: &Complex| (Complex::ONE + *pole * design.specification.disc).abs();
    design.compensator.poles.iter().map(size).fold(0.0, f64::max)
}

/// The same inequalities given to other solvers, in coordinates in which they could solve them: Clarabel 0.11 for all, SCS for the
/// first two.
#[test]
fn the_least_gamma_of_other_solvers() {
    for (order, corner, margin, gamma) in
        [(1, 1.0, 0.0, 0.0124877), (1, 1.0, 0.01, 0.0126133), (2, 3.0, 0.01, 0.00173777)]
    {
        let found = synthesize(&specification(order, corner), margin).unwrap().gamma;
        assert!((found / gamma - 1.0).abs() < 1e-5, "order {order}, margin {margin}: {found}");
    }
}

/// The table of docs/hinf.md: γ and the norm it bounds, K1(∞), and how near to the edge of the disc the poles lie.
#[test]
fn both_ways_side_by_side() {
    let documented = [
        [0.01795, 240.0, 0.719, 0.01261, 406.0, 0.990],
        [0.002408, 745.0, 0.545, 0.001738, 876.0, 0.785],
        [0.000716, 1734.0, 0.437, 0.000530, 2142.0, 0.690],
    ];
    for ((order, corner, gamma), expected) in WEIGHTS.into_iter().zip(documented) {
        let closed = designed(&specification(order, corner)).unwrap();
        let found = synthesize(&specification(order, corner), koppel_lmi::MARGIN).unwrap();
        assert!((closed.gamma - gamma).abs() < 5e-6, "{}", closed.gamma);
        let values = [
            closed.gamma,
            closed.jump_gain(),
            radius(&closed),
            found.gamma,
            found.jump_gain(),
            radius(&found),
        ];
        for (value, expected) in values.iter().zip(expected) {
            assert!((value / expected - 1.0).abs() < 2e-3, "order {order}: {value} against {expected}");
        }
        // What is bounded is bounded: by the closed form with nothing to spare.
        assert!((norm(&closed) / closed.gamma - 1.0).abs() < 1e-6, "{}", norm(&closed));
        assert!(norm(&found) < found.gamma * (1.0 + 1e-6), "{} above {}", norm(&found), found.gamma);
        assert!(norm(&found) > 0.85 * found.gamma, "{} far below {}", norm(&found), found.gamma);
        assert!(found.gamma < closed.gamma, "the closed form bounds the norm over more than the half-plane");
    }
}

/// K1 in series with hold and smoother is the transfer that the norm was proven for, and poles keep their margin.
#[test]
fn designs_hold_together() {
    for hold in [HoldOrder::Zoh, HoldOrder::Foh, HoldOrder::Soh] {
        for order in 1..=3 {
            let specification = Specification { hold, ..Specification::new(0.05, order) };
            let design = synthesize(&specification, 0.05).unwrap();
            assert_eq!(design.compensator.zeros.len(), design.compensator.poles.len(), "biproper");
            assert!(radius(&design) < 0.95 + 1e-6, "{hold:?}, order {order}: {}", radius(&design));
            assert!(norm(&design) < design.gamma * (1.0 + 1e-5), "{hold:?}, order {order}");
            for f in [0.1, 1.0, 10.0, 100.0] {
                let s = Complex::imaginary(TAU * f);
                let path = specification.smoother().at(s) * hold.approximated(0.05).at(s);
                let (a, b) = (path * design.compensator.at(s), design.transfer.at(s));
                assert!(
                    (a - b).abs() < 1e-8 * (1.0 + b.abs()),
                    "{hold:?}, order {order}, {f} Hz: {a:?} {b:?}"
                );
            }
        }
    }
}

#[test]
fn a_margin_costs_gamma_and_takes_poles_off_the_edge() {
    let mut last = 0.0;
    for margin in [0.0, 0.01, 0.1] {
        let design = synthesize(&specification(1, 1.0), margin).unwrap();
        assert!(design.gamma > last, "{}", design.gamma);
        assert!((radius(&design) - (1.0 - margin)).abs() < 1e-4, "{}", radius(&design));
        last = design.gamma;
    }
}

#[test]
fn what_cannot_be_designed_is_refused() {
    let good = specification(1, 1.0);
    let message =
        |specification: &Specification, margin| synthesize(specification, margin).unwrap_err().to_string();
    assert!(message(&good, -0.1).contains("hinf.margin"));
    assert!(message(&good, 1.0).contains("below one"));
    assert!(message(&Specification { disc: 0.0, ..good }, 0.01).contains("hinf.disc"));
    assert!(message(&Specification { weight_hz: 400.0, ..good }, 0.01).contains("disc must stay below"));
}
