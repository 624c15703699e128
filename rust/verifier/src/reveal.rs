//! Greatest entries that a proof states in place of an output (docs/proof-format.md, "What is stated of an output"): what a
//! circuit gets to show that they are.

use crate::error::{Result, fail, require};
use crate::field::{K, ONE, P, ZERO};
use crate::graph::{Accumulator, Graph, Group, Kind, Linear, Map, Numbers, Scaled, Shape, Step, StepKind, Table, TableKind, Tensor, View};
use crate::poly::{eq_index, eq_table, prefix, split};
use crate::shape::variables;
use crate::validate::{BOUND, MOST_TABLE_BITS};
use alloc::borrow::Cow;
use alloc::collections::BTreeMap;
use alloc::format;
use alloc::string::String;
use alloc::vec;
use alloc::vec::Vec;

/// The most outputs of which a proof states the greatest entries.
pub const MOST_REVEALS: usize = 64;
/// The most indexes of a row.
pub const MOST_TOP: u32 = 1 << 10;
const MOST_FLAT: u64 = 1 << 28;
const LOW_BITS: u32 = 15; // looked up by themselves, of a wide number
const MOST_KEY_BITS: u32 = 30;
const MOST_DEPTH: usize = 16;
const MOST_NAME: usize = 256;

/// What a header says: which output, and how many of the greatest of a row, in order; 0 for the first greatest alone.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Reveal {
    pub output: u32,
    pub top: u32,
}

/// What a circuit has for an output of which the greatest entries are stated.
#[derive(Clone, Debug)]
pub struct Revealed {
    pub reveal: Reveal,
    /// The place of the indexes among the outputs of the circuit, of which some may be hidden.
    pub place: usize,
    /// The output, and the tensor of indexes in its place.
    pub of: u32,
    pub at: u32,
    /// The least and the greatest entry that comparisons rely on, and whether look-ups keep the output to them.
    pub range: (i64, i64),
    pub proved: bool,
    flat: u32,
    falls: Option<u32>,
    row: u64, // entries of a row, filled up
}

/// Where a tensor is not given: −1 before the last index of a row, `lift` at the others, 0 elsewhere.
#[derive(Clone, Copy, Debug)]
pub struct Marks {
    pub at: u32,
    pub lift: i64,
}

impl Reveal {
    /// How many indexes are stated of a row.
    pub fn count(&self) -> usize {
        self.top.max(1) as usize
    }

    fn what(&self) -> String {
        if self.top == 0 { String::from("argmax") } else { format!("top {}", self.top) }
    }
}

impl Revealed {
    /// The indexes of a row are different.
    pub fn check(&self, at: &[i32]) -> Result<()> {
        let mut row: Vec<i32> = Vec::with_capacity(self.reveal.count());
        for own in at.chunks(self.reveal.count()) {
            row.clear();
            row.extend_from_slice(own);
            row.sort_unstable();
            if let Some(pair) = row.windows(2).find(|pair| pair[0] == pair[1]) {
                return fail!("index {} is stated twice of one row", pair[0]);
            }
        }
        Ok(())
    }

    /// The entries of the tensors that follow from the indexes, but for marks.
    pub fn entries(&self, at: &[i32]) -> Vec<(u32, Vec<i32>)> {
        let top = self.reveal.count();
        let flat = at.iter().enumerate().map(|(i, &x)| ((i / top) as u64 * self.row) as i32 + x).collect();
        let mut list = vec![(self.at, at.to_vec()), (self.flat, flat)];
        if let Some(falls) = self.falls {
            let of_row = |row: &[i32]| row.windows(2).map(|pair| (pair[1] < pair[0]) as i32).collect::<Vec<_>>();
            list.push((falls, at.chunks(top).flat_map(of_row).collect()));
        }
        list
    }
}

