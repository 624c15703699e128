//! The hash suite blake3: BLAKE3 in its keyed mode, with a key for each use.

use super::Digest;
use crate::field::{K, P};
use alloc::boxed::Box;
use alloc::vec::Vec;
use blake3::Hasher;

/// The most rows of a group: their part of a column is one chunk of BLAKE3.
pub const GROUP: usize = 256;

/// derive_key of "prove-model blake3 v1: " and the use, written down so that nobody has to derive it at run time.
pub struct Use([u8; 32]);

pub static COLUMN: Use = Use(hex("94723c83b3f107c3cad047792d9d4830742dbc38de4e8cac38598320fb9ccde5"));
pub static GROUPS: Use = Use(hex("797e8881779a2b5c4e54b717bbe6dce8fa6e5aec7211c20f4a37e5c5577887d6"));
pub static NODE: Use = Use(hex("b13e035b51b896e5477b15eb1cb64e9cecca880ab527c2d6f1bea0ee5c12f2a6"));
pub static PUBLIC_COLUMN: Use = Use(hex("67243a26acfa2266fe2cb2b9253da39b8bde2c5824abb9618690af50cb95b35b"));
pub static SALTED_LEAF: Use = Use(hex("07c732f068bbbb3dafc96e1e86fd678a8bc76f72127afc1be2f263d0d299c09f"));
pub static DRAW: Use = Use(hex("de732a2873de7b54ee99fbfed40764ad3f9e5b721aee24e3298c973e7c0a9f47"));
pub static MOVE: Use = Use(hex("a5ad9446ae7561ea0cf1908fd24173b3bc8c9f34c48118aa997dd6f572605e3e"));
pub static FORK: Use = Use(hex("b7714f51d4f15dc5b1ed649a957022de438f19a289203c1821e86fd270565313"));
pub static JOIN: Use = Use(hex("e361626bafdb9b4021b0628b06e114ece143542ab7071382fbb8fc5c46643399"));
pub static WORK: Use = Use(hex("78f3933b11a42e3dd57c843518bd43350c5b3662687891359f1c1c11d687f9d6"));

const fn hex(digits: &str) -> [u8; 32] {
    const fn value(digit: u8) -> u8 {
        if digit >= b'a' { digit - b'a' + 10 } else { digit - b'0' }
    }
    let (digits, mut bytes, mut i) = (digits.as_bytes(), [0; 32], 0);
    while i < 32 {
        bytes[i] = value(digits[2 * i]) << 4 | value(digits[2 * i + 1]);
        i += 1;
    }
    bytes
}

fn words(bytes: &[u8; 32]) -> Digest {
    core::array::from_fn(|i| u32::from_le_bytes([bytes[4 * i], bytes[4 * i + 1], bytes[4 * i + 2], bytes[4 * i + 3]]))
}

fn put(bytes: &mut [u8], words: &[u32]) {
    for (four, word) in bytes.chunks_exact_mut(4).zip(words) {
        four.copy_from_slice(&word.to_le_bytes());
    }
}

/// The keyed hash of words.
pub fn hash(key: &Use, message: &[u32]) -> Digest {
    let mut bytes = [0; 4 * GROUP];
    if message.len() <= GROUP {
        let bytes = &mut bytes[..4 * message.len()];
        put(bytes, message);
        return words(blake3::keyed_hash(&key.0, bytes).as_bytes());
    }
    let mut hasher = Hasher::new_keyed(&key.0);
    let mut bytes = alloc::vec![0; 16 * bytes.len()]; // many chunks at a time are faster
    for part in message.chunks(bytes.len() / 4) {
        let bytes = &mut bytes[..4 * part.len()];
        put(bytes, part);
        hasher.update(bytes);
    }
    words(hasher.finalize().as_bytes())
}

/// The digest of a leaf: that of its only group, or of the digests of all.
pub fn leaf(limbs: &[u32], groups: &[usize]) -> Digest {
    if groups.len() == 1 {
        return hash(&COLUMN, limbs);
    }
    let mut digests = Vec::with_capacity(8 * groups.len());
    columns(&mut digests, limbs, groups);
    hash(&GROUPS, &digests)
}

