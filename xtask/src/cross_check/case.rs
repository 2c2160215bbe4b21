//! One FMU with its inputs as a system file.

use super::collection::Entry;
use super::table::Table;
use crate::command::Result;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

/// Most communication steps: where the collection asks for more, steps are longer by a whole number.
const MOST_STEPS: f64 = 20_000.0;
/// Steps where nothing says how long they are.
const STEPS: f64 = 500.0;

/// A variable and its start value, in words that TOML and JSON share.
type StartValue = (&'static str, &'static str);

/// Start values without which a reference is not met, by tool and FMU: the collection has no place for them.
const START_VALUES: [(&str, &str, &[StartValue]); 1] = [
    // The reference was made with these, not with the defaults.
    ("Test-FMUs", "Feedthrough", &[("real_fixed_param", "1.0"), ("string_param", "\"FMI is awesome!\"")]),
];

/// What FMPy reads of a variable.
pub(super) struct Variable {
    kind: String,
    causality: String,
    variability: String,
}

impl Variable {
    /// Whether it moves between communication points.
    pub(super) fn is_continuous(&self) -> bool {
        self.kind == "Real" && !matches!(self.variability.as_str(), "discrete" | "tunable" | "fixed")
    }
}

/// An FMU, its experiment, and what is looked at.
pub(super) struct Case {
    pub(super) entry: Entry,
    pub(super) folder: PathBuf,
    pub(super) start: f64,
    pub(super) stop: f64,
    pub(super) step: f64,
    /// Relative tolerance; 0 if none is asked for.
    pub(super) tolerance: f64,
    pub(super) variables: BTreeMap<String, Variable>,
    pub(super) reference: Option<Table>,
    /// Columns of the reference that are variables of the FMU.
    pub(super) outputs: Vec<String>,
    inputs: Vec<String>,
}

impl Case {
    /// `description` is what `fmpy_run.py describe` prints.
    pub(super) fn new(entry: Entry, folder: PathBuf, description: &str) -> Result<Case> {
        let read = |suffix: &str| std::fs::read_to_string(folder.join(format!("{}{suffix}", entry.name)));
        let (variables, proposed) = variables(description);
        let settings = settings(&read("_ref.opt").map_err(|error| format!("_ref.opt: {error}"))?);
        let setting = |name: &str| settings.get(name).copied().filter(|value| *value > 0.0);
        let (start, stop) = (setting("StartTime").unwrap_or(0.0), setting("StopTime").unwrap_or(1.0));
        let wanted = if entry.kind == "cs" { setting("StepSize").or(proposed) } else { None };
        let wanted = wanted.or(setting("OutputIntervalLength")).unwrap_or((stop - start) / STEPS);
        let step = wanted * ((stop - start) / wanted / MOST_STEPS).ceil().max(1.0);
        let steps = ((stop - start) / step + 1e-6).floor().max(1.0);
        let reference = read("_ref.csv").ok().and_then(|text| Table::parse(&text));
        let is_text = |name: &str| variables.get(name).is_none_or(|variable| variable.kind == "String");
        let outputs = reference.iter().flat_map(|table| table.names.iter().skip(1));
        let outputs = outputs.filter(|name| !is_text(name)).cloned().collect();
        let table = read("_in.csv").ok().and_then(|text| Table::parse(&text));
        let is_driven = |name: &&String| {
            let causality = variables.get(*name).map(|variable| variable.causality.as_str());
            matches!(causality, Some("input" | "parameter"))
        };
        let inputs = table.iter().flat_map(|table| table.names.iter().skip(1)).filter(is_driven);
        let inputs = inputs.cloned().collect();
        let stop = start + steps * step;
        let tolerance = setting("RelTol").unwrap_or(0.0);
        Ok(Case { entry, folder, start, stop, step, tolerance, variables, reference, outputs, inputs })
    }

    /// The table of inputs, if it has one that is used.
    pub(super) fn input_file(&self) -> Option<PathBuf> {
        (!self.inputs.is_empty()).then(|| self.folder.join(format!("{}_in.csv", self.entry.name)))
    }

    /// Its known start values as a table, with what stands around and inside it.
    pub(super) fn start_values(&self, open: &str, between: &str, close: &str) -> String {
        let values = self.known_values().map(|(name, value)| format!("\"{name}\"{between}{value}"));
        format!("{open}{}{close}", values.collect::<Vec<_>>().join(", "))
    }

