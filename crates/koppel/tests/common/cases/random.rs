//! Random dual-mass systems for Monte Carlo studies.
//!
//! m1, m2 in (0, 10] kg; k1, k2, kc in [0, 1000] N/m; ζ1, ζ2 in [0, 1.3]; dc in [0, d1], all uniform, and
//!
//!   d1 = ζ1 √(m1 k1),     d2 = 2 ζ2 √(m2 k2)                                             (1)
//!
//! Chen et al. 2021, Table 2. The text gives both dampings without the factor 2; the four cases it prints have it in d2
//! only, as written here. A seed means the same system everywhere and for ever.

use koppel::SplitMix64;
use koppel::error::{Error, Result};
use koppel::linalg::{Matrix, spectral_radius};
use std::collections::BTreeMap;

/// Parameters of one random system. Mass 1 carries the coupling spring.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct RandomDualMass {
    /// Masses, in kg.
    pub(crate) m: [f64; 2],
    /// Stiffness to the wall, in N/m.
    pub(crate) k: [f64; 2],
    /// Damping to the wall, in N.s/m.
    pub(crate) d: [f64; 2],
    /// Stiffness of the coupling, in N/m.
    pub(crate) kc: f64,
    /// Damping of the coupling, in N.s/m.
    pub(crate) dc: f64,
}

/// The system that belongs to a seed.
pub(crate) fn random_dual_mass(seed: u64) -> RandomDualMass {
    let mut numbers = SplitMix64(seed);
    let mut up_to = |limit: f64| limit * numbers.unit();
    let m = [10.0 - up_to(10.0), 10.0 - up_to(10.0)];
    let (k, kc) = ([up_to(1000.0), up_to(1000.0)], up_to(1000.0));
    let zeta = [up_to(1.3), up_to(1.3)];
    let d = [zeta[0] * (m[0] * k[0]).sqrt(), 2.0 * zeta[1] * (m[1] * k[1]).sqrt()];
    RandomDualMass { m, k, d, kc, dc: up_to(d[0]) }
}

impl RandomDualMass {
    /// Parameters of the `velocity-spring-mass` and of the `mass`.
    pub(crate) fn parameters(&self) -> [BTreeMap<String, f64>; 2] {
        let RandomDualMass { m, k, d, kc, dc } = self;
        let own = |i: usize| [("m", m[i]), ("c", k[i]), ("d", d[i])];
        let named =
            |list: &[(&str, f64)]| list.iter().map(|(name, value)| ((*name).into(), *value)).collect();
        [named(&[&own(0)[..], &[("ck", *kc), ("dk", *dc)]].concat()), named(&own(1))]
    }

    /// Whether explicit Euler with this micro step can follow the uncut system: ρ(I + h A) ≤ 1.
    ///
    /// The paper leaves out systems that its solver (h = 1 ms) cannot compute.
    pub(crate) fn is_solvable(&self, micro_step: f64) -> Result<bool> {
        let RandomDualMass { m: [m1, m2], k: [k1, k2], d: [d1, d2], kc, dc } = *self;
        #[rustfmt::skip]
        let a = Matrix::from_slice(4, 4, &[
            0.0, 1.0, 0.0, 0.0,
            -(k1 + kc) / m1, -(d1 + dc) / m1, kc / m1, dc / m1,
            0.0, 0.0, 0.0, 1.0,
            kc / m2, dc / m2, -(k2 + kc) / m2, -(d2 + dc) / m2,
        ]);
        let radius = spectral_radius(&(&Matrix::identity(4) + &(&a * micro_step)))
            .map_err(|source| Error::Linalg { what: "eigenvalues of a random dual mass".into(), source })?;
        Ok(radius <= 1.0)
    }
}
