//! The whole system as one model: the reference a co-simulation is measured against.
//!
//! Ideal coupling holds at every instant, u = L y + w, w = o + e(t). For linear subsystems with stacked (A, B, C, D)
//!
//!   u = M (L C x + w),   M = (I - L D)⁻¹
//!   x' = (A + B M L C) x + B M w,   y = (C + D M L C) x + D M w
//!
//! For any others the outputs are evaluated in the order of their feed-through at every call of f. Both are built from
//! the graph alone; no coupling code takes part.

use super::feedthrough::{Component, evaluation_order};
use super::graph::SystemGraph;
use super::ode_events::{Moment, OdeEvents, States};
use super::ode_model::{NO_TIME, Ode};
use super::ports::{Ports, Variable};
use crate::error::{Error, Result};
use crate::linalg::{Matrix, inverse};
use crate::state_space::StateSpace;
use std::cell::RefCell;

/// The closed system of linear subsystems: inputs are w (one per input of the graph), outputs are all y.
pub fn monolithic_matrices(graph: &SystemGraph, parts: &[StateSpace]) -> Result<StateSpace> {
    let mut l = Matrix::zeros(graph.inputs(), graph.outputs());
    for wire in graph.wires() {
        l[(wire.target, wire.source)] += wire.gain;
    }
    closed(&parts.iter().collect::<Vec<_>>(), &l)
}

/// These subsystems in parallel as one, with u = L y + w: inputs are w, outputs all y.
pub(super) fn closed(parts: &[&StateSpace], l: &Matrix) -> Result<StateSpace> {
    let (a, b) = (stack(parts, |p| &p.a), stack(parts, |p| &p.b));
    let (c, d) = (stack(parts, |p| &p.c), stack(parts, |p| &p.d));
    let open = &Matrix::identity(l.rows()) - &(l * &d);
    let m = inverse(&open)
        .map_err(|source| Error::Linalg { what: "closing the algebraic loops".into(), source })?;
    let mlc = &m * &(l * &c);
    StateSpace::new("monolith", &a + &(&b * &mlc), &b * &m, &c + &(&d * &mlc), &d * &m)
}

fn stack(parts: &[&StateSpace], of: impl Fn(&StateSpace) -> &Matrix) -> Matrix {
    let rows = parts.iter().map(|p| of(p).rows()).sum();
    let cols = parts.iter().map(|p| of(p).cols()).sum();
    let mut all = Matrix::zeros(rows, cols);
    let (mut row, mut col) = (0, 0);
    for part in parts {
        all.set_block(row, col, of(part));
        row += of(part).rows();
        col += of(part).cols();
    }
    all
}

/// The closed system as one [`Ode`] with all outputs, named `subsystem.output`, and the inputs w.
///
/// `parts` are the equations of the graph's subsystems in its order. Linear systems become their matrices; others are
/// evaluated in order, and are refused if they have an algebraic loop.
pub fn monolith(graph: &SystemGraph, parts: Vec<Box<dyn Ode>>) -> Result<Box<dyn Ode>> {
    if let Some((input, _)) = graph.maps().first() {
        let what = format!("a monolithic reference with a table into `{}`", graph.input_name(*input));
        return Err(
            Error::Unsupported { what: what.into(), reason: "tables have no equations".into() }.into()
        );
    }
    let ports = closed_ports(graph, &parts);
    let linear: Option<Vec<StateSpace>> = parts.iter().map(|p| p.linear()).collect();
    let matrices = linear.map(|all| monolithic_matrices(graph, &all)).transpose()?;
    let mut order = Vec::new();
    for component in evaluation_order(graph) {
        match component {
            Component::Direct(ids) => order.extend(ids),
            Component::Loop(_) if matrices.is_some() => {}
            Component::Loop(outputs) => {
                return Err(Error::Unsupported {
                    what: "a monolithic model".into(),
                    reason: format!("`{}` is in a non-linear algebraic loop", graph.output_name(outputs[0])),
                }
                .into());
            }
        }
    }
    let period = common_period(graph, &parts)?;
    let buffers = RefCell::new(Buffers { u: vec![0.0; graph.inputs()], y: vec![0.0; graph.outputs()] });
    Ok(Box::new(Monolith { graph: graph.clone(), parts, order, ports, matrices, period, buffers }))
}

