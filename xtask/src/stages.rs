//! What each stage of a task costs, and which tests take longest.

use crate::command::{Result, describe, output, program};
use std::io::{BufRead, BufReader, Write};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// How many tests are listed.
const SLOWEST: usize = 20;

/// Clock ticks per second in `/proc`, on every Linux.
const TICKS: f64 = 100.0;

/// Stages so far.
#[derive(Default)]
pub(crate) struct Stages {
    list: Vec<Stage>,
    /// What was not done, and the program that is missing.
    left_out: Vec<(&'static str, &'static str)>,
    /// Seconds and name of every test that told its time.
    tests: Vec<(f64, String)>,
}

struct Stage {
    name: &'static str,
    elapsed: Duration,
    /// Of this machine's processors, in s.
    processor: f64,
}

impl Stages {
    /// Runs a stage and notes its time, whether it succeeds or not.
    pub(crate) fn run<T>(
        &mut self,
        name: &'static str,
        work: impl FnOnce(&mut Self) -> Result<T>,
    ) -> Result<T> {
        let (begin, before) = (Instant::now(), processor_time());
        let done = work(self);
        let processor = processor_time() - before;
        self.list.push(Stage { name, elapsed: begin.elapsed(), processor });
        done
    }

    /// Notes a stage that cannot be run here, to be listed with the others.
    pub(crate) fn leave_out(&mut self, name: &'static str, program: &'static str) {
        self.left_out.push((name, program));
    }

    /// Runs tests, shows what they say, and notes how long each took.
    ///
    /// The time of single tests is an option of the test programs that is not stable: the variable that allows it is given to them
    /// alone, so that nothing is built differently.
    pub(crate) fn tests(&mut self, command: &mut Command) -> Result<()> {
        let version = output(&mut program("rustc", &["-vV"]))?;
        let host = version.lines().find_map(|line| line.strip_prefix("host: ")).unwrap_or_default();
        let runner = format!("CARGO_TARGET_{}_RUNNER", host.replace(['-', '.'], "_").to_uppercase());
        command.env(runner, "env RUSTC_BOOTSTRAP=1").args(["--", "-Z", "unstable-options", "--report-time"]);
        let line = describe(command);
        eprintln!("xtask: {line}");
        let failed = |error: std::io::Error| format!("{line}: {error}");
        let mut child = command.stdout(Stdio::piped()).spawn().map_err(failed)?;
        for text in child.stdout.take().into_iter().flat_map(|out| BufReader::new(out).lines()) {
            let text = text.map_err(failed)?;
            writeln!(std::io::stdout(), "{text}").map_err(failed)?;
            self.tests.extend(test_time(&text));
        }
        let status = child.wait().map_err(failed)?;
        if status.success() { Ok(()) } else { Err(format!("{line}: {status}")) }
    }

    /// The table of stages and the slowest tests.
    pub(crate) fn text(mut self) -> String {
        let mut text = format!("\n{:<24} {:>10} {:>16}\n", "stage", "elapsed s", "processor s");
        let row = |name: &str, elapsed: f64, processor: f64| {
            format!("{name:<24} {elapsed:>10.0} {processor:>16.0}\n")
        };
        for Stage { name, elapsed, processor } in &self.list {
            text += &row(name, elapsed.as_secs_f64(), *processor);
        }
        for (name, program) in &self.left_out {
            text += &format!("{name:<24} NOT CHECKED: {program} is not installed\n");
        }
        let elapsed = self.list.iter().map(|stage| stage.elapsed.as_secs_f64()).sum();
        text += &row("all", elapsed, self.list.iter().map(|stage| stage.processor).sum());
        self.tests.sort_by(|one, other| other.0.total_cmp(&one.0));
        text += &format!("\n{} tests; the slowest\n", self.tests.len());
        for (seconds, name) in self.tests.iter().take(SLOWEST) {
            text += &format!("{seconds:>8.2} s  {name}\n");
        }
        text
    }
}

/// Seconds and name of a test, from a line such as `test name ... ok <0.123s>`.
fn test_time(line: &str) -> Option<(f64, String)> {
    let (name, rest) = line.strip_prefix("test ")?.split_once(" ... ")?;
    let (_, time) = rest.rsplit_once('<')?;
    Some((time.strip_suffix("s>")?.parse().ok()?, name.to_owned()))
}

/// Processor time of this process and all that it waited for, in s; 0 where the system does not tell.
fn processor_time() -> f64 {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    // The name of the program, in parentheses, may hold blanks.
    let fields = stat.rsplit_once(')').map_or("", |(_, fields)| fields).split_whitespace();
    // utime, stime, cutime, cstime are fields 14 to 17; the first here is field 3.
    fields.skip(11).take(4).filter_map(|field| field.parse::<f64>().ok()).sum::<f64>() / TICKS
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_of_tests_are_read() {
        assert_eq!(test_time("test a::b ... ok <1.250s>"), Some((1.25, "a::b".into())));
        assert_eq!(test_time("test a::b ... FAILED <0.1s>"), Some((0.1, "a::b".into())));
        assert_eq!(test_time("test a::b ... ignored"), None);
        assert_eq!(test_time("running 3 tests"), None);
    }

    #[test]
    fn stages_are_listed_even_if_they_fail() {
        let mut stages = Stages::default();
        assert!(stages.run("good", |_| Ok(())).is_ok());
        assert!(stages.run("bad", |_| Err::<(), _>("broken".into())).is_err());
        stages.leave_out("lints", "cargo-clippy");
        let text = stages.text();
        assert!(
            ["good", "bad", "NOT CHECKED: cargo-clippy", "all"].iter().all(|name| text.contains(name)),
            "{text}"
        );
    }
}
