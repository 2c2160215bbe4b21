//! Settings that koppel chooses: `coupling = "auto"`, `step = "auto"`.

use std::cell::RefCell;

use koppel::analysis::zero_stability;
use koppel::coupling::{AutoConfig, CouplingConfig};
use koppel::diagnostic::{Diagnostic, in_one_line};
use koppel::plan::{Basis, Choice, Steps, Wish, choose, held_inputs};
use koppel::run::{RunConfig, ScheduleConfig, Simulation};
use koppel::system::{Reach, algebraic_loops};
use toml::{Table, Value as Plain};

use super::SystemFile;
use super::mistake::Mark;
use super::subsystem::Purpose;
use super::tree::{Node, Value};
use super::wiring::Link;
use crate::{Error, Result};

type Marked<T> = std::result::Result<T, Mark>;
/// A coupling that the run would refuse with this schedule.
type Excluded = (CouplingConfig, ScheduleConfig);

/// Steps of a run from which the search for a step begins.
const FIRST: f64 = 500.0;
const WANTED: &str = "a number of seconds, \"auto\", or { at_most = 0.01 } for rows every 0.01 s";

/// The coupling of a run that says nothing of it.
pub(super) fn unsaid() -> CouplingConfig {
    // The engine's own default holds inputs: a run of the library is what its settings say, without choosing.
    CouplingConfig::Auto(AutoConfig::default())
}

/// What stands in the place of a number.
pub(super) fn steps(node: &Node) -> Marked<Steps> {
    match &node.value {
        Value::Text(text) if text == "auto" => Ok(Steps::Free),
        Value::Text(text) => {
            Err(Mark::new(node.span.clone(), format!("`step` must be {WANTED}, found \"{text}\"")))
        }
        Value::Table(_) => {
            let at_most = node.fields("`step`", &["at_most"])?;
            let at_most = at_most.need("at_most")?;
            match at_most.number("at_most")? {
                grid if grid > 0.0 => Ok(Steps::Within(grid)),
                grid => {
                    Err(Mark::new(at_most.span.clone(), format!("`at_most` must be positive, found {grid}")))
                }
            }
        }
        _ => Err(node.wanted("step", WANTED)),
    }
}

/// Where the search begins.
pub(super) fn first_step(steps: Steps, run: &RunConfig) -> f64 {
    let first = (run.stop - run.start) / FIRST;
    match steps {
        Steps::Given => run.step,
        // A run that ends before it begins is refused later on.
        Steps::Free | Steps::Dividing => {
            if first > 0.0 {
                first
            } else {
                1.0
            }
        }
        Steps::Within(grid) => grid,
    }
}

/// As it is written in a file; nothing for a number.
pub(super) fn written(steps: Steps) -> Option<Plain> {
    match steps {
        Steps::Given | Steps::Dividing => None,
        Steps::Free => Some(Plain::String("auto".into())),
        Steps::Within(grid) => {
            Some(Plain::Table(Table::from_iter([("at_most".to_owned(), Plain::Float(grid))])))
        }
    }
}

/// Refuses an error that cannot be aimed at, where it stands.
pub(super) fn check(coupling: &CouplingConfig, node: &Node) -> Marked<()> {
    let Some(aim) = coupling.open() else { return Ok(()) };
    aim.check().map_err(|error| {
        let place = node.get("error").unwrap_or(node);
        Mark::new(place.span.clone(), error.to_string())
    })
}

impl SystemFile {
    /// True if the coupling or the step is still to be chosen.
    #[must_use]
    pub fn is_open(&self) -> bool {
        self.steps != Steps::Given || self.run.coupling.open().is_some()
    }

    /// True if the file says what is to be chosen; false if it just says nothing of the coupling.
    #[must_use]
    pub fn is_asked(&self) -> bool {
        let run = self.document.root.get("run");
        let is_own = |link: &Link| link.coupling.as_ref().is_some_and(|own| own.open().is_some());
        self.steps != Steps::Given
            || run.is_some_and(|run| run.get("coupling").is_some())
            || self.links.iter().any(is_own)
    }

