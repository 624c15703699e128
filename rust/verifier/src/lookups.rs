//! Look-ups: the fractional sum of a chunk and its leaves (docs/proof-format.md, "The order of messages";
//! docs/protocol.md, "Look-ups").

use crate::error::{Result, require};
use crate::field::{self, K, ONE, ZERO, horner};
use crate::graph::{Graph, Multiplicity, Step, StepKind, Table};
use crate::layout::inside;
use crate::poly::{Prefixes, eq, index_value, last, split, weighted_prefix};
use crate::shape::{Block, BySize, Part, aligned, cut, shape_variables, variables};
use crate::sites::{Fork, Point};
use alloc::vec;
use alloc::vec::Vec;

const MOST_FRACTIONS: u64 = 1 << 30;

/// The fractions of a chunk's look-ups: blocks by decreasing size.
pub struct Tree<'g> {
    steps: Vec<(&'g Step<'g>, Vec<Block>)>,
    tables: Vec<(Multiplicity, Block)>,
    pub fractions: u64,
    depth: usize,
}

impl<'g> Tree<'g> {
    pub fn new(g: &'g Graph<'g>, chunk: usize) -> Result<Tree<'g>> {
        let lookups = g.steps.iter().filter(|s| s.chunk == chunk && s.kind == StepKind::Lookup);
        let mut steps: Vec<_> = lookups.map(|s| (s, cut(&s.shape.now))).collect();
        let own = g.multiplicities.iter().filter(|m| m.chunk == chunk);
        let of_table = |m: &Multiplicity| {
            let bits = g.tables[m.table as usize].bits as usize;
            (*m, Block { parts: vec![Part { start: 0, bits }], bits, offset: 0 })
        };
        let mut tables: Vec<_> = own.map(of_table).collect();
        let sizes = steps.iter().flat_map(|(_, blocks)| blocks.iter()).chain(tables.iter().map(|(_, b)| b)).map(|b| b.bits);
        let (mut order, fractions) = BySize::new(sizes);
        require!(fractions <= MOST_FRACTIONS, "chunk {chunk} has {fractions} look-ups and table rows, more than {MOST_FRACTIONS}");
        for b in steps.iter_mut().flat_map(|(_, blocks)| blocks.iter_mut()).chain(tables.iter_mut().map(|(_, b)| b)) {
            b.offset = order.next(b.bits);
        }
        let depth = if fractions > 0 { variables(fractions) } else { 0 };
        Ok(Tree { steps, tables, fractions, depth })
    }
}

fn between(a: K, b: K, r: K) -> K {
    a + r * (b - a)
}

/// GKR for a tree of 2^depth fractions that add up to 0: the point of the leaves, and their numerators' and denominators'
/// values there.
fn fractional_sum(fork: &mut Fork, depth: usize) -> Result<(Vec<K>, K, K)> {
    let stream = &mut fork.stream;
    let adds_up = |stream: &[K; 4]| {
        let [n0, n1, d0, d1] = *stream;
        require!(n0 * d1 + n1 * d0 == ZERO, "logup: the fractions do not add up to zero");
        require!(d0 * d1 != ZERO, "logup: a denominator is zero");
        Ok(())
    };
    if depth == 0 {
        let [n, d] = stream.elements()?;
        adds_up(&[n, ZERO, d, ONE])?;
        return Ok((Vec::new(), n, d));
    }
    let [n0, n1, d0, d1] = stream.elements()?;
    adds_up(&[n0, n1, d0, d1])?;
    let mu = stream.transcript.challenge();
    let mut point = vec![mu];
    let (mut n, mut d) = (between(n0, n1, mu), between(d0, d1, mu));
    for _ in 2..=depth {
        let lambda = stream.transcript.challenge();
        let mut claim = n + lambda * d;
        let mut reached = Vec::with_capacity(depth);
        reached.push(ZERO);
        for &r in &point {
            let [q1, q2] = stream.elements()?;
            let q0 = claim - r * (q1 + q2);
            let x = stream.transcript.challenge();
            claim = horner(&[q0, q1, q2], x);
            reached.push(x);
        }
        let [n0, n1, d0, d1] = stream.elements()?;
        let same = n0 * d1 + n1 * d0 + lambda * (d0 * d1) == claim;
        require!(same, "logup: a layer does not follow from the one below");
        let mu = stream.transcript.challenge();
        reached[0] = mu;
        point = reached;
        (n, d) = (between(n0, n1, mu), between(d0, d1, mu));
    }
    Ok((point, n, d))
}

/// What the tree's end says about columns.
struct Leaves<'p> {
    alpha: K,
    beta: K,
    beta2: K,
    point: &'p [K],
    prefixes: Prefixes<'p>,
    ids: &'p Point,
}

/// All look-ups of a chunk, after so much work.
pub fn check<'g>(fork: &mut Fork<'g, '_>, tree: &Tree<'g>, grind: u32) -> Result<()> {
    let depth = tree.depth;
    fork.shared.cost.rounds(depth * (depth + 1) / 2 + 1)?;
    fork.stream.check_work(grind)?;
    fork.shared.rounds.lookups(format_args!("{}: look-ups", fork.name), tree.fractions, grind)?;
    let alpha = fork.stream.transcript.challenge();
    let beta = fork.stream.transcript.challenge();
    fork.shared.rounds.fractional_sum(format_args!("{}: fractional sum", fork.name), depth as u64)?;
    let (point, num, den) = fractional_sum(fork, depth)?;
    let ids = fork.point(&point);
    let uses = tree.steps.iter().map(|(_, blocks)| blocks.len()).sum::<usize>() + tree.tables.len();
    let leaves = Leaves { alpha, beta, beta2: beta * beta, point: &point, prefixes: Prefixes::new(&point, uses), ids: &ids };
    leaves.check(fork, tree, num, den)
}

