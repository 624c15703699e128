//! From the key's circuit to a proof's: free dimensions and chunks (docs/proof-format.md, "From the key's circuit to a
//! proof's").

use crate::error::{Result, fail, require};
use crate::graph::{Graph, Group, Kind, Linear, Map, Multiplicity, Scaled, Shape, Step, StepKind, Tensor};
use crate::names;
use crate::proof::Header;
use crate::validate::MOST_TABLE_BITS;
use alloc::collections::BTreeMap;
use alloc::collections::BTreeSet;
use alloc::vec;
use alloc::vec::Vec;

const MOST_FREE: usize = 8;
const MOST_BOUND: u32 = 1 << 24;
const LARGEST: u64 = 1 << 34; // of a number that scales, in absolute value
const MOST_CHUNKS: usize = 1 << 10;
const FEW_CHUNKS: usize = 64;
const LEAST_CHUNK: u64 = 1 << 22;
const MOST_CHUNK: u64 = 1 << 27;
const LARGEST_COUNT: i64 = (1 << 30) - 1;

impl Scaled {
    fn put(&mut self, sizes: &[u32]) {
        if self.scale != 0 {
            self.now = (self.unit as i128 * factor(self.scale, sizes) as i128) as i64;
        }
    }
}

/// The product of the sizes of a set of free dimensions. What it is used for has been checked with their bounds.
fn factor(scale: u32, sizes: &[u32]) -> u64 {
    let chosen = sizes.iter().enumerate().filter(|(f, _)| scale >> f & 1 == 1);
    chosen.fold(1, |product, (_, &size)| product * size as u64)
}

impl Shape {
    fn put(&mut self, sizes: &[u32]) {
        for (i, &scale) in self.scales.iter().enumerate() {
            self.now[i] = if scale == 0 { self.unit[i] } else { self.unit[i] * factor(scale, sizes) };
        }
    }
}

fn groups(list: &mut [Linear]) -> impl Iterator<Item = &mut Group> {
    list.iter_mut().filter_map(|l| l.view.as_mut()).flat_map(|v| v.groups.iter_mut())
}

impl<'a> Graph<'a> {
    /// The rules for a template's free dimensions and scales.
    pub fn check_template(&self) -> Result<()> {
        require!(self.free.len() <= MOST_FREE, "{} free dimensions are over {MOST_FREE}", self.free.len());
        for (f, d) in self.free.iter().enumerate() {
            let fits = !d.name.is_empty() && 0 < d.bound && d.bound <= MOST_BOUND;
            require!(fits, "free dimension {f}: name {:?}, bound {}", d.name, d.bound);
            names::check(d.name).map_err(|e| e.within(format_args!("free dimension {f}")))?;
            require!(self.free[..f].iter().all(|o| o.name != d.name), "two free dimensions named {:?}", d.name);
            let measured = self.tensors.iter().any(|t| t.kind == Kind::Input && t.shape.scales.contains(&(1 << f)));
            require!(measured, "no axis of an input has the size of free dimension {:?}", d.name);
        }
        for (i, t) in self.tensors.iter().enumerate() {
            let here = |e: crate::error::Error| e.within(format_args!("tensor {i}"));
            self.check_shape(&t.shape).map_err(here)?;
            require!(t.kind != Kind::Fixed || t.shape.scales.is_empty(), "tensor {i}: a fixed tensor that scales");
            self.check_views(&t.definition).map_err(here)?;
        }
        for (i, s) in self.steps.iter().enumerate() {
            let here = |e: crate::error::Error| e.within(format_args!("step {i}"));
            self.check_shape(&s.shape).map_err(here)?;
            self.check_views(&s.accumulator.linear).map_err(here)?;
        }
        Ok(())
    }

    fn check_shape(&self, shape: &Shape) -> Result<()> {
        if shape.scales.is_empty() {
            return Ok(());
        }
        let one = shape.scales.len() == shape.now.len() && shape.scales.iter().any(|&s| s != 0);
        require!(one, "scales {:?} of shape {:?}", shape.scales, shape.unit);
        for (&d, &scale) in shape.unit.iter().zip(&shape.scales) {
            self.check_scale(d, scale)?;
        }
        Ok(())
    }

