//! Index spaces: their variables, and the blocks that they are cut into (docs/protocol.md, "Layout and commitments").

use alloc::vec::Vec;

/// ⌈log2 dimension⌉, for a dimension of at least 1.
pub fn variables(dimension: u64) -> usize {
    (64 - (dimension - 1).leading_zeros()) as usize
}

pub fn shape_variables(shape: &[u64]) -> usize {
    shape.iter().map(|&d| variables(d)).sum()
}

/// The number of entries, of a shape that has been checked.
pub fn size(shape: &[u64]) -> u64 {
    shape.iter().product()
}

pub fn pick<T: Copy>(list: &[T], indexes: &[u32]) -> Vec<T> {
    indexes.iter().map(|&i| list[i as usize]).collect()
}

/// How many blocks an index space falls into.
pub fn blocks(shape: &[u64]) -> u64 {
    shape.iter().map(|d| d.count_ones() as u64).product()
}

/// The range of an axis from `start` to `start` + 2^`bits`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Part {
    pub start: u64,
    pub bits: usize,
}

/// A block of an index space: a part of every axis.
#[derive(Clone, Debug)]
pub struct Block {
    pub parts: Vec<Part>,
    pub bits: usize,
    pub offset: u64, // among the blocks that it is laid out with
}

/// The blocks of an index space, those of the last axis fastest. Every axis is cut by the binary expansion of its dimension.
pub fn cut(shape: &[u64]) -> Vec<Block> {
    let mut list = Vec::with_capacity(blocks(shape) as usize);
    list.push(Block { parts: Vec::new(), bits: 0, offset: 0 });
    for &dimension in shape {
        let before = core::mem::take(&mut list);
        for block in before {
            let mut start = 0;
            while start < dimension {
                let bits = (dimension - start).ilog2() as usize;
                let mut parts = Vec::with_capacity(shape.len());
                parts.extend_from_slice(&block.parts);
                parts.push(Part { start, bits });
                list.push(Block { parts, bits: block.bits + bits, offset: 0 });
                start += 1 << bits;
            }
        }
    }
    list
}

/// Gives blocks their offsets: by decreasing size, and those of one size in their order, so that each is aligned.
pub struct BySize([u64; 65]);

impl BySize {
    /// From the sizes of all blocks, in bits; and the end of the last one.
    pub fn new(bits: impl Iterator<Item = usize>) -> (BySize, u64) {
        let mut counts = [0u64; 65];
        for bits in bits {
            counts[bits] += 1;
        }
        let mut end = 0;
        for bits in (0..counts.len()).rev() {
            let size = if counts[bits] > 0 { counts[bits] << bits } else { 0 };
            counts[bits] = end;
            end += size;
        }
        (BySize(counts), end)
    }

    /// The offset of the next block of this size.
    pub fn next(&mut self, bits: usize) -> u64 {
        let offset = self.0[bits];
        self.0[bits] += 1 << bits;
        offset
    }
}

/// An interval in the fewest blocks of 2^bits that begin at multiples of their size: first, bits.
pub fn aligned(mut first: u64, end: u64) -> Vec<(u64, usize)> {
    let mut list = Vec::new();
    while first < end {
        let bits = (first.trailing_zeros()).min((end - first).ilog2()) as usize;
        list.push((first, bits));
        first += 1 << bits;
    }
    list
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec;

    #[test]
    fn variables_are_rounded_up() {
        for (dimension, vars) in [(1, 0), (2, 1), (3, 2), (4, 2), (5, 3), (1 << 34, 34)] {
            assert_eq!(variables(dimension), vars);
        }
    }

    #[test]
    fn blocks_cover_the_space() {
        let shape = [5, 6];
        let list = cut(&shape);
        assert_eq!(list.len() as u64, blocks(&shape));
        assert_eq!(list.iter().map(|b| 1 << b.bits).sum::<u64>(), 30);
        assert_eq!(list[1].parts, vec![Part { start: 0, bits: 2 }, Part { start: 4, bits: 1 }]);
        let (mut order, end) = BySize::new(list.iter().map(|b| b.bits));
        assert_eq!(end, 30);
        assert_eq!(list.iter().map(|b| order.next(b.bits)).collect::<Vec<_>>(), [0, 16, 24, 28]);
    }

    #[test]
    fn aligned_blocks_cover_the_interval() {
        assert_eq!(aligned(0, 6), [(0, 2), (4, 1)]);
        assert_eq!(aligned(3, 8), [(3, 0), (4, 2)]);
        assert_eq!(aligned(5, 5), []);
    }
}