fn closed_ports(graph: &SystemGraph, parts: &[Box<dyn Ode>]) -> Ports {
    let all = 0..graph.inputs();
    let mut locals = Vec::new();
    for (id, part) in parts.iter().enumerate() {
        let states = &part.ports().locals[..part.states()];
        let named = |v: &Variable| Variable { name: format!("{}.{}", graph.name(id), v.name), ..v.clone() };
        locals.extend(states.iter().map(named));
    }
    let inputs: Vec<Variable> =
        all.clone().map(|i| Variable::new(graph.input_name(i)).start(graph.offset(i))).collect();
    let through: Vec<usize> = all.collect();
    let outputs =
        (0..graph.outputs()).map(|o| Variable::new(graph.output_name(o)).fed_by(&through)).collect();
    Ports { inputs, outputs, locals, ..Ports::default() }
}

struct Monolith {
    graph: SystemGraph,
    parts: Vec<Box<dyn Ode>>,
    order: Vec<usize>,
    ports: Ports,
    matrices: Option<StateSpace>,
    period: Option<f64>,
    buffers: RefCell<Buffers>,
}

struct Buffers {
    u: Vec<f64>,
    y: Vec<f64>,
}

impl Monolith {
    /// All u and y at one instant.
    fn close(&self, time: f64, x: &[f64], w: &[f64], buffers: &mut Buffers) {
        for id in (0..self.parts.len()).chain(self.order.iter().copied()) {
            self.gather(id, w, buffers);
            let inputs = &buffers.u[self.graph.inputs_of(id)];
            self.parts[id].output(
                time,
                self.states(id, x),
                inputs,
                &mut buffers.y[self.graph.outputs_of(id)],
            );
        }
        (0..self.parts.len()).for_each(|id| self.gather(id, w, buffers));
    }

    fn gather(&self, id: usize, w: &[f64], buffers: &mut Buffers) {
        for input in self.graph.inputs_of(id) {
            let wires = &self.graph.wires()[self.graph.wires_into(input)];
            buffers.u[input] =
                w[input] + wires.iter().map(|wire| wire.gain * buffers.y[wire.source]).sum::<f64>();
        }
    }

    fn states<'a>(&self, id: usize, x: &'a [f64]) -> &'a [f64] {
        let first: usize = self.parts[..id].iter().map(|p| p.states()).sum();
        &x[first..][..self.parts[id].states()]
    }
}

impl Ode for Monolith {
    fn ports(&self) -> &Ports {
        &self.ports
    }

    fn states(&self) -> usize {
        self.ports.locals.len()
    }

    fn derivative(&self, time: f64, x: &[f64], w: &[f64], dx: &mut [f64]) {
        if let Some(matrices) = &self.matrices {
            matrices.a.mul_vec_into(x, dx);
            matrices.b.mul_vec_add(w, dx);
            return;
        }
        let mut buffers = self.buffers.borrow_mut();
        self.close(time, x, w, &mut buffers);
        let mut first = 0;
        for (id, part) in self.parts.iter().enumerate() {
            let n = part.states();
            let inputs = &buffers.u[self.graph.inputs_of(id)];
            part.derivative(time, &x[first..][..n], inputs, &mut dx[first..][..n]);
            first += n;
        }
    }

    fn output(&self, time: f64, x: &[f64], w: &[f64], y: &mut [f64]) {
        if let Some(matrices) = &self.matrices {
            matrices.c.mul_vec_into(x, y);
            matrices.d.mul_vec_add(w, y);
            return;
        }
        let mut buffers = self.buffers.borrow_mut();
        self.close(time, x, w, &mut buffers);
        y.copy_from_slice(&buffers.y);
    }

    fn parameter(&self, _index: usize) -> f64 {
        f64::NAN
    }

    fn set_parameter(&mut self, index: usize, _value: f64) -> Result<()> {
        Err(Error::Unsupported {
            what: format!("setting parameter {index}").into(),
            reason: "a monolithic model has none of its own".into(),
        }
        .into())
    }

    fn linear(&self) -> Option<StateSpace> {
        self.matrices.clone()
    }

    fn events(&self) -> Option<&dyn OdeEvents> {
        self.parts.iter().any(|part| part.events().is_some()).then_some(self as &dyn OdeEvents)
    }

