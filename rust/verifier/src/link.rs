//! Links of two keys that hide the same weights (docs/proof-format.md, "The link file").

use crate::cost;
use crate::error::{Kind, Result, fail, require};
use crate::field::{K, ZERO};
use crate::hash::Transcript;
use crate::key::{Key, check_version, sha256};
use crate::layout::Table;
use crate::proof::{MOST_LEVELS, level};
use crate::soundness::{self, Level, Rounds, Security, Strength};
use crate::stream::Stream;
use crate::verify::Hex;
use crate::whir::{self, Claimed};
use crate::wire::{self, Decoder, Field, bytes, messages, number};
use alloc::vec::Vec;

/// The first bytes of a link's file.
const MAGIC: &[u8] = b"PM.lnk\r\n";
const LABEL: &[u8] = b"prove-model link";
/// The most bytes that the file of a link may have.
pub const MOST_BYTES: usize = 1 << 28;

struct Link<'a> {
    keys: [[u8; 32]; 2],
    levels: Vec<Level>,
    head: &'a [u8], // all but the stream
    stream: &'a [u8],
}

/// Checks that two keys hide the same weights, of the same circuit, by a file that `prove-model commit --renew` wrote: the former key, the
/// one that takes its place, the link. Returns the strength of the weakest challenge, which is so many bits at least.
pub fn check_link(first: &[u8], second: &[u8], link: &[u8], min_bits: u32) -> Result<Strength> {
    let (first, second) = (Key::read(first)?, Key::read(second)?);
    let link = read(link).map_err(|e| e.of(Kind::Proof))?;
    let strength = verify(&first, &second, &link)?;
    strength.require(min_bits).map_err(|e| e.of(Kind::Policy))?;
    Ok(strength)
}

static LINK: [Field; 5] = [number("version"), bytes("first"), bytes("second"), messages("levels"), bytes("body")];
const BODY: u64 = 5;

fn read(file: &[u8]) -> Result<Link<'_>> {
    let Some(body) = file.strip_prefix(MAGIC).filter(|_| file.len() <= MOST_BYTES) else { return fail!("it is none") };
    decode(body).map_err(|e| e.at("Link"))
}

fn decode(body: &[u8]) -> Result<Link<'_>> {
    let mut d = Decoder::new(MOST_LEVELS + 1);
    let mut link = Link { keys: [[0; 32]; 2], levels: Vec::new(), head: wire::prefix(body, BODY), stream: &[] };
    let (mut version, mut named) = (0, [false; 2]);
    let mut fields = d.open(body, &LINK)?;
    while let Some((field, value)) = fields.next()? {
        match field {
            1 => version = value.number(wire::any32)?,
            4 => value.push(&mut d, &mut link.levels, level)?,
            5 => link.stream = value.bytes(),
            _ => (link.keys[field - 2], named[field - 2]) = (value.here(sha256(value.bytes()))?, true),
        }
    }
    check_version(version).map_err(|e| e.at(".version"))?;
    for (there, field) in named.iter().zip(["first", "second"]) {
        require!(*there, ".{field}: a SHA-256 of 0 bytes");
    }
    Ok(link)
}

fn verify(first: &Key, second: &Key, link: &Link) -> Result<Strength> {
    let named = link.keys == [first.digest, second.digest];
    require!(named, "it links the keys of commitments {} and {}", Hex(&link.keys[0]), Hex(&link.keys[1]));
    require!(!link.levels.is_empty(), "a link without parameters");
    let [of_first, of_second] = [first, second].map(|k| k.trees.iter().find(|t| t.tail_log > 0));
    let (Some(of_first), Some(of_second)) = (of_first, of_second) else { return fail!("a link is of two keys that hide weights") };
    require!(first.digest != second.digest, "a link is of two keys, and this is one");
    require!(first.beside == second.beside, "the keys are of two circuits, or of one in two ways, and not of the same weights");
    let (g, security, levels) = (&first.graph, &first.security, &link.levels[..]);
    cost::check_sizes(g)?;
    let (table, blocks, tail_log) = Table::linked(g, security.hash, [of_first, of_second])?;
    soundness::check_hiding(levels, tail_log)?;
    soundness::check_levels(security, levels, Some(table.rows), tail_log)?;
    let (own, queries) = (levels[0].row_vars, levels[0].queries as u64);
    require!(own == table.row_vars, "parameters for rows of 2^{own} values, not 2^{}", table.row_vars);
    for tree in &table.trees {
        let own = tree.row_vars;
        require!(queries <= tree.tails[0], "rows of 2^{own} values are too short to hide them at {queries} positions");
    }
    let most = blocks.iter().map(|b| b.bits).max().unwrap_or(0);
    let mut rounds = Rounds::new(security);
    rounds.point("differences of weights", most.max(1) as u64)?;
    rounds.point("join of differences", blocks.len() as u64 - 1)?;
    rounds.opening(levels, tail_log)?;
    open(link, table, security, |stream, table| {
        let tau = stream.transcript.challenges(most);
        let zeta = stream.transcript.challenge();
        let weight = |point: &[K]| table.differences(point, &blocks, &tau, zeta);
        whir::check(stream, security, levels, tail_log, table, &Claimed { value: ZERO, weight: &weight })
    })
    .map_err(|e| e.within("link"))?;
    Ok(rounds.strength)
}

/// The words of a stream, which have four bytes each with every hash suite.
fn words(stream: &[u8]) -> Result<Vec<u32>> {
    require!(stream.len() % 4 == 0, "a stream that is no sequence of limbs");
    Ok(stream.chunks_exact(4).map(|w| u32::from_le_bytes([w[0], w[1], w[2], w[3]])).collect())
}

/// Reads the stream: the root of the tree of masks, and what `rest` does.
fn open(link: &Link, mut table: Table, security: &Security, rest: impl FnOnce(&mut Stream, &Table) -> Result<()>) -> Result<()> {
    let mut transcript = Transcript::new(security.hash);
    transcript.absorb_bytes(LABEL);
    transcript.absorb_bytes(link.head);
    let mut stream = Stream::of(security.hash, transcript, words(link.stream)?);
    if let Some(masks) = table.trees.last_mut() {
        masks.root = stream.digest()?;
    }
    rest(&mut stream, &table)?;
    stream.end()
}
