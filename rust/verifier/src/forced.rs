//! A key under which a prover could choose what it commits to is refused (docs/proof-format.md, "The key file"). Why
//! these rules force every value: prover/circuit/model/forced.go, divide.go and maximum.go.

use crate::error::{Result, fail, require};
use crate::field::P;
use crate::graph::{Accumulator, Graph, Group, Kind, Linear, Map, Piece, Product, Scaled, Step, StepKind, SumIndex, TableKind, View};
use alloc::vec;
use alloc::vec::Vec;

pub const MOST_KEY_BITS: u32 = 30;

// Steps at which a tensor is known, beside those that make one.
const COUNTS: i64 = i64::MAX; // after all steps: counts
const PUBLIC: i64 = -1;

pub fn check(g: &Graph) -> Result<()> {
    let known = known_from(g)?;
    for (i, s) in g.steps.iter().enumerate() {
        let a = &s.accumulator;
        let products = a.products.iter().flat_map(|p| [p.a, p.b]);
        let late = a.linear.iter().map(|l| l.source).chain(products).chain(s.divisor).find(|&id| known[id as usize] >= i as i64);
        if let Some(id) = late {
            return fail!("step {i}: it reads tensor {id}, which is made by no step before it");
        }
    }
    for &id in &g.outputs {
        require!(known[id as usize] != COUNTS, "output {id} is made by no step");
    }
    let ranges = Ranges::new(g);
    for (i, s) in g.steps.iter().enumerate() {
        match s.kind {
            StepKind::Divide => division(g, i, &ranges),
            StepKind::Maximum => maximum(g, i),
            _ => Ok(()),
        }
        .map_err(|e| e.within(format_args!("step {i}")))?;
    }
    for (i, s) in g.steps.iter().enumerate() {
        if let (StepKind::Lookup, Some(low)) = (s.kind, s.remainder) {
            let kept = ranges.from0[low as usize].is_some_and(|bits| bits <= s.shift);
            require!(kept, "step {i}: nothing keeps the remainder within {} bits", s.shift);
        }
    }
    Ok(())
}

/// For every tensor the step whose result it is; for a virtual one, the last such step among its sources.
fn known_from(g: &Graph) -> Result<Vec<i64>> {
    let mut made: Vec<Option<i64>> = vec![None; g.tensors.len()];
    for (i, s) in g.steps.iter().enumerate() {
        for id in [s.remainder, s.out].into_iter().flatten() {
            require!(made[id as usize].is_none(), "tensor {id} is the result of two steps");
            made[id as usize] = Some(i as i64);
        }
    }
    for m in &g.multiplicities {
        made[m.tensor as usize] = Some(COUNTS);
    }
    let mut known = Vec::with_capacity(g.tensors.len());
    for (i, t) in g.tensors.iter().enumerate() {
        known.push(match (t.kind, made[i]) {
            (Kind::Witness, None) if g.is_hidden(i as u32) || g.is_imported(i as u32) => PUBLIC,
            (Kind::Witness, None) => return fail!("witness tensor {i} is the result of no step"),
            (Kind::Witness, Some(step)) => step,
            _ if t.product.is_some() => t.product.iter().flat_map(|p| [p.a, p.b]).map(|id| known[id as usize]).max().unwrap_or(PUBLIC),
            _ => t.definition.iter().map(|l| known[l.source as usize]).max().unwrap_or(PUBLIC),
        });
    }
    Ok(known)
}

/// The least bits of the tables that tensors are looked up in by themselves: with coefficient 1 and no view.
struct Ranges {
    from0: Vec<Option<u32>>,  // entries are in [0, 2^n)
    within: Vec<Option<u32>>, // entries are among 2^n keys, one after the other
}

impl Ranges {
    fn new(g: &Graph) -> Ranges {
        let none = vec![None; g.tensors.len()];
        let mut r = Ranges { from0: none.clone(), within: none };
        for s in &g.steps {
            let (StepKind::Lookup, [l], []) = (s.kind, &s.accumulator.linear[..], &s.accumulator.products[..]) else { continue };
            if l.coefficient != 1 || l.view.is_some() {
                continue;
            }
            let least = |found: &mut Option<u32>, bits| *found = Some(found.map_or(bits, |n| bits.min(n)));
            let at = l.source as usize;
            if let (Some(bits), 0) = (range_bits(g, s), s.accumulator.constant) {
                least(&mut r.from0[at], bits);
                least(&mut r.within[at], bits);
            }
            if let (0, Some(table)) = (s.shift, s.table) {
                least(&mut r.within[at], g.tables[table as usize].bits);
            }
        }
        r
    }
}

