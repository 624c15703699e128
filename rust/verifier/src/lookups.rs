//! Look-ups: the fractional sum of a chunk and its leaves (docs/proof-format.md, "The order of messages";
//! docs/protocol.md, "Look-ups").

use crate::error::{Result, require};
use crate::field::{self, K, ONE, ZERO};
use crate::forms::Tape;
use crate::graph::{Graph, Multiplicity, Step, StepKind, Table};
use crate::layout::insides;
use crate::poly::{index_value, last, outside, split, weighted_prefix};
use crate::reduce::{Fork, Point};
use crate::shape::{BySize, Cuts, Placed, Run, aligned, shape_variables, variables};
use alloc::collections::BTreeMap;
use alloc::vec;
use alloc::vec::Vec;

const MOST_FRACTIONS: u64 = 1 << 30;

/// The fractions of a chunk's look-ups: blocks by decreasing size.
pub struct Tree<'g> {
    steps: Vec<(&'g Step<'g>, Vec<Placed>)>,
    tables: Vec<(Multiplicity, Placed)>,
    runs: Vec<Run>,
    pub fractions: u64,
    depth: usize,
}

impl<'g> Tree<'g> {
    pub fn new(g: &'g Graph<'g>, chunk: usize, cuts: &mut Cuts) -> Result<Tree<'g>> {
        let lookups = g.steps.iter().filter(|s| s.chunk == chunk && s.kind == StepKind::Lookup);
        let steps: Vec<_> = lookups.map(|s| (s, cuts.of(&s.shape.now))).collect();
        let bits = |m: &Multiplicity| g.tables[m.table as usize].bits as usize;
        let tables: Vec<_> = g.multiplicities.iter().filter(|m| m.chunk == chunk).collect();
        let sizes = steps.iter().flat_map(|(_, blocks)| blocks.iter().map(|b| b.bits));
        let mut order = BySize::new(sizes.chain(tables.iter().map(|m| bits(m))));
        let fractions = order.end;
        require!(fractions <= MOST_FRACTIONS, "chunk {chunk} has {fractions} look-ups and table rows, more than {MOST_FRACTIONS}");
        let steps = steps.into_iter().map(|(s, blocks)| (s, blocks.iter().map(|b| order.put(b.bits)).collect())).collect();
        let tables = tables.into_iter().map(|m| (*m, order.put(bits(m)))).collect();
        let depth = if fractions > 0 { variables(fractions) } else { 0 };
        Ok(Tree { steps, tables, runs: order.runs, fractions, depth })
    }
}

/// Numerators and denominators of the two halves of a layer.
#[derive(Clone, Copy)]
struct Halves<V> {
    n: [V; 2],
    d: [V; 2],
}

impl<V: Copy> Halves<V> {
    fn read<T: Tape<Value = V>>(fork: &mut Fork<T>) -> Result<Halves<V>> {
        let [n0, n1, d0, d1] = fork.elements()?;
        Ok(Halves { n: [n0, n1], d: [d0, d1] })
    }

    /// The numerator and the denominator of their sum.
    fn sum<T: Tape<Value = V>>(&self, tape: &mut T) -> (V, V) {
        let crossed = [tape.product(self.n[0], self.d[1]), tape.product(self.n[1], self.d[0])];
        (tape.add(crossed[0], crossed[1]), tape.product(self.d[0], self.d[1]))
    }

    fn at<T: Tape<Value = V>>(&self, tape: &mut T, r: K) -> (V, V) {
        let mut between = |[a, b]: [V; 2]| {
            let rise = tape.sub(b, a);
            let rise = tape.times(rise, r);
            tape.add(a, rise)
        };
        (between(self.n), between(self.d))
    }
}

/// A denominator is not zero: its inverse is sent if it is not known.
fn not_zero<T: Tape>(fork: &mut Fork<T>, d: T::Value) -> Result<()> {
    if T::MASKED {
        let inverse = fork.element()?;
        let one = fork.tape.product(d, inverse);
        fork.tape.equal(one, T::known(ONE));
        return Ok(());
    }
    require!(!fork.tape.equal(d, T::known(ZERO)), "logup: a denominator is zero");
    Ok(())
}

