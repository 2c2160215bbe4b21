//! The linear model of a model-exchange FMU where it stands: directional derivatives if they hold, else differences of its
//! equations over states and inputs.
//!
//! The FMU is asked in continuous-time mode, so a start or an event that is due is brought to its end first, as the next step
//! would; afterwards states and inputs are what they were.
//!
//! While inputs are held, outputs change at C x', or without directional derivatives at
//!
//!   y' ≈ (g(x + τ x') - g(x - τ x')) / 2τ,     τ ‖x'‖ = ε^(1/3) · max(‖x‖, 10⁻³)                      (1)
//!
//! with states in units of their nominal values.

use super::ModelExchange;
use super::stepping::Mode;
use crate::error::Result;
use crate::import::Phase;
use crate::import::matrices::{
    Difference, NEARER, Trust, Unknowns, disagreement, distance, lasting_disagreement,
};
use koppel::linalg::Matrix;
use koppel::system::{ModelSource, StateSpace};

/// Where the models of an instance come from.
pub(super) struct Linearization {
    unknowns: Option<Unknowns>,
    trust: Trust,
    workspace: Workspace,
}

/// Buffers, so that asking at every step allocates nothing.
#[derive(Default)]
struct Workspace {
    inputs: Vec<f64>,
    states: Vec<f64>,
    moved: Vec<f64>,
    derivatives: Vec<f64>,
    change: Vec<f64>,
    above: Vec<f64>,
    below: Vec<f64>,
}

impl Linearization {
    pub(super) fn new(unknowns: Option<Unknowns>, is_offered: bool) -> Linearization {
        let trust = Trust::new(is_offered && unknowns.is_some());
        Linearization { unknowns, trust, workspace: Workspace::default() }
    }
}

fn blocks(all: &StateSpace) -> [&Matrix; 4] {
    [&all.a, &all.b, &all.c, &all.d]
}

/// Derivatives of the states, then outputs.
type Values = Vec<f64>;

impl ModelExchange {
    pub(super) fn matrices(&mut self, inputs: &[f64]) -> Result<StateSpace> {
        let found =
            self.while_placed(inputs, &mut Workspace::default(), |fmu, _| match fmu.linearization.trust {
                Trust::Held => fmu.directional_matrices(),
                Trust::Unknown => {
                    let found = fmu.differences(inputs, 1.0)?;
                    Ok(match fmu.directional_matrices() {
                        Ok(given) => fmu.judge(inputs, given, found)?,
                        Err(error) => {
                            fmu.linearization.trust = Trust::Failed(error.to_string());
                            found.0
                        }
                    })
                }
                Trust::NotOffered | Trust::Failed(_) => Ok(fmu.differences(inputs, 1.0)?.0),
            });
        let source = match &self.linearization.trust {
            Trust::Held => "directional derivatives".into(),
            trust => format!("finite differences{}", trust.complaint()),
        };
        self.note_model(ModelSource::Found(source));
        found
    }

    pub(super) fn output_rates(&mut self, inputs: &[f64], rates: &mut [f64]) -> Result<()> {
        let mut workspace = std::mem::take(&mut self.linearization.workspace);
        let done =
            self.while_placed(inputs, &mut workspace, |fmu, workspace| fmu.rates_here(workspace, rates));
        self.linearization.workspace = workspace;
        done
    }

    fn rates_here(&mut self, workspace: &mut Workspace, rates: &mut [f64]) -> Result<()> {
        let Workspace { states, moved, derivatives: dx, change, above, below, .. } = workspace;
        dx.resize(self.integrator.x.len(), 0.0);
        self.called(self.backend.get_derivatives(dx))?;
        if let (Trust::Held, Some(unknowns)) = (&self.linearization.trust, &self.linearization.unknowns) {
            return unknowns.rates(self, dx, change, rates);
        }
        let speed =
            dx.iter().zip(&self.integrator.scales).fold(0.0_f64, |most, (dx, s)| most.max((dx / s).abs()));
        if speed == 0.0 {
            rates.fill(0.0);
            return Ok(());
        }
        let size = self.integrator.x.iter().fold(1e-3_f64, |most, x| most.max(x.abs()));
        let tau = f64::EPSILON.cbrt() * size / speed;
        for (by, outputs) in [(tau, &mut *above), (-tau, &mut *below)] {
            moved.clear();
            moved.extend(states.iter().zip(&*dx).map(|(x, dx)| x + by * dx));
            self.outputs_at(moved, outputs)?;
        }
        for ((rate, above), below) in rates.iter_mut().zip(above).zip(below) {
            *rate = (*above - *below) / (2.0 * tau);
        }
        Ok(())
    }

    /// Writes how fast its states change; false if they are not those of its model.
    pub(super) fn rates_of_states(&mut self, inputs: &[f64], rates: &mut [f64]) -> Result<bool> {
        if self.integrator.x.len() != rates.len() {
            return Ok(false);
        }
        let mut workspace = std::mem::take(&mut self.linearization.workspace);
        let done = self
            .while_placed(inputs, &mut workspace, |fmu, _| fmu.called(fmu.backend.get_derivatives(rates)));
        self.linearization.workspace = workspace;
        done?;
        Ok(true)
    }

