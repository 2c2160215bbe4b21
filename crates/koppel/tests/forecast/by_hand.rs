//! A master and its step matrix written without the library: matrices as lists, an exponential by Taylor's series, the spectral radius
//! by squaring.

pub(crate) type Rows = Vec<Vec<f64>>;

fn zeros(rows: usize, cols: usize) -> Rows {
    vec![vec![0.0; cols]; rows]
}

fn product(a: &Rows, b: &Rows) -> Rows {
    let mut c = zeros(a.len(), b.first().map_or(0, Vec::len));
    for (row, a) in c.iter_mut().zip(a) {
        for (factor, b) in a.iter().zip(b) {
            row.iter_mut().zip(b).for_each(|(c, b)| *c += factor * b);
        }
    }
    c
}

fn largest(a: &Rows) -> f64 {
    a.iter().flatten().fold(0.0, |most, x| x.abs().max(most))
}

fn exponential(a: &Rows) -> Rows {
    let halvings = (largest(a) * a.len() as f64).max(1e-300).log2().ceil().max(0.0) as i32 + 3;
    let scale = 0.5_f64.powi(halvings);
    let n = a.len();
    let mut sum = zeros(n, n);
    (0..n).for_each(|i| sum[i][i] = 1.0);
    let mut term = sum.clone();
    for k in 1..20 {
        term = product(&term, a);
        term.iter_mut().flatten().for_each(|x| *x *= scale / f64::from(k));
        sum.iter_mut().flatten().zip(term.iter().flatten()).for_each(|(sum, x)| *sum += x);
    }
    (0..halvings).fold(sum, |power, _| product(&power, &power))
}

/// lim ‖A^k‖^{1/k}.
pub(crate) fn radius(a: &Rows) -> f64 {
    let (mut power, mut logarithm) = (a.clone(), 0.0);
    let mut count = 1.0;
    for _ in 0..40 {
        let size = largest(&power);
        if size == 0.0 {
            return 0.0;
        }
        power.iter_mut().flatten().for_each(|x| *x /= size);
        logarithm += size.ln() / count;
        power = product(&power, &power);
        count *= 2.0;
    }
    logarithm.exp()
}

/// x' = A x + B u, y = C x + D u.
pub(crate) struct Slave {
    pub(crate) a: Rows,
    pub(crate) b: Rows,
    pub(crate) c: Rows,
    pub(crate) d: Rows,
    /// Micro step of explicit Euler; exact without.
    pub(crate) euler: Option<f64>,
}

/// Slaves with u = L y, and how they are coupled.
pub(crate) struct Master {
    pub(crate) slaves: Vec<Slave>,
    pub(crate) l: Rows,
    /// 0 or 1.
    pub(crate) order: usize,
    /// Groups one after the other.
    pub(crate) groups: Vec<Vec<usize>>,
    pub(crate) is_fresh: bool,
}

fn times(a: &Rows, x: &[f64]) -> Vec<f64> {
    a.iter().map(|row| row.iter().zip(x).map(|(a, x)| a * x).sum()).collect()
}

impl Master {
    fn outputs(&self) -> usize {
        self.slaves.iter().map(|s| s.c.len()).sum()
    }

    fn states(&self) -> usize {
        self.slaves.iter().map(|s| s.a.len()).sum()
    }

    /// Φ on (x, y, y one step ago).
    pub(crate) fn step_matrix(&self, h: f64) -> Rows {
        let discrete: Vec<Rows> = self.slaves.iter().map(|s| augmented(s, h)).collect();
        let size = self.states() + 2 * self.outputs();
        let columns: Vec<Vec<f64>> = (0..size)
            .map(|j| {
                let mut unit = vec![0.0; size];
                unit[j] = 1.0;
                self.step(&discrete, &unit, h)
            })
            .collect();
        (0..size).map(|i| columns.iter().map(|column| column[i]).collect()).collect()
    }

    fn step(&self, discrete: &[Rows], z: &[f64], h: f64) -> Vec<f64> {
        let (n, p) = (self.states(), self.outputs());
        let mut x = z[..n].to_vec();
        let (begin, before) = (&z[n..n + p], &z[n + p..]);
        let mut y = begin.to_vec();
        let mut has_moved = vec![false; self.slaves.len()];
        let owner: Vec<usize> =
            self.slaves.iter().enumerate().flat_map(|(k, s)| vec![k; s.c.len()]).collect();
        for group in &self.groups {
            // What arrives at the start of the step, and its slope.
            let known: Vec<(f64, f64)> = (0..p)
                .map(|o| match (self.order, has_moved[owner[o]]) {
                    (0, _) => (y[o], 0.0),
                    (_, true) => (begin[o], (y[o] - begin[o]) / h),
                    (_, false) => (y[o], (begin[o] - before[o]) / h),
                })
                .collect();
            let value = times(&self.l, &known.iter().map(|k| k.0).collect::<Vec<_>>());
            let slope = times(&self.l, &known.iter().map(|k| k.1).collect::<Vec<_>>());
            for &k in group {
                let s = &self.slaves[k];
                let first = |of: fn(&Slave) -> usize| self.slaves[..k].iter().map(of).sum::<usize>();
                let (x0, u0) = (first(|s| s.a.len()), first(|s| s.d[0].len()));
                let (states, inputs) = (s.a.len(), s.d[0].len());
                let whole = [&x[x0..x0 + states], &value[u0..u0 + inputs], &slope[u0..u0 + inputs]].concat();
                let moved = times(&discrete[k], &whole);
                x[x0..x0 + states].copy_from_slice(&moved[..states]);
                let end: Vec<f64> = (u0..u0 + inputs).map(|i| value[i] + h * slope[i]).collect();
                let y0 = first(|s| s.c.len());
                for i in 0..s.c.len() {
                    let state: f64 = s.c[i].iter().zip(&moved).map(|(c, x)| c * x).sum();
                    let through: f64 = s.d[i].iter().zip(&end).map(|(d, u)| d * u).sum();
                    y[y0 + i] = state + through;
                }
            }
            group.iter().for_each(|k| has_moved[*k] = true);
        }
        if self.is_fresh {
            y = self.close(&x);
        }
        [&x[..], &y, begin].concat()
    }

