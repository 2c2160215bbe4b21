//! What the engine costs: time per macro step and subsystem, beside the same loop written by hand, in one run.
//!
//! Chains of subsystems with two inputs and two outputs each, parallel schedule, zero-order hold, nothing recorded. The
//! subsystem's own arithmetic is the same inlined code on both sides, so the difference is the engine. Rounds of both
//! sides alternate and the fastest round of each counts: what else the machine does is not measured.

#![expect(clippy::print_stdout, clippy::unwrap_used, reason = "a benchmark prints and may panic")]

use koppel::record::Nothing;
use koppel::run::{Parallel, Run, RunConfig};
use koppel::signal::{Samples, Segment, Step};
use koppel::system::{Connection, Ports, Snapshot, Subsystem, SystemBuilder, Variable, VariableId};
use koppel::{Error, Result};
use std::hint::black_box;
use std::time::Instant;

/// A damped oscillator pushed by its neighbours; `work` extra sweeps make its step heavier.
#[derive(Clone)]
struct Cell {
    x: [f64; 2],
    u: [f64; 2],
    work: u32,
}

impl Cell {
    fn new(number: usize, work: u32) -> Self {
        Cell { x: [1.0 / (number + 1) as f64, 0.0], u: [0.0; 2], work }
    }

    #[inline(always)]
    fn move_on(&mut self) {
        for _ in 0..=self.work {
            let [x, v] = self.x;
            let force = 0.01 * (self.u[0] - self.u[1]) - 0.4 * x - 0.1 * v;
            self.x = [x + 1e-3 * v, v + 1e-3 * force];
        }
    }
}

/// The same as a subsystem of the engine.
struct CellSubsystem {
    cell: Cell,
    ports: Ports,
}

impl CellSubsystem {
    fn new(cell: Cell) -> Self {
        let ports = Ports {
            inputs: ["a", "b"].map(Variable::new).into(),
            outputs: ["x", "v"].map(Variable::new).into(),
            ..Ports::default()
        };
        CellSubsystem { cell, ports }
    }
}

impl Subsystem for CellSubsystem {
    fn ports(&self) -> &Ports {
        &self.ports
    }
    fn initialize(&mut self, _start: f64) -> Result<()> {
        Ok(())
    }
    fn read(&mut self, inputs: Option<&[f64]>, outputs: &mut [f64]) -> Result<()> {
        if let Some(inputs) = inputs {
            self.cell.u.copy_from_slice(inputs);
        }
        outputs.copy_from_slice(&self.cell.x);
        Ok(())
    }
    fn step(
        &mut self,
        _step: &Step,
        input: &Segment<'_>,
        outputs: &mut [f64],
        _samples: &mut Samples,
    ) -> Result<()> {
        input.end_values(&mut self.cell.u);
        self.cell.move_on();
        outputs.copy_from_slice(&self.cell.x);
        Ok(())
    }
    fn get(&mut self, _variable: VariableId) -> Result<f64> {
        Ok(self.cell.x[0])
    }
    fn set(&mut self, _variable: VariableId, _value: f64) -> Result<()> {
        Err(Error::Unsupported { what: "setting".into(), reason: "a cell has no parameters".into() }.into())
    }
    fn save(&mut self, snapshot: &mut Snapshot) -> Result<()> {
        snapshot.reals.clear();
        snapshot.reals.extend_from_slice(&self.cell.x);
        Ok(())
    }
    fn restore(&mut self, snapshot: &Snapshot) -> Result<()> {
        self.cell.x.copy_from_slice(&snapshot.reals);
        Ok(())
    }
}

/// Chain: each cell hears the x of its left and the v of its right neighbour; the ends hear themselves.
fn neighbours(i: usize, n: usize) -> (usize, usize) {
    (i.saturating_sub(1), (i + 1).min(n - 1))
}