impl Marks {
    /// Their extension at a point, of the indexes.
    pub fn value(&self, shape: &[u64], indexes: &[u32], point: &[K]) -> K {
        let lead = &shape[..shape.len() - 1];
        let parts = split(point, shape);
        let place = parts[lead.len()];
        let mut rows = vec![ONE];
        for (part, &d) in parts.iter().zip(lead) {
            let own = eq_table(part, d);
            rows = rows.iter().flat_map(|&a| own.iter().map(move |&b| a * b)).collect();
        }
        let top = indexes.len() / rows.len();
        let mut sum = ZERO;
        for (&weight, row) in rows.iter().zip(indexes.chunks(top)) {
            let (last, others) = (row[top - 1], &row[..top - 1]);
            let lifted: K = others.iter().map(|&x| eq_index(place, x as u64)).sum();
            sum += weight * (lifted.scale(self.lift) - prefix(place, last as u64));
        }
        sum
    }
}

impl<'a> Graph<'a> {
    /// The inputs that a proof gives: all others follow from its outputs.
    pub fn given(&self) -> &[u32] {
        &self.inputs[..self.own.inputs - self.hidden.inputs.len()]
    }

    /// The inputs whose entries are computed from those of a proof and held: all that it does not give, but for marks.
    pub fn derived(&self) -> impl Iterator<Item = u32> + '_ {
        let stated = |id| self.revealed.iter().any(|r| r.at == id);
        self.inputs[self.given().len()..].iter().copied().filter(move |&id| !stated(id) && self.tensors[id as usize].marks.is_none())
    }

    /// Takes back what `hide`, `reveal` and `several` did.
    pub fn unreveal(&mut self) {
        self.unhide();
        for r in &self.revealed {
            self.outputs[r.reveal.output as usize] = r.of;
        }
        self.revealed.clear();
        self.single();
        self.unsegment();
        self.tensors.truncate(self.own.tensors);
        self.tables.truncate(self.own.tables);
        self.steps.truncate(self.own.steps);
        self.inputs.truncate(self.own.inputs);
    }

    /// Adds to a circuit that has sizes and no layout what shows that the entries at stated indexes are the greatest, and puts
    /// the indexes in the place of outputs.
    pub fn reveal(&mut self, list: &[Reveal]) -> Result<()> {
        if list.is_empty() {
            return Ok(());
        }
        const NOT: &str = "which entries are the greatest cannot be proved";
        let mut ranges = Ranges::new(self);
        let mut next = 0;
        for r in list {
            let there = next <= r.output && (r.output as usize) < self.outputs.len();
            require!(there, "{NOT}: output {} of {}, or not in order", r.output, self.outputs.len());
            next = r.output + 1;
            let of = self.outputs[r.output as usize];
            let name = self.tensors[of as usize].name.clone();
            let made = self.reveal_one(*r, of, &mut ranges).map_err(|e| e.within(NOT));
            let made = made.map_err(|e| e.within(format_args!("{} of output {name:?}", r.what())))?;
            self.outputs[r.output as usize] = made.at;
            self.revealed.push(made);
        }
        Ok(())
    }

    fn reveal_one(&mut self, reveal: Reveal, of: u32, ranges: &mut Ranges) -> Result<Revealed> {
        let z = &self.tensors[of as usize];
        let ends = (z.min, z.max);
        let shape = z.shape.now.clone();
        let top = reveal.count() as u64;
        let Some((&axis, lead)) = shape.split_last().filter(|_| z.kind != Kind::Empty) else { return fail!("it has no axis") };
        let plain = z.numbers == Numbers::Finite && z.fracs.is_empty();
        require!(plain, "its integers are not on one scale, or not all finite");
        let some = reveal.top <= MOST_TOP && reveal.top as u64 <= axis;
        require!(some, "the {} greatest of {axis} entries, and at most {MOST_TOP}", reveal.top);
        let own_name = z.name.clone();
        let row = 1u64 << variables(axis.max(1));
        let rows = lead.iter().fold(1u64, |n, &d| n.saturating_mul(d));
        require!(rows <= MOST_FLAT / row, "{rows} rows of {axis} entries are more than {MOST_FLAT}, filled up to a power of two");
        let (least, most, proved) = match ranges.of(self, of, 0) {
            Some((least, most)) => (least, most, true),
            None => (ends.0, ends.1, false),
        };
        let width = most - least;
        let bits = bit_length(if top > 1 { width + 1 } else { width });
        let found = self.range_for(bits);
        let fits = |&(table, shift): &(u32, u32)| (1 << (self.tables[table as usize].bits + shift)) + width < P as i64;
        let Some((table, shift)) = found.filter(fits) else {
            return fail!("its entries lie in [{least}, {most}], which is too wide for comparisons modulo p");
        };
        let mut indexes = lead.to_vec();
        if reveal.top > 0 {
            indexes.push(top);
        } else if lead.is_empty() {
            indexes.push(1);
        }
        let at = self.add_input(&indexes, 0, axis as i64 - 1);
        let name = format!("{} of {own_name}", reveal.what());
        self.tensors[at as usize].name = Cow::Owned(if name.len() <= MOST_NAME { name } else { reveal.what() });
        let flat = self.add_input(&indexes, 0, (rows * row) as i64 - 1);
        let marks = self.add_input(&shape, -1, width + 1);
        self.tensors[marks as usize].marks = Some(Marks { at, lift: width + 1 });
        // The entries at the indexes, from one list of all rows.
        let padded = [lead, &[row]].concat();
        let ends = (ends.0.min(0), ends.1.max(0));
        let filled = self.add_view(&padded, ends, of, same_axes(padded.len()));
        let all = Group { source: (0..padded.len() as u32).collect(), ..one_axis(Map::Reshape, vec![0]) };
        let line = self.add_view(&[rows * row], ends, filled, vec![all]);
        let wired = Group { source: vec![0], ids: flat, ..one_axis(Map::Public, (0..indexes.len() as u32).collect()) };
        let best = self.add_view(&indexes, ends, line, vec![wired]);
        // No entry is greater than the last of them, nor equal and before it, but for the others.
        let mut last = same_axes(lead.len());
        let mut end = Group { strides: vec![0], ..one_axis(Map::Affine, vec![lead.len() as u32]) };
        if indexes.len() > lead.len() {
            (end.source, end.base) = (vec![lead.len() as u32], fixed(top as i64 - 1));
        }
        last.push(end);
        let terms = vec![term(1, best, Some(last)), term(-1, of, None), term(1, marks, None)];
        self.compare(&shape, terms, table, shift);
        let mut falls = None;
        if top > 1 {
            // Each is greater than the next, or equal and before it.
            let pairs = [lead, &[top - 1]].concat();
            let own = self.add_input(&pairs, 0, 1);
            let mut second = same_axes(pairs.len());
            second[lead.len()].base = fixed(1);
            let terms = vec![term(1, best, Some(same_axes(pairs.len()))), term(-1, best, Some(second)), term(-1, own, None)];
            self.compare(&pairs, terms, table, shift);
            falls = Some(own);
        }
        Ok(Revealed { reveal, place: reveal.output as usize, of, at, range: (least, most), proved, flat, falls, row })
    }

    pub fn add(&mut self, tensor: Tensor<'a>) -> u32 {
        self.tensors.push(tensor);
        self.tensors.len() as u32 - 1
    }

    pub fn add_input(&mut self, shape: &[u64], min: i64, max: i64) -> u32 {
        let id = self.add(Tensor { shape: unscaled(shape), min, max, ..Tensor::new(Kind::Input) });
        self.inputs.push(id);
        id
    }

    fn add_view(&mut self, shape: &[u64], (min, max): (i64, i64), source: u32, groups: Vec<Group>) -> u32 {
        let definition = vec![term(1, source, Some(groups))];
        self.add(Tensor { shape: unscaled(shape), min, max, definition, ..Tensor::new(Kind::Virtual) })
    }

    /// Looks up that a sum is not negative.
    fn compare(&mut self, shape: &[u64], linear: Vec<Linear>, table: u32, shift: u32) {
        self.look_up("greatest", shape, Accumulator { linear, ..Accumulator::default() }, table, shift);
    }

    /// The same of any accumulator, for a step of that name.
    pub fn look_up(&mut self, name: &'static str, shape: &[u64], accumulator: Accumulator, table: u32, shift: u32) {
        let low = (shift > 0).then(|| self.add(Tensor { shape: unscaled(shape), max: (1 << shift) - 1, ..Tensor::new(Kind::Witness) }));
        self.steps.push(lookup(name, shape, accumulator, table, shift, low));
        if let Some(low) = low {
            let exact = self.smallest(shift).filter(|&t| self.tables[t as usize].bits == shift);
            let table = exact.unwrap_or_else(|| self.add_range(shift));
            let rest = Accumulator { linear: vec![term(1, low, None)], ..Accumulator::default() };
            self.steps.push(lookup(name, shape, rest, table, 0, None));
        }
    }

    /// The table that numbers of so many bits are looked up in, and the bits below its keys.
    pub fn range_for(&mut self, bits: u32) -> Option<(u32, u32)> {
        if let Some(whole) = self.smallest(bits) {
            return Some((whole, 0));
        }
        if bits <= LOW_BITS + 1 {
            return Some((self.add_range(bits), 0));
        }
        let high = bits - LOW_BITS;
        if high > MOST_TABLE_BITS || bits > MOST_KEY_BITS {
            return None;
        }
        let there = self.smallest(high).filter(|&t| self.tables[t as usize].bits + LOW_BITS <= MOST_KEY_BITS);
        Some((there.unwrap_or_else(|| self.add_range(high)), LOW_BITS))
    }

    /// The smallest table of so many bits at least with keys from 0 on, the first of several.
    fn smallest(&self, bits: u32) -> Option<u32> {
        let fits = |t: &Table| t.kind == TableKind::Range && t.min == 0 && t.bits >= bits;
        let tables = self.tables.iter().enumerate().filter(|(_, t)| fits(t));
        tables.min_by_key(|(_, t)| t.bits).map(|(i, _)| i as u32)
    }

    fn add_range(&mut self, bits: u32) -> u32 {
        self.tables.push(Table { bits: bits.max(1), ..Table::new("range") });
        self.tables.len() as u32 - 1
    }
}

