//! Where to cut loops: the fewest signals whose guess lets everything else be evaluated in sequence.
//!
//! Nodes are put in an order. A signal that reaches a node which does not come after its own must be guessed; it is torn.
//! Which signals a node adds to the cut depends only on the set S of nodes before it, so the smallest cut follows from
//!
//!   cost(S ∪ {v}) = min over v of cost(S) + weight of the signals of v that reach S ∪ {v}              (1)
//!
//! over all sets S (Lawler 1964): exact, and quick up to [`EXACT`] nodes. Beyond, nodes are taken greedily, those first that
//! wait for the fewest signals, and then moved one by one as long as that makes the cut smaller.

/// Most nodes for which the cut is the smallest there is.
pub(super) const EXACT: usize = 16;

/// Most nodes that are moved about to improve a greedy order.
const MOVED: usize = 300;

/// What one node gives to others.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Signal {
    /// The node it comes from.
    pub from: usize,
    /// The nodes it acts on.
    pub to: Vec<usize>,
    /// How dear it is to guess it.
    pub weight: u64,
}

/// An order of evaluation and what must be guessed for it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tearing {
    /// All nodes.
    pub order: Vec<usize>,
    /// Places of the torn signals in the list of signals.
    pub torn: Vec<usize>,
    /// True if no smaller cut exists, false if a heuristic found it.
    pub is_smallest: bool,
}

/// Finds the cut of a graph of `nodes` nodes.
pub fn tear(nodes: usize, signals: &[Signal]) -> Tearing {
    let is_smallest = nodes <= EXACT;
    let order = if is_smallest { best_order(nodes, signals) } else { good_order(nodes, signals) };
    let torn = torn(&order, signals);
    Tearing { order, torn, is_smallest }
}

/// The signals that do not only reach later nodes.
fn torn(order: &[usize], signals: &[Signal]) -> Vec<usize> {
    let mut place = vec![0; order.len()];
    order.iter().enumerate().for_each(|(k, node)| place[*node] = k);
    let is_back = |signal: &Signal| signal.to.iter().any(|to| place[*to] <= place[signal.from]);
    (0..signals.len()).filter(|s| is_back(&signals[*s])).collect()
}

/// Equation (1).
fn best_order(nodes: usize, signals: &[Signal]) -> Vec<usize> {
    let mut given: Vec<Vec<(usize, u64)>> = vec![Vec::new(); nodes];
    for signal in signals {
        let reach = signal.to.iter().fold(0, |mask, to| mask | 1 << to);
        given[signal.from].push((reach, signal.weight));
    }
    let sets = 1_usize << nodes;
    let (mut cost, mut last) = (vec![u64::MAX; sets], vec![0_u8; sets]);
    cost[0] = 0;
    for set in 1..sets {
        for node in (0..nodes).filter(|node| set & 1 << node != 0) {
            let own = given[node].iter().filter(|(reach, _)| reach & set != 0).map(|(_, weight)| weight);
            let sum = cost[set & !(1 << node)] + own.sum::<u64>();
            // Of equal orders the one that keeps the numbering.
            if sum <= cost[set] {
                (cost[set], last[set]) = (sum, node as u8);
            }
        }
    }
    let mut order = Vec::with_capacity(nodes);
    let mut set = sets - 1;
    while set != 0 {
        let node = usize::from(last[set]);
        order.push(node);
        set &= !(1 << node);
    }
    order.reverse();
    order
}

fn good_order(nodes: usize, signals: &[Signal]) -> Vec<usize> {
    let mut order = greedy_order(nodes, signals);
    if nodes > MOVED {
        return order;
    }
    let weight = |order: &[usize]| torn(order, signals).iter().map(|s| signals[*s].weight).sum::<u64>();
    let mut best = weight(&order);
    loop {
        let before = best;
        for from in 0..nodes {
            let mut tried = order.clone();
            let node = tried.remove(from);
            let found = (0..nodes).map(|to| {
                tried.insert(to, node);
                let sum = weight(&tried);
                tried.remove(to);
                (sum, to)
            });
            if let Some((sum, to)) = found.min().filter(|(sum, _)| *sum < best) {
                tried.insert(to, node);
                (order, best) = (tried, sum);
            }
        }
        if best == before {
            return order;
        }
    }
}