/// n if the step looks its accumulator up among the keys of n bits from 0, remainder included.
fn range_bits(g: &Graph, s: &Step) -> Option<u32> {
    let table = &g.tables[s.table.filter(|_| s.kind == StepKind::Lookup)? as usize];
    (table.min == 0 && (s.shift == 0 || table.bits > 0)).then_some(s.shift + table.bits)
}

fn is(s: &Step, shape: &[u64], accumulator: &Accumulator) -> bool {
    s.shape.now == shape && s.accumulator == *accumulator
}

fn alone(coefficient: i64, source: u32) -> Linear {
    Linear { coefficient, source, view: None }
}

/// 2^n if the accumulator is looked up in the range of n bits from step i on, and how many steps that takes: two if
/// the first has a remainder.
fn range_of(g: &Graph, i: usize, shape: &[u64], accumulator: &Accumulator) -> Option<(u64, usize)> {
    let s = g.steps.get(i).filter(|s| is(s, shape, accumulator))?;
    let bits = range_bits(g, s)?;
    let Some(low) = s.remainder else { return Some((1 << bits, 1)) };
    let rest = Accumulator { linear: vec![alone(1, low)], ..Accumulator::default() };
    let next = g.steps.get(i + 1).filter(|s| is(s, shape, &rest) && s.remainder.is_none())?;
    (range_bits(g, next)? <= s.shift).then_some((1 << bits, 2))
}

/// Whether a sum of products is at most p.
fn fits(terms: &[(u64, u64)]) -> bool {
    terms.iter().map(|&(a, b)| a as u128 * b as u128).sum::<u128>() <= P as u128
}

/// The output axis of every source axis, for a view that only permutes axes and repeats along others.
fn labels(view: Option<&View>, source: &[u64], out: &[u64]) -> Option<Vec<u32>> {
    let Some(view) = view else { return Some((0..source.len() as u32).collect()) };
    if view.fill != 0 {
        return None;
    }
    let mut labels = vec![0; source.len()];
    for g in &view.groups {
        let [axis] = g.out[..] else { return None };
        if g.map != Map::Affine || g.base.now != 0 || !g.sums.is_empty() {
            return None;
        }
        match g.source[..] {
            [] if g.strides[0] == 0 => {}
            [from] if g.strides[0] == 1 && source[from as usize] == out[axis as usize] => labels[from as usize] = axis,
            _ => return None,
        }
    }
    Some(labels)
}

