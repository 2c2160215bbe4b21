//! Events against exact solutions.

use koppel::equations::{Equations, Source};
use koppel::error::Error;
use koppel::signal::{Samples, Segment, Step};
use koppel::solver::{SolverConfig, Tolerances};
use koppel::system::{OdeModel, Snapshot, Subsystem};

use crate::references::compiled;

fn model(text: &str) -> OdeModel {
    let tolerances = Tolerances { rtol: 1e-12, atol: 1e-14, ..Tolerances::default() };
    let mut model = OdeModel::new(Box::new(compiled(text)), &SolverConfig::Adaptive(tolerances)).unwrap();
    model.initialize(0.0).unwrap();
    model
}

/// Moves over steps of one size; the outputs after each.
fn walk(model: &mut OdeModel, size: f64, count: u64) -> Result<Vec<Vec<f64>>, Box<Error>> {
    let p = model.ports().outputs.len();
    (0..count)
        .map(|index| {
            let step = Step { index, start: index as f64 * size, size };
            let mut y = vec![0.0; p];
            model.step(&step, &Segment::held(&step, &[]), &mut y, &mut Samples::default())?;
            Ok(y)
        })
        .collect()
}

const BALL: &str = "
    parameter g = 9.81 [m/s2], e = 0.8
    output h [m], v [m/s], n
    state h = 1 [m], v = 0 [m/s]
    der(h) = v
    der(v) = -g
    when h < 0 then v = -e * v; n = n + 1 end";

/// Height, velocity and bounces of a ball that falls from 1 m.
fn ball(time: f64) -> [f64; 3] {
    let (g, e) = (9.81_f64, 0.8);
    let (mut begin, mut v, mut n) = ((2.0 / g).sqrt(), (2.0 * g).sqrt(), 0.0);
    if time < begin {
        return [1.0 - 0.5 * g * time * time, -g * time, 0.0];
    }
    loop {
        v *= e;
        n += 1.0;
        let flight = 2.0 * v / g;
        if time < begin + flight {
            let t = time - begin;
            return [v * t - 0.5 * g * t * t, v - g * t, n];
        }
        begin += flight;
    }
}

/// Steps that hold many bounces, and ones that hold none.
#[test]
fn a_bouncing_ball_follows_its_exact_solution() {
    for (size, count) in [(0.01, 390), (0.1, 39), (1.3, 3)] {
        let mut model = model(BALL);
        let found = walk(&mut model, size, count).unwrap();
        for (index, y) in found.iter().enumerate() {
            let exact = ball((index + 1) as f64 * size);
            for (own, exact) in y.iter().zip(exact) {
                assert!((own - exact).abs() < 1e-9, "step {index} of {size} s: {y:?} against {exact:?}");
            }
        }
    }
}

/// It comes to rest at 4.0636... s: the bounces never end, the run does.
#[test]
fn bounces_without_end_are_an_error() {
    let mut model = model(BALL);
    let error = walk(&mut model, 0.5, 10).unwrap_err();
    let Error::Chattering { action, time, .. } = *error else { panic!("{error}") };
    let rest = (2.0 / 9.81_f64).sqrt() * (1.0 + 2.0 * 0.8 / (1.0 - 0.8));
    assert!((time - rest).abs() < 1e-9, "{time} against {rest}");
    assert_eq!(action, "`when h < 0` (line 7 of its equations)");
}

#[test]
fn relays_without_hysteresis_are_an_error() {
    let text = "
        state x = 1
        output x
        der(x) = if on > 0 then 1 else -1
        when x < 0 then on = 1 end
        when x > 0 then on = 0 end";
    let error = walk(&mut model(text), 0.7, 3).unwrap_err();
    assert!(error.to_string().contains("acts again and again at nearly the same time (t = 1 s)"), "{error}");
    let circle = "
        discrete a = 0
        output a
        when time > 1 or a > 0.5 then a = 0 end
        when time > 1 and a < 0.5 then a = 1 end
        when a > 0.5 then b = b + 1 end";
    walk(&mut model(circle), 0.7, 3).unwrap();
}

