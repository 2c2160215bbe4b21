//! Sobol sequences with the direction numbers of Joe & Kuo 2008, `new-joe-kuo-6`.
//!
//! Point i is the exclusive or of the direction numbers at the bits of the Gray code of i. A digital shift, the exclusive or
//! with one drawn number per dimension, keeps how evenly the points lie and makes the sequence depend on the seed.

use super::random::drawn;

/// Dimensions with direction numbers here.
pub(crate) const DIMENSIONS: usize = 21;

const BITS: usize = 32;

/// Degree, coefficients and first direction numbers of dimensions 2, 3, ...
const PRIMITIVE: [(u32, u32, &[u32]); DIMENSIONS - 1] = [
    (1, 0, &[1]),
    (2, 1, &[1, 3]),
    (3, 1, &[1, 3, 1]),
    (3, 2, &[1, 1, 1]),
    (4, 1, &[1, 1, 3, 3]),
    (4, 4, &[1, 3, 5, 13]),
    (5, 2, &[1, 1, 5, 5, 17]),
    (5, 4, &[1, 1, 5, 5, 5]),
    (5, 7, &[1, 1, 7, 11, 19]),
    (5, 11, &[1, 1, 5, 1, 1]),
    (5, 13, &[1, 1, 1, 3, 11]),
    (5, 14, &[1, 3, 5, 5, 31]),
    (6, 1, &[1, 3, 3, 9, 7, 49]),
    (6, 13, &[1, 1, 1, 15, 21, 21]),
    (6, 16, &[1, 3, 1, 13, 27, 49]),
    (6, 19, &[1, 1, 1, 15, 7, 5]),
    (6, 22, &[1, 3, 1, 15, 13, 25]),
    (6, 25, &[1, 1, 5, 5, 19, 61]),
    (7, 1, &[1, 3, 7, 11, 23, 15, 103]),
    (7, 4, &[1, 3, 7, 13, 13, 15, 69]),
];

fn directions(dimension: usize) -> [u32; BITS] {
    let mut v = [0_u32; BITS];
    if dimension == 0 {
        v.iter_mut().enumerate().for_each(|(k, v)| *v = 1 << (BITS - 1 - k));
        return v;
    }
    let (degree, coefficients, first) = PRIMITIVE[dimension - 1];
    let degree = degree as usize;
    for k in 0..BITS {
        v[k] = if k < degree {
            first[k] << (BITS - 1 - k)
        } else {
            let mut next = v[k - degree] ^ (v[k - degree] >> degree);
            for j in 1..degree {
                if coefficients >> (degree - 1 - j) & 1 == 1 {
                    next ^= v[k - j];
                }
            }
            next
        };
    }
    v
}

/// Point `index` of a dimension, in units of 2⁻³².
pub(super) fn point(index: u64, dimension: usize) -> u32 {
    let gray = index ^ (index >> 1);
    let v = directions(dimension);
    (0..BITS).filter(|bit| gray >> bit & 1 == 1).fold(0, |point, bit| point ^ v[bit])
}

/// The same shifted by the seed, strictly between 0 and 1.
pub(super) fn shifted(index: u64, dimension: usize, seed: u64) -> f64 {
    let shift = (drawn(seed, u64::MAX, dimension as u64) >> 32) as u32;
    (f64::from(point(index, dimension) ^ shift) + 0.5) / 4_294_967_296.0
}

/// Point `index` of a dimension without any shift, from 0 to 1; dimensions count from 0 to 20.
///
/// # Panics
///
/// If there are no direction numbers for the dimension.
#[must_use]
pub fn sobol_point(index: u64, dimension: usize) -> f64 {
    f64::from(point(index, dimension)) / 4_294_967_296.0
}
