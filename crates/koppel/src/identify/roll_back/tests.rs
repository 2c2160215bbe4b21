use super::*;
use crate::solver::SolverConfig;
use crate::system::{LinearModel, LinearOde, OdeModel, Ports, VariableId};

fn linear(a: &[f64], b: &[f64], c: &[f64], d: &[f64], n: usize) -> (StateSpace, OdeModel) {
    let (m, p) = (b.len() / n, c.len() / n);
    let matrices = StateSpace {
        a: Matrix::from_slice(n, n, a),
        b: Matrix::from_slice(n, m, b),
        c: Matrix::from_slice(p, n, c),
        d: Matrix::from_slice(p, m, d),
    };
    let name = |prefix: &str, k: usize| Variable::new(format!("{prefix}{k}"));
    let inputs = (0..m).map(|k| name("u", k)).collect();
    let outputs = (0..p).map(|k| name("y", k)).collect();
    let ode = LinearOde::new(matrices.clone(), inputs, outputs, &vec![0.7; n]).unwrap();
    let mut model = OdeModel::new(Box::new(ode), &SolverConfig::Exact {}).unwrap();
    model.initialize(0.0).unwrap();
    (matrices, model)
}

fn close(found: &Matrix, expected: &Matrix, tolerance: f64, what: &str) {
    let scale = expected.max_abs().max(1e-3);
    assert!((found - expected).max_abs() <= tolerance * scale, "{what}: {found:?} against {expected:?}");
}

const WINDOW: Window = Window { start: 0.0, size: 0.1, is_divisible: true };

#[test]
fn outputs_that_determine_the_states_give_the_model_itself() {
    let (truth, mut model) = linear(
        &[0.0, 1.0, -25.0, -0.6],
        &[0.0, 0.2, 2.0, 0.0],
        &[1.0, 0.0, 30.0, 5.0],
        &[0.0, 0.0, 4.0, 0.0],
        2,
    );
    let expected = crate::identify::InterfaceModel::from_state_space("s", &truth).unwrap();
    for is_divisible in [true, false] {
        let window = Window { is_divisible, ..WINDOW };
        let inputs = [0.4, -2.0];
        let mut trials = RollBack::default();
        let mut before = Snapshot::default();
        model.save(&mut before).unwrap();
        let found = trials.model(&mut model, window, &inputs).unwrap().unwrap();
        let found = crate::identify::InterfaceModel::from_state_space("s", &found).unwrap();
        close(&found.s_y, &expected.s_y, 1e-8, "S_y");
        close(&found.s_u, &expected.s_u, 1e-8, "S_u");
        close(&found.s_d, &expected.s_d, 1e-8, "S_d");
        let (mut rates, mut truth) = ([0.0; 2], [0.0; 2]);
        trials.rates(&mut model, window, &inputs, &mut rates).unwrap().unwrap();
        assert!(model.rates(&inputs, &mut truth).unwrap());
        for (found, truth) in rates.iter().zip(&truth) {
            assert!((found - truth).abs() <= 1e-8 * truth.abs().max(1.0), "{rates:?} {truth:?}");
        }
        let mut after = Snapshot::default();
        model.save(&mut after).unwrap();
        assert_eq!(before, after, "nothing has moved");
    }
}

/// A box with one step size and no model yet: five points one step apart, exact for a ramp.
#[test]
fn rates_without_a_model_keep_the_step_of_the_box() {
    let (_, mut model) = linear(&[0.0], &[1.0], &[1.0], &[0.0], 1);
    let window = Window { is_divisible: false, ..WINDOW };
    let mut rates = [0.0];
    RollBack::default().rates(&mut model, window, &[3.0], &mut rates).unwrap().unwrap();
    assert!((rates[0] - 3.0).abs() < 1e-9, "{rates:?}");
}

#[test]
fn redundant_and_silent_outputs_and_held_inputs_do_no_harm() {
    let (_, mut model) = linear(&[-3.0], &[2.0], &[1.0, 2.0, 0.0], &[0.0, 0.0, 7.0], 1);
    let found = RollBack::default().model(&mut model, WINDOW, &[1.0]).unwrap().unwrap();
    // y = (x, 2x, 7u): the direction (1, 2, 0) decays at 3, nothing else moves.
    let moved = found.a.mul_vec(&[1.0, 2.0, 0.0]);
    assert!((moved[0] + 3.0).abs() < 1e-7 && (moved[1] + 6.0).abs() < 1e-7, "{moved:?}");
    close(&found.b, &Matrix::from_slice(3, 1, &[2.0, 4.0, 0.0]), 1e-7, "B");
    close(&found.d, &Matrix::from_slice(3, 1, &[0.0, 0.0, 7.0]), 1e-9, "D");
    let (_, mut still) = linear(&[-3.0], &[0.0], &[0.0], &[5.0], 1);
    let found = RollBack::default().model(&mut still, WINDOW, &[1.0]).unwrap().unwrap();
    close(&found.d, &Matrix::from_slice(1, 1, &[5.0]), 1e-12, "feed-through only");
    assert_eq!(found.a.max_abs() + found.b.max_abs(), 0.0);
}

/// One output of an oscillator: the fit reproduces the response over the window in the mean.
#[test]
fn fewer_outputs_than_states_are_fitted_over_the_window() {
    let (truth, mut model) = linear(&[0.0, 1.0, -400.0, -20.0], &[0.0, 1.0], &[20.0, 1.0], &[0.0], 2);
    let found = RollBack::default().model(&mut model, WINDOW, &[0.0]).unwrap().unwrap();
    let response = |system: &StateSpace| {
        let one = system.discretize(0.1, 1).unwrap();
        (&system.c * &one.inputs[0])[(0, 0)]
    };
    let (fitted, exact) = (response(&found), response(&truth));
    assert!((fitted - exact).abs() < 0.1 * exact.abs(), "{fitted} {exact}");
}

/// Takes a state back only halfway.
struct Forgetful(OdeModel, u32);

impl Subsystem for Forgetful {
    fn ports(&self) -> &Ports {
        self.0.ports()
    }
    fn initialize(&mut self, start: f64) -> Outcome<()> {
        self.0.initialize(start)
    }
    fn read(&mut self, inputs: Option<&[f64]>, outputs: &mut [f64]) -> Outcome<()> {
        self.0.read(inputs, outputs)
    }
    fn get(&mut self, variable: VariableId) -> Outcome<f64> {
        self.0.get(variable)
    }
    fn set(&mut self, variable: VariableId, value: f64) -> Outcome<()> {
        self.0.set(variable, value)
    }
    fn save(&mut self, snapshot: &mut Snapshot) -> Outcome<()> {
        self.0.save(snapshot)
    }
    fn restore(&mut self, snapshot: &Snapshot) -> Outcome<()> {
        self.0.restore(snapshot)
    }
    fn step(
        &mut self,
        step: &Step,
        input: &Segment<'_>,
        y: &mut [f64],
        samples: &mut Samples,
    ) -> Outcome<()> {
        self.1 += 1;
        self.0.step(step, input, y, samples)?;
        y.iter_mut().for_each(|y| *y += f64::from(self.1));
        Ok(())
    }
}

#[test]
fn a_box_that_forgets_is_not_believed() {
    let (_, model) = linear(&[-3.0], &[2.0], &[1.0], &[0.0], 1);
    let mut forgetful = Forgetful(model, 0);
    let refused = RollBack::default().model(&mut forgetful, WINDOW, &[1.0]).unwrap().unwrap_err();
    assert_eq!(refused, "it does not repeat a step from a saved state");
}
