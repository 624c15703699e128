//! BLAKE3 in its keyed mode, of messages in words: a message is some words and how many bytes of them count, as a stream has
//! words, and a machine of 32 bits loads them as they are. Bytes of the last word that do not count are zero.

use super::Digest;

/// A key, as bytes and as words.
pub struct Use {
    pub bytes: [u8; 32],
    pub words: Digest,
}

/// The words of one chunk of BLAKE3.
pub const CHUNK: usize = 256;

#[cfg(target_pointer_width = "64")]
pub use library::{Draws, hash};
#[cfg(not(target_pointer_width = "64"))]
pub use small::{Draws, hash};

/// The library's, which has vector instructions.
#[cfg(target_pointer_width = "64")]
mod library {
    use super::{CHUNK, Digest, Use};
    use alloc::boxed::Box;
    use alloc::vec;
    use blake3::Hasher;

    fn words<const N: usize>(bytes: &[u8]) -> [u32; N] {
        core::array::from_fn(|i| u32::from_le_bytes([bytes[4 * i], bytes[4 * i + 1], bytes[4 * i + 2], bytes[4 * i + 3]]))
    }

    /// Calls `visit` with the bytes of a message, in pieces of many chunks.
    fn pieces(message: &[u32], length: usize, mut visit: impl FnMut(&[u8])) {
        let put = |room: &mut [u8], part: &[u32]| {
            room.chunks_exact_mut(4).zip(part).for_each(|(four, word)| four.copy_from_slice(&word.to_le_bytes()));
        };
        if message.len() <= CHUNK {
            let mut room = [0; 4 * CHUNK];
            put(&mut room, message);
            return visit(&room[..length]);
        }
        let (mut room, mut left) = (vec![0; 64 * CHUNK], length);
        for part in message.chunks(room.len() / 4) {
            put(&mut room, part);
            let own = left.min(4 * part.len());
            visit(&room[..own]);
            left -= own;
        }
    }

    /// The keyed hash of a message.
    pub fn hash(key: &Use, message: &[u32], length: usize) -> Digest {
        if message.len() <= CHUNK {
            let mut digest = [0; 8];
            pieces(message, length, |bytes| digest = words(blake3::keyed_hash(&key.bytes, bytes).as_bytes()));
            return digest;
        }
        let mut hasher = Hasher::new_keyed(&key.bytes);
        pieces(message, length, |bytes| {
            hasher.update(bytes);
        });
        words(hasher.finalize().as_bytes())
    }

    /// What makes outputs of any length with one key.
    #[derive(Clone)]
    pub struct Draws(Box<Hasher>); // used again and again: it is large

    impl Draws {
        pub fn new(key: &'static Use) -> Draws {
            Draws(Box::new(Hasher::new_keyed(&key.bytes)))
        }

        /// What gives the output for a message, 16 words at a time.
        pub fn output(&mut self, message: &[u32], length: usize) -> impl FnMut() -> [u32; 16] + use<> {
            self.0.reset();
            pieces(message, length, |bytes| {
                self.0.update(bytes);
            });
            let mut reader = self.0.finalize_xof();
            move || {
                let mut block = [0; 64];
                reader.fill(&mut block);
                words(&block)
            }
        }
    }
}

/// One for machines of 32 bits on which every instruction costs: words are taken from where they are, and nothing is made
/// ready for more input.
#[cfg(any(test, not(target_pointer_width = "64")))]
mod small {
    use super::{CHUNK, Digest, Use};
    use alloc::vec::Vec;

    const IV: [u32; 4] = [0x6a09_e667, 0xbb67_ae85, 0x3c6e_f372, 0xa54f_f53a];
    const ORDER: [usize; 16] = [2, 6, 3, 10, 7, 0, 4, 13, 1, 11, 12, 5, 9, 14, 15, 8];

    // Flags.
    const START: u32 = 1;
    const END: u32 = 2;
    const PARENT: u32 = 4;
    const ROOT: u32 = 8;
    const KEYED: u32 = 16;

