//! What the inputs of a subsystem lacked, what that does to its outputs, and how it is given back.
//!
//! With v_j = L y_j what should have been given at a node and u_j what a plan without correction gives,
//!
//!   c = mean_j (v_j - u_j),     δ_j = Σ a_i δ_{j-i} + Σ b_i e_{j-i},     e_j = v_j - u_j - s                  (1)
//!
//! δ is what the outputs lack because the inputs lacked e: the subsystem's own model tells. Over the step ahead the plan is
//! raised by s = g c. If the plan lacks ρ c again, δ becomes δ⁰ + (ρ - g) δᶜ, with δ⁰ what it becomes if nothing is lacking
//! and δᶜ the answer to c; by least squares
//!
//!   g = ρ + ⟨δ⁰, δᶜ⟩ / ⟨δᶜ, δᶜ⟩,     0 ≤ g ≤ 1                                                               (2)
//!
//! A subsystem that integrates gets back what it lacked; one that has forgotten it is left alone.
//!
//! | symbol | meaning                                                 | here              |
//! | a, b   | coefficients of the best model of the subsystem         | `NodeModel`       |
//! | ρ      | correlation of c with the c before, between 0 and 1     | `product / square` |
//! | s      | correction in force                                     | `raise`           |
//!
//! The same is done for three plans: the coupled prediction, the line through what arrived at the newest two communication
//! points, and the newest arrival. One is used; the others are followed as if they had been. The one with the smallest sum
//! of δ² is taken for the step ahead, those without a model only where they are clearly better.
//!
//! δ forgets: it shrinks from step to step, and by as much as the model would let it grow by itself, since in the coupled
//! system something holds it.

use crate::identify::{NodeModel, Size};
use crate::tape::Tape;

/// Plans: the coupled prediction, a line, the newest value.
const COUPLED: usize = 0;
const STRAIGHT: usize = 1;
const CONSTANT: usize = 2;
const PLANS: usize = 3;

/// How much of δ and of scores remains after one step.
const MEMORY: f64 = 0.97;
/// The same of the correlation of c with the c before.
const RECENT: f64 = 0.9;
/// Plans without a model must be this much better, squared.
const CLEARLY: f64 = 0.5;
/// δ² beyond this many squared ranges says nothing.
const WORST: f64 = 1e4;

/// One way to plan the inputs.
#[derive(Clone, Debug)]
struct Plan {
    /// δ and e, scaled, a row per node as in `Member::y`.
    y: Vec<f64>,
    e: Vec<f64>,
    lacked: Vec<f64>,
    raise: Vec<f64>,
    product: f64,
    square: f64,
    score: f64,
}

/// What is known of the plans for one subsystem.
#[derive(Clone, Debug)]
pub(super) struct Defect {
    size: Size,
    nodes: usize,
    plans: Vec<Plan>,
    used: usize,
    /// v_j of the step that has ended, and the coupled prediction of it without correction: a row per node.
    pub(super) arrived: Vec<f64>,
    predicted: Vec<f64>,
    /// Newest arrivals and how much they rise over a step.
    pub(super) begin: Vec<f64>,
    pub(super) rise: Vec<f64>,
    // Room for δ⁰, δᶜ and inputs.
    free: Vec<f64>,
    answer: Vec<f64>,
    inputs: Vec<f64>,
}

impl Defect {
    pub(super) fn new(size: Size, nodes: usize) -> Self {
        let Size { outputs: n, inputs: m, past } = size;
        let rows = past + nodes;
        let plan = Plan {
            y: vec![0.0; rows * n],
            e: vec![0.0; rows * m],
            lacked: vec![0.0; m],
            raise: vec![0.0; m],
            product: 0.0,
            square: 0.0,
            score: 0.0,
        };
        Defect {
            size,
            nodes,
            plans: vec![plan; PLANS],
            used: COUPLED,
            arrived: vec![0.0; nodes * m],
            predicted: vec![0.0; nodes * m],
            begin: vec![0.0; m],
            rise: vec![0.0; m],
            free: vec![0.0; rows * n],
            answer: vec![0.0; rows * n],
            inputs: vec![0.0; rows * m],
        }
    }

