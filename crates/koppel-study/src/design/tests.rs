use super::*;
use crate::settings::Scale;

fn factor(source: Source) -> Factor {
    Factor { name: "f".into(), places: Vec::new(), source, span: 0..0 }
}

fn range(from: f64, to: f64, steps: usize, is_log: bool) -> Factor {
    factor(Source::Range { from, to, steps, is_log, is_whole: false })
}

fn design(factors: &[Factor], kind: PlanKind, runs: u64) -> Design {
    Design::new(factors, &Plan { kind, runs, seed: 7 }).unwrap()
}

fn numbers(design: &Design, run: u64) -> Vec<f64> {
    design.cells(run).iter().map(|cell| cell.value.number.unwrap()).collect()
}

#[test]
fn every_combination_once_and_the_last_factor_fastest() {
    let factors = [range(1.0, 3.0, 3, false), range(1.0, 100.0, 3, true)];
    let design = design(&factors, PlanKind::FullFactorial, 1);
    assert_eq!(design.runs(), 9);
    assert_eq!(numbers(&design, 0), [1.0, 1.0]);
    assert_eq!(numbers(&design, 1), [1.0, 10.0]);
    assert_eq!(numbers(&design, 5), [2.0, 100.0]);
    let levels: Vec<_> = design.cells(7).iter().map(|cell| cell.level).collect();
    assert_eq!(levels, [Some(2), Some(1)]);
}

#[test]
fn whole_numbers_are_levels_once() {
    let source = Source::Range { from: 1.0, to: 3.0, steps: 5, is_log: false, is_whole: true };
    let design = design(&[factor(source)], PlanKind::FullFactorial, 1);
    let levels: Vec<Vec<f64>> = (0..design.runs()).map(|run| numbers(&design, run)).collect();
    assert_eq!(levels, [[1.0], [2.0], [3.0]]);
}

#[test]
fn drawn_factors_of_a_factorial_plan_stay_while_the_others_change() {
    let drawn = factor(Source::Uniform { low: 0.0, high: 1.0, is_log: false });
    let design = design(&[drawn, range(1.0, 2.0, 2, false)], PlanKind::FullFactorial, 5);
    assert_eq!(design.runs(), 10);
    let all: Vec<Vec<f64>> = (0..10).map(|run| numbers(&design, run)).collect();
    assert!(all.chunks(2).all(|pair| pair[0][0] == pair[1][0] && pair[0][1] != pair[1][1]));
    assert!(all.chunks(2).collect::<Vec<_>>().windows(2).all(|two| two[0][0][0] != two[1][0][0]));
}

#[test]
fn a_latin_hypercube_tries_every_part_once() {
    let factors = [range(0.0, 1.0, 2, false), range(0.0, 1.0, 2, false)];
    let design = design(&factors, PlanKind::LatinHypercube, 50);
    for j in 0..2 {
        let mut parts: Vec<usize> = (0..50).map(|run| (numbers(&design, run)[j] * 50.0) as usize).collect();
        assert_ne!(parts, (0..50).collect::<Vec<_>>(), "the order is drawn");
        parts.sort_unstable();
        assert_eq!(parts, (0..50).collect::<Vec<_>>());
    }
}

/// A stratum of 2^-k by 2^-(m-k) holds exactly one of 2^m points in the first two dimensions, shifted or not.
#[test]
fn sobol_points_are_a_net() {
    let factors = [range(0.0, 1.0, 2, false), range(0.0, 1.0, 2, false)];
    let design = design(&factors, PlanKind::Sobol, 64);
    for k in 0..=6 {
        let (a, b) = (1_usize << k, 1_usize << (6 - k));
        let mut seen = vec![0; 64];
        for run in 0..64 {
            let at = numbers(&design, run);
            seen[(at[0] * a as f64) as usize * b + (at[1] * b as f64) as usize] += 1;
        }
        assert!(seen.iter().all(|count| *count == 1), "{k}: {seen:?}");
    }
}

/// The first points of SciPy's unscrambled sequence, times 16.
#[test]
fn sobol_points_are_those_of_joe_and_kuo() {
    let sixteenth = |index, dimension| f64::from(sobol::point(index, dimension)) / 4_294_967_296.0 * 16.0;
    let first: Vec<f64> = (0..8).map(|i| sixteenth(i, 0)).collect();
    assert_eq!(first, [0.0, 8.0, 12.0, 4.0, 6.0, 14.0, 10.0, 2.0]);
    let second: Vec<f64> = (0..8).map(|i| sixteenth(i, 1)).collect();
    assert_eq!(second, [0.0, 8.0, 4.0, 12.0, 6.0, 14.0, 2.0, 10.0]);
}

/// Against known quantiles: 0.975, 0.999, and a tail.
#[test]
fn normal_quantiles() {
    for (p, x) in [
        (0.5, 0.0),
        (0.975, 1.959_963_984_540_054),
        (0.001, -3.090_232_306_167_813_5),
        (1e-10, -6.361_340_902_404_056),
    ] {
        assert!((normal_quantile(p) - x).abs() < 1e-13, "{p}: {}", normal_quantile(p));
    }
}

#[test]
fn weights_tell_how_often_a_value_is_drawn() {
    let values = ["a", "b"].map(|name| Value { text: name.into(), label: name.into(), number: None });
    let source = Source::List { values: values.to_vec(), weights: vec![3.0, 1.0] };
    assert_eq!(source.scale(), Scale::Names);
    let design = design(&[factor(source)], PlanKind::MonteCarlo, 4000);
    let often = (0..4000).filter(|run| design.cells(*run)[0].level == Some(0)).count();
    assert!((2900..3100).contains(&often), "{often}");
}

#[test]
fn a_plan_that_cannot_be_counted_is_none() {
    let factors = vec![range(0.0, 1.0, 1_000_000, false); 4];
    assert!(Design::new(&factors, &Plan { kind: PlanKind::FullFactorial, runs: 1, seed: 1 }).is_none());
}
