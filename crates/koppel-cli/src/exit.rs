//! What the exit codes mean.

use std::process::ExitCode;

/// How a command ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Exit {
    Ok,
    RunFailed,
    BadInput,
    Distrusted,
    Interrupted,
}

impl Exit {
    /// The number the shell sees.
    pub(crate) fn number(self) -> u8 {
        match self {
            Exit::Ok => 0,
            Exit::RunFailed => 1,
            Exit::BadInput => 2,
            Exit::Distrusted => 3,
            Exit::Interrupted => 130,
        }
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        ExitCode::from(exit.number())
    }
}

/// The table of exit codes, for `--help`.
pub(crate) const TABLE: &str = "\
Exit codes:
    0  success
    1  the run failed: a subsystem, an algebraic loop, or writing a file
       (rows so far are kept); an FMU crashed; `fmu check`: a test failed
    2  invalid input: file, option or setting; also a value that became
       infinite or NaN (rows so far are kept)
    3  the run finished, but its certificate is worse than --require
       asks for; `check`: the system is not as --require asks
  130  interrupted (Ctrl-C, SIGTERM); results and a checkpoint are written";
