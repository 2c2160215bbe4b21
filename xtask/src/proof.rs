//! `cargo xtask proof`: what is too long for every test run.
//!
//! * soak: a hundred million steps with results kept on disk only; memory must stay flat;
//! * kills: runs killed at random moments; what is recovered must be a prefix of the undisturbed result, and what is
//!   resumed from a checkpoint must equal it byte for byte;
//! * lateness: a minute in real time at steps of 1 ms, beside a loop that only waits;
//! * mutations: system files changed at random; every one must run or be refused with one message, never crash or hang;
//! * foreign-files: a million archives, model descriptions, structures and packages changed at random; no reader may panic,
//!   hang, or fill the memory.
//! * wheel: the Python package as pip builds it, installed without Rust and tried;
//! * VFPS beside every other coupling, on known and on fresh problems, into `bench/vfps.md`;
//! * VFPS on FMUs: the largest steps, by how inputs reach them, into `docs/vfps.md`.
//! * `auto` on every example beside a grid of methods and steps, into `docs/auto.md`.
//! * faults: every fault of an FMU in every call, supervised, isolated and in process, into `bench/faults.md`.
//! * H∞ coupling: 10 000 random dual masses, vehicle and steering, into `bench/hinf.md`;
//! * verdicts on random systems beside the truth, into `bench/calibration.md`;
//! * the papers' tables and figures in full, and the cost of their studies, into `bench/papers.md`.
//!
//! `cross-check PATH` needs files from outside the project and runs only by its name: see `cross_check`.

use crate::command::{Result, cargo, check_names, must, output, program, replace_block, replace_line, root};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

const KILLS: u32 = 200;
const MUTATIONS: u32 = 20_000;
const STRANGERS: u32 = 1_000_000;
const SOAK_STEPS: u64 = 100_000_000;

type Proof = fn(&Path, &Path) -> Result<String>;
type Table = fn() -> Result<()>;

/// Those with a line in `bench/proof.md`, which begins with their name.
const LINES: [(&str, Proof); 6] = [
    ("soak", soak),
    ("kills", kills),
    ("lateness", lateness),
    ("mutations", mutations),
    ("foreign-files", foreign_files),
    ("wheel", |_, folder| crate::wheel::run(folder)),
];
/// Those of them that start the command line.
const WITH_BINARY: [&str; 5] = ["soak", "kills", "lateness", "mutations", "faults"];

/// Those that write tables elsewhere.
const TABLES: [(&str, Table); 7] = [
    ("faults", faults),
    ("vfps", vfps),
    ("hinf", hinf),
    ("auto", auto),
    ("fmu-steps", fmu_steps),
    ("papers", crate::papers::prove),
    ("calibration", || crate::calibration::run(&[])),
];

/// Runs those that are named, or all.
pub(crate) fn run(names: &[&str]) -> Result<()> {
    let known: Vec<&str> = LINES.iter().map(|(name, _)| *name).chain(TABLES.map(|(name, _)| name)).collect();
    check_names(names, &known)?;
    let is_wanted = |name: &str| names.is_empty() || names.contains(&name);
    let target = std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root().join("target"), PathBuf::from);
    let folder = target.join("proof");
    std::fs::create_dir_all(&folder).map_err(|error| error.to_string())?;
    if WITH_BINARY.iter().any(|name| is_wanted(name)) {
        must(&mut cargo(&["build", "--release", "--package", "koppel-cli"]))?;
    }
    for (name, proof) in LINES.iter().filter(|(name, _)| is_wanted(name)) {
        let line = proof(&target.join("release/koppel"), &folder)?;
        eprintln!("{line}");
        replace_line("bench/proof.md", &format!("* {name}:"), &format!("* {line}"))?;
    }
    TABLES.iter().filter(|(name, _)| is_wanted(name)).try_for_each(|(_, table)| table())
}

