//! The hash suite poseidon2: Poseidon2 over M31, width 16, and sponges of it.

use super::Digest;
use crate::field::{self, K, P};
use alloc::vec::Vec;

const WIDTH: usize = 16;
const RATE: usize = 8;
const HALF: usize = 4; // full rounds before and after the others
const PARTIAL: usize = 14;

const LEAF: u32 = 0x6c65_6166; // "leaf"
const GROUPS: u32 = 0x6772_7073; // "grps"
const SALTED: u32 = 0x7361_6c74; // "salt"

type State = [u32; WIDTH];

struct Constants {
    first: [State; HALF],
    middle: [u32; PARTIAL],
    last: [State; HALF],
}

static CONSTANTS: Constants = constants();

/// The constants of the rounds, from the Grain LFSR of the Poseidon paper (2019/458, appendix E).
const fn constants() -> Constants {
    let mut lfsr = Grain::new();
    let mut c = Constants { first: [[0; WIDTH]; HALF], middle: [0; PARTIAL], last: [[0; WIDTH]; HALF] };
    let mut i = 0;
    while i < HALF * WIDTH {
        c.first[i / WIDTH][i % WIDTH] = lfsr.below_p();
        i += 1;
    }
    i = 0;
    while i < PARTIAL {
        c.middle[i] = lfsr.below_p();
        i += 1;
    }
    i = 0;
    while i < HALF * WIDTH {
        c.last[i / WIDTH][i % WIDTH] = lfsr.below_p();
        i += 1;
    }
    c
}

/// 80 bits, the next one in bit 79.
struct Grain(u128);

impl Grain {
    const fn new() -> Grain {
        // A prime field, a power, 31 bits, width and rounds, most significant first; then ones.
        let parameters: [(u128, u32); 7] =
            [(1, 2), (0, 4), (31, 12), (WIDTH as u128, 12), (2 * HALF as u128, 10), (PARTIAL as u128, 10), ((1 << 30) - 1, 30)];
        let mut grain = Grain(0);
        let mut i = 0;
        while i < parameters.len() {
            grain.0 = grain.0 << parameters[i].1 | parameters[i].0;
            i += 1;
        }
        i = 0;
        while i < 160 {
            grain.step();
            i += 1;
        }
        grain
    }

    const fn step(&mut self) -> u32 {
        // Bit i of the paper is bit 79 − i here.
        let s = self.0;
        let bit = (s >> 17 ^ s >> 28 ^ s >> 41 ^ s >> 56 ^ s >> 66 ^ s >> 79) & 1;
        self.0 = (s << 1 | bit) & ((1 << 80) - 1);
        bit as u32
    }

    /// Of each two bits the second counts if the first is 1.
    const fn bit(&mut self) -> u32 {
        loop {
            let (keep, bit) = (self.step(), self.step());
            if keep == 1 {
                return bit;
            }
        }
    }

    const fn below_p(&mut self) -> u32 {
        loop {
            let (mut value, mut i) = (0, 0);
            while i < 31 {
                value = value << 1 | self.bit();
                i += 1;
            }
            if value < P {
                return value;
            }
        }
    }
}

/// One step of a reduction.
#[inline(always)]
fn fold(x: u64) -> u64 {
    (x & P as u64) + (x >> 31)
}

/// (x + c)^5, below 2^33, for x and c up to p + 3.
#[inline(always)]
fn fifth(x: u64, c: u32) -> u64 {
    let x = fold(x + c as u64); // at most 2^31
    let square = fold(fold(x * x));
    fold(fold(square * square) * x)
}

/// circ(2, 3, 1, 1) times four numbers.
#[inline(always)]
fn mix(s: &mut [u64]) {
    let (a, b, c, d) = (s[0], s[1], s[2], s[3]);
    let sum = a + b + c + d;
    (s[0], s[1], s[2], s[3]) = (sum + a + 2 * b, sum + b + 2 * c, sum + c + 2 * d, sum + d + 2 * a);
}

/// The external matrix. Of numbers below 2^33 the result is at most p + 3.
#[inline(always)]
fn external(s: &mut [u64; WIDTH]) {
    for four in s.chunks_exact_mut(4) {
        mix(four);
    }
    let sums: [u64; 4] = core::array::from_fn(|i| s[i] + s[i + 4] + s[i + 8] + s[i + 12]);
    for (i, x) in s.iter_mut().enumerate() {
        *x = fold(fold(*x + sums[i % 4]));
    }
}

fn full(s: &mut [u64; WIDTH], rounds: &[State; HALF]) {
    for constants in rounds {
        for (x, &c) in s.iter_mut().zip(constants) {
            *x = fifth(*x, c);
        }
        external(s);
    }
}

/// log2 of the diagonal of the internal matrix beyond the ones, but for its first entry.
const DIAGONAL: [u32; WIDTH] = [0, 0, 1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 13, 14, 15, 16];

pub fn permute(state: &mut State) {
    let mut s = state.map(u64::from);
    external(&mut s);
    full(&mut s, &CONSTANTS.first);
    for &c in &CONSTANTS.middle {
        let first = fold(fold(fifth(s[0], c)));
        let sum = s[1..].iter().sum::<u64>() + first;
        // The first entry of the diagonal is −2.
        s[0] = fold(fold(sum + 2 * (2 * P as u64 - first)));
        for i in 1..WIDTH {
            s[i] = fold(fold(sum + (s[i] << DIAGONAL[i])));
        }
    }
    full(&mut s, &CONSTANTS.last);
    *state = s.map(field::reduce);
}

fn absorb_all(state: &mut State, limbs: &[u32]) {
    for block in limbs.chunks(RATE) {
        state[..block.len()].copy_from_slice(block);
        permute(state);
    }
}

