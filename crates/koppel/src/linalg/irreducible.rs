//! The parts of a matrix that determine its eigenvalues.
//!
//! Numbers that act on each other, directly or through others, are a strongly connected component of the graph of non-zero
//! entries. Ordered by them, a matrix is block triangular, and its eigenvalues are those of the diagonal blocks. Computed from
//! the blocks they are as accurate as the blocks are well conditioned. Computed from the whole matrix, n equal eigenvalues of a
//! one-way chain move apart by ε^(1/n).

use super::Matrix;

/// The components of a square matrix, each after all those that act on it.
pub(crate) fn components(a: &Matrix) -> Vec<Vec<usize>> {
    let acting = |i: usize| (0..a.cols()).filter(|j| a[(i, *j)] != 0.0).collect();
    strongly_connected(&(0..a.rows()).map(acting).collect::<Vec<Vec<usize>>>())
}

/// The block of these rows and columns.
pub(crate) fn block(a: &Matrix, rows: &[usize], columns: &[usize]) -> Matrix {
    Matrix::from_fn(rows.len(), columns.len(), |i, j| a[(rows[i], columns[j])])
}

/// Strongly connected components, each after all those it depends on (Tarjan's algorithm without recursion).
pub(crate) fn strongly_connected(sources: &[Vec<usize>]) -> Vec<Vec<usize>> {
    const UNSEEN: usize = usize::MAX;
    let n = sources.len();
    let (mut index, mut low, mut on_stack) = (vec![UNSEEN; n], vec![0; n], vec![false; n]);
    let (mut stack, mut components, mut next) = (Vec::new(), Vec::new(), 0);
    for root in 0..n {
        if index[root] != UNSEEN {
            continue;
        }
        let mut calls = vec![(root, 0)];
        while let Some((node, edge)) = calls.pop() {
            if edge == 0 {
                index[node] = next;
                low[node] = next;
                next += 1;
                stack.push(node);
                on_stack[node] = true;
            }
            if let Some(&source) = sources[node].get(edge) {
                calls.push((node, edge + 1));
                if index[source] == UNSEEN {
                    calls.push((source, 0));
                } else if on_stack[source] {
                    low[node] = low[node].min(index[source]);
                }
                continue;
            }
            if let Some((parent, _)) = calls.last() {
                low[*parent] = low[*parent].min(low[node]);
            }
            if low[node] == index[node] {
                let start = stack.iter().rposition(|s| *s == node).unwrap_or(0);
                let mut component = stack.split_off(start);
                component.iter().for_each(|s| on_stack[*s] = false);
                component.sort_unstable();
                components.push(component);
            }
        }
    }
    components
}