/// A binary of `validation/experiments`, optimised.
fn experiment(name: &str, more: &[&str]) -> Command {
    let arguments = ["run", "--release", "--package", "koppel-experiments", "--bin", name, "--"];
    cargo(&[&arguments, more].concat())
}

/// Faults of FMUs.
fn faults() -> Result<()> {
    let target = std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root().join("target"), PathBuf::from);
    let koppel = target.join("release/koppel").display().to_string();
    let text = output(&mut experiment("faults", &[&koppel]))?;
    let line =
        |name, arguments: &[&str]| Ok::<_, String>(output(&mut program(name, arguments))?.trim().to_owned());
    let commit = line("git", &["describe", "--always", "--dirty"])?;
    let date = line("date", &["-u", "+%F"])?;
    replace_block("bench/faults.md", "faults", &format!("\n{date}, koppel at `{commit}`.\n\n{text}"))
}

/// Figures of the H-infinity coupling.
fn hinf() -> Result<()> {
    let text = output(&mut experiment("hinf_figures", &["bench"]))?;
    replace_block("bench/hinf.md", "hinf", &format!("\n{text}"))
}

/// Chosen settings beside a grid of others.
fn auto() -> Result<()> {
    let text = output(&mut experiment("auto_figures", &[]))?;
    replace_block("docs/auto.md", "auto", &format!("\n{text}"))
}

/// Steps VFPS allows on FMUs, those of pythonfmu among them.
fn fmu_steps() -> Result<()> {
    let fmus = crate::test::foreign_fmus()?;
    let mut steps = experiment("fmu_steps", &[]);
    steps.env("KOPPEL_TEST_FMUS", &fmus);
    replace_block("docs/vfps.md", "fmu-steps", &output(&mut steps)?)
}

/// Tables of VFPS beside all other couplings.
fn vfps() -> Result<()> {
    let tables: [(&str, &str, &[&str]); 9] = [
        ("steps", "steps", &[]),
        ("fresh", "fresh", &[]),
        ("variants", "fresh", &["--variants"]),
        ("late", "fresh", &["--late"]),
        ("networks", "fresh", &["--networks", "100"]),
        ("quality", "fresh", &["--quality"]),
        ("quality-once", "fresh", &["--quality", "--once"]),
        ("probing", "fresh", &["--probing"]),
        ("reprobing", "reprobing", &[]),
    ];
    for (block, name, more) in tables {
        let text = output(&mut experiment(name, more))?;
        replace_block("bench/vfps.md", block, &format!("\n{}", text.trim()))?;
        let shown = match block {
            "steps" => {
                "problem, ZOH, FOH, NEPCE, pre-step/ exact, VFPS/ 1 node, VFPS/ auto nodes, VFPS/ steps once, VFPS"
            }
            "fresh" | "late" => {
                "problem, ZOH, FOH, NEPCE, VFPS/ auto nodes, VFPS/ steps once, VFPS, worst ratio"
            }
            _ => continue,
        };
        let names: Vec<String> = shown.split(", ").map(|name| name.replace('/', ",")).collect();
        replace_block("docs/vfps.md", &format!("vfps-{block}"), &columns(&text, &names))?;
    }
    Ok(())
}

/// These columns of the first table of a text.
fn columns(text: &str, names: &[String]) -> String {
    let cells =
        |line: &'_ str| -> Vec<String> { line.split('|').map(|cell| cell.trim().to_owned()).collect() };
    let mut lines = text.trim().lines().take_while(|line| line.starts_with('|'));
    let head = lines.next().map(cells).unwrap_or_default();
    let places: Vec<usize> =
        names.iter().filter_map(|name| head.iter().position(|cell| cell == name)).collect();
    let pick = |line: Vec<String>| -> String {
        let picked: Vec<&str> = places.iter().filter_map(|at| line.get(*at).map(String::as_str)).collect();
        format!("| {} |\n", picked.join(" | "))
    };
    std::iter::once(head.clone()).chain(lines.map(cells)).map(pick).collect()
}

