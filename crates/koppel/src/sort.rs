//! Stable sorting in little code, for lists that are sorted once.
//!
//! Every type and every comparison gets a copy of the standard library's sort, some 5 kB each. Here all share one, which sorts the
//! places of the elements; only moving the elements to their places is done by type.

use std::cmp::Ordering;

/// Sorts as [`slice::sort_by`] does.
pub fn sort_by<T>(list: &mut [T], compare: impl Fn(&T, &T) -> Ordering) {
    let mut order = order(list.len(), &|a, b| compare(&list[a], &list[b]));
    for first in 0..list.len() {
        let mut at = first;
        while order[at] != first {
            let next = order[at];
            list.swap(at, next);
            order[at] = at;
            at = next;
        }
        order[at] = at;
    }
}

/// Sorts as [`slice::sort_by_key`] does.
pub fn sort_by_key<T, K: Ord>(list: &mut [T], key: impl Fn(&T) -> K) {
    sort_by(list, |a, b| key(a).cmp(&key(b)));
}

/// Which element comes to each place.
fn order(count: usize, compare: &dyn Fn(usize, usize) -> Ordering) -> Vec<usize> {
    let mut order: Vec<usize> = (0..count).collect();
    order.sort_by(|a, b| compare(*a, *b));
    order
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::splitmix::SplitMix64;

    #[test]
    fn sorts_as_the_standard_library_does() {
        let mut random = SplitMix64(1);
        for count in 0..200 {
            let list: Vec<(u64, usize)> = (0..count).map(|k| (random.bits() % 20, k)).collect();
            let (mut ours, mut theirs) = (list.clone(), list);
            sort_by_key(&mut ours, |one| one.0);
            theirs.sort_by_key(|one| one.0);
            assert_eq!(ours, theirs);
        }
    }
}
