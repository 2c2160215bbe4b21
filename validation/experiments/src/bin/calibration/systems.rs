//! Random systems of several classes, as equations.

use koppel::SplitMix64;

/// Length of a run, in s.
pub(crate) const STOP: f64 = 10.0;
/// Classes with how their systems are made, at this step of the run.
pub(crate) const CLASSES: [(&str, Class); 9] = [
    ("linear", linear),
    ("polynomial", polynomial),
    ("saturating", saturating),
    ("friction", friction),
    ("switching", switching),
    ("stiff", stiff),
    ("chaotic", chaotic),
    ("aliasing source", aliasing),
    ("late instability", late),
];

/// The equations of each subsystem, with input `u` and output `y`.
pub(crate) type Parts = Vec<String>;

/// A random system of a class, for runs of this step.
type Class = fn(&mut SplitMix64, f64) -> Parts;

/// A ring, and sometimes one connection across it: from, to, gain.
pub(crate) fn wires(count: usize, random: &mut SplitMix64) -> Vec<(usize, usize, f64)> {
    let gain =
        |random: &mut SplitMix64| between(random, 0.2, 1.2) * if random.happens(0.6) { -1.0 } else { 1.0 };
    (0..count).map(|k| (k, (k + 1) % count, gain(random))).collect()
}

fn between(random: &mut SplitMix64, low: f64, high: f64) -> f64 {
    low + (high - low) * random.unit()
}

/// An angular frequency with 3 to 40 periods in a run.
fn frequency(random: &mut SplitMix64) -> f64 {
    let periods = 3.0 * (40.0_f64 / 3.0).powf(random.unit());
    2.0 * std::f64::consts::PI * periods / STOP
}

/// Two to five parts, each by one of these.
fn several(random: &mut SplitMix64, kinds: &[&dyn Fn(&mut SplitMix64) -> String]) -> Parts {
    let count = 2 + random.below(4);
    // The class itself is there at least once.
    (0..count)
        .map(|k| if k == 0 { kinds[0](random) } else { kinds[random.below(kinds.len())](random) })
        .collect()
}

fn oscillator(random: &mut SplitMix64) -> String {
    let (w, d) = (frequency(random), between(random, 0.03, 0.6));
    let (x, v) = (between(random, -1.0, 1.0), w * between(random, -1.0, 1.0));
    let out = if random.happens(0.5) { "x".to_owned() } else { format!("v / {w:?}") };
    format!(
        "state x = {x:?}\nstate v = {v:?}\nder(x) = v\nder(v) = {:?} * (u - x) - {:?} * v\ny = {out}\n",
        w * w,
        2.0 * d * w
    )
}

fn lag(random: &mut SplitMix64) -> String {
    let rate = frequency(random) * between(random, 0.2, 1.0);
    format!("state x = {:?}\nder(x) = {rate:?} * (u - x)\ny = x\n", between(random, -1.0, 1.0))
}

fn linear(random: &mut SplitMix64, _: f64) -> Parts {
    several(random, &[&oscillator, &lag])
}

fn polynomial(random: &mut SplitMix64, _: f64) -> Parts {
    let duffing = |random: &mut SplitMix64| {
        let (w, d, cubic) = (frequency(random), between(random, 0.05, 0.5), between(random, 0.2, 3.0));
        let x = between(random, -1.5, 1.5);
        format!(
            "state x = {x:?}\nstate v = 0\nder(x) = v\nder(v) = {:?} * (u - x - {cubic:?} * x^3) - {:?} * v\ny = x\n",
            w * w,
            2.0 * d * w
        )
    };
    let van_der_pol = |random: &mut SplitMix64| {
        let (w, mu) = (frequency(random), between(random, 0.2, 3.0));
        format!(
            "state x = 1.5\nstate v = 0\nder(x) = v\nder(v) = {:?} * (1 - x^2) * v - {:?} * (x - u)\ny = x\n",
            mu * w,
            w * w
        )
    };
    several(random, &[&duffing, &van_der_pol, &oscillator, &lag])
}

fn saturating(random: &mut SplitMix64, _: f64) -> Parts {
    let tanh = |random: &mut SplitMix64| {
        let (gain, rate) =
            (10.0_f64.powf(between(random, 0.0, 3.0)), frequency(random) * between(random, 0.1, 0.6));
        format!(
            "state x = {:?}\nder(x) = {rate:?} * (tanh({gain:?} * u) - x)\ny = x\n",
            between(random, -1.0, 1.0)
        )
    };
    let clamp = |random: &mut SplitMix64| {
        let (high, w) = (between(random, 0.05, 0.8), frequency(random));
        format!(
            "state x = {:?}\nstate v = 0\nder(x) = v\nder(v) = {:?} * (clamp(2 * u, -{high:?}, {high:?}) - x) - {:?} * v\ny = x\n",
            between(random, -1.0, 1.0),
            w * w,
            0.4 * w
        )
    };
    several(random, &[&tanh, &clamp, &oscillator, &lag])
}