fn koppel(binary: &Path, folder: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(binary);
    command
        .args(arguments)
        .current_dir(folder)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    command
}

/// A system file of the examples, copied into the folder of the proof.
fn example(folder: &Path, name: &str) -> Result<String> {
    let text =
        std::fs::read_to_string(root().join("examples").join(name)).map_err(|e| format!("{name}: {e}"))?;
    std::fs::write(folder.join(name), &text).map_err(|e| format!("{name}: {e}"))?;
    Ok(text)
}

fn soak(binary: &Path, folder: &Path) -> Result<String> {
    example(folder, "control-loop.toml")?;
    let stop = format!("{}", SOAK_STEPS as f64 * 0.001);
    let arguments = [
        "run",
        "control-loop.toml",
        "--step",
        "0.001",
        "--stop",
        &stop,
        "--out",
        "soak.csv",
        "--record-every",
        "10",
    ];
    let begin = Instant::now();
    let mut child = koppel(binary, folder, &arguments).spawn().map_err(|e| e.to_string())?;
    let mut early = 0;
    let mut most = 0;
    let status = loop {
        if let Some(status) = child.try_wait().map_err(|e| e.to_string())? {
            break status;
        }
        let now = resident(&child);
        if begin.elapsed() < Duration::from_secs(2) {
            early = early.max(now)
        } else {
            most = most.max(now)
        }
        std::thread::sleep(Duration::from_millis(100));
    };
    if !status.success() {
        return Err(format!("soak: {status}"));
    }
    if most == 0 {
        return Err("soak: the run ended within two seconds, too soon to tell".into());
    }
    if most > early + 8192 {
        return Err(format!("soak: memory grew from {early} kB to {most} kB"));
    }
    Ok(format!(
        "soak: {SOAK_STEPS} steps, every tenth recorded, {:.0} s; resident memory of supervisor and working process {early} kB after 2 s, at most {most} kB later",
        begin.elapsed().as_secs_f64()
    ))
}

/// Resident memory of a child and of the process it supervises, in kB.
fn resident(child: &Child) -> u64 {
    let own = child.id().to_string();
    let children = std::fs::read_to_string(format!("/proc/{own}/task/{own}/children")).unwrap_or_default();
    children.split_whitespace().map(resident_of).sum::<u64>() + resident_of(&own)
}

fn resident_of(process: &str) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).unwrap_or_default();
    let line = status.lines().find(|line| line.starts_with("VmRSS:")).unwrap_or_default();
    line.split_whitespace().nth(1).and_then(|number| number.parse().ok()).unwrap_or(0)
}

