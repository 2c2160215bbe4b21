use super::*;
use crate::linalg::{eigenvalues, pinv, spectral_radius};
use crate::tape::StateData;

struct Random(u64);

impl Random {
    fn next(&mut self) -> f64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 11) as f64 / (1_u64 << 53) as f64 - 0.5
    }

    fn matrix(&mut self, rows: usize, cols: usize) -> Matrix {
        Matrix::from_fn(rows, cols, |_, _| self.next())
    }
}

/// x⁺ = A x + B u⁺ + f, y = C x + D u + g.
struct Truth {
    a: Matrix,
    b: Matrix,
    c: Matrix,
    d: Matrix,
    x: Vec<f64>,
    units: Vec<f64>,
}

impl Truth {
    fn new(random: &mut Random, order: usize, inputs: usize, outputs: usize) -> Self {
        let a = random.matrix(order, order);
        let a = &a * (0.9 / spectral_radius(&a).unwrap());
        Truth {
            a,
            b: random.matrix(order, inputs),
            c: random.matrix(outputs, order),
            d: random.matrix(outputs, inputs),
            x: vec![0.3; order],
            units: (0..outputs).map(|i| 10_f64.powi(4 * i as i32 - 3)).collect(),
        }
    }

    fn step(&mut self, u: &[f64]) -> Vec<f64> {
        let mut x = self.a.mul_vec(&self.x);
        self.b.mul_vec_add(u, &mut x);
        x.iter_mut().for_each(|x| *x += 0.2);
        self.x = x;
        let mut y = self.c.mul_vec(&self.x);
        self.d.mul_vec_add(u, &mut y);
        y.iter().zip(&self.units).map(|(y, unit)| (y + 30.0) * unit).collect()
    }
}

/// Φ_A by shift invariance, Genser 2020, (2.84).
fn poles(moesp: &Moesp) -> Vec<crate::linalg::Complex> {
    let (n, l) = (moesp.order, moesp.outputs);
    let rows = (moesp.rows - 1) * l;
    let gamma = |shift: usize| Matrix::from_fn(rows, n, |i, j| moesp.basis[(j, i + shift)]);
    let transition = &pinv(&gamma(0), 1e-12).unwrap() * &gamma(l);
    eigenvalues(&transition).unwrap()
}

/// Poles and predictions of random systems without noise, with feed-through, in any units, away from zero; the order by
/// singular values where none is given.
#[test]
fn random_systems_are_found_from_clean_data() {
    let mut random = Random(5);
    for (order, inputs, outputs) in [(2, 1, 1), (3, 1, 1), (2, 2, 1), (3, 1, 2), (3, 2, 3), (5, 2, 2)] {
        for given in [Some(order), None] {
            let mut truth = Truth::new(&mut random, order, inputs, outputs);
            let config = MoespConfig { order: given, window: 150, rows: None };
            config.check("s", inputs, outputs).unwrap();
            let mut moesp = Moesp::new(config, inputs, outputs, 0.1);
            let mut errors = vec![0.0; outputs];
            for k in 0..400 {
                let u: Vec<f64> = (0..inputs).map(|_| random.next()).collect();
                let y = truth.step(&u);
                moesp.observe(&y, &u, &mut errors);
                if k > 200 {
                    for (error, unit) in errors.iter().zip(&truth.units) {
                        assert!(error.abs() < 1e-8 * unit, "{order} {inputs} {outputs}: {errors:?}");
                    }
                }
            }
            assert_eq!(moesp.order, order, "{:?}", moesp.singular);
            let (seen, exact) = (poles(&moesp), eigenvalues(&truth.a).unwrap());
            for pole in exact {
                let distance = seen.iter().map(|z| (z.re - pole.re).hypot(z.im.abs() - pole.im.abs()));
                let nearest = distance.fold(f64::INFINITY, f64::min);
                assert!(nearest < 1e-6, "{order} {inputs} {outputs}: {pole:?} among {seen:?}");
            }
            let excitation = moesp.excitation(&vec![true; inputs]);
            assert!(excitation > 1e-4, "{excitation}");
            // The interface model says the same as the equation.
            let mut model = InterfaceModel::hold(inputs, outputs);
            moesp.model(&mut model);
            let last = moesp.past_outputs[(moesp.rows - 1) * outputs..].to_vec();
            let before = moesp.past_inputs[(moesp.rows - 1) * inputs..].to_vec();
            let u: Vec<f64> = (0..inputs).map(|_| random.next()).collect();
            let y = truth.step(&u);
            let mut predicted = model.s_d.mul_vec(&u);
            model.add_rates(&last, &before, &mut predicted);
            for ((y, p), unit) in y.iter().zip(&predicted).zip(&truth.units) {
                assert!((y - p).abs() < 1e-8 * unit, "{y} {p}");
            }
        }
    }
}

