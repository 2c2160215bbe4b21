//! The system and its start, from plain data.

use std::cell::RefCell;

use koppel::analysis::{FilterChoice, choose_filter};
use koppel::identify::ProbeStore;
use koppel::run::{Reading, Run};
use koppel::system::{Connection, FilterConfig, Subsystem, System, SystemBuilder};
use koppel::workbench::{Copies, Preparation};
use koppel_fmi::probe::Capability;
use koppel_io::system_file::{Marks, SubsystemSpec};

use crate::fmu::{self, Purpose, Setting, Wanted};
use crate::{Result, Session, choose};

impl Session {
    /// Builds the system; may be called again and again. What FMUs declare is believed.
    ///
    /// # Errors
    ///
    /// If the parts do not fit together.
    pub fn build(&self) -> Result<System> {
        self.build_for(Purpose::Any)
    }

    pub(crate) fn build_for(&self, purpose: Purpose<'_>) -> Result<System> {
        let spec = &self.spec;
        let (mut builder, mut marks, mut missing) = (SystemBuilder::new(), Marks::default(), Vec::new());
        // A check finds what is wrong with any part.
        let is_check = matches!(purpose, Purpose::Check);
        for (index, one) in spec.subsystems().iter().enumerate() {
            match marks.note(self.subsystem(index, one, purpose)) {
                Some(model) => builder = builder.add_boxed(&one.name, model),
                None if is_check => missing.push(one.name.as_str()),
                None => break,
            }
        }
        if !is_check {
            spec.refuse(std::mem::take(&mut marks), Vec::new(), Vec::new())?;
        }
        // Nothing can be said of wires to what is missing.
        let is_known = |end: &str| {
            let is_of = |name: &&str| end.strip_prefix(name).is_some_and(|rest| rest.starts_with('.'));
            !missing.iter().any(is_of)
        };
        let is_whole = |wire: &&Connection| wire.from.iter().chain([&wire.to]).all(|end| is_known(end));
        for connection in spec.connections().filter(is_whole) {
            let mut connection = connection.clone();
            if is_open(&connection) {
                // Until it is chosen, any filter tells where loops are broken.
                connection.filter = Some(FilterConfig::pt2(1.0 / spec.run.step));
            }
            builder = builder.connect(connection);
        }
        for (to, signal) in spec.signals().filter(|(to, _)| is_known(to)) {
            builder = builder.external(to, signal.clone());
        }
        let (system, wiring) = match builder.build_partly() {
            Ok((system, wiring)) => (Some(system), wiring),
            Err(error) => (None, error.each()),
        };
        let run = system.iter().filter(|_| is_check && missing.is_empty());
        let run = run.flat_map(|system| spec.run.mistakes(&system.graph)).collect();
        spec.refuse(marks, wiring, run)?;
        Ok(system.unwrap_or_else(|| unreachable!("what is not built has mistakes")))
    }

    fn subsystem(
        &self,
        index: usize,
        one: &SubsystemSpec,
        purpose: Purpose<'_>,
    ) -> std::result::Result<Box<dyn Subsystem>, Marks> {
        let run = &self.spec.run;
        match &one.fmu {
            None => one.model().map(|model| Box::new(model) as Box<dyn Subsystem>),
            Some(fmu) => {
                let setting = Setting {
                    name: &one.name,
                    probe: one.probe,
                    step: run.step * f64::from(run.every.get(&one.name).copied().unwrap_or(1)),
                    log: self.log.as_ref(),
                    isolating: fmu.isolating.or(self.spec.isolating),
                    purpose,
                    without: self.lacks.get(&one.name),
                    journal: self.journals.as_ref().map(|journals| journals.of(index, &one.name)),
                };
                Ok(fmu::build(fmu, setting)?)
            }
        }
    }

    /// Builds the system and brings it to its start.
    ///
    /// # Errors
    ///
    /// If the parts do not fit together, or no consistent start is found.
    pub fn build_run(&self) -> Result<Run> {
        if self.spec.is_open() {
            let mut session = self.clone();
            session.choose_settings(&|_| {})?;
            return session.build_run();
        }
        if self.spec.connections().any(is_open) {
            let mut session = self.clone();
            session.choose_filters()?;
            return session.at_start();
        }
        self.at_start()
    }

    fn at_start(&self) -> Result<Run> {
        let wanted = self.wanted();
        let purpose = if self.is_trial { Purpose::Trial(&wanted) } else { Purpose::Run(&wanted) };
        let system = self.build_for(purpose)?;
        let failed = RefCell::new(None);
        // Copies keep no logs of their own.
        let apart = Session { journals: None, log: None, ..self.clone() };
        let copies =
            || apart.build_for(Purpose::Copy(&wanted)).map_err(|error| choose::engine(error, &failed));
        let copies: &Copies<'_> = &copies;
        let preparation = Preparation {
            store: self.cache.as_deref().map(|cache| cache as &dyn ProbeStore),
            copies: (!self.spec.fmus().is_empty()).then_some(copies),
        };
        Run::prepared(system, &self.spec.run, preparation).map_err(|error| match failed.take() {
            Some(error) => error,
            None => self.spec.blame(*error),
        })
    }

    /// What its runs want of FMUs: only what the method needs, and nothing of what was not tried.
    pub(crate) fn wanted(&self) -> Wanted<'_> {
        let run = &self.spec.run;
        let makes_trials = self.is_trial || run.makes_trials();
        let mut capabilities = Vec::new();
        if makes_trials || self.journals.is_some() {
            capabilities.push(Capability::RollBack);
        }
        if self.journals.is_some() {
            capabilities.push(Capability::Serialization);
        }
        if makes_trials {
            capabilities.push(Capability::DirectionalDerivatives);
        }
        // Slopes inside a step, of a coupling or of a signal.
        if run.coupling.gives_slopes(run.hold) || self.spec.signals().next().is_some() {
            capabilities.extend([Capability::InputDerivatives, Capability::IntermediateUpdate]);
        }
        Wanted {
            capabilities,
            is_fresh: run.reading == Reading::Fresh,
            spared: !makes_trials,
            trials: &self.trials,
            cache: self.cache.as_deref(),
        }
    }

    /// Puts numbers in the place of `filter = "auto"`, and tells them.
    ///
    /// # Errors
    ///
    /// If the parts do not fit together, no consistent start is found, or a connection is in no loop.
    pub fn choose_filters(&mut self) -> Result<Vec<FilterChoice>> {
        let open = self.spec.connections().filter(|c| is_open(c)).map(|c| c.to.clone());
        let open: Vec<String> = open.collect();
        if open.is_empty() {
            return Ok(Vec::new());
        }
        let mut trial = self.trial().at_start()?;
        // What is stable at the largest step is so at smaller ones.
        let run = self.spec.run.with_one_step(self.spec.run.largest_step());
        let choose = |to: &String| choose_filter(&mut trial, &run, to);
        let chosen = open.iter().map(choose).collect::<koppel::Result<Vec<_>>>();
        let chosen = chosen.map_err(|error| self.spec.blame(*error))?;
        for choice in &chosen {
            self.spec.put_filter(&choice.to, FilterConfig::pt2(choice.omega));
        }
        Ok(chosen)
    }
}

/// True if a filter is still to be chosen.
fn is_open(connection: &Connection) -> bool {
    matches!(connection.filter, Some(FilterConfig::Auto {}))
}