    /// (I - D L) y = C x, by elimination.
    fn close(&self, x: &[f64]) -> Vec<f64> {
        let p = self.outputs();
        let mut rows = zeros(p, p + 1);
        let (mut x0, mut u0, mut y0) = (0, 0, 0);
        for s in &self.slaves {
            for i in 0..s.c.len() {
                rows[y0 + i][y0 + i] += 1.0;
                for (d, l) in s.d[i].iter().zip(&self.l[u0..]) {
                    (0..p).for_each(|j| rows[y0 + i][j] -= d * l[j]);
                }
                rows[y0 + i][p] = s.c[i].iter().zip(&x[x0..]).map(|(c, x)| c * x).sum();
            }
            x0 += s.a.len();
            u0 += s.d[0].len();
            y0 += s.c.len();
        }
        for k in 0..p {
            let pivot = (k..p).max_by(|i, j| rows[*i][k].abs().total_cmp(&rows[*j][k].abs())).unwrap();
            rows.swap(k, pivot);
            let top = rows[k].clone();
            for (i, row) in rows.iter_mut().enumerate() {
                if i != k {
                    let factor = row[k] / top[k];
                    row.iter_mut().zip(&top).for_each(|(x, top)| *x -= factor * top);
                }
            }
        }
        (0..p).map(|k| rows[k][p] / rows[k][k]).collect()
    }

    /// The first step, going up from `from` in strides of 3 %, at which it is unstable, to 1e-6.
    pub(crate) fn limit(&self, from: f64, strides: i32) -> Option<f64> {
        // An integrator stays where it is.
        let is_stable = |h: f64| radius(&self.step_matrix(h)) < 1.0 + 1e-9;
        let steps = (0..strides).map(|k| from * 1.03_f64.powi(k));
        let mut high = steps.into_iter().find(|h| !is_stable(*h))?;
        let mut low = high / 1.03;
        while high / low > 1.0 + 1e-6 {
            let middle = (low * high).sqrt();
            if is_stable(middle) { low = middle } else { high = middle }
        }
        Some(low)
    }
}

/// x after the step from (x, u, u'): the top rows of exp([[A, B, 0], [0, 0, I], [0, 0, 0]] h).
fn augmented(s: &Slave, h: f64) -> Rows {
    let (n, m) = (s.a.len(), s.d[0].len());
    if let Some(micro) = s.euler {
        return by_euler(s, h, micro);
    }
    let mut a = zeros(n + 2 * m, n + 2 * m);
    for (row, (of_states, of_inputs)) in a.iter_mut().zip(s.a.iter().zip(&s.b)) {
        let entries = of_states.iter().chain(of_inputs);
        row.iter_mut().zip(entries).for_each(|(entry, x)| *entry = x * h);
    }
    (0..m).for_each(|j| a[n + j][n + m + j] = h);
    exponential(&a).into_iter().take(n).collect()
}

/// The same by explicit Euler: whole micro steps, then the rest.
fn by_euler(s: &Slave, h: f64, micro: f64) -> Rows {
    let (n, m) = (s.a.len(), s.d[0].len());
    let step = |h: f64| -> Rows {
        let mut one = zeros(n + 2 * m, n + 2 * m);
        (0..n + 2 * m).for_each(|i| one[i][i] = 1.0);
        for (row, (of_states, of_inputs)) in one.iter_mut().zip(s.a.iter().zip(&s.b)) {
            let entries = of_states.iter().chain(of_inputs);
            row.iter_mut().zip(entries).for_each(|(entry, x)| *entry += h * x);
        }
        // u moves on by its slope.
        (0..m).for_each(|j| one[n + j][n + m + j] = h);
        one
    };
    let mut count = (h / micro - 1e-9).ceil() as u64 - 1;
    let rest = h - count as f64 * micro;
    // Powers by squaring.
    let mut power = step(micro);
    let mut all = step(rest);
    while count > 0 {
        if count % 2 == 1 {
            all = product(&all, &power);
        }
        power = product(&power, &power);
        count /= 2;
    }
    all.into_iter().take(n).collect()
}
