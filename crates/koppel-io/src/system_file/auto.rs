//! Settings that koppel chooses: `coupling = "auto"`, `step = "auto"`.

use koppel::coupling::{AutoConfig, CouplingConfig};
use koppel::plan::Steps;
use koppel::run::RunConfig;
use toml::{Table, Value as Plain};

use super::SystemSpec;
use super::mistake::{Mark, Marks};
use super::tree::{Node, Value};
use super::wiring::Link;
use crate::Result;

type Marked<T> = std::result::Result<T, Marks>;

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
            Err(Mark::new(node.span.clone(), format!("`step` must be {WANTED}, found \"{text}\"")).into())
        }
        Value::Table(_) => {
            let at_most = node.fields("`step`", &["at_most"])?.checked()?.need("at_most")?;
            match at_most.number("at_most")? {
                grid if grid > 0.0 => Ok(Steps::Within(grid)),
                grid => {
                    let problem = format!("`at_most` must be positive, found {grid}");
                    Err(Mark::new(at_most.span.clone(), problem).into())
                }
            }
        }
        _ => Err(node.wanted("step", WANTED).into()),
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
        Mark::new(place.span.clone(), error.to_string()).into()
    })
}

impl SystemSpec {
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

    /// True if the file says who moves when.
    #[must_use]
    pub fn has_schedule(&self) -> bool {
        self.document.root.get("run").is_some_and(|run| run.get("schedule").is_some())
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
