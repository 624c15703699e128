//! Views: which output entries are wired to which source entries (docs/proof-format.md, "Views").

use crate::field::{K, ONE, ZERO, sum_of_products};
use crate::graph::{Graph, Group, Linear, Map, View};
use crate::poly::{Eq, mask, split};
use crate::shape::{pick, size, variables};
use alloc::collections::BTreeMap;
use alloc::vec::Vec;

/// The values of the public inputs, by tensor.
pub type Inputs<'v> = BTreeMap<u32, &'v [i32]>;

impl Group {
    /// Whether the group only renames variables.
    pub fn is_trivial(&self, out: &[u64], source: &[u64]) -> bool {
        match self.map {
            Map::Affine => {
                if !self.sums.is_empty() || self.base.now != 0 {
                    return false;
                }
                let mut long = self.out.iter().zip(&self.strides).filter(|(a, _)| out[**a as usize] > 1);
                let (dimension, stride) = long.next().map_or((1, 1), |(a, s)| (out[*a as usize], *s));
                let from = self.source.first().map_or(1, |&a| source[a as usize]);
                long.next().is_none() && stride == 1 && dimension >= from && variables(dimension) == variables(from)
            }
            Map::Reshape => match (mergeable(&pick(out, &self.out)), mergeable(&pick(source, &self.source))) {
                (Some(a), Some(b)) => a == b,
                _ => false,
            },
            _ => false,
        }
    }

    /// How many pairs of entries have to be looked at.
    fn pairs(&self, out: &[u64]) -> u64 {
        let outputs: u64 = self.out.iter().map(|&a| out[a as usize]).product();
        self.sums.iter().fold(outputs, |n, s| n * s.dimension.now as u64)
    }

    /// Calls `visit` with what the source entry is of every output entry from number `from` on, without summed indexes. It
    /// may be none of the source's.
    fn bases(&self, out: &[u64], from: usize, count: usize, inputs: &Inputs, mut visit: impl FnMut(i64)) {
        match self.map {
            Map::Index => self.index[from..from + count].iter().for_each(|&i| visit(i as i64 - 1)),
            Map::Public => inputs[&self.ids][from..from + count].iter().for_each(|&i| visit(i as i64)),
            Map::Reshape => (from..from + count).for_each(|i| visit(i as i64)),
            Map::Affine => {
                let rank = self.out.len();
                let (mut at, mut rest, mut index) = (self.base.now, from as u64, [0; 8]);
                for j in (0..rank).rev() {
                    let d = out[self.out[j] as usize];
                    index[j] = rest % d;
                    rest /= d;
                    at += index[j] as i64 * self.strides[j];
                }
                for _ in 0..count {
                    visit(at);
                    for j in (0..rank).rev() {
                        at += self.strides[j];
                        index[j] += 1;
                        if index[j] < out[self.out[j] as usize] {
                            break;
                        }
                        at -= index[j] as i64 * self.strides[j];
                        index[j] = 0;
                    }
                }
            }
        }
    }

    /// Calls `visit` with every entry of the source that is wired to an output which is at `base` without summed indexes.
    fn wired(&self, level: usize, base: i64, entries: i64, visit: &mut impl FnMut(usize)) {
        match self.sums.get(level) {
            Some(sum) => (0..sum.dimension.now).for_each(|i| self.wired(level + 1, base + i * sum.stride, entries, visit)),
            None if 0 <= base && base < entries => visit(base as usize),
            None => {}
        }
    }

    /// Whether the same source entries are wired to all outputs.
    fn is_constant(&self, out: &[u64]) -> bool {
        self.map == Map::Affine && self.out.iter().zip(&self.strides).all(|(&a, &stride)| stride == 0 || out[a as usize] == 1)
    }

    /// Whether any output is wired to an entry of a source of one entry, whatever public indexes are.
    fn is_wired(&self, out: &[u64]) -> bool {
        let mut found = self.map == Map::Public;
        if self.is_constant(out) {
            self.wired(0, self.base.now, 1, &mut |_| found = true);
        } else if !found {
            let outputs: u64 = self.out.iter().map(|&a| out[a as usize]).product();
            self.bases(out, 0, outputs as usize, &Inputs::new(), |base| self.wired(0, base, 1, &mut |_| found = true));
        }
        found
    }