/// GKR for a tree of 2^depth fractions that add up to 0: the point of the leaves, and their numerators' and denominators'
/// values there.
fn fractional_sum<T: Tape>(fork: &mut Fork<T>, depth: usize) -> Result<(Vec<K>, T::Value, T::Value)> {
    const ADDS_UP: &str = "logup: the fractions do not add up to zero";
    if depth == 0 {
        let [n, d] = fork.elements()?;
        require!(fork.tape.equal(n, T::known(ZERO)), "{ADDS_UP}");
        not_zero(fork, d)?;
        return Ok((Vec::new(), n, d));
    }
    let halves = Halves::read(fork)?;
    let (numerator, mut denominator) = halves.sum(&mut fork.tape);
    require!(fork.tape.equal(numerator, T::known(ZERO)), "{ADDS_UP}");
    if T::MASKED {
        let sent = fork.element()?;
        fork.tape.equal(sent, denominator);
        denominator = sent;
    }
    not_zero(fork, denominator)?;
    let mu = fork.stream.transcript.challenge();
    let mut point = vec![mu];
    let (mut n, mut d) = halves.at(&mut fork.tape, mu);
    for _ in 2..=depth {
        let lambda = fork.stream.transcript.challenge();
        let weighted = fork.tape.times(d, lambda);
        let mut claim = fork.tape.add(n, weighted);
        let mut reached = Vec::with_capacity(depth);
        reached.push(ZERO);
        for &r in &point {
            let [q1, q2] = fork.elements()?;
            let both = fork.tape.add(q1, q2);
            let rest = fork.tape.times(both, r);
            let q0 = fork.tape.sub(claim, rest);
            let x = fork.stream.transcript.challenge();
            claim = fork.tape.horner(&[q0, q1, q2], x);
            reached.push(x);
        }
        let halves = Halves::read(fork)?;
        let (crossed, denominator) = halves.sum(&mut fork.tape);
        let weighted = fork.tape.times(denominator, lambda);
        let sum = fork.tape.add(crossed, weighted);
        require!(fork.tape.equal(sum, claim), "logup: a layer does not follow from the one below");
        let mu = fork.stream.transcript.challenge();
        reached[0] = mu;
        point = reached;
        (n, d) = halves.at(&mut fork.tape, mu);
    }
    Ok((point, n, d))
}

/// What the tree's end says about columns.
struct Leaves<'p> {
    alpha: K,
    beta: K,
    beta2: K,
    point: &'p [K],
    weights: Vec<K>, // of the tree's blocks, by place
    ids: &'p Point,
}

/// All look-ups of a chunk, after so much work.
pub fn check<'g, T: Tape>(fork: &mut Fork<'g, '_, T>, tree: &Tree<'g>, grind: u32) -> Result<()> {
    let depth = tree.depth;
    fork.shared.cost.rounds(depth * (depth + 1) / 2 + 1)?;
    fork.stream.check_work(grind)?;
    fork.shared.rounds.lookups(format_args!("{}: look-ups", fork.name), tree.fractions, grind)?;
    let alpha = fork.stream.transcript.challenge();
    let beta = fork.stream.transcript.challenge();
    fork.shared.rounds.fractional_sum(format_args!("{}: fractional sum", fork.name), depth as u64)?;
    let (point, num, den) = fractional_sum(fork, depth)?;
    let ids = fork.point(&point);
    let leaves = Leaves { alpha, beta, beta2: beta * beta, point: &point, weights: outside(&point, &tree.runs), ids: &ids };
    leaves.check(fork, tree, num, den)
}