/// A model that slid through many windows is the model of its last window alone, to round-off.
#[test]
fn sliding_equals_fresh() {
    let mut random = Random(9);
    let config = MoespConfig { order: Some(2), window: 60, rows: None };
    let mut truth = Truth::new(&mut random, 4, 1, 1);
    let mut slid = Moesp::new(config, 1, 1, 0.1);
    let mut samples = Vec::new();
    let mut errors = [0.0];
    for _ in 0..517 {
        let u = [random.next()];
        let y = truth.step(&u);
        slid.observe(&y, &u, &mut errors);
        samples.push((y, u));
    }
    let mut fresh = Moesp::new(config, 1, 1, 0.1);
    for (y, u) in &samples[samples.len() - 60 - slid.rows + 1..] {
        fresh.observe(y, u, &mut errors);
    }
    assert_eq!(fresh.window.len(), 60);
    let gap = (&slid.parameters - &fresh.parameters).max_abs();
    assert!(gap < 1e-12, "{gap}");
}

/// Saved and restored in the middle, the same bits follow; a factor of another run is as good as its data.
#[test]
fn state_and_factor_go_on_where_they_were() {
    let mut random = Random(3);
    let config = MoespConfig { order: Some(2), window: 60, rows: None };
    let mut truth = Truth::new(&mut random, 2, 1, 1);
    let mut moesp = Moesp::new(config, 1, 1, 0.1);
    let mut errors = [0.0];
    let unit = truth.units[0];
    let mut sample = |random: &mut Random| {
        let u = [random.next()];
        (truth.step(&u), u)
    };
    for _ in 0..100 {
        let (y, u) = sample(&mut random);
        moesp.observe(&y, &u, &mut errors);
    }
    let (mut memory, mut other) = (StateData::default(), Moesp::new(config, 1, 1, 0.1));
    moesp.state(&mut Tape::write(&mut memory));
    let mut tape = Tape::read(&memory);
    other.state(&mut tape);
    assert!(tape.is_at_end());
    let mut warm = Moesp::new(config, 1, 1, 0.1);
    assert!(warm.load(moesp.factor()) && !warm.is_ready());
    for k in 0..80 {
        let (y, u) = sample(&mut random);
        moesp.observe(&y, &u, &mut errors);
        other.observe(&y, &u, &mut errors);
        assert_eq!(moesp.parameters, other.parameters);
        warm.observe(&y, &u, &mut errors);
        let is_known = k + 1 >= moesp.rows;
        assert!(errors[0].abs() < 1e-8 * unit || !is_known, "{k}: {errors:?}");
    }
}

/// An input that never moves, one that copies another, an output that stays: no harm, and the check tells.
#[test]
fn what_never_moves_does_no_harm() {
    let mut random = Random(3);
    let config = MoespConfig { order: Some(1), window: 60, rows: None };
    let mut moesp = Moesp::new(config, 3, 2, 0.1);
    let mut errors = [0.0, 0.0];
    let mut y = 300.0;
    for k in 0..200 {
        let u = random.next();
        y = 0.9 * y + 30.0 + u;
        moesp.observe(&[y, 5.0], &[u, 2.0 * u, 7.0], &mut errors);
        assert!(k < 100 || errors.iter().all(|e| e.abs() < 1e-9), "{errors:?}");
    }
    assert!(moesp.excitation(&[true; 3]) < 1e-20);
    assert!(moesp.excitation(&[true, false, false]) > 1e-3);
}
