//! F_p with p = 2^31 − 1, and its extension K = F_p(i)(u), i² = −1, u² = 2 + i (docs/protocol.md, "Field and
//! code"). Elements of F_p are numbers of 32 bits below p.

use core::iter::Sum;
use core::ops::{Add, AddAssign, Mul, MulAssign, Neg, Sub, SubAssign};

pub const P: u32 = (1 << 31) - 1;

/// The element of F_p of any number.
#[inline(always)]
pub fn reduce(x: u64) -> u32 {
    // Twice, as 2^31 is 1: below 2^33 + 2^31, then at most p + 3.
    let x = (x & P as u64) + (x >> 31);
    let x = (x & P as u64) as u32 + (x >> 31) as u32;
    if x >= P { x - P } else { x }
}

/// `reduce` of a sum of four products, in operations of 32 bits where a machine has no others.
#[inline(always)]
fn reduce_products(x: u64) -> u32 {
    if cfg!(target_pointer_width = "64") {
        return reduce(x);
    }
    let (low, high) = (x as u32, (x >> 32) as u32);
    // At most p + 3, then below p + 3 or at most 3; so the sum is below 2p.
    let first = (low & P) + (high >> 30);
    let first = if first >= P { first - P } else { first };
    let x = first + ((high << 1 | low >> 31) & P);
    if x >= P { x - P } else { x }
}

/// The element of F_p of an integer of either sign.
pub fn lift(v: i64) -> u32 {
    v.rem_euclid(P as i64) as u32
}

#[inline(always)]
pub fn add(a: u32, b: u32) -> u32 {
    let x = a + b;
    if x >= P { x - P } else { x }
}

#[inline(always)]
pub fn sub(a: u32, b: u32) -> u32 {
    if a >= b { a - b } else { a + P - b }
}

#[inline(always)]
pub fn mul(a: u32, b: u32) -> u32 {
    // The product is below 2^62, so that its halves of 31 bits add up to less than 2p.
    let x = a as u64 * b as u64;
    let x = (x as u32 & P) + (x >> 31) as u32;
    if x >= P { x - P } else { x }
}

pub fn power(mut a: u32, mut exponent: u32) -> u32 {
    let mut x = 1;
    while exponent > 0 {
        if exponent & 1 == 1 {
            x = mul(x, a);
        }
        a = mul(a, a);
        exponent >>= 1;
    }
    x
}

/// An element of K: (a0 + a1·i) + (a2 + a3·i)·u.
#[derive(Clone, Copy, Debug, Default, Eq)]
pub struct K(pub [u32; 4]);

impl PartialEq for K {
    #[inline(always)]
    fn eq(&self, o: &K) -> bool {
        let (a, b) = (self.0, o.0);
        (a[0] ^ b[0]) | (a[1] ^ b[1]) | (a[2] ^ b[2]) | (a[3] ^ b[3]) == 0
    }
}

pub const ZERO: K = K([0; 4]);
pub const ONE: K = K([1, 0, 0, 0]);

impl K {
    pub fn base(a: u32) -> K {
        K([a, 0, 0, 0])
    }

    /// Times an element of F_p.
    #[inline(always)]
    pub fn times(self, b: u32) -> K {
        K(self.0.map(|a| mul(a, b)))
    }

    /// Times an integer.
    pub fn scale(self, v: i64) -> K {
        match v {
            1 => self,
            -1 => -self,
            _ => self.times(lift(v)),
        }
    }

    /// 1/a, and 0 for 0.
    pub fn inverse(self) -> K {
        // (x + y·u)(x − y·u) = x² − (2 + i)·y² is in F(i), and that times its conjugate in F.
        let [a, b, c, d] = self.0;
        let (s, t) = (sub(mul(c, c), mul(d, d)), mul(add(c, c), d)); // y²
        let re = sub(sub(mul(a, a), mul(b, b)), sub(add(s, s), t));
        let im = sub(mul(add(a, a), b), add(s, add(t, t)));
        let unit = power(add(mul(re, re), mul(im, im)), P - 2);
        let (re, im) = (mul(re, unit), mul(sub(0, im), unit));
        let times = |x, y| [sub(mul(x, re), mul(y, im)), add(mul(x, im), mul(y, re))];
        let ([p, q], [r, s]) = (times(a, b), times(sub(0, c), sub(0, d)));
        K([p, q, r, s])
    }
}

impl Add for K {
    type Output = K;
    #[inline(always)]
    fn add(self, o: K) -> K {
        let (a, b) = (self.0, o.0);
        K([add(a[0], b[0]), add(a[1], b[1]), add(a[2], b[2]), add(a[3], b[3])])
    }
}

impl Sub for K {
    type Output = K;
    #[inline(always)]
    fn sub(self, o: K) -> K {
        let (a, b) = (self.0, o.0);
        K([sub(a[0], b[0]), sub(a[1], b[1]), sub(a[2], b[2]), sub(a[3], b[3])])
    }
}

impl Neg for K {
    type Output = K;
    fn neg(self) -> K {
        ZERO - self
    }
}