fn engine(n: usize, work: u32, steps: u64) -> Run {
    let mut builder = SystemBuilder::new();
    for i in 0..n {
        builder = builder.add(&format!("c{i}"), CellSubsystem::new(Cell::new(i, work)));
    }
    for i in 0..n {
        let (left, right) = neighbours(i, n);
        builder = builder
            .connect(Connection::new(&format!("c{left}.x"), &format!("c{i}.a")))
            .connect(Connection::new(&format!("c{right}.v"), &format!("c{i}.b")));
    }
    let mut config = RunConfig::new(steps as f64, 1.0);
    config.threads = Parallel::Never;
    Run::new(builder.build().unwrap(), &config).unwrap()
}

/// The loop a programmer would write for exactly this system.
struct ByHand {
    cells: Vec<Cell>,
    outputs: Vec<[f64; 2]>,
    wires: Vec<(usize, usize)>,
}

impl ByHand {
    fn new(n: usize, work: u32) -> Self {
        let cells: Vec<Cell> = (0..n).map(|i| Cell::new(i, work)).collect();
        let outputs = cells.iter().map(|c| c.x).collect();
        ByHand { cells, outputs, wires: (0..n).map(|i| neighbours(i, n)).collect() }
    }

    #[inline(never)]
    fn step(&mut self) {
        for (cell, (left, right)) in self.cells.iter_mut().zip(&self.wires) {
            cell.u = [self.outputs[*left][0], self.outputs[*right][1]];
            cell.move_on();
        }
        for (output, cell) in self.outputs.iter_mut().zip(&self.cells) {
            *output = cell.x;
        }
    }
}

/// Fastest seconds per call of `f` and `g` over alternating rounds.
fn fastest(rounds: usize, mut f: impl FnMut(), mut g: impl FnMut()) -> (f64, f64) {
    let time = |work: &mut dyn FnMut()| {
        let begin = Instant::now();
        work();
        begin.elapsed().as_secs_f64()
    };
    (0..rounds).fold((f64::MAX, f64::MAX), |(a, b), _| (a.min(time(&mut f)), b.min(time(&mut g))))
}

fn measure(n: usize, work: u32) -> (f64, f64) {
    let per_round = (400_000 / n as u64 / u64::from(work + 1)).max(200);
    let rounds = 25;
    let mut run = engine(n, work, per_round * (rounds as u64 + 1));
    let mut by_hand = ByHand::new(n, work);
    let (ours, theirs) = fastest(
        rounds,
        || (0..per_round).for_each(|_| run.advance().unwrap()),
        || (0..per_round).for_each(|_| black_box(&mut by_hand).step()),
    );
    for (id, cell) in by_hand.cells.iter().enumerate() {
        assert_eq!(run.outputs(id), cell.x, "both sides compute the same");
    }
    let cells = (per_round * n as u64) as f64;
    (ours / cells * 1e9, theirs / cells * 1e9)
}

/// Resident memory of this process in kB.
fn resident() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find(|l| l.starts_with("VmRSS:")).unwrap_or("VmRSS: 0 kB");
    line.split_whitespace().nth(1).and_then(|n| n.parse().ok()).unwrap_or(0)
}

fn main() {
    println!(
        "| subsystems | a subsystem's own step | engine, ns per subsystem and step | by hand, ns | difference, ns | ratio |"
    );
    println!("| ---: | --- | ---: | ---: | ---: | ---: |");
    let heavy = 230;
    for (n, work, name) in
        [(2, 0, "cheap"), (10, 0, "cheap"), (100, 0, "cheap"), (1000, 0, "cheap"), (100, heavy, "about 1 µs")]
    {
        let (ours, theirs) = measure(n, work);
        println!("| {n} | {name} | {ours:.1} | {theirs:.1} | {:.1} | {:.3} |", ours - theirs, ours / theirs);
    }
    let steps = 10_000_000;
    let mut run = engine(2, 0, steps);
    (0..1000).for_each(|_| run.advance().unwrap());
    let before = resident();
    run.run(&mut Nothing, &mut |_| Ok(koppel::run::Flow::Continue)).unwrap();
    println!("\nMemory over {steps:.0e} steps, nothing kept: {before} kB before, {} kB after.", resident());
}