impl Leaves<'_> {
    fn check<'g, T: Tape>(&self, fork: &mut Fork<'g, '_, T>, tree: &Tree<'g>, num: T::Value, den: T::Value) -> Result<()> {
        // Fractions beyond the last block are 0/1.
        let (mut ones, mut heads, mut places) = (ZERO, ZERO, ZERO);
        let (mut counts, mut columns) = (T::known(ZERO), T::known(ZERO));
        for (step, blocks) in &tree.steps {
            fork.shared.cost.blocks(blocks.len())?;
            let own: K = blocks.iter().map(|b| self.weights[b.place]).sum();
            ones += own;
            places += own;
            heads += own * self.head(step.table.unwrap_or(0));
            if let [block] = &blocks[..] {
                let column = self.step(fork, step, last(self.ids, block.bits))?;
                let column = fork.tape.times(column, own);
                columns = fork.tape.add(columns, column);
            }
        }
        for (m, block) in &tree.tables {
            let own = self.weights[block.place];
            let (count, column) = self.table(fork, m, block)?;
            places += own;
            heads += own * self.head(m.table);
            let (count, column) = (fork.tape.times(count, own), fork.tape.times(column, own));
            counts = fork.tape.add(counts, count);
            columns = fork.tape.add(columns, column);
        }
        let numerators = fork.tape.sub(T::known(ones), counts);
        require!(fork.tape.equal(num, numerators), "look-ups: numerators do not match the multiplicities");
        let denominators = fork.tape.sub(T::known(heads + (ONE - places)), columns);
        let cut: Vec<_> = tree.steps.iter().filter(|(_, blocks)| blocks.len() > 1).collect();
        if cut.is_empty() {
            require!(fork.tape.equal(den, denominators), "look-ups: denominators do not match the columns");
            return Ok(());
        }
        // The sum over the steps in several blocks: its claim is Σ E·(key + β·out).
        let most = cut.iter().map(|(s, _)| shape_variables(&s.shape.now)).max().unwrap_or(0);
        fork.shared.cost.rounds(most)?;
        let (mut claim, mut reached) = (fork.tape.sub(denominators, den), Vec::with_capacity(most));
        fork.shared.rounds.point(format_args!("{}: steps in blocks", fork.name), 2)?;
        for _ in 0..most {
            let [q0, q2] = fork.elements()?;
            let rest = [q0, q2].into_iter().fold(q0, |sum, q| fork.tape.add(sum, q));
            let q1 = fork.tape.sub(claim, rest);
            let r = fork.stream.transcript.challenge();
            reached.push(r);
            claim = fork.tape.horner(&[q0, q1, q2], r);
        }
        let ids = fork.point(&reached);
        let mut total = T::known(ZERO);
        // What steps of one shape have in common: of every block the weight beside that of its place.
        let mut alike: BTreeMap<&[u64], Vec<K>> = BTreeMap::new();
        for (step, blocks) in cut {
            let shape = &step.shape.now;
            let count = shape_variables(shape);
            let column = self.step(fork, step, last(&ids, count))?;
            let late = reached[..most - count].iter().fold(ONE, |value, &r| value * (ONE - r));
            let own = alike.entry(shape).or_insert_with(|| insides(&split(last(&reached, count), shape), shape, self.point));
            let weight: K = blocks.iter().zip(own.iter()).map(|(b, &own)| self.weights[b.place] * own).sum();
            let term = fork.tape.times(column, late * weight);
            total = fork.tape.add(total, term);
        }
        let same = fork.tape.equal(total, claim);
        require!(same, "look-ups: denominators do not match the columns of steps in several blocks");
        Ok(())
    }

    /// α − β²·tag
    fn head(&self, table: u32) -> K {
        self.alpha - self.beta2.times(table + 1)
    }

    /// key + β·out at a point.
    fn step<'g, T: Tape>(&self, fork: &mut Fork<'g, '_, T>, s: &'g Step<'g>, point: &[u32]) -> Result<T::Value> {
        let mut key = fork.accumulator(&s.accumulator, &s.shape.now, point)?;
        if let Some(low) = s.remainder {
            let low = fork.evaluate(low, point)?;
            key = fork.tape.sub(key, low);
        }
        if s.shift > 0 {
            // 2^31 is 1, so that this divides by 2^shift.
            key = fork.tape.scale(key, 1 << (31 - s.shift));
        }
        let Some(out) = s.out else { return Ok(key) };
        let out = fork.evaluate(out, point)?;
        let out = fork.tape.times(out, self.beta);
        Ok(fork.tape.add(key, out))
    }

    /// The count and key + β·value of a table at a point.
    fn table<T: Tape>(&self, fork: &mut Fork<T>, m: &Multiplicity, block: &Placed) -> Result<(T::Value, T::Value)> {
        let t = &fork.shared.graph.tables[m.table as usize];
        fork.shared.cost.table(t.pieces.len(), t.bits - t.drop)?;
        let (ids, point) = (last(self.ids, block.bits), last(self.point, block.bits));
        let count = fork.evaluate(m.tensor, ids)?;
        let value = match t.values {
            Some(values) => fork.evaluate(values, ids)?,
            None => T::known(value(t, point)),
        };
        if !t.saturated.is_empty() {
            let rows = t.saturated.iter().flat_map(|&(first, end)| aligned(first as u64, end as u64)).collect();
            fork.count(m.tensor, rows)?;
        }
        let key = K::base(field::lift(t.min)) + index_value(point);
        let value = fork.tape.times(value, self.beta);
        Ok((count, fork.tape.add(T::known(key), value)))
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