    fn check_views(&self, list: &[Linear]) -> Result<()> {
        for g in list.iter().filter_map(|l| l.view.as_ref()).flat_map(|v| &v.groups) {
            require!(g.base.scale == 0 || g.base.unit != 0, "a base of 0 that scales");
            self.check_scale(g.base.unit.unsigned_abs(), g.base.scale)?;
            for s in &g.sums {
                self.check_scale(s.dimension.unit as u64, s.dimension.scale)?;
            }
        }
        Ok(())
    }

    fn check_scale(&self, n: u64, scale: u32) -> Result<()> {
        let most = self.free.len();
        require!(scale >> most == 0, "scale {scale:#x} with {most} free dimensions");
        let mut largest = n as u128;
        for (f, d) in self.free.iter().enumerate() {
            if scale >> f & 1 == 1 {
                largest *= d.bound as u128;
                require!(largest <= LARGEST as u128, "{n} times the bounds of scale {scale:#x} is over 2^34");
            }
        }
        Ok(())
    }

    /// Makes the graph the circuit of a proof: puts the sizes in, makes it one of several texts, adds what shows which
    /// entries are the greatest, takes out what is hidden, and lays it out. The template has been checked.
    pub fn at(&mut self, header: &Header) -> Result<()> {
        let sizes = &header.sizes;
        require!(sizes.len() == self.free.len(), "{} sizes for {} free dimensions", sizes.len(), self.free.len());
        for (&n, d) in sizes.iter().zip(&self.free) {
            require!(0 < n && n <= d.bound, "size {n} of {} is not in [1, {}]", d.name, d.bound);
        }
        self.unreveal();
        self.multiplicities.clear();
        for t in &mut self.tensors {
            t.chunk = 0;
            t.shape.put(sizes);
        }
        for s in &mut self.steps {
            s.shape.put(sizes);
        }
        let definitions = self.tensors.iter_mut().flat_map(|t| groups(&mut t.definition));
        for g in definitions.chain(self.steps.iter_mut().flat_map(|s| groups(&mut s.accumulator.linear))) {
            g.base.put(sizes);
            for s in &mut g.sums {
                s.dimension.put(sizes);
            }
        }
        if header.segment.is_some() {
            let past: Vec<u32> = header.trees.iter().rev().skip(1).rev().map(|t| t.tokens).collect();
            self.segment(sizes, &past)?;
        }
        self.several(header.texts)?;
        self.reveal(&header.reveals)?;
        let committed = if header.segment.is_some() { &[][..] } else { &header.trees[..] };
        self.hide(&header.hidden_inputs, &header.hidden_outputs, committed)?;
        self.lay_out(header.chunk_entries as u64)
    }

    fn lay_out(&mut self, chunk_entries: u64) -> Result<()> {
        require!(chunk_entries <= MOST_CHUNK, "chunks of {chunk_entries} entries");
        let size = if chunk_entries == 0 { self.canonical() } else { chunk_entries };
        let chunks = self.deal(size).last().map_or(1, |c| c + 1);
        require!(chunks <= MOST_CHUNKS, "{chunks} chunks of {size} entries are over {MOST_CHUNKS}");
        self.chunks = chunks;
        for (i, chunk) in self.deal(size).into_iter().enumerate() {
            self.steps[i].chunk = chunk;
            for id in self.steps[i].results() {
                self.tensors[id as usize].chunk = chunk;
            }
        }
        let lookups = self.steps.iter().filter(|s| s.kind == StepKind::Lookup);
        let mut used = BTreeSet::new();
        for s in lookups {
            used.extend(s.table.map(|table| (s.chunk, table)));
        }
        for (chunk, table) in used {
            let rows = 1 << self.tables[table as usize].bits.min(MOST_TABLE_BITS);
            let mut t = Tensor { max: LARGEST_COUNT, chunk, ..Tensor::new(Kind::Witness) };
            t.shape.now = vec![rows];
            self.multiplicities.push(Multiplicity { table, tensor: self.tensors.len() as u32, chunk });
            self.tensors.push(t);
        }
        Ok(())
    }

