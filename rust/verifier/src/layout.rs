//! Stacks, trees and the table of an opening (docs/proof-format.md, "Trees").

use crate::error::{Result, fail, require};
use crate::field::{Dot, K, ONE, P, ZERO, sum_of_products};
use crate::graph::{Graph, Kind};
use crate::hash::{Digest, Suite};
use crate::key::Commitment;
use crate::poly::{eq, eq_index, eq_table, expand, last, split};
use crate::proof::Header;
use crate::shape::{Block, BySize, Cuts, Placed, Run, aligned, parts, variables};
use crate::soundness::{LEAST_TAIL_LOG, LOG_BLOWUP, MOST_DOMAIN_BITS, MOST_FOLD_VARS, MOST_TAIL_LOG};
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::rc::Rc;
use alloc::vec;
use alloc::vec::Vec;

const MOST_ROWS: u64 = 1 << MOST_FOLD_VARS;
const MASKS: u64 = 8; // rows of the table
const PIECE: usize = 10; // log2 of the elements whose weights are found by one table

/// Some rows of a tree that are hashed together.
#[derive(Clone, Copy, Debug)]
pub struct Group {
    pub slot: u64, // of the first row
    pub rows: u64,
}

/// What a tree is of: of fixed tensors, one that the header names, which an earlier proof may have shown, or of the witness.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Of {
    Fixed,
    Named { imported: bool },
    Witness,
}

/// A committed tree, of rows of 2^`row_vars` values.
pub struct Tree {
    pub of: Of,
    pub row_vars: u32,
    pub groups: Vec<Group>,
    pub root: Digest,
    pub shift: u32,          // 2^shift slots make a row of the table
    pub first_row: u64,      // of the table
    pub tails: Vec<u64>,     // of a masked proof: their lengths, by group
    pub auxiliary: u64,      // rows of the auxiliary row, which are the last group and in no slot
    runs: Vec<Run>,          // of all blocks
    ends: Vec<(u64, usize)>, // unused ends of rows: the first value, counted over slots, and the variables of each block
}

impl Tree {
    fn new(of: Of, row_vars: u32, shift: u32, first_row: u64) -> Tree {
        let (groups, tails, runs, ends) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        Tree { of, row_vars, groups, root: [0; 8], shift, first_row, tails, auxiliary: 0, runs, ends }
    }

    pub fn depth(&self) -> usize {
        (self.row_vars + LOG_BLOWUP) as usize
    }

    /// The groups whose rows are in the table.
    pub fn table_groups(&self) -> &[Group] {
        &self.groups[..self.groups.len() - (self.auxiliary > 0) as usize]
    }

    /// The slots up to the last row.
    fn slots(&self) -> u64 {
        self.table_groups().last().map_or(0, |g| g.slot + g.rows)
    }

    /// The rows of all groups.
    fn rows(&self) -> u64 {
        self.groups.iter().map(|g| g.rows).sum()
    }

    /// Adds groups of rows from a slot on.
    fn put(&mut self, suite: Suite, slot: u64, rows: u64) -> Result<()> {
        require!(rows + self.rows() <= MOST_ROWS, "too many rows are committed");
        let most = suite.group_rows(self.of != Of::Witness);
        let mut first = 0;
        while first < rows {
            let count = most.min(rows - first);
            self.groups.push(Group { slot: slot + first, rows: count });
            first += count;
        }
        Ok(())
    }

    /// The first slot of a stack of so many values, which begins with a row of the table.
    fn add_stack(&mut self, suite: Suite, values: u64) -> Result<u64> {
        let rows = values.div_ceil(1 << self.row_vars);
        let slot = self.slots().next_multiple_of(1 << self.shift);
        self.put(suite, slot, rows)?;
        let start = slot << self.row_vars;
        if matches!(self.of, Of::Witness | Of::Named { imported: false }) {
            self.ends.extend(aligned(values, rows << self.row_vars).into_iter().map(|(at, bits)| (start + at, bits)));
        }
        Ok(slot)
    }