    /// The place of each word of a block in each round.
    const PLACES: [[usize; 16]; 7] = {
        let (mut all, mut round) = ([[0; 16]; 7], 0);
        while round < 7 {
            let mut i = 0;
            while i < 16 {
                all[round][i] = if round == 0 { i } else { all[round - 1][ORDER[i]] };
                i += 1;
            }
            round += 1;
        }
        all
    };

    #[inline(always)]
    fn quarter(v: &mut [u32; 16], [a, b, c, d]: [usize; 4], x: u32, y: u32) {
        v[a] = v[a].wrapping_add(v[b]).wrapping_add(x);
        v[d] = (v[d] ^ v[a]).rotate_right(16);
        v[c] = v[c].wrapping_add(v[d]);
        v[b] = (v[b] ^ v[c]).rotate_right(12);
        v[a] = v[a].wrapping_add(v[b]).wrapping_add(y);
        v[d] = (v[d] ^ v[a]).rotate_right(8);
        v[c] = v[c].wrapping_add(v[d]);
        v[b] = (v[b] ^ v[c]).rotate_right(7);
    }

    #[inline(always)]
    fn round<const N: usize>(v: &mut [u32; 16], m: &[u32; 16]) {
        let at = |i: usize| m[PLACES[N][i]];
        quarter(v, [0, 4, 8, 12], at(0), at(1));
        quarter(v, [1, 5, 9, 13], at(2), at(3));
        quarter(v, [2, 6, 10, 14], at(4), at(5));
        quarter(v, [3, 7, 11, 15], at(6), at(7));
        quarter(v, [0, 5, 10, 15], at(8), at(9));
        quarter(v, [1, 6, 11, 12], at(10), at(11));
        quarter(v, [2, 7, 8, 13], at(12), at(13));
        quarter(v, [3, 4, 9, 14], at(14), at(15));
    }

