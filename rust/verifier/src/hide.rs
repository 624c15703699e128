//! Inputs and outputs that a proof does not state (docs/proof-format.md, "What is not stated").

use crate::error::{Result, fail, require};
use crate::graph::{Accumulator, Graph, Kind, Linear, Numbers, Shape, Step, StepKind, Tensor};
use crate::hash::Suite;
use crate::key::VERSION;
use crate::segment::FirstTree;
use crate::wire;
use alloc::vec;
use alloc::vec::Vec;
use sha2::{Digest as _, Sha256};

/// What a proof does not state: tensors of the key's inputs and outputs, each with its place there.
#[derive(Clone, Debug, Default)]
pub struct Hidden {
    pub inputs: Vec<(u32, u32)>,
    pub outputs: Vec<(u32, u32)>,
    /// The tensor under each tree of an input that was committed to.
    pub committed: Vec<Vec<u32>>,
    /// Of these, those that are not the input itself, which is a multiple of each.
    pub coarse: Vec<u32>,
}

const NOT: &str = "it cannot be hidden";
const MOST_FINER: i32 = 20;

impl Graph<'_> {
    /// Whether the tensor is an input that the proof does not state: a witness tensor that no step makes.
    pub fn is_hidden(&self, tensor: u32) -> bool {
        self.hidden.inputs.iter().any(|&(_, id)| id == tensor)
    }

    /// Takes back what `hide` did, but for tensors, tables and steps that it added.
    pub fn unhide(&mut self) {
        let hidden = core::mem::take(&mut self.hidden);
        for (place, id) in hidden.inputs {
            self.inputs.insert(place as usize, id);
            self.tensors[id as usize].kind = Kind::Input;
        }
        for (place, id) in hidden.outputs {
            self.outputs.insert(place as usize, id);
        }
    }

    /// Takes inputs and outputs, by their places in the key's lists, out of the statement. Two look-ups keep a hidden input in
    /// its range. Some were committed to.
    pub fn hide(&mut self, inputs: &[u32], outputs: &[u32], committed: &[FirstTree]) -> Result<()> {
        if inputs.is_empty() && outputs.is_empty() {
            require!(committed.is_empty(), "{NOT}: an input that was committed to is a hidden one");
            return Ok(());
        }
        increasing("input", inputs, self.own.inputs)?;
        increasing("output", outputs, self.outputs.len())?;
        require!(outputs.len() < self.outputs.len(), "{NOT}: a proof that states no output says nothing");
        if let Some(r) = self.revealed.iter().find(|r| outputs.contains(&r.reveal.output)) {
            return fail!("{NOT}: output {} is hidden, and something is revealed of it", r.reveal.output);
        }
        for &place in outputs {
            let t = &self.tensors[self.outputs[place as usize] as usize];
            let fits = t.kind != Kind::Empty && t.numbers == Numbers::Finite;
            require!(fits, "output {:?}: {NOT}: it has no entries, or codes for numbers that are not finite", t.name);
        }
        let all = self.inputs.clone();
        for &place in inputs {
            let id = all[place as usize];
            let name = self.tensors[id as usize].name.clone();
            self.hide_input(id).map_err(|e| e.within(NOT).within(format_args!("input {name:?}")))?;
            let at = place as usize - self.hidden.inputs.len();
            self.inputs.remove(at);
            self.hidden.inputs.push((place, id));
        }
        self.commit(inputs, committed)?;
        for &place in outputs {
            let at = place as usize - self.hidden.outputs.len();
            let id = self.outputs.remove(at);
            self.hidden.outputs.push((place, id));
        }
        for r in &mut self.revealed {
            r.place = r.reveal.output as usize - outputs.iter().filter(|&&o| o < r.reveal.output).count();
        }
        Ok(())
    }

    fn hide_input(&mut self, id: u32) -> Result<()> {
        let t = &self.tensors[id as usize];
        require!(t.kind != Kind::Empty, "it has no entries");
        require!(t.numbers == Numbers::Finite, "it has codes for numbers that are not finite");
        require!(!self.is_ids(id), "its entries are indexes, by which others are read");
        self.tensors[id as usize].kind = Kind::Witness;
        self.keep(id)
    }

    /// Looks up that a tensor's entries are in its range.
    fn keep(&mut self, id: u32) -> Result<()> {
        let t = &self.tensors[id as usize];
        let (min, max, shape) = (t.min, t.max, t.shape.now.clone());
        let bits = u64::BITS - ((max - min) as u64).leading_zeros();
        let Some((table, shift)) = self.range_for(bits) else {
            return fail!("its range, [{min}, {max}], is too wide to be looked up");
        };
        for (constant, coefficient) in [(-min, 1), (max, -1)] {
            let linear = vec![Linear { coefficient, source: id, view: None }];
            self.look_up("range", &shape, Accumulator { constant, linear, ..Accumulator::default() }, table, shift);
        }
        Ok(())
    }

    /// Hidden inputs that were committed to, each under a tree that the header names. One that is in coarser units than the model's is a
    /// further tensor, which the input is a multiple of.
    fn commit(&mut self, inputs: &[u32], committed: &[FirstTree]) -> Result<()> {
        let mut next = 0;
        for tree in committed {
            let place = tree.input - 1;
            let Some(i) = inputs.iter().position(|&i| i == place).filter(|&i| i >= next) else {
                return fail!("{NOT}: input {place}, which was committed to, is not hidden, or is out of order");
            };
            next = i + 1;
            let (_, read) = self.hidden.inputs[i];
            let t = &self.tensors[read as usize];
            let finer = t.frac as i64 - tree.frac as i64;
            let fits = t.fracs.is_empty() && (0..=MOST_FINER as i64).contains(&finer);
            let (min, max) = if fits { (-(-t.min >> finer), t.max >> finer) } else { (0, -1) };
            require!(min <= max, "input {:?}: {NOT}: it is committed to in other units than the model reads", t.name);
            let mut id = read;
            if finer > 0 {
                let shape = Shape { now: t.shape.now.clone(), unit: t.shape.now.clone(), scales: Vec::new() };
                let name = t.name.clone();
                id = self.add(Tensor { name: name.clone(), shape: shape.clone(), frac: tree.frac, min, max, ..Tensor::new(Kind::Witness) });
                self.hidden.coarse.push(id);
                self.keep(id).map_err(|e| e.within(NOT).within(format_args!("input {name:?}")))?;
                let linear = [(1, read), (-1 << finer, id)].map(|(coefficient, source)| Linear { coefficient, source, view: None });
                let accumulator = Accumulator { linear: linear.into(), ..Accumulator::default() };
                let (remainder, table, out, divisor) = (None, None, None, None);
                let (name, kind) = ("scale", StepKind::Zero);
                self.steps.push(Step { name, kind, shape, accumulator, shift: 0, remainder, table, out, divisor, chunk: 0 });
            }
            self.hidden.committed.push(vec![id]);
        }
        Ok(())
    }
}

