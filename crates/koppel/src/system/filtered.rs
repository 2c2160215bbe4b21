//! A subsystem with filters behind some of its outputs: one subsystem more in the sense of Kübler & Schiehlen 2000, (28)-(32),
//! whose filtered outputs depend on no input of the same instant.
//!
//! A filter is solved exactly for an input that moves linearly between the outputs at the start of the step, under the inputs
//! that begin it, and those at its end; where intermediate outputs are asked for, between those. It starts at rest, with
//! what its source gives at the consistent start.

use super::capabilities::Capabilities;
use super::exact::Exact;
use super::filter::{FilterConfig, Filtered};
use super::ports::{Dependencies, Ports, Variable, VariableId, VariableKind};
use super::snapshot::Snapshot;
use super::subsystem::{LinearModel, Mailbox, Subsystem};
use crate::error::{Error, Result};
use crate::linalg::{Matrix, solve};
use crate::signal::{Request, Samples, Segment, Step};
use crate::state_space::StateSpace;

/// The subsystem and its filters.
pub(super) struct WithFilters {
    inner: Box<dyn Subsystem>,
    ports: Ports,
    /// Outputs of the subsystem itself.
    width: usize,
    filters: Vec<Filter>,
    /// True until the first step: the filters then are where their sources hold them.
    is_starting: bool,
    u: Vec<f64>,
    before: Vec<f64>,
    samples: Samples,
    /// Room for the state of the subsystem itself.
    own: Snapshot,
}

struct Filter {
    of: usize,
    matrices: StateSpace,
    exact: Exact,
    x: Vec<f64>,
    /// State at rest per unit of input.
    rest: Vec<f64>,
}

impl Filter {
    fn new(filtered: &Filtered, name: &str) -> Result<Self> {
        let matrices = filtered.filter.matrices(name)?;
        let rest = solve(&matrices.a, &matrices.b)
            .map_err(|source| Error::Linalg { what: format!("filter of {name}"), source })?;
        let rest: Vec<f64> = rest.as_slice().iter().map(|x| -x).collect();
        let (exact, x) = (Exact::new(matrices.clone()), vec![0.0; matrices.states()]);
        Ok(Filter { of: filtered.of, matrices, exact, x, rest })
    }

    fn output(&self) -> f64 {
        self.matrices.c.row(0).iter().zip(&self.x).map(|(c, x)| c * x).sum()
    }

    /// Moves on under an input from `begin` to `end`.
    fn advance(&mut self, start: f64, size: f64, begin: f64, end: f64) -> Result<()> {
        if size <= 0.0 {
            return Ok(());
        }
        let step = Step { index: 0, start, size };
        let line = [begin, (end - begin) / size];
        self.exact.advance(Segment::new(&step, 1, 2, &line).piece(0), 0.0, size, &mut self.x)
    }
}

impl WithFilters {
    /// Adds the filtered outputs to a subsystem.
    pub(super) fn new(name: &str, inner: Box<dyn Subsystem>, outputs: Vec<Variable>) -> Result<Self> {
        let mut ports = inner.ports().clone();
        let width = ports.outputs.len();
        let of = |v: &Variable| v.filtered.as_ref().map(|f| Filter::new(f, &format!("{name}.{}", v.name)));
        let filters = outputs.iter().filter_map(of).collect::<Result<_>>()?;
        let (u, before) = (vec![0.0; ports.inputs.len()], vec![0.0; width]);
        ports.outputs.extend(outputs);
        ports.check_names()?;
        let (samples, own) = (Samples::default(), Snapshot::default());
        Ok(WithFilters { inner, ports, width, filters, is_starting: true, u, before, samples, own })
    }

    fn write_filtered(&self, outputs: &mut [f64]) {
        for (out, filter) in outputs[self.width..].iter_mut().zip(&self.filters) {
            *out = filter.output();
        }
    }

    /// Moves all filters along what was seen inside the step, and adds them to what is asked for.
    fn walk(&mut self, step: &Step, end: &[f64], samples: &mut Samples) -> Result<()> {
        let WithFilters { filters, before, samples: seen, width, .. } = self;
        let mut time = step.start;
        for k in 0..seen.times().len() {
            let (then, values) = (seen.times()[k], seen.at(k));
            for filter in filters.iter_mut() {
                filter.advance(time, then - time, before[filter.of], values[filter.of])?;
            }
            before.copy_from_slice(values);
            time = then;
            let out = samples.push(then);
            out[..*width].copy_from_slice(values);
            for (out, filter) in out[*width..].iter_mut().zip(filters.iter()) {
                *out = filter.output();
            }
        }
        // Of times that differ by round-off nothing is left to walk.
        let left = step.end() - time;
        let left = if left > 1e-9 * step.size { left } else { 0.0 };
        let left = if time == step.start { step.size } else { left };
        filters.iter_mut().try_for_each(|f| f.advance(time, left, before[f.of], end[f.of]))
    }