    /// Lays the tensors of a stack out, which begins with a row of the table: the places of each tensor's blocks.
    fn stack(&mut self, suite: Suite, tensors: &[Rc<[Block]>]) -> Result<Vec<Vec<Placed>>> {
        let mut order = BySize::new(tensors.iter().flat_map(|blocks| blocks.iter()).map(|b| b.bits));
        let start = self.add_stack(suite, order.end)? << self.row_vars;
        let before = self.runs.iter().map(|r| r.count).sum::<u64>() as usize;
        self.runs.extend(order.runs.iter().map(|r| Run { offset: start + r.offset, ..*r }));
        let mut put = |b: &Block| {
            let at = order.put(b.bits);
            Placed { offset: start + at.offset, place: before + at.place, ..at }
        };
        Ok(tensors.iter().map(|blocks| blocks.iter().map(&mut put).collect()).collect())
    }
}

/// Where a committed tensor is: its tree, its blocks, and their places, with their first values counted over the tree's slots.
#[derive(Clone, Default)]
pub struct Located {
    pub tree: usize,
    pub blocks: Rc<[Block]>,
    pub places: Vec<Placed>,
}

/// The table of an opening, which has the rows of all trees.
pub struct Table {
    pub trees: Vec<Tree>,
    pub located: Vec<Located>, // by tensor
    pub row_vars: u32,
    pub rows: u64,
}

impl Table {
    /// From the row lengths of the trees of fixed tensors and of the witness, as log2. In a masked proof there is a witness always.
    pub fn new(g: &Graph, suite: Suite, fixed_row_vars: &[u32], header: &Header, masked: bool, cuts: &mut Cuts) -> Result<Table> {
        let witness_row_vars = header.row_vars;
        let apart = g.segmented.as_ref().map_or(&g.hidden.committed, |s| &s.trees);
        let own = g.segmented.as_ref().map_or(apart.len(), |s| s.trees.len() - 1); // the tree that the proof shows the unused ends of
        let elsewhere: BTreeSet<u32> = apart.iter().flatten().copied().collect();
        let fixed = g.fixed_stacks();
        require!(fixed.len() == fixed_row_vars.len(), "{} stacks of fixed tensors", fixed.len());
        let mut witness = vec![Vec::new(); g.chunks];
        for (id, t) in g.tensors.iter().enumerate() {
            if t.kind == Kind::Witness && !elsewhere.contains(&(id as u32)) {
                witness[t.chunk].push(id as u32);
            }
        }
        witness.retain(|stack| !stack.is_empty());
        let there = masked || !witness.is_empty();
        let named = ["tensors of the base", "fixed tensors"].into_iter().skip(2 - fixed.len()).zip(fixed_row_vars.iter().copied());
        for (what, row_vars) in named.chain([("witness", witness_row_vars)]) {
            let fits = row_vars <= MOST_DOMAIN_BITS - LOG_BLOWUP && (what != "witness" || there || row_vars == 0);
            require!(fits, "{what}: rows of 2^{row_vars} values");
        }
        for t in &header.trees {
            let fits = 0 < t.row_vars && t.row_vars <= MOST_DOMAIN_BITS - LOG_BLOWUP;
            require!(fits && t.log_blowup == LOG_BLOWUP, "a tree of the header: rows of 2^{} values", t.row_vars);
        }
        let row_vars = fixed_row_vars.iter().copied().chain(header.trees.iter().map(|t| t.row_vars)).fold(witness_row_vars, u32::max);
        let mut table = Table { trees: Vec::new(), located: vec![Located::default(); g.tensors.len()], row_vars, rows: 0 };
        let fixed = fixed.into_iter().zip(fixed_row_vars).map(|(stack, &own)| (Of::Fixed, own, vec![stack]));
        let named = apart
            .iter()
            .zip(&header.trees)
            .enumerate()
            .map(|(i, (stack, t))| (Of::Named { imported: i != own }, t.row_vars, vec![stack.clone()]));
        for (of, own, stacks) in fixed.chain(named).chain(there.then_some((Of::Witness, witness_row_vars, witness))) {
            let mut tree = Tree::new(of, own, row_vars - own, table.rows);
            for tensors in &stacks {
                let blocks: Vec<_> = tensors.iter().map(|&id| cuts.of(g.shape(id))).collect();
                let places = tree.stack(suite, &blocks)?;
                for ((&id, blocks), places) in tensors.iter().zip(blocks).zip(places) {
                    table.located[id as usize] = Located { tree: table.trees.len(), blocks, places };
                }
            }
            if let Of::Named { .. } = of {
                let (rows, said) = (tree.rows(), header.trees[table.trees.len() - fixed_row_vars.len()].rows);
                require!(rows == said as u64, "a tree of the header has {said} rows, and should have {rows}");
            }
            table.rows += tree.slots().div_ceil(1 << tree.shift);
            table.trees.push(tree);
        }
        Ok(table)
    }

