//! Eigenvalues, by faer, run in one thread on a matrix scaled by powers of two to size one.

use faer::Mat;
use faer::Par;
use faer::diag::Diag;
use faer::dyn_stack::{MemBuffer, MemStack};
use faer::linalg::evd::{
    ComputeEigenvectors, evd_real, evd_scratch, self_adjoint_evd, self_adjoint_evd_scratch,
};

use super::error::check_square_finite;
use super::irreducible::{block, components};
use super::lu::reciprocal_power_of_two;
use super::svd::{from_faer, to_faer};
use super::{LinalgError, Matrix, Result, balance};

/// A complex number.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Complex {
    /// Real part.
    pub re: f64,
    /// Imaginary part.
    pub im: f64,
}

impl Complex {
    /// The modulus.
    pub fn abs(self) -> f64 {
        self.re.hypot(self.im)
    }
}

/// The largest modulus of an eigenvalue; 0 if empty.
pub fn spectral_radius(a: &Matrix) -> Result<f64> {
    Ok(eigenvalues(a)?.first().map_or(0.0, |z| z.abs()))
}

/// The largest real part of an eigenvalue; −∞ if empty.
pub fn spectral_abscissa(a: &Matrix) -> Result<f64> {
    let parts = eigenvalues(a)?.into_iter().map(|z| z.re);
    Ok(parts.fold(f64::NEG_INFINITY, f64::max))
}

/// The eigenvalues of a square matrix, largest modulus first, of a conjugate pair the one above
/// the real axis first. Each block that acts on itself is solved alone: what only follows others moves none of them.
pub fn eigenvalues(a: &Matrix) -> Result<Vec<Complex>> {
    check_square_finite("the matrix of the eigenvalues", a)?;
    let mut values = Vec::with_capacity(a.rows());
    for component in components(a) {
        match component.as_slice() {
            [only] => values.push(Complex { re: a[(*only, *only)], im: 0.0 }),
            all if all.len() == a.rows() => values = eigenvalues_of_block(a)?,
            part => values.extend(eigenvalues_of_block(&block(a, part, part))?),
        }
    }
    values.sort_by(|y, z| {
        let modulus = z.abs().total_cmp(&y.abs());
        modulus.then(z.re.total_cmp(&y.re)).then(z.im.total_cmp(&y.im))
    });
    Ok(values)
}

fn eigenvalues_of_block(a: &Matrix) -> Result<Vec<Complex>> {
    let balanced = balance(a)?.matrix;
    let scale = reciprocal_power_of_two(balanced.max_abs());
    let mut values = unit_eigenvalues(&(&balanced * scale))?;
    for z in &mut values {
        z.re /= scale;
        z.im /= scale;
        if !z.abs().is_finite() {
            let what = "the largest eigenvalue";
            return Err(LinalgError::NonFinite { what });
        }
    }
    Ok(values)
}

fn unit_eigenvalues(a: &Matrix) -> Result<Vec<Complex>> {
    let n = a.rows();
    let mut re = Diag::<f64>::zeros(n);
    let mut im = Diag::<f64>::zeros(n);
    let none = ComputeEigenvectors::No;
    let scratch = evd_scratch::<f64>(n, none, none, Par::Seq, Default::default());
    evd_real(
        to_faer(a),
        re.as_mut(),
        im.as_mut(),
        None,
        None,
        Par::Seq,
        MemStack::new(&mut MemBuffer::new(scratch)),
        Default::default(),
    )
    .map_err(|_| LinalgError::NoConvergence { what: "the eigenvalue iteration" })?;
    let parts = re.column_vector().iter().zip(im.column_vector().iter());
    Ok(parts.map(|(&re, &im)| Complex { re, im }).collect())
}

/// Eigenvalues and eigenvectors of a symmetric matrix, A = V diag(values) Vᵀ.
#[derive(Clone, Debug, PartialEq)]
pub struct SymmetricEigen {
    /// Eigenvalues, smallest first.
    pub values: Vec<f64>,
    /// V: orthonormal eigenvectors as columns.
    pub vectors: Matrix,
}

