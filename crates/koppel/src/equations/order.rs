//! The order in which things can be computed that are made of each other.

/// An order for items, each of which needs some others, and the circles among them. Items of a circle come in the order, too, as
/// if the circle were cut.
pub(super) fn order(needs: &[Vec<usize>]) -> (Vec<usize>, Vec<Vec<usize>>) {
    let count = needs.len();
    let mut missing: Vec<usize> = needs.iter().map(Vec::len).collect();
    let mut used_by = vec![Vec::new(); count];
    for (item, list) in needs.iter().enumerate() {
        list.iter().for_each(|other| used_by[*other].push(item));
    }
    let mut is_done = vec![false; count];
    let (mut done, mut circles) = (Vec::with_capacity(count), Vec::new());
    let mut ready: Vec<usize> = (0..count).rev().filter(|item| missing[*item] == 0).collect();
    loop {
        while let Some(item) = ready.pop() {
            if std::mem::replace(&mut is_done[item], true) {
                continue;
            }
            done.push(item);
            for other in &used_by[item] {
                missing[*other] -= 1;
                if missing[*other] == 0 && !is_done[*other] {
                    ready.push(*other);
                }
            }
        }
        let Some(first) = is_done.iter().position(|is_done| !is_done) else { return (done, circles) };
        let circle = circle_from(first, needs, &is_done);
        ready.extend(circle.iter().copied());
        circles.push(circle);
    }
}

/// From an item that cannot be computed, along what it needs, until an item comes again.
fn circle_from(first: usize, needs: &[Vec<usize>], is_done: &[bool]) -> Vec<usize> {
    let mut place = vec![usize::MAX; needs.len()];
    let mut path = Vec::new();
    let mut item = first;
    while place[item] == usize::MAX {
        place[item] = path.len();
        path.push(item);
        let open = needs[item].iter().find(|other| !is_done[**other]);
        item = *open.expect("what is not done needs something that is not done");
    }
    path.split_off(place[item])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_needed_comes_first_and_circles_are_found() {
        let (done, circles) = order(&[vec![1, 2], vec![2], vec![], vec![4], vec![3], vec![4], vec![6]]);
        let at = |item: usize| done.iter().position(|other| *other == item).unwrap();
        assert!(at(2) < at(1) && at(1) < at(0));
        assert_eq!(done.len(), 7);
        assert_eq!(circles, [vec![3, 4], vec![6]]);
    }
}
