//! The F distribution, by the regularised incomplete beta function.
//!
//!   P(F > f) = I_x(d₂/2, d₁/2),   x = d₂ / (d₂ + d₁ f)                                        (1)
//!
//! I is computed by its continued fraction (Lentz's method); Press et al., Numerical Recipes, 6.4.

/// How probable it is that F with these degrees of freedom lies above `f`: equation (1).
pub(super) fn above(f: f64, d1: usize, d2: usize) -> f64 {
    if f.is_nan() || d1 == 0 || d2 == 0 {
        return f64::NAN;
    }
    if f.is_infinite() {
        return 0.0;
    }
    let (d1, d2) = (d1 as f64, d2 as f64);
    incomplete_beta(d2 / 2.0, d1 / 2.0, d2 / (d2 + d1 * f), d1 * f / (d2 + d1 * f))
}

/// I_x(a, b) with y = 1 - x, which is given as it may be tiny.
fn incomplete_beta(a: f64, b: f64, x: f64, y: f64) -> f64 {
    if x <= 0.0 {
        return 0.0;
    }
    if y <= 0.0 {
        return 1.0;
    }
    let front = (ln_gamma(a + b) - ln_gamma(a) - ln_gamma(b) + a * x.ln() + b * y.ln()).exp();
    if x < (a + 1.0) / (a + b + 2.0) {
        front * fraction(a, b, x) / a
    } else {
        1.0 - front * fraction(b, a, y) / b
    }
}

fn fraction(a: f64, b: f64, x: f64) -> f64 {
    const TINY: f64 = 1e-300;
    let guard = |value: f64| if value.abs() < TINY { TINY } else { value };
    let mut c = 1.0;
    let mut d = 1.0 / guard(1.0 - (a + b) * x / (a + 1.0));
    let mut h = d;
    for m in 1..=10_000 {
        let m = f64::from(m);
        let even = m * (b - m) * x / ((a + 2.0 * m - 1.0) * (a + 2.0 * m));
        d = 1.0 / guard(1.0 + even * d);
        c = guard(1.0 + even / c);
        h *= d * c;
        let odd = -(a + m) * (a + b + m) * x / ((a + 2.0 * m) * (a + 2.0 * m + 1.0));
        d = 1.0 / guard(1.0 + odd * d);
        c = guard(1.0 + odd / c);
        h *= d * c;
        if (d * c - 1.0).abs() < 1e-16 {
            break;
        }
    }
    h
}

/// ln Γ(x) for x > 0: Stirling's series, after x has been raised above 10.
fn ln_gamma(x: f64) -> f64 {
    let mut x = x;
    let mut product = 1.0;
    let mut shift = 0.0;
    while x < 10.0 {
        product *= x;
        x += 1.0;
    }
    shift += product.ln();
    let z = 1.0 / (x * x);
    // Bernoulli numbers over 2k (2k - 1).
    const SERIES: [f64; 7] = [
        1.0 / 12.0,
        -1.0 / 360.0,
        1.0 / 1260.0,
        -1.0 / 1680.0,
        1.0 / 1188.0,
        -691.0 / 360_360.0,
        1.0 / 156.0,
    ];
    let series = SERIES.iter().rev().fold(0.0, |sum, c| sum * z + c) / x;
    (x - 0.5) * x.ln() - x + 0.5 * (2.0 * std::f64::consts::PI).ln() + series - shift
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

    #[test]
    fn factorials() {
        assert!((ln_gamma(5.0) - 24.0_f64.ln()).abs() < 1e-14);
        assert!((ln_gamma(0.5) - 0.5 * std::f64::consts::PI.ln()).abs() < 1e-14);
        assert!((ln_gamma(171.0) - 706.573_062_245_787_4).abs() < 1e-10);
    }
}
