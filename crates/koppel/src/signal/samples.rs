//! What was seen inside a step: outputs at times between the communication points.

/// Which intermediate outputs a coupling wants.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Request {
    /// None: the cheapest.
    #[default]
    Nothing,
    /// Wherever the subsystem's own solver stops.
    SolverPoints,
    /// At this many equal parts of the step.
    Nodes(u32),
}

/// Outputs of one subsystem inside one step, begin and end included.
#[derive(Clone, Debug, Default)]
#[repr(C)]
pub struct Samples {
    request: Request,
    width: usize,
    times: Vec<f64>,
    values: Vec<f64>,
}

impl Samples {
    /// An empty buffer for a subsystem with `width` outputs.
    pub fn new(request: Request, width: usize) -> Self {
        Samples { request, width, ..Samples::default() }
    }

    /// What is wanted.
    #[inline]
    pub fn request(&self) -> Request {
        self.request
    }

    /// Forgets the last step.
    pub fn clear(&mut self) {
        self.times.clear();
        self.values.clear();
    }

    /// Adds the outputs at `time`; the caller fills the returned slice.
    pub fn push(&mut self, time: f64) -> &mut [f64] {
        self.times.push(time);
        let at = self.values.len();
        self.values.resize(at + self.width, 0.0);
        &mut self.values[at..]
    }

    /// Forgets samples at or after `time`.
    pub fn forget_after(&mut self, time: f64) {
        let kept = self.times.partition_point(|t| *t < time);
        self.times.truncate(kept);
        self.values.truncate(kept * self.width);
    }

    /// Sample times in ascending order.
    pub fn times(&self) -> &[f64] {
        &self.times
    }

    /// Outputs at sample `k`.
    pub fn at(&self, k: usize) -> &[f64] {
        &self.values[k * self.width..][..self.width]
    }

    /// Mean of every output over the sampled time by the trapezoidal rule; `None` without at least two samples.
    pub fn mean(&self, out: &mut [f64]) -> Option<()> {
        let (first, last) = (self.times.first()?, self.times.last()?);
        let span = last - first;
        if span <= 0.0 {
            return None;
        }
        out.fill(0.0);
        for k in 1..self.times.len() {
            let weight = 0.5 * (self.times[k] - self.times[k - 1]) / span;
            for ((sum, a), b) in out.iter_mut().zip(self.at(k - 1)).zip(self.at(k)) {
                *sum += weight * (a + b);
            }
        }
        Some(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_mean_of_a_line_is_its_middle() {
        let mut samples = Samples::new(Request::SolverPoints, 2);
        for t in [1.0, 1.1, 1.5, 2.0] {
            samples.push(t).copy_from_slice(&[3.0 * t, -1.0]);
        }
        let mut mean = [0.0; 2];
        samples.mean(&mut mean).unwrap();
        assert!((mean[0] - 4.5).abs() < 1e-14 && (mean[1] + 1.0).abs() < 1e-14);
    }
}