    /// Adds what a masked proof commits to besides: a stack of so many values of pads, masks and the auxiliary row; and sets
    /// the lengths of tails, for so many queries. Returns the first value of the pads, counted over slots.
    pub fn add_masks(&mut self, suite: Suite, pads: u64, queries: u32, tail_logs: &TailLogs) -> Result<u64> {
        let row_vars = self.row_vars;
        let Some(witness) = self.trees.last_mut() else { return fail!("no witness") };
        let slot = witness.add_stack(suite, pads)?;
        let stacked = witness.groups.len();
        let shift = witness.shift;
        let end = witness.first_row + witness.slots().div_ceil(1 << shift);
        let masks = (end.next_multiple_of(MASKS) - witness.first_row) << shift;
        witness.put(suite, masks, MASKS << shift)?;
        self.rows = witness.first_row + witness.slots().div_ceil(1 << shift);
        require!(
            1 << shift <= suite.group_rows(false),
            "rows of 2^{} values beside ones of 2^{row_vars}: too short to hide",
            witness.row_vars
        );
        witness.put(suite, 0, 1 << shift)?;
        witness.auxiliary = 1 << shift;
        let mut inputs = tail_logs.inputs.iter();
        for tree in &mut self.trees {
            let log = match tree.of {
                Of::Fixed => tail_logs.key,
                Of::Named { .. } => inputs.next().copied().unwrap_or(0),
                Of::Witness => tail_logs.proof,
            };
            if log == 0 {
                continue;
            }
            let longest = 1 << tree.row_vars.saturating_sub(log);
            let own = tree.row_vars;
            require!(queries as u64 <= longest, "rows of 2^{own} values are too short to hide them at {queries} positions");
            tree.tails = vec![longest; tree.groups.len()];
            if tree.of == Of::Witness {
                tree.tails[..stacked].fill(queries as u64);
            }
        }
        Ok(slot << self.trees.last().map_or(0, |t| t.row_vars))
    }

    /// The table of a link: the trees of two keys of one stack of fixed tensors, and one of masks and the auxiliary row. Also returns the
    /// blocks of the stack in its order, and the length of tails, as `TailLogs` has it.
    pub fn linked(g: &Graph, suite: Suite, keys: [&Commitment; 2]) -> Result<(Table, Vec<Placed>, u32)> {
        let row_vars = keys[0].row_vars.max(keys[1].row_vars);
        let tail_log = keys[0].tail_log.min(keys[1].tail_log);
        let stack = g.fixed_stacks().swap_remove(0);
        let mut table = Table { trees: Vec::new(), located: Vec::new(), row_vars, rows: 0 };
        let mut cuts = Cuts::default();
        let stack: Vec<_> = stack.iter().map(|&id| cuts.of(g.shape(id))).collect();
        let mut blocks = Vec::new();
        for key in keys {
            let own = key.row_vars;
            require!(own <= MOST_DOMAIN_BITS - LOG_BLOWUP, "fixed tensors: rows of 2^{own} values");
            let mut tree = Tree::new(Of::Fixed, own, row_vars - own, table.rows);
            tree.root = key.root;
            blocks = tree.stack(suite, &stack)?.concat();
            tree.tails = vec![1 << own.saturating_sub(key.tail_log); tree.groups.len()];
            table.rows += tree.slots().div_ceil(1 << tree.shift);
            table.trees.push(tree);
        }
        let mut masks = Tree::new(Of::Witness, row_vars, 0, table.rows.next_multiple_of(MASKS));
        masks.groups = vec![Group { slot: 0, rows: MASKS }, Group { slot: 0, rows: 1 }];
        masks.tails = vec![1 << row_vars.saturating_sub(tail_log); 2];
        masks.auxiliary = 1;
        table.rows = masks.first_row + MASKS;
        table.trees.push(masks);
        blocks.sort_unstable_by_key(|b| b.offset);
        Ok((table, blocks, tail_log))
    }