fn bit_length(v: i64) -> u32 {
    u64::BITS - (v as u64).leading_zeros()
}

fn unscaled(shape: &[u64]) -> Shape {
    Shape { now: shape.to_vec(), ..Shape::default() }
}

fn fixed(now: i64) -> Scaled {
    Scaled { now, unit: now, scale: 0 }
}

fn term(coefficient: i64, source: u32, groups: Option<Vec<Group>>) -> Linear {
    Linear { coefficient, source, view: groups.map(|groups| View { groups, fill: 0 }) }
}

pub fn one_axis(map: Map, out: Vec<u32>) -> Group {
    Group { out, source: Vec::new(), map, base: fixed(0), strides: Vec::new(), sums: Vec::new(), index: Vec::new(), ids: 0 }
}

pub fn same_axes(count: usize) -> Vec<Group> {
    let same = |a| Group { source: vec![a], strides: vec![1], ..one_axis(Map::Affine, vec![a]) };
    (0..count as u32).map(same).collect()
}

fn lookup<'a>(name: &'static str, shape: &[u64], accumulator: Accumulator, table: u32, shift: u32, remainder: Option<u32>) -> Step<'a> {
    let (kind, shape) = (StepKind::Lookup, unscaled(shape));
    Step { name, kind, shape, accumulator, shift, remainder, table: Some(table), out: None, divisor: None, chunk: 0 }
}