/// The eigenvalues and eigenvectors of the symmetric part (A + Aᵀ) / 2.
pub fn symmetric_eigen(a: &Matrix) -> Result<SymmetricEigen> {
    check_square_finite("the matrix of the symmetric eigenvalues", a)?;
    let scale = reciprocal_power_of_two(a.max_abs());
    let unit = Matrix::from_fn(a.rows(), a.cols(), |i, j| (a[(i, j)] * scale + a[(j, i)] * scale) / 2.0);
    let mut eigen = unit_symmetric_eigen(&unit)?;
    for value in &mut eigen.values {
        *value /= scale;
        if !value.is_finite() {
            let what = "the largest eigenvalue";
            return Err(LinalgError::NonFinite { what });
        }
    }
    Ok(eigen)
}

fn unit_symmetric_eigen(a: &Matrix) -> Result<SymmetricEigen> {
    let n = a.rows();
    if n == 0 {
        // faer 0.24.4 subtracts one from the order when it sizes its scratch space.
        return Ok(SymmetricEigen { values: Vec::new(), vectors: Matrix::zeros(0, 0) });
    }
    let mut values = Diag::<f64>::zeros(n);
    let mut vectors = Mat::<f64>::zeros(n, n);
    let yes = ComputeEigenvectors::Yes;
    let scratch = self_adjoint_evd_scratch::<f64>(n, yes, Par::Seq, Default::default());
    self_adjoint_evd(
        to_faer(a),
        values.as_mut(),
        Some(vectors.as_mut()),
        Par::Seq,
        MemStack::new(&mut MemBuffer::new(scratch)),
        Default::default(),
    )
    .map_err(|_| LinalgError::NoConvergence { what: "the symmetric eigenvalue iteration" })?;
    Ok(SymmetricEigen {
        values: values.column_vector().iter().copied().collect(),
        vectors: from_faer(&vectors),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rotation_has_a_conjugate_pair() {
        let a = Matrix::from_slice(2, 2, &[1.0, -2.0, 2.0, 1.0]);
        let [first, second] = eigenvalues(&a).unwrap()[..] else {
            panic!("two eigenvalues");
        };
        assert!((first.re - 1.0).abs() < 1e-15 && (first.im - 2.0).abs() < 1e-15);
        assert_eq!(second.im, -first.im);
        assert!((spectral_radius(&a).unwrap() - 5_f64.sqrt()).abs() < 1e-15);
        assert!((spectral_abscissa(&-&a).unwrap() + 1.0).abs() < 1e-15);
    }

    /// One mode after the other, 13 equal ones: the eigenvalue iteration on the whole matrix has some of modulus 1.0001.
    #[test]
    fn equal_blocks_in_a_row_keep_their_eigenvalues() {
        let (n, own) = (13, [0.95, 0.25, -0.25, 0.95]);
        let a = Matrix::from_fn(2 * n, 2 * n, |i, j| match (i / 2).checked_sub(j / 2) {
            Some(0) => own[2 * (i % 2) + j % 2],
            Some(1) => 0.3,
            _ => 0.0,
        });
        let exact = 0.95_f64.hypot(0.25);
        let values = eigenvalues(&a).unwrap();
        assert_eq!(values.len(), 2 * n);
        assert!(values.iter().all(|z| (z.abs() - exact).abs() < 1e-14), "{values:?}");
    }

    #[test]
    fn extreme_sizes_neither_overflow_nor_vanish() {
        for size in [1e-300, 1e300] {
            let a = Matrix::from_slice(2, 2, &[2.0, 1.0, 1.0, 2.0]);
            let radius = spectral_radius(&(&a * size)).unwrap();
            assert!((radius / size - 3.0).abs() < 1e-14, "{radius:e}");
            let eigen = symmetric_eigen(&(&a * size)).unwrap();
            assert!((eigen.values[0] / size - 1.0).abs() < 1e-14);
        }
    }

    #[test]
    fn symmetric_decomposition_gives_the_matrix_back() {
        let a = Matrix::from_fn(5, 5, |i, j| ((i * j) as f64).cos() + (i + j) as f64);
        let eigen = symmetric_eigen(&a).unwrap();
        let v = &eigen.vectors;
        let product = &(v * &Matrix::diagonal(&eigen.values)) * &v.transpose();
        assert!((&product - &a).max_abs() < 1e-13);
        assert!((&(&v.transpose() * v) - &Matrix::identity(5)).max_abs() < 1e-14);
        assert!(eigen.values.is_sorted());
    }
}