    /// Σ eq(parts, o)·eq(point, i) over the wired pairs; or Σ eq(parts, o), if there is no point, that is 1 at all entries.
    fn weight(&self, out: &[u64], source: &[u64], parts: &[&[K]], point: Option<&[&[K]]>, inputs: &Inputs) -> K {
        let dimensions = pick(source, &self.source);
        let many = self.map != Map::Reshape && self.pairs(out) >= size(&dimensions);
        let at = point.map(|point| if many { Eq::dense(point, &dimensions) } else { Eq::new(point, &dimensions) });
        if self.is_constant(out) {
            let mut value = ZERO;
            self.wired(0, self.base.now, size(&dimensions) as i64, &mut |i| value += at.as_ref().map_or(ONE, |eq| eq.get(i)));
            return value * mask(pick(parts, &self.out), &pick(out, &self.out));
        }
        let outputs = Eq::new(&pick(parts, &self.out), &pick(out, &self.out));
        if let (Map::Reshape, Some(at)) = (self.map, &at) {
            return rows_product(&outputs, at);
        }
        let (entries, mut from, mut sum) = (size(&dimensions) as i64, 0, ZERO);
        for (factor, row) in outputs.rows() {
            let (mut inner, mut k) = (ZERO, 0);
            self.bases(out, from, row.len(), inputs, |base| {
                let mut value = ZERO;
                let mut one = |i: usize| value += at.as_ref().map_or(ONE, |eq| eq.get(i));
                if self.sums.is_empty() {
                    if 0 <= base && base < entries {
                        one(base as usize);
                    }
                } else {
                    self.wired(0, base, entries, &mut one);
                }
                if value != ZERO {
                    inner += row[k] * value;
                }
                k += 1;
            });
            sum += factor * inner;
            from += row.len();
        }
        sum
    }
}

/// The number of variables of axes of which all that are longer than 1, but for the first, are powers of two.
fn mergeable(shape: &[u64]) -> Option<usize> {
    let mut vars = 0;
    for &d in shape {
        if vars > 0 && !d.is_power_of_two() {
            return None;
        }
        vars += variables(d);
    }
    Some(vars)
}

/// Σ a_i·b_i over two lists in rows.
fn rows_product(a: &Eq, b: &Eq) -> K {
    let (mut rows, mut sum) = (b.rows(), ZERO);
    let (mut factor, mut rest): (K, &[K]) = (ZERO, &[]);
    for (own, mut row) in a.rows() {
        while !row.is_empty() {
            if rest.is_empty() {
                match rows.next() {
                    Some(next) => (factor, rest) = next,
                    None => return sum, // which both end at
                }
            }
            let n = row.len().min(rest.len());
            let inner = sum_of_products(row[..n].iter().zip(&rest[..n]));
            sum += own * factor * inner;
            (row, rest) = (&row[n..], &rest[n..]);
        }
    }
    sum
}

/// A view in the form that the protocol uses: factor·Σ_x source~(bound, x)·Π g~(x_group).
pub struct Wiring<'g> {
    pub out: &'g [u64],
    pub source: &'g [u64],
    fill: i64,
    renaming: Vec<&'g Group>,   // these bind source axes to coordinates of the output's point
    pub single: Vec<&'g Group>, // sources of one entry: the factor
    pub summed: Vec<&'g Group>, // these keep their source axes in the sum
    pub single_pairs: u64,
    pub summed_pairs: u64,
}

