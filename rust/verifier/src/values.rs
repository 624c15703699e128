//! Numbers of some bits: public values and streams as they are in a proof (docs/proof-format.md, "Public values" and
//! "The proof file").

use crate::error::{Result, require};
use crate::field::P;
use crate::graph::Tensor;
use crate::shape;
use alloc::vec;
use alloc::vec::Vec;

const BLOCK: usize = 128; // entries
const SHIFT_BITS: u32 = 5;
const WIDTH_BITS: u32 = 5;
const LIMB_BITS: u32 = 31;

/// Numbers of some bits, lowest bit first.
struct Bits<'a> {
    bytes: &'a [u8],
    at: usize, // in bits
}

impl Bits<'_> {
    fn left(&self) -> u64 {
        8 * self.bytes.len() as u64 - self.at as u64
    }

    /// A number of at most 32 bits, which must be there.
    #[inline]
    fn take(&mut self, count: u32) -> u64 {
        let rest = &self.bytes[self.at / 8..];
        let held = match rest.first_chunk::<8>() {
            Some(eight) => u64::from_le_bytes(*eight),
            None => rest.iter().rev().fold(0, |held, &byte| held << 8 | byte as u64),
        };
        let value = held >> (self.at % 8) & ((1 << count) - 1);
        self.at += count as usize;
        value
    }

    /// Nothing is left but zeros that fill up the last byte.
    fn done(&mut self) -> bool {
        self.left() < 8 && self.take(self.left() as u32) == 0
    }
}

/// The words of a stream of limbs that is packed.
pub fn limbs(bytes: &[u8]) -> Result<Vec<u32>> {
    let mut bits = Bits { bytes, at: 0 };
    let count = 8 * bytes.len() as u64 / LIMB_BITS as u64;
    let limbs = (0..count).map(|_| bits.take(LIMB_BITS) as u32).collect();
    require!(bits.done(), "a stream that is no sequence of limbs");
    Ok(limbs)
}

/// The entries of a public tensor, row-major, each within the tensor's range.
pub fn entries(t: &Tensor, packed: &[u8]) -> Result<Vec<i32>> {
    let shape = &t.shape.now;
    let count = shape::size(shape) as usize;
    let columns = shape.last().map_or(1, |&d| d.max(1)) as usize;
    let rows = count / columns;
    let width = u64::BITS - ((t.max - t.min) as u64).leading_zeros();
    let head = width + SHIFT_BITS + WIDTH_BITS;
    let mut bits = Bits { bytes: packed, at: 0 };
    const LENGTH: &str = "public values of another length";
    // Before there is room for the entries.
    require!(bits.left() >= count.div_ceil(BLOCK) as u64 * head as u64, "{LENGTH}");
    let mut values = vec![0; count];
    let (mut row, mut column) = (0, 0);
    let mut block = [0u32; BLOCK];
    for first in (0..count).step_by(BLOCK) {
        let block = &mut block[..BLOCK.min(count - first)];
        require!(bits.left() >= head as u64, "{LENGTH}");
        let least = t.min + bits.take(width) as i64;
        let (shift, n) = (bits.take(SHIFT_BITS) as u32, bits.take(WIDTH_BITS) as u32);
        require!(bits.left() >= n as u64 * block.len() as u64, "{LENGTH}");
        let (mut used, mut low, mut high) = (0, u32::MAX, 0);
        for value in block.iter_mut() {
            *value = bits.take(n) as u32;
            used |= *value;
            low = low.min(*value);
            high = high.max(*value);
        }
        let shortest = low == 0 && u32::BITS - used.leading_zeros() == n && (used & 1 == 1 || n == 0 && shift == 0);
        require!(shortest, "public values are not as short as they can be");
        let top = least + ((high as i64) << shift);
        require!(top <= t.max, "{top} is not in [{}, {}]", t.min, t.max);
        for &value in block.iter() {
            values[row * columns + column] = (least + ((value as i64) << shift)) as i32;
            row += 1;
            if row == rows {
                (row, column) = (0, column + 1);
            }
        }
    }
    require!(bits.done(), "{LENGTH}");
    Ok(values)
}

/// The entries of a public tensor as elements of F.
pub fn elements(values: &[i32]) -> Vec<u32> {
    values.iter().map(|&v| if v < 0 { (v + P as i32) as u32 } else { v as u32 }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::Kind;

    fn tensor(shape: Vec<u64>, min: i64, max: i64) -> Tensor<'static> {
        let mut t = Tensor { min, max, ..Tensor::new(Kind::Input) };
        t.shape.now = shape;
        t
    }

    /// The example of docs/proof-format.md.
    #[test]
    fn example() {
        let most = (1 << 30) - 1;
        assert_eq!(entries(&tensor(vec![2], -most, most), &[0xfd, 0xff, 0xff, 0x3f, 0x20, 0x06]).unwrap(), [1, -2]);
        assert_eq!(entries(&tensor(vec![1], -most, most), &[0x2b, 0x01, 0x00, 0x40, 0, 0]).unwrap(), [300]);
        assert_eq!(limbs(&[0xbb, 0, 0, 0x80, 0, 0, 0, 0]).unwrap(), [187, 1]);
    }

    #[test]
    fn one_encoding() {
        let t = tensor(vec![2], 0, 1);
        assert_eq!(entries(&t, &[0b1000_0100, 0b0000_0000]), entries(&t, &[0b1000_0100, 0b0000_0000]));
        for packed in [&[][..], &[0, 0, 0], &[0x40, 0x00], &[0x02, 0x00]] {
            assert!(entries(&t, packed).is_err(), "{packed:?}");
        }
        assert_eq!(entries(&t, &[0, 0]).unwrap(), [0, 0]);
        assert!(limbs(&[0, 0, 0, 0x80]).is_err());
    }
}
