//! Canonical protobuf (docs/proof-format.md, "Canonical protobuf"): every message has one encoding, and all others
//! are refused. A message is read field by field, by a table of its fields.

use crate::error::{Error, Result, fail, require};
use alloc::vec::Vec;

/// What a table says of a field: the fields of a message are numbered from 1 on.
pub struct Field {
    name: &'static str,
    bytes: bool,    // a length and that many bytes; otherwise a varint
    presence: bool, // written even if it is 0 or empty
    repeated: bool, // comes several times, one after the other
    reserved: bool, // of a later release
}

const fn field(name: &'static str, bytes: bool, presence: bool, repeated: bool) -> Field {
    Field { name, bytes, presence, repeated, reserved: false }
}

/// A field of a later release: a message that has it cannot be understood without.
pub const fn reserved(name: &'static str) -> Field {
    Field { reserved: true, ..field(name, false, false, false) }
}

/// No field has this number.
pub const UNKNOWN: Field = field("", false, false, false);

/// A number.
pub const fn number(name: &'static str) -> Field {
    field(name, false, false, false)
}

/// Bytes, a string, or a packed list of numbers.
pub const fn bytes(name: &'static str) -> Field {
    field(name, true, false, false)
}

/// A message, or bytes in a oneof.
pub const fn message(name: &'static str) -> Field {
    field(name, true, true, false)
}

/// A list of messages.
pub const fn messages(name: &'static str) -> Field {
    field(name, true, true, true)
}

/// How many messages there may still be, and how many elements the lists have that identifiers are positions in.
pub struct Decoder {
    pub left: usize,
    pub tensors: u32,
    pub tables: u32,
}

impl Decoder {
    pub fn new(messages: usize) -> Decoder {
        Decoder { left: messages, tensors: 0, tables: 0 }
    }

    /// The fields of a message.
    pub fn open<'a>(&mut self, body: &'a [u8], fields: &'static [Field]) -> Result<Fields<'a>> {
        require!(self.left > 0, "too many messages");
        self.left -= 1;
        Ok(Fields { body, fields, last: 0 })
    }
}

/// A message of which some fields have been read.
pub struct Fields<'a> {
    body: &'a [u8],
    fields: &'static [Field],
    last: usize,
}

/// The content of a field.
pub struct Value<'a> {
    field: &'static Field,
    number: u64,
    body: &'a [u8],
}

impl<'a> Fields<'a> {
    /// The number of the next field and its content.
    #[inline(always)]
    pub fn next(&mut self) -> Result<Option<(usize, Value<'a>)>> {
        if self.body.is_empty() {
            return Ok(None);
        }
        let tag = varint(&mut self.body).map_err(|e| e.within("tag"))?;
        let at = (tag >> 3) as usize;
        let known = |f: &&Field| tag >> 3 <= self.fields.len() as u64 && !f.name.is_empty();
        let Some(field) = self.fields.get(at.wrapping_sub(1)).filter(known) else {
            return fail!("unknown field {}", tag >> 3);
        };
        let here = |e: Error| e.at(format_args!(".{}", field.name));
        require!(!field.reserved, ".{}: is a field that this release of prove-model does not read, and a later one may", field.name);
        require!(tag & 7 == if field.bytes { 2 } else { 0 }, ".{}: wire type {}", field.name, tag & 7);
        require!(at != self.last || field.repeated, "field {at} twice");
        require!(at >= self.last, "field {at} after field {}", self.last);
        self.last = at;
        let number = varint(&mut self.body).map_err(here)?;
        require!(number != 0 || field.presence, ".{}: default value is spelt out", field.name);
        let mut body: &[u8] = &[];
        if field.bytes {
            require!(number <= self.body.len() as u64, ".{}: ends early", field.name);
            (body, self.body) = self.body.split_at(number as usize);
        }
        Ok(Some((at, Value { field, number, body })))
    }
}

impl<'a> Value<'a> {
    /// Puts the field's name into an error.
    pub fn here<T>(&self, result: Result<T>) -> Result<T> {
        result.map_err(|e| e.at(format_args!(".{}", self.field.name)))
    }

