//! The opening of all trees (docs/proof-format.md, "Opening").

use crate::circle::{Domain, code_value, double, functional};
use crate::error::{Result, require};
use crate::field::{Dot, K, ONE, ZERO, dot, horner};
use crate::hash::{Digest, Suite};
use crate::layout::{Table, Tree};
use crate::merkle;
use crate::poly::{eq_table, evaluate_elements, fold_leaf, last};
use crate::soundness::{LOG_BLOWUP, Level, Security};
use crate::stream::Stream;
use alloc::vec;
use alloc::vec::Vec;

/// coefficient times the evaluation of a row's code at z, of a row that is left when so many challenges are drawn.
struct Constraint {
    coefficient: K,
    z: K,
    bound: usize,
}

struct Opening<'o> {
    stream: &'o mut Stream,
    suite: Suite,
    table: &'o Table,
    tail_log: u32, // of a masked proof, else 0
    rounds: usize, // of level 0
    level: usize,
    point: Vec<K>,
    constraints: Vec<Constraint>,
}

/// What is claimed of a table: Σ Table(x)·Q(x) = value.
pub struct Claimed<'c> {
    pub value: K,
    /// Q's extension at a point.
    pub weight: &'c dyn Fn(&[K]) -> K,
}

/// Checks what is claimed.
pub fn check(stream: &mut Stream, security: &Security, levels: &[Level], tail_log: u32, table: &Table, claims: &Claimed) -> Result<()> {
    let rounds = levels.first().map_or(0, |l| l.fold_vars as usize);
    let (point, constraints) = (Vec::new(), Vec::new());
    let mut opening = Opening { stream, suite: security.hash, table, tail_log, rounds, level: 0, point, constraints };
    opening.announce(security, levels, claims.value);
    let mut claim = claims.value;
    let mut root = None; // of the level's tree; level 0 has the first trees
    for (i, level) in levels.iter().enumerate() {
        opening.level = i;
        claim = opening.fold(level, claim)?;
        if i == 0 && tail_log > 0 {
            claim = opening.round(claim, level.fold_grind)?; // which binds the auxiliary row
        }
        let Some(next) = levels.get(i + 1) else {
            let row = opening.stream.many(1 << level.row_vars)?;
            let positions = opening.positions(level)?;
            opening.check_row(level, root.as_ref(), &row, &positions)?;
            return opening.finish(level, &row, claim, claims);
        };
        let next_root = opening.stream.digest()?;
        let samples = opening.stream.transcript.challenges(next.out_of_domain as usize);
        let answers = opening.stream.many(samples.len())?;
        let positions = opening.positions(level)?;
        let values = opening.columns(level, root.as_ref(), &positions)?;
        claim = opening.constrain(level, claim, samples.into_iter().zip(answers), &positions, &values);
        root = Some(next_root);
    }
    Ok(())
}