    /// The matrices of subsystem and filters together.
    fn with_filters(&self, inner: &StateSpace) -> StateSpace {
        let (n, m, p) = (inner.states(), inner.inputs(), self.width);
        let more: usize = self.filters.iter().map(|f| f.x.len()).sum();
        let (mut a, mut b) = (Matrix::zeros(n + more, n + more), Matrix::zeros(n + more, m));
        let (mut c, mut d) =
            (Matrix::zeros(p + self.filters.len(), n + more), Matrix::zeros(p + self.filters.len(), m));
        a.set_block(0, 0, &inner.a);
        b.set_block(0, 0, &inner.b);
        c.set_block(0, 0, &inner.c);
        d.set_block(0, 0, &inner.d);
        let mut at = n;
        for (k, filter) in self.filters.iter().enumerate() {
            let input = &filter.matrices.b;
            a.set_block(at, at, &filter.matrices.a);
            a.set_block(at, 0, &(input * &inner.c.block(filter.of, 0, 1, n)));
            b.set_block(at, 0, &(input * &inner.d.block(filter.of, 0, 1, m)));
            c.set_block(p + k, at, &filter.matrices.c);
            at += filter.x.len();
        }
        StateSpace { a, b, c, d }
    }
}

impl Subsystem for WithFilters {
    fn ports(&self) -> &Ports {
        &self.ports
    }

    fn capabilities(&self) -> &Capabilities {
        self.inner.capabilities()
    }

    fn initialize(&mut self, start: f64) -> Result<()> {
        self.is_starting = true;
        self.inner.initialize(start)
    }

    fn leave_initialization(&mut self) -> Result<bool> {
        self.inner.leave_initialization()
    }

    fn read(&mut self, inputs: Option<&[f64]>, outputs: &mut [f64]) -> Result<()> {
        self.inner.read(inputs, &mut outputs[..self.width])?;
        if self.is_starting {
            for filter in &mut self.filters {
                let value = outputs[filter.of];
                filter.x.iter_mut().zip(&filter.rest).for_each(|(x, rest)| *x = rest * value);
            }
        }
        self.write_filtered(outputs);
        Ok(())
    }

    fn step(
        &mut self,
        step: &Step,
        input: &Segment<'_>,
        outputs: &mut [f64],
        samples: &mut Samples,
    ) -> Result<()> {
        self.is_starting = false;
        samples.clear();
        if self.samples.request() != samples.request() {
            self.samples = Samples::new(samples.request(), self.width);
        }
        self.samples.clear();
        input.piece(0).values(0.0, &mut self.u);
        self.inner.read(Some(&self.u), &mut self.before)?;
        let moved = self.inner.step(step, input, &mut outputs[..self.width], &mut self.samples);
        // Where it ends on the way, the filters have not come along.
        moved.map_err(|error| match *error {
            Error::Terminated { text, .. } => Box::new(Error::Terminated { reached: None, text }),
            _ => error,
        })?;
        self.walk(step, &outputs[..self.width], samples)?;
        self.write_filtered(outputs);
        if samples.request() == Request::Nothing {
            samples.clear();
        }
        Ok(())
    }

    fn get(&mut self, variable: VariableId) -> Result<f64> {
        match variable.kind {
            VariableKind::Output if variable.index >= self.width => {
                Ok(self.filters[variable.index - self.width].output())
            }
            _ => self.inner.get(variable),
        }
    }

    fn set(&mut self, variable: VariableId, value: f64) -> Result<()> {
        self.inner.set(variable, value)
    }

    fn save(&mut self, snapshot: &mut Snapshot) -> Result<()> {
        self.inner.save(snapshot)?;
        snapshot.reals.push(f64::from(u8::from(self.is_starting)));
        self.filters.iter().for_each(|filter| snapshot.reals.extend_from_slice(&filter.x));
        Ok(())
    }

    fn restore(&mut self, snapshot: &Snapshot) -> Result<()> {
        let own = 1 + self.filters.iter().map(|f| f.x.len()).sum::<usize>();
        let Some(size) = snapshot.reals.len().checked_sub(own) else {
            return Err(Error::Unsupported {
                what: "restoring this state".into(),
                reason: "it was saved without the filters".into(),
            }
            .into());
        };
        let (inner, mine) = snapshot.reals.split_at(size);
        self.is_starting = mine[0] != 0.0;
        let mut rest = &mine[1..];
        for filter in &mut self.filters {
            let (x, others) = rest.split_at(filter.x.len());
            filter.x.copy_from_slice(x);
            rest = others;
        }
        self.own.reals.clear();
        self.own.reals.extend_from_slice(inner);
        self.own.bytes.clone_from(&snapshot.bytes);
        self.inner.restore(&self.own)
    }