/// A commitment to an input, as files of them have it: the digest, in a proof whose header names the tree.
pub fn commitment(suite: Suite, tree: &FirstTree, shape: &[u64]) -> [u8; 32] {
    let mut file = b"PM.inp\r\n".to_vec();
    file.extend([1 << 3, VERSION as u8, 2 << 3 | 2, 32]);
    file.extend(tree.root.iter().flat_map(|word| word.to_le_bytes()));
    let zigzag = ((tree.frac << 1) ^ (tree.frac >> 31)) as u32;
    let rest = [(3, tree.row_vars), (4, tree.tail_log), (5, tree.log_blowup), (6, zigzag), (7, (suite == Suite::Poseidon2) as u32)];
    for (field, value) in rest {
        if value > 0 {
            file.push(field << 3);
            wire::push_varint(&mut file, value as u64);
        }
    }
    let mut packed = Vec::new();
    shape.iter().for_each(|&d| wire::push_varint(&mut packed, d));
    if !packed.is_empty() {
        file.push(8 << 3 | 2);
        wire::push_varint(&mut file, packed.len() as u64);
        file.extend(packed);
    }
    Sha256::new().chain_update(b"prove-model input\n").chain_update(file).finalize().into()
}

fn increasing(what: &str, places: &[u32], count: usize) -> Result<()> {
    let mut next = 0;
    for &i in places {
        require!(next <= i && (i as usize) < count, "it cannot be hidden: {what} {i} of {count}, or not in order");
        next = i + 1;
    }
    Ok(())
}