    /// A message, which `read` decodes.
    pub fn message<T>(&self, d: &mut Decoder, read: impl FnOnce(&mut Decoder, &'a [u8]) -> Result<T>) -> Result<T> {
        self.here(read(d, self.body))
    }

    /// Adds an element to a list of messages.
    pub fn push<T>(&self, d: &mut Decoder, list: &mut Vec<T>, read: impl FnOnce(&mut Decoder, &'a [u8]) -> Result<T>) -> Result<()> {
        match read(d, self.body) {
            Ok(element) => list.push(element),
            Err(e) => return Err(e.at(format_args!(".{}[{}]", self.field.name, list.len()))),
        }
        Ok(())
    }

    /// Adds an element to a list of large messages, which `read` fills where it is.
    pub fn fill<T>(
        &self,
        d: &mut Decoder,
        list: &mut Vec<T>,
        new: T,
        read: fn(&mut Decoder, &'a [u8], &mut T) -> Result<()>,
    ) -> Result<()> {
        let at = list.len();
        list.push(new);
        read(d, self.body, &mut list[at]).map_err(|e| e.at(format_args!(".{}[{at}]", self.field.name)))
    }

    /// A number.
    pub fn number<T>(&self, of: impl FnOnce(u64) -> Result<T>) -> Result<T> {
        self.here(of(self.number))
    }

    /// A packed list of numbers.
    pub fn numbers<T>(&self, of: impl Fn(u64) -> Result<T>) -> Result<Vec<T>> {
        let mut list = Vec::with_capacity(self.body.iter().filter(|&&byte| byte < 0x80).count());
        let mut rest = self.body;
        while !rest.is_empty() {
            list.push(self.here(varint(&mut rest).and_then(&of))?);
        }
        Ok(list)
    }

    pub fn text(&self) -> Result<&'a str> {
        match core::str::from_utf8(self.body) {
            Ok(text) => Ok(text),
            Err(_) => self.here(fail!("not UTF-8")),
        }
    }

    pub fn bytes(&self) -> &'a [u8] {
        self.body
    }
}

// What numbers may be, beside what their types allow. A circuit's rules say more (module validate).

fn below(v: u64, limit: u64) -> Result<u64> {
    require!(v < limit, "{v} is too large");
    Ok(v)
}

fn bits32(v: u64) -> Result<u32> {
    match u32::try_from(v) {
        Ok(v) => Ok(v),
        Err(_) => fail!("{v} does not fit 32 bits"),
    }
}

fn signed(v: u64) -> i64 {
    (v >> 1) as i64 ^ -((v & 1) as i64)
}

pub fn any32(v: u64) -> Result<u32> {
    bits32(v)
}

/// A number of things, far below 2^31 in what is valid.
pub fn count(v: u64) -> Result<u32> {
    below(bits32(v)? as u64, 1 << 31).map(|v| v as u32)
}

/// A number of things that is written as one of 64 bits.
pub fn size(v: u64) -> Result<u32> {
    below(v, 1 << 31).map(|v| v as u32)
}

pub fn dimension(v: u64) -> Result<u64> {
    below(v, (1 << 34) + 1)
}

pub fn stride(v: u64) -> Result<i64> {
    let x = signed(v);
    require!(x.unsigned_abs() <= 1 << 34, "{x} is too large");
    Ok(x)
}

pub fn exponent(v: u64) -> Result<i32> {
    Ok(signed(bits32(v)? as u64) as i32)
}

pub fn integer(v: u64) -> Result<i64> {
    Ok(signed(v))
}

/// A number up to `most`.
pub fn at_most(most: u32) -> impl Fn(u64) -> Result<u32> {
    move |v| below(bits32(v)? as u64, most as u64 + 1).map(|v| v as u32)
}

pub fn any64(v: u64) -> Result<u64> {
    Ok(v)
}

/// A number from 0 to `values` − 1.
pub fn enumeration(values: u64) -> impl Fn(u64) -> Result<u8> {
    move |v| {
        require!(v < values, "unknown value {v}");
        Ok(v as u8)
    }
}

/// A position in a list of so many.
pub fn identifier(of: u32) -> impl Fn(u64) -> Result<u32> {
    move |v| {
        let v = bits32(v)?;
        require!(v < of, "identifier {v} of {of}");
        Ok(v)
    }
}

/// A position in a list of so many plus 1, or 0 for none.
pub fn maybe_identifier(of: u32) -> impl Fn(u64) -> Result<Option<u32>> {
    move |v| match bits32(v)? {
        0 => Ok(None),
        v => identifier(of)(v as u64 - 1).map(Some),
    }
}

/// Takes a varint of at most 64 bits without needless bytes from the beginning of `body`.
#[inline(always)]
pub fn varint(body: &mut &[u8]) -> Result<u64> {
    match **body {
        [byte, ref rest @ ..] if byte < 0x80 => {
            *body = rest;
            Ok(byte as u64)
        }
        _ => long_varint(body),
    }
}

/// One of any number of bytes.
fn long_varint(body: &mut &[u8]) -> Result<u64> {
    let (mut low, mut value) = (0, 0); // of the first four bytes, in 32 bits
    for (i, &byte) in body.iter().enumerate() {
        require!(i < 9 || i == 9 && byte <= 1, "varint of more than 64 bits");
        if i < 4 {
            low |= (byte as u32 & 0x7f) << (7 * i);
        } else {
            value |= (byte as u64 & 0x7f) << (7 * i);
        }
        if byte < 0x80 {
            require!(byte > 0 || i == 0, "varint is not minimal");
            *body = &body[i + 1..];
            return Ok(value | low as u64);
        }
    }
    fail!("ends early")
}

/// Adds the varint of a number.
pub fn push_varint(to: &mut Vec<u8>, mut value: u64) {
    while value > 0x7f {
        to.push(value as u8 & 0x7f | 0x80);
        value >>= 7;
    }
    to.push(value as u8);
}

/// What of a message, one that has been read, is before its fields of this number and higher ones.
pub fn prefix(body: &[u8], number: u64) -> &[u8] {
    let mut rest = body;
    loop {
        let before = body.len() - rest.len();
        let Ok(tag) = varint(&mut rest) else { return &body[..before] };
        let Ok(length) = varint(&mut rest) else { return &body[..before] };
        if tag >> 3 >= number {
            return &body[..before];
        }
        if tag & 7 == 2 {
            rest = &rest[rest.len().min(length as usize)..];
        }
    }
}

/// How many elements lists have in a message, by the numbers of their fields, as far as the message can be read.
pub fn counts<const N: usize>(mut body: &[u8], fields: [u64; N]) -> [u32; N] {
    let mut found = [0; N];
    while let Ok(tag) = varint(&mut body) {
        let Ok(number) = varint(&mut body) else { break };
        if tag & 7 == 2 {
            if number > body.len() as u64 {
                break;
            }
            body = &body[number as usize..];
        }
        for (count, field) in found.iter_mut().zip(fields) {
            *count += (tag == field << 3 | 2) as u32;
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::string::ToString;
    use alloc::vec;

    #[test]
    fn varints_have_one_encoding() {
        for (bytes, value) in [(vec![0], 0), (vec![0x7f], 127), (vec![0x80, 1], 128), ([vec![0xff; 9], vec![1]].concat(), u64::MAX)] {
            let mut rest = &bytes[..];
            assert_eq!(varint(&mut rest).unwrap(), value);
            assert!(rest.is_empty());
        }
        for bytes in [vec![], vec![0x80], vec![0x80, 0], [vec![0xff; 9], vec![2]].concat(), vec![0x80; 11]] {
            assert!(varint(&mut &bytes[..]).is_err(), "{bytes:?}");
        }
    }

    static FIELDS: [Field; 5] = [number("a"), bytes("b"), messages("c"), UNKNOWN, reserved("d")];

    fn all(body: &[u8]) -> Result<usize> {
        let mut fields = Decoder::new(1).open(body, &FIELDS)?;
        let mut n = 0;
        while fields.next()?.is_some() {
            n += 1;
        }
        Ok(n)
    }

    #[test]
    fn messages_have_one_encoding() {
        assert_eq!(all(&[0x08, 1, 0x12, 1, 7, 0x1a, 0, 0x1a, 0]).unwrap(), 4);
        for (body, why) in [
            (vec![0x08, 0], ".a: default value is spelt out"),
            (vec![0x12, 0], ".b: default value is spelt out"),
            (vec![0x08, 1, 0x08, 1], "field 1 twice"),
            (vec![0x12, 1, 7, 0x08, 1], "field 1 after field 2"),
            (vec![0x0a, 1, 7], ".a: wire type 2"),
            (vec![0x12, 2, 7], ".b: ends early"),
            (vec![0x20, 1], "unknown field 4"),
            (vec![0x00, 1], "unknown field 0"),
            (vec![0x28, 1], ".d: is a field that this release of prove-model does not read, and a later one may"),
        ] {
            assert_eq!(all(&body).unwrap_err().cause().to_string(), why);
        }
    }
}
