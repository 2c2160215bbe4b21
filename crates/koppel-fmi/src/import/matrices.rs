//! The linear model of an FMU where it stands, x' = A x + B u, y = C x + D u, by derivatives of its equations.
//!
//! Directional derivatives give the matrices column by column, if the FMU declares them and they hold: the first time, they
//! are compared with differences on both sides,
//!
//!   ∂f/∂v ≈ (f(v + δ) - f(v - δ)) / 2δ,     δ = ε^(1/3) · max(|v|, nominal value or 1)                (1)
//!
//! where v can be moved: inputs and states of a model-exchange FMU, inputs only of one for co-simulation. Values that are
//! not continuous reals have no derivatives: their rows and columns are zero.

use super::access::Access;
use super::binding::Binding;
use super::ports::Slots;
use crate::description::{Description, ValueType, Variable};
use crate::error::Result;
use koppel::linalg::Matrix;
use koppel::system::StateSpace;

/// A derivative agrees with a difference to this part of itself, or to the round-off of the difference.
const AGREES: f64 = 1e-3;

/// How far something is moved for a difference.
pub(super) fn distance(value: f64, nominal: Option<f64>) -> f64 {
    f64::EPSILON.cbrt() * value.abs().max(nominal.map_or(1.0, f64::abs))
}

/// What is known of an FMU's directional derivatives.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Trust {
    /// It declares none, or not for all that is asked.
    NotOffered,
    /// Not tried yet.
    Unknown,
    /// They agree with differences.
    Held,
    /// They do not, or a call failed.
    Failed(String),
}

impl Trust {
    pub(super) fn new(is_offered: bool) -> Trust {
        if is_offered { Trust::Unknown } else { Trust::NotOffered }
    }

    /// Words for the summary.
    pub(super) fn complaint(&self) -> String {
        match self {
            Trust::Failed(why) => format!(" (its directional derivatives are wrong: {why})"),
            _ => String::new(),
        }
    }
}

/// The variables behind the matrices.
pub(super) struct Unknowns {
    /// Derivatives of the states, then outputs.
    unknowns: Vec<u32>,
    /// States, then inputs.
    knowns: Vec<u32>,
    derivatives: usize,
    states: usize,
    /// Place of each output and input among the ports.
    outputs: Vec<usize>,
    inputs: Vec<usize>,
    /// Numbers of all ports.
    ports: (usize, usize),
}

impl Unknowns {
    /// `None` if the states are not listed as real variables.
    pub(super) fn new(description: &Description, slots: &Slots) -> Option<Unknowns> {
        let variables = &description.variables;
        let is_real = |variable: &Variable| variable.value_type == ValueType::Float64;
        let (mut unknowns, mut knowns, mut states) = (Vec::new(), Vec::new(), 0);
        for unknown in &description.structure.continuous_state_derivatives {
            let derivative = &variables[unknown.variable];
            let state = &variables[derivative.derivative?];
            if !is_real(derivative) || !is_real(state) {
                return None;
            }
            unknowns.push(derivative.value_reference);
            knowns.push(state.value_reference);
            states += description.elements(state) as usize;
        }
        let derivatives = unknowns.len();
        let smooth = |slots| Access::some(description, slots, super::route::is_smooth);
        let (inputs, outputs) = (smooth(&slots.inputs), smooth(&slots.outputs));
        let (input_references, inputs) = inputs.reals().unwrap_or_default();
        let (output_references, outputs) = outputs.reals().unwrap_or_default();
        knowns.extend(input_references);
        unknowns.extend(output_references);
        let (inputs, outputs) = (inputs.to_vec(), outputs.to_vec());
        let ports = (slots.inputs.len(), slots.outputs.len());
        Some(Unknowns { unknowns, knowns, derivatives, states, outputs, inputs, ports })
    }

    /// How many states there are.
    pub(super) fn states(&self) -> usize {
        self.states
    }

    /// Places of the inputs that can be moved.
    pub(super) fn inputs(&self) -> &[usize] {
        &self.inputs
    }

    /// References of the states.
    pub(super) fn state_references(&self) -> &[u32] {
        &self.knowns[..self.derivatives]
    }

    /// References of the derivatives.
    pub(super) fn derivatives(&self) -> &[u32] {
        &self.unknowns[..self.derivatives]
    }

