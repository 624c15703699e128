//! The hash suite blake3: BLAKE3 in its keyed mode, with a key for each use.

use super::Digest;
use super::keyed::{self, CHUNK, Draws, Use};
use crate::field::{K, P};
use alloc::vec::Vec;

/// The most rows of a group: their part of a column is one chunk of BLAKE3.
pub const GROUP: usize = CHUNK;

// The keys: derive_key of "prove-model blake3 v1: " and the use, written down so that nobody has to derive it at run time.

pub static COLUMN: Use = key("94723c83b3f107c3cad047792d9d4830742dbc38de4e8cac38598320fb9ccde5");
pub static GROUPS: Use = key("797e8881779a2b5c4e54b717bbe6dce8fa6e5aec7211c20f4a37e5c5577887d6");
pub static NODE: Use = key("b13e035b51b896e5477b15eb1cb64e9cecca880ab527c2d6f1bea0ee5c12f2a6");
pub static PUBLIC_COLUMN: Use = key("67243a26acfa2266fe2cb2b9253da39b8bde2c5824abb9618690af50cb95b35b");
pub static SALTED_LEAF: Use = key("07c732f068bbbb3dafc96e1e86fd678a8bc76f72127afc1be2f263d0d299c09f");
pub static DRAW: Use = key("de732a2873de7b54ee99fbfed40764ad3f9e5b721aee24e3298c973e7c0a9f47");
pub static MOVE: Use = key("a5ad9446ae7561ea0cf1908fd24173b3bc8c9f34c48118aa997dd6f572605e3e");
pub static FORK: Use = key("b7714f51d4f15dc5b1ed649a957022de438f19a289203c1821e86fd270565313");
pub static JOIN: Use = key("e361626bafdb9b4021b0628b06e114ece143542ab7071382fbb8fc5c46643399");
pub static WORK: Use = key("78f3933b11a42e3dd57c843518bd43350c5b3662687891359f1c1c11d687f9d6");

const fn key(digits: &str) -> Use {
    const fn value(digit: u8) -> u8 {
        if digit >= b'a' { digit - b'a' + 10 } else { digit - b'0' }
    }
    let (digits, mut i) = (digits.as_bytes(), 0);
    let mut of = Use { bytes: [0; 32], words: [0; 8] };
    while i < 32 {
        of.bytes[i] = value(digits[2 * i]) << 4 | value(digits[2 * i + 1]);
        of.words[i / 4] |= (of.bytes[i] as u32) << (8 * (i % 4));
        i += 1;
    }
    of
}

/// The keyed hash of words.
pub fn hash(key: &Use, message: &[u32]) -> Digest {
    keyed::hash(key, message, 4 * message.len())
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
    let both: [u32; 16] = core::array::from_fn(|i| if i < 8 { left[i] } else { right[i - 8] });
    hash(&NODE, &both)
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
    pending: Vec<u32>, // the state, and behind it the items that were absorbed since it last moved
    length: usize,     // of these, in bytes; those of the last word that do not count are zero
    last: Option<Item>,
    draws: Draws,
}

/// The last item: its head is the type and the number of what it consists of, in 9 bytes.
#[derive(Clone)]
struct Item {
    at: usize, // its first byte
    kind: u8,
    count: u64,
}

impl Default for Chain {
    fn default() -> Chain {
        Chain::of([0; 8])
    }
}

impl Chain {
    fn of(state: Digest) -> Chain {
        Chain { pending: state.to_vec(), length: 32, last: None, draws: Draws::new(&DRAW) }
    }

    /// Begins an item of a type, or goes on with the last one; the content is appended.
    fn item(&mut self, kind: u8, count: u64) {
        match &mut self.last {
            Some(last) if last.kind == kind && kind <= INTEGERS => last.count += count,
            _ => {
                self.put_count();
                self.last = Some(Item { at: self.length, kind, count });
                self.byte(kind);
                self.words(&[0, 0]); // for the count
            }
        }
    }

    /// Writes down how long the last item is.
    fn put_count(&mut self) {
        let Some(Item { at, count, .. }) = self.last else { return };
        for (i, byte) in count.to_le_bytes().into_iter().enumerate() {
            let (word, shift) = ((at + 1 + i) / 4, 8 * ((at + 1 + i) % 4));
            self.pending[word] = self.pending[word] & !(0xff << shift) | (byte as u32) << shift;
        }
    }

    fn byte(&mut self, byte: u8) {
        match (self.length % 4, self.pending.last_mut()) {
            (1.., Some(last)) => *last |= (byte as u32) << (8 * (self.length % 4)),
            _ => self.pending.push(byte as u32),
        }
        self.length += 1;
    }

    fn words(&mut self, words: &[u32]) {
        match (self.length % 4, self.pending.last_mut()) {
            (1.., Some(last)) => {
                let shift = 8 * (self.length % 4);
                // What of a word has no room in the last one begins the next one.
                let mut begun = *last;
                self.pending.pop();
                self.pending.extend(words.iter().map(|&word| {
                    let full = begun | word << shift;
                    begun = word >> (32 - shift);
                    full
                }));
                self.pending.push(begun);
            }
            _ => self.pending.extend_from_slice(words),
        }
        self.length += 4 * words.len();
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
        self.words(&[n as u32, (n >> 32) as u32]);
    }

    pub fn absorb_bytes(&mut self, bytes: &[u8]) {
        self.item(BYTES, bytes.len() as u64);
        bytes.iter().for_each(|&byte| self.byte(byte));
    }

    fn become_state(&mut self, state: &[u32]) {
        self.pending.clear();
        self.pending.extend_from_slice(state);
        (self.length, self.last) = (32, None);
    }

    /// Takes the next state, and returns what gives the output behind it.
    fn draw(&mut self) -> impl FnMut() -> u32 + use<> {
        self.put_count();
        let mut out = self.draws.output(&self.pending, self.length);
        let mut block = out();
        self.become_state(&block[..8]);
        let mut at = 8;
        move || {
            if at == block.len() {
                (block, at) = (out(), 0);
            }
            at += 1;
            block[at - 1]
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
    fn moved(&mut self) -> Digest {
        self.put_count();
        if self.last.is_some() { keyed::hash(&MOVE, &self.pending, self.length) } else { core::array::from_fn(|i| self.pending[i]) }
    }

    fn move_on(&mut self) {
        let state = self.moved();
        self.become_state(&state);
    }

    pub fn work(&mut self, bits: u32, nonce: u32) -> bool {
        self.move_on();
        let mut message = [0; 10];
        message[..8].copy_from_slice(&self.pending);
        message[8] = nonce;
        self.item(NONCE, 1);
        self.words(&[nonce, 0]);
        hash(&WORK, &message)[0].swap_bytes().leading_zeros() >= bits
    }

    pub fn fork(&mut self, index: u64) -> Chain {
        let mut message = [0; 10];
        message[..8].copy_from_slice(&self.moved());
        (message[8], message[9]) = (index as u32, (index >> 32) as u32);
        Chain::of(hash(&FORK, &message))
    }

    pub fn end(&mut self) -> Digest {
        hash(&JOIN, &self.moved())
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
            assert_eq!(key.bytes, blake3::derive_key(&format!("prove-model blake3 v1: {which}"), b""), "{which}");
        }
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
