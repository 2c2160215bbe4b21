//! One model with its solver.

use super::{Body, BodyState, Column, Ended, EventEffect, distance, foreign_state, fourth_order};
use crate::error::{Error, Result};
use crate::interface::{Interface, Role};
use crate::polynomial::Polynomial;
use koppel::signal::{Request, Samples, Segment, Step};
use koppel::solver::SolverConfig;
use koppel::system::{Ode, OdeModel, Snapshot, StateSpace, Subsystem, VariableId, VariableKind};

/// Part of a second, and of the time, that is no time.
const AT_ONCE: f64 = 1e-9;

pub(crate) struct ModelBody {
    interface: Interface,
    model: OdeModel,
    time: f64,
    u: Vec<f64>,
    outputs: Vec<f64>,
    coefficients: Vec<f64>,
    samples: Samples,
    is_fresh: bool,
    has_events: bool,
    /// When its next instant is due; asked for while an importer solves the equations.
    due: Option<f64>,
    linear: Option<StateSpace>,
    slopes: StateSpace,
}

impl ModelBody {
    pub(crate) fn new(ode: Box<dyn Ode>, solver: &SolverConfig) -> Result<ModelBody> {
        let interface = Interface::of_model(ode.as_ref());
        let (inputs, outputs) = (ode.ports().inputs.len(), ode.ports().outputs.len());
        let (linear, has_events) = (ode.linear(), ode.events().is_some());
        Ok(ModelBody {
            interface,
            model: OdeModel::new(ode, solver)?,
            time: 0.0,
            u: vec![0.0; inputs],
            outputs: vec![0.0; outputs],
            coefficients: Vec::new(),
            samples: Samples::new(Request::Nothing, outputs),
            is_fresh: true,
            has_events,
            due: None,
            linear,
            slopes: StateSpace::default(),
        })
    }

    fn states(&mut self) -> Result<Vec<f64>> {
        let count = self.model.ode().states();
        (0..count).map(|index| Ok(self.model.get(local(index))?)).collect()
    }

    fn derivatives(&mut self) -> Result<Vec<f64>> {
        let x = self.states()?;
        let mut dx = vec![0.0; x.len()];
        self.model.ode().derivative(self.time, &x, &self.u, &mut dx);
        Ok(dx)
    }

    fn indicator(&mut self, index: usize) -> Result<f64> {
        let x = self.states()?;
        let Some(events) = self.model.ode().events() else { return Ok(0.0) };
        let (mut values, mut rates) = (vec![0.0; events.indicators()], vec![0.0; events.indicators()]);
        events.indicate(self.time, &x, &self.u, &mut values, &mut rates);
        Ok(values[index])
    }

    /// Central differences over `size` to both sides of `value`, which is that of `known`.
    fn differences(&self, x: &[f64], known: Role, value: f64, size: f64) -> (Vec<f64>, Vec<f64>) {
        // What is really added, after rounding.
        let (up, down) = ((value + size) - value, (value - size) - value);
        let (high, low) = (self.moved(x, known, up), self.moved(x, known, down));
        let slopes = |high: Vec<f64>, low: Vec<f64>| {
            high.iter().zip(&low).map(|(high, low)| (high - low) / (up - down)).collect()
        };
        (slopes(high.0, low.0), slopes(high.1, low.1))
    }

    /// Outputs and derivatives with `known` moved by `by`.
    fn moved(&self, x: &[f64], known: Role, by: f64) -> (Vec<f64>, Vec<f64>) {
        let (mut x, mut u) = (x.to_vec(), self.u.clone());
        match known {
            Role::Input(index) => u[index] += by,
            Role::Local(index) => x[index] += by,
            _ => {}
        }
        let (mut y, mut dx) = (vec![0.0; self.outputs.len()], vec![0.0; x.len()]);
        let ode = self.model.ode();
        ode.output(self.time, &x, &u, &mut y);
        ode.derivative(self.time, &x, &u, &mut dx);
        (y, dx)
    }
}

impl Body for ModelBody {
    fn interface(&self) -> &Interface {
        &self.interface
    }

    fn initialize(&mut self, start: f64, inputs: &[Polynomial]) -> Result<()> {
        self.time = start;
        self.is_fresh = false;
        self.model.initialize(start)?;
        self.due = Some(start);
        self.follow(inputs)
    }

    fn follow(&mut self, inputs: &[Polynomial]) -> Result<()> {
        self.u.iter_mut().zip(inputs).for_each(|(u, input)| *u = input.now());
        Ok(self.model.read(Some(&self.u), &mut self.outputs)?)
    }