fn kills(binary: &Path, folder: &Path) -> Result<String> {
    example(folder, "nonlinear-dual-mass.toml")?;
    let run = [
        "run",
        "nonlinear-dual-mass.toml",
        "--step",
        "1e-4",
        "--stop",
        "3",
        "--checkpoint",
        "kill.checkpoint",
    ];
    let with = |more: &[&'static str]| [run.as_slice(), more].concat();
    let begin = Instant::now();
    let status =
        koppel(binary, folder, &with(&["--out", "whole.csv"])).status().map_err(|e| e.to_string())?;
    if !status.success() {
        return Err(format!("kills: the undisturbed run failed: {status}"));
    }
    let whole_time = begin.elapsed();
    let whole = read(&folder.join("whole.csv"))?;
    let mut random = Random(7);
    let (mut recovered, mut rows, mut resumed) = (0, 0, 0);
    for _ in 0..KILLS {
        for name in ["killed.csv", "killed.csv.part", "kill.checkpoint"] {
            let _ = std::fs::remove_file(folder.join(name));
        }
        let arguments = with(&["--out", "killed.csv", "--checkpoint-every", "1000"]);
        let mut child = koppel(binary, folder, &arguments).spawn().map_err(|e| e.to_string())?;
        std::thread::sleep(whole_time.mul_f64(random.unit()));
        child.kill().map_err(|e| e.to_string())?;
        child.wait().map_err(|e| e.to_string())?;
        if folder.join("killed.csv").exists() {
            continue; // it had come to its end
        }
        if folder.join("kill.checkpoint").exists() {
            let status =
                koppel(binary, folder, &["resume", "kill.checkpoint"]).status().map_err(|e| e.to_string())?;
            if !status.success() || read(&folder.join("killed.csv"))? != whole {
                return Err(format!("kills: the resumed run differs from the undisturbed one ({status})"));
            }
            resumed += 1;
        } else if std::fs::metadata(folder.join("killed.csv.part")).is_ok_and(|part| part.len() > 0) {
            let status = koppel(binary, folder, &["recover", "killed.csv.part"])
                .status()
                .map_err(|e| e.to_string())?;
            let part = read(&folder.join("killed.csv"))?;
            if !status.success() || !whole.starts_with(&part) {
                return Err(format!(
                    "kills: the recovered rows are no prefix of the undisturbed result ({status})"
                ));
            }
            recovered += 1;
            rows += part.lines().count();
        }
    }
    Ok(format!(
        "kills: {KILLS} runs killed at random moments; {resumed} resumed from a checkpoint, all equal to the undisturbed result byte for byte; {recovered} recovered without one ({rows} lines), all a prefix of it; the others were killed before the first row or after the last"
    ))
}

/// Late steps of a run in real time, and what this machine does to a loop that only sleeps until the end of each step.
fn lateness(binary: &Path, folder: &Path) -> Result<String> {
    const STEP: Duration = Duration::from_millis(1);
    const STEPS: u32 = 60_000;
    example(folder, "nonlinear-dual-mass.toml")?;
    let stop = (STEP * STEPS).as_secs_f64().to_string();
    let arguments = ["run", "nonlinear-dual-mass.toml", "--step", "1e-3", "--stop", &stop, "--realtime"];
    let mut run = Command::new(binary);
    run.args(arguments).args(["--json", "--out", "late.csv"]).current_dir(folder);
    let run = run.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn();
    let run = run.map_err(|error| error.to_string())?;
    let (begin, mut late, mut latest) = (Instant::now(), 0, Duration::ZERO);
    for step in 1..=STEPS {
        // Late is what is not awake before the next step is due.
        std::thread::sleep((STEP * (step - 1)).saturating_sub(begin.elapsed()));
        let behind = begin.elapsed().saturating_sub(STEP * step);
        late += u32::from(!behind.is_zero());
        latest = latest.max(behind);
    }
    let output = run.wait_with_output().map_err(|error| error.to_string())?;
    let text = String::from_utf8_lossy(&output.stdout);
    let figure = |key: &str| -> Result<f64> {
        let rest = text.split_once(&format!("\"{key}\":")).map(|(_, rest)| rest.trim_start());
        let number = rest.and_then(|rest| rest.split([',', '}', '\n']).next()?.trim().parse().ok());
        number.ok_or_else(|| format!("lateness: no `{key}` in {text}"))
    };
    let load = std::fs::read_to_string("/proc/loadavg").unwrap_or_default();
    let load = load.split(' ').nth(1).unwrap_or("unknown").to_owned();
    let ms = |seconds: f64| format!("{:.2} ms", seconds * 1e3);
    let steps = figure("late_steps")?;
    Ok(format!(
        "lateness: {STEPS} steps of 1 ms in real time with rows: {steps} late ({:.3} %), by at most {}; an empty loop beside it: {late} late, by at most {}; load of the machine {load}, {} processors",
        100.0 * steps / f64::from(STEPS),
        ms(figure("latest")?),
        ms(latest.as_secs_f64()),
        std::thread::available_parallelism().map_or(1, |n| n.get()),
    ))
}

fn read(path: &PathBuf) -> Result<String> {
    std::fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()))
}

