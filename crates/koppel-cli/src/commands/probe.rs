//! `koppel probe`.

use koppel::coupling::CouplingConfig;
use koppel_io::system_file::SystemFile;
use serde_json::json;

use super::run::{load, tell_trials};
use crate::arguments::{ProbeArguments, SettingArguments};
use crate::exit::Exit;
use crate::failure::{Failure, Result, note};
use crate::output::{self, Probing, bytes};
use crate::session::{Cache, Log, LogLevel};

/// Excites the subsystems of a system and shows what was found, or removes what was kept.
pub(super) fn probe(arguments: &ProbeArguments) -> Result<Exit> {
    let cache = Cache::new(&arguments.cache);
    let Some(path) = &arguments.file else { return clear(arguments, &cache) };
    let mut file = load(path, &arguments.settings, arguments.tolerant)?;
    file.notices().iter().for_each(|(kind, text)| note(kind, text));
    file.warnings().iter().for_each(|text| note("warning", text));
    if !is_probing(&file.run.coupling) {
        let name = file.run.coupling.name();
        note("note", format!("the coupling `{name}` excites nothing; this is what `vfps` would find"));
        let settings = SettingArguments { coupling: Some("vfps".into()), ..arguments.settings.clone() };
        file = load(path, &settings, arguments.tolerant)?;
    }
    cache.serve(&mut file);
    let found = find(&mut file);
    cache.tell();
    let (probing, nodes) = found?;
    if arguments.json {
        let mut document = serde_json::to_value(&probing).unwrap_or_default();
        document["step"] = json!(file.run.step);
        document["nodes"] = json!(nodes);
        document["cache"] = json!(cache.get().map(|cache| cache.folder()));
        output::print_json(&document)?;
    } else {
        let title = if file.title.is_empty() { path.display().to_string() } else { file.title.clone() };
        let folder = cache.get().map(|cache| cache.folder());
        output::print(&probing.text(&title, file.run.step, nodes, folder))?;
    }
    Ok(Exit::Ok)
}

fn find(file: &mut SystemFile) -> Result<(Probing, usize)> {
    let log = Log::new(LogLevel::default());
    file.log_to(log.sink());
    let simulation = file.choose_filters().and_then(|_| file.trial().simulation());
    log.end();
    tell_trials(file);
    let simulation = simulation?;
    let nodes = simulation.probing_nodes();
    Ok((Probing::new(&simulation), nodes))
}

/// True if it excites subsystems before the run.
fn is_probing(coupling: &CouplingConfig) -> bool {
    match coupling {
        CouplingConfig::Vfps(_) => true,
        CouplingConfig::Mixed { default, connections } => {
            is_probing(default) || connections.values().any(is_probing)
        }
        _ => false,
    }
}

fn clear(arguments: &ProbeArguments, cache: &Cache) -> Result<Exit> {
    let Some(cache) = cache.get() else {
        return Err(Failure::words("there is no folder of caches", "name one with --cache DIR"));
    };
    let gone = cache.clear().map_err(Failure::Write)?;
    if arguments.json {
        output::print_json(&json!({ "cache": cache.folder(), "files": gone.files, "bytes": gone.bytes }))?;
    } else {
        let folder = cache.folder().display();
        output::print(&format!("removed {} files ({}) from `{folder}`\n", gone.files, bytes(gone.bytes)))?;
    }
    Ok(Exit::Ok)
}