    /// Matrices of zeros.
    pub(super) fn zeros(&self) -> StateSpace {
        let (n, (m, p)) = (self.states, self.ports);
        let zeros = Matrix::zeros;
        StateSpace { a: zeros(n, n), b: zeros(n, m), c: zeros(p, n), d: zeros(p, m) }
    }

    /// All four matrices by directional derivatives.
    pub(super) fn directional(&self, of: &Binding) -> Result<StateSpace> {
        let mut matrices = self.zeros();
        let n = self.states;
        let mut seed = vec![0.0; n + self.inputs.len()];
        let mut change = vec![0.0; n + self.outputs.len()];
        for known in 0..seed.len() {
            seed.fill(0.0);
            seed[known] = 1.0;
            of.directional(&self.unknowns, &self.knowns, &seed, &mut change)?;
            let (left, right, column) = match known.checked_sub(n) {
                None => (&mut matrices.a, &mut matrices.c, known),
                Some(input) => (&mut matrices.b, &mut matrices.d, self.inputs[input]),
            };
            (0..n).for_each(|row| left[(row, column)] = change[row]);
            self.outputs.iter().zip(&change[n..]).for_each(|(row, value)| right[(*row, column)] = *value);
        }
        Ok(matrices)
    }

    /// How fast the outputs change when the states do so at `dx`: C `dx`, by one directional derivative. `change` is room.
    pub(super) fn rates(
        &self,
        of: &Binding,
        dx: &[f64],
        change: &mut Vec<f64>,
        rates: &mut [f64],
    ) -> Result<()> {
        let outputs = &self.unknowns[self.derivatives..];
        rates.fill(0.0);
        if dx.is_empty() || outputs.is_empty() {
            return Ok(());
        }
        change.resize(self.outputs.len(), 0.0);
        of.directional(outputs, self.state_references(), dx, change)?;
        self.outputs.iter().zip(change).for_each(|(row, value)| rates[*row] = *value);
        Ok(())
    }

    /// How derivatives of the states, then outputs, change when the states move by `dx`: A `dx` and C `dx`.
    pub(super) fn along(&self, of: &Binding, dx: &[f64]) -> Result<Vec<f64>> {
        let mut change = vec![0.0; self.states + self.outputs.len()];
        of.directional(&self.unknowns, self.state_references(), dx, &mut change)?;
        let mut all = vec![0.0; self.states + self.ports.1];
        all[..self.states].copy_from_slice(&change[..self.states]);
        let outputs = self.outputs.iter().zip(&change[self.states..]);
        outputs.for_each(|(place, value)| all[self.states + place] = *value);
        Ok(all)
    }
}

/// How much nearer than [`distance`] a difference is taken when derivatives and differences part.
pub(super) const NEARER: f64 = 8.0;

/// One column by equation (1), from the values on both sides, and the round-off in it.
pub(super) struct Difference {
    pub(super) slope: Vec<f64>,
    pub(super) noise: Vec<f64>,
}

impl Difference {
    pub(super) fn new(above: &[f64], below: &[f64], distance: f64) -> Difference {
        let pairs = || above.iter().zip(below);
        Difference {
            slope: pairs().map(|(a, b)| (a - b) / distance).collect(),
            noise: pairs().map(|(a, b)| 200.0 * f64::EPSILON * a.abs().max(b.abs()) / distance).collect(),
        }
    }
}

/// Where derivatives that were given and differences part, if they do. Two differences, the second one nearer: a gap that
/// shrinks with the distance is the error of the difference, as at the kink in the slope of v|v|.
pub(super) fn lasting_disagreement(
    given: &Matrix,
    (far, far_noise): (&Matrix, &Matrix),
    (near, near_noise): (&Matrix, &Matrix),
) -> Option<(usize, usize)> {
    let places = (0..given.rows()).flat_map(|row| (0..given.cols()).map(move |column| (row, column)));
    places.into_iter().find(|place| {
        let is_apart = |found: &Matrix, noise: &Matrix| parts(given[*place], found[*place], noise[*place]);
        let gap = |found: &Matrix| (given[*place] - found[*place]).abs();
        let has_shrunk = gap(near) <= 2.0 / NEARER * gap(far) + near_noise[*place];
        is_apart(far, far_noise) && is_apart(near, near_noise) && !has_shrunk
    })
}

