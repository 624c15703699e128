//! Tensors by formula, which the verifier evaluates by itself (docs/protocol.md, "Formulas").

use crate::field::{K, ONE, ZERO};
use crate::graph::{FormulaKind, Tensor};
use crate::poly::{split, weighted_prefix};

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

/// How far i is ahead of j + d is counted in units of the bits so far, and only from −1 to 2: lower bits never make up for more.
const BEHIND: i64 = -1;
const AHEAD: i64 = 2;
const STATES: usize = (AHEAD - BEHIND + 1) as usize * 4;

/// Σ eq(r, i)·eq(s, j) over i < n and j < m for which `holds` of how far i is ahead of j + d. Bits are taken from the
/// highest on. A state is how far i is ahead, and whether the bits of i and of j so far are less than those of n and of m, or equal.
fn compared((r, n): (&[K], u64), (s, m): (&[K], u64), d: i64, holds: impl Fn(i64) -> bool) -> K {
    let bits = r.len().max(s.len()).max((64 - d.unsigned_abs().leading_zeros()) as usize) + 1;
    let at = |ahead: i64, less: [bool; 2]| (ahead - BEHIND) as usize * 4 + less[0] as usize * 2 + less[1] as usize;
    let mut states = [ZERO; STATES];
    states[at((-(d >> bits)).clamp(BEHIND, AHEAD), [false, false])] = ONE;
    for k in (0..bits).rev() {
        let mut next = [ZERO; STATES];
        let weights = pair(bit(r, k), bit(s, k));
        let (ends, step) = ([n >> k & 1 == 1, m >> k & 1 == 1], d >> k & 1);
        for (state, &weight) in states.iter().enumerate().filter(|(_, weight)| **weight != ZERO) {
            let (ahead, less) = (state as i64 / 4 + BEHIND, [state & 2 != 0, state & 1 != 0]);
            // Where the bits of i and j lead from here: the weights of those that lead to the same state are added.
            let (mut reached, mut count) = ([(0, ZERO); 4], 0);
            for (ij, &own) in weights.iter().enumerate() {
                let own_bits = [ij & 2 != 0, ij & 1 != 0];
                let beyond = |x: usize| !less[x] && own_bits[x] && !ends[x];
                let further = (2 * ahead + own_bits[0] as i64 - own_bits[1] as i64 - step).clamp(BEHIND, AHEAD);
                let lost = (further == BEHIND || further == AHEAD) && !holds(further);
                if own == ZERO || beyond(0) || beyond(1) || lost {
                    continue;
                }
                let to = at(further, [0, 1].map(|x| less[x] || own_bits[x] != ends[x]));
                match reached[..count].iter_mut().find(|(other, _)| *other == to) {
                    Some((_, sum)) => *sum += own,
                    None => {
                        reached[count] = (to, own);
                        count += 1;
                    }
                }
            }
            for &(to, own) in &reached[..count] {
                next[to] += if own == ONE { weight } else { weight * own };
            }
        }
        states = next;
    }
    let kept = (BEHIND..=AHEAD).filter(|&ahead| holds(ahead));
    kept.map(|ahead| states[at(ahead, [true, true])]).sum()
}

/// The coordinate of bit k of an index: beyond its variables the bit is 0.
fn bit(point: &[K], k: usize) -> K {
    if k < point.len() { point[point.len() - 1 - k] } else { ZERO }
}

/// The weights of two bits that are 00, 01, 10 and 11.
fn pair(x: K, y: K) -> [K; 4] {
    let both = if x == ZERO || y == ZERO { ZERO } else { x * y };
    [ONE - x - y + both, y - both, x - both, both]
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