fn mutations(binary: &Path, folder: &Path) -> Result<String> {
    let names = ["dual-mass.toml", "helicopter.toml", "double-pendulum.toml", "quarter-truck.toml"];
    let texts = names.iter().map(|name| example(folder, name)).collect::<Result<Vec<_>>>()?;
    let mut random = Random(11);
    let (mut ran, mut refused) = (0, 0);
    for k in 0..MUTATIONS {
        let text = mutate(&texts[random.below(texts.len())], &mut random);
        std::fs::write(folder.join("mutant.toml"), &text).map_err(|e| e.to_string())?;
        let mut child = koppel(binary, folder, &["run", "mutant.toml", "--dry-run"])
            .spawn()
            .map_err(|e| e.to_string())?;
        match wait(&mut child, Duration::from_secs(20))? {
            Some(0) => ran += 1,
            Some(2) => refused += 1,
            other => {
                let kept = folder.join(format!("mutant-{k}.toml"));
                std::fs::write(&kept, &text).map_err(|e| e.to_string())?;
                return Err(format!("mutations: exit code and messages {other:?} on {}", kept.display()));
            }
        }
    }
    Ok(format!(
        "mutations: {MUTATIONS} system files changed at random: {ran} accepted, {refused} refused with one message, no crash, no hang (`koppel run --dry-run`, under the supervisor)"
    ))
}

/// The readers in one process, by the experiment `mutations`; optimised, but with overflow checks.
fn foreign_files(_: &Path, _: &Path) -> Result<String> {
    let count = STRANGERS.to_string();
    let arguments = ["run", "--package", "koppel-experiments", "--bin", "mutations", "--", &count];
    let figures = output(&mut cargo(&arguments))?;
    let figures = figures.trim();
    let most: u64 = figures
        .rsplit_once("at most ")
        .and_then(|(_, rest)| rest.split_whitespace().next()?.parse().ok())
        .ok_or("foreign-files: no figures")?;
    if most > 2048 {
        return Err(format!("foreign-files: {most} MB of memory"));
    }
    Ok(format!("foreign-files: changed at random by koppel's own mutator: {figures}"))
}

/// The exit code, or `None` for a crash or a hang.
fn wait(child: &mut Child, limit: Duration) -> Result<Option<i32>> {
    let begin = Instant::now();
    loop {
        if let Some(status) = child.try_wait().map_err(|e| e.to_string())? {
            return Ok(status.code());
        }
        if begin.elapsed() > limit {
            let _ = child.kill();
            return Ok(None);
        }
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// One to four random edits: characters dropped, doubled, replaced; lines dropped, swapped, doubled.
fn mutate(text: &str, random: &mut Random) -> String {
    let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
    for _ in 0..=random.below(3) {
        let line = random.below(lines.len());
        let other = random.below(lines.len());
        match random.below(6) {
            0 => drop(lines.remove(line)),
            1 => lines.swap(line, other),
            2 => lines.insert(line, lines[other].clone()),
            kind => {
                let mut letters: Vec<char> = lines[line].chars().collect();
                let at = random.below(letters.len().max(1));
                let odd = ['"', '[', ']', '{', '}', '=', '.', '-', '1', 'e', ',', '\u{e9}', '\0', '#', '\''];
                match kind {
                    3 if at < letters.len() => drop(letters.remove(at)),
                    4 if at < letters.len() => letters[at] = odd[random.below(odd.len())],
                    _ => letters.insert(at.min(letters.len()), odd[random.below(odd.len())]),
                }
                lines[line] = letters.into_iter().collect();
            }
        }
        if lines.is_empty() {
            break;
        }
    }
    lines.join("\n")
}

/// Numbers without pattern, the same in every run.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    fn below(&mut self, limit: usize) -> usize {
        (self.next() % limit as u64) as usize
    }

    fn unit(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1_u64 << 53) as f64
    }
}