impl Opening<'_> {
    fn announce(&mut self, security: &Security, levels: &[Level], value: K) {
        let t = &mut self.stream.transcript;
        let variables = levels.first().map_or(0, |l| l.fold_vars + l.row_vars);
        t.absorb_bytes(b"whir");
        for n in [security.target_bits, security.grind_bits, LOG_BLOWUP, security.johnson as u32, self.table.row_vars, variables] {
            t.absorb_integer(n as u64);
        }
        t.absorb_integer(self.table.trees.len() as u64);
        for tree in &self.table.trees {
            t.absorb_digest(&tree.root);
            for n in [tree.row_vars as u64, tree.first_row, tree.groups.len() as u64] {
                t.absorb_integer(n);
            }
            for group in &tree.groups {
                t.absorb_integer(group.slot);
                t.absorb_integer(group.rows);
            }
        }
        if self.tail_log > 0 {
            t.absorb_integer(self.tail_log as u64);
            for tree in &self.table.trees {
                (0..tree.groups.len()).for_each(|i| t.absorb_integer(tree.tails.get(i).copied().unwrap_or(0)));
                t.absorb_integer((tree.auxiliary > 0) as u64);
            }
        }
        t.absorb(&value.0);
    }

    /// A round of the sumcheck: the claim at its challenge.
    fn round(&mut self, claim: K, grind: u32) -> Result<K> {
        let [q0, q2] = self.stream.elements()?;
        let q1 = claim - (q0 + q0 + q2);
        self.stream.check_work(grind)?;
        let r = self.stream.transcript.challenge();
        self.point.push(r);
        Ok(horner(&[q0, q1, q2], r))
    }

    fn fold(&mut self, level: &Level, mut claim: K) -> Result<K> {
        for _ in 0..level.fold_vars {
            claim = self.round(claim, level.fold_grind)?;
        }
        Ok(claim)
    }

    fn folded(&self, level: &Level) -> &[K] {
        last(&self.point, level.fold_vars as usize)
    }

    /// The weights of the elements of a leaf of a later level. Elements of level 1 that are behind the tail of a masked opening
    /// are in no leaf, and zero.
    fn leaf_weights(&self, level: &Level) -> Vec<K> {
        let mut rows = 1 << level.fold_vars;
        if self.tail_log > 0 && self.level == 1 {
            let values = rows / 2;
            rows = values + (values >> self.tail_log).max(1);
        }
        eq_table(self.folded(level), rows)
    }

    /// The positions of the level's queries, increasing.
    fn positions(&mut self, level: &Level) -> Result<Vec<u64>> {
        self.stream.check_work(level.query_grind)?;
        let mut list = self.stream.transcript.indexes(level.queries as usize, level.domain_bits());
        list.sort_unstable();
        list.dedup();
        Ok(list)
    }

    /// The folded row's code values at the positions, from opened leaves.
    fn columns(&mut self, level: &Level, root: Option<&Digest>, positions: &[u64]) -> Result<Vec<K>> {
        let Some(root) = root else {
            let mut weights = eq_table(&self.point[..self.rounds], self.table.rows);
            let mut own = ZERO; // of the auxiliary row
            if self.tail_log > 0 {
                own = self.point[self.rounds];
                weights.iter_mut().for_each(|w| *w *= ONE - own);
            }
            let mut values = vec![ZERO; positions.len()];
            for tree in &self.table.trees {
                self.tree_values(tree, &weights, own, level.domain_bits(), positions, &mut values)?;
            }
            return Ok(values);
        };
        let weights = self.leaf_weights(level);
        let mut values = Vec::with_capacity(positions.len());
        let mut leaves = Vec::with_capacity(positions.len());
        let groups = self.groups(weights.len());
        for &position in positions {
            let leaf = self.stream.hints(4 * weights.len())?;
            values.push(fold_leaf(&weights, leaf));
            leaves.push((position, self.suite.hash_leaf(leaf, &groups)));
        }
        merkle::check(self.stream, self.suite, root, level.domain_bits(), leaves)?;
        Ok(values)
    }

    /// The groups of a leaf of so many elements of K.
    fn groups(&self, elements: usize) -> Vec<usize> {
        let (mut rest, most) = (4 * elements as u64, self.suite.group_rows(false));
        let mut groups = Vec::new();
        while rest > 0 {
            let own = most.min(rest);
            groups.push(own as usize);
            rest -= own;
        }
        groups
    }

    /// Adds what a tree gives to the folded row at the positions.
    fn tree_values(&mut self, tree: &Tree, weights: &[K], own: K, bits: usize, positions: &[u64], values: &mut [K]) -> Result<()> {
        // By the lowest bits of slots, which are l: the places in a leaf, and the weights of the table's rows.
        let count = 1 << tree.shift;
        let mut order = vec![Rows::default(); count];
        let slots = tree.table_groups().iter().flat_map(|g| g.slot..g.slot + g.rows);
        let in_table = slots.map(|slot| (slot, weights[(tree.first_row + (slot >> tree.shift)) as usize]));
        for (place, (slot, weight)) in in_table.chain((0..tree.auxiliary).map(|row| (row, own))).enumerate() {
            let rows = &mut order[slot as usize % count];
            rows.places.push(place);
            rows.weights.push(weight);
        }
        let groups: Vec<usize> = tree.groups.iter().map(|g| g.rows as usize).collect();
        let rows = groups.iter().sum();
        let domain = Domain::new(bits);
        let salts = self.salts(tree, rows, positions)?;
        let mut leaves: Vec<(u64, Digest)> = Vec::with_capacity(positions.len());
        let mut sums = vec![ZERO; count];
        let mut room = Vec::with_capacity(count);
        for (&position, value) in positions.iter().zip(values) {
            let at = position >> tree.shift;
            if leaves.last().is_none_or(|(before, _)| *before != at) {
                let leaf = self.stream.hints(rows)?;
                for (sum, own) in sums.iter_mut().zip(&order) {
                    *sum = own.dot(leaf);
                }
                let digest = match salts.get(leaves.len()) {
                    Some(salt) => self.suite.hash_salted(salt, leaf, &groups),
                    None => self.suite.hash_leaf(leaf, &groups),
                };
                leaves.push((at, digest));
            }
            *value += slot_sum(&sums, tree.shift, domain.point(position), &mut room);
        }
        self.stream.skip(8 * salts.len())?;
        merkle::check(self.stream, self.suite, &tree.root, tree.depth(), leaves)
    }

    /// The salts of a tree's leaves at the positions, which come behind the leaves, of so many limbs.
    fn salts(&self, tree: &Tree, rows: usize, positions: &[u64]) -> Result<Vec<Digest>> {
        if tree.tails.is_empty() {
            return Ok(Vec::new());
        }
        let mut at: Vec<u64> = positions.iter().map(|position| position >> tree.shift).collect();
        at.dedup();
        self.stream.digests_ahead(rows * at.len(), at.len())
    }

    /// The queries of the last level against the row sent in the clear.
    fn check_row(&mut self, level: &Level, root: Option<&Digest>, row: &[K], positions: &[u64]) -> Result<()> {
        let domain = Domain::new(level.domain_bits());
        let mut room = Vec::with_capacity(row.len());
        let values = positions.iter().map(|&p| code_value(row, domain.point(p), &mut room));
        let values: Vec<K> = values.collect();
        let Some(root) = root else {
            let same = self.columns(level, root, positions)? == values;
            require!(same, "whir: the last row is not what was committed to");
            return Ok(());
        };
        // The first element of a leaf is the one with which it folds to the value.
        let weights = self.leaf_weights(level);
        require!(weights[0] != ZERO, "whir: the last row is not what was committed to");
        let unit = weights[0].inverse();
        let groups = self.groups(weights.len());
        let mut leaves = Vec::with_capacity(positions.len());
        let mut leaf = vec![0; 4 * weights.len()];
        for (&position, &value) in positions.iter().zip(&values) {
            leaf[4..].copy_from_slice(self.stream.hints(4 * weights.len() - 4)?);
            let first = unit * (value - fold_leaf(&weights[1..], &leaf[4..]));
            leaf[..4].copy_from_slice(&first.0);
            leaves.push((position, self.suite.hash_leaf(&leaf, &groups)));
        }
        merkle::check(self.stream, self.suite, root, level.domain_bits(), leaves)
    }

    /// Samples and positions join the claim.
    fn constrain(&mut self, level: &Level, claim: K, samples: impl Iterator<Item = (K, K)>, positions: &[u64], values: &[K]) -> K {
        let xi = self.stream.transcript.challenge();
        let domain = Domain::new(level.domain_bits());
        let queries = positions.iter().zip(values).map(|(&p, &value)| (K::base(domain.point(p)), value));
        let (mut claim, mut power) = (claim, ONE);
        for (z, value) in samples.chain(queries) {
            power *= xi;
            claim += power * value;
            self.constraints.push(Constraint { coefficient: power, z, bound: self.point.len() });
        }
        claim
    }

    /// Q at the point of all rounds: in a masked proof with the pads of level 0's rounds, and zero on tails.
    fn weight(&self, claims: &Claimed) -> K {
        if self.tail_log == 0 {
            return (claims.weight)(&self.point);
        }
        let (rows, rest) = self.point.split_at(self.rounds);
        let (bound, top, inner) = (rest[0], rest[1], &rest[2..]);
        // The coefficients of the pads of each round, in what is claimed after all.
        let (mut pads, mut later) = (Vec::new(), ONE);
        for &r in rows.iter().rev() {
            pads.push(later * (r * r - r));
            pads.push(later * (ONE - (r + r)));
            later *= r;
        }
        let units = [0, 1, 2, 3].map(|k| K(core::array::from_fn(|i| (i == k) as u32)));
        let values: Vec<K> = pads.iter().rev().flat_map(|&w| units.map(|unit| w * unit)).collect();
        let low = crate::shape::variables(values.len() as u64);
        let (above, inside) = inner.split_at(inner.len() - low);
        let table = eq_table(inside, values.len() as u64);
        let of_pads: K = above.iter().fold(values.iter().zip(&table).map(|(&a, &b)| a * b).sum(), |value, &x| value * (ONE - x));
        (ONE - top) * ((ONE - bound) * (claims.weight)(&[rows, inner].concat()) - bound * of_pads)
    }

    fn finish(&mut self, level: &Level, row: &[K], mut claim: K, claims: &Claimed) -> Result<()> {
        for _ in 0..level.row_vars {
            claim = self.round(claim, 0)?;
        }
        let mut sum = self.weight(claims);
        for c in &self.constraints {
            sum += functional(c.coefficient, c.z, &self.point[c.bound..]);
        }
        let value = evaluate_elements(row, last(&self.point, level.row_vars as usize));
        require!(value * sum == claim, "whir: the committed values do not give the claimed one");
        Ok(())
    }
}

/// Some rows of a tree: their places in a leaf, and the weights of the table's rows that they are in.
#[derive(Clone, Default)]
struct Rows {
    places: Vec<usize>,
    weights: Vec<K>,
}

impl Rows {
    fn dot(&self, leaf: &[u32]) -> K {
        if self.places.len() == leaf.len() {
            return dot(&self.weights, leaf);
        }
        let mut sum = Dot::default();
        for (&place, &weight) in self.places.iter().zip(&self.weights) {
            sum.add(weight, leaf[place]);
        }
        sum.total()
    }
}

/// Σ_l B_l(x)·sums[l], where t_k goes with bit shift − 1 − k of l.
fn slot_sum(sums: &[K], shift: u32, mut x: u32, room: &mut Vec<K>) -> K {
    room.clear();
    room.extend_from_slice(sums);
    for _ in 0..shift {
        let half = room.len() / 2;
        for i in 0..half {
            room[i] = room[i] + room[i + half].times(x);
        }
        room.truncate(half);
        x = double(x);
    }
    room[0]
}
