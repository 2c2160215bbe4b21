//! `koppel probe`.

use koppel::coupling::methods;
use koppel_session::Session;
use serde_json::json;

use super::run::{load, note_fmus};
use crate::arguments::{ProbeArguments, SettingArguments};
use crate::execution::{Cache, Log, LogLevel};
use crate::exit::Exit;
use crate::failure::{Failure, Result, note};
use crate::output::{self, Probing, bytes};

/// Excites the subsystems of a system and shows what was found, or removes what was kept.
pub(super) fn probe(arguments: &ProbeArguments) -> Result<Exit> {
    let cache = Cache::new(&arguments.cache);
    let Some(path) = &arguments.file else { return clear(arguments, &cache) };
    let mut session = load(path, &arguments.settings, arguments.tolerant)?;
    session.spec.notices().iter().for_each(|(kind, text)| note(kind, text));
    session.spec.warnings().iter().for_each(|text| note("warning", text));
    if !session.spec.run.coupling.excites()
        && let Some(other) = methods().into_iter().find(|info| info.excites())
    {
        let (name, other) = (session.spec.run.coupling.name(), other.name);
        note("note", format!("the coupling `{name}` needs no probing; these are the results for `{other}`"));
        let settings = SettingArguments { coupling: Some(other.into()), ..arguments.settings.clone() };
        session = load(path, &settings, arguments.tolerant)?;
    }
    cache.serve(&mut session);
    let found = find(&mut session);
    let (probing, nodes) = found?;
    if arguments.json {
        let mut document = serde_json::to_value(&probing).unwrap_or_default();
        document["step"] = json!(session.spec.run.step);
        document["nodes"] = json!(nodes);
        document["cache"] = json!(cache.get().map(|cache| cache.folder()));
        output::print_json(&document)?;
    } else {
        let title = if session.spec.title.is_empty() {
            path.display().to_string()
        } else {
            session.spec.title.clone()
        };
        let folder = cache.get().map(|cache| cache.folder());
        output::print(&probing.text(&title, session.spec.run.step, nodes, folder))?;
    }
    Ok(Exit::Ok)
}

fn find(session: &mut Session) -> Result<(Probing, usize)> {
    let log = Log::new(LogLevel::default());
    session.fmus.log = Some(log.sink());
    let run = session.choose_filters().and_then(|_| session.trial().build_run());
    log.end();
    note_fmus(session);
    let run = run?;
    let nodes = run.probing_nodes();
    Ok((Probing::new(&run), nodes))
}

fn clear(arguments: &ProbeArguments, cache: &Cache) -> Result<Exit> {
    let Some(cache) = cache.get() else {
        return Err(Failure::words("there is no user cache directory", "name one with --cache DIR"));
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
