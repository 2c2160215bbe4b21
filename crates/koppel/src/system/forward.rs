//! What a subsystem around another one leaves to it.

/// Methods of [`Subsystem`](crate::system::Subsystem) that a wrapper leaves to what it wraps, a field of it.
///
/// All can be named but `step_held`, which by default calls the wrapper's own `step`.
///
/// ```
/// use koppel::system::Subsystem;
///
/// /// Tells nothing of itself.
/// struct Plain(Box<dyn Subsystem>);
///
/// impl Subsystem for Plain {
///     fn solver(&self) -> String {
///         "its own".into()
///     }
///     koppel::forward_to!(0: ports, initialize, read, step, get, set, save, restore);
/// }
/// ```
#[macro_export]
macro_rules! forward_to {
    ($inner:tt: $($method:ident),+ $(,)?) => { $($crate::forward_to!(@ $inner $method);)+ };

    (@ $inner:tt ports) => { fn ports(&self) -> &$crate::system::Ports { self.$inner.ports() } };
    (@ $inner:tt initialize) => {
        fn initialize(&mut self, start: f64) -> $crate::Result<()> { self.$inner.initialize(start) }
    };
    (@ $inner:tt leave_initialization) => {
        fn leave_initialization(&mut self) -> $crate::Result<bool> { self.$inner.leave_initialization() }
    };
    (@ $inner:tt read) => {
        fn read(&mut self, inputs: Option<&[f64]>, outputs: &mut [f64]) -> $crate::Result<()> {
            self.$inner.read(inputs, outputs)
        }
    };
    (@ $inner:tt step) => {
        fn step(
            &mut self,
            step: &$crate::signal::Step,
            input: &$crate::signal::Segment<'_>,
            outputs: &mut [f64],
            samples: &mut $crate::signal::Samples,
        ) -> $crate::Result<()> {
            self.$inner.step(step, input, outputs, samples)
        }
    };
    (@ $inner:tt get) => {
        fn get(&mut self, variable: $crate::system::VariableId) -> $crate::Result<f64> {
            self.$inner.get(variable)
        }
    };
    (@ $inner:tt set) => {
        fn set(&mut self, variable: $crate::system::VariableId, value: f64) -> $crate::Result<()> {
            self.$inner.set(variable, value)
        }
    };
    (@ $inner:tt send) => {
        fn send(&mut self, output: usize, message: &mut $crate::system::Message) -> $crate::Result<()> {
            self.$inner.send(output, message)
        }
    };
    (@ $inner:tt receive) => {
        fn receive(&mut self, input: usize, message: &$crate::system::Message) -> $crate::Result<()> {
            self.$inner.receive(input, message)
        }
    };
    (@ $inner:tt events) => {
        fn events(&mut self) -> Option<&mut $crate::system::EventLog> { self.$inner.events() }
    };
    (@ $inner:tt linear) => {
        fn linear(&self) -> Option<$crate::system::StateSpace> { self.$inner.linear() }
    };
    (@ $inner:tt linearize) => {
        fn linearize(&mut self, inputs: &[f64]) -> $crate::Result<Option<$crate::system::StateSpace>> {
            self.$inner.linearize(inputs)
        }
    };
    (@ $inner:tt linearize_into) => {
        fn linearize_into(
            &mut self,
            inputs: &[f64],
            out: &mut $crate::system::StateSpace,
        ) -> $crate::Result<bool> {
            self.$inner.linearize_into(inputs, out)
        }
    };
    (@ $inner:tt feed_through) => {
        fn feed_through(&mut self, inputs: &[f64], out: &mut $crate::linalg::Matrix) -> $crate::Result<bool> {
            self.$inner.feed_through(inputs, out)
        }
    };
    (@ $inner:tt lack_of_model) => {
        fn lack_of_model(&self) -> Option<String> { self.$inner.lack_of_model() }
    };
    (@ $inner:tt needs_trials) => { fn needs_trials(&self) -> bool { self.$inner.needs_trials() } };
    (@ $inner:tt model_source) => { fn model_source(&self) -> Option<String> { self.$inner.model_source() } };
    (@ $inner:tt rates) => {
        fn rates(&mut self, inputs: &[f64], rates: &mut [f64]) -> $crate::Result<bool> {
            self.$inner.rates(inputs, rates)
        }
    };
    (@ $inner:tt state_rates) => {
        fn state_rates(&mut self, inputs: &[f64], rates: &mut [f64]) -> $crate::Result<bool> {
            self.$inner.state_rates(inputs, rates)
        }
    };
    (@ $inner:tt solver) => { fn solver(&self) -> String { self.$inner.solver() } };
    (@ $inner:tt solver_config) => {
        fn solver_config(&self) -> Option<$crate::solver::SolverConfig> { self.$inner.solver_config() }
    };
    (@ $inner:tt identity) => { fn identity(&self) -> Option<String> { self.$inner.identity() } };
    (@ $inner:tt refusal) => { fn refusal(&self) -> Option<String> { self.$inner.refusal() } };
    (@ $inner:tt is_spared) => { fn is_spared(&self) -> bool { self.$inner.is_spared() } };
    (@ $inner:tt may_end_run) => { fn may_end_run(&self) -> bool { self.$inner.may_end_run() } };
    (@ $inner:tt step_calls) => { fn step_calls(&self) -> Option<u64> { self.$inner.step_calls() } };
    (@ $inner:tt can_go_back) => {
        fn can_go_back(&self) -> $crate::Result<()> { self.$inner.can_go_back() }
    };
    (@ $inner:tt save) => {
        fn save(&self, snapshot: &mut $crate::system::Snapshot) -> $crate::Result<()> {
            self.$inner.save(snapshot)
        }
    };
    (@ $inner:tt restore) => {
        fn restore(&mut self, snapshot: &$crate::system::Snapshot) -> $crate::Result<()> {
            self.$inner.restore(snapshot)
        }
    };
    (@ $inner:tt discard) => { fn discard(&mut self) -> $crate::Result<()> { self.$inner.discard() } };
}