fn digest(state: &State) -> Digest {
    core::array::from_fn(|i| state[i])
}

/// The hash of limbs.
pub fn message(limbs: &[u32]) -> Digest {
    let mut state = [0; WIDTH];
    (state[RATE], state[RATE + 1]) = (limbs.len() as u32, LEAF);
    absorb_all(&mut state, limbs);
    if limbs.is_empty() {
        permute(&mut state);
    }
    digest(&state)
}

/// The digest of a leaf: that of its only group, or of the digests of all.
pub fn leaf(limbs: &[u32], groups: &[usize]) -> Digest {
    if groups.len() == 1 {
        return message(limbs);
    }
    let mut state = [0; WIDTH];
    (state[RATE], state[RATE + 1]) = (groups.len() as u32, GROUPS);
    messages(state, limbs, groups)
}

/// The digest of a leaf with a salt.
pub fn salted(salt: &Digest, limbs: &[u32], groups: &[usize]) -> Digest {
    let mut state = [0; WIDTH];
    (state[RATE], state[RATE + 1]) = (groups.len() as u32 + 1, SALTED);
    absorb_all(&mut state, salt);
    messages(state, limbs, groups)
}

/// What a state comes to with the digests of all groups.
fn messages(mut state: [u32; WIDTH], limbs: &[u32], groups: &[usize]) -> Digest {
    let mut rest = limbs;
    for &rows in groups {
        let (group, after) = rest.split_at(rows);
        absorb_all(&mut state, &message(group));
        rest = after;
    }
    digest(&state)
}

pub fn node(left: &Digest, right: &Digest) -> Digest {
    let mut state = [0; WIDTH];
    state[..RATE].copy_from_slice(left);
    state[RATE..].copy_from_slice(right);
    permute(&mut state);
    core::array::from_fn(|i| field::add(state[i], left[i]))
}

// Causes of permutations.
const ABSORB: u32 = 0;
const SQUEEZE: u32 = 1;
const FORK: u32 = 2;
const JOIN: u32 = 3;
const GRIND: u32 = 4;

/// A transcript: a duplex sponge in overwrite mode.
#[derive(Clone)]
pub struct Sponge {
    state: State,
    taken: usize, // lanes overwritten since the last permutation
    given: usize, // the next lane to give
}

impl Default for Sponge {
    fn default() -> Sponge {
        Sponge { state: [0; WIDTH], taken: 0, given: RATE }
    }
}

impl Sponge {
    fn permute(&mut self, cause: u32) {
        self.state[15] = field::add(self.state[15], 16 * cause + self.taken as u32);
        permute(&mut self.state);
        (self.taken, self.given) = (0, 0);
    }

    pub fn absorb(&mut self, limbs: &[u32]) {
        for &x in limbs {
            if self.taken == RATE {
                self.permute(ABSORB);
            }
            self.state[self.taken] = x;
            self.taken += 1;
        }
    }

    pub fn absorb_digest(&mut self, digest: &Digest) {
        self.absorb(digest);
    }

    pub fn absorb_integer(&mut self, n: u64) {
        let low = |n: u64| n as u32 & 0xff_ffff;
        self.absorb(&[low(n), low(n >> 24), (n >> 48) as u32]);
    }

    pub fn absorb_bytes(&mut self, bytes: &[u8]) {
        self.absorb_integer(bytes.len() as u64);
        for three in bytes.chunks(3) {
            self.absorb(&[three.iter().rev().fold(0, |n, &byte| n << 8 | byte as u32)]);
        }
    }

    fn squeeze(&mut self) -> u32 {
        if self.taken > 0 || self.given == RATE {
            self.permute(SQUEEZE);
        }
        self.given += 1;
        self.state[self.given - 1]
    }

    pub fn challenges(&mut self, count: usize) -> Vec<K> {
        (0..count).map(|_| K(core::array::from_fn(|_| self.squeeze()))).collect()
    }

    /// A number of at most 30 bits.
    fn bits(&mut self, bits: usize) -> u64 {
        if bits == 0 {
            return 0;
        }
        loop {
            let limb = self.squeeze();
            if limb < (1 << 31) - (1 << bits) {
                return limb as u64 & ((1 << bits) - 1);
            }
        }
    }

    pub fn indexes(&mut self, count: usize, bits: usize) -> Vec<u64> {
        let low = bits.min(24);
        let mut index = || {
            let value = self.bits(low);
            value | self.bits(bits - low) << low
        };
        (0..count).map(|_| index()).collect()
    }

    pub fn work(&mut self, bits: u32, nonce: u32) -> bool {
        if self.taken > 0 {
            self.permute(ABSORB);
        }
        self.absorb(&[nonce]);
        self.permute(GRIND);
        self.squeeze() & ((1 << bits) - 1) == 0
    }

    pub fn fork(&self, index: u64) -> Sponge {
        let mut child = self.clone();
        child.permute(FORK);
        child.absorb_integer(index);
        child
    }

    pub fn end(&self) -> Digest {
        let mut end = self.clone();
        end.permute(JOIN);
        digest(&end.state)
    }

    pub fn join(&mut self, ends: &[Digest]) {
        for end in ends {
            self.absorb(end);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The numbers of docs/proof-format.md.
    #[test]
    fn known_numbers() {
        assert_eq!(CONSTANTS.first[0][..3], [1988864850, 1893772157, 1025928330]);
        let mut state = core::array::from_fn(|i| i as u32);
        permute(&mut state);
        assert_eq!(state[..4], [187465786, 1528751313, 1237758435, 752625676]);
    }

    #[test]
    fn greatest_numbers() {
        let mut state = [P - 1; WIDTH];
        permute(&mut state);
        assert!(state.iter().all(|&x| x < P));
    }
}
