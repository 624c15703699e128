//! The proof file (docs/proof-format.md, "The proof file").

use crate::error::{Error, Kind, Result, fail, require};
use crate::hash::Suite;
use crate::key::{check_version, sha256};
use crate::reveal::{MOST_REVEALS, MOST_TOP, Reveal};
use crate::segment::{FirstTree, MOST_TREES, Named};
use crate::soundness::{Level, MOST_TAIL_LOG};
use crate::texts::MOST_TEXTS;
use crate::wire::{self, Decoder, Field, Fields, Value, bytes, message, messages, number, reserved};
use alloc::string::ToString;
use alloc::vec::Vec;
use core::fmt;
use sha2::{Digest as _, Sha256};

/// The first bytes of a proof file.
pub const MAGIC: &[u8] = b"PM.prf\r\n";

const MOST_HEADER_BYTES: usize = 1 << 14;
pub const MOST_LEVELS: usize = 64;

/// What the prover chose, and says before all else.
#[derive(Debug, Default)]
pub struct Header {
    pub key: [u8; 32],
    pub sizes: Vec<u32>,
    pub chunk_entries: u32,
    pub row_vars: u32,
    pub levels: Vec<Level>,
    pub hash: Suite,
    pub reveals: Vec<Reveal>,
    pub texts: u32,               // 0: one
    pub tail_log: u32,            // of a masked proof, else 0
    pub hidden_inputs: Vec<u32>,  // places in the key's lists
    pub hidden_outputs: Vec<u32>, // likewise
    pub trees: Vec<FirstTree>,
    pub segment: Option<Named>,
}

/// The packed values of the public tensors.
#[derive(Debug, Default)]
pub struct Public<'a> {
    pub inputs: Vec<&'a [u8]>,
    pub outputs: Vec<&'a [u8]>,
}

/// What a frame holds.
pub enum Frame<'a> {
    Empty,
    Header(Header),
    Public(Public<'a>),
    Commitments(&'a [u8]),
    Chunk(u32, &'a [u8]),
    Outputs(&'a [u8]),
    Opening(&'a [u8]),
    End(&'a [u8]),
}

/// A message that holds a stream.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Due {
    Commitments,
    Chunk(usize),
    Outputs,
    Opening,
}

impl fmt::Display for Due {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Due::Commitments => f.write_str("commitments"),
            Due::Chunk(index) => write!(f, "chunk {index}"),
            Due::Outputs => f.write_str("io"),
            Due::Opening => f.write_str("opening"),
        }
    }
}

/// Reads the frames of a file in their order.
pub struct Reader<'a> {
    file: &'a [u8],
    rest: &'a [u8],
    messages: usize, // of a frame, at most
    last: &'a [u8],  // the frame that was read last
}

impl<'a> Reader<'a> {
    /// Reads the header, which is also returned as it is in the file.
    pub fn open(file: &'a [u8]) -> Result<(Reader<'a>, Header, &'a [u8])> {
        let mut reader = Reader { file, rest: &[], messages: MOST_LEVELS + MOST_REVEALS + MOST_TREES + 3, last: &[] };
        reader
            .open_header()
            .map(|header| (header, reader.last))
            .map(|(header, frame)| (reader, header, frame))
            .map_err(|e| e.of(Kind::Proof))
    }

    fn open_header(&mut self) -> Result<Header> {
        let Some(rest) = self.file.strip_prefix(MAGIC) else { return fail!("not a prove-model proof") };
        self.rest = rest;
        match self.frame("the header", MOST_HEADER_BYTES)? {
            Frame::Header(header) => {
                let (levels, reveals, trees) = (header.levels.len(), header.reveals.len(), header.trees.len());
                require!(
                    levels <= MOST_LEVELS && reveals <= MOST_REVEALS && trees <= MOST_TREES,
                    "the header: too many messages: {levels} levels, {reveals} reveals and {trees} trees, at most {MOST_LEVELS}, {MOST_REVEALS} and {MOST_TREES}"
                );
                Ok(header)
            }
            _ => fail!("no header"),
        }
    }

    /// Reads the public values: `tensors` is how many there are.
    pub fn public(&mut self, tensors: usize) -> Result<Public<'a>> {
        self.messages = tensors + 2;
        let read = |r: &mut Self| match r.frame("the public values", usize::MAX)? {
            Frame::Public(public) => Ok(public),
            _ => fail!("no public values after the header"),
        };
        read(self).map_err(|e| e.of(Kind::Proof))
    }

    /// The digest of the statement, when the public values and nothing behind them have been read.
    pub fn statement(&self) -> [u8; 32] {
        let head = Sha256::digest(&self.file[..self.file.len() - self.rest.len()]);
        Sha256::new_with_prefix(b"prove-model statement\n").chain_update(head).finalize().into()
    }

    /// Reads the stream that is due.
    pub fn stream(&mut self, due: Due) -> Result<&'a [u8]> {
        let read = |r: &mut Self| {
            let (got, stream) = match r.frame(&due.to_string(), usize::MAX)? {
                Frame::Commitments(stream) => (Due::Commitments, stream),
                Frame::Chunk(index, stream) => (Due::Chunk(index as usize), stream),
                Frame::Outputs(stream) => (Due::Outputs, stream),
                Frame::Opening(stream) => (Due::Opening, stream),
                Frame::Empty => return fail!("{due} is due: an empty frame"),
                Frame::End(_) => return fail!("{due} is due: the proof ends too soon"),
                Frame::Header(_) => return fail!("{due} is due: a header after the header"),
                Frame::Public(_) => return fail!("{due} is due: public values twice"),
            };
            require!(got == due, "{got} where {due} is due");
            Ok(stream)
        };
        read(self).map_err(|e| e.of(Kind::Proof))
    }

    /// Reads the end of the file, and checks its checksum if it is to be.
    pub fn end(mut self, summed: bool) -> Result<()> {
        let read = |r: &mut Self| {
            let before = &r.file[..r.file.len() - r.rest.len()];
            let Frame::End(sum) = r.frame("the end", usize::MAX)? else { return fail!("a frame after the last one due") };
            require!(!summed || sum == &Sha256::digest(before)[..], "checksum does not match: the file is damaged");
            require!(r.rest.is_empty(), "bytes after the end");
            Ok(())
        };
        read(&mut self).map_err(|e| e.of(Kind::Proof))
    }

    fn frame(&mut self, what: &str, most: usize) -> Result<Frame<'a>> {
        require!(self.rest.len() >= 10 || self.rest.iter().any(|&byte| byte < 0x80), "ends within {what}");
        let wrong = |e: Error| Error::new(e.cause().replace("varint", "length")).within(what);
        let length = wire::varint(&mut self.rest).map_err(wrong)?;
        require!(length <= most as u64, "{what}: frame of {length} bytes is over the limit of {most}");
        require!(length <= self.rest.len() as u64, "ends within {what}");
        let (body, rest) = self.rest.split_at(length as usize);
        (self.last, self.rest) = (body, rest);
        decode(&mut Decoder::new(self.messages), body).map_err(|e| e.at("Frame").within(what))
    }
}