/// The digest of a leaf with a salt.
pub fn salted(salt: &Digest, limbs: &[u32], groups: &[usize]) -> Digest {
    let mut digests = Vec::with_capacity(8 * (groups.len() + 1));
    digests.extend_from_slice(salt);
    columns(&mut digests, limbs, groups);
    hash(&SALTED_LEAF, &digests)
}

/// Adds the digests of all groups.
fn columns(digests: &mut Vec<u32>, limbs: &[u32], groups: &[usize]) {
    let mut rest = limbs;
    for &rows in groups {
        let (group, after) = rest.split_at(rows);
        digests.extend_from_slice(&hash(&COLUMN, group));
        rest = after;
    }
}

pub fn node(left: &Digest, right: &Digest) -> Digest {
    let mut bytes = [0; 64];
    put(&mut bytes[..32], left);
    put(&mut bytes[32..], right);
    words(blake3::keyed_hash(&NODE.0, &bytes).as_bytes())
}

// Types of items.
const ELEMENTS: u8 = 1;
const DIGESTS: u8 = 2;
const INTEGERS: u8 = 3;
const BYTES: u8 = 4;
const NONCE: u8 = 5;
const ENDS: u8 = 6;

/// A transcript: a chain of hashes.
#[derive(Clone)]
pub struct Chain {
    pending: Vec<u8>,   // the state, and behind it the items that were absorbed since it last moved
    last: usize,        // where the last item begins, 0 if there is none
    draws: Box<Hasher>, // used again and again: it is large
}

impl Default for Chain {
    fn default() -> Chain {
        Chain::of([0; 32])
    }
}

impl Chain {
    fn of(state: [u8; 32]) -> Chain {
        Chain { pending: state.to_vec(), last: 0, draws: Box::new(Hasher::new_keyed(&DRAW.0)) }
    }

    /// Begins an item of a type, or goes on with the last one; the content is appended.
    fn item(&mut self, kind: u8, count: u64) {
        let goes_on = self.last > 0 && self.pending[self.last] == kind && kind <= INTEGERS;
        if !goes_on {
            self.last = self.pending.len();
            self.pending.push(kind);
            self.pending.extend_from_slice(&[0; 8]);
        }
        let number = &mut self.pending[self.last + 1..self.last + 9];
        let before = number.iter().rev().fold(0, |n, &byte| n << 8 | byte as u64);
        number.copy_from_slice(&(before + count).to_le_bytes());
    }

    fn words(&mut self, words: &[u32]) {
        self.pending.reserve(4 * words.len());
        for word in words {
            self.pending.extend_from_slice(&word.to_le_bytes());
        }
    }

    pub fn absorb(&mut self, limbs: &[u32]) {
        if !limbs.is_empty() {
            self.item(ELEMENTS, limbs.len() as u64);
            self.words(limbs);
        }
    }

    pub fn absorb_digest(&mut self, digest: &Digest) {
        self.item(DIGESTS, 1);
        self.words(digest);
    }

    pub fn absorb_integer(&mut self, n: u64) {
        self.item(INTEGERS, 1);
        self.pending.extend_from_slice(&n.to_le_bytes());
    }

    pub fn absorb_bytes(&mut self, bytes: &[u8]) {
        self.item(BYTES, bytes.len() as u64);
        self.pending.extend_from_slice(bytes);
    }

    fn become_state(&mut self, state: [u8; 32]) {
        self.pending.clear();
        self.pending.extend_from_slice(&state);
        self.last = 0;
    }

    /// Takes the next state, and returns what gives the output behind it.
    fn draw(&mut self) -> impl FnMut() -> u32 + use<> {
        let mut out = self.draws.reset().update(&self.pending).finalize_xof();
        let mut block = [0; 64];
        out.fill(&mut block);
        let mut state = [0; 32];
        state.copy_from_slice(&block[..32]);
        self.become_state(state);
        let mut at = 32;
        move || {
            if at == block.len() {
                out.fill(&mut block);
                at = 0;
            }
            at += 4;
            u32::from_le_bytes([block[at - 4], block[at - 3], block[at - 2], block[at - 1]])
        }
    }

