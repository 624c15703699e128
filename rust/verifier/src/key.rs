//! The key file (docs/proof-format.md, "The key file").

use crate::error::{Kind, Result, fail, require};
use crate::graph::{self, Graph};
use crate::hash::Suite;
use crate::soundness::{MOST_DOMAIN_BITS, Security};
use crate::validate;
use crate::wire::{self, Decoder, Field, bytes, message, messages, number};
use alloc::vec;
use alloc::vec::Vec;
use sha2::{Digest as _, Sha256};

/// The first bytes of a key file, and the version of its format that is read here.
pub const MAGIC: &[u8] = b"PM.key\r\n";
pub const VERSION: u32 = 2;

/// The most bytes that a key file may have.
pub const MOST_BYTES: usize = 32 << 20;
const MOST_MESSAGES: usize = 1 << 20;
const MOST_FILES: usize = 1 << 16;
const MOST_RANGES: usize = 3 << 20;
const RANGE_BITS: u32 = 28;
const FORMAT_BITS: u32 = 16;
const MOST_ENDS: usize = 1 << 10;
const MOST_FRAC: u32 = 1000;

/// What a verifier holds: a circuit, the commitment to its weights, and the security asked for. Names and bytes are parts
/// of the file.
#[derive(Clone, Debug)]
pub struct Key<'a> {
    pub(crate) graph: Graph<'a>,
    pub(crate) root: Option<[u32; 8]>,
    pub(crate) row_vars: u32,
    pub(crate) security: Security,
    pub(crate) text: Option<Text>,
    pub(crate) digest: [u8; 32],
}

/// What tokens of a language model mean.
#[derive(Clone, Debug)]
pub struct Text {
    /// The SHA-256 of the tokenizer's file, if the model came with one.
    pub tokenizer: Option<[u8; 32]>,
    /// The tokens that end a text, increasing.
    pub ends: Vec<u32>,
    /// Whether proofs state which part of a text the model wrote.
    pub writes: bool,
}

