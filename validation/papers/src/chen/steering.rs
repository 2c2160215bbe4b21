//! A vehicle and its power-assisted steering: Table 6, Figures 12 to 14.

use std::time::Instant;

use crate::cases::{Case, case};
use koppel::run::{Parallel, RunConfig};
use koppel_io::plot::Scale::Linear;

use super::methods;
use crate::context::Context;
use crate::course::Course;
use crate::exhibit::{Comparison, numbers, plot, short, texts};
use crate::{Exhibit, Result};

const SIGNALS: [(&str, &str); 4] = [
    ("steering angle", "steering.delta_s"),
    ("rack speed", "steering.v"),
    ("yaw rate", "vehicle.yaw_rate"),
    ("lateral velocity", "vehicle.v_y"),
];

const MODEL: &str = "The paper's vehicle has 36487 equations and its control unit is a black box; here a bicycle model and an assistance in proportion \
     to the torque, with the printed parameters of the steering.";

/// One test: torques up to 1 or 3 Hz.
struct Test {
    exact: Course,
    courses: Vec<(&'static str, Course)>,
    /// Uncut, then by method: the fastest of five runs, in s.
    seconds: [f64; 5],
}

impl Test {
    fn new(name: &str) -> Result<Test> {
        let case: Case = case(name)?;
        let run = RunConfig { threads: Parallel::Never, ..case.run.clone() };
        let timed = |make: &dyn Fn() -> Result<Course>| -> Result<(Course, f64)> {
            let mut best = f64::INFINITY;
            let mut last = make()?;
            for _ in 0..5 {
                let begin = Instant::now();
                last = make()?;
                best = best.min(begin.elapsed().as_secs_f64());
            }
            Ok((last, best))
        };
        let (exact, uncut) = timed(&|| Course::reference(&case, &run))?;
        let mut seconds = [uncut, 0.0, 0.0, 0.0, 0.0];
        let mut courses = Vec::new();
        for (k, (name, coupling)) in methods().into_iter().enumerate() {
            let config = RunConfig { coupling, ..run.clone() };
            let (course, own) = timed(&|| Course::of(&case, &config))?;
            seconds[k + 1] = own;
            courses.push((name, course));
        }
        Ok(Test { exact, courses, seconds })
    }

    /// In percent; infinite where a run was lost.
    fn error(&self, method: usize, signal: &str) -> f64 {
        let course = &self.courses[method].1;
        if course.is_whole { 100.0 * course.nrms(&self.exact, signal) } else { f64::INFINITY }
    }

