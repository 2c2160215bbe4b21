//! `koppel check`.

use koppel::analysis::{forecast, structure, zero_stability};
use koppel_io::drawing;

use super::frequency::Frequency;
use super::run::load;
use crate::arguments::CheckArguments;
use crate::exit::Exit;
use crate::failure::{Failure, Result, note};
use crate::output::{self, Check};
use crate::session::{self, Cache};

/// Looks at a system without running it: structure, loops, zero-stability, forecast.
pub(super) fn check(arguments: &CheckArguments) -> Result<Exit> {
    let mut file = load(&arguments.file, &arguments.settings, arguments.tolerant)?;
    file.notices().iter().for_each(|(kind, text)| note(kind, text));
    file.warnings().iter().for_each(|text| note("warning", text));
    session::check_drawings(&arguments.file, &file.reads(), &arguments.graph, &arguments.plot)?;
    let cache = Cache::new(&arguments.cache);
    cache.serve(&mut file);
    let filters = file.choose_filters()?;
    let simulation = file.simulation();
    cache.tell();
    let mut simulation = simulation?;
    let structure = structure(&mut simulation)?;
    let stability = zero_stability(&mut simulation, &file.run);
    let forecast = forecast(&mut simulation, &file.run);
    if let Some(path) = &arguments.graph {
        let text = drawing::svg(&structure, &stability);
        std::fs::write(path, text)
            .map_err(|error| Failure::Write(koppel_io::Error::io("write", path)(error)))?;
    }
    let check = Check::new(&file, structure, stability, filters, forecast);
    let frequency = if arguments.frequency { Some(Frequency::new(&file)?) } else { None };
    if let (Some(path), Some(frequency)) = (&arguments.plot, &frequency) {
        frequency.plot(path)?;
    }
    if arguments.json {
        let mut document = serde_json::to_value(&check).unwrap_or_default();
        if let Some(frequency) = &frequency {
            document["frequency"] = frequency.document();
        }
        output::print_json(&document)?;
    } else {
        output::print(&check.text(arguments.graph.as_deref()))?;
        if let Some(frequency) = &frequency {
            output::print(&format!("\n{}", frequency.text()))?;
        }
    }
    Ok(Exit::Ok)
}
