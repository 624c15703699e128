//! Hash suites: what keys and proofs are hashed with, and their transcripts (docs/proof-format.md, "Hash suites").

pub mod blake3;
mod keyed;
pub mod poseidon2;

use crate::error::{Result, require};
use crate::field::{K, P};
use crate::values;
use crate::wire;
use alloc::vec::Vec;
use core::fmt;

/// A digest is eight words.
pub type Digest = [u32; 8];

#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub enum Suite {
    #[default]
    Blake3,
    Poseidon2,
}

impl fmt::Display for Suite {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Suite::Blake3 => "blake3",
            Suite::Poseidon2 => "poseidon2",
        })
    }
}

impl Suite {
    /// The suite of a number in a key or a header.
    pub fn read(value: &wire::Value) -> Result<Suite> {
        Ok([Suite::Blake3, Suite::Poseidon2][value.number(wire::enumeration(2))? as usize])
    }

    /// The rows of a group of fixed tensors at most, and those of a group of a chunk's witness.
    pub fn group_rows(self, fixed: bool) -> u64 {
        match self {
            Suite::Poseidon2 if fixed => 512,
            Suite::Poseidon2 => u64::MAX,
            Suite::Blake3 => blake3::GROUP as u64,
        }
    }

    /// The words of a stream: limbs, and those of digests.
    pub fn words(self, stream: &[u8]) -> Result<Vec<u32>> {
        match self {
            Suite::Poseidon2 => values::limbs(stream),
            Suite::Blake3 => {
                require!(stream.len() % 4 == 0, "a stream that is no sequence of limbs");
                Ok(stream.chunks_exact(4).map(|w| u32::from_le_bytes([w[0], w[1], w[2], w[3]])).collect())
            }
        }
    }

    /// The first word that no digest has: those of poseidon2 consist of limbs; any words are one of blake3.
    pub fn wrong_word(self, digest: &[u32]) -> Option<usize> {
        digest.iter().position(|&word| self == Suite::Poseidon2 && word >= P)
    }

    /// The digest of a column of a public tensor.
    pub fn hash_public(self, column: &[u32]) -> Digest {
        match self {
            Suite::Poseidon2 => poseidon2::message(column),
            Suite::Blake3 => blake3::hash(&blake3::PUBLIC_COLUMN, column),
        }
    }

    /// The digest of a leaf whose limbs are in groups of these lengths.
    pub fn hash_leaf(self, limbs: &[u32], groups: &[usize]) -> Digest {
        match self {
            Suite::Poseidon2 => poseidon2::leaf(limbs, groups),
            Suite::Blake3 => blake3::leaf(limbs, groups),
        }
    }

    /// The same of a leaf with a salt.
    pub fn hash_salted(self, salt: &Digest, limbs: &[u32], groups: &[usize]) -> Digest {
        match self {
            Suite::Poseidon2 => poseidon2::salted(salt, limbs, groups),
            Suite::Blake3 => blake3::salted(salt, limbs, groups),
        }
    }

    /// The node over two.
    pub fn node(self, left: &Digest, right: &Digest) -> Digest {
        match self {
            Suite::Poseidon2 => poseidon2::node(left, right),
            Suite::Blake3 => blake3::node(left, right),
        }
    }
}

/// What challenges are drawn from: everything that was absorbed before.
#[derive(Clone)]
pub enum Transcript {
    Poseidon2(poseidon2::Sponge),
    Blake3(blake3::Chain),
}

macro_rules! each {
    ($self:ident, $t:ident => $($call:tt)*) => {
        match $self {
            Transcript::Poseidon2($t) => $($call)*,
            Transcript::Blake3($t) => $($call)*,
        }
    };
}

impl Transcript {
    pub fn new(suite: Suite) -> Transcript {
        match suite {
            Suite::Poseidon2 => Transcript::Poseidon2(poseidon2::Sponge::default()),
            Suite::Blake3 => Transcript::Blake3(blake3::Chain::default()),
        }
    }

    pub fn absorb(&mut self, limbs: &[u32]) {
        each!(self, t => t.absorb(limbs))
    }

    pub fn absorb_digest(&mut self, digest: &Digest) {
        each!(self, t => t.absorb_digest(digest))
    }

    pub fn absorb_integer(&mut self, n: u64) {
        each!(self, t => t.absorb_integer(n))
    }

    pub fn absorb_bytes(&mut self, bytes: &[u8]) {
        each!(self, t => t.absorb_bytes(bytes))
    }

    /// So many elements of K, all of one draw.
    pub fn challenges(&mut self, count: usize) -> Vec<K> {
        if count == 0 {
            return Vec::new();
        }
        each!(self, t => t.challenges(count))
    }

    pub fn challenge(&mut self) -> K {
        self.challenges(1)[0]
    }

    /// So many numbers of these bits.
    pub fn indexes(&mut self, count: usize, bits: usize) -> Vec<u64> {
        each!(self, t => t.indexes(count, bits))
    }

    /// Whether a nonce does the work of so many bits, more than 0; and absorbs it.
    pub fn work(&mut self, bits: u32, nonce: u32) -> bool {
        each!(self, t => t.work(bits, nonce))
    }

    pub fn fork(&mut self, index: u64) -> Transcript {
        match self {
            Transcript::Poseidon2(t) => Transcript::Poseidon2(t.fork(index)),
            Transcript::Blake3(t) => Transcript::Blake3(t.fork(index)),
        }
    }

    /// Absorbs what forks have come to.
    pub fn join(&mut self, ends: &[Digest]) {
        each!(self, t => t.join(ends))
    }

    /// What a fork has come to.
    pub fn end(&mut self) -> Digest {
        each!(self, t => t.end())
    }
}
