//! `koppel recover`.

use koppel_io::results;

use crate::arguments::RecoverArguments;
use crate::exit::Exit;
use crate::failure::Result;
use crate::output::{counted, print};

/// Makes a result file of a part file.
pub(super) fn recover(arguments: &RecoverArguments) -> Result<Exit> {
    let finished = results::recover(&arguments.part, arguments.out.as_deref())?;
    let dropped = match finished.dropped_bytes {
        0 => String::new(),
        bytes => format!("; {bytes} bytes of an incomplete row at the end were dropped"),
    };
    let part = arguments.part.display();
    let left = match finished.part_kept {
        true => format!("{part} is kept: more than its end is unreadable"),
        false => format!("{part} was removed"),
    };
    print(&format!(
        "recovered {} to {}{dropped}\n{left}\n",
        counted(finished.rows, "row"),
        finished.path.display()
    ))?;
    Ok(Exit::Ok)
}
