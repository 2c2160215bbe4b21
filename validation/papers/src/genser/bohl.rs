//! 3.3.2: exponential and BIBO stability by the Bohl exponent of the combined system (3.30).
//!
//! Along a run on learned models, every macro step is a linear map of z = (states of both subsystems, force as it was read):
//!
//!   ŷ = (I - J_1 L)⁻¹ J_y y,    u = L ŷ,    x⁺ = Φ_A x + Φ_B u,    F⁺ = C x⁺ + D u                    (1)
//!
//! J_y and J_1 are what RLS has learned (N = M = 1, step 1 off, so that J_0 = 0 and step 3 changes nothing), Φ_A and Φ_B the linearised
//! subsystems by their own Euler steps. The exponent is the limit of max ‖Φ(k, k0)‖^{1/(k-k0)}; below 1 with bounded matrices means exponentially
//! and BIBO stable.

use crate::cases::case;
use koppel::coupling::{CouplingConfig, LearningConfig, PrestepConfig};
use koppel::identify::{Learned, ModelConfig, RlsConfig};
use koppel::linalg::Matrix;
use koppel::run::Run;
use koppel::system::StateSpace;
use koppel_io::plot::Scale::{Linear, Logarithmic};

use super::dual_mass::stale;
use crate::context::Context;
use crate::exhibit::{curve, plot, short};
use crate::{Exhibit, Result};

const STEP: f64 = 1e-3;
const MICRO: f64 = 1e-5;
/// Scales of position, velocity and force, so that norms of windows compare like with like.
const SCALES: [f64; 5] = [0.1, 30.0, 0.1, 30.0, 1e5];

pub(super) fn exhibits(context: &Context<'_>) -> Result<Vec<Exhibit>> {
    let stop = if context.is_quick { 0.5 } else { 1.0 };
    let (learning, switch) = (0.22, 0.005);
    let phases = LearningConfig {
        duration: learning,
        switch,
        modified_above: 0.21,
        hold_above: 3.54,
        ..LearningConfig::default()
    };
    let prestep = PrestepConfig {
        model: ModelConfig::Rls(RlsConfig { forgetting: 0.996, ..RlsConfig::default() }),
        learning: Some(phases),
        ..PrestepConfig::default()
    };
    let case = case("nonlinear-dual-mass")?;
    let mut run = Run::new(case.system()?, &stale(CouplingConfig::from(prestep), stop, STEP))?;
    let mut maps: Vec<Matrix> = Vec::new();
    while !run.is_done() {
        run.advance()?;
        if run.time() > learning + switch + 0.5 * STEP {
            maps.push(map(&mut run)?);
        }
    }
    let largest = maps.iter().map(norm).fold(0.0, f64::max);
    let lengths: Vec<usize> =
        [1, 2, 5, 10, 20, 50, 100, 200, 400, 700].into_iter().filter(|n| *n < maps.len()).collect();
    let exponents = context.map(&lengths, |length| Ok(exponent(&maps, *length)))?;
    let points = lengths.iter().zip(&exponents).map(|(n, e)| (*n as f64, *e));
    let last = exponents.last().copied().unwrap_or(f64::NAN);
    Ok(vec![
        Exhibit::new(
            "Section 3.3.2",
            "Bohl exponent of the combined system over windows of growing length",
            format!(
                "Non-linear dual mass, RLS with the parameters of Table 3.12 but step 1 off, linearised along {} steps after the switch. \
                 All maps are bounded (largest norm in scaled signals {}); over the longest window the exponent is {}: {}. The end of \
                 the section is missing in the text.",
                maps.len(),
                short(largest),
                short(last),
                if last < 1.0 { "exponentially and BIBO stable" } else { "not below 1, so stability is not shown" }
            ),
        )
        .reduced(context.is_quick, "0.5 of 1 s")
        .curves("exponent", plot("Bohl exponent", ["steps in the window", "max ‖Φ‖^(1/n)"], [Logarithmic, Linear], vec![curve("exponent", points)])),
    ])
}

/// max over k0 of ‖Φ(k0 + length, k0)‖^{1/length}.
fn exponent(maps: &[Matrix], length: usize) -> f64 {
    let every = (length / 20).max(1);
    let starts = (0..=maps.len() - length).step_by(every);
    let of = |start: usize| {
        // Products are scaled on the way, so that nothing underflows.
        let (mut product, mut logarithm) = (Matrix::identity(5), 0.0);
        for map in &maps[start..start + length] {
            product = map * &product;
            let size = norm(&product);
            product = &product * (1.0 / size);
            logarithm += size.ln();
        }
        (logarithm / length as f64).exp()
    };
    starts.map(of).fold(0.0, f64::max)
}

