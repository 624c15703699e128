//! What a key may cost its verifier (docs/security.md, "What a key may cost"). Whatever the verifier does is charged
//! before it is done, and the first charge beyond a limit ends the verification.

use crate::error::{Result, fail, require};
use crate::graph::{Graph, Kind, StepKind};
use crate::shape::{blocks, pick, shape_variables, size};
use crate::wiring::Wiring;

const MOST_NODES: u64 = 1 << 17; // values that are found
const MOST_TERMS: u64 = 1 << 19; // summands of them
const MOST_BLOCKS: u64 = 1 << 18; // of committed tensors and look-ups
const MOST_OPENED: u64 = 1 << 18; // blocks of the tensors that claims are on
const MOST_PAIRS: u64 = 1 << 26; // wired pairs that are walked
const MOST_WORK: u64 = 1 << 26; // in units of about a wired pair
const MOST_PUBLIC: u64 = 1 << 24; // entries of inputs and outputs
const MOST_DERIVED: u64 = 2 * MOST_PUBLIC; // entries of inputs that follow from these

// The units of the parts of a verification.
const FORK: u64 = 2000;
const ROUND: u64 = 80;
const NODE: u64 = 64;
const TERM: u64 = 16;
const VIEW: u64 = 300;
const BLOCK: u64 = 150;
const PIECE_BIT: u64 = 10;
const FORMULA_BIT: u64 = 40;
const CLAIM_BLOCK: u64 = 110;
const PUBLIC_IN_UNIT: u64 = 8; // entries that are evaluated in a unit

#[derive(Default)]
pub struct Cost {
    nodes: u64,
    terms: u64,
    opened: u64,
    pairs: u64,
    units: u64,
}

fn spend(sum: &mut u64, amount: u64, limit: u64, what: &str) -> Result<()> {
    *sum = sum.saturating_add(amount);
    require!(*sum <= limit, "{what}");
    Ok(())
}

impl Cost {
    fn work(&mut self, units: u64) -> Result<()> {
        spend(&mut self.units, units, MOST_WORK, "verifying takes too much work")
    }

    fn walk(&mut self, pairs: u64) -> Result<()> {
        spend(&mut self.pairs, pairs, MOST_PAIRS, "views are too large in all")?;
        self.work(pairs)
    }

    /// The statement, and so many unused ends.
    pub fn statement(&mut self, g: &Graph, ends: usize) -> Result<()> {
        self.work(ends as u64 * CLAIM_BLOCK)?;
        g.given().iter().chain(&g.outputs).try_for_each(|&id| self.work(size(g.shape(id))))
    }

    /// The stack of pads of a masked proof, of so many elements, and so many unused ends.
    pub fn pads(&mut self, elements: usize, ends: usize) -> Result<()> {
        self.work((elements + ends) as u64 * CLAIM_BLOCK)
    }

    pub fn fork(&mut self) -> Result<()> {
        self.work(FORK)
    }

    pub fn rounds(&mut self, count: usize) -> Result<()> {
        self.work(ROUND * count as u64)
    }

    pub fn blocks(&mut self, count: usize) -> Result<()> {
        self.work(BLOCK * count as u64)
    }

    /// The columns of a table whose keys have so many bits that matter.
    pub fn table(&mut self, pieces: usize, bits: u32) -> Result<()> {
        self.work(BLOCK + pieces as u64 * (bits as u64 + 1) * PIECE_BIT)
    }

    /// A value that is a sum of so many terms.
    pub fn node(&mut self, terms: usize) -> Result<()> {
        spend(&mut self.nodes, 1, MOST_NODES, "tensors are evaluated too often")?;
        spend(&mut self.terms, terms as u64, MOST_TERMS, "sums of tensors are too long in all")?;
        self.work(NODE + TERM * terms as u64)
    }

    pub fn public(&mut self, shape: &[u64]) -> Result<()> {
        self.work(size(shape) / PUBLIC_IN_UNIT)
    }

    /// Marks of an axis of so many entries, of so many indexes.
    pub fn marks(&mut self, indexes: u64, axis: u64) -> Result<()> {
        self.work(indexes * (shape_variables(&[axis]) as u64 + 1) * FORMULA_BIT)
    }

    pub fn formula(&mut self, shape: &[u64]) -> Result<()> {
        self.work((shape_variables(shape) as u64 + 30) * FORMULA_BIT)
    }

    /// A claim on a committed tensor of so many blocks.
    pub fn claim(&mut self, blocks: u64) -> Result<()> {
        spend(&mut self.opened, blocks, MOST_OPENED, "claims fall into too many blocks")?;
        self.work(blocks * CLAIM_BLOCK)
    }

    /// Looking for the pairs of a view's groups that give a factor, once for each view.
    pub fn analysis(&mut self, w: &Wiring) -> Result<()> {
        self.walk(w.single_pairs)
    }

    /// Evaluating a view.
    pub fn wiring(&mut self, w: &Wiring) -> Result<()> {
        self.work(VIEW)?;
        self.walk(w.single_pairs + w.summed_pairs)?;
        if w.has_fill() {
            self.walk(w.single_pairs + w.summed_pairs)?; // of ones
        }
        for g in &w.summed {
            // Two tables of eq for each side.
            let side = |shape: &[u64], axes| 2 << (shape_variables(&pick(shape, axes)) / 2);
            self.work(side(w.source, &g.source) + side(w.out, &g.out))?;
        }
        Ok(())
    }
}

/// Refuses circuits that are too large to lay out, before anything is laid out or read from a proof.
pub fn check_sizes(g: &Graph) -> Result<()> {
    let mut public = 0u64;
    for &id in g.given().iter().chain(&g.outputs) {
        public = public.saturating_add(size(g.shape(id)));
        require!(public <= MOST_PUBLIC, "inputs and outputs of more than {MOST_PUBLIC} entries");
    }
    let derived = g.derived().fold(0, |sum: u64, id| sum.saturating_add(size(g.shape(id))));
    require!(derived <= MOST_DERIVED, "more than {MOST_DERIVED} entries that follow from inputs and outputs");
    let mut count = 0;
    for s in g.steps.iter().filter(|s| s.kind == StepKind::Lookup) {
        count += blocks(&s.shape.now);
        require!(count <= MOST_BLOCKS, "look-ups fall into too many blocks");
    }
    for t in g.tensors.iter().filter(|t| matches!(t.kind, Kind::Fixed | Kind::Witness)) {
        count += blocks(&t.shape.now);
        if count > MOST_BLOCKS {
            return fail!("committed tensors fall into too many blocks");
        }
    }
    Ok(())
}