    fn linear_model(&mut self) -> Option<&mut dyn LinearModel> {
        Some(self)
    }

    fn mailbox(&mut self) -> Option<&mut dyn Mailbox> {
        self.inner.mailbox()
    }
}

/// Without the rates of states, which would need those of the filters.
impl LinearModel for WithFilters {
    fn linearize(&mut self, inputs: &[f64], out: &mut StateSpace) -> Result<bool> {
        let found = self.inner.linearize(inputs)?;
        Ok(found.map(|inner| *out = self.with_filters(&inner)).is_some())
    }

    fn feed_through(&mut self, inputs: &[f64], out: &mut Matrix) -> Result<bool> {
        if !self.inner.feed_through(inputs, out)? {
            return Ok(false);
        }
        let mut whole = Matrix::zeros(self.width + self.filters.len(), inputs.len());
        whole.set_block(0, 0, out);
        if self.is_starting {
            // Filters are where their sources hold them.
            for (k, filter) in self.filters.iter().enumerate() {
                let gain: f64 = filter.matrices.c.row(0).iter().zip(&filter.rest).map(|(c, x)| c * x).sum();
                (0..inputs.len()).for_each(|j| whole[(self.width + k, j)] = gain * out[(filter.of, j)]);
            }
        }
        *out = whole;
        Ok(true)
    }

    fn rates(&mut self, inputs: &[f64], rates: &mut [f64]) -> Result<bool> {
        if !self.inner.rates(inputs, &mut rates[..self.width])? {
            return Ok(false);
        }
        self.inner.read(Some(inputs), &mut self.before)?;
        for (rate, filter) in rates[self.width..].iter_mut().zip(&self.filters) {
            let StateSpace { a, b, c, .. } = &filter.matrices;
            let moved = |i: usize| {
                let row = a.row(i).iter().zip(&filter.x).map(|(a, x)| a * x).sum::<f64>();
                row + b[(i, 0)] * self.before[filter.of]
            };
            *rate = (0..filter.x.len()).map(|i| c[(0, i)] * moved(i)).sum();
        }
        Ok(true)
    }
}

/// The name of the output that carries output `of` behind a filter; added if there is none yet.
pub(super) fn filtered_output(
    ports: &Ports,
    added: &mut Vec<Variable>,
    of: usize,
    filter: &FilterConfig,
) -> String {
    let wanted = Filtered { of, filter: filter.clone() };
    if let Some(known) = added.iter().find(|v| v.filtered.as_ref() == Some(&wanted)) {
        return known.name.clone();
    }
    let source = &ports.outputs[of];
    let (stem, index) =
        source.name.find('[').map_or((source.name.as_str(), ""), |at| source.name.split_at(at));
    let is_taken = |name: &str, added: &[Variable]| {
        ports.find_any(name).is_some() || added.iter().any(|variable| variable.name == name)
    };
    let mut name = format!("{stem}_filtered{index}");
    let mut number = 2;
    while is_taken(&name, added) {
        name = format!("{stem}_filtered_{number}{index}");
        number += 1;
    }
    added.push(Variable {
        name: name.clone(),
        depends: Dependencies::None,
        filtered: Some(wanted),
        description: format!("{} behind a filter", source.name),
        ..source.clone()
    });
    name
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::solver::SolverConfig;
    use crate::system::{LinearOde, OdeModel};

    #[test]
    fn filters_hide_nothing_of_what_a_subsystem_can_do() {
        let one = |value: f64| Matrix::from_slice(1, 1, &[value]);
        let matrices = StateSpace { a: one(-1.0), b: one(1.0), c: one(1.0), d: one(0.0) };
        let ode =
            LinearOde::new(matrices, vec![Variable::new("u")], vec![Variable::new("y")], &[0.0]).unwrap();
        let inner = OdeModel::new(Box::new(ode), &SolverConfig::Exact {}).unwrap();
        let capabilities = inner.capabilities().clone();
        let filtered = Some(Filtered { of: 0, filter: FilterConfig::Pt1 { omega: 10.0 } });
        let output = Variable { filtered, depends: Dependencies::None, ..Variable::new("y_filtered") };
        let mut with = WithFilters::new("box", Box::new(inner), vec![output]).unwrap();
        assert_eq!(with.capabilities(), &capabilities);
        let with: &mut dyn Subsystem = &mut with;
        assert_eq!(with.linear().unwrap().states(), 2);
    }
}