impl<'a> Key<'a> {
    /// Reads a key file of at most 32 MB. It takes time and memory in proportion to its length.
    pub fn read(file: &'a [u8]) -> Result<Key<'a>> {
        Self::parse(file).map_err(|e| e.of(Kind::Key))
    }

    fn parse(file: &'a [u8]) -> Result<Key<'a>> {
        require!(file.len() <= MOST_BYTES, "{} bytes are over the limit of {MOST_BYTES}", file.len());
        let Some((version, body)) = file.strip_prefix(MAGIC).and_then(|rest| rest.split_first_chunk::<4>()) else {
            return fail!("not a prove-model key");
        };
        check_version(u32::from_le_bytes(*version), VERSION)?;
        let mut key = decode(&mut Decoder::new(MOST_MESSAGES), body).map_err(|e| e.at("Key"))?;
        if let Some(root) = &key.root {
            if let Some(i) = key.security.hash.wrong_word(root) {
                return fail!("root: limb {i} is not canonical");
            }
        }
        key.check()?;
        let sizes = vec![1; key.graph.free.len()];
        key.graph.check_template()?;
        key.graph.at(&sizes, 0)?;
        validate::check(&key.graph)?;
        key.digest = digest(file);
        Ok(key)
    }

    /// The commitment to the model: the SHA-256 of the key's file under a prefix.
    pub fn commitment(&self) -> &[u8; 32] {
        &self.digest
    }

    /// What its tokens mean, if the model is one of language.
    pub fn text(&self) -> Option<&Text> {
        self.text.as_ref()
    }

    /// What is not the circuit's own.
    fn check(&self) -> Result<()> {
        self.security.check()?;
        for (i, t) in self.graph.tensors.iter().enumerate() {
            if let Some(frac) = t.fracs.iter().chain([&t.frac]).find(|f| f.unsigned_abs() > MOST_FRAC) {
                return fail!("tensor {i}: scale 2^{frac} out of range");
            }
        }
        let (fixed, root) = (self.graph.has_fixed(), self.root.is_some());
        require!(fixed == root, "fixed tensors: {fixed}, root of a commitment to them: {root}");
        let rows = root == (self.row_vars > 0) && self.row_vars <= MOST_DOMAIN_BITS;
        require!(rows, "root of a commitment: {root}, its rows of 2^{} values", self.row_vars);
        if let Some(text) = &self.text {
            self.check_text(text).map_err(|e| e.within("text"))?;
        }
        Ok(())
    }

    fn check_text(&self, text: &Text) -> Result<()> {
        require!(text.ends.len() <= MOST_ENDS, "{} tokens that end a text, at most {MOST_ENDS}", text.ends.len());
        let below = text.ends.last().is_none_or(|&id| (id as i64) < validate::BOUND);
        require!(below && text.ends.is_sorted_by(|a, b| a < b), "tokens that end a text are not increasing");
        let g = &self.graph;
        require!(g.inputs.first().is_some_and(|&id| g.is_ids(id)), "its first input is not tokens");
        let written = g.inputs.len() == 2 && g.outputs.len() == 1 && g.is_ids(g.inputs[1]) && g.kind(g.outputs[0]) != graph::Kind::Empty;
        require!(!text.writes || written, "it generates, but its inputs and outputs are not tokens, positions and logits");
        Ok(())
    }
}

/// Refuses other versions, and names the release that reads an earlier one.
pub fn check_version(got: u32, read: u32) -> Result<()> {
    require!(got != 1, "version 1, which prove-model v0.1 reads; this program reads version {read}");
    require!(got == read, "version {got}, this program reads version {read}");
    Ok(())
}

fn digest(file: &[u8]) -> [u8; 32] {
    Sha256::new().chain_update(b"prove-model key\n").chain_update(file).finalize().into()
}

pub fn sha256(bytes: &[u8]) -> Result<[u8; 32]> {
    match bytes.try_into() {
        Ok(digest) => Ok(digest),
        Err(_) => fail!("a SHA-256 of {} bytes", bytes.len()),
    }
}

static KEY: [Field; 6] = [message("graph"), bytes("root"), message("security"), number("row_vars"), message("source"), message("text")];

fn decode<'a>(d: &mut Decoder, body: &'a [u8]) -> Result<Key<'a>> {
    let (mut circuit, mut security, mut text) = (None, None, None);
    let (mut root, mut row_vars) = (None, 0);
    let mut fields = d.open(body, &KEY)?;
    while let Some((field, value)) = fields.next()? {
        match field {
            1 => circuit = Some(value.message(d, graph::graph)?),
            2 => {
                let words: [u8; 32] = match value.bytes().try_into() {
                    Ok(words) => words,
                    Err(_) => return fail!(".root: {} bytes, not 32", value.bytes().len()),
                };
                root = Some(core::array::from_fn(|i| u32::from_le_bytes([0, 1, 2, 3].map(|k| words[4 * i + k]))));
            }
            3 => security = Some(value.message(d, read_security)?),
            4 => row_vars = value.number(wire::count)?,
            5 => value.message(d, check_source)?,
            _ => text = Some(value.message(d, read_text)?),
        }
    }
    let Some(graph) = circuit else { return fail!(".graph: is missing") };
    let Some(security) = security else { return fail!(".security: is missing") };
    Ok(Key { graph, root, row_vars, security, text, digest: [0; 32] })
}

static SECURITY: [Field; 4] = [number("target_bits"), number("grind_bits"), number("soundness"), number("hash")];

