//! The dual mass with a progressive spring and kicks: Genser 2020, 3.1.

/// Micro steps of a communication step.
pub(super) const MICRO: usize = 100;
/// Communication steps.
pub(super) const STEPS: usize = 1000;
/// A communication step.
pub(super) const STEP: f64 = 1e-3;

/// Force of the progressive spring and damper, (3.6) and (3.7).
pub(super) fn force(stretch: f64, rate: f64) -> f64 {
    let c = (5e5 * stretch.abs().sqrt()).clamp(2.5e4, 2.5e5);
    let d = (1e3 * rate.abs().sqrt()).clamp(5e2, 3e3);
    c * stretch + d * rate
}

pub(super) fn kick(step: usize, micro: usize, width: f64) -> f64 {
    let since = ((step % 50) * MICRO + micro) as f64 * 1e-5;
    if since < width - 1e-9 { 5e5 * (0.5 * (step / 50) as f64).sin() } else { 0.0 }
}

/// Positions and velocities of both masses.
#[derive(Clone, Copy)]
pub(super) struct Masses(pub(super) [f64; 4]);

impl Masses {
    pub(super) const START: Masses = Masses([0.1, 0.0, 0.0, 0.0]);

    /// One micro step of Euler's method with these forces on the masses.
    pub(super) fn advance(&mut self, on_first: f64, on_second: f64) {
        let [x1, v1, x2, v2] = self.0;
        let a1 = (-1e6 * x1 - v1 + on_first) / 10.0;
        let a2 = (-1e7 * x2 - 2.0 * v2 - on_second) / 10.0;
        self.0 = [x1 + 1e-5 * v1, v1 + 1e-5 * a1, x2 + 1e-5 * v2, v2 + 1e-5 * a2];
    }

    pub(super) fn outputs(&self, u: [f64; 3]) -> [f64; 3] {
        let [x1, v1, x2, v2] = self.0;
        [x1, v1, force(x2 - u[1], v2 - u[2])]
    }
}

/// The uncut system at the communication points.
pub(super) fn reference(width: f64) -> Vec<[f64; 3]> {
    let mut masses = Masses::START;
    let own = |masses: &Masses| masses.outputs([0.0, masses.0[0], masses.0[1]]);
    let mut all = vec![own(&masses)];
    for step in 0..STEPS {
        for micro in 0..MICRO {
            let f = own(&masses)[2];
            masses.advance(f + kick(step, micro, width), f);
        }
        all.push(own(&masses));
    }
    all
}
