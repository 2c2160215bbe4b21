//! `koppel doctor`.

use koppel_fmi::description::FmiVersion;
use koppel_fmi::isolate;
use koppel_fmi::platform;
use koppel_session::probe_cache::ProbeCache;
use serde_json::json;

use crate::exit::Exit;
use crate::failure::Result;
use crate::output::{Grid, print, print_json};

/// One thing that this machine can do, or not.
struct Ability {
    what: String,
    can: bool,
    how: String,
    hint: Option<String>,
}

/// What this machine can run, and what to install for the rest.
pub(super) fn doctor(as_json: bool) -> Result<Exit> {
    let abilities = [native(), windows(), isolation()];
    let cache = ProbeCache::usual_folder();
    if as_json {
        let list = abilities
            .iter()
            .map(|one| json!({ "what": one.what, "can": one.can, "how": one.how, "hint": one.hint }));
        print_json(&json!({
            "version": env!("CARGO_PKG_VERSION"),
            "abilities": list.collect::<Vec<_>>(),
            "temporary_folder": std::env::temp_dir(),
            "cache_folder": cache,
        }))?;
        return Ok(Exit::Ok);
    }
    let mut grid = Grid::new(&["what", "", "how"]);
    for one in &abilities {
        let can = if one.can { "yes" } else { "no" };
        grid.row([one.what.clone(), can.into(), one.how.clone()]);
    }
    grid.row(["temporary folder".into(), String::new(), std::env::temp_dir().display().to_string()]);
    let cache = cache.map_or_else(|| "none: HOME is not set".into(), |folder| folder.display().to_string());
    grid.row(["user cache directory".into(), String::new(), cache]);
    let hints = abilities.iter().filter_map(|one| Some(format!("{}: {}\n", one.what, one.hint.as_ref()?)));
    let hints: String = hints.collect();
    let space = if hints.is_empty() { "" } else { "\n" };
    print(&format!("koppel {}\n\n{}{space}{hints}", env!("CARGO_PKG_VERSION"), grid.whole()))?;
    Ok(Exit::Ok)
}

fn native() -> Ability {
    let names = [FmiVersion::Fmi2, FmiVersion::Fmi3].map(platform);
    Ability {
        what: "FMUs for this platform".into(),
        can: true,
        how: format!("{} (FMI 2.0), {} (FMI 3.0)", names[0], names[1]),
        hint: None,
    }
}

#[cfg(target_os = "linux")]
fn windows() -> Ability {
    let what = "FMUs for Windows (win64)".to_owned();
    match koppel_fmi::wine::Setup::find() {
        Ok(setup) => {
            let state =
                if setup.is_ready() { "" } else { ", made by the first such FMU, which takes some 10 s" };
            let (wine, prefix) = (setup.wine.display(), setup.prefix.display());
            Ability { what, can: true, how: format!("{wine}, with its folder {prefix}{state}"), hint: None }
        }
        Err(trouble) => {
            Ability { what, can: false, how: trouble.to_string(), hint: trouble.hint().map(Into::into) }
        }
    }
}

#[cfg(not(target_os = "linux"))]
fn windows() -> Ability {
    let can = cfg!(target_os = "windows");
    let how = if can { "this platform" } else { "under Wine on Linux only" };
    Ability { what: "FMUs for Windows (win64)".into(), can, how: how.into(), hint: None }
}

fn isolation() -> Ability {
    let (can, how) = isolate::availability();
    Ability { what: "isolation of FMUs".into(), can, how, hint: None }
}
