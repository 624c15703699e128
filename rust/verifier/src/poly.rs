//! Multilinear extensions (docs/proof-format.md, "The order of messages"). The first coordinate of a point belongs to the
//! most significant bit of an index; an axis of dimension d has ⌈log2 d⌉ coordinates.

use crate::field::{self, Dot, K, ONE, ZERO};
use crate::shape::{Run, size, variables};
use alloc::vec;
use alloc::vec::Vec;

/// The most entries of a table of eq that is walked through again and again.
const DENSE: u64 = 1 << 12;
/// log2 of the least that rows are worth.
const ROW: usize = 6;

/// The coordinates of every axis.
pub fn split<'p>(point: &'p [K], shape: &[u64]) -> Vec<&'p [K]> {
    let mut rest = point;
    let part = |&d: &u64| {
        let (part, after) = rest.split_at(variables(d));
        rest = after;
        part
    };
    shape.iter().map(part).collect()
}

pub fn last<T>(point: &[T], count: usize) -> &[T] {
    &point[point.len() - count..]
}

/// eq of two points.
pub fn eq(a: &[K], b: &[K]) -> K {
    let mut value = ONE;
    for (&x, &y) in a.iter().zip(b) {
        let xy = x * y;
        value *= xy + xy + ONE - (x + y);
    }
    value
}

/// eq of a point and an index.
pub fn eq_index(point: &[K], index: u64) -> K {
    let mut value = ONE;
    for (j, &r) in point.iter().rev().enumerate() {
        value *= if index >> j & 1 == 1 { r } else { ONE - r };
    }
    value
}

/// eq of a point and every index below `count`, which is at least 1.
pub fn eq_table(point: &[K], count: u64) -> Vec<K> {
    expand(&[ONE], 0, point, 0, count)
}

/// Weights of the first coordinates of a point, those of index `at` and its followers, times eq of its other coordinates: at `count`
/// indexes from `first` on, at least 1. The weights must reach that far.
pub fn expand(weights: &[K], at: u64, point: &[K], first: u64, count: u64) -> Vec<K> {
    // The weights of indexes whose bits above the lowest n are those of the indexes asked for.
    let ends = |n: usize| (first >> n, (first + count - 1) >> n);
    let (low, high) = ends(point.len());
    let mut table = weights[(low - at) as usize..=(high - at) as usize].to_vec();
    let mut begin = low; // of the table, which may have an index more at either end
    for (j, &r) in point.iter().enumerate() {
        let (low, high) = ends(point.len() - j);
        let own = &table[(low - begin) as usize..=(high - begin) as usize];
        let mut next = vec![ZERO; 2 * own.len()];
        for (pair, &t) in next.chunks_exact_mut(2).zip(own) {
            let odd = t * r;
            (pair[0], pair[1]) = (t - odd, odd);
        }
        (table, begin) = (next, 2 * low);
    }
    table.truncate((first + count - begin) as usize);
    table.drain(..(first - begin) as usize);
    table
}

/// The weights of all blocks of some runs, by place: eq of the coordinates of a point that are not inside them.
pub fn outside(point: &[K], runs: &[Run]) -> Vec<K> {
    let run = |r: &Run| expand(&[ONE], 0, &point[..point.len() - r.bits], r.offset >> r.bits, r.count);
    runs.iter().map(run).collect::<Vec<_>>().concat()
}

/// eq of a point at every entry of a tensor, row-major.
fn dense_table(parts: &[&[K]], shape: &[u64]) -> Vec<K> {
    let mut table = vec![ONE];
    for (part, &d) in parts.iter().zip(shape) {
        let axis = eq_table(part, d);
        if table.len() == 1 {
            table = axis;
        } else if axis.len() > 1 {
            let mut product = Vec::with_capacity(table.len() * axis.len());
            for &a in &table {
                product.extend(axis.iter().map(|&b| a * b));
            }
            table = product;
        }
    }
    table
}

/// The values of eq of a point, given by axis, at the entries of a tensor: entry i is an entry of `outer` times one of `inner`,
/// rows of at most a few thousand entries. So no table is as long as the tensor.
pub struct Eq {
    outer: Vec<K>,
    inner: Vec<K>,
    pieces: usize, // how many rows the axis is cut into that is cut
    end: usize,    // how many entries the last of these has
}

