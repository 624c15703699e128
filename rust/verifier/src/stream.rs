//! Streams: what the prover wrote for the transcript (docs/proof-format.md, "Streams and the transcript").

use crate::error::{Kind, Result, fail, require};
use crate::field::{K, P};
use crate::hash::{Digest, Suite, Transcript};
use alloc::vec::Vec;

/// A sequence of words. What is sent is absorbed by the transcript as it is read; hints are not.
pub struct Stream {
    pub transcript: Transcript,
    words: Vec<u32>,
    at: usize,
    suite: Suite,
}

impl Stream {
    pub fn new(suite: Suite, transcript: Transcript, stream: &[u8]) -> Result<Stream> {
        let words = suite.words(stream).map_err(|e| e.of(Kind::Proof))?;
        Ok(Stream { transcript, words, at: 0, suite })
    }

    fn take(&mut self, count: usize) -> Result<core::ops::Range<usize>> {
        let from = self.at;
        if count > self.words.len() - from {
            return fail!("a stream of {} words, which is too short", self.words.len());
        }
        self.at += count;
        Ok(from..self.at)
    }

    /// Limbs that are not absorbed.
    pub fn hints(&mut self, count: usize) -> Result<&[u32]> {
        let range = self.take(count)?;
        let limbs = &self.words[range];
        let most = limbs.iter().fold(0, |most, &limb| most.max(limb));
        require!(most < P, "an element of F that is not below p");
        Ok(limbs)
    }

    /// A digest that is not absorbed.
    pub fn digest_hint(&mut self) -> Result<Digest> {
        let range = self.take(8)?;
        let words = &self.words[range];
        self.suite.check_digest(words)?;
        Ok(core::array::from_fn(|i| words[i]))
    }

    fn sent<const N: usize>(&mut self) -> Result<[u32; N]> {
        let limbs = self.hints(N)?;
        let limbs = core::array::from_fn(|i| limbs[i]);
        self.transcript.absorb(&limbs);
        Ok(limbs)
    }

    /// An element of F, sent.
    pub fn limb(&mut self) -> Result<u32> {
        self.sent::<1>().map(|[limb]| limb)
    }

    /// An element of K, sent.
    pub fn element(&mut self) -> Result<K> {
        self.sent::<4>().map(K)
    }

    pub fn elements<const N: usize>(&mut self) -> Result<[K; N]> {
        let mut list = [K::default(); N];
        for x in &mut list {
            *x = self.element()?;
        }
        Ok(list)
    }

    pub fn many(&mut self, count: usize) -> Result<Vec<K>> {
        (0..count).map(|_| self.element()).collect()
    }

    /// A digest, sent.
    pub fn digest(&mut self) -> Result<Digest> {
        let digest = self.digest_hint()?;
        self.transcript.absorb_digest(&digest);
        Ok(digest)
    }

    /// A proof of work before what `what` names.
    pub fn check_work(&mut self, bits: u32, what: impl core::fmt::Display) -> Result<()> {
        if bits > 0 {
            let nonce = self.hints(1)?[0];
            require!(self.transcript.work(bits, nonce), "{what}: the proof of work of {bits} bits fails");
        }
        Ok(())
    }

    /// Every word must have been used.
    pub fn end(&self) -> Result<()> {
        let rest = self.words.len() - self.at;
        require!(rest == 0, "a stream of {} words, of which {rest} are too many", self.words.len());
        Ok(())
    }
}