    /// Whether the coupled prediction is used.
    pub(super) fn is_coupled(&self) -> bool {
        self.used == COUPLED
    }

    /// Room for the coupled prediction of a node.
    pub(super) fn predicted_mut(&mut self, node: usize) -> &mut [f64] {
        let m = self.size.inputs;
        &mut self.predicted[(node - 1) * m..][..m]
    }

    /// What an input is given at a node besides the coupled prediction.
    pub(super) fn known(&self, k: usize, node: usize) -> f64 {
        let plan = if self.is_coupled() { 0.0 } else { self.planned(self.used, k, node) };
        plan + self.plans[self.used].raise[k]
    }

    /// What a plan gives, without correction.
    fn planned(&self, plan: usize, k: usize, node: usize) -> f64 {
        match plan {
            COUPLED => self.predicted[(node - 1) * self.size.inputs + k],
            STRAIGHT => self.begin[k] + self.rise[k] * node as f64 / self.nodes as f64,
            _ => self.begin[k],
        }
    }

    /// Takes the step that has ended, with what was given at its nodes, and decides on the next.
    pub(super) fn learn(&mut self, given: &[f64], model: &NodeModel, weights: &[f64], handicap: Handicap) {
        for number in 0..PLANS {
            self.follow(number, given, model, weights);
            self.correct(number, model, weights);
        }
        let score = |plan: usize| self.plans[plan].score;
        let best = if score(STRAIGHT) < score(CONSTANT) { STRAIGHT } else { CONSTANT };
        let factor = match handicap {
            Handicap::Full if self.used != best => CLEARLY,
            Handicap::Full | Handicap::Less => CLEARLY.sqrt(),
            Handicap::Reversed => f64::INFINITY,
        };
        let is_better = score(best) < factor * score(COUPLED) || handicap == Handicap::Reversed;
        self.used = if is_better { best } else { COUPLED };
    }

    /// (1) for one plan.
    fn follow(&mut self, number: usize, given: &[f64], model: &NodeModel, weights: &[f64]) {
        let Size { outputs: n, inputs: m, past } = self.size;
        let (mut product, mut square) = (0.0, 0.0);
        for k in 0..m {
            let mut sum = 0.0;
            for node in 1..=self.nodes {
                let at = (node - 1) * m + k;
                let lacked = self.arrived[at] - self.planned(number, k, node);
                sum += lacked;
                let plan = &mut self.plans[number];
                let is_real = number == self.used;
                plan.e[(past - 1 + node) * m + k] =
                    if is_real { self.arrived[at] - given[at] } else { lacked - plan.raise[k] };
            }
            let plan = &mut self.plans[number];
            let lacked = sum / self.nodes as f64;
            product += lacked * plan.lacked[k];
            square += plan.lacked[k] * plan.lacked[k];
            plan.lacked[k] = lacked;
        }
        let plan = &mut self.plans[number];
        plan.product = RECENT * plan.product + product;
        plan.square = RECENT * plan.square + square;
        model.roll_deviation(&mut plan.y, &plan.e, self.nodes);
        let squares = plan.y[past * n..].iter().zip(weights.iter().cycle()).map(|(d, w)| d * d * w);
        let sum: f64 = squares.sum();
        if sum < WORST {
            plan.score = MEMORY * plan.score + sum;
        } else {
            // It has lost itself: restart.
            plan.score = MEMORY * plan.score + WORST;
            plan.y.fill(0.0);
            plan.e.fill(0.0);
        }
        plan.y.copy_within(self.nodes * n.., 0);
        plan.e.copy_within(self.nodes * m.., 0);
        plan.y[..past * n].iter_mut().chain(&mut plan.e[..past * m]).for_each(|v| *v *= MEMORY);
    }

