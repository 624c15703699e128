//! Streams: what the prover wrote for the transcript (docs/proof-format.md, "Streams and the transcript").

use crate::error::{Kind, Result, fail, require};
use crate::field::{K, P};
use crate::hash::{Digest, Suite, Transcript};
use crate::proof::{Due, Reader};
use alloc::vec::Vec;

/// A sequence of words. What is sent is absorbed by the transcript as it is read; hints are not.
pub struct Stream {
    pub transcript: Transcript,
    words: Vec<u32>,
    at: usize,
    suite: Suite,
}

impl Stream {
    pub fn new(suite: Suite, transcript: Transcript, reader: &mut Reader, due: Due) -> Result<Stream> {
        let words = suite.words(reader.stream(due)?).map_err(|e| e.within(due).of(Kind::Proof))?;
        Ok(Stream::of(suite, transcript, words))
    }

    /// The stream of these words.
    pub fn of(suite: Suite, transcript: Transcript, words: Vec<u32>) -> Stream {
        Stream { transcript, words, at: 0, suite }
    }

    fn take(&mut self, count: usize) -> Result<core::ops::Range<usize>> {
        let from = self.at;
        let left = self.words.len() - from;
        if count > left {
            return fail!("proof is truncated: {} bytes wanted at byte {}, {} left", 4 * count as u64, 4 * from, 4 * left);
        }
        self.at += count;
        Ok(from..self.at)
    }

    /// Limbs that are not absorbed.
    pub fn hints(&mut self, count: usize) -> Result<&[u32]> {
        let range = self.take(count)?;
        let limbs = &self.words[range];
        let most = limbs.iter().fold(0, |most, &limb| most.max(limb));
        if most >= P {
            return not_below(self.at - count);
        }
        Ok(limbs)
    }

    /// A digest that is not absorbed.
    pub fn digest_hint(&mut self) -> Result<Digest> {
        let range = self.take(8)?;
        let words = &self.words[range];
        if let Some(i) = self.suite.wrong_word(words) {
            return not_below(self.at - 8 + i);
        }
        Ok(core::array::from_fn(|i| words[i]))
    }

    /// So many digests behind so many words that have not been read yet.
    pub fn digests_ahead(&self, behind: usize, count: usize) -> Result<Vec<Digest>> {
        let from = self.at + behind;
        let Some(words) = self.words.get(from..from + 8 * count) else {
            return fail!("proof is truncated: {} digests wanted at byte {}", count, 4 * from as u64);
        };
        if let Some(i) = self.suite.wrong_word(words) {
            return not_below(from + i);
        }
        Ok(words.chunks_exact(8).map(|w| core::array::from_fn(|i| w[i])).collect())
    }

    /// Words that were read ahead.
    pub fn skip(&mut self, count: usize) -> Result<()> {
        self.take(count).map(drop)
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

    /// A proof of work.
    pub fn check_work(&mut self, bits: u32) -> Result<()> {
        if bits > 0 {
            let nonce = self.hints(1)?[0];
            require!(
                self.transcript.work(bits, nonce),
                "proof has a nonce that fails its proof of work of {bits} bits, at byte {}",
                4 * self.at - 4
            );
        }
        Ok(())
    }

    /// Every word must have been used.
    pub fn end(&self) -> Result<()> {
        let rest = self.words.len() - self.at;
        require!(rest == 0, "proof has bytes left over: {} at byte {}", 4 * rest, 4 * self.at);
        Ok(())
    }
}

fn not_below<T>(word: usize) -> Result<T> {
    fail!("proof has a limb that is not below 2^31 - 1, at byte {}", 4 * word)
}
