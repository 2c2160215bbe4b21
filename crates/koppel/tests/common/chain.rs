//! Masses on springs, as many as wanted.

use koppel::linalg::Matrix;
use koppel::solver::SolverConfig;
use koppel::system::{Connection, LinearOde, OdeModel, StateSpace, System, SystemBuilder, Variable};

/// Masses in a row, each with its own copies of the springs to its neighbours, by stiffness and damping, and its place at the start; and
/// the inputs they are connected by.
pub(crate) fn chain(
    count: usize,
    spring: impl Fn(usize) -> (f64, f64),
    start: impl Fn(usize) -> f64,
) -> (System, Vec<String>) {
    let mut builder = SystemBuilder::new();
    for k in 0..count {
        let (stiffness, damping) = spring(k);
        let neighbours = f64::from(u8::from(k > 0) + u8::from(k + 1 < count));
        let a = [0.0, 1.0, -neighbours * stiffness - 10.0, -neighbours * damping - 0.2];
        let matrices = StateSpace::new(
            "",
            Matrix::from_slice(2, 2, &a),
            Matrix::from_slice(2, 4, &[0.0, 0.0, 0.0, 0.0, stiffness, damping, stiffness, damping]),
            Matrix::identity(2),
            Matrix::zeros(2, 4),
        );
        let inputs = ["x_left", "v_left", "x_right", "v_right"].map(Variable::new).to_vec();
        let outputs = ["x", "v"].map(Variable::new).to_vec();
        let ode = LinearOde::new(matrices.unwrap(), inputs, outputs, &[start(k), 0.0]).unwrap();
        let model = OdeModel::new(Box::new(ode), &SolverConfig::Exact {}).unwrap();
        builder = builder.add(&format!("m{k}"), model);
    }
    let mut ends = Vec::new();
    for k in 0..count {
        for signal in ["x", "v"] {
            let left =
                (k > 0).then(|| (format!("m{}.{signal}", k.wrapping_sub(1)), format!("m{k}.{signal}_left")));
            let right =
                (k + 1 < count).then(|| (format!("m{}.{signal}", k + 1), format!("m{k}.{signal}_right")));
            for (from, to) in left.into_iter().chain(right) {
                builder = builder.connect(Connection::new(&from, &to));
                ends.push(to);
            }
        }
    }
    (builder.build().unwrap(), ends)
}
