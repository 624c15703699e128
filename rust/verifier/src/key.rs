//! The key file (docs/proof-format.md, "The key file").

use crate::error::{Kind, Result, fail, require};
use crate::graph::{self, Graph};
use crate::hash::{Digest, Suite};
use crate::proof::Header;
use crate::soundness::{LEAST_TAIL_LOG, MOST_DOMAIN_BITS, MOST_TAIL_LOG, Security};
use crate::validate;
use crate::wire::{self, Decoder, Field, UNKNOWN, bytes, message, messages, number, reserved};
use alloc::vec;
use alloc::vec::Vec;
use sha2::{Digest as _, Sha256};

/// The first bytes of a key file.
pub const MAGIC: &[u8] = b"PM.key\r\n";
/// The version of keys and proofs that is read here.
pub const VERSION: u32 = 4;

/// The most bytes that a key file may have.
pub const MOST_BYTES: usize = 32 << 20;
const MOST_MESSAGES: usize = 1 << 20;
const MOST_FILES: usize = 1 << 16;
const MOST_RANGES: usize = 3 << 20;
const RANGE_BITS: u32 = 28;
const FORMAT_BITS: u32 = 16;
const MOST_ENDS: usize = 1 << 10;
/// The most tokens that a decoder's text begins with.
const MOST_STARTS: usize = 1 << 6;
const MOST_FRAC: u32 = 1000;

/// What a verifier holds: a circuit, the commitment to its weights, and the security asked for. Names and bytes are parts
/// of the file.
#[derive(Clone, Debug)]
pub struct Key<'a> {
    pub(crate) graph: Graph<'a>,
    pub(crate) trees: Vec<Commitment>,
    pub(crate) security: Security,
    pub(crate) texts: Vec<Text>,
    pub(crate) digest: [u8; 32],
    /// What the key says but for its commitments.
    pub(crate) beside: &'a [u8],
}

/// A commitment to fixed tensors: the root of a tree, and log2 of the length of the rows under it and their tails.
#[derive(Clone, Debug)]
pub struct Commitment {
    pub root: Digest,
    pub row_vars: u32,
    /// 0, or j if rows have tails of a 2^j-th of their length.
    pub tail_log: u32,
}

/// What tokens of a language model mean; or, with a vocabulary and nothing else, what maps the strings that another model takes.
#[derive(Clone, Debug, Default)]
pub struct Text {
    /// The SHA-256 of the tokenizer's file, if the model came with one.
    pub tokenizer: Option<[u8; 32]>,
    /// The digest of the template that writes conversations as texts, if the model came with one.
    pub template: Option<[u8; 32]>,
    /// The tokens that end a text, increasing.
    pub ends: Vec<u32>,
    /// Whether proofs state which part of a text the model wrote.
    pub writes: bool,
    /// Of an encoder–decoder, the tokens that a text of the decoder begins with; the second input is then the decoder's tokens,
    /// and the logits are at all of these.
    pub starts: Vec<u32>,
    /// Tokens that a decoder never writes, increasing.
    pub suppressed: Vec<u32>,
    /// Tokens that a decoder does not write first, increasing.
    pub suppressed_first: Vec<u32>,
    /// The digest of what maps strings to inputs, and outputs to names. This verifier has no strings, and checks nothing of them.
    pub vocabulary: Option<[u8; 32]>,
}

impl Text {
    /// Whether there are tokens that a decoder does not write.
    pub fn suppresses(&self) -> bool {
        !(self.suppressed.is_empty() && self.suppressed_first.is_empty())
    }

