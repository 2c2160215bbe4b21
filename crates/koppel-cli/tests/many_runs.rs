//! Thousands of runs of FMUs in one process leave nothing behind: no memory, no threads, no folders, no libraries.
#![cfg(all(target_os = "linux", target_arch = "x86_64"))]
#![allow(dead_code, reason = "some of the common functions serve other tests")]

mod common;

use common::masses::masses;
use std::time::Duration;

const SYSTEM: &str = r#"
[run]
stop = 0.05
step = 1e-2
coupling = "zoh"
[subsystems.left]
fmu = "left.fmu"

[subsystems.right]
fmu = "right.fmu"

[[connections]]
from = "left.v"
to = "right.F"
gain = 0.1

[[connections]]
from = "right.v"
to = "left.F"
gain = 0.1
"#;

const STUDY: &str = r#"
system = "system.toml"

[factors]
"left.m" = { from = 1.0, to = 2.0, steps = 1000 }
"subsystems.left.fmu" = ["left.fmu", "other.fmu"]

[measures]
peak = { of = "abs(left.x)", take = "max" }
"#;

/// What a process has: resident memory in kB, threads, mapped libraries of FMUs, folders in its place for temporary files.
#[derive(Clone, Copy, Debug, Default)]
struct Taken {
    memory: u64,
    threads: u64,
    libraries: usize,
    folders: usize,
}

impl Taken {
    fn most(self, other: Taken) -> Taken {
        Taken {
            memory: self.memory.max(other.memory),
            threads: self.threads.max(other.threads),
            libraries: self.libraries.max(other.libraries),
            folders: self.folders.max(other.folders),
        }
    }
}

#[test]
fn two_thousand_runs_of_two_fmus_leave_nothing_behind() {
    let folder = masses();
    std::fs::copy(folder.path("left.fmu"), folder.path("other.fmu")).unwrap();
    folder.write("system.toml", SYSTEM);
    folder.write("study.toml", STUDY);
    std::fs::create_dir(folder.path("temporary")).unwrap();
    let mut command = folder.command(&["study", "study.toml", "--out", "out", "--threads", "2"]);
    let mut child = command.env("TMPDIR", folder.path("temporary")).spawn().unwrap();
    let folders = || std::fs::read_dir(folder.path("temporary")).unwrap().count();
    // The process that does the work is the child of its supervisor.
    let look = |supervisor: u32| -> Option<Taken> {
        let children =
            std::fs::read_to_string(format!("/proc/{supervisor}/task/{supervisor}/children")).ok()?;
        let id: u32 = children.split_whitespace().next()?.parse().ok()?;
        let read = |file: &str| std::fs::read_to_string(format!("/proc/{id}/{file}")).ok();
        let status = read("status")?;
        let number = |name: &str| {
            let line = status.lines().find(|line| line.starts_with(name))?;
            line.split_whitespace().nth(1)?.parse().ok()
        };
        let maps = read("maps")?;
        let mut libraries: Vec<&str> = maps
            .lines()
            .filter(|line| line.ends_with("mass.so"))
            .filter_map(|l| l.split_whitespace().last())
            .collect();
        libraries.sort_unstable();
        libraries.dedup();
        Some(Taken {
            memory: number("VmRSS:")?,
            threads: number("Threads:")?,
            libraries: libraries.len(),
            folders: folders(),
        })
    };
    let mut seen = Vec::new();
    let status = loop {
        if let Some(status) = child.try_wait().unwrap() {
            break status;
        }
        // Tables and pictures at the end take memory of their own.
        let finished =
            std::fs::read_to_string(folder.path("out/runs.log")).unwrap_or_default().lines().count();
        seen.extend(look(child.id()).filter(|_| (100..1990).contains(&finished)));
        std::thread::sleep(Duration::from_millis(5));
    };
    assert!(status.success(), "{status}");
    let rows = folder.read("out/runs.csv").lines().count();
    assert_eq!(rows, 2001, "a head and a row per run");
    assert_eq!(folders(), 0, "temporary folders are gone");
    assert!(seen.len() > 4, "only {} looks at the process", seen.len());
    let (early, late) = seen.split_at(seen.len() / 2);
    let most = |list: &[Taken]| list.iter().copied().fold(Taken::default(), Taken::most);
    let (early, late) = (most(early), most(late));
    assert!(late.libraries == 3 && late.folders == 3, "three FMUs: {late:?}");
    assert!(late.threads <= early.threads, "{early:?}, {late:?}");
    // The rows themselves are kept: some hundred bytes each.
    assert!(late.memory < early.memory + 1024, "{early:?}, {late:?}");
}