/// Where derivatives that were given and differences part, if they do.
pub(super) fn disagreement(given: &Matrix, found: &Matrix, noise: &Matrix) -> Option<(usize, usize)> {
    let places = (0..given.rows()).flat_map(|row| (0..given.cols()).map(move |column| (row, column)));
    places.into_iter().find(|place| parts(given[*place], found[*place], noise[*place]))
}

fn parts(given: f64, found: f64, noise: f64) -> bool {
    let apart = (given - found).abs();
    apart.is_nan() || apart > AGREES * given.abs().max(found.abs()) + noise
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::import::ports;

    /// A model with an array of three states, more variables and this structure.
    pub(in crate::import) fn with_three_states(variables: &str, structure: &str) -> Description {
        let text = format!(
            r#"<fmiModelDescription fmiVersion="3.0" modelName="m" instantiationToken="t">
            <ModelExchange modelIdentifier="m"/>
            <ModelVariables>
              <Float64 name="time" valueReference="0" causality="independent" variability="continuous"/>
              <Float64 name="x" valueReference="1" initial="exact" start="0"><Dimension start="3"/></Float64>
              <Float64 name="dx" valueReference="2" derivative="1"><Dimension start="3"/></Float64>
              {variables}
            </ModelVariables>
            <ModelStructure>
              {structure}
            </ModelStructure></fmiModelDescription>"#
        );
        Description::parse(text.as_bytes(), "modelDescription.xml").unwrap()
    }

    #[test]
    fn elements_of_arrays_have_rows_and_columns() {
        let description = with_three_states(
            r#"<Boolean name="on" valueReference="3" causality="input" start="false"/>
              <Float64 name="u" valueReference="4" causality="input" start="0"><Dimension start="2"/></Float64>
              <Int32 name="count" valueReference="5" causality="output"/>
              <Float64 name="y" valueReference="6" causality="output"/>"#,
            r#"<Output valueReference="5"/><Output valueReference="6"/><ContinuousStateDerivative valueReference="2"/>"#,
        );
        let (_, slots) = ports::of(&description);
        let unknowns = Unknowns::new(&description, &slots).unwrap();
        assert_eq!((&unknowns.unknowns[..], &unknowns.knowns[..]), (&[2, 6][..], &[1, 4][..]));
        assert_eq!(
            (unknowns.states, &unknowns.inputs[..], &unknowns.outputs[..]),
            (3, &[1, 2][..], &[1][..])
        );
        let zeros = unknowns.zeros();
        assert_eq!((zeros.states(), zeros.inputs(), zeros.outputs()), (3, 3, 2));
    }

    #[test]
    fn what_is_not_a_number_disagrees() {
        let one = |value: f64| Matrix::from_slice(1, 1, &[value]);
        assert_eq!(disagreement(&one(1.0), &one(1.0005), &one(0.0)), None);
        assert_eq!(disagreement(&one(1.0), &one(1.002), &one(0.0)), Some((0, 0)));
        assert_eq!(disagreement(&one(0.0), &one(1e-9), &one(1e-8)), None);
        assert_eq!(disagreement(&one(f64::NAN), &one(1.0), &one(1.0)), Some((0, 0)));
    }

    #[test]
    fn a_gap_that_shrinks_with_the_distance_is_no_disagreement() {
        let one = |value: f64| Matrix::from_slice(1, 1, &[value]);
        let lasts = |f: fn(f64) -> f64, given: f64| {
            let [far, near] = [1.0, NEARER].map(|by| {
                let delta = distance(0.0, None) / by;
                let found = Difference::new(&[f(delta)], &[f(-delta)], 2.0 * delta);
                (one(found.slope[0]), one(found.noise[0]))
            });
            let first = disagreement(&one(given), &far.0, &far.1);
            (
                first.is_some(),
                lasting_disagreement(&one(given), (&far.0, &far.1), (&near.0, &near.1)).is_some(),
            )
        };
        assert_eq!(lasts(|v| 3.0 * v * v.abs(), 0.0), (true, false));
        assert_eq!(lasts(|v| 3.0 * v * v.abs() + 0.01 * v, 0.0), (true, true));
        assert_eq!(lasts(|v| 3.0 * v * v.abs(), 0.01), (true, true));
        assert_eq!(lasts(|v| v, f64::NAN), (true, true));
    }
}