    /// A block and what it is compressed with.
    struct Block<'b> {
        chain: &'b Digest,
        words: &'b [u32; 16],
        counter: u64,
        length: u32,
        flags: u32,
    }

    impl Block<'_> {
        #[inline(always)]
        fn rounds(&self) -> [u32; 16] {
            let [a, b, c, d, e, f, g, h] = *self.chain;
            let [i, j, k, l] = IV;
            let (low, high) = (self.counter as u32, (self.counter >> 32) as u32);
            let mut v = [a, b, c, d, e, f, g, h, i, j, k, l, low, high, self.length, self.flags];
            round::<0>(&mut v, self.words);
            round::<1>(&mut v, self.words);
            round::<2>(&mut v, self.words);
            round::<3>(&mut v, self.words);
            round::<4>(&mut v, self.words);
            round::<5>(&mut v, self.words);
            round::<6>(&mut v, self.words);
            v
        }

        /// The next chaining value.
        #[inline(never)]
        fn compress(&self) -> Digest {
            let v = self.rounds();
            core::array::from_fn(|i| v[i] ^ v[i + 8])
        }

        /// A block of output.
        #[inline(never)]
        fn output(&self) -> [u32; 16] {
            let v = self.rounds();
            core::array::from_fn(|i| if i < 8 { v[i] ^ v[i + 8] } else { v[i] ^ self.chain[i - 8] })
        }
    }

    /// The last block of a part of the tree, which may be the root.
    struct Last {
        chain: Digest,
        words: [u32; 16],
        counter: u64,
        length: u32,
        flags: u32,
    }

    impl Last {
        fn block(&self) -> Block<'_> {
            let Last { ref chain, ref words, counter, length, flags } = *self;
            Block { chain, words, counter, length, flags }
        }

        /// That over two parts.
        fn parent(key: &Digest, left: &Digest, right: &Digest) -> Last {
            let words = core::array::from_fn(|i| if i < 8 { left[i] } else { right[i - 8] });
            Last { chain: *key, words, counter: 0, length: 64, flags: KEYED | PARENT }
        }

        /// That of a chunk of so many bytes.
        #[inline(always)]
        fn of_chunk(key: &Digest, message: &[u32], length: usize, counter: u64) -> Last {
            let (mut chain, mut rest, mut flags) = (*key, message, KEYED | START);
            while let Some((words, after)) = rest.split_first_chunk::<16>().filter(|(_, after)| !after.is_empty()) {
                chain = Block { chain: &chain, words, counter, length: 64, flags }.compress();
                (rest, flags) = (after, KEYED);
            }
            let mut words = [0; 16];
            words[..rest.len()].copy_from_slice(rest);
            let before = 4 * (message.len() - rest.len());
            Last { chain, words, counter, length: (length - before) as u32, flags: flags | END }
        }

        /// The root of a message's tree.
        fn of(key: &Digest, message: &[u32], length: usize) -> Last {
            let (mut rest, mut chunks, mut trees): (_, u64, Vec<Digest>) = (message, 0, Vec::new());
            while rest.len() > CHUNK {
                let (chunk, after) = rest.split_at(CHUNK);
                let mut digest = Last::of_chunk(key, chunk, 4 * CHUNK, chunks).block().compress();
                (rest, chunks) = (after, chunks + 1);
                // A tree for each bit of the number of chunks.
                for _ in 0..chunks.trailing_zeros() {
                    let left = trees.pop().unwrap_or_default();
                    digest = Last::parent(key, &left, &digest).block().compress();
                }
                trees.push(digest);
            }
            let mut last = Last::of_chunk(key, rest, length - 4 * (message.len() - rest.len()), chunks);
            while let Some(left) = trees.pop() {
                last = Last::parent(key, &left, &last.block().compress());
            }
            (last.counter, last.flags) = (0, last.flags | ROOT);
            last
        }
    }

    /// The keyed hash of a message.
    pub fn hash(key: &Use, message: &[u32], length: usize) -> Digest {
        if let (Ok(words), 64) = (message.try_into(), length) {
            return Block { chain: &key.words, words, counter: 0, length: 64, flags: KEYED | START | END | ROOT }.compress();
        }
        Last::of(&key.words, message, length).block().compress()
    }

    /// What makes outputs of any length with one key.
    #[derive(Clone)]
    pub struct Draws(&'static Use);

    impl Draws {
        pub fn new(key: &'static Use) -> Draws {
            Draws(key)
        }

        /// What gives the output for a message, 16 words at a time.
        pub fn output(&mut self, message: &[u32], length: usize) -> impl FnMut() -> [u32; 16] + use<> {
            let mut root = Last::of(&self.0.words, message, length);
            move || {
                let block = root.block().output();
                root.counter += 1;
                block
            }
        }
    }
}

#[cfg(all(test, target_pointer_width = "64"))]
mod tests {
    use super::super::blake3::NODE;
    use super::*;
    use alloc::vec::Vec;

    /// Both say the same of messages of any length.
    #[test]
    fn implementations_agree() {
        let lengths = (0..200usize).chain((0..12).map(|i| 1024 * i)).chain([1023, 1025, 3071, 3073, 70_000, 5 * 65_536 + 3]);
        for length in lengths {
            let mut message: Vec<u32> = (0..length.div_ceil(4) as u32).map(|i: u32| i.wrapping_mul(0x9e37_79b9) ^ i << 7).collect();
            if let (Some(last), true) = (message.last_mut(), length % 4 > 0) {
                *last &= (1 << (8 * (length % 4))) - 1;
            }
            let bytes: Vec<u8> = message.iter().flat_map(|w| w.to_le_bytes()).take(length).collect();
            let want = blake3::keyed_hash(&NODE.bytes, &bytes);
            for digest in [library::hash(&NODE, &message, length), small::hash(&NODE, &message, length)] {
                assert!(digest.iter().flat_map(|w| w.to_le_bytes()).eq(*want.as_bytes()), "{length} bytes");
            }
            let (mut draws, mut small) = (library::Draws::new(&NODE), small::Draws::new(&NODE));
            let (mut a, mut b) = (draws.output(&message, length), small.output(&message, length));
            (0..3).for_each(|_| assert_eq!(a(), b(), "{length} bytes"));
        }
    }
}