    /// Largest second difference of the rack's speed.
    fn roughness(&self, method: usize) -> f64 {
        let speed = self.courses[method].1.column("steering.v");
        speed.windows(3).map(|v| (v[0] - 2.0 * v[1] + v[2]).abs()).fold(0.0, f64::max)
    }
}

pub(super) fn exhibits(_: &Context<'_>) -> Result<Vec<Exhibit>> {
    let tests = [Test::new("epas")?, Test::new("epas-fast")?];
    let mut all = vec![figure_12(&tests)];
    for (test, (number, title)) in
        tests.iter().zip([("Figure 13", "torque to 1 Hz"), ("Figure 14", "torque to 3 Hz")])
    {
        all.push(courses(test, number, title));
    }
    all.push(table_6(&tests));
    Ok(all)
}

fn figure_12(tests: &[Test; 2]) -> Exhibit {
    let lines: Vec<(usize, usize)> = (0..2).flat_map(|t| (0..4).map(move |m| (t, m))).collect();
    let mut columns = vec![
        texts("torque to", lines.iter().map(|(t, _)| ["1 Hz", "3 Hz"][*t])),
        texts("coupling", lines.iter().map(|(_, m)| methods()[*m].0)),
    ];
    for (what, signal) in SIGNALS {
        columns.push(numbers(&format!("{what}, %"), lines.iter().map(|(t, m)| tests[*t].error(*m, signal))));
    }
    let mut exhibit =
        Exhibit::new("Figure 12", "errors of vehicle and steering, exchanged every 20 ms", MODEL)
            .table("errors", columns);
    for (test, what) in tests.iter().zip(["to 1 Hz", "to 3 Hz"]) {
        for (signal, name) in SIGNALS {
            let [zoh, foh, hinf] = [0, 1, 3].map(|m| test.error(m, name));
            exhibit = exhibit.compare(
                Comparison::statement(
                    "H∞ is more accurate than ZOH and FOH",
                    hinf < zoh && hinf < foh,
                    format!("ZOH {} %, FOH {} %, H∞ {} %", short(zoh), short(foh), short(hinf)),
                )
                .what(format!("{signal}, {what}")),
            );
        }
        let lost = &test.courses[2].1;
        exhibit = exhibit.compare(
            Comparison::statement(
                "SOH is unstable",
                !lost.is_whole,
                format!("its numbers end after {} s", short(lost.table.times.last().copied().unwrap_or(0.0))),
            )
            .what(what),
        );
    }
    exhibit
}

fn courses(test: &Test, number: &str, title: &str) -> Exhibit {
    let mut exhibit = Exhibit::new(number, &format!("vehicle and steering, {title}"), MODEL);
    for (what, signal) in SIGNALS {
        let mut curves = vec![test.exact.curve("uncut", signal)];
        curves
            .extend(test.courses.iter().map(|(name, course)| course.clipped(name, signal, &test.exact, 0.5)));
        let name = what.replace(' ', "-");
        exhibit =
            exhibit.curves(&name, plot(&format!("{number}, {what}"), ["time, s", what], [Linear; 2], curves));
    }
    let errors = |m: usize| SIGNALS.map(|(_, signal)| test.error(m, signal));
    if number == "Figure 13" {
        let most = [0, 1, 3].map(|m| errors(m).into_iter().fold(0.0, f64::max));
        return exhibit.compare(
            Comparison::statement(
                "at low frequency no method but SOH makes a significant error",
                most.iter().all(|e| *e < 10.0),
                format!(
                    "largest errors ZOH {} %, FOH {} %, H∞ {} %",
                    short(most[0]),
                    short(most[1]),
                    short(most[2])
                ),
            )
            .because(
                "our vehicle answers at once, theirs does not: FOH is unstable here on the same exchange",
            ),
        );
    }
    let [foh, hinf] = [1, 3].map(|m| test.roughness(m));
    exhibit.compare(Comparison::statement(
        "FOH makes the rack's speed oscillate, H∞ does not",
        foh > 3.0 * hinf,
        format!("largest second difference {} against {} m/s", short(foh), short(hinf)),
    ))
}

fn table_6(tests: &[Test; 2]) -> Exhibit {
    const PAPER: [[f64; 5]; 2] = [[916.33, 29.30, 29.64, 36.10, 30.44], [947.04, 31.92, 31.43, 34.43, 32.89]];
    let names = ["uncut", "ZOH", "FOH", "SOH", "H∞"];
    let mut exhibit = Exhibit::new(
        "Table 6",
        "elapsed time of vehicle and steering",
        format!("Fastest of five runs on one core. {MODEL}"),
    )
    .table(
        "seconds",
        vec![
            texts("run", names),
            numbers("to 1 Hz, s", tests[0].seconds),
            numbers("to 1 Hz, paper, s", PAPER[0]),
            numbers("to 3 Hz, s", tests[1].seconds),
            numbers("to 3 Hz, paper, s", PAPER[1]),
        ],
    );
    for (test, (paper, what)) in tests.iter().zip(PAPER.iter().zip(["to 1 Hz", "to 3 Hz"])) {
        let ratios = [test.seconds[4] / test.seconds[1], test.seconds[0] / test.seconds[1]];
        exhibit = exhibit
            .compare(
                Comparison::statement(
                    format!("H∞ costs little more than ZOH: {} times", short(paper[4] / paper[1])),
                    ratios[0] < 1.5,
                    format!("{} times", short(ratios[0])),
                )
                .because("filters are a larger part of the work of a small vehicle model")
                .what(what),
            )
            .compare(
                Comparison::statement(
                    format!("co-simulation is much faster than the uncut system: {} times", short(paper[0] / paper[1])),
                    ratios[1] > 10.0,
                    format!("{} times", short(ratios[1])),
                )
                .because("the uncut system of the paper solves 36487 equations with the small steps that the steering needs; ours is small on both sides")
                .what(what),
            );
    }
    exhibit
}