    /// Q of a link at a point of the table's variables: of each block its coefficient times the first tree's less the second's, at the last
    /// coordinates of tau.
    pub fn differences(&self, point: &[K], blocks: &[Placed], tau: &[K], zeta: K) -> K {
        let at = TablePoint::new(self, point);
        let places = at.places(self);
        let (mut sum, mut power) = (ZERO, ONE);
        for b in blocks {
            let own = last(tau, b.bits);
            let [first, second] = [0, 1].map(|i| places[i].block(b, own, places[i].inside(own)));
            sum += power * (first - second);
            power *= zeta;
        }
        sum
    }

    /// The blocks of the unused ends of the witness's rows: tree, first value, variables.
    pub fn ends(&self) -> impl Iterator<Item = (usize, u64, usize)> {
        let of_tree = |(i, t): (usize, &'_ Tree)| t.ends.iter().map(move |&(at, bits)| (i, at, bits)).collect::<Vec<_>>();
        self.trees.iter().enumerate().flat_map(of_tree)
    }
}

/// How long tails are in a masked proof: at most a 2^j-th of rows. The key's is 0 if its rows have none.
pub struct TailLogs {
    pub proof: u32,
    pub key: u32,
    /// Of the inputs that were committed to.
    pub inputs: Vec<u32>,
}

impl TailLogs {
    /// Those of a masked proof, of a key whose rows have tails or not.
    pub fn check(&self) -> Result<()> {
        require!((LEAST_TAIL_LOG..=MOST_TAIL_LOG).contains(&self.proof), "tails of a 2^{}-th of a row", self.proof);
        let fits = self.key == 0 || self.proof <= self.key;
        let (own, of_key) = (self.proof, self.key);
        require!(fits, "a proof with tails of a 2^{own}-th under a key with longer ones, of a 2^{of_key}-th");
        let fits = self.inputs.iter().all(|&log| own <= log);
        require!(fits, "a proof with tails of a 2^{own}-th of rows, of an input with longer ones");
        Ok(())
    }
}

/// What a claim is on: a committed tensor at a point, or, of multiplicities, the sum of rows in aligned blocks (first row,
/// bits).
pub struct Claim {
    pub tensor: u32,
    pub at: Where,
}

pub enum Where {
    /// Claims at one point of a fork have it in one place.
    Point(Rc<[K]>),
    Rows(Vec<(u64, usize)>),
}

/// The weights of a tree's values at a point of the table.
struct Places<'p> {
    bits: usize, // of a row of the table
    rows: &'p [K],
    first_row: u64,
    point: &'p [K],
    weights: Vec<K>, // of blocks that are not longer than a row, by place: of all but what is inside them
}

/// A point of a table: the weights of its rows, and the rest as each tree sees it.
struct TablePoint {
    rows: Vec<K>,
    trees: Vec<Vec<K>>,
}

impl TablePoint {
    fn new(table: &Table, point: &[K]) -> TablePoint {
        let (high, inner) = point.split_at(variables(table.rows));
        let own = |t: &Tree| last(inner, t.shift as usize).iter().rev().chain(&inner[..t.row_vars as usize]).copied().collect();
        TablePoint { rows: eq_table(high, table.rows), trees: table.trees.iter().map(own).collect() }
    }

    /// The weights of each tree's values.
    fn places<'p>(&'p self, table: &Table) -> Vec<Places<'p>> {
        let (bits, rows) = (table.row_vars as usize, &self.rows);
        let place = |(t, point): (&Tree, &'p Vec<K>)| {
            let run = |r: &Run| match bits.checked_sub(r.bits) {
                Some(high) => expand(rows, 0, &point[..high], (t.first_row << bits >> r.bits) + (r.offset >> r.bits), r.count),
                None => vec![ZERO; r.count as usize],
            };
            Places { bits, rows, first_row: t.first_row, point, weights: t.runs.iter().map(run).collect::<Vec<_>>().concat() }
        };
        table.trees.iter().zip(&self.trees).map(place).collect()
    }
}