/// T' = -k (T - T_out) + q on, on between 19 and 21: piecewise exponential.
#[test]
fn a_thermostat_switches_at_its_limits() {
    let text = "
        parameter k = 0.5 [1/s], T_out = 5, q = 12, low = 19, high = 21
        output T, on, switches
        state T = 20
        discrete on = 1
        der(T) = -k * (T - T_out) + q * on
        when T > high then on = 0; switches = switches + 1 end
        when T < low then on = 1; switches = switches + 1 end";
    let (k, low, high) = (0.5_f64, 19.0_f64, 21.0_f64);
    let exact = |time: f64| {
        let (mut begin, mut value, mut on, mut switches) = (0.0, 20.0_f64, 1.0, 0.0);
        loop {
            let rest = 5.0 + 12.0 * on / k;
            let goal = if on == 1.0 { high } else { low };
            let duration = ((value - rest) / (goal - rest)).ln() / k;
            if time < begin + duration {
                return [rest + (value - rest) * (-k * (time - begin)).exp(), on, switches];
            }
            (begin, value, on, switches) = (begin + duration, goal, 1.0 - on, switches + 1.0);
        }
    };
    for (size, count) in [(0.05, 200), (3.1, 4)] {
        let found = walk(&mut model(text), size, count).unwrap();
        for (index, y) in found.iter().enumerate() {
            for (own, exact) in y.iter().zip(exact((index + 1) as f64 * size)) {
                assert!((own - exact).abs() < 1e-9, "step {index} of {size} s: {own} against {exact}");
            }
        }
        assert!(found[count as usize - 1][2] > 5.0);
    }
}

/// What is sampled runs as a program: from above to below, and holds its values in between.
#[test]
fn sampled_blocks_count_their_instants() {
    let text = "
        output n, sum, late, double
        when every(0.1) then n = n + 1; sum = sum + n end
        when every(0.3, 0.05) then late = time end
        double = 2 * n";
    let mut model = model(text);
    let found = walk(&mut model, 0.25, 4).unwrap();
    // At 0, 0.1, 0.2; then up to 0.4, 0.7 and 0.9; what is due at the end of a step acts at the start of the next.
    let n: Vec<f64> = found.iter().map(|y| y[0]).collect();
    assert_eq!(n, [3.0, 5.0, 8.0, 10.0]);
    assert!(found.iter().all(|y| y[1] == y[0] * (y[0] + 1.0) / 2.0 && y[3] == 2.0 * y[0]));
    let late: Vec<f64> = found.iter().map(|y| y[2]).collect();
    for (own, exact) in late.iter().zip([0.05, 0.35, 0.65, 0.95]) {
        assert!((own - exact).abs() < 1e-12, "{late:?}");
    }
}

/// A block as a whole: `every` beside the text.
#[test]
fn whole_blocks_are_sampled() {
    let source =
        Source { every: Some(0.5), ..Source::new("input e; output u; i = i + 0.5 * e; u = 2 * e + i") };
    let ode = Equations::new(&source).unwrap();
    let mut model = OdeModel::new(Box::new(ode), &SolverConfig::default()).unwrap();
    model.initialize(0.0).unwrap();
    let mut y = [0.0];
    for (index, expected) in [(0, 2.5), (1, 3.5), (2, 4.5)] {
        let step = Step { index, start: index as f64, size: 1.0 };
        model.step(&step, &Segment::held(&step, &[1.0]), &mut y, &mut Samples::default()).unwrap();
        assert_eq!(y[0], expected + 0.5);
    }
}

/// A state that is saved between events goes the same way again, bit by bit.
#[test]
fn saved_states_repeat_every_bit() {
    let mut model = model(BALL);
    walk(&mut model, 0.3, 2).unwrap();
    let mut snapshot = Snapshot::default();
    model.save(&mut snapshot).unwrap();
    let go = |model: &mut OdeModel| {
        let mut all = vec![];
        for index in 2..12 {
            let step = Step { index, start: index as f64 * 0.3, size: 0.3 };
            let mut y = [0.0; 3];
            model.step(&step, &Segment::held(&step, &[]), &mut y, &mut Samples::default()).unwrap();
            all.extend(y.map(f64::to_bits));
        }
        all
    };
    let first = go(&mut model);
    model.restore(&snapshot).unwrap();
    assert_eq!(go(&mut model), first);
}

/// What is not finite on the way names the equation, its line and the time.
#[test]
fn what_is_not_finite_names_its_equation() {
    let mut model = model("output y\nder(x) = -1\nstate x = 1\ny = x\nroot = sqrt(x) \nder(z) = root");
    let error = walk(&mut model, 0.4, 5).unwrap_err().to_string();
    assert!(error.starts_with("equation of `der(z)`: square root of -"), "{error}");
    assert!(error.contains("in `sqrt(x)`, line 5 of its equations (t = 1"), "{error}");
    let mut model = self::model("output y\ny = 1 / (0.5 - time)");
    let error = walk(&mut model, 0.25, 3).unwrap_err().to_string();
    assert_eq!(
        error,
        "equation of `y`: division by zero in `1 / (0.5 - time)`, line 2 of its equations (t = 0.5 s)"
    );
}
