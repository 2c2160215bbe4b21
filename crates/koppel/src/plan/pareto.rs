//! Which of several points are best, if more than one number counts.
//!
//!   a ≺ b   if   a_i ≤ b_i for all i and a_i < b_i for one                                    (1)
//!
//! Points that break a rule (an unstable run) come after all that do not, by how much they break it. The front is what
//! nothing precedes. Points of one front differ in how much room they have: the mean side of the box that reaches
//! to their neighbours, objective by objective.
//!
//! Deb, Pratap, Agarwal & Meyarivan 2002, III and VI; Glumac & Kovacic 2018, (66), (67).

use std::cmp::Ordering;

/// What is known of a point: less is better.
#[derive(Clone, Debug, PartialEq)]
pub struct Point {
    /// What is to become small.
    pub objectives: Vec<f64>,
    /// By how much a rule is broken; 0 if none is.
    pub violation: f64,
}

impl Point {
    /// A point that breaks no rule.
    pub fn of(objectives: Vec<f64>) -> Self {
        Point { objectives, violation: 0.0 }
    }

    /// A point that breaks a rule by so much.
    pub fn broken(violation: f64) -> Self {
        let violation = if violation > 0.0 { violation } else { f64::INFINITY };
        Point { objectives: Vec::new(), violation }
    }

    /// True if it breaks no rule.
    pub fn is_allowed(&self) -> bool {
        self.violation == 0.0
    }

    /// (1), after the rules.
    pub fn precedes(&self, other: &Point) -> bool {
        match (self.is_allowed(), other.is_allowed()) {
            (true, false) => true,
            (false, true) => false,
            (false, false) => self.violation < other.violation,
            (true, true) => {
                let pairs = || self.objectives.iter().zip(&other.objectives);
                pairs().all(|(a, b)| a <= b) && pairs().any(|(a, b)| a < b)
            }
        }
    }
}

/// The number of the front of each point: 0 for those that nothing precedes, 1 for those that only these precede, and so on.
pub fn ranks(points: &[Point]) -> Vec<usize> {
    let mut ranks = vec![usize::MAX; points.len()];
    let mut left: Vec<usize> = (0..points.len()).collect();
    for rank in 0.. {
        if left.is_empty() {
            break;
        }
        let (best, rest) = split(points, &left);
        best.iter().for_each(|at| ranks[*at] = rank);
        left = rest;
    }
    ranks
}

/// Places of the points that break no rule and that nothing precedes; of equal ones the first.
pub fn front(points: &[Point]) -> Vec<usize> {
    let allowed: Vec<usize> = (0..points.len()).filter(|at| points[*at].is_allowed()).collect();
    let (mut best, _) = split(points, &allowed);
    best.sort_unstable();
    let mut kept: Vec<usize> = Vec::new();
    for at in best {
        if kept.iter().all(|known| points[*known].objectives != points[at].objectives) {
            kept.push(at);
        }
    }
    kept
}

/// Those that no other of them precedes, and the rest. In the order of the first objective nothing is preceded by
/// what comes after it, so each is compared with the best found before only.
fn split(points: &[Point], among: &[usize]) -> (Vec<usize>, Vec<usize>) {
    let mut order = among.to_vec();
    order.sort_by(|a, b| before(&points[*a], &points[*b]).then(a.cmp(b)));
    let (mut best, mut rest): (Vec<usize>, Vec<usize>) = (Vec::new(), Vec::new());
    for at in order {
        let is_best = !best.iter().any(|other| points[*other].precedes(&points[at]));
        if is_best { best.push(at) } else { rest.push(at) }
    }
    (best, rest)
}

fn before(a: &Point, b: &Point) -> Ordering {
    let by_rule = a.violation.total_cmp(&b.violation);
    let mut by_objective = a.objectives.iter().zip(&b.objectives).map(|(a, b)| a.total_cmp(b));
    by_rule.then(by_objective.find(|order| order.is_ne()).unwrap_or(Ordering::Equal))
}

/// How much room each of these points has; infinite at the ends of an objective.
pub fn room(points: &[Point], members: &[usize]) -> Vec<f64> {
    let mut room = vec![0.0; members.len()];
    let count = members.first().map_or(0, |at| points[*at].objectives.len());
    for objective in 0..count {
        let value = |place: usize| points[members[place]].objectives[objective];
        let mut order: Vec<usize> = (0..members.len()).collect();
        order.sort_by(|a, b| value(*a).total_cmp(&value(*b)));
        let (Some(&first), Some(&last)) = (order.first(), order.last()) else { break };
        let range = value(last) - value(first);
        room[first] = f64::INFINITY;
        room[last] = f64::INFINITY;
        for three in order.windows(3).filter(|_| range > 0.0) {
            room[three[1]] += (value(three[2]) - value(three[0])) / range;
        }
    }
    room
}

#[cfg(test)]
mod tests {
    use super::*;

    fn points(all: &[[f64; 2]]) -> Vec<Point> {
        all.iter().map(|one| Point::of(one.to_vec())).collect()
    }

    #[test]
    fn fronts_are_peeled_off_one_by_one() {
        let all = points(&[[1.0, 5.0], [2.0, 3.0], [2.0, 4.0], [4.0, 1.0], [5.0, 5.0], [3.0, 4.0]]);
        assert_eq!(ranks(&all), [0, 0, 1, 0, 3, 2]);
        assert_eq!(front(&all), [0, 1, 3]);
    }

    /// Against the definition (1), over points of which many are equal in one number.
    #[test]
    fn the_front_is_what_nothing_precedes() {
        let all: Vec<Point> =
            (0..300_u32).map(|k| Point::of([7, 11, 13].map(|m| f64::from(k * k % m)).to_vec())).collect();
        let found = front(&all);
        for (at, point) in all.iter().enumerate() {
            let is_best = !all.iter().any(|other| other.precedes(point));
            let is_found = found.iter().any(|known| all[*known].objectives == point.objectives);
            assert_eq!(is_best, is_found, "{at}: {point:?}");
        }
    }

    #[test]
    fn of_equal_points_the_first_is_kept() {
        assert_eq!(front(&points(&[[2.0, 1.0], [1.0, 2.0], [2.0, 1.0], [1.0, 2.0]])), [0, 1]);
    }

    #[test]
    fn broken_rules_come_last_by_how_much_they_are_broken() {
        let mut all = points(&[[9.0, 9.0], [1.0, 1.0]]);
        all.extend([Point::broken(0.5), Point::broken(0.1), Point::broken(f64::NAN)]);
        assert_eq!(ranks(&all), [1, 0, 3, 2, 4]);
        assert_eq!(front(&all), [1]);
        assert!(front(&all[2..]).is_empty());
    }

    #[test]
    fn room_is_the_box_to_the_neighbours() {
        let all = points(&[[0.0, 10.0], [1.0, 6.0], [4.0, 5.0], [10.0, 0.0]]);
        let found = room(&all, &[0, 1, 2, 3]);
        assert!(found[0].is_infinite() && found[3].is_infinite());
        assert!(
            (found[1] - (0.4 + 0.5)).abs() < 1e-12 && (found[2] - (0.9 + 0.6)).abs() < 1e-12,
            "{found:?}"
        );
    }
}