    fn known_values(&self) -> impl Iterator<Item = &StartValue> {
        let is_own =
            |(tool, name, _): &&(&str, &str, _)| *tool == self.entry.tool && *name == self.entry.name;
        let known = START_VALUES.iter().find(is_own).map_or(&[][..], |(_, _, values)| values);
        known.iter().filter(|(name, _)| self.variables.contains_key(*name))
    }

    pub(super) fn fmu(&self) -> PathBuf {
        self.folder.join(format!("{}.fmu", self.entry.name))
    }

    /// Writes the system file.
    pub(super) fn write_system(&self) -> Result<PathBuf> {
        let name = &self.entry.name;
        let mut text = format!(
            "[run]\nstart = {:?}\nstop = {:?}\nstep = {:?}\ncoupling = \"zoh\"\n",
            self.start, self.stop, self.step
        );
        let mut add = |line: std::fmt::Arguments<'_>| text.write_fmt(line).map_err(|error| error.to_string());
        if !self.outputs.is_empty() {
            let names: Vec<String> = self.outputs.iter().map(|name| quoted(&format!("fmu.{name}"))).collect();
            add(format_args!("record = [{}]\n", names.join(", ")))?;
        }
        add(format_args!("\n[subsystems.fmu]\nfmu = {}\n", quoted(&format!("{name}.fmu"))))?;
        if self.known_values().next().is_some() {
            add(format_args!("parameters = {}\n", self.start_values("{ ", " = ", " }")))?;
        }
        if self.entry.kind == "me" {
            add(format_args!("interface = \"model-exchange\"\n"))?;
            if self.tolerance > 0.0 {
                add(format_args!("solver = {{ method = \"adaptive\", rtol = {:?} }}\n", self.tolerance))?;
            }
        }
        let time = self.input_file().and_then(|file| std::fs::read_to_string(file).ok());
        let time =
            time.and_then(|text| Some(Table::parse(&text)?.names.first()?.clone())).unwrap_or_default();
        for input in &self.inputs {
            let is_continuous = self.variables.get(input).is_some_and(Variable::is_continuous);
            let interpolation = if is_continuous { "linear" } else { "previous" };
            add(format_args!(
                "\n[[inputs]]\nto = {}\nsignal = {{ kind = \"table\", file = {}, time = {}, column = {}, interpolation = \"{interpolation}\" }}\n",
                quoted(&format!("fmu.{input}")),
                quoted(&format!("{name}_in.csv")),
                quoted(&time),
                quoted(input),
            ))?;
        }
        let file = self.folder.join("system.toml");
        std::fs::write(&file, text).map_err(|error| format!("{}: {error}", file.display()))?;
        Ok(file)
    }

    /// A result of koppel under the names of the FMU.
    pub(super) fn result(&self, file: &Path) -> Option<Table> {
        let mut table = Table::parse(&std::fs::read_to_string(file).ok()?)?;
        for name in &mut table.names {
            *name = name.strip_prefix("fmu.").unwrap_or(name).to_owned();
        }
        Some(table)
    }
}

/// A string of TOML.
fn quoted(text: &str) -> String {
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""))
}

/// Variables by name, and the step the FMU proposes.
fn variables(description: &str) -> (BTreeMap<String, Variable>, Option<f64>) {
    let mut variables = BTreeMap::new();
    let mut step = None;
    for line in description.lines() {
        let cells: Vec<&str> = line.split('\t').collect();
        let owned = str::to_owned;
        if let [name, kind, causality, variability] = cells[..] {
            let (kind, causality, variability) = (owned(kind), owned(causality), owned(variability));
            variables.insert(owned(name), Variable { kind, causality, variability });
        } else if let ["step", size] = cells[..] {
            step = size.parse().ok().filter(|step| *step > 0.0);
        }
    }
    (variables, step)
}

/// Numbers of a `_ref.opt` file: `StepSize, 0.01`.
fn settings(text: &str) -> BTreeMap<String, f64> {
    let setting = |line: &str| {
        let (name, value) = line.split_once(',')?;
        Some((name.trim().to_owned(), value.trim().parse().ok()?))
    };
    text.lines().filter_map(setting).collect()
}
