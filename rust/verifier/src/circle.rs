//! The code: Reed–Solomon over x-coordinates of the circle group (docs/protocol.md, "Field and code").

use crate::field::{self, K, ONE};
use alloc::vec::Vec;

/// x and y of a generator of the group of order 2^31.
const GENERATOR: (u32, u32) = (2, 1268011823);

fn add(a: (u32, u32), b: (u32, u32)) -> (u32, u32) {
    use field::{add, mul, sub};
    (sub(mul(a.0, b.0), mul(a.1, b.1)), add(mul(a.0, b.1), mul(a.1, b.0)))
}

/// 2·x² − 1, the x of twice a point.
pub fn double(x: u32) -> u32 {
    let square = field::mul(x, x);
    field::sub(field::add(square, square), 1)
}

/// The domain of 2^n points.
pub struct Domain {
    bits: usize,
    doubles: Vec<(u32, u32)>, // of the generator of the group of order 2^(n+2)
}

impl Domain {
    pub fn new(bits: usize) -> Domain {
        let mut g = GENERATOR;
        for _ in 0..31 - (bits + 2) {
            g = add(g, g);
        }
        let mut doubles = Vec::with_capacity(bits + 2);
        for _ in 0..bits + 2 {
            doubles.push(g);
            g = add(g, g);
        }
        Domain { bits, doubles }
    }

    /// The point of F_p at a position.
    pub fn point(&self, position: u64) -> u32 {
        let (mut j, mut parity) = (0, 0);
        for k in 0..self.bits {
            parity ^= position >> k & 1;
            j |= parity << (self.bits - 1 - k);
        }
        let exponent = 2 * j + 1;
        let mut point = (1, 0);
        for (k, &g) in self.doubles.iter().enumerate() {
            if exponent >> k & 1 == 1 {
                point = add(point, g);
            }
        }
        point.0
    }
}

/// The functional that evaluates a row's code at z in K: coefficient·Π_j (1 − X_j + X_j·t_j), t_0 with the last
/// variable, t_0 = z, t_{j+1} = 2·t_j² − 1; at the point.
pub fn functional(coefficient: K, z: K, point: &[K]) -> K {
    let (mut value, mut t) = (coefficient, z);
    for &x in point.iter().rev() {
        value *= ONE - x + x * t;
        let square = t * t;
        t = square + square - ONE;
    }
    value
}

/// The code of a row of 2^n elements of K at x in F: Σ_b row_b·Π_j t_j(x)^{b_j}. `room` is used again.
pub fn code_value(row: &[K], mut x: u32, room: &mut Vec<u32>) -> K {
    room.clear();
    room.push(1);
    while room.len() < row.len() {
        for i in 0..room.len() {
            room.push(field::mul(room[i], x));
        }
        x = double(x);
    }
    field::dot(row, room)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::field::P;
    use alloc::vec;

    #[test]
    fn positions() {
        let (large, small) = (Domain::new(6), Domain::new(5));
        for i in 0..32 {
            let (a, b) = (large.point(2 * i), large.point(2 * i + 1));
            assert_eq!(field::add(a, b), 0);
            assert_eq!(double(a), small.point(i));
        }
        assert_eq!(add(GENERATOR, (GENERATOR.0, P - GENERATOR.1)), (1, 0));
    }

    /// A code value is the functional with the row's entries.
    #[test]
    fn code_values() {
        let x = Domain::new(4).point(3);
        for i in 0..8u64 {
            let mut row = vec![K::default(); 8];
            row[i as usize] = ONE;
            let at: Vec<K> = (0..3).map(|k| K::base((i >> (2 - k) & 1) as u32)).collect();
            assert_eq!(code_value(&row, x, &mut Vec::new()), functional(ONE, K::base(x), &at));
        }
    }
}