fn read_security(d: &mut Decoder, body: &[u8]) -> Result<Security> {
    let mut s = Security { target_bits: 0, grind_bits: 0, johnson: false, hash: Suite::Poseidon2 };
    let mut fields = d.open(body, &SECURITY)?;
    while let Some((field, value)) = fields.next()? {
        match field {
            1 => s.target_bits = value.number(wire::count)?,
            2 => s.grind_bits = value.number(wire::count)?,
            3 => s.johnson = value.number(wire::enumeration(2))? == 1,
            _ => s.hash = [Suite::Poseidon2, Suite::Blake3][value.number(wire::enumeration(2))? as usize],
        }
    }
    Ok(s)
}

static TEXT: [Field; 3] = [bytes("tokenizer"), bytes("ends"), number("writes")];

fn read_text(d: &mut Decoder, body: &[u8]) -> Result<Text> {
    let mut t = Text { tokenizer: None, ends: Vec::new(), writes: false };
    let mut fields = d.open(body, &TEXT)?;
    while let Some((field, value)) = fields.next()? {
        match field {
            1 => {
                let digest = value.here(sha256(value.bytes()))?;
                require!(digest != [0; 32], ".tokenizer: a tokenizer of zeros");
                t.tokenizer = Some(digest);
            }
            2 => t.ends = value.numbers(wire::count)?,
            _ => t.writes = value.number(wire::enumeration(2))? == 1,
        }
    }
    Ok(t)
}

static SOURCE: [Field; 9] = [
    messages("files"),
    number("quantiser"),
    number("mode"),
    number("weight_bits"),
    number("activation_bits"),
    number("table_bits"),
    number("headroom"),
    bytes("ranges"),
    bytes("formats"),
];

/// What the key says that it was made from: no proof depends on it, but it is part of what a key may be.
fn check_source(d: &mut Decoder, body: &[u8]) -> Result<()> {
    let (mut files, mut quantiser, mut bits, mut headroom) = (Vec::new(), 0, [0; 3], 0);
    let (mut ranges, mut formats) = (Vec::new(), Vec::new());
    let mut fields = d.open(body, &SOURCE)?;
    while let Some((field, value)) = fields.next()? {
        match field {
            1 => value.push(d, &mut files, check_file)?,
            2 => quantiser = value.number(wire::count)?,
            3 => drop(value.number(wire::enumeration(2))?),
            4..=6 => bits[field - 4] = value.number(wire::count)?,
            7 => headroom = value.number(wire::any64)?,
            8 => ranges = value.numbers(wire::any32)?,
            _ => formats = value.numbers(wire::any32)?,
        }
    }
    require!(!files.is_empty() && files.len() <= MOST_FILES, "{} files, want 1 to {MOST_FILES}", files.len());
    require!(quantiser > 0, "quantiser version {quantiser}");
    require!(bits.iter().all(|&b| 0 < b && b <= 64), "{}, {} and {} bits", bits[0], bits[1], bits[2]);
    let headroom = f64::from_bits(headroom);
    require!((1.0..=f64::MAX).contains(&headroom), "headroom {headroom}");
    let triples = ranges.len() % 3 == 0 && ranges.len() <= MOST_RANGES;
    require!(triples, "{} numbers in ranges", ranges.len());
    let each = formats.is_empty() || 3 * formats.len() == ranges.len() && formats.iter().any(|&f| f != 0);
    require!(each, "{} formats for {} ranges", formats.len(), ranges.len() / 3);
    require!(formats.iter().all(|f| f >> FORMAT_BITS == 0), "a number in the formats has more than 16 bits");
    require!(ranges.iter().all(|r| r >> RANGE_BITS == 0), "a number in the ranges has more than 28 bits");
    Ok(())
}

static FILE: [Field; 1] = [bytes("sha256")];

fn check_file(d: &mut Decoder, body: &[u8]) -> Result<()> {
    let mut fields = d.open(body, &FILE)?;
    let mut digest: &[u8] = &[];
    while let Some((_, value)) = fields.next()? {
        digest = value.bytes();
    }
    sha256(digest).map(drop).map_err(|e| e.at(".sha256"))
}
