//! Index spaces: their variables, and the blocks that they are cut into (docs/protocol.md, "Layout and commitments").

use alloc::collections::BTreeMap;
use alloc::rc::Rc;
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

/// The parts that an axis is cut into: by the binary expansion of its dimension.
pub fn parts(dimension: u64) -> impl Iterator<Item = Part> {
    let mut start = 0;
    core::iter::from_fn(move || {
        let bits = (dimension - start).checked_ilog2()? as usize;
        let part = Part { start, bits };
        start += 1 << bits;
        Some(part)
    })
}

/// A block of an index space: a part of every axis.
#[derive(Clone, Debug)]
pub struct Block {
    pub parts: Vec<Part>,
    pub bits: usize,
}

/// The blocks of an index space, those of the last axis fastest.
fn cut(shape: &[u64]) -> Vec<Block> {
    let mut list = Vec::with_capacity(blocks(shape) as usize);
    list.push(Block { parts: Vec::new(), bits: 0 });
    for &dimension in shape {
        for block in core::mem::take(&mut list) {
            for part in parts(dimension) {
                let mut all = Vec::with_capacity(shape.len());
                all.extend_from_slice(&block.parts);
                all.push(part);
                list.push(Block { parts: all, bits: block.bits + part.bits });
            }
        }
    }
    list
}

/// The blocks of index spaces, found once for each shape: many tensors have the same.
#[derive(Default)]
pub struct Cuts(BTreeMap<Vec<u64>, Rc<[Block]>>);

impl Cuts {
    pub fn of(&mut self, shape: &[u64]) -> Rc<[Block]> {
        if let Some(blocks) = self.0.get(shape) {
            return blocks.clone();
        }
        let blocks: Rc<[Block]> = cut(shape).into();
        self.0.insert(shape.to_vec(), blocks.clone());
        blocks
    }
}

/// Where a block is among those that it is laid out with.
#[derive(Clone, Copy, Debug)]
pub struct Placed {
    pub offset: u64,
    pub place: usize, // how many blocks are before it
    pub bits: usize,
}

/// Blocks of one size, one behind the other.
#[derive(Clone, Copy, Debug)]
pub struct Run {
    pub offset: u64, // of the first
    pub bits: usize,
    pub count: u64,
}

/// Gives blocks their offsets and places: by decreasing size, and those of one size in their order, so that each is aligned.
pub struct BySize {
    next: [(u64, usize); 65], // by size: the offset and the place of the next block
    pub runs: Vec<Run>,
    pub end: u64, // of the last block
}

impl BySize {
    /// From the sizes of all blocks, in bits.
    pub fn new(bits: impl Iterator<Item = usize>) -> BySize {
        let mut counts = [0u64; 65];
        for bits in bits {
            counts[bits] += 1;
        }
        let (mut all, mut place) = (BySize { next: [(0, 0); 65], runs: Vec::new(), end: 0 }, 0);
        for (bits, &count) in counts.iter().enumerate().rev().filter(|&(_, &count)| count > 0) {
            all.next[bits] = (all.end, place);
            all.runs.push(Run { offset: all.end, bits, count });
            all.end += count << bits;
            place += count as usize;
        }
        all
    }

    /// The place of the next block of this size.
    pub fn put(&mut self, bits: usize) -> Placed {
        let next = &mut self.next[bits];
        let (offset, place) = *next;
        *next = (offset + (1 << bits), place + 1);
        Placed { offset, place, bits }
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
        let mut order = BySize::new(list.iter().map(|b| b.bits));
        assert_eq!(order.end, 30);
        let places = list.iter().map(|b| order.put(b.bits)).map(|p| (p.offset, p.place));
        assert_eq!(places.collect::<Vec<_>>(), [(0, 0), (16, 1), (24, 2), (28, 3)]);
    }

    #[test]
    fn aligned_blocks_cover_the_interval() {
        assert_eq!(aligned(0, 6), [(0, 2), (4, 1)]);
        assert_eq!(aligned(3, 8), [(3, 0), (4, 2)]);
        assert_eq!(aligned(5, 5), []);
    }
}
