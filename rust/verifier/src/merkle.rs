//! Merkle openings (docs/proof-format.md, "Streams and the transcript").

use crate::error::{Result, require};
use crate::hash::{Digest, Suite};
use crate::stream::Stream;
use alloc::vec::Vec;

/// Digests of leaves at increasing positions of a tree lead to its root; siblings that are missing are hints.
pub fn check(stream: &mut Stream, suite: Suite, root: &Digest, depth: usize, leaves: Vec<(u64, Digest)>) -> Result<()> {
    let mut known = leaves;
    for _ in 0..depth {
        let (mut from, mut to) = (0, 0);
        while from < known.len() {
            let (position, digest) = known[from];
            from += 1;
            let parent = if position & 1 == 1 {
                suite.node(&stream.digest_hint()?, &digest)
            } else if let Some((_, right)) = known.get(from).filter(|(p, _)| *p == position + 1) {
                from += 1;
                suite.node(&digest, right)
            } else {
                suite.node(&digest, &stream.digest_hint()?)
            };
            known[to] = (position >> 1, parent);
            to += 1;
        }
        known.truncate(to);
    }
    require!(known.iter().all(|(_, digest)| digest == root), "the Merkle path does not lead to the root");
    Ok(())
}
