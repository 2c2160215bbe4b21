//! Problems whose fronts are known, from Deb, Pratap, Agarwal & Meyarivan 2002: ZDT1, ZDT3, SCH, and one with a rule.
//!
//! Measured as there: the mean distance of what was found from 500 points of the true front, after 25 000 evaluations. Table
//! II gives 0.033 for ZDT1, 0.115 for ZDT3 and 0.0034 for SCH.

use koppel::SplitMix64;
use koppel::plan::evolution::{Breeding, Problem, breed};
use koppel::plan::pareto::Point;

/// Numbers between two ends, in millionths of the way.
struct Numbers {
    count: usize,
    ends: (f64, f64),
    objectives: fn(&[f64]) -> Point,
}

const PARTS: usize = 1_000_000;

impl Numbers {
    fn values(&self, genome: &[usize]) -> Vec<f64> {
        let (low, high) = self.ends;
        genome.iter().map(|part| low + (high - low) * *part as f64 / PARTS as f64).collect()
    }

    fn found(&self, seed: u64) -> Vec<[f64; 2]> {
        let breeding = Breeding { population: 100, evaluations: 25_000, seed };
        let seen = breed(self, breeding, &|_| {});
        assert!(seen.len() <= 25_000);
        seen.front().iter().map(|(_, point)| [point.objectives[0], point.objectives[1]]).collect()
    }
}

impl Problem for Numbers {
    type Genome = Vec<usize>;

    fn first(&self) -> Vec<Vec<usize>> {
        Vec::new()
    }

    fn draw(&self, random: &mut SplitMix64) -> Vec<usize> {
        (0..self.count).map(|_| random.below(PARTS + 1)).collect()
    }

    /// Between or a little beyond the parents; one number in all is moved by up to a tenth, mostly less.
    fn child(&self, [a, b]: [&Vec<usize>; 2], random: &mut SplitMix64) -> Vec<usize> {
        let mut child = Vec::with_capacity(self.count);
        for (a, b) in a.iter().zip(b) {
            let (a, b) = (*a as f64, *b as f64);
            let part = if random.happens(0.5) { 0.0 } else { 1.2 * random.unit() - 0.1 };
            let mut value = a + part * (b - a);
            if random.happens(1.0 / self.count as f64) {
                value += PARTS as f64 * (random.unit() - 0.5) * 10_f64.powf(-3.0 * random.unit());
            }
            child.push(value.clamp(0.0, PARTS as f64).round() as usize);
        }
        child
    }

    fn judge(&self, genome: &Vec<usize>) -> Point {
        (self.objectives)(&self.values(genome))
    }
}

fn distance(a: [f64; 2], b: [f64; 2]) -> f64 {
    (a[0] - b[0]).hypot(a[1] - b[1])
}

/// Mean distance of points from the true front, and the largest distance of the true front from points.
fn measured(found: &[[f64; 2]], front: &[[f64; 2]]) -> (f64, f64) {
    let nearest = |point: [f64; 2], to: &[[f64; 2]]| {
        to.iter().map(|other| distance(point, *other)).fold(f64::INFINITY, f64::min)
    };
    let mean = found.iter().map(|point| nearest(*point, front)).sum::<f64>() / found.len() as f64;
    let gap = front.iter().map(|point| nearest(*point, found)).fold(0.0, f64::max);
    (mean, gap)
}

fn even(count: usize, of: impl Fn(f64) -> [f64; 2]) -> Vec<[f64; 2]> {
    (0..count).map(|k| of(k as f64 / (count - 1) as f64)).collect()
}

#[test]
fn zdt1() {
    let objectives = |x: &[f64]| {
        let g = 1.0 + 9.0 * x[1..].iter().sum::<f64>() / (x.len() - 1) as f64;
        Point::of(vec![x[0], g * (1.0 - (x[0] / g).sqrt())])
    };
    let front = even(500, |part| [part, 1.0 - part.sqrt()]);
    for seed in 1..=3 {
        let (mean, gap) = measured(&Numbers { count: 30, ends: (0.0, 1.0), objectives }.found(seed), &front);
        println!("zdt1 {seed}: {mean:.5} {gap:.5}");
        assert!(mean < 0.033 && gap < 0.1, "seed {seed}: {mean}, {gap}");
    }
}