/// The intervals that look-ups, public values and formulas keep tensors to. Each is found once, whatever sums it is in.
struct Ranges {
    looked_up: Vec<Option<usize>>,                    // by tensor, the first look-up that it is a result of
    sums: BTreeMap<(u32, usize), Option<(i64, i64)>>, // by virtual tensor and depth
}

impl Ranges {
    fn new(g: &Graph) -> Ranges {
        let mut looked_up = vec![None; g.tensors.len()];
        for (i, s) in g.steps.iter().enumerate().filter(|(_, s)| s.kind == StepKind::Lookup) {
            for id in s.results() {
                looked_up[id as usize].get_or_insert(i);
            }
        }
        Ranges { looked_up, sums: BTreeMap::new() }
    }

    fn of(&mut self, g: &Graph, id: u32, depth: usize) -> Option<(i64, i64)> {
        let t = &g.tensors[id as usize];
        match t.kind {
            Kind::Input | Kind::Formula => Some((t.min, t.max)),
            Kind::Virtual if t.product.is_none() && depth < MOST_DEPTH => {
                if let Some(&known) = self.sums.get(&(id, depth)) {
                    return known;
                }
                let found = self.of_sum(g, t, depth);
                self.sums.insert((id, depth), found);
                found
            }
            Kind::Witness => g.steps[self.looked_up.get(id as usize).copied().flatten()?].keeps(g, id),
            _ => None,
        }
    }

