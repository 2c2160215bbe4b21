//! What is predicted against what the engine does with the systems themselves.

use super::{connections, linear, names};
use crate::cases::{Case, case};
use koppel::coupling::CouplingConfig;
use koppel::plan::tune::{TuneOptions, Tuned, tune};
use koppel::run::{Run, RunConfig, ScheduleConfig};

/// Root mean square over the range, the largest of all outputs: the run against the system uncut.
fn seen(case: &Case, run: &RunConfig) -> f64 {
    let steps = ((run.stop - run.start) / run.step).floor();
    let config = RunConfig { stop: run.start + steps * run.step, ..run.clone() };
    let plain =
        RunConfig { coupling: CouplingConfig::zoh(), schedule: ScheduleConfig::PARALLEL, ..config.clone() };
    let mut coupled = Run::new(case.system().unwrap(), &config).unwrap();
    let mut uncut = Run::new(case.reference().unwrap(), &plain).unwrap();
    let graph = case.system().unwrap().graph;
    let names: Vec<(usize, usize, usize)> = (0..graph.outputs())
        .map(|output| {
            let id = graph.subsystem_of_output(output);
            let own = coupled.graph().find(graph.name(id)).unwrap();
            let name = graph.output_name(output);
            let ideal = uncut.graph().ports(0).outputs.iter().position(|known| known.name == name).unwrap();
            (own, output - graph.outputs_of(id).start, ideal)
        })
        .collect();
    let mut sums = vec![0.0; names.len()];
    let mut ranges: Vec<[f64; 2]> = names.iter().map(|(_, _, ideal)| [uncut.outputs(0)[*ideal]; 2]).collect();
    while !coupled.is_done() {
        coupled.advance().unwrap();
        uncut.advance().unwrap();
        for (k, (id, at, ideal)) in names.iter().enumerate() {
            let ideal = uncut.outputs(0)[*ideal];
            sums[k] += (coupled.outputs(*id)[*at] - ideal).powi(2);
            ranges[k] = [ranges[k][0].min(ideal), ranges[k][1].max(ideal)];
        }
    }
    let errors = sums.iter().zip(&ranges).filter(|(_, range)| range[1] - range[0] > 1e-12);
    errors.map(|(sum, range)| (sum / steps).sqrt() / (range[1] - range[0])).fold(0.0, f64::max)
}

/// The largest output in the second half of a run of ten times its time, relative to the largest of the system uncut.
fn late(case: &Case, config: &RunConfig) -> f64 {
    let long = RunConfig { stop: config.start + 10.0 * (config.stop - config.start), ..config.clone() };
    let plain =
        RunConfig { coupling: CouplingConfig::zoh(), schedule: ScheduleConfig::PARALLEL, ..long.clone() };
    let largest = |mut run: Run, from: f64| {
        let mut largest = 0.0_f64;
        while !run.is_done() {
            run.advance().unwrap();
            for id in (0..run.graph().len()).filter(|_| run.time() >= from) {
                largest = run.outputs(id).iter().fold(largest, |most, y| most.max(y.abs()));
            }
        }
        largest
    };
    let coupled = largest(Run::new(case.system().unwrap(), &long).unwrap(), 0.5 * (long.start + long.stop));
    coupled / largest(Run::new(case.reference().unwrap(), &plain).unwrap(), long.start)
}

/// Every point of the front, run: stable, and with the error that was predicted.
#[test]
fn points_of_the_front_are_what_they_are_said_to_be() {
    for name in ["two-mass", "quarter-truck", "control-loop"] {
        let case = case(name).unwrap();
        let (system, inputs) = (linear(&case), connections(&case));
        let methods =
            names(&["zoh", "foh", "soh", "relaxed", "nepce", "corrector", "prestep", "anti-aliasing"]);
        let options = TuneOptions {
            methods: &methods,
            connections: &inputs,
            evaluations: Some(240),
            ..TuneOptions::default()
        };
        let found = tune(&system, &case.run, &options).unwrap();
        assert!(found.front.len() > 5, "{name}: {}", found.front.len());
        let kinds = |pick: fn(&Tuned) -> bool| found.front.iter().filter(|one| pick(one)).count();
        let mixed = kinds(|one| matches!(one.candidate.coupling, CouplingConfig::Mixed { .. }));
        let (mut worst, mut loudest) = (0.0_f64, 0.0_f64);
        for one in found.front.iter().step_by(found.front.len() / 12 + 1) {
            let run = one.candidate.on(&case.run);
            let (predicted, seen) = (one.score.error.unwrap(), seen(&case, &run));
            worst = worst.max((predicted - seen).abs() / seen);
            loudest = loudest.max(late(&case, &run));
            assert!(
                (predicted - seen).abs() <= 1e-3 * seen + 1e-9,
                "{name}: {predicted} {seen} {:?}",
                one.candidate
            );
        }
        println!("{name}: {} points, {mixed} mixed, worst {worst:.1e}, late {loudest:.2}", found.front.len());
        // Whatever overshoots at first has settled to what the system itself does.
        assert!(loudest < 1.1, "{name}: {loudest}");
    }
}

/// Connections that are not searched keep the method of their own.
#[test]
fn what_is_not_searched_stays() {
    let case = case("two-mass").unwrap();
    let (system, inputs, methods) = (linear(&case), connections(&case), names(&["foh", "nepce"]));
    let own = CouplingConfig::soh(Default::default());
    let coupling = CouplingConfig::Mixed {
        default: Box::new(CouplingConfig::zoh()),
        connections: inputs[..2].iter().map(|input| (input.clone(), own.clone())).collect(),
    };
    let options = TuneOptions { methods: &methods, connections: &inputs[..1], ..TuneOptions::default() };
    let found = tune(&system, &RunConfig { coupling, ..case.run.clone() }, &options).unwrap();
    for one in &found.front {
        let CouplingConfig::Mixed { default, connections } = &one.candidate.coupling else {
            panic!("{:?}", one.candidate);
        };
        assert_eq!((&**default, connections.get(&inputs[1])), (&CouplingConfig::zoh(), Some(&own)));
        assert!(connections.get(&inputs[0]).is_some_and(|searched| *searched != own), "{connections:?}");
    }
}

/// Settings that are said to be unstable are.
#[test]
fn what_is_left_out_for_its_growth_grows() {
    let case = case("quarter-truck").unwrap();
    let system = linear(&case);
    let methods = names(&["zoh"]);
    let options = TuneOptions {
        methods: &methods,
        steps: Some((0.01, 0.1)),
        schedules: false,
        ..TuneOptions::default()
    };
    let found = tune(&system, &case.run, &options).unwrap();
    assert!(found.is_complete, "{}", found.combinations);
    // Stable up to 0.0381 s and from 0.097 s on: the step matrix by hand, as `check` has it.
    let steps: Vec<f64> = found.front.iter().map(|one| one.candidate.step).collect();
    assert!(steps.iter().all(|step| *step < 0.0382 || *step > 0.0969), "{steps:?}");
    let run = RunConfig { step: 0.05, coupling: CouplingConfig::zoh(), ..case.run.clone() };
    assert!(late(&case, &run) > 100.0);
}