impl Leaves<'_> {
    fn check<'g>(&self, fork: &mut Fork<'g, '_>, tree: &Tree<'g>, num: K, den: K) -> Result<()> {
        // Fractions beyond the last block are 0/1.
        let (mut ones, mut counts, mut heads, mut columns, mut places) = (ZERO, ZERO, ZERO, ZERO, ZERO);
        for (step, blocks) in &tree.steps {
            fork.shared.cost.blocks(blocks.len())?;
            let own: K = blocks.iter().map(|b| self.place(b)).sum();
            ones += own;
            places += own;
            heads += own * self.head(step.table.unwrap_or(0));
            if let [block] = &blocks[..] {
                columns += own * self.step(fork, step, last(self.ids, block.bits))?;
            }
        }
        for (m, block) in &tree.tables {
            let own = self.place(block);
            let (count, column) = self.table(fork, m, block)?;
            places += own;
            heads += own * self.head(m.table);
            counts += own * count;
            columns += own * column;
        }
        require!(ones - counts == num, "look-ups: numerators do not match the multiplicities");
        let left = heads + (ONE - places) - columns - den;
        let cut: Vec<_> = tree.steps.iter().filter(|(_, blocks)| blocks.len() > 1).collect();
        if cut.is_empty() {
            require!(left == ZERO, "look-ups: denominators do not match the columns");
            return Ok(());
        }
        // The sum over the steps in several blocks: its claim is Σ E·(key + β·out).
        let most = cut.iter().map(|(s, _)| shape_variables(&s.shape.now)).max().unwrap_or(0);
        fork.shared.cost.rounds(most)?;
        let (mut claim, mut reached) = (left, Vec::with_capacity(most));
        fork.shared.rounds.point(format_args!("{}: steps in blocks", fork.name), 2)?;
        for _ in 0..most {
            let [q0, q2] = fork.stream.elements()?;
            let q1 = claim - (q0 + q0 + q2);
            let r = fork.stream.transcript.challenge();
            reached.push(r);
            claim = horner(&[q0, q1, q2], r);
        }
        let ids = fork.point(&reached);
        let (mut total, mut low) = (ZERO, Vec::new());
        for (step, blocks) in cut {
            let shape = &step.shape.now;
            let count = shape_variables(shape);
            let mut column = self.step(fork, step, last(&ids, count))?;
            for &r in &reached[..most - count] {
                column *= ONE - r;
            }
            let axes = split(last(&reached, count), shape);
            let mut entries = |b: &Block| {
                let weight = self.place(b) * inside(b, &axes, &mut low);
                weight * eq(&low, last(self.point, b.bits))
            };
            total += column * blocks.iter().map(&mut entries).sum::<K>();
        }
        require!(total == claim, "look-ups: denominators do not match the columns of steps in several blocks");
        Ok(())
    }

    /// The weight of a block of the tree.
    fn place(&self, block: &Block) -> K {
        self.prefixes.eq(self.point.len() - block.bits, block.offset >> block.bits)
    }

    /// α − β²·tag
    fn head(&self, table: u32) -> K {
        self.alpha - self.beta2.times(table + 1)
    }

    /// key + β·out at a point.
    fn step<'g>(&self, fork: &mut Fork<'g, '_>, s: &'g Step<'g>, point: &[u32]) -> Result<K> {
        let mut key = fork.accumulator(&s.accumulator, &s.shape.now, point)?;
        if let Some(low) = s.remainder {
            key -= fork.evaluate(low, point)?;
        }
        // 2^31 is 1, so that this divides by 2^shift.
        key = key.times(field::reduce(1 << (31 - s.shift)));
        match s.out {
            Some(out) => Ok(key + self.beta * fork.evaluate(out, point)?),
            None => Ok(key),
        }
    }

    /// The count and key + β·value of a table at a point.
    fn table(&self, fork: &mut Fork, m: &Multiplicity, block: &Block) -> Result<(K, K)> {
        let t = &fork.shared.graph.tables[m.table as usize];
        fork.shared.cost.table(t.pieces.len(), t.bits - t.drop)?;
        let (ids, point) = (last(self.ids, block.bits), last(self.point, block.bits));
        let count = fork.evaluate(m.tensor, ids)?;
        let value = match t.values {
            Some(values) => fork.evaluate(values, ids)?,
            None => value(t, point),
        };
        if !t.saturated.is_empty() {
            let rows = t.saturated.iter().flat_map(|&(first, end)| aligned(first as u64, end as u64)).collect();
            fork.count(m.tensor, rows)?;
        }
        let key = K::base(field::lift(t.min)) + index_value(point);
        Ok((count, key + self.beta * value))
    }
}

/// The value column of a range or piecewise-linear table. It does not depend on the bits that a table drops.
fn value(t: &Table, point: &[K]) -> K {
    let point = &point[..point.len() - t.drop as usize];
    let (mut value, mut start) = (ZERO, (ZERO, ZERO));
    for p in &t.pieces {
        let end = weighted_prefix(point, p.end as u64);
        let (ones, indexes) = (end.0 - start.0, end.1 - start.1);
        value += (indexes + ones.scale(t.min)).scale(p.slope) + ones.scale(p.offset);
        start = end;
    }
    value
}
