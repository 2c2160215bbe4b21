//! The F distribution, by the regularised incomplete beta function.
//!
//!   P(F > f) = I_x(d₂/2, d₁/2),   x = d₂ / (d₂ + d₁ f)                                        (1)
//!
//! `statrs` computes I. Its own F distribution forms x as 1 - d₁ f / (d₁ f + d₂), which leaves few digits of small probabilities.
//! With 10⁵ degrees of freedom both above and below nine digits are right, with more fewer.

use statrs::function::beta::checked_beta_reg;

/// How probable it is that F with these degrees of freedom lies above `f`: equation (1).
pub(super) fn above(f: f64, d1: usize, d2: usize) -> f64 {
    if f.is_nan() || d1 == 0 || d2 == 0 {
        return f64::NAN;
    }
    if f.is_infinite() {
        return 0.0;
    }
    let (d1, d2) = (d1 as f64, d2 as f64);
    checked_beta_reg(d2 / 2.0, d1 / 2.0, d2 / (d2 + d1 * f)).unwrap_or(f64::NAN)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// With two degrees of freedom above: P = (1 + 2 f / d₂)^(-d₂/2); with two below: 1 - (d₁ f / (2 + d₁ f))^(d₁/2).
    #[test]
    fn closed_forms() {
        for f in [0.01, 0.5, 1.0, 3.7, 40.0] {
            for d in [1_usize, 2, 5, 60, 3001] {
                let n = d as f64;
                let exact = (1.0 + 2.0 * f / n).powf(-n / 2.0);
                assert!((above(f, 2, d) - exact).abs() < 1e-12 * exact.max(1e-3), "{f} {d}");
                let exact = 1.0 - (n * f / (2.0 + n * f)).powf(n / 2.0);
                assert!((above(f, d, 2) - exact).abs() < 1e-12, "{f} {d}");
            }
        }
    }

    /// Values of scipy.stats.f.sf, SciPy 1.17.1.
    #[test]
    fn values_of_scipy() {
        for (f, d1, d2, exact) in [
            (0.5, 7, 12, 0.817_562_980_695_842_5),
            (2.5, 3, 100, 0.063_832_959_979_086_5),
            (40.0, 3, 20, 1.221_854_785_729_448_5e-8),
            (1e8, 7, 1, 7.699_829_001_979_004e-5),
            (12.5, 4, 9000, 3.848_984_124_462_692_4e-10),
            (1.01, 8000, 9000, 0.323_350_624_351_338_16),
        ] {
            let found = above(f, d1, d2);
            assert!((found / exact - 1.0).abs() < 1e-10, "{f} {d1} {d2}: {found}, SciPy has {exact}");
        }
        assert_eq!(above(0.0, 3, 4), 1.0);
        assert_eq!(above(f64::INFINITY, 3, 4), 0.0);
        assert!(above(1.0, 0, 4).is_nan() && above(1.0, 3, 0).is_nan() && above(f64::NAN, 3, 4).is_nan());
    }
}