    /// Holds inputs where nothing is said of the coupling: for runs that are compared with each other, so that what is chosen makes no
    /// difference between them.
    ///
    /// # Errors
    ///
    /// None but those of the file itself.
    pub fn hold_if_unasked(&mut self) -> Result<()> {
        if self.is_open() && !self.is_asked() { self.set("run.coupling", "zoh", "a study") } else { Ok(()) }
    }

    /// True if koppel chose the coupling: it was judged then, and is not refused.
    #[must_use]
    pub fn has_chosen_coupling(&self) -> bool {
        self.has_chosen_coupling
    }

    /// What was chosen in place of `auto`.
    #[must_use]
    pub fn chosen(&self) -> Option<&Choice> {
        self.chosen.as_deref()
    }

    /// Puts settings in the place of `auto`, and tells them; nothing if nothing is open. `progress` is told what is under way.
    ///
    /// # Errors
    ///
    /// If the parts do not fit together, or no consistent start is found.
    pub fn choose_settings(&mut self, progress: &dyn Fn(&str)) -> Result<Option<&Choice>> {
        if !self.is_open() {
            return Ok(None);
        }
        if self.links.is_empty() && !self.is_asked() {
            // There is nothing to couple.
            self.run.coupling = self.run.coupling.filled(&CouplingConfig::Zoh {});
            return Ok(None);
        }
        let choice = self.accepted_choice(progress)?;
        self.has_chosen_coupling = self.run.coupling.open().is_some();
        self.run = choice.on(&self.run);
        self.steps = Steps::Given;
        self.chosen = Some(Box::new(choice));
        Ok(self.chosen())
    }

    /// A choice that the run does not refuse; the next one where the first would be.
    fn accepted_choice(&self, progress: &dyn Fn(&str)) -> Result<Choice> {
        let is_open = self.run.coupling.open().is_some();
        // What FMUs can do is found out first, so that it is not taken for the time a copy needs.
        let _ = self.build_for(Purpose::Copy(&self.trial().wanted()));
        let mut excluded: Vec<Excluded> = Vec::new();
        loop {
            let mut choice = match self.is_asked() {
                true => self.choice(&excluded, progress)?,
                false => self.unasked_choice(&excluded, progress),
            };
            // A coupling that was given is judged as any other.
            if !is_open {
                return Ok(choice);
            }
            let config = choice.on(&self.run);
            let Err(reason) = self.accepts(&config, choice.basis) else { return Ok(choice) };
            // The last resort is taken all the same.
            let refused = (choice.chosen.coupling.clone(), choice.chosen.schedule.clone());
            if choice.basis == Basis::Nothing || excluded.contains(&refused) {
                choice.warnings.push(reason);
                return Ok(choice);
            }
            excluded.push(refused);
        }
    }

    /// Refuses settings with which no run begins, or a loop is not zero-stable; what cannot be judged is not refused.
    fn accepts(&self, config: &RunConfig, basis: Basis) -> std::result::Result<(), String> {
        let first = |error: &dyn Diagnostic| in_one_line(&error.what(), 1);
        // What was run on copies can be run.
        if matches!(basis, Basis::Forecast | Basis::LinearModels) {
            self.copy(config).map_err(|error| first(&*error))?;
        }
        let Ok(system) = self.build_for(Purpose::Check) else { return Ok(()) };
        if algebraic_loops(&system.graph, Reach::ThroughFilters).is_empty() {
            return Ok(());
        }
        let Ok(mut copy) = self.copy_at_start() else { return Ok(()) };
        zero_stability(&mut copy, config).refuse_unstable(config).map_err(|error| first(&*error))
    }

    fn choice(&self, excluded: &[Excluded], progress: &dyn Fn(&str)) -> Result<Choice> {
        let failed = RefCell::new(None);
        let mut start = |config: &RunConfig| self.copy(config).map_err(|error| engine(error, &failed));
        choose(&self.wish(excluded), &mut start, progress).map_err(|error| match failed.take() {
            Some(error) => error,
            None => self.blame(*error),
        })
    }