/// Its front is in five pieces.
#[test]
fn zdt3() {
    let second =
        |x: f64, g: f64| g * (1.0 - (x / g).sqrt() - x / g * (10.0 * std::f64::consts::PI * x).sin());
    let objectives = |x: &[f64]| {
        let second =
            |x: f64, g: f64| g * (1.0 - (x / g).sqrt() - x / g * (10.0 * std::f64::consts::PI * x).sin());
        Point::of(vec![x[0], second(x[0], 1.0 + 9.0 * x[1..].iter().sum::<f64>() / (x.len() - 1) as f64)])
    };
    let curve: Vec<Point> =
        even(2000, |part| [part, second(part, 1.0)]).iter().map(|p| Point::of(p.to_vec())).collect();
    let front: Vec<[f64; 2]> = koppel::plan::pareto::front(&curve)
        .into_iter()
        .map(|at| [curve[at].objectives[0], curve[at].objectives[1]])
        .collect();
    for seed in 1..=3 {
        let (mean, gap) = measured(&Numbers { count: 30, ends: (0.0, 1.0), objectives }.found(seed), &front);
        println!("zdt3 {seed}: {mean:.5} {gap:.5}");
        assert!(mean < 0.115 && gap < 0.1, "seed {seed}: {mean}, {gap}");
    }
}

/// Schaffer's: x² and (x - 2)².
#[test]
fn schaffer() {
    let objectives = |x: &[f64]| Point::of(vec![x[0] * x[0], (x[0] - 2.0) * (x[0] - 2.0)]);
    let front = even(500, |part| [4.0 * part * part, 4.0 * (part - 1.0) * (part - 1.0)]);
    for seed in 1..=3 {
        let (mean, gap) = measured(&Numbers { count: 1, ends: (-1e3, 1e3), objectives }.found(seed), &front);
        println!("sch {seed}: {mean:.5} {gap:.5}");
        assert!(mean < 0.0034 && gap < 0.1, "seed {seed}: {mean}, {gap}");
    }
}

/// CONSTR: x and (1 + y) / x with y + 9 x ≥ 6 and 9 x - y ≥ 1; the rule makes a part of the front.
#[test]
fn a_problem_with_rules() {
    let objectives = |z: &[f64]| {
        let (x, y) = (0.1 + 0.9 * z[0], 5.0 * z[1]);
        let broken = (6.0 - y - 9.0 * x).max(0.0) + (1.0 - 9.0 * x + y).max(0.0);
        if broken > 0.0 { Point::broken(broken) } else { Point::of(vec![x, (1.0 + y) / x]) }
    };
    // Up to x = 2/3 the first rule holds as an equation, from there on y = 0.
    let front = even(500, |part| {
        let x = 7.0 / 18.0 + part * (1.0 - 7.0 / 18.0);
        [x, (1.0 + (6.0 - 9.0 * x).max(0.0)) / x]
    });
    let (mean, gap) = measured(&Numbers { count: 2, ends: (0.0, 1.0), objectives }.found(1), &front);
    println!("constr: {mean:.5} {gap:.5}");
    assert!(mean < 0.02 && gap < 0.2, "{mean}, {gap}");
}

#[test]
fn the_same_seed_finds_the_same() {
    let objectives = |x: &[f64]| Point::of(vec![x[0], 1.0 / (0.1 + x[0]) + x[1]]);
    let problem = Numbers { count: 2, ends: (0.0, 1.0), objectives };
    let found = |seed: u64| {
        let seen = breed(&problem, Breeding { population: 20, evaluations: 200, seed }, &|_| {});
        seen.all().map(|(genome, _)| genome.clone()).collect::<Vec<_>>()
    };
    assert_eq!(found(5), found(5));
    assert_ne!(found(5), found(6));
    assert_eq!(found(5).len(), 200);
}