    fn get(&mut self, role: Role) -> Result<f64> {
        match role {
            Role::Output(index) => Ok(self.outputs[index]),
            Role::Parameter(index) => Ok(self.model.get(parameter(index))?),
            Role::Local(index) => Ok(self.model.get(local(index))?),
            Role::Derivative(index) => Ok(self.derivatives()?[index]),
            Role::Indicator(index) => self.indicator(index),
            Role::Input(_) | Role::Time => Err(Error::misuse("inputs and time are kept by the instance")),
        }
    }

    fn set_parameter(&mut self, index: usize, value: f64) -> Result<()> {
        self.model.set(parameter(index), value)?;
        self.linear = self.model.ode().linear();
        Ok(())
    }

    fn set_state(&mut self, index: usize, value: f64) -> Result<()> {
        Ok(self.model.set(local(index), value)?)
    }

    fn step(&mut self, time: f64, size: f64, inputs: &[Polynomial]) -> Result<Option<Ended>> {
        let terms = inputs.iter().map(Polynomial::terms).max().unwrap_or(1);
        self.coefficients.clear();
        for input in inputs {
            self.coefficients.extend_from_slice(&input.coefficients[..terms]);
        }
        let step = Step { index: 0, start: time, size };
        let segment = Segment::new(&step, inputs.len(), terms, &self.coefficients);
        self.model.step(&step, &segment, &mut self.outputs, &mut self.samples)?;
        self.time = time + size;
        self.u.iter_mut().zip(inputs).for_each(|(u, input)| *u = input.value(size));
        Ok(None)
    }

    fn follows_before_steps(&self) -> bool {
        self.has_events
    }

    fn set_time(&mut self, time: f64) {
        self.time = time;
        self.model.set_time(time);
    }

    fn act(&mut self) -> Result<EventEffect> {
        if self.model.ode().events().is_none() {
            return Ok(EventEffect::default());
        }
        // An importer may come a little early.
        let is_due = self.due.is_some_and(|due| self.time >= due - AT_ONCE * due.abs().max(1.0));
        let has_changed = self.model.act_now(is_due)?;
        self.due = self.model.ode().events().and_then(|events| events.next_instant(self.time));
        Ok(EventEffect { has_changed, next: self.due })
    }

    fn column(&mut self, known: Role) -> Result<Column> {
        if let Some(matrices) = &self.linear {
            return Ok(exact(matrices, known));
        }
        let x = self.states()?;
        if let Some(slopes) = self.model.ode().slopes() {
            slopes.linearize(self.time, &x, &self.u, &mut self.slopes);
            return Ok(exact(&self.slopes, known));
        }
        let value = match known {
            Role::Input(index) => self.u[index],
            Role::Local(index) => x[index],
            _ => 0.0,
        };
        let size = distance(value);
        let near = self.differences(&x, known, value, size);
        let far = self.differences(&x, known, value, 2.0 * size);
        Ok(Column { outputs: fourth_order(&near.0, &far.0), derivatives: fourth_order(&near.1, &far.1) })
    }

    fn save(&mut self) -> Result<BodyState> {
        if self.is_fresh {
            return Ok(BodyState::Fresh);
        }
        let mut snapshot = Snapshot::default();
        self.model.save(&mut snapshot)?;
        Ok(BodyState::Model { snapshot, due: self.due })
    }

    fn restore(&mut self, state: &BodyState, _start: f64) -> Result<()> {
        match state {
            BodyState::Fresh => self.is_fresh = true,
            BodyState::Model { snapshot, due } => {
                let mut own = Snapshot::default();
                self.model.save(&mut own)?;
                if own.reals.len() != snapshot.reals.len() {
                    return Err(foreign_state());
                }
                self.model.restore(snapshot)?;
                (self.time, self.due) = (snapshot.reals[0], *due);
                self.is_fresh = false;
                for (index, u) in self.u.iter_mut().enumerate() {
                    *u = self.model.get(VariableId { kind: VariableKind::Input, index })?;
                }
                self.model.read(None, &mut self.outputs)?;
            }
            BodyState::Container(_) => return Err(foreign_state()),
        }
        Ok(())
    }
}

/// A column of the matrices.
fn exact(matrices: &StateSpace, known: Role) -> Column {
    let (outputs, derivatives, index) = match known {
        Role::Input(index) => (&matrices.d, &matrices.b, index),
        Role::Local(index) => (&matrices.c, &matrices.a, index),
        _ => return Column::default(),
    };
    Column {
        outputs: (0..matrices.outputs()).map(|row| outputs[(row, index)]).collect(),
        derivatives: (0..matrices.states()).map(|row| derivatives[(row, index)]).collect(),
    }
}

fn parameter(index: usize) -> VariableId {
    VariableId { kind: VariableKind::Parameter, index }
}

fn local(index: usize) -> VariableId {
    VariableId { kind: VariableKind::Local, index }
}