/// Takes the node that waits for the fewest signals, again and again.
fn greedy_order(nodes: usize, signals: &[Signal]) -> Vec<usize> {
    let mut takes: Vec<Vec<usize>> = vec![Vec::new(); nodes];
    let mut gives: Vec<Vec<usize>> = vec![Vec::new(); nodes];
    for (s, signal) in signals.iter().enumerate() {
        signal.to.iter().for_each(|to| takes[*to].push(s));
        gives[signal.from].push(s);
    }
    let mut is_known = vec![false; signals.len()];
    let mut waits: Vec<u64> =
        takes.iter().map(|list| list.iter().map(|s| signals[*s].weight).sum()).collect();
    let mut is_placed = vec![false; nodes];
    let mut order = Vec::with_capacity(nodes);
    while order.len() < nodes {
        let free = (0..nodes).filter(|node| !is_placed[*node]);
        let Some(node) = free.min_by_key(|node| (waits[*node], *node)) else { break };
        is_placed[node] = true;
        order.push(node);
        // What it waits for is torn, what it gives is known from now on.
        for s in takes[node].iter().chain(&gives[node]) {
            if !std::mem::replace(&mut is_known[*s], true) {
                signals[*s].to.iter().for_each(|to| waits[*to] -= signals[*s].weight);
            }
        }
    }
    order
}

#[cfg(test)]
mod tests {
    use super::*;

    fn signal(from: usize, to: &[usize]) -> Signal {
        Signal { from, to: to.to_vec(), weight: 1 }
    }

    #[test]
    fn a_ring_is_cut_once() {
        for n in [2, 5, 16, 17, 40] {
            let ring: Vec<Signal> = (0..n).map(|i| signal(i, &[(i + 1) % n])).collect();
            let tearing = tear(n, &ring);
            assert_eq!(tearing.torn.len(), 1, "{n}");
            assert_eq!(tearing.is_smallest, n <= EXACT);
        }
    }

    #[test]
    fn of_two_sides_the_narrow_one_is_cut() {
        // Node 0 gives two signals, node 1 gives one back.
        let tearing = tear(2, &[signal(0, &[1]), signal(0, &[1]), signal(1, &[0])]);
        assert_eq!((tearing.order, tearing.torn), (vec![0, 1], vec![2]));
    }

    #[test]
    fn a_signal_to_its_own_node_is_always_cut() {
        assert_eq!(tear(1, &[signal(0, &[0])]).torn, [0]);
    }

    #[test]
    fn the_cut_is_the_smallest() {
        // Small random graphs: no smaller set of signals leaves a graph without cycles.
        let mut seed = 7_u64;
        let mut random = |n: u64| {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (seed >> 33) % n
        };
        for _ in 0..60 {
            let n = 2 + random(4) as usize;
            let signals: Vec<Signal> = (0..2 * n)
                .map(|_| {
                    let mut to: Vec<usize> = (0..=random(2)).map(|_| random(n as u64) as usize).collect();
                    to.dedup();
                    signal(random(n as u64) as usize, &to)
                })
                .collect();
            let found = tear(n, &signals).torn.len();
            let is_acyclic = |cut: usize| {
                let mut sources = vec![Vec::new(); n];
                for (_, s) in signals.iter().enumerate().filter(|(k, _)| cut & 1 << k == 0) {
                    s.to.iter().for_each(|to| sources[*to].push(s.from));
                }
                let parts = crate::linalg::strongly_connected(&sources);
                parts.len() == n && (0..n).all(|node| !sources[node].contains(&node))
            };
            let smallest = (0..1_usize << signals.len())
                .filter(|cut| is_acyclic(*cut))
                .map(usize::count_ones)
                .min()
                .map(|count| count as usize);
            assert_eq!(Some(found), smallest, "{signals:?}");
        }
    }

    #[test]
    fn beyond_the_exact_a_good_cut_is_found() {
        // Thirty rings of three that share nothing but one node: that node's signal is the whole cut.
        let rings = 30;
        let n = 1 + 2 * rings;
        let mut signals = vec![signal(0, &(0..rings).map(|r| 1 + 2 * r).collect::<Vec<_>>())];
        for r in 0..rings {
            signals.push(signal(1 + 2 * r, &[2 + 2 * r]));
            signals.push(signal(2 + 2 * r, &[0]));
        }
        assert_eq!(tear(n, &signals).torn, [0]);
    }
}