    /// Whether a token may be written, as the first one of a text or as a later one.
    pub fn may(&self, token: u32, first: bool) -> bool {
        self.suppressed.binary_search(&token).is_err() && !(first && self.suppressed_first.binary_search(&token).is_ok())
    }
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
        check_version(u32::from_le_bytes(*version))?;
        let (mut key, source) = decode(&mut Decoder::new(MOST_MESSAGES), body).map_err(|e| e.at("Key"))?;
        for (n, tree) in key.trees.iter().enumerate() {
            if let Some(i) = key.security.hash.wrong_word(&tree.root) {
                return fail!("root of tree {n}: limb {i} is not canonical");
            }
        }
        key.check()?;
        if let Some(source) = source {
            source.check().map_err(|e| e.within("source"))?;
        }
        let sizes = vec![1; key.graph.free.len()];
        key.graph.check_template()?;
        key.graph.at(&Header { sizes, ..Header::default() })?;
        validate::check(&key.graph, false)?;
        key.digest = digest(file);
        Ok(key)
    }

    /// The commitment to the model: the SHA-256 of the key's file under a prefix.
    pub fn commitment(&self) -> &[u8; 32] {
        &self.digest
    }

    /// What its tokens mean, if the model is one of language.
    pub fn text(&self) -> Option<&Text> {
        self.texts.first().filter(|t| t.vocabulary.is_none())
    }

    /// The digest of the vocabulary, if the model takes strings or names classes: which strings its numbers stand for is
    /// outside of proofs.
    pub fn vocabulary(&self) -> Option<&[u8; 32]> {
        self.texts.first()?.vocabulary.as_ref()
    }

    /// What is not the circuit's own.
    fn check(&self) -> Result<()> {
        self.security.check()?;
        for (i, t) in self.graph.tensors.iter().enumerate() {
            if let Some(frac) = t.fracs.iter().chain([&t.frac]).find(|f| f.unsigned_abs() > MOST_FRAC) {
                return fail!("tensor {i}: scale 2^{frac} out of range");
            }
        }
        let (stacks, count) = (self.graph.fixed_stacks().len(), self.trees.len());
        require!(stacks == count, "stacks of fixed tensors: {stacks}, commitments to them: {count}");
        for (i, tree) in self.trees.iter().enumerate() {
            let rows = 0 < tree.row_vars && tree.row_vars <= MOST_DOMAIN_BITS;
            require!(rows, "tree {i}: rows of 2^{} values", tree.row_vars);
            let tails = tree.tail_log == 0 || tree.tail_log >= LEAST_TAIL_LOG;
            require!(tails, "tree {i}: tails of a 2^{}-th of a row", tree.tail_log);
            require!(count == 1 || tree.tail_log == 0, "tree {i} of {count}: tails, which hide the one tree of a key alone");
        }
        require!(self.texts.len() <= 1, "{} texts: this program reads keys of models with one", self.texts.len());
        if let Some(text) = self.texts.first() {
            self.check_text(text).map_err(|e| e.within("text"))?;
        }
        Ok(())
    }

    fn check_text(&self, text: &Text) -> Result<()> {
        if text.vocabulary.is_some() {
            let tokens =
                text.tokenizer.is_some() || text.template.is_some() || !text.ends.is_empty() || text.writes || !text.starts.is_empty();
            let tokens = tokens || text.suppresses();
            require!(!tokens, "it has a vocabulary, and says something of tokens");
            return Ok(());
        }
        require!(text.ends.len() <= MOST_ENDS, "{} tokens that end a text, at most {MOST_ENDS}", text.ends.len());
        let increasing = |ids: &[u32]| ids.last().is_none_or(|&id| (id as i64) < validate::BOUND) && ids.is_sorted_by(|a, b| a < b);
        require!(increasing(&text.ends), "tokens that end a text are not increasing");
        for list in [&text.suppressed, &text.suppressed_first] {
            let written = list.len() <= MOST_ENDS && increasing(list);
            require!(written, "tokens that are not written are not increasing, or more than {MOST_ENDS}");
        }
        require!(
            !text.starts.is_empty() || !text.suppresses(),
            "it has tokens that are not written, and none that a decoder's text begins with"
        );
        let starts = text.starts.len() <= MOST_STARTS && text.starts.iter().all(|&id| (id as i64) < validate::BOUND);
        require!(starts, "{} tokens that a decoder's text begins with, or one that is none", text.starts.len());
        require!(text.writes || text.starts.is_empty(), "it has tokens that a decoder's text begins with, and does not generate");
        let g = &self.graph;
        require!(g.inputs.first().is_some_and(|&id| g.is_ids(id)), "its first input is not tokens");
        let positions = g.inputs.len() == 2 && (!text.starts.is_empty() || g.is_ids(g.inputs[1]));
        let written = positions && g.outputs.len() == 1 && g.kind(g.outputs[0]) != graph::Kind::Empty;
        require!(!text.writes || written, "it generates, but its inputs and outputs are not tokens, positions and logits");
        Ok(())
    }
}