fn friction(random: &mut SplitMix64, _: f64) -> Parts {
    let coulomb = |random: &mut SplitMix64| {
        let (w, force) = (frequency(random), between(random, 0.02, 0.3));
        let width = w * 10.0_f64.powf(between(random, -3.0, -1.0));
        format!(
            "state x = {:?}\nstate v = 0\nder(x) = v\nder(v) = {:?} * (u - x - {force:?} * tanh(v / {width:?})) - {:?} * v\ny = x\n",
            between(random, -1.0, 1.0),
            w * w,
            0.1 * w
        )
    };
    several(random, &[&coulomb, &oscillator, &lag])
}

fn switching(random: &mut SplitMix64, _: f64) -> Parts {
    let relay = |random: &mut SplitMix64| {
        let (rate, width) = (frequency(random) * between(random, 0.1, 0.6), between(random, 0.05, 0.4));
        format!(
            "state x = {:?}\ndiscrete r = 1\nder(x) = {rate:?} * (r + 0.5 * u - x)\nwhen x > {width:?} then r = -1 end\nwhen x < -{width:?} then r = 1 end\ny = x\n",
            between(random, -0.05, 0.05)
        )
    };
    let contact = |random: &mut SplitMix64| {
        let (w, hard, gap) = (frequency(random), between(random, 3.0, 300.0), between(random, 0.0, 0.8));
        format!(
            "state x = {:?}\nstate v = 0\nder(x) = v\nder(v) = {:?} * (u - x - {hard:?} * max(0, x - {gap:?})) - {:?} * v\ny = x\n",
            between(random, -1.0, gap),
            w * w,
            0.2 * w
        )
    };
    several(random, &[&relay, &contact, &oscillator, &lag])
}

fn stiff(random: &mut SplitMix64, _: f64) -> Parts {
    let fast = |random: &mut SplitMix64| {
        let rate = frequency(random) * 10.0_f64.powf(between(random, 1.5, 2.5));
        format!("state x = 0\nder(x) = {rate:?} * (u - x - 0.5 * x^3)\ny = x\n")
    };
    several(random, &[&fast, &oscillator, &lag])
}

fn chaotic(random: &mut SplitMix64, _: f64) -> Parts {
    let lorenz = |random: &mut SplitMix64| {
        let speed = between(random, 0.5, 3.0);
        format!(
            "state a = {:?}\nstate b = 1\nstate c = 20\nder(a) = {:?} * (b - a + 2 * u)\nder(b) = {speed:?} * (a * (28 - c) - b)\nder(c) = {speed:?} * (a * b - 2.6667 * c)\ny = a / 20\n",
            between(random, 0.5, 2.0),
            10.0 * speed
        )
    };
    let wells = |random: &mut SplitMix64| {
        let w = frequency(random);
        format!(
            "state x = {:?}\nstate v = 0\nder(x) = v\nder(v) = {:?} * (x - x^3 + 0.5 * u + 0.3 * cos({:?} * time)) - {:?} * v\ny = x\n",
            between(random, -1.0, 1.0),
            w * w,
            1.2 * w,
            0.25 * w
        )
    };
    if random.happens(0.5) {
        several(random, &[&lorenz, &lag])
    } else {
        several(random, &[&wells, &oscillator, &lag])
    }
}

/// A source in time with the steps, or with a fifth of them.
fn aliasing(random: &mut SplitMix64, step: f64) -> Parts {
    let wave = move |random: &mut SplitMix64| {
        let k = [0.5, 1.0, 2.0, 5.0, 13.0, 21.0][random.below(6)];
        let phase = if random.happens(0.5) { 0.0 } else { between(random, 0.0, 6.0) };
        format!("sin({:?} * time + {phase:?})", 2.0 * std::f64::consts::PI * k / step)
    };
    let source = move |random: &mut SplitMix64| {
        let (wave, centre, rate) = (wave(random), between(random, 0.0, 0.5), frequency(random) * 0.3);
        format!("state x = 0\nder(x) = {rate:?} * ((({centre:?} + {wave})^2) - x + 0.5 * u)\ny = x\n")
    };
    let direct = move |random: &mut SplitMix64| {
        let (wave, rate) = (wave(random), frequency(random));
        format!("state x = 0.5\nder(x) = {rate:?} * (u - x)\ny = x + 0.3 * {wave}\n")
    };
    several(random, &[&source, &direct, &oscillator, &lag])
}

fn late(random: &mut SplitMix64, _: f64) -> Parts {
    let part = |random: &mut SplitMix64| {
        let (w, gain, begin) =
            (frequency(random), between(random, 1.0, 6.0), between(random, 0.5, 0.9) * STOP);
        format!(
            "state x = {:?}\nstate v = 0\nder(x) = v\nder(v) = {:?} * ({gain:?} * tanh(u) / (1 + exp(-(time - {begin:?}) / 0.1)) - x) - {:?} * v\ny = x\n",
            between(random, -0.1, 0.1),
            w * w,
            0.3 * w
        )
    };
    several(random, &[&part, &oscillator, &lag])
}
