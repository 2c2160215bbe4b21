//! `koppel completions`.

use clap::CommandFactory;
use clap_complete::Shell;

use crate::arguments::Arguments;
use crate::exit::Exit;
use crate::failure::Result;
use crate::output::print;

/// Writes the script for a shell.
pub(super) fn completions(shell: Shell) -> Result<Exit> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Arguments::command(), "koppel", &mut script);
    print(&String::from_utf8_lossy(&script))?;
    Ok(Exit::Ok)
}