#[cfg(test)]
mod tests {
    use crate::linalg::Matrix;
    use crate::solver::SolverConfig;
    use crate::system::filtered::WithFilters;
    use crate::system::{Dependencies, FilterConfig, Filtered};
    use crate::system::{LinearOde, OdeModel, StateSpace, Subsystem, Variable};

    /// A wrapper says of every method what becomes of it, be it that it is left out.
    #[test]
    fn wrappers_forget_no_method() {
        let methods: Vec<&str> = include_str!("subsystem.rs")
            .lines()
            .filter_map(|line| line.strip_prefix("    fn ")?.split('(').next())
            .collect();
        assert!(methods.len() >= 27 && methods.contains(&"step_held"), "{methods:?}");
        for (file, text) in [
            ("forward.rs", include_str!("forward.rs")),
            ("filtered.rs", include_str!("filtered.rs")),
            ("stale_reading.rs", include_str!("stale_reading.rs")),
        ] {
            let words: Vec<&str> = text.split(|c: char| !c.is_alphanumeric() && c != '_').collect();
            let forgotten: Vec<_> = methods.iter().filter(|method| !words.contains(method)).collect();
            assert!(forgotten.is_empty(), "{file} does not name {forgotten:?}");
        }
    }

    /// Found by trial steps, as those of FMUs are.
    struct Tried(OdeModel);

    impl Subsystem for Tried {
        fn model_source(&self) -> Option<String> {
            Some("trial steps".into())
        }
        crate::forward_to!(0: ports, initialize, read, step, get, set, solver, save, restore);
    }

    #[test]
    fn filters_do_not_hide_where_a_model_comes_from() {
        let one = |value: f64| Matrix::from_slice(1, 1, &[value]);
        let matrices = StateSpace { a: one(-1.0), b: one(1.0), c: one(1.0), d: one(0.0) };
        let ode =
            LinearOde::new(matrices, vec![Variable::new("u")], vec![Variable::new("y")], &[0.0]).unwrap();
        let inner = Tried(OdeModel::new(Box::new(ode), &SolverConfig::Exact {}).unwrap());
        let filtered = Some(Filtered { of: 0, filter: FilterConfig::Pt1 { omega: 10.0 } });
        let output = Variable { filtered, depends: Dependencies::None, ..Variable::new("y_filtered") };
        let with = WithFilters::new("box", Box::new(inner), vec![output]).unwrap();
        assert_eq!(with.model_source().as_deref(), Some("trial steps"));
    }
}
