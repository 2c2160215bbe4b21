//! `koppel fmu`.

use std::path::Path;
use std::time::Duration;

use koppel_fmi::Fmu;
use koppel_fmi::ffi::Kind;
use koppel_fmi::probe::Findings;

use serde_json::{Value, json};

use super::{fmu_export, fmu_info, reporting, worker};
use crate::arguments::FmuCommand;
use crate::exit::Exit;
use crate::failure::{Failure, Result};
use crate::output::{Grid, error_document, print, print_json};

/// Does what was asked of an FMU.
pub(super) fn fmu(command: &FmuCommand) -> Result<Exit> {
    match command {
        FmuCommand::Info { file, json } => reporting(fmu_info::info(file, *json), *json),
        FmuCommand::Check { file, step, timeout, json } => {
            reporting(check(file, *step, *timeout, *json), *json)
        }
        FmuCommand::Export(arguments) => fmu_export::export(arguments),
    }
}

/// What is said of an FMU that cannot be opened.
#[expect(clippy::boxed_local, reason = "errors come in boxes, and go to `map_err`")]
pub(super) fn words(error: Box<koppel_fmi::Error>) -> Failure {
    Failure::of(&*error)
}

/// What the FMU declares beside what holds of it, for each of its interfaces, tried in a process of its own.
fn check(file: &Path, step: Option<f64>, timeout: f64, json: bool) -> Result<Exit> {
    let fmu = Fmu::open(file).map_err(words)?;
    let description = fmu.description();
    let mut kinds = Vec::new();
    if description.co_simulation.is_some() || description.model_exchange.is_none() {
        kinds.push(Kind::CoSimulation);
    }
    if description.model_exchange.is_some() {
        kinds.push(Kind::ModelExchange);
    }
    let timeout = Duration::from_secs_f64(timeout.min(1e9));
    let mut all = Vec::new();
    for kind in kinds {
        all.push((kind, worker::check_apart(&fmu, kind, step, timeout)));
    }
    // An FMU of which nothing could be tried is bad input.
    let was_never_tried =
        |one: &Result<Findings>| one.as_ref().is_err_and(|why| why.code() == Exit::BadInput);
    if all.iter().all(|(_, one)| was_never_tried(one)) {
        all.iter().skip(1).filter_map(|(_, one)| one.as_ref().err()).for_each(Failure::show);
        all.swap_remove(0).1?;
    }
    let holds = all.iter().all(|(_, one)| one.as_ref().is_ok_and(Findings::hold));
    if json {
        let interfaces: Vec<Value> = all.iter().map(|(kind, one)| document(*kind, one)).collect();
        print_json(&json!({ "verdict": verdict(holds), "interfaces": interfaces }))?;
    } else {
        let tables = all.iter().filter_map(|(_, one)| Some(table(one.as_ref().ok()?)));
        print(&tables.collect::<Vec<_>>().join("\n"))?;
    }
    all.iter().filter_map(|(_, one)| one.as_ref().err()).for_each(Failure::show);
    Ok(if holds { Exit::Ok } else { Exit::RunFailed })
}

fn verdict(holds: bool) -> &'static str {
    if holds { "held" } else { "failed" }
}

/// One interface as JSON: its findings, or why there are none.
fn document(kind: Kind, tried: &Result<Findings>) -> Value {
    match tried {
        Ok(findings) => {
            let mut document = serde_json::to_value(findings).unwrap_or_default();
            document["verdict"] = verdict(findings.hold()).into();
            document
        }
        Err(failure) => {
            let interface = if kind == Kind::CoSimulation { "co-simulation" } else { "model-exchange" };
            let verdict = if matches!(failure, Failure::Failed(_)) { "crashed" } else { verdict(false) };
            json!({ "interface": interface, "verdict": verdict, "error": error_document(failure) })
        }
    }
}

fn table(findings: &Findings) -> String {
    let mut grid = Grid::new(&["capability", "declared", "found", "how"]);
    for finding in &findings.findings {
        grid.row([
            finding.capability.to_string(),
            finding.declared.to_string(),
            finding.outcome.to_string(),
            finding.text.clone(),
        ]);
    }
    format!("{} in steps of {} s\n\n{}", findings.interface, findings.step, grid.whole())
}
