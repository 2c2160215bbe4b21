//! How a worker ended, in words.

use super::limits::amount;
use crate::ffi::{LogMessage, tail};
use std::fmt::{self, Display, Formatter};

/// How a process ended.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Ending {
    /// By a signal.
    Signal(i32),
    /// By a signal, as its stack was too small.
    StackOverflow,
    /// It exited by itself.
    Exit(i32),
    /// It did not return in time, in seconds, and was ended.
    Hung(f64),
    /// It left shared memory in a state that makes no sense, and was ended.
    Damaged,
}

/// An input of the step that failed.
#[derive(Clone, Debug, PartialEq)]
pub struct Input {
    /// Its name.
    pub name: String,
    /// Its unit, if any.
    pub unit: Option<String>,
    /// Its values at begin and end of the step.
    pub values: (f64, f64),
}

/// A worker that is no more.
#[derive(Clone, Debug, PartialEq)]
pub struct Ended {
    /// Name of the instance or job.
    pub instance: String,
    /// How it ended.
    pub how: Ending,
    /// The FMI call that was running, if known.
    pub call: Option<&'static str>,
    /// What koppel was doing, such as `in the step from t = 0 s to t = 0.1 s`.
    pub during: String,
    /// Inputs of the failing step.
    pub inputs: Vec<Input>,
    /// Last messages of the FMU.
    pub messages: Vec<LogMessage>,
    /// What its sandbox has refused.
    pub refused: Vec<String>,
    /// Its limit of memory in bytes, if it may have come to it.
    pub memory: Option<u64>,
}

/// Most inputs that are shown.
const SHOWN: usize = 20;

impl Display for Ended {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "`{}` {}", self.instance, self.how)?;
        if let Some(call) = self.call {
            write!(f, " in {call}")?;
        }
        if !self.during.is_empty() {
            write!(f, ", {}", self.during)?;
        }
        if !self.inputs.is_empty() {
            let shown: Vec<String> = self.inputs.iter().take(SHOWN).map(ToString::to_string).collect();
            write!(f, "\n  inputs: {}", shown.join(", "))?;
        }
        if self.inputs.len() > SHOWN {
            write!(f, ", and {} more", self.inputs.len() - SHOWN)?;
        }
        f.write_str(&tail(&self.messages))
    }
}

impl Display for Input {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let (begin, end) = self.values;
        write!(f, "{} = {begin}", self.name)?;
        if begin.to_bits() != end.to_bits() {
            write!(f, " to {end}")?;
        }
        self.unit.iter().filter(|unit| *unit != "1").try_for_each(|unit| write!(f, " {unit}"))
    }
}

impl Display for Ending {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Ending::Signal(number) => match signal(*number) {
                Some((name, meaning)) => write!(f, "crashed with {name} ({meaning})"),
                None => write!(f, "was ended by {}", other_signal(*number)),
            },
            Ending::StackOverflow => f.write_str("crashed with SIGSEGV (stack overflow)"),
            Ending::Exit(code) => write!(f, "ended its process with exit code {code}"),
            Ending::Hung(seconds) => write!(f, "did not return within {seconds} s"),
            Ending::Damaged => f.write_str("damaged the memory it shares with koppel"),
        }
    }
}

/// Signals that are faults of the program.
fn signal(number: i32) -> Option<(&'static str, &'static str)> {
    Some(match number {
        4 => ("SIGILL", "invalid instruction"),
        5 => ("SIGTRAP", "trap"),
        6 => ("SIGABRT", "it gave up: abort, failed assertion or uncaught exception"),
        7 => ("SIGBUS", "invalid memory access"),
        8 => ("SIGFPE", "arithmetic fault, such as an integer division by zero"),
        11 => ("SIGSEGV", "invalid memory access"),
        31 => ("SIGSYS", "forbidden system call"),
        _ => return None,
    })
}

/// Signals that come from outside.
fn other_signal(number: i32) -> String {
    match number {
        1 => "SIGHUP".into(),
        2 => "SIGINT".into(),
        9 => "SIGKILL".into(),
        13 => "SIGPIPE".into(),
        14 => "SIGALRM".into(),
        15 => "SIGTERM".into(),
        24 => "SIGXCPU (limit of processor time)".into(),
        25 => "SIGXFSZ (limit of file size)".into(),
        other => format!("signal {other}"),
    }
}

impl Ended {
    /// What the user can do about it.
    pub(crate) fn hint(&self) -> String {
        let mut hint = match self.how {
            Ending::Signal(9) => "somebody killed it, or the machine ran out of memory".to_owned(),
            Ending::Signal(number) if signal(number).is_none() => {
                "somebody or something outside of koppel ended it".into()
            }
            Ending::Signal(_) | Ending::Damaged => {
                format!("the fault is in the FMU: tell its author{}", self.evidence())
            }
            Ending::StackOverflow => {
                format!("more stack may help (`ulimit -s`); if not, tell its author{}", self.evidence())
            }
            Ending::Exit(_) => {
                format!("an FMU must not end its process: tell its author{}", self.evidence())
            }
            Ending::Hung(_) => {
                format!("allow more time with step_timeout, or tell its author{}", self.evidence())
            }
        };
        for refused in &self.refused {
            hint = format!("{refused}; {hint}");
        }
        if let Some(bytes) = self.memory {
            hint += &format!("; it may have run out of its {} of memory: raise memory_limit", amount(bytes));
        }
        hint
    }

    /// What of the message helps the author of the FMU.
    fn evidence(&self) -> &'static str {
        match (self.call, self.inputs.is_empty()) {
            (Some(_), false) => " the call and the inputs above",
            (Some(_), true) => " the call above",
            (None, false) => " the inputs above",
            (None, true) => "",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_message_says_what_where_and_with_which_inputs() {
        let input = |name: &str, values| Input { name: name.into(), unit: Some("N".into()), values };
        let mut ended = Ended {
            instance: "body".into(),
            how: Ending::Signal(11),
            call: Some("fmi2DoStep"),
            during: "in the step from t = 0.5 s to t = 0.6 s".into(),
            inputs: vec![input("F", (1.5, 1.5)), input("G", (1.0, 2.0))],
            messages: Vec::new(),
            refused: Vec::new(),
            memory: Some(1 << 30),
        };
        assert_eq!(
            ended.to_string(),
            "`body` crashed with SIGSEGV (invalid memory access) in fmi2DoStep, in the step from t = 0.5 s to t = 0.6 s\n  inputs: F = 1.5 N, G = 1 to 2 N"
        );
        assert!(ended.hint().contains("1 GiB"), "{}", ended.hint());
        ended.how = Ending::Hung(2.0);
        assert!(ended.to_string().contains("did not return within 2 s"));
        assert!(
            ended.hint().contains("step_timeout") && ended.hint().contains("the call and the inputs above")
        );
        (ended.inputs, ended.memory) = (Vec::new(), None);
        assert!(ended.hint().ends_with("tell its author the call above"), "{}", ended.hint());
    }
}