    fn of_sum(&mut self, g: &Graph, t: &Tensor, depth: usize) -> Option<(i64, i64)> {
        let (mut least, mut most) = (0, 0);
        for l in &t.definition {
            if l.view.as_ref().is_some_and(|v| v.groups.iter().any(|g| !g.sums.is_empty())) {
                return None;
            }
            let (mut low, mut high) = self.of(g, l.source, depth + 1)?;
            if let Some(v) = &l.view {
                (low, high) = (low.min(v.fill), high.max(v.fill));
            }
            let (a, b) = (l.coefficient * low, l.coefficient * high);
            (least, most) = (least + a.min(b), most + a.max(b));
            if least <= -BOUND || most >= BOUND {
                return None;
            }
        }
        Some((least, most))
    }
}

impl Step<'_> {
    /// The interval that a look-up keeps its result to.
    fn keeps(&self, g: &Graph, id: u32) -> Option<(i64, i64)> {
        if self.remainder == Some(id) {
            return Some((0, (1 << self.shift) - 1));
        }
        let table = &g.tables[self.table? as usize];
        if table.kind != TableKind::Piecewise {
            return None;
        }
        let mut first = 0;
        let ends = table.pieces.iter().flat_map(|p| {
            let rows = [first, p.end - 1];
            first = p.end;
            rows.map(|row| p.slope * (table.min + row) + p.offset)
        });
        ends.fold(None, |found: Option<(i64, i64)>, v| Some(found.map_or((v, v), |(a, b)| (a.min(v), b.max(v)))))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::poly::evaluate;
    use crate::values::elements;

    fn revealed(top: u32) -> Revealed {
        let reveal = Reveal { output: 0, top };
        Revealed { reveal, place: 0, of: 0, at: 1, range: (0, 0), proved: true, flat: 2, falls: (top > 1).then_some(3), row: 8 }
    }

    #[test]
    fn what_follows_from_indexes() {
        let two = revealed(2);
        let at = [4, 1, 0, 3];
        assert_eq!(two.entries(&at), [(1, at.to_vec()), (2, vec![4, 1, 8, 11]), (3, vec![1, 0])]);
        assert_eq!(revealed(0).entries(&[4, 0]), [(1, vec![4, 0]), (2, vec![4, 8])]);
        assert!(two.check(&at).is_ok() && two.check(&[4, 1, 3, 3]).is_err());
        assert!(revealed(0).check(&[3, 3]).is_ok());
    }

    #[test]
    fn marks_are_those_of_the_indexes() {
        let point: Vec<K> = (0..4).map(|i| K([7 + i, 3 * i, 5, 11 + i])).collect();
        let marks = Marks { at: 0, lift: 100 };
        // Rows of five entries: −1 before the last index, 100 at the other one.
        let dense = [-1, 99, -1, -1, 0, 100, 0, 0, 0, 0];
        assert_eq!(marks.value(&[2, 5], &[1, 4, 0, 0], &point), evaluate(&elements(&dense), &[2, 5], &point));
        let dense = [-1, -1, 0, 0, 0, -1, -1, -1, -1, 0];
        assert_eq!(marks.value(&[2, 5], &[2, 4], &point), evaluate(&elements(&dense), &[2, 5], &point));
    }
}