impl Eq {
    /// In rows of about the square root of the number of entries, which take the least to make.
    pub fn new(parts: &[&[K]], shape: &[u64]) -> Eq {
        let vars: usize = parts.iter().map(|p| p.len()).sum();
        Eq::with(parts, shape, DENSE.min(1 << vars.div_ceil(2).max(ROW)))
    }

    /// In rows that are as long as is good for a tensor that is looked into often.
    pub fn dense(parts: &[&[K]], shape: &[u64]) -> Eq {
        Eq::with(parts, shape, DENSE)
    }

    fn with(parts: &[&[K]], shape: &[u64], dense: u64) -> Eq {
        // Axes behind the one that is cut are whole in a row.
        let (mut axis, mut whole) = (shape.len(), 1);
        while axis > 0 && whole * shape[axis - 1] <= dense {
            axis -= 1;
            whole *= shape[axis];
        }
        if axis == 0 {
            return Eq { outer: vec![ONE], end: whole as usize, inner: dense_table(parts, shape), pieces: 1 };
        }
        let (cut, dimension) = (axis - 1, shape[axis - 1]);
        let bits = ((dense / whole).max(1).ilog2() as usize).min(parts[cut].len());
        let (high, low) = parts[cut].split_at(parts[cut].len() - bits);
        let pieces = ((dimension - 1) >> bits) + 1;
        let mut inner_parts = vec![low];
        inner_parts.extend_from_slice(&parts[axis..]);
        let mut outer_parts = parts[..cut].to_vec();
        outer_parts.push(high);
        Eq {
            outer: dense_table(&outer_parts, &[&shape[..cut], &[pieces]].concat()),
            inner: dense_table(&inner_parts, &[&[1 << bits], &shape[axis..]].concat()),
            pieces: pieces as usize,
            end: ((dimension - ((pieces - 1) << bits)) * whole) as usize,
        }
    }

    /// The factor of every row, and the values within it.
    pub fn rows(&self) -> impl Iterator<Item = (K, &[K])> {
        let row = move |(i, &factor): (usize, &K)| {
            let ends = (i + 1) % self.pieces == 0;
            (factor, &self.inner[..if ends { self.end } else { self.inner.len() }])
        };
        self.outer.iter().enumerate().map(row)
    }

    /// The value at an entry of a tensor with one axis at most.
    #[inline]
    pub fn get(&self, i: usize) -> K {
        if self.outer.len() == 1 { self.inner[i] } else { self.outer[i / self.inner.len()] * self.inner[i % self.inner.len()] }
    }
}

/// Σ eq(point, i) and Σ i·eq(point, i) over i < count, for a count up to 2^variables.
pub fn weighted_prefix(point: &[K], count: u64) -> (K, K) {
    let n = point.len();
    if count >> n != 0 {
        return (ONE, index_value(point));
    }
    let (mut below, mut weighted, mut path, mut at) = (ZERO, ZERO, ONE, 0);
    for (j, &r) in point.iter().enumerate() {
        let half = 1 << (n - 1 - j);
        let taken = path * r;
        let left = path - taken;
        if count & half != 0 {
            below += left;
            weighted += left * (K::base(field::lift(at)) + index_value(&point[j + 1..]));
            (path, at) = (taken, at + half as i64);
        } else {
            path = left;
        }
    }
    (below, weighted)
}

/// Σ eq(point, i) over the indexes below `count`.
pub fn prefix(point: &[K], count: u64) -> K {
    let n = point.len();
    if count >> n != 0 {
        return ONE;
    }
    let (mut below, mut path) = (ZERO, ONE);
    for (j, &r) in point.iter().enumerate() {
        let taken = path * r;
        let left = path - taken;
        if count >> (n - 1 - j) & 1 == 1 {
            below += left;
            path = taken;
        } else {
            path = left;
        }
    }
    below
}

/// Σ_i i·eq(point, i) over all i.
pub fn index_value(point: &[K]) -> K {
    point.iter().fold(ZERO, |value, &r| value + value + r)
}

/// The extension of the function that is 1 on an index space, at a point by axis.
pub fn mask<'p>(parts: impl IntoIterator<Item = &'p [K]>, shape: &[u64]) -> K {
    let mut value = ONE;
    for (part, &d) in parts.into_iter().zip(shape) {
        if !d.is_power_of_two() {
            value *= prefix(part, d);
        }
    }
    value
}