/// Refuses other versions, and names the release that reads an earlier one.
pub fn check_version(got: u32) -> Result<()> {
    let release = match got {
        VERSION => return Ok(()),
        1 => "v0.1",
        2 | 3 => "v0.2",
        _ => return fail!("version {got}, this program reads version {VERSION}"),
    };
    const AGAIN: &str = "docs/versions.md says how keys and proofs are issued again";
    fail!("version {got}, which prove-model {release} reads; this program reads version {VERSION} ({AGAIN})")
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

const TREES: u64 = 9; // the number of the field that has the commitments, the last

static KEY: [Field; 10] = [
    message("graph"),
    UNKNOWN,
    message("security"),
    UNKNOWN,
    message("source"),
    messages("texts"),
    UNKNOWN,
    reserved("log_blowup"),
    messages("trees"),
    reserved("hiding"),
];

fn decode<'a>(d: &mut Decoder, body: &'a [u8]) -> Result<(Key<'a>, Option<Source>)> {
    let (mut circuit, mut security, mut source) = (None, None, None);
    let (mut texts, mut trees) = (Vec::new(), Vec::new());
    let mut fields = d.open(body, &KEY)?;
    while let Some((field, value)) = fields.next()? {
        match field {
            1 => circuit = Some(value.message(d, graph::graph)?),
            3 => security = Some(value.message(d, read_security)?),
            5 => source = Some(value.message(d, read_source)?),
            6 => value.push(d, &mut texts, read_text)?,
            _ => value.push(d, &mut trees, read_tree)?,
        }
    }
    let Some(graph) = circuit else { return fail!(".graph: is missing") };
    let Some(security) = security else { return fail!(".security: is missing") };
    let key = Key { graph, trees, security, texts, digest: [0; 32], beside: wire::prefix(body, TREES) };
    Ok((key, source))
}

static TREE: [Field; 7] =
    [bytes("root"), number("row_vars"), reserved("size"), number("tail_log"), reserved("kind"), reserved("subject"), reserved("spans")];

fn read_tree(d: &mut Decoder, body: &[u8]) -> Result<Commitment> {
    let (mut root, mut row_vars, mut tail_log) = (None, 0, 0);
    let mut fields = d.open(body, &TREE)?;
    while let Some((field, value)) = fields.next()? {
        match field {
            1 => root = Some(read_root(value.bytes())?),
            2 => row_vars = value.number(wire::count)?,
            _ => tail_log = value.number(wire::at_most(MOST_TAIL_LOG))?,
        }
    }
    let root = root.map_or_else(|| read_root(&[]), Ok)?;
    Ok(Commitment { root, row_vars, tail_log })
}

fn read_root(bytes: &[u8]) -> Result<Digest> {
    require!(bytes.len() == 32, ".root: {} bytes, not 32", bytes.len());
    Ok(core::array::from_fn(|i| u32::from_le_bytes([0, 1, 2, 3].map(|k| bytes[4 * i + k]))))
}

static SECURITY: [Field; 4] = [number("target_bits"), number("grind_bits"), number("soundness"), number("hash")];

fn read_security(d: &mut Decoder, body: &[u8]) -> Result<Security> {
    let mut s = Security { target_bits: 0, grind_bits: 0, johnson: false, hash: Suite::Blake3 };
    let mut fields = d.open(body, &SECURITY)?;
    while let Some((field, value)) = fields.next()? {
        match field {
            1 => s.target_bits = value.number(wire::count)?,
            2 => s.grind_bits = value.number(wire::count)?,
            3 => s.johnson = value.number(wire::enumeration(2))? == 1,
            _ => s.hash = Suite::read(&value)?,
        }
    }
    Ok(s)
}

