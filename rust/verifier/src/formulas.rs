//! Tensors by formula, which the verifier evaluates by itself (docs/protocol.md, "Formulas").

use crate::field::{K, ONE, ZERO};
use crate::graph::{FormulaKind, Tensor};
use crate::poly::{split, weighted_prefix};
use core::cmp::Ordering;

/// The extension of a tensor by formula at a point.
pub fn value(t: &Tensor, point: &[K]) -> K {
    let Some(f) = &t.formula else { return ZERO };
    let parts = split(point, &t.shape.now);
    let axis = |i: usize| (parts[i], t.shape.now[i]);
    match f.kind {
        FormulaKind::Progression => {
            let (ones, indexes) = weighted_prefix(parts[0], t.shape.now[0]);
            ones.scale(f.offset) + indexes.scale(f.step)
        }
        FormulaKind::AtMost => compared(axis(0), axis(1), f.offset, |ahead| ahead <= 0),
        FormulaKind::AtLeast => compared(axis(1), axis(0), -f.offset, |ahead| ahead <= 0), // j ≤ i − offset
        FormulaKind::Equal => compared(axis(0), axis(1), f.offset, |ahead| ahead == 0),
    }
}

/// How far i is ahead of j + d is counted in units of the bits so far, up to so many: lower bits never make up for more.
const FAR: i64 = 3;
const AHEAD: usize = 2 * FAR as usize + 1;

/// Σ eq(r, i)·eq(s, j) over i < n and j < m for which `holds` of how far i is ahead of j + d. Bits are taken from the
/// highest on. A state is how far i is ahead, and how i and j compare with n and m.
fn compared((r, n): (&[K], u64), (s, m): (&[K], u64), d: i64, holds: impl Fn(i64) -> bool) -> K {
    let bits = r.len().max(s.len()).max((64 - d.unsigned_abs().leading_zeros()) as usize) + 1;
    let at = |ahead: i64, a: Ordering, b: Ordering| ((ahead + FAR) as usize * 3 + (a as i8 + 1) as usize) * 3 + (b as i8 + 1) as usize;
    let mut states = [ZERO; AHEAD * 9];
    states[at((-(d >> bits)).clamp(-FAR, FAR), Ordering::Equal, Ordering::Equal)] = ONE;
    const ORDERS: [Ordering; 3] = [Ordering::Less, Ordering::Equal, Ordering::Greater];
    for k in (0..bits).rev() {
        let mut next = [ZERO; AHEAD * 9];
        for ahead in -FAR..=FAR {
            for a in ORDERS {
                for b in ORDERS {
                    let weight = states[at(ahead, a, b)];
                    if weight == ZERO {
                        continue;
                    }
                    for (i, wi) in bit(r, k).into_iter().flatten() {
                        for (j, wj) in bit(s, k).into_iter().flatten() {
                            let further = (2 * ahead + i - j - (d >> k & 1)).clamp(-FAR, FAR);
                            let order = |x: i64, end: u64| x.cmp(&((end >> k & 1) as i64));
                            next[at(further, a.then(order(i, n)), b.then(order(j, m)))] += weight * wi * wj;
                        }
                    }
                }
            }
        }
        states = next;
    }
    let kept = (-FAR..=FAR).filter(|&ahead| holds(ahead));
    kept.map(|ahead| states[at(ahead, Ordering::Less, Ordering::Less)]).sum()
}

/// The values that bit k of an index may have, and their weights: 0 alone beyond its variables.
fn bit(point: &[K], k: usize) -> [Option<(i64, K)>; 2] {
    if k >= point.len() {
        return [Some((0, ONE)), None];
    }
    let x = point[point.len() - 1 - k];
    [Some((0, ONE - x)), Some((1, x))]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::field;
    use crate::graph::{Formula, Kind};
    use crate::poly::evaluate;
    use crate::shape::shape_variables;
    use alloc::vec;
    use alloc::vec::Vec;

    fn check(kind: FormulaKind, shape: Vec<u64>, offset: i64, step: i64) {
        let entry = |i: i64, j: i64| match kind {
            FormulaKind::AtMost => (i <= j + offset) as i64,
            FormulaKind::AtLeast => (i >= j + offset) as i64,
            FormulaKind::Equal => (i == j + offset) as i64,
            FormulaKind::Progression => offset + step * i,
        };
        let columns = shape.get(1).copied().unwrap_or(1) as i64;
        let entries: Vec<u32> =
            (0..shape[0] as i64).flat_map(|i| (0..columns).map(move |j| (i, j))).map(|(i, j)| field::lift(entry(i, j))).collect();
        let point: Vec<K> = (1..=shape_variables(&shape) as u32).map(|i| K([i * 1000, i + 7, 3 * i, 12345])).collect();
        let mut t = Tensor { formula: Some(Formula { kind, offset, step }), ..Tensor::new(Kind::Formula) };
        t.shape.now = shape.clone();
        assert_eq!(value(&t, &point), evaluate(&entries, &shape, &point), "{kind:?} {shape:?} {offset}");
    }

    #[test]
    fn formulas() {
        for shape in [vec![5, 7], vec![8, 8], vec![1, 6], vec![9, 2], vec![1, 1]] {
            for offset in [-100, -6, -3, -1, 0, 1, 2, 5, 8, 1 << 29] {
                for kind in [FormulaKind::AtMost, FormulaKind::AtLeast, FormulaKind::Equal] {
                    check(kind, shape.clone(), offset, 0);
                }
            }
        }
        check(FormulaKind::Progression, vec![11], -4, 3);
    }
}