    pub fn challenges(&mut self, count: usize) -> Vec<K> {
        let mut word = self.draw();
        let mut limb = || loop {
            let limb = word() & P;
            if limb < P {
                return limb;
            }
        };
        (0..count).map(|_| K(core::array::from_fn(|_| limb()))).collect()
    }

    pub fn indexes(&mut self, count: usize, bits: usize) -> Vec<u64> {
        let mut word = self.draw();
        let mut index = || word() as u64 | (word() as u64) << 32;
        (0..count).map(|_| index() & ((1 << bits) - 1)).collect()
    }

    /// The state after moving on over everything pending.
    fn moved(&self) -> [u8; 32] {
        if self.last > 0 { *blake3::keyed_hash(&MOVE.0, &self.pending).as_bytes() } else { self.state() }
    }

    fn state(&self) -> [u8; 32] {
        core::array::from_fn(|i| self.pending[i])
    }

    fn move_on(&mut self) {
        let state = self.moved();
        self.become_state(state);
    }

    pub fn work(&mut self, bits: u32, nonce: u32) -> bool {
        self.move_on();
        let nonce = (nonce as u64).to_le_bytes();
        self.pending.extend_from_slice(&nonce);
        let found = blake3::keyed_hash(&WORK.0, &self.pending);
        self.pending.truncate(32);
        self.item(NONCE, 1);
        self.pending.extend_from_slice(&nonce);
        let [a, b, c, d, ..] = *found.as_bytes();
        u32::from_be_bytes([a, b, c, d]).leading_zeros() >= bits
    }

    pub fn fork(&self, index: u64) -> Chain {
        let mut message = [0; 40];
        message[..32].copy_from_slice(&self.moved());
        message[32..].copy_from_slice(&index.to_le_bytes());
        Chain::of(*blake3::keyed_hash(&FORK.0, &message).as_bytes())
    }

    pub fn end(&self) -> Digest {
        words(blake3::keyed_hash(&JOIN.0, &self.moved()).as_bytes())
    }

    pub fn join(&mut self, ends: &[Digest]) {
        self.move_on();
        self.item(ENDS, ends.len() as u64);
        for end in ends {
            self.words(end);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::format;

    #[test]
    fn keys_are_derived() {
        for (key, which) in [
            (&COLUMN, "column"),
            (&GROUPS, "groups"),
            (&NODE, "node"),
            (&PUBLIC_COLUMN, "public column"),
            (&SALTED_LEAF, "salted leaf"),
            (&DRAW, "transcript, draw"),
            (&MOVE, "transcript, move"),
            (&FORK, "transcript, fork"),
            (&JOIN, "transcript, join"),
            (&WORK, "transcript, work"),
        ] {
            assert_eq!(key.0, blake3::derive_key(&format!("prove-model blake3 v1: {which}"), b""), "{which}");
        }
    }

    /// Long messages are hashed in pieces.
    #[test]
    fn pieces_are_one_message() {
        let message: Vec<u32> = (0..10_000).collect();
        let bytes: Vec<u8> = message.iter().flat_map(|w| w.to_le_bytes()).collect();
        assert_eq!(hash(&NODE, &message), words(blake3::keyed_hash(&NODE.0, &bytes).as_bytes()));
    }

    /// What is absorbed in one piece or in several is the same item, but not across a draw.
    #[test]
    fn items_go_on() {
        let (mut a, mut b) = (Chain::default(), Chain::default());
        a.absorb(&[1, 2, 3]);
        b.absorb(&[1]);
        b.absorb(&[]);
        b.absorb(&[2, 3]);
        assert_eq!(a.challenges(2), b.challenges(2));
        a.absorb_bytes(b"");
        assert_ne!(a.challenges(1), b.challenges(1));
    }
}
