//! Moving inputs for FMUs that take constant ones: stairs.
//!
//! A part of a step is walked in s sub-steps of length h. Each gets the mean m_k of the input over it, so nothing is lost to
//! what integrates. That leaves two errors, one of them of first order:
//!
//! * within every sub-step the stair is late at first and early at the end: the moment Σ ∫ (t - t_k) u dt misses by
//!   h² (u(b) - u(a)) / 12;
//! * many FMUs compute outputs at the end of `doStep` with the input they had, and not again when another one is set. Such an
//!   output belongs to the middle of the last sub-step.
//!
//! Where outputs are looked at after the part, the stair therefore ends with the value of the input there, and the
//! sub-steps before give back what that adds, to the mean and to the moment. With d_k what is added to m_k, n = s - 1 and
//! δ = u(b) - m_n:
//!
//!   d_n = δ,   d_k = -δ/n + g (k - (n-1)/2),   g n (n²-1)/12 = (u(b) - u(a))/12 - δ (n+1)/2,     k < n        (1)
//!
//! Of a line in four sub-steps that is 1/6, 1/3, 1/2 and 1 of its rise. Two sub-steps have room for the mean only, one
//! keeps it.

use koppel::signal::Part;

/// The value of all inputs in sub-step `k` of `parts`; `workspace` is as long as `out`.
pub(super) fn stair(part: Part<'_>, k: u32, parts: u32, workspace: &mut Vec<f64>, out: &mut [f64]) {
    part.divided(k, parts).mean(out);
    if parts < 2 {
        return;
    }
    let piece = part.piece;
    workspace.resize(out.len(), 0.0);
    if k == parts - 1 {
        piece.values(part.offset + part.size, out);
        return;
    }
    let (n, k) = (f64::from(parts - 1), f64::from(k));
    let weight = n * (n * n - 1.0) / 12.0;
    let place = k - 0.5 * (n - 1.0);
    // -δ/n with δ = u(b) - m_n, and the part of g that goes with δ.
    piece.values(part.offset + part.size, workspace);
    let of_delta = -1.0 / n - if weight > 0.0 { place * 0.5 * (n + 1.0) / weight } else { 0.0 };
    let of_rise = if weight > 0.0 { place / (12.0 * weight) } else { 0.0 };
    for (value, end) in out.iter_mut().zip(workspace.iter()) {
        *value += (of_delta + of_rise) * end;
    }
    part.divided(parts - 1, parts).mean(workspace);
    for (value, mean) in out.iter_mut().zip(workspace.iter()) {
        *value -= of_delta * mean;
    }
    piece.values(part.offset, workspace);
    for (value, begin) in out.iter_mut().zip(workspace.iter()) {
        *value -= of_rise * begin;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use koppel::signal::{Segment, Step};

    /// The stair of a line of slope 2 that begins at 3, and what it keeps.
    #[test]
    fn mean_moment_and_end_are_those_of_the_line() {
        let step = Step { index: 0, start: 0.0, size: 0.5 };
        let coefficients = [3.0, 2.0, -1.0, 0.0];
        let segment = Segment::new(&step, 2, 2, &coefficients);
        for parts in 1..=9 {
            let (h, mut workspace) = (0.5 / f64::from(parts), Vec::new());
            let (mut area, mut moment, mut last) = (0.0, 0.0, 0.0);
            segment
                .each_part(1, |part| {
                    for k in 0..parts {
                        let mut value = [0.0; 2];
                        stair(part, k, parts, &mut workspace, &mut value);
                        area += h * value[0];
                        moment += h * value[0] * h * (f64::from(k) + 0.5);
                        last = value[0];
                        assert!((value[1] + 1.0).abs() < 1e-14, "constants stay");
                    }
                    Ok::<(), ()>(())
                })
                .unwrap();
            // ∫ 3 + 2t = 1.75, ∫ t (3 + 2t) = 0.375 + 1/12.
            assert!((area - 1.75).abs() < 1e-13, "{parts}: {area}");
            assert!(parts < 2 || last == 4.0, "{parts}: {last}");
            assert!(parts < 3 || (moment - 0.375 - 1.0 / 12.0).abs() < 1e-13, "{parts}: {moment}");
        }
    }
}