impl<'g> Wiring<'g> {
    pub fn new(g: &'g Graph, l: &'g Linear, view: &'g View, out: &'g [u64]) -> Wiring<'g> {
        let source = g.shape(l.source);
        let mut groups: Vec<&Group> = view.groups.iter().collect();
        groups.sort_by_key(|g| g.source.first().map_or(-1, |&a| a as i64));
        let mut w = Wiring {
            out,
            source,
            fill: view.fill,
            renaming: Vec::new(),
            single: Vec::new(),
            summed: Vec::new(),
            single_pairs: 0,
            summed_pairs: 0,
        };
        for group in groups {
            if group.is_trivial(out, source) {
                w.renaming.push(group);
            } else if group.source.iter().all(|&a| source[a as usize] == 1) {
                w.single.push(group);
                w.single_pairs += group.pairs(out);
            } else {
                w.summed.push(group);
                w.summed_pairs += group.pairs(out);
            }
        }
        w
    }

    /// Whether some group that gives the factor wires nothing, so that the view of the source is 0.
    pub fn is_empty(&self) -> bool {
        self.single.iter().any(|g| !g.is_wired(self.out))
    }

    pub fn has_fill(&self) -> bool {
        self.fill != 0
    }

    /// The source axes that stay in the sum, in the order of its variables.
    pub fn kept(&self) -> impl Iterator<Item = u32> {
        self.summed.iter().flat_map(|g| g.source.iter().copied())
    }

    /// The product of the groups that give the factor, at a point of the output.
    pub fn factor(&self, point: &[K], inputs: &Inputs) -> K {
        let parts = split(point, self.out);
        self.single.iter().fold(ONE, |value, g| value * g.weight(self.out, self.source, &parts, None, inputs))
    }

    /// What the fill value adds to the view at a point.
    pub fn filled(&self, point: &[K], factor: K, inputs: &Inputs) -> K {
        if self.fill == 0 {
            return ZERO;
        }
        let parts = split(point, self.out);
        let mut ones = factor;
        for g in &self.renaming {
            let joined: Vec<K> = pick(&parts, &g.out).concat();
            let dimensions = pick(self.source, &g.source);
            ones *= mask(split(&joined, &dimensions), &dimensions);
        }
        for g in &self.summed {
            ones *= g.weight(self.out, self.source, &parts, None, inputs);
        }
        (mask(parts, self.out) - ones).scale(self.fill)
    }

    /// factor·Π g~ of the groups in the sum, at a point of the output and one of their source axes.
    pub fn weight(&self, point: &[K], at: &[K], factor: K, inputs: &Inputs) -> K {
        let parts = split(point, self.out);
        let (mut value, mut rest) = (factor, at);
        for g in &self.summed {
            let dimensions = pick(self.source, &g.source);
            let (own, after) = rest.split_at(dimensions.iter().map(|&d| variables(d)).sum());
            rest = after;
            value *= g.weight(self.out, self.source, &parts, Some(&split(own, &dimensions)), inputs);
        }
        value
    }

    /// By source axis, the coordinates of the output's point that it is bound to; none for axes in the sum. A point may be
    /// one of anything.
    pub fn bound<T: Copy>(&self, point: &[T]) -> Vec<Vec<T>> {
        let mut bound: Vec<Vec<T>> = self.source.iter().map(|_| Vec::new()).collect();
        let mut first = Vec::with_capacity(self.out.len());
        let mut at = 0;
        for &d in self.out {
            first.push(at);
            at += variables(d);
        }
        for g in &self.renaming {
            let mut joined = Vec::new();
            for &a in &g.out {
                let from = first[a as usize];
                joined.extend_from_slice(&point[from..from + variables(self.out[a as usize])]);
            }
            let mut rest = &joined[..];
            for &a in &g.source {
                let (own, after) = rest.split_at(variables(self.source[a as usize]));
                bound[a as usize] = own.to_vec();
                rest = after;
            }
        }
        bound
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::{Scaled, SumIndex};
    use crate::poly::{eq_index, tests::some_point};
    use crate::shape::shape_variables;
    use alloc::vec;

    /// The weight of an affine group with a sum is that of its pairs, one by one.
    #[test]
    fn weights_are_those_of_all_pairs() {
        let scaled = |now: i64| Scaled { now, unit: now, scale: 0 };
        let (out, source) = ([3, 5, 1], [6]);
        let points = some_point(shape_variables(&out) + shape_variables(&source));
        let (at, from) = points.split_at(shape_variables(&out));
        for strides in [[0, 0, 0], [0, 0, 7], [0, 1, 0], [2, 0, 0], [-1, 1, 0]] {
            for base in [-2, 0, 3, 6] {
                for sums in [vec![], vec![(2, 1)], vec![(9, 0)], vec![(6, 1)], vec![(3, -1), (2, 2)]] {
                    let sums: Vec<SumIndex> = sums.iter().map(|&(n, stride)| SumIndex { dimension: scaled(n), stride }).collect();
                    let (out_axes, base) = (vec![0, 1, 2], scaled(base));
                    let g = Group { out: out_axes, source: vec![0], strides: strides.to_vec(), base, sums, ..Group::new() };
                    let (mut ones, mut both, mut first) = (ZERO, ZERO, false);
                    for o in 0..15 {
                        let own = eq_index(&at[..2], o / 5) * eq_index(&at[2..], o % 5);
                        let begin = base.now + (o / 5) as i64 * strides[0] + (o % 5) as i64 * strides[1];
                        g.wired(0, begin, 6, &mut |i| {
                            (ones, both) = (ones + own, both + own * eq_index(from, i as u64));
                            first |= i == 0;
                        });
                    }
                    let (parts, none) = (split(at, &out), Inputs::new());
                    assert_eq!(g.weight(&out, &source, &parts, None, &none), ones, "{g:?}");
                    assert_eq!(g.weight(&out, &source, &parts, Some(&[from]), &none), both, "{g:?}");
                    assert_eq!(g.is_wired(&out), first, "{g:?}");
                }
            }
        }
    }
}