    /// Whatever fails in a choice that nobody asked for, the run will tell it, with the logs of its FMUs.
    fn unasked_choice(&self, excluded: &[Excluded], progress: &dyn Fn(&str)) -> Choice {
        let wish = self.wish(excluded);
        let refused = self.refused().into_iter().next().map(|(name, reason)| format!("`{name}`: {reason}"));
        match refused {
            Some(reason) => held_inputs(&wish, reason),
            None => self
                .choice(excluded, progress)
                .unwrap_or_else(|_| held_inputs(&wish, "it cannot be tried".into())),
        }
    }

    /// A copy of the system at its start, with other settings; it keeps no logs.
    pub(super) fn copy(&self, config: &RunConfig) -> Result<Simulation> {
        let run = config.clone();
        let file = SystemFile { run, steps: Steps::Given, journals: None, log: None, ..self.trial() };
        file.simulation()
    }

    fn wish(&self, excluded: &[Excluded]) -> Wish {
        let run = self.document.root.get("run");
        let schedules = match run.and_then(|run| run.get("schedule")) {
            Some(_) => vec![self.run.schedule.clone()],
            None => vec![ScheduleConfig::PARALLEL, ScheduleConfig::SEQUENCE],
        };
        Wish {
            config: self.run.clone(),
            steps: self.steps,
            schedules,
            aim: self.run.coupling.open().unwrap_or_default(),
            spared: self.spared(),
            excluded: excluded.to_vec(),
            patience: if self.is_asked() { Wish::ASKED } else { Wish::UNASKED },
        }
    }

    /// The lines of a system file that fix what was chosen.
    #[must_use]
    pub fn pin(&self) -> Vec<String> {
        let Some(choice) = &self.chosen else { return Vec::new() };
        let run = &self.run;
        let mut lines = vec![format!("step = {:?}", run.step)];
        if let Ok(schedule) = Plain::try_from(&run.schedule) {
            lines.push(format!("schedule = {schedule}"));
        }
        if choice.record_every > 1 {
            lines.push(format!("record_every = {}", choice.record_every));
        }
        lines.push(format!("coupling = {}", brief(&run.coupling)));
        lines
    }
}

/// Keeps the error as it was, for the one who asked; the engine gets its words.
pub(super) fn engine(error: Box<Error>, kept: &RefCell<Option<Box<Error>>>) -> Box<koppel::Error> {
    let words = error.to_string();
    kept.replace(Some(error));
    Box::new(koppel::Error::Foreign { source: words.into(), hint: None })
}

/// A coupling as it would be written: settings that are what they are anyway are left out.
#[must_use]
pub fn brief(coupling: &CouplingConfig) -> Plain {
    let name = || Plain::String(coupling.name().to_owned());
    let Ok(Plain::Table(mut table)) = Plain::try_from(coupling) else { return name() };
    if let CouplingConfig::Mixed { default, connections } = coupling {
        table.insert("default".into(), brief(default));
        let connections = connections.iter().map(|(to, one)| (to.clone(), brief(one)));
        table.insert("connections".into(), Plain::Table(connections.collect()));
        return Plain::Table(table);
    }
    let bare = Table::from_iter([("method".to_owned(), name())]);
    let usual: std::result::Result<CouplingConfig, _> = Plain::Table(bare).try_into();
    let usual = usual.ok().and_then(|usual| Plain::try_from(&usual).ok());
    table.retain(|key, value| key == "method" || usual.as_ref().and_then(|u| u.get(key)) != Some(value));
    if table.len() == 1 { name() } else { Plain::Table(table) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_coupling_is_written_without_what_goes_without_saying() {
        let bare: CouplingConfig = toml::from_str("method = \"prestep\"").unwrap();
        assert_eq!(brief(&bare).to_string(), "\"prestep\"");
        let text = "method = \"prestep\"\nerror_equation = \"carried\"";
        let carried: CouplingConfig = toml::from_str(text).unwrap();
        let written = brief(&carried).to_string();
        assert!(
            written.contains("error_equation = \"carried\"") && !written.contains("error_steps"),
            "{written}"
        );
        let again: CouplingConfig =
            toml::from_str::<Table>(&format!("c = {written}")).unwrap()["c"].clone().try_into().unwrap();
        assert_eq!(again, carried);
    }
}