impl Places<'_> {
    /// The weight of a block at a point inside it; `own` is what `inside` says of that point.
    fn block(&self, b: &Placed, point: &[K], own: K) -> K {
        if b.bits > self.bits { self.values(b.offset, point, own) } else { self.weights[b.place] * own }
    }

    /// The weight of 2^n values from this one of the slots on, at a point inside them; `own` is what `inside` says of that point.
    fn values(&self, start: u64, point: &[K], own: K) -> K {
        let row = (self.first_row + (start >> self.bits)) as usize;
        match self.bits.checked_sub(point.len()) {
            Some(high) => {
                let index = (start & ((1 << self.bits) - 1)) >> point.len();
                self.rows[row] * eq_index(&self.point[..high], index) * own
            }
            None => {
                let high = &point[..point.len() - self.bits];
                let weights = eq_table(high, 1 << high.len());
                sum_of_products(weights.iter().zip(&self.rows[row..])) * own
            }
        }
    }

    /// Σ of the weights of elements of K: on the four values of each its coefficient times 1, i, u, iu.
    fn elements(&self, start: u64, coefficients: &[K]) -> K {
        let bits = self.bits - 2; // of the number of an element in a row of the table
        let (above, inside) = self.point.split_at(bits);
        let units = [0, 1, 2, 3].map(|k| core::array::from_fn(|i| (i == k) as u32)).map(K);
        let unit = sum_of_products(units.iter().zip(&eq_table(inside, 4)));
        let low = bits.min(PIECE);
        let table = eq_table(&above[bits - low..], 1 << low);
        let (mut sum, mut rest, mut at) = (ZERO, coefficients, start / 4);
        while !rest.is_empty() {
            let from = at as usize & (table.len() - 1);
            let (own, after) = rest.split_at(rest.len().min(table.len() - from));
            let inner = sum_of_products(own.iter().zip(&table[from..]));
            let piece = at >> low;
            let row = self.rows[(self.first_row + (piece >> (bits - low))) as usize];
            sum += row * eq_index(&above[..bits - low], piece & ((1 << (bits - low)) - 1)) * inner;
            (rest, at) = (after, at + own.len() as u64);
        }
        unit * sum
    }

    /// The part of a block's weight that does not depend on its place.
    fn inside(&self, point: &[K]) -> K {
        let n = point.len().min(self.bits);
        eq(last(self.point, n), last(point, n))
    }
}

/// Of each block of an index space, in their order, what its weight has beside that of its place: eq of a point, given by axis, at the
/// block's beginning, and eq of the point inside and the last coordinates of another one, as far as that goes.
pub fn insides(axes: &[&[K]], shape: &[u64], other: &[K]) -> Vec<K> {
    // From the last axis on: the variables of blocks of the axes so far, and their weights.
    let mut list = vec![(0, ONE)];
    for (axis, &dimension) in axes.iter().zip(shape).rev() {
        let mut next = Vec::with_capacity(dimension.count_ones() as usize * list.len());
        for part in parts(dimension) {
            let (high, own) = axis.split_at(axis.len() - part.bits);
            let start = eq_index(high, part.start >> part.bits);
            // Behind blocks of as many variables the part has the same coordinates of the other point.
            let mut known: Vec<(usize, K)> = Vec::new();
            for &(behind, weight) in &list {
                let found = known.iter().find(|(n, _)| *n == behind).map(|&(_, factor)| factor);
                let factor = found.unwrap_or_else(|| {
                    let end = other.len().saturating_sub(behind);
                    let n = own.len().min(end);
                    let factor = start * eq(last(own, n), &other[end - n..end]);
                    known.push((behind, factor));
                    factor
                });
                next.push((behind + part.bits, weight * factor));
            }
        }
        list = next;
    }
    list.into_iter().map(|(_, weight)| weight).collect()
}

/// The coordinates inside a block of a point that is given by axis.
fn inner(block: &Block, axes: &[&[K]]) -> Vec<K> {
    block.parts.iter().zip(axes).flat_map(|(part, axis)| last(axis, part.bits)).copied().collect()
}