static FRAME: [Field; 7] =
    [message("header"), message("public"), message("commitments"), message("chunk"), message("io"), message("opening"), message("end")];

fn decode<'a>(d: &mut Decoder, body: &'a [u8]) -> Result<Frame<'a>> {
    let mut fields = d.open(body, &FRAME)?;
    let Some((first, value)) = fields.next()? else { return Ok(Frame::Empty) };
    let frame = match first {
        1 => Frame::Header(value.message(d, header)?),
        2 => Frame::Public(value.message(d, public)?),
        3 => Frame::Commitments(value.bytes()),
        4 => value.message(d, chunk)?,
        5 => Frame::Outputs(value.bytes()),
        6 => Frame::Opening(value.bytes()),
        _ => Frame::End(value.bytes()),
    };
    if let Some((second, _)) = fields.next()? {
        return fail!("fields {first} and {second} exclude each other");
    }
    Ok(frame)
}

static HEADER: [Field; 14] = [
    number("version"),
    bytes("key"),
    bytes("sizes"),
    number("chunk_entries"),
    number("row_vars"),
    messages("levels"),
    number("hash"),
    messages("trees"),
    number("tail_log"),
    bytes("hidden_inputs"),
    bytes("hidden_outputs"),
    messages("reveals"),
    number("texts"),
    message("segment"),
];

fn header(d: &mut Decoder, body: &[u8]) -> Result<Header> {
    let mut h = Header::default();
    let (mut version, mut named) = (0, false);
    let mut fields = d.open(body, &HEADER)?;
    while let Some((field, value)) = fields.next()? {
        match field {
            1 => {
                version = value.number(wire::any32)?;
                value.here(check_version(version))?;
            }
            2 => (h.key, named) = (value.here(sha256(value.bytes()))?, true),
            3 => h.sizes = value.numbers(wire::size)?,
            4 => h.chunk_entries = value.number(wire::size)?,
            5 => h.row_vars = value.number(wire::count)?,
            6 => value.push(d, &mut h.levels, level)?,
            7 => h.hash = Suite::read(&value)?,
            8 => value.push(d, &mut h.trees, first_tree)?,
            9 => h.tail_log = value.number(wire::at_most(MOST_TAIL_LOG))?,
            10 => h.hidden_inputs = value.numbers(wire::count)?,
            11 => h.hidden_outputs = value.numbers(wire::count)?,
            12 => value.push(d, &mut h.reveals, reveal)?,
            13 => h.texts = value.number(wire::at_most(MOST_TEXTS))?,
            _ => h.segment = Some(value.message(d, segment)?),
        }
    }
    check_version(version).map_err(|e| e.at(".version"))?;
    require!(named, ".key: a SHA-256 of 0 bytes");
    Ok(h)
}