    /// (2) for one plan.
    fn correct(&mut self, number: usize, model: &NodeModel, weights: &[f64]) {
        let Size { outputs: n, inputs: m, past } = self.size;
        let plan = &mut self.plans[number];
        self.free[..past * n].copy_from_slice(&plan.y[..past * n]);
        self.inputs[..past * m].copy_from_slice(&plan.e[..past * m]);
        self.inputs[past * m..].fill(0.0);
        model.roll_deviation(&mut self.free, &self.inputs, self.nodes);
        self.answer[..past * n].fill(0.0);
        self.inputs[..past * m].fill(0.0);
        self.inputs[past * m..].chunks_exact_mut(m.max(1)).for_each(|row| row.copy_from_slice(&plan.lacked));
        model.roll_deviation(&mut self.answer, &self.inputs, self.nodes);
        let product = |a: &[f64], b: &[f64]| -> f64 {
            let pairs = a[past * n..].iter().zip(&b[past * n..]).zip(weights.iter().cycle());
            pairs.map(|((a, b), weight)| a * b * weight).sum()
        };
        let (across, along) = (product(&self.free, &self.answer), product(&self.answer, &self.answer));
        let again = if plan.square > 0.0 { (plan.product / plan.square).clamp(0.0, 1.0) } else { 0.0 };
        let gain = again + across / along;
        let is_usable = along > f64::MIN_POSITIVE && gain.is_finite();
        let gain = if is_usable { gain.clamp(0.0, 1.0) } else { 0.0 };
        // The first node still has to do with the last input; from there on δ moves by itself.
        let early = if self.nodes > 1 { past } else { past - 1 };
        let size = |row: usize| product_of(&self.free[row * n..][..n], weights);
        let (before, after) = (size(early), size(past + self.nodes - 1));
        if after > before && before > 0.0 {
            let factor = (before / after).sqrt();
            plan.y[..past * n].iter_mut().chain(&mut plan.e[..past * m]).for_each(|v| *v *= factor);
        }
        plan.raise.iter_mut().zip(&plan.lacked).for_each(|(raise, lacked)| *raise = gain * lacked);
    }

    pub(super) fn state(&mut self, tape: &mut Tape<'_>) {
        tape.count_to(&mut self.used, PLANS as u64 - 1);
        for list in [&mut self.predicted, &mut self.begin, &mut self.rise] {
            tape.values(list);
        }
        for Plan { y, e, lacked, raise, product, square, score } in &mut self.plans {
            [product, square, score].into_iter().for_each(|number| tape.number(number));
            [y, e, lacked, raise].into_iter().for_each(|list| tape.values(list));
        }
    }
}

fn product_of(values: &[f64], weights: &[f64]) -> f64 {
    values.iter().zip(weights).map(|(v, weight)| v * v * weight).sum()
}

/// Whether plans without a model must be clearly better to be taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Handicap {
    /// They must.
    Full,
    /// Somewhat better is enough.
    Less,
    /// They are taken.
    Reversed,
}

#[cfg(test)]
mod tests {
    use super::*;

    /// y_j = a y_{j-1} + u_j, whose inputs should be 1 at all nodes of so many steps, and get the correction only.
    fn raised(a: f64, steps: usize) -> f64 {
        let size = Size { outputs: 1, inputs: 1, past: 1 };
        let mut model = NodeModel::constant(size);
        model.set_position(1, &[a, 0.0, 1.0, 0.0]);
        let mut defect = Defect::new(size, 4);
        for _ in 0..steps {
            defect.arrived.fill(1.0);
            defect.predicted.fill(0.0);
            defect.begin[0] = 0.0;
            let given = [1, 2, 3, 4].map(|node| defect.known(0, node));
            defect.learn(&given, &model, &[1.0], Handicap::Full);
        }
        assert!(defect.is_coupled());
        defect.known(0, 1)
    }

    #[test]
    fn what_an_integrator_lacked_is_given_back() {
        assert_eq!(raised(1.0, 1), 1.0);
    }

    #[test]
    fn what_a_subsystem_has_forgotten_is_not_given_back() {
        assert_eq!(raised(0.0, 1), 0.0);
    }

    #[test]
    fn what_is_lacking_again_and_again_is_added() {
        assert!((raised(0.0, 40) - 1.0).abs() < 1e-9);
    }
}