/// What claims have in common whose blocks differ in their places alone: where the point is in memory, the tree, and the shape of the
/// tensor.
type Like<'l> = (*const K, usize, &'l [u64]);

/// Q of what all claims and unused ends together say of the table: Σ Table(x)·Q(x) = value.
pub struct Combined<'c> {
    g: &'c Graph<'c>,
    table: &'c Table,
    claims: &'c [Claim],
    zeta: K,
    tau: Vec<K>,         // of the unused ends
    pads: (u64, Vec<K>), // of a masked proof: the first value, and the coefficients of the elements
}

impl<'c> Combined<'c> {
    pub fn new(g: &'c Graph<'c>, table: &'c Table, claims: &'c [Claim], zeta: K, tau: Vec<K>) -> Combined<'c> {
        Combined { g, table, claims, zeta, tau, pads: (0, Vec::new()) }
    }

    /// Adds the coefficients of elements of K, each in four values from this one of the witness's slots on.
    pub fn add_pads(&mut self, first: u64, coefficients: Vec<K>) {
        self.pads = (first, coefficients);
    }

    /// Q's extension at a point of the table's variables.
    pub fn weight(&self, point: &[K]) -> K {
        let table = self.table;
        let at = TablePoint::new(table, point);
        let places = at.places(table);
        let (mut sum, mut power) = (ZERO, ONE);
        // Tensors of one shape at one point have the same blocks but for their places.
        let mut alike: BTreeMap<Like, Vec<K>> = BTreeMap::new();
        for c in self.claims {
            let located = &table.located[c.tensor as usize];
            let place = &places[located.tree];
            let own: K = match &c.at {
                Where::Rows(rows) => {
                    let first = located.places[0].offset;
                    // A sum of entries is 2^n times the value at 1/2, and eq of that and any coordinate is 1/2.
                    let half = K::base(P.div_ceil(2));
                    let block = |&(row, bits): &(u64, usize)| {
                        place.values(first + row, &vec![half; bits], ONE).times(1 << bits.saturating_sub(place.bits))
                    };
                    rows.iter().map(block).sum()
                }
                Where::Point(point) => {
                    let shape = self.g.shape(c.tensor);
                    let axes = || split(point, shape);
                    let inside = alike.entry((point.as_ptr(), located.tree, shape)).or_insert_with(|| insides(&axes(), shape, place.point));
                    let (mut short, mut long) = (Dot::default(), ZERO);
                    for ((b, &own), block) in located.places.iter().zip(inside.iter()).zip(located.blocks.iter()) {
                        if b.bits > place.bits {
                            long += place.values(b.offset, &inner(block, &axes()), own);
                        } else {
                            short.add_product(place.weights[b.place], own);
                        }
                    }
                    short.total() + long
                }
            };
            sum += power * own;
            power *= self.zeta;
        }
        for (tree, at, bits) in table.ends() {
            let point = last(&self.tau, bits);
            sum += power * places[tree].values(at, point, places[tree].inside(point));
            power *= self.zeta;
        }
        if let (Some(place), false) = (places.last(), self.pads.1.is_empty()) {
            sum += place.elements(self.pads.0, &self.pads.1);
        }
        sum
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::poly::tests::some_point;
    use crate::shape::shape_variables;

    /// What blocks of a shape share is what each of them has by itself.
    #[test]
    fn insides_are_those_of_each_block() {
        for shape in [vec![], vec![1], vec![7], vec![6, 1, 3], vec![5, 2, 7], vec![16, 11]] {
            let point = some_point(shape_variables(&shape) + 9);
            let (at, other) = point.split_at(shape_variables(&shape));
            let axes = split(at, &shape);
            let blocks = Cuts::default().of(&shape);
            for short in [9, 3, 1, 0] {
                let other = last(other, short);
                let each = blocks.iter().map(|b| {
                    let high = b.parts.iter().zip(&axes).map(|(p, axis)| eq_index(&axis[..axis.len() - p.bits], p.start >> p.bits));
                    let (own, n) = (inner(b, &axes), b.bits.min(short));
                    high.fold(eq(last(&own, n), last(other, n)), |value, x| value * x)
                });
                assert_eq!(insides(&axes, &shape, other), each.collect::<Vec<_>>(), "{shape:?} {short}");
            }
        }
    }
}