/// Frobenius norm in scaled signals.
fn norm(map: &Matrix) -> f64 {
    let mut sum = 0.0;
    for i in 0..5 {
        for j in 0..5 {
            sum += (map[(i, j)] * SCALES[j] / SCALES[i]).powi(2);
        }
    }
    sum.sqrt()
}

/// Equation (1) where the run stands.
fn map(run: &mut Run) -> Result<Matrix> {
    let learned = run.learned();
    let parameters = |name: &str| match learned.get(name) {
        Some(Learned::Rls(found)) => found.parameters.clone(),
        _ => Vec::new(),
    };
    let (left, right) = (parameters("left"), parameters("right"));
    let ids = [run.graph().find("left")?, run.graph().find("right")?];
    let force = run.graph().ports(ids[0]).inputs.iter().position(|v| v.name == "F").unwrap_or(0);
    let get = |rows: &[Vec<f64>], output: usize, at: usize| {
        rows.get(output).and_then(|row| row.get(at)).copied().unwrap_or(0.0)
    };
    // y = (x, v, F): (I - J_1 L) ŷ = J_y y.
    let one = Matrix::from_slice(
        3,
        3,
        &[
            1.0,
            0.0,
            -get(&left, 0, 1 + force),
            0.0,
            1.0,
            -get(&left, 1, 1 + force),
            -get(&right, 0, 1),
            -get(&right, 0, 2),
            1.0,
        ],
    );
    let own = Matrix::from_slice(
        3,
        3,
        &[get(&left, 0, 0), 0.0, 0.0, 0.0, get(&left, 1, 0), 0.0, 0.0, 0.0, get(&right, 0, 0)],
    );
    let predict = koppel::linalg::Lu::new(&one)?.solve(&own);
    let first = discrete(&run.workbench().linear_part(ids[0])?.matrices);
    let second = run.workbench().linear_part(ids[1])?.matrices;
    let (phi, gamma) = discrete(&second);
    let mut map = Matrix::zeros(5, 5);
    // Places of x, v and F in z.
    let seen = [0, 1, 4];
    for i in 0..2 {
        for j in 0..2 {
            map[(i, j)] += first.0[(i, j)];
            map[(2 + i, 2 + j)] += phi[(i, j)];
        }
        for (k, place) in seen.into_iter().enumerate() {
            map[(i, place)] += first.1[(i, force)] * predict[(2, k)];
            map[(2 + i, place)] += gamma[(i, 0)] * predict[(0, k)] + gamma[(i, 1)] * predict[(1, k)];
        }
    }
    for j in 0..5 {
        map[(4, j)] = second.c[(0, 0)] * map[(2, j)] + second.c[(0, 1)] * map[(3, j)];
    }
    for (k, place) in seen.into_iter().enumerate() {
        map[(4, place)] += second.d[(0, 0)] * predict[(0, k)] + second.d[(0, 1)] * predict[(1, k)];
    }
    Ok(map)
}

/// Φ_A and Φ_B of one macro step of Euler steps with held inputs.
fn discrete(matrices: &StateSpace) -> (Matrix, Matrix) {
    let n = matrices.a.rows();
    let step = &Matrix::identity(n) + &(&matrices.a * MICRO);
    let input = &matrices.b * MICRO;
    let (mut phi, mut gamma) = (Matrix::identity(n), Matrix::zeros(n, matrices.b.cols()));
    for _ in 0..(STEP / MICRO).round() as usize {
        gamma = &(&step * &gamma) + &input;
        phi = &step * &phi;
    }
    (phi, gamma)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A constant map with spectral radius 0.9 has the exponent 0.9 in the limit, however large its norm is.
    #[test]
    fn the_exponent_of_a_constant_map_is_its_radius() {
        let mut map = &Matrix::identity(5) * 0.9;
        map[(0, 2)] = 3.0;
        let maps = vec![map; 3000];
        assert!(exponent(&maps, 1) > 2.0);
        assert!((exponent(&maps, 2999) - 0.9).abs() < 0.01);
    }
}