/// The steps that constrain the division at step i must follow it.
fn division(g: &Graph, i: usize, ranges: &Ranges) -> Result<()> {
    let s = &g.steps[i];
    let (Some(quotient), Some(remainder), Some(divisor), shape) = (s.out, s.remainder, s.divisor, &s.shape.now) else {
        return fail!("a division needs a quotient, a remainder and a divisor");
    };
    let all: Vec<u32> = (0..shape.len() as u32).collect();
    // The divisor as a view of a smaller tensor, if it is one.
    let (mut term, mut axes) = (alone(1, divisor), all.clone());
    if let [l] = &g.tensors[divisor as usize].definition[..] {
        if l.coefficient > 0 {
            if let Some(labels) = labels(l.view.as_ref(), g.shape(l.source), shape) {
                (term, axes) = (l.clone(), labels);
            }
        }
    }
    let times = |coefficient, a| Product { coefficient, a, b: quotient, labels_a: axes.clone(), labels_b: all.clone() };
    let mut equation = s.accumulator.clone();
    equation.linear.push(alone(-1, remainder));
    equation.products.push(times(-term.coefficient, term.source));
    let follows = g.steps.get(i + 1).is_some_and(|s| s.kind == StepKind::Zero && is(s, shape, &equation));
    require!(follows, "a division that its equation does not follow");
    let mut at = i + 2;
    let mut next = |accumulator: &Accumulator| {
        let (size, steps) = range_of(g, at, shape, accumulator).unwrap_or((0, 0));
        at += steps;
        size
    };
    let a = next(&Accumulator { linear: vec![alone(1, remainder)], ..Accumulator::default() });
    let below = Accumulator { constant: -1, linear: vec![term.clone(), alone(-1, remainder)], products: Vec::new() };
    let b = next(&below);
    require!(a > 0 && b > 0, "a division that the ranges of its remainder do not follow");
    let Some(n) = ranges.within[quotient as usize] else {
        return fail!("a division whose quotient is looked up in no table");
    };
    require!(fits(&[(a, 1), (b, 1)]), "a division whose divisor may wrap");
    if fits(&[(a + b - 1, (1 << n) - 1), (a, 1)]) {
        return Ok(());
    }
    // A long division: the divisor in two parts.
    let [high, low] = &g.tensors[term.source as usize].definition[..] else {
        return fail!("a division whose sides may wrap");
    };
    let whole = |l: &Linear| l.coefficient > 0 && l.view.is_none();
    require!(whole(high) && whole(low), "a division whose sides may wrap");
    let c = next(&Accumulator { products: vec![times(1, high.source)], ..Accumulator::default() });
    let bits = |id: u32| ranges.from0[id as usize];
    let (true, Some(h), Some(l), Some(n)) = (c > 0, bits(high.source), bits(low.source), bits(quotient)) else {
        return fail!("a long division without the ranges of its parts");
    };
    let unit = |l: &Linear| term.coefficient as u64 * l.coefficient as u64;
    let narrow = h + n <= MOST_KEY_BITS
        && l + n <= MOST_KEY_BITS
        && fits(&[(unit(high), 1 << h), (unit(low), 1 << l)])
        && fits(&[(unit(high), c), (unit(low), 1 << (l + n)), (a, 1)]);
    require!(narrow, "a long division whose sides may wrap");
    Ok(())
}

/// The look-ups that constrain the maximum at step i must follow it.
fn maximum(g: &Graph, i: usize) -> Result<()> {
    let s = &g.steps[i];
    let (Some(greatest), Some(operand)) = (s.out, s.divisor) else {
        return fail!("a maximum has an operand, an output and no remainder");
    };
    let (Some(first), true) = (g.steps.get(i + 1).filter(|s| s.kind == StepKind::Lookup), i + 2 < g.steps.len()) else {
        return fail!("a maximum that no look-ups follow");
    };
    let last = s.shape.now.len() as u32;
    let affine = Group::new();
    let with = |group: Group| {
        let follow = |axis| Group { out: vec![axis], source: vec![axis], strides: vec![1], ..affine.clone() };
        Some(View { groups: (0..last).map(follow).chain([group]).collect(), fill: 0 })
    };
    let repeated = with(Group { out: vec![last], strides: vec![0], ..affine.clone() });
    let below = Accumulator {
        linear: vec![alone(1, operand), Linear { coefficient: -1, source: greatest, view: repeated }],
        ..Accumulator::default()
    };
    let held = is(first, g.shape(operand), &below) && first.shift == 0;
    require!(held, "a maximum that its row's entries are not held against");
    let (Some(table), Some(found)) = (first.table, first.out) else {
        return fail!("a maximum whose table is not that of 1 at 0 and 0 below");
    };
    let table = &g.tables[table as usize];
    let rows = 1i64 << table.bits;
    let pieces = [Piece { end: rows - 1, slope: 0, offset: 0 }, Piece { end: rows, slope: 0, offset: 1 }];
    let top = table.kind == TableKind::Piecewise && table.bits > 0 && table.min == 1 - rows && table.drop == 0 && table.pieces == pieces;
    require!(top, "a maximum whose table is not that of 1 at 0 and 0 below");
    let along = Scaled { now: g.shape(operand)[last as usize] as i64, ..Scaled::default() };
    let summed = with(Group { source: vec![last], sums: vec![SumIndex { dimension: along, stride: 1 }], ..affine.clone() });
    let some = Accumulator { constant: -1, linear: vec![Linear { coefficient: 1, source: found, view: summed }], products: Vec::new() };
    let entry = range_of(g, i + 2, &s.shape.now, &some).is_some_and(|(size, _)| size >= 2);
    require!(entry, "a maximum that need not be an entry of its row");
    Ok(())
}