    fn period(&self) -> Option<f64> {
        self.period
    }

    fn sample(&self, x: &[f64], w: &[f64], next: &mut [f64]) {
        let mut buffers = self.buffers.borrow_mut();
        self.close(0.0, x, w, &mut buffers);
        let mut first = 0;
        for (id, part) in self.parts.iter().enumerate() {
            let n = part.states();
            if part.period().is_some() {
                let inputs = &buffers.u[self.graph.inputs_of(id)];
                part.sample(&x[first..][..n], inputs, &mut next[first..][..n]);
            }
            first += n;
        }
    }
}

/// Events of the parts, one after the other.
impl OdeEvents for Monolith {
    fn indicators(&self) -> usize {
        self.parts.iter().filter_map(|part| part.events()).map(OdeEvents::indicators).sum()
    }

    fn indicate(&self, time: f64, x: &[f64], w: &[f64], values: &mut [f64], rates: &mut [f64]) {
        let mut buffers = self.buffers.borrow_mut();
        self.close(time, x, w, &mut buffers);
        let mut first = 0;
        for (id, part) in self.parts.iter().enumerate() {
            let Some(events) = part.events() else { continue };
            let own = first..first + events.indicators();
            let inputs = &buffers.u[self.graph.inputs_of(id)];
            events.indicate(
                time,
                self.states(id, x),
                inputs,
                &mut values[own.clone()],
                &mut rates[own.clone()],
            );
            first = own.end;
        }
    }

    fn actions(&self) -> usize {
        self.parts.iter().filter_map(|part| part.events()).map(OdeEvents::actions).sum()
    }

    fn next_instant(&self, time: f64) -> Option<f64> {
        let of_parts = self.parts.iter().filter_map(|part| part.events()?.next_instant(time));
        let of_programs = self.period.map(|period| ((time / period + NO_TIME).floor() + 1.0) * period);
        of_parts.chain(of_programs).min_by(f64::total_cmp)
    }

    fn act(
        &self,
        moment: Moment,
        States { x, seen }: States<'_>,
        w: &[f64],
        held: &mut [f64],
        next: &mut [f64],
    ) -> Option<usize> {
        let mut buffers = self.buffers.borrow_mut();
        self.close(moment.time, x, w, &mut buffers);
        let (mut first_action, mut first_state, mut found) = (0, 0, None);
        for (id, part) in self.parts.iter().enumerate() {
            let (n, inputs) = (part.states(), &buffers.u[self.graph.inputs_of(id)]);
            let own = &x[first_state..][..n];
            let own_next = &mut next[first_state..][..n];
            if let Some(events) = part.events() {
                let held = &mut held[first_action..][..events.actions()];
                let states = States { x: own, seen: &seen[first_state..][..n] };
                let acted = events.act(moment, states, inputs, held, own_next);
                found = found.or(acted.map(|action| first_action + action));
                first_action += events.actions();
            } else if let Some(period) = part.period() {
                let count = moment.time / period;
                if moment.by_clock && (count - count.round()).abs() <= NO_TIME {
                    part.sample(own, inputs, own_next);
                }
            }
            first_state += n;
        }
        found
    }

    fn action(&self, mut index: usize) -> String {
        for (id, part) in self.parts.iter().enumerate() {
            let Some(events) = part.events() else { continue };
            if index < events.actions() {
                return format!("`{}`: {}", self.graph.name(id), events.action(index));
            }
            index -= events.actions();
        }
        String::new()
    }
}

/// The period at which programs inside the parts act, all at one.
fn common_period(graph: &SystemGraph, parts: &[Box<dyn Ode>]) -> Result<Option<f64>> {
    let mut common: Option<(usize, f64)> = None;
    for (id, part) in parts.iter().enumerate() {
        match (common, part.period()) {
            (Some((other, known)), Some(period)) if known != period => {
                let (one, two) = (graph.name(other), graph.name(id));
                let reason = format!("`{one}` samples every {known} s, `{two}` every {period} s");
                return Err(Error::Unsupported { what: "a monolithic model".into(), reason }.into());
            }
            (None, Some(period)) => common = Some((id, period)),
            _ => {}
        }
    }
    Ok(common.map(|(_, period)| period))
}
