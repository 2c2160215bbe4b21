//! `koppel check`.

use std::path::Path;

use koppel::analysis::{Forecast, ForecastOptions, Methods, structure, zero_stability};
use koppel_io::system_file::files_read;
use koppel_io::{drawing, stability_map};
use koppel_session::Session;

use super::auto::{self, Detail};
use super::frequency::Frequency;
use super::progress::Progress;
use super::run::{load, note_fmus};
use crate::arguments::CheckArguments;
use crate::execution::{self, Cache};
use crate::exit::Exit;
use crate::failure::{Failure, Result, note};
use crate::output::{self, Check, Limit};

/// Looks at a system without running it: structure, loops, zero-stability, forecast.
pub(super) fn check(arguments: &CheckArguments) -> Result<Exit> {
    let CheckArguments { graph, plot, map, .. } = arguments;
    check_numbers(arguments)?;
    let mut session = load(&arguments.file, &arguments.settings, arguments.tolerant)?;
    session.spec.notices().iter().for_each(|(kind, text)| note(kind, text));
    session.spec.warnings().iter().for_each(|text| note("warning", text));
    execution::check_drawings(&arguments.file, &files_read(&session.spec), graph, plot, map)?;
    let cache = Cache::new(&arguments.cache);
    cache.serve(&mut session);
    auto::choose(&mut session, Detail::Warnings)?;
    let filters = session.choose_filters()?;
    let mut session = session.trial();
    let run = session.build_run();
    note_fmus(&session);
    let mut run = run?;
    run.remarks().iter().for_each(|text| note("warning", text));
    // Steps that adapt are judged at their limits.
    let smallest = session.spec.run.adaptive.as_ref().map(|_| session.spec.run.step);
    if smallest.is_some() {
        session.spec.run = session.spec.run.with_one_step(session.spec.run.largest_step());
        run = session.build_run()?;
    }
    let structure = structure(&mut run)?;
    let stability = zero_stability(&mut run, &session.spec.run);
    let progress = Progress::new("checking");
    session.excite_unknown(&mut run, &|what| progress.report(what))?;
    note_fmus(&session);
    let options = ForecastOptions {
        methods: arguments.methods.map(Into::into),
        error: arguments.error,
        vary: arguments.vary.map(|percent| percent / 100.0),
        progress: &|what| progress.report(what),
        copy: Some(&|| session.copy_to_simulate()),
        accepts: Some(&|config| session.begins(config)),
        ..ForecastOptions::default()
    };
    let forecast = Forecast::of(&mut run, &session.spec.run, &options);
    let smallest = smallest.map(|step| at_smallest(&session, step)).transpose()?;
    if let Some(path) = graph {
        output::write_text(path, &drawing::svg(&structure, &stability))?;
    }
    let check = Check::new(&session, structure, stability, filters, (forecast, smallest), arguments.error);
    if let Some(path) = map {
        output::write_text(
            path,
            &stability_map::svg(&session.spec.title, check.forecast(), session.spec.run.step),
        )?;
    }
    let frequency = if arguments.frequency { Some(Frequency::new(&session)?) } else { None };
    if let (Some(path), Some(frequency)) = (plot, &frequency) {
        frequency.plot(path)?;
    }
    if arguments.json {
        let mut document = serde_json::to_value(&check).unwrap_or_default();
        if let Some(frequency) = &frequency {
            document["frequency"] = frequency.document();
        }
        output::print_json(&document)?;
    } else {
        let drawings: Vec<&Path> = [graph, map].into_iter().flatten().map(AsRef::as_ref).collect();
        output::print(&check.text(arguments.error, &drawings))?;
        if let Some(frequency) = &frequency {
            output::print(&format!("\n{}", frequency.text()))?;
        }
    }
    let is_met = arguments.require.is_none() || check.is_stable();
    Ok(if is_met { Exit::Ok } else { Exit::Distrusted })
}

/// The same at the smallest of the steps that adapt, and no more than the verdict.
fn at_smallest(session: &Session, step: f64) -> Result<Limit> {
    let mut session = session.clone();
    session.spec.run.step = step;
    let options =
        ForecastOptions { methods: Some(Methods::Own), blame: Some(false), ..ForecastOptions::default() };
    let mut run = session.build_run()?;
    session.excite_unknown(&mut run, &|_| {})?;
    let forecast = Forecast::of(&mut run, &session.spec.run, &options);
    Ok(Limit { step, verdict: forecast.verdict, spectral_radius: forecast.spectral_radius })
}

fn check_numbers(arguments: &CheckArguments) -> Result<()> {
    if !(arguments.error > 0.0 && arguments.error < 1.0) {
        let message = format!("--error {} is not a valid error target", arguments.error);
        return Err(Failure::words(
            message,
            "give a fraction of the range between 0 and 1, such as 0.05 for 5 %",
        ));
    }
    if let Some(percent) = arguments.vary.filter(|percent| !(*percent > 0.0 && *percent < 100.0)) {
        let message = format!("--vary {percent} is not a valid variation");
        return Err(Failure::words(message, "give a percentage above 0 and below 100, such as 20"));
    }
    Ok(())
}