    /// Does something in continuous-time mode under these inputs, and puts states and inputs back.
    fn while_placed<T>(
        &mut self,
        inputs: &[f64],
        workspace: &mut Workspace,
        ask: impl FnOnce(&mut ModelExchange, &mut Workspace) -> Result<T>,
    ) -> Result<T> {
        self.integrator.next.copy_from_slice(inputs);
        if self.phase == Phase::Initializing {
            self.integrator.leave_initialization(self.integrator.time)?;
        }
        if self.integrator.mode == Mode::Event {
            self.integrator.write_inputs()?;
            self.integrator.event()?;
            self.integrator.settled.copy_from_slice(&self.integrator.next);
        }
        workspace.inputs.clone_from(&self.integrator.applied);
        workspace.states.clear();
        workspace
            .states
            .extend(self.integrator.x.iter().zip(&self.integrator.scales).map(|(x, scale)| x * scale));
        // Others would need an event.
        self.integrator
            .discrete
            .iter()
            .for_each(|place| self.integrator.next[*place] = workspace.inputs[*place]);
        let answer = self.integrator.write_inputs().and_then(|()| ask(self, workspace));
        self.integrator.next.copy_from_slice(&workspace.inputs);
        let inputs_back = self.integrator.write_inputs();
        let states_back = self.called(self.backend.set_states(&workspace.states));
        let answer = answer?;
        inputs_back.and(states_back).map(|()| answer)
    }

    fn directional_matrices(&self) -> Result<StateSpace> {
        match &self.linearization.unknowns {
            Some(unknowns) => unknowns.directional(self),
            None => Err(self.not_offered("directional derivatives")),
        }
    }

    /// Believes derivatives that agree with differences.
    fn judge(
        &mut self,
        inputs: &[f64],
        given: StateSpace,
        (found, noise): (StateSpace, StateSpace),
    ) -> Result<StateSpace> {
        let (given_all, found_all, noise_all) = (blocks(&given), blocks(&found), blocks(&noise));
        if (0..4).all(|k| disagreement(given_all[k], found_all[k], noise_all[k]).is_none()) {
            self.linearization.trust = Trust::Held;
            return Ok(given);
        }
        let (nearer, nearer_noise) = self.differences(inputs, NEARER)?;
        let (nearer, nearer_noise) = (blocks(&nearer), blocks(&nearer_noise));
        for (k, name) in ["A", "B", "C", "D"].iter().enumerate() {
            let (far, near) = ((found_all[k], noise_all[k]), (nearer[k], nearer_noise[k]));
            if let Some((row, column)) = lasting_disagreement(given_all[k], far, near) {
                let (given, found) = (given_all[k][(row, column)], nearer[k][(row, column)]);
                let place = format!("{name}[{}, {}]", row + 1, column + 1);
                self.linearization.trust =
                    Trust::Failed(format!("{place} is {given:.5e}, but differences give {found:.5e}"));
                break;
            }
        }
        if self.linearization.trust == Trust::Unknown {
            self.linearization.trust = Trust::Held;
            return Ok(given);
        }
        Ok(found)
    }

    /// The matrices by differences, so many times nearer than usual, and the round-off in them.
    fn differences(&mut self, inputs: &[f64], nearer: f64) -> Result<(StateSpace, StateSpace)> {
        let (n, p, m) = (self.integrator.x.len(), self.ports.outputs.len(), inputs.len());
        let (mut slopes, mut noise) = (Matrix::zeros(n + p, n + m), Matrix::zeros(n + p, n + m));
        let x = self.plain_states();
        let u = self.integrator.next.clone();
        let mut put = |column: usize, difference: Difference| {
            for row in 0..n + p {
                slopes[(row, column)] = difference.slope[row];
                noise[(row, column)] = difference.noise[row];
            }
        };
        for j in 0..n {
            let delta = distance(x[j], Some(self.integrator.scales[j])) / nearer;
            let mut at = |value: f64| {
                let mut moved = x.clone();
                moved[j] = value;
                self.values_at(&moved)
            };
            let (up, down) = (x[j] + delta, x[j] - delta);
            put(j, Difference::new(&at(up)?, &at(down)?, up - down));
        }
        self.called(self.backend.set_states(&x))?;
        for input in 0..m {
            if self.integrator.discrete.contains(&input) {
                continue;
            }
            let delta = distance(u[input], self.ports.inputs[input].nominal) / nearer;
            let mut at = |value: f64| {
                self.integrator.next.copy_from_slice(&u);
                self.integrator.next[input] = value;
                self.integrator.write_inputs()?;
                self.values_at(&x)
            };
            let (up, down) = (u[input] + delta, u[input] - delta);
            put(n + input, Difference::new(&at(up)?, &at(down)?, up - down));
        }
        self.integrator.next.copy_from_slice(&u);
        self.integrator.write_inputs()?;
        let cut = |all: &Matrix| StateSpace {
            a: all.block(0, 0, n, n),
            b: all.block(0, n, n, m),
            c: all.block(n, 0, p, n),
            d: all.block(n, n, p, m),
        };
        Ok((cut(&slopes), cut(&noise)))
    }

    /// Derivatives and outputs at these states.
    fn values_at(&mut self, x: &[f64]) -> Result<Values> {
        let mut values = vec![0.0; x.len()];
        self.called(self.backend.set_states(x))?;
        self.called(self.backend.get_derivatives(&mut values))?;
        let mut outputs = Vec::new();
        self.outputs_at(x, &mut outputs)?;
        values.append(&mut outputs);
        Ok(values)
    }

    /// Outputs at these states, with zeros for what is not continuous.
    fn outputs_at(&mut self, x: &[f64], outputs: &mut Vec<f64>) -> Result<()> {
        outputs.resize(self.ports.outputs.len(), 0.0);
        self.called(self.backend.set_states(x))?;
        self.get_outputs(outputs)?;
        let held = self.ports.outputs.iter().map(|output| output.is_held);
        outputs.iter_mut().zip(held).filter(|(_, held)| *held).for_each(|(value, _)| *value = 0.0);
        Ok(())
    }
}
