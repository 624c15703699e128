//! Names that may be printed (docs/proof-format.md, "The key file").

use crate::error::{Result, require};

const MOST_BYTES: usize = 256;

/// First and last of the ranges of characters that no name holds.
static UNNAMED: [(u32, u32); 29] = [
    (0x00, 0x1f),
    (0x7f, 0xa0),
    (0xad, 0xad),
    (0x600, 0x605),
    (0x61c, 0x61c),
    (0x6dd, 0x6dd),
    (0x70f, 0x70f),
    (0x890, 0x891),
    (0x8e2, 0x8e2),
    (0x1680, 0x1680),
    (0x180e, 0x180e),
    (0x2000, 0x200f),
    (0x2028, 0x202f),
    (0x205f, 0x206f),
    (0x3000, 0x3000),
    (0xd800, 0xf8ff),
    (0xfdd0, 0xfdef),
    (0xfeff, 0xfeff),
    (0xfff0, 0xfffb),
    (0xfffe, 0xffff),
    (0x110bd, 0x110bd),
    (0x110cd, 0x110cd),
    (0x13430, 0x1343f),
    (0x1bca0, 0x1bca3),
    (0x1d173, 0x1d17a),
    (0x1fffe, 0x1ffff),
    (0x2fffe, 0x2ffff),
    (0x3fffe, 0xe00ff),
    (0xe01f0, 0x10ffff),
];

fn printable(c: char) -> bool {
    let at = UNNAMED.partition_point(|&(_, last)| last < c as u32);
    UNNAMED.get(at).is_none_or(|&(first, _)| first > c as u32)
}

pub fn check(name: &str) -> Result<()> {
    require!(name.len() <= MOST_BYTES, "a name of {} bytes, more than {MOST_BYTES}", name.len());
    if name.bytes().all(|byte| (b' '..=b'~').contains(&byte)) {
        return Ok(()); // as nearly all names
    }
    if let Some(c) = name.chars().find(|&c| !printable(c)) {
        require!(false, "name {name:?} holds U+{:04X}, which does not print", c as u32);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_have_their_ends() {
        assert!(UNNAMED.windows(2).all(|pair| pair[0].1 < pair[1].0));
        for (first, last) in UNNAMED {
            for c in [first, last].into_iter().filter_map(char::from_u32) {
                assert!(!printable(c), "U+{:04X}", c as u32);
            }
            for c in [first.wrapping_sub(1), last + 1].into_iter().filter_map(char::from_u32) {
                assert!(printable(c), "U+{:04X}", c as u32);
            }
        }
    }
}