/// The coefficients of a product, each a sum of four products, which is below 2^64.
#[inline(always)]
fn products(a: K, b: K) -> [u64; 4] {
    let (a, [b0, b1, b2, b3]) = (a.0, b.0);
    // (b2 + b3·i)·u² = (b2 + b3·i)(2 + i)
    let (c2, c3) = (sub(add(b2, b2), b3), add(add(b3, b3), b2));
    let (n1, n3, m3) = (P - b1, P - b3, P - c3); // at most p, which a sum of four products with has room for
    let dot = |b: [u32; 4]| {
        let product = |k: usize| a[k] as u64 * b[k] as u64;
        product(0) + product(1) + product(2) + product(3)
    };
    [dot([b0, n1, c2, m3]), dot([b1, b0, c3, c2]), dot([b2, n3, b0, n1]), dot([b3, b2, b1, b0])]
}

impl Mul for K {
    type Output = K;
    #[inline(always)]
    fn mul(self, o: K) -> K {
        K(products(self, o).map(reduce_products))
    }
}

impl AddAssign for K {
    #[inline(always)]
    fn add_assign(&mut self, o: K) {
        *self = *self + o;
    }
}

impl SubAssign for K {
    fn sub_assign(&mut self, o: K) {
        *self = *self - o;
    }
}

impl MulAssign for K {
    #[inline(always)]
    fn mul_assign(&mut self, o: K) {
        *self = *self * o;
    }
}

impl Sum for K {
    fn sum<I: Iterator<Item = K>>(terms: I) -> K {
        terms.fold(ZERO, |a, b| a + b)
    }
}

/// The polynomial with these coefficients, constant first, at x.
pub fn horner(coefficients: &[K], x: K) -> K {
    coefficients.iter().rev().fold(ZERO, |value, &c| value * x + c)
}

/// A sum of products of elements of K with others, which is reduced once, at the end. It may have 2^31 terms.
#[derive(Clone, Copy, Default)]
pub struct Dot {
    low: [u64; 4],
    high: [u64; 4],
}

impl Dot {
    /// Adds a product with an element of F.
    #[inline(always)]
    pub fn add(&mut self, a: K, b: u32) {
        self.put(a.0.map(|a| a as u64 * b as u64));
    }

    /// Adds a product of two elements of K.
    #[inline(always)]
    pub fn add_product(&mut self, a: K, b: K) {
        self.put(products(a, b));
    }

    #[inline(always)]
    fn put(&mut self, sums: [u64; 4]) {
        for (k, x) in sums.into_iter().enumerate() {
            self.low[k] += x as u32 as u64;
            self.high[k] += x >> 32;
        }
    }

    pub fn total(self) -> K {
        // 2^32 is 2.
        K(core::array::from_fn(|k| reduce(self.low[k] + 2 * reduce(self.high[k]) as u64)))
    }
}

/// Σ a·b over pairs.
pub fn sum_of_products<'k>(pairs: impl Iterator<Item = (&'k K, &'k K)>) -> K {
    let mut sum = Dot::default();
    pairs.for_each(|(&a, &b)| sum.add_product(a, b));
    sum.total()
}

/// Σ weights[j]·limbs[j].
pub fn dot(weights: &[K], limbs: &[u32]) -> K {
    let mut sum = Dot::default();
    for (w, x) in weights.chunks_exact(4).zip(limbs.chunks_exact(4)) {
        // Four products are below 2^64.
        let product = |j: usize, k: usize| w[j].0[k] as u64 * x[j] as u64;
        sum.put(core::array::from_fn(|k| product(0, k) + product(1, k) + product(2, k) + product(3, k)));
    }
    let whole = weights.len().min(limbs.len()) / 4 * 4;
    for (&w, &x) in weights[whole..].iter().zip(&limbs[whole..]) {
        sum.add(w, x);
    }
    sum.total()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn some(seed: u32) -> K {
        K(core::array::from_fn(|k| reduce(0x9e37_79b9_7f4a_7c15u64.wrapping_mul(seed as u64 * 4 + k as u64 + 1) >> 7)))
    }

    #[test]
    fn multiplication_follows_the_tower() {
        let (i, u) = (K([0, 1, 0, 0]), K([0, 0, 1, 0]));
        assert_eq!(i * i, -ONE);
        assert_eq!(u * u, K([2, 1, 0, 0]));
        let most = K([P - 1; 4]);
        for (a, b, c) in [(some(1), some(2), some(3)), (most, most, most), (most, some(4), ZERO)] {
            assert_eq!(a * b, b * a);
            assert_eq!(a * (b * c), (a * b) * c);
            assert_eq!(a * (b + c), a * b + a * c);
            assert_eq!(a * K::base(7), a.times(7));
            assert_eq!(a.scale(-5), ZERO - a.times(5));
        }
    }

    #[test]
    fn inverse_is_one() {
        for seed in 0..50 {
            assert_eq!(some(seed) * some(seed).inverse(), ONE);
        }
        assert_eq!(K([0, 0, 1, 0]) * K([0, 0, 1, 0]).inverse(), ONE);
        assert_eq!(ZERO.inverse(), ZERO);
    }

    #[test]
    fn dot_of_the_greatest() {
        let w = [K([P - 1; 4]); 9];
        assert_eq!(dot(&w, &[P - 1; 9]), K([9; 4]));
        assert_eq!(sum_of_products(w.iter().zip(&w)), (w[0] * w[0]).times(9));
    }
}