static TEXT: [Field; 11] = [
    bytes("tokenizer"),
    bytes("ends"),
    number("writes"),
    bytes("template"),
    bytes("vocabulary"),
    reserved("input"),
    reserved("positions"),
    reserved("logits"),
    bytes("starts"),
    bytes("suppressed"),
    bytes("suppressed_first"),
];

fn read_text(d: &mut Decoder, body: &[u8]) -> Result<Text> {
    let mut t = Text::default();
    let mut fields = d.open(body, &TEXT)?;
    while let Some((field, value)) = fields.next()? {
        match field {
            1 => t.tokenizer = Some(value.here(some_sha256(value.bytes()))?),
            2 => t.ends = value.numbers(wire::count)?,
            3 => t.writes = value.number(wire::enumeration(2))? == 1,
            5 => t.vocabulary = Some(value.here(some_sha256(value.bytes()))?),
            9 => t.starts = value.numbers(wire::count)?,
            10 => t.suppressed = value.numbers(wire::count)?,
            11 => t.suppressed_first = value.numbers(wire::count)?,
            _ => t.template = Some(value.here(some_sha256(value.bytes()))?),
        }
    }
    Ok(t)
}

fn some_sha256(bytes: &[u8]) -> Result<[u8; 32]> {
    let digest = sha256(bytes)?;
    require!(digest != [0; 32], "a digest of zeros");
    Ok(digest)
}

static SOURCE: [Field; 10] = [
    messages("files"),
    number("quantiser"),
    number("mode"),
    number("weight_bits"),
    number("activation_bits"),
    number("table_bits"),
    number("headroom"),
    bytes("ranges"),
    bytes("formats"),
    reserved("salted"),
];

/// What the key says that it was made from: no proof depends on it, but it is part of what a key may be.
#[derive(Default)]
struct Source {
    files: usize,
    quantiser: u32,
    bits: [u32; 3],
    headroom: u64,
    ranges: Vec<u32>,
    formats: Vec<u32>,
}

fn read_source(d: &mut Decoder, body: &[u8]) -> Result<Source> {
    let (mut s, mut files) = (Source::default(), Vec::new());
    let mut fields = d.open(body, &SOURCE)?;
    while let Some((field, value)) = fields.next()? {
        match field {
            1 => value.push(d, &mut files, check_file)?,
            2 => s.quantiser = value.number(wire::count)?,
            3 => drop(value.number(wire::enumeration(2))?),
            4..=6 => s.bits[field - 4] = value.number(wire::count)?,
            7 => s.headroom = value.number(wire::any64)?,
            8 => s.ranges = value.numbers(wire::any32)?,
            _ => s.formats = value.numbers(wire::any32)?,
        }
    }
    s.files = files.len();
    Ok(s)
}

impl Source {
    fn check(&self) -> Result<()> {
        require!(0 < self.files && self.files <= MOST_FILES, "{} files, want 1 to {MOST_FILES}", self.files);
        require!(self.quantiser > 0, "quantiser version {}", self.quantiser);
        let [weights, activations, tables] = self.bits;
        require!(self.bits.iter().all(|&b| 0 < b && b <= 64), "{weights}, {activations} and {tables} bits");
        let headroom = f64::from_bits(self.headroom);
        require!((1.0..=f64::MAX).contains(&headroom), "headroom {headroom}");
        let (ranges, formats) = (self.ranges.len(), self.formats.len());
        require!(ranges % 3 == 0 && ranges <= MOST_RANGES, "{ranges} numbers in ranges");
        let each = formats == 0 || 3 * formats == ranges && self.formats.iter().any(|&f| f != 0);
        require!(each, "{formats} formats for {} ranges", ranges / 3);
        require!(self.formats.iter().all(|f| f >> FORMAT_BITS == 0), "a number in the formats has more than 16 bits");
        require!(self.ranges.iter().all(|r| r >> RANGE_BITS == 0), "a number in the ranges has more than 28 bits");
        Ok(())
    }
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