/// The extension of a tensor of elements of F at a point.
pub fn evaluate(values: &[u32], shape: &[u64], point: &[K]) -> K {
    let eq = Eq::new(&split(point, shape), shape);
    let mut rest = values;
    let mut sum = ZERO;
    debug_assert_eq!(values.len() as u64, size(shape));
    for (factor, row) in eq.rows() {
        let (own, after) = rest.split_at(row.len());
        rest = after;
        sum += factor * field::dot(row, own);
    }
    sum
}

/// The extension of 2^n elements of K at a point.
pub fn evaluate_elements(values: &[K], point: &[K]) -> K {
    let mut table = values.to_vec();
    for &r in point {
        let half = table.len() / 2;
        for i in 0..half {
            let (a, b) = (table[i], table[i + half]);
            table[i] = a + (b - a) * r;
        }
        table.truncate(half);
    }
    table[0]
}

/// Σ weights[j]·(element j) over a leaf of elements of K.
pub fn fold_leaf(weights: &[K], leaf: &[u32]) -> K {
    let mut sum = Dot::default();
    weights.iter().zip(leaf.chunks_exact(4)).for_each(|(&w, x)| sum.add_product(w, K([x[0], x[1], x[2], x[3]])));
    sum.total()
}

#[cfg(test)]
pub mod tests {
    use super::*;
    use crate::shape::shape_variables;

    pub fn some_point(n: usize) -> Vec<K> {
        (0..n as u64)
            .map(|i| K(core::array::from_fn(|k| field::reduce(0x1234_5678_9abc_def1u64.wrapping_mul(i * 4 + k as u64 + 1) >> 8))))
            .collect()
    }

    #[test]
    fn tables_hold_eq() {
        let point = some_point(5);
        for count in [1, 2, 17, 31, 32] {
            let table = eq_table(&point, count);
            assert_eq!(table.len() as u64, count);
            for (i, &t) in table.iter().enumerate() {
                assert_eq!(t, eq_index(&point, i as u64));
            }
            let ones: K = table.iter().copied().sum();
            let indexes: K = table.iter().enumerate().map(|(i, t)| t.times(i as u32)).sum();
            assert_eq!(weighted_prefix(&point, count), (ones, indexes));
            for first in 0..count {
                assert_eq!(expand(&eq_table(&point[..2], 4)[1..], 1, &point[2..], 8 + first % 8, 1 + first / 2), {
                    (0..1 + first / 2).map(|i| eq_index(&point, 8 + first % 8 + i)).collect::<Vec<_>>()
                });
            }
            assert_eq!(prefix(&point, count), ones);
        }
    }

    /// Whatever is the size of rows, the entries are those of the whole table.
    #[test]
    fn rows_make_the_table() {
        for shape in [vec![], vec![1], vec![7], vec![6, 5], vec![3, 1, 7, 2], vec![5, 2, 2]] {
            let point = some_point(shape_variables(&shape));
            let parts = split(&point, &shape);
            let whole = dense_table(&parts, &shape);
            assert_eq!(whole.len() as u64, size(&shape));
            for dense in [1, 2, 4, 16, 64] {
                let eq = Eq::with(&parts, &shape, dense);
                let rows: Vec<K> = eq.rows().flat_map(|(f, row)| row.iter().map(move |&x| f * x)).collect();
                assert_eq!(rows, whole, "{shape:?} {dense}");
                if shape.len() < 2 {
                    assert!((0..whole.len()).all(|i| eq.get(i) == whole[i]));
                }
            }
        }
    }

    #[test]
    fn evaluations() {
        let shape = [3, 5];
        let point = some_point(5);
        let values: Vec<u32> = (0..15).map(|i| i * i + 1).collect();
        let parts = split(&point, &shape);
        let want: K = dense_table(&parts, &shape).iter().zip(&values).map(|(&w, &v)| w.times(v)).sum();
        assert_eq!(evaluate(&values, &shape, &point), want);
        assert_eq!(mask(parts, &shape), evaluate(&[1; 15], &shape, &point));
        let elements: Vec<K> = (0..32).map(K::base).collect();
        assert_eq!(evaluate_elements(&elements, &point), index_value(&point));
    }
}
