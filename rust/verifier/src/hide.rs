//! Inputs and outputs that a proof does not state (docs/proof-format.md, "What is not stated").

use crate::error::{Result, fail, require};
use crate::graph::{Accumulator, Graph, Kind, Linear, Numbers};
use alloc::vec;
use alloc::vec::Vec;

/// What a proof does not state: tensors of the key's inputs and outputs, each with its place there.
#[derive(Clone, Debug, Default)]
pub struct Hidden {
    pub inputs: Vec<(u32, u32)>,
    pub outputs: Vec<(u32, u32)>,
}

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
    /// its range.
    pub fn hide(&mut self, inputs: &[u32], outputs: &[u32]) -> Result<()> {
        const NOT: &str = "it cannot be hidden";
        if inputs.is_empty() && outputs.is_empty() {
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
        let (min, max, shape) = (t.min, t.max, t.shape.now.clone());
        let bits = u64::BITS - ((max - min) as u64).leading_zeros();
        let Some((table, shift)) = self.range_for(bits) else {
            return fail!("its range, [{min}, {max}], is too wide to be looked up");
        };
        self.tensors[id as usize].kind = Kind::Witness;
        for (constant, coefficient) in [(-min, 1), (max, -1)] {
            let linear = vec![Linear { coefficient, source: id, view: None }];
            self.look_up("range", &shape, Accumulator { constant, linear, ..Accumulator::default() }, table, shift);
        }
        Ok(())
    }
}

fn increasing(what: &str, places: &[u32], count: usize) -> Result<()> {
    let mut next = 0;
    for &i in places {
        require!(next <= i && (i as usize) < count, "it cannot be hidden: {what} {i} of {count}, or not in order");
        next = i + 1;
    }
    Ok(())
}
