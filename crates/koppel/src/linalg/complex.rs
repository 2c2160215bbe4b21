//! Arithmetic of complex numbers.

use super::Complex;
use std::ops::{Add, Div, Mul, Neg, Sub};

impl Complex {
    /// One.
    pub const ONE: Complex = Complex { re: 1.0, im: 0.0 };
    /// Zero.
    pub const ZERO: Complex = Complex { re: 0.0, im: 0.0 };

    /// From its parts.
    pub const fn new(re: f64, im: f64) -> Self {
        Complex { re, im }
    }

    /// A number on the imaginary axis.
    pub const fn imaginary(im: f64) -> Self {
        Complex { re: 0.0, im }
    }

    /// The angle, in (-π, π].
    pub fn angle(self) -> f64 {
        self.im.atan2(self.re)
    }

    /// e to this power.
    pub fn exp(self) -> Self {
        let size = self.re.exp();
        Complex::new(size * self.im.cos(), size * self.im.sin())
    }

    /// A whole power.
    pub fn powi(self, exponent: u32) -> Self {
        (0..exponent).fold(Complex::ONE, |product, _| product * self)
    }
}

impl From<f64> for Complex {
    fn from(re: f64) -> Self {
        Complex { re, im: 0.0 }
    }
}

impl Add for Complex {
    type Output = Complex;
    fn add(self, other: Complex) -> Complex {
        Complex::new(self.re + other.re, self.im + other.im)
    }
}

impl Sub for Complex {
    type Output = Complex;
    fn sub(self, other: Complex) -> Complex {
        Complex::new(self.re - other.re, self.im - other.im)
    }
}

impl Mul for Complex {
    type Output = Complex;
    fn mul(self, other: Complex) -> Complex {
        Complex::new(self.re * other.re - self.im * other.im, self.re * other.im + self.im * other.re)
    }
}

impl Mul<f64> for Complex {
    type Output = Complex;
    fn mul(self, factor: f64) -> Complex {
        Complex::new(self.re * factor, self.im * factor)
    }
}

impl Div for Complex {
    type Output = Complex;
    /// By Smith's rule: no overflow on the way.
    fn div(self, other: Complex) -> Complex {
        if other.re.abs() >= other.im.abs() {
            let ratio = other.im / other.re;
            let size = other.re + other.im * ratio;
            Complex::new((self.re + self.im * ratio) / size, (self.im - self.re * ratio) / size)
        } else {
            let ratio = other.re / other.im;
            let size = other.re * ratio + other.im;
            Complex::new((self.re * ratio + self.im) / size, (self.im * ratio - self.re) / size)
        }
    }
}

impl Neg for Complex {
    type Output = Complex;
    fn neg(self) -> Complex {
        Complex::new(-self.re, -self.im)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn division_undoes_multiplication_at_any_size() {
        for size in [1e-200, 1.0, 1e200] {
            let (a, b) = (Complex::new(3.0, -4.0), Complex::new(-1.0, 2.0) * size);
            let back = a * b / b;
            assert!((back - a).abs() < 1e-14);
        }
        let i = Complex::imaginary(1.0);
        assert_eq!(Complex::ONE / i, -i);
    }

    #[test]
    fn powers_turn() {
        let turn = Complex::imaginary(std::f64::consts::FRAC_PI_6).exp();
        assert!((turn.powi(6) + Complex::ONE).abs() < 1e-15);
        assert!((turn.angle() - std::f64::consts::FRAC_PI_6).abs() < 1e-15);
    }
}