static FIRST_TREE: [Field; 8] = [
    bytes("root"),
    number("row_vars"),
    number("log_blowup"),
    number("rows"),
    number("tokens"),
    number("tail_log"),
    number("input"),
    number("frac"),
];

fn first_tree(d: &mut Decoder, body: &[u8]) -> Result<FirstTree> {
    let (mut t, mut root) = (FirstTree::default(), &[][..]);
    each(d.open(body, &FIRST_TREE)?, |field, value| {
        match field {
            1 => root = value.bytes(),
            2 => t.row_vars = value.number(wire::count)?,
            3 => t.log_blowup = value.number(wire::count)?,
            4 => t.rows = value.number(wire::count)?,
            5 => t.tokens = value.number(wire::count)?,
            6 => t.tail_log = value.number(wire::at_most(MOST_TAIL_LOG))?,
            7 => t.input = value.number(wire::count)?,
            _ => t.frac = value.number(wire::exponent)?,
        }
        Ok(())
    })?;
    require!(root.len() == 32, ".root: {} bytes, not 32", root.len());
    for (word, four) in t.root.iter_mut().zip(root.chunks_exact(4)) {
        *word = u32::from_le_bytes([four[0], four[1], four[2], four[3]]);
    }
    Ok(t)
}

static SEGMENT: [Field; 2] = [bytes("predecessor"), number("first_token")];

fn segment(d: &mut Decoder, body: &[u8]) -> Result<Named> {
    let mut s = Named::default();
    let mut fields = d.open(body, &SEGMENT)?;
    while let Some((field, value)) = fields.next()? {
        match field {
            1 => {
                s.predecessor = value.here(sha256(value.bytes()))?;
                require!(s.predecessor != [0; 32], ".predecessor: a digest of zeros, which is absent");
            }
            _ => s.follows = value.number(wire::enumeration(2))? != 0,
        }
    }
    Ok(s)
}

static REVEAL: [Field; 4] = [number("kind"), number("output"), number("top"), reserved("index")];

fn reveal(d: &mut Decoder, body: &[u8]) -> Result<Reveal> {
    let (mut kind, mut r) = (0, Reveal::default());
    each(d.open(body, &REVEAL)?, |field, value| {
        match field {
            1 => kind = value.number(wire::enumeration(2))? as u32,
            2 => r.output = value.number(wire::count)?,
            _ => r.top = value.number(wire::count)?,
        }
        Ok(())
    })?;
    let fits = (kind == 0) == (r.top == 0) && r.top <= MOST_TOP;
    require!(fits, ".top: the {} greatest, of a kind that has {kind} to {}", r.top, kind * MOST_TOP);
    Ok(r)
}

static LEVEL: [Field; 8] = [
    number("fold_vars"),
    number("row_vars"),
    number("log_blowup"),
    number("multiplicity"),
    number("queries"),
    number("out_of_domain"),
    number("query_grind"),
    number("fold_grind"),
];

pub fn level(d: &mut Decoder, body: &[u8]) -> Result<Level> {
    let mut numbers = [0; 8];
    each(d.open(body, &LEVEL)?, |field, value| {
        numbers[field - 1] = value.number(wire::count)?;
        Ok(())
    })?;
    Ok(Level::from(numbers))
}

fn each<'a>(mut fields: Fields<'a>, mut read: impl FnMut(usize, Value<'a>) -> Result<()>) -> Result<()> {
    while let Some((field, value)) = fields.next()? {
        read(field, value)?;
    }
    Ok(())
}

static PUBLIC: [Field; 2] = [messages("inputs"), messages("outputs")];

fn public<'a>(d: &mut Decoder, body: &'a [u8]) -> Result<Public<'a>> {
    let mut p = Public::default();
    each(d.open(body, &PUBLIC)?, |field, value| value.push(d, if field == 1 { &mut p.inputs } else { &mut p.outputs }, values))?;
    Ok(p)
}

static VALUES: [Field; 1] = [bytes("packed")];

fn values<'a>(d: &mut Decoder, body: &'a [u8]) -> Result<&'a [u8]> {
    let mut packed: &[u8] = &[];
    each(d.open(body, &VALUES)?, |_, value| {
        packed = value.bytes();
        Ok(())
    })?;
    Ok(packed)
}

static CHUNK: [Field; 2] = [number("index"), bytes("body")];

fn chunk<'a>(d: &mut Decoder, body: &'a [u8]) -> Result<Frame<'a>> {
    let (mut index, mut stream): (u32, &[u8]) = (0, &[]);
    each(d.open(body, &CHUNK)?, |field, value| {
        match field {
            1 => index = value.number(wire::count)?,
            _ => stream = value.bytes(),
        }
        Ok(())
    })?;
    Ok(Frame::Chunk(index, stream))
}