    /// The canonical size of a chunk.
    fn canonical(&self) -> u64 {
        let mut size = LEAST_CHUNK;
        while size < MOST_CHUNK && self.deal(size).last().is_some_and(|&c| c + 1 > FEW_CHUNKS) {
            size *= 2;
        }
        size
    }

    /// The chunk of every step, for chunks of at most so many entries.
    fn deal(&self, size: u64) -> Vec<usize> {
        let (mut chunk, mut entries) = (0, 0);
        let deal = |s: &Step| {
            let more = bounded_size(&s.shape.now) * s.results().count() as u64;
            if entries > 0 && entries + more > size {
                (chunk, entries) = (chunk + 1, 0);
            }
            entries += more;
            chunk
        };
        self.steps.iter().map(deal).collect()
    }

    /// Public indexes must be those of entries that are there. `inputs` has the values of every input, by tensor.
    pub fn check_ids(&self, inputs: &BTreeMap<u32, &[i32]>) -> Result<()> {
        // Views may be many, and entries too, so that no entry is looked at for each view.
        let (mut known, mut shortest) = (BTreeMap::new(), BTreeMap::new());
        for (l, g) in self.public_groups() {
            let (length, _) = self.length(&mut known, l.source, g.source[0] as usize);
            shortest.entry(g.ids).and_modify(|least: &mut u64| *least = length.min(*least)).or_insert(length);
        }
        for (ids, length) in shortest {
            if let Some((k, at)) = inputs[&ids].iter().enumerate().find(|&(_, &at)| at as u64 >= length) {
                let name = &self.tensors[ids as usize].name;
                return fail!("entry {k} of input {name:?} is {at}, an index of an axis of {length}");
            }
        }
        Ok(())
    }

    /// How many indexes of an axis have entries, and whether that depends on a size.
    fn length(&self, known: &mut BTreeMap<(u32, usize), (u64, bool)>, id: u32, axis: usize) -> (u64, bool) {
        if let Some(&found) = known.get(&(id, axis)) {
            return found;
        }
        let t = &self.tensors[id as usize];
        let mut own = (t.shape.now[axis], t.shape.scales.get(axis).is_some_and(|&s| s != 0));
        if !own.1 && t.kind == Kind::Virtual {
            if let Some((longest, true)) = self.longest(known, &t.definition, axis) {
                own = (own.0.min(longest), true);
            }
        }
        known.insert((id, axis), own);
        own
    }

    /// The greatest length of the axes that an axis of a sum follows, if it follows one in each summand.
    fn longest(&self, known: &mut BTreeMap<(u32, usize), (u64, bool)>, list: &[Linear], axis: usize) -> Option<(u64, bool)> {
        let mut longest = (0, false);
        for l in list {
            let mut from = axis;
            if let Some(v) = &l.view {
                let g = v.groups.iter().find(|g| g.out.contains(&(axis as u32)))?;
                if !g.follows() {
                    return None;
                }
                from = g.source[0] as usize;
            }
            let (n, free) = self.length(known, l.source, from);
            longest = (longest.0.max(n), longest.1 || free);
        }
        Some(longest)
    }
}

impl Group {
    /// Whether index o of its one output axis is index o of its one source axis.
    pub fn follows(&self) -> bool {
        self.map == Map::Affine
            && self.out.len() == 1
            && self.source.len() == 1
            && self.base.now == 0
            && self.strides[0] == 1
            && self.sums.is_empty()
    }
}

/// The size of a shape, or more than that of any chunk: it need not have been checked.
fn bounded_size(shape: &[u64]) -> u64 {
    shape.iter().fold(1, |n, &d| (n * d.min(MOST_CHUNK + 1)).min(MOST_CHUNK + 1))
}
