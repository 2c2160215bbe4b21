//! One FMU as a system: its default experiment, and inputs from a table.
//!
//! The system is written as the text of a system file, so that options, messages and results are those of any other system.

use std::fmt::Write as _;
use std::path::Path;

use koppel::error::closest;
use koppel_fmi::archive::Archive;
use koppel_fmi::description::{Causality, Description, ValueType, Variability, Variable};

use super::{Document, Setting, SystemSpec, overrides};
use crate::results::{first_name, read_table};
use crate::{Error, Result};

/// Steps of a run where the FMU proposes no step.
const STEPS: f64 = 500.0;

/// True if a file is to be read as an FMU, by its name.
#[must_use]
pub fn is_fmu(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("fmu"))
}

/// One FMU with its default experiment. `inputs` is a table of values over time, by the names of inputs. Settings may name variables of
/// the FMU without its own name.
///
/// # Errors
///
/// If the FMU or the table cannot be read, or a setting holds a mistake.
pub fn load_fmu(path: &Path, inputs: Option<&Path>, settings: &[Setting]) -> Result<SystemSpec> {
    let read = Archive::open(path).and_then(|mut archive| Description::read(&mut archive));
    let description = read.map_err(|error: Box<koppel_fmi::Error>| {
        Box::new(Error::Structure { message: error.to_string(), hints: error.hint().into_iter().collect() })
    })?;
    let name = subsystem_name(path);
    let experiment = Experiment::of(&description, settings);
    let mut text = system(path, &name, &description, &experiment);
    if let Some(table) = inputs {
        text += &driven(table, &name, &description)?;
    }
    let mut document = Document::new(&text, path, &format!("{} as a system", path.display()))?;
    document.choices = experiment.choices;
    let is_variable = |setting: &Setting| description.variables.iter().any(|one| one.name == setting.name);
    let qualified = |setting: &Setting| match is_variable(setting) {
        true => Setting { name: format!("{name}.{}", setting.name), ..setting.clone() },
        false => setting.clone(),
    };
    let settings: Vec<Setting> = settings.iter().map(qualified).collect();
    let marks = overrides::apply_all(&mut document, &settings)?;
    SystemSpec::read_with(document, marks)
}

/// Its name as a subsystem: the name of the file, as far as it can be one.
fn subsystem_name(path: &Path) -> String {
    let stem = path.file_stem().unwrap_or_default().to_string_lossy();
    let name: String = stem.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '_' }).collect();
    if name.starts_with(|c: char| c.is_ascii_alphabetic()) { name } else { format!("fmu_{name}") }
}

/// When it runs, and in which steps.
struct Experiment {
    start: f64,
    stop: f64,
    step: f64,
    /// What the FMU does not propose, and what is taken instead.
    choices: Vec<(&'static str, String)>,
}

impl Experiment {
    fn of(description: &Description, settings: &[Setting]) -> Experiment {
        let given = |key: &str| {
            let setting = settings.iter().rev().find(|setting| setting.name == format!("run.{key}"));
            setting.and_then(|setting| setting.value.trim().parse::<f64>().ok()).filter(|v| v.is_finite())
        };
        let proposed = description.default_experiment.as_ref();
        let mut choices = Vec::new();
        let start = given("start").or(proposed.and_then(|e| e.start_time)).unwrap_or(0.0);
        let known = given("stop").or(proposed.and_then(|e| e.stop_time).filter(|stop| *stop > start));
        let stop = known.unwrap_or(start + 1.0);
        if known.is_none() {
            choices.push(("stop", format!("{stop} s: the FMU proposes no stop time")));
        }
        let known = given("step").or(proposed.and_then(|e| e.step_size).filter(|step| *step > 0.0));
        let step = known.unwrap_or_else(|| nice((stop - start) / STEPS));
        if known.is_none() {
            choices.push(("step", format!("{step} s: the FMU proposes no step")));
        }
        Experiment { start, stop, step, choices }
    }
}

/// The largest of 1, 2 or 5 times a power of ten that is not above.
fn nice(step: f64) -> f64 {
    let power = step.log10().floor() as i32;
    let mantissa = step / 10_f64.powi(power);
    let digit = [5, 2, 1].into_iter().find(|digit| f64::from(*digit) <= mantissa * (1.0 + 1e-9)).unwrap_or(1);
    // Read from its decimal form, it is the number that a user would write.
    format!("{digit}e{power}").parse().unwrap_or(step)
}

fn system(path: &Path, name: &str, description: &Description, experiment: &Experiment) -> String {
    let Experiment { start, stop, step, .. } = experiment;
    let file = path.file_name().unwrap_or_default().to_string_lossy();
    let mut text = format!(
        "title = {}\n\n[run]\nstart = {start:?}\nstop = {stop:?}\nstep = {step:?}\ncoupling = \"zoh\"\n\n[subsystems.{name}]\nfmu = {}\n",
        quoted(&description.model_name),
        quoted(&file),
    );
    if description.co_simulation.is_none() {
        text += "interface = \"model-exchange\"\n";
    }
    text
}

/// `[[inputs]]` from the columns of a table.
fn driven(path: &Path, name: &str, description: &Description) -> Result<String> {
    let table = read_table(path)?;
    let time = first_name(path).unwrap_or_else(|| "time".into());
    let inputs: Vec<&Variable> =
        description.variables.iter().filter(|one| one.causality == Causality::Input).collect();
    let known: Vec<String> = inputs.iter().map(|one| one.name.clone()).collect();
    let whole = std::path::absolute(path).unwrap_or_else(|_| path.into());
    let mut text = String::new();
    for (column, _) in &table.columns {
        let Some(input) = inputs.iter().find(|one| one.name == *column) else {
            let message = format!("`{}`: the FMU has no input `{column}`", path.display());
            let close = closest(column, &known).map(|close| format!("did you mean `{close}`?"));
            let list = || format!("its inputs: {}", known.join(", "));
            let hint = if known.is_empty() { "it has no inputs".into() } else { close.unwrap_or_else(list) };
            return Err(Box::new(Error::Structure { message, hints: vec![hint] }));
        };
        let _ = write!(
            text,
            "\n[[inputs]]\nto = {}\nsignal = {{ kind = \"table\", file = {}, time = {}, column = {}, interpolation = \"{}\" }}\n",
            quoted(&format!("{name}.{column}")),
            quoted(&whole.to_string_lossy()),
            quoted(&time),
            quoted(column),
            if moves(input) { "linear" } else { "previous" },
        );
    }
    Ok(text)
}

/// True for inputs that follow the lines between the points of a table.
fn moves(input: &Variable) -> bool {
    let is_real = matches!(input.value_type, ValueType::Float64 | ValueType::Float32);
    is_real && input.variability == Variability::Continuous
}

/// A string of TOML.
fn quoted(text: &str) -> String {
    toml::Value::String(text.to_owned()).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_are_those_that_a_user_would_write() {
        assert_eq!([0.002, 0.0199, 0.3, 12.0, 5e-7].map(nice), [0.002, 0.01, 0.2, 10.0, 5e-7]);
        assert_eq!(nice(0.7 - 0.5), 0.2, "rounding makes no smaller step");
    }

    #[test]
    fn names_of_files_become_names_of_subsystems() {
        let name = |file: &str| subsystem_name(Path::new(file));
        assert_eq!([name("a/Engine-2.fmu"), name("2nd.fmu")], ["Engine_2", "fmu_2nd"]);
    }
}
