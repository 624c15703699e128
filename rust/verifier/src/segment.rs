//! Segments of a text, and chains of them (docs/proof-format.md, "Segments of a text").

use crate::error::{Result, fail, require};
use crate::graph::{FormulaKind, Graph, Group, Kind, Linear, Map, Product, Scaled, Shape, Step, SumIndex, Tensor, View};
use crate::hash::Digest;
use crate::key::Key;
use crate::proof::Header;
use crate::reveal::one_axis;
use crate::soundness::LEAST_TAIL_LOG;
use crate::verify::{Policy, Verdict};
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::vec;
use alloc::vec::Vec;

/// The most trees of a header.
pub const MOST_TREES: usize = 256;

const MOST_TOKENS: u32 = 1 << 24;
const MOST_IMPORTS: usize = 1 << 16;
const LENGTH: u32 = 1; // the scale of an axis of tokens
const MOVED: &str = "it does not prove texts in segments: what a token reads of others is not found by their positions alone";
const LIST: &str = "it does not prove texts in segments: what public indexes read the rows of is read in another way too";

/// What a header says of a tree beside those of the key and of the witness.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FirstTree {
    pub root: Digest,
    pub row_vars: u32,
    pub log_blowup: u32,
    pub rows: u32,
    pub tokens: u32,
    /// Of an input that was committed to: j for tails of a 2^j-th of a row, 1 + the input's place in the key's list, and the units
    /// 2^(−frac) of its entries.
    pub tail_log: u32,
    pub input: u32,
    pub frac: i32,
}

/// What a header says of a segment: the statement before it, zeros if there is none, and whether its first token is the one that is
/// left to be chosen there.
#[derive(Clone, Debug, Default)]
pub struct Named {
    pub predecessor: [u8; 32],
    pub follows: bool,
}

/// What a valid proof of a part of a text says of its place. It rests on the segments before, if there are any.
#[derive(Clone, Debug)]
pub struct Segment {
    /// The digest of its statement.
    pub statement: [u8; 32],
    /// That of the segment before, zeros of the first.
    pub predecessor: [u8; 32],
    /// The position of its first token.
    pub first: u64,
    /// Whether its first token is the one that the segment before leaves to be chosen.
    pub follows: bool,
    /// The token that it leaves to be chosen itself.
    pub next: u32,
    pub(crate) trees: Vec<FirstTree>,
}

/// The circuit of a key that became one of a segment: the tensors under each tree of the header, which of them no step makes, and the
/// key's own tensors and steps.
#[derive(Clone, Debug)]
pub struct Segmented<'a> {
    pub trees: Vec<Vec<u32>>,
    pub imported: BTreeSet<u32>,
    tensors: Vec<Tensor<'a>>,
    steps: Vec<Step<'a>>,
}

/// Checks that what a header says of trees and of a segment goes together, and that the key is for segments.
pub fn check(header: &Header, key: &Key) -> Result<()> {
    let Some(named) = &header.segment else {
        return check_inputs(header, key);
    };
    let segments = header.trees.iter().all(|t| t.tail_log == 0 && t.input == 0 && t.frac == 0);
    require!(segments, "a segment with a tree of an input");
    let Some(own) = header.trees.last() else { return fail!("a segment without a tree of its own") };
    let plain = header.tail_log == 0 && key.trees.iter().all(|t| t.tail_log == 0);
    let alone = header.texts == 0 && header.hidden_inputs.is_empty() && header.hidden_outputs.is_empty();
    require!(plain && alone, "it does not prove texts in segments: of masked proofs, or of several texts");
    require!(header.sizes.first() == Some(&own.tokens), "the segment's own tree is of {} tokens, of sizes {:?}", own.tokens, header.sizes);
    let first = named.predecessor == [0; 32];
    require!(first == (header.trees.len() == 1), "a segment behind {} others, and what it says of a predecessor", header.trees.len() - 1);
    require!(!first || !named.follows, "the first segment follows none");
    let g = &key.graph;
    let writes = key.text().is_some_and(|t| t.writes && t.starts.is_empty());
    let open = g.free.len() == 2 && g.inputs.len() >= 2 && g.tensors[g.inputs[1] as usize].shape.scales == [2];
    require!(writes && open, "it does not prove texts in segments: its key is not for texts of any length that a model goes on with");
    for t in &header.trees {
        require!(0 < t.tokens && t.tokens <= MOST_TOKENS, "a segment of {} tokens", t.tokens);
        if let Some(i) = key.security.hash.wrong_word(&t.root) {
            return fail!("root of a tree of the header: limb {i} is not canonical");
        }
    }
    Ok(())
}

/// check for a proof of no segment: its trees are of inputs.
fn check_inputs(header: &Header, key: &Key) -> Result<()> {
    for t in &header.trees {
        require!(t.input > 0, "the header names trees, and not what they are for");
        require!(t.tokens == 0, "the header names a tree of an input and of a segment");
        let tails = LEAST_TAIL_LOG <= t.tail_log;
        require!(tails, "the tree of an input has tails of a 2^{}-th of a row", t.tail_log);
        if let Some(i) = key.security.hash.wrong_word(&t.root) {
            return fail!("root of a tree of the header: limb {i} is not canonical");
        }
    }
    Ok(())
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Role {
    Plain,
    Rows, // the segment's tokens
    All,  // all tokens
}

type Roles = Vec<Role>;

impl<'a> Graph<'a> {
    /// Takes back what `segment` did, but for tensors that it added.
    pub fn unsegment(&mut self) {
        if let Some(of) = self.segmented.take() {
            (self.tensors, self.steps) = (of.tensors, of.steps);
        }
    }

    /// Makes a circuit that has sizes that of a segment, behind others of so many tokens.
    pub fn segment(&mut self, sizes: &[u32], past: &[u32]) -> Result<()> {
        let rows = sizes.first().copied().unwrap_or(0) as u64;
        let all = rows + past.iter().map(|&n| n as u64).sum::<u64>();
        let of_length = self.inputs.first().is_some_and(|&id| self.tensors[id as usize].shape.scales.contains(&LENGTH));
        require!(
            of_length && !self.free.is_empty(),
            "it does not prove texts in segments: the length is not the first that its key leaves open"
        );
        let bound = self.free[0].bound;
        require!(
            all <= bound as u64,
            "it does not prove texts in segments: {all} tokens, with those before, are over the {bound} that the key is for"
        );
        let (tensors, steps) = (self.tensors.clone(), self.steps.clone());
        let mut s = Deriver {
            roles: tensors.iter().map(|t| roles(&t.shape)).collect::<Result<_>>()?,
            lists: BTreeSet::new(),
            wholes: BTreeMap::new(),
            imports: vec![Vec::new(); past.len() + 1],
            added: Vec::new(),
            tensors,
            past,
            rows,
            all,
            begun: false,
        };
        for id in 0..s.tensors.len() {
            require!(self.tensors[id].kind != Kind::Input || !s.roles[id].contains(&Role::All), "an input with two axes of tokens");
            if s.is_list(id) {
                s.lists.insert(id as u32);
            } else {
                self.tensors[id] = s.filled(id, &s.roles[id].clone())?;
            }
        }
        s.begun = true;
        for step in &mut self.steps {
            s.step(step)?;
        }
        require!(self.outputs.iter().all(|id| !s.lists.contains(id)), "{LIST}");
        require!(
            s.imports.last().is_some_and(|own| !own.is_empty()),
            "it does not prove texts in segments: no tensor of one token is read by others"
        );
        self.tensors.append(&mut s.added);
        let imported = s.imports[..past.len()].iter().flatten().copied().collect();
        self.segmented = Some(Segmented { trees: s.imports, imported, tensors: s.tensors, steps });
        Ok(())
    }

    /// Whether an earlier proof has shown what a witness tensor is.
    pub fn is_imported(&self, id: u32) -> bool {
        self.segmented.as_ref().is_some_and(|s| s.imported.contains(&id)) || self.hidden.coarse.contains(&id)
    }
}

/// What the indexes of axes are: the first of tokens is of the segment's, a second one of all.
fn roles(shape: &Shape) -> Result<Roles> {
    let mut found = vec![Role::Plain; shape.now.len()];
    let mut next = Some(Role::Rows);
    for (a, &scale) in shape.scales.iter().enumerate().filter(|(_, scale)| *scale & LENGTH != 0) {
        require!(scale == LENGTH && shape.unit[a] == 1, "it does not prove texts in segments: positions and other indexes share an axis");
        let Some(role) = next else { return fail!("it does not prove texts in segments: more than two axes of tokens") };
        found[a] = role;
        next = if role == Role::Rows { Some(Role::All) } else { None };
    }
    Ok(found)
}

fn whole(roles: &[Role]) -> Roles {
    roles.iter().map(|&r| if r == Role::Rows { Role::All } else { r }).collect()
}

/// The one axis of tokens among some.
fn only(axes: &[u32], roles: &[Role]) -> Result<Option<usize>> {
    let mut found = axes.iter().map(|&a| a as usize).filter(|&a| roles[a] != Role::Plain);
    let first = found.next();
    require!(found.next().is_none(), "{MOVED}");
    Ok(first)
}

/// The number of indexes of axes before that of tokens; none if an axis beside it scales.
fn ahead(shape: &Shape, axes: &[u32], at: usize) -> Option<u64> {
    let scales = |a: usize| shape.scales.get(a).is_some_and(|&s| s != 0);
    if axes.iter().any(|&a| a as usize != at && scales(a as usize)) {
        return None;
    }
    Some(axes.iter().take_while(|&&a| a as usize != at).map(|&a| shape.now[a as usize]).product())
}

/// A circuit that becomes one of a segment. Tensors are the key's, with sizes.
struct Deriver<'a, 'p> {
    tensors: Vec<Tensor<'a>>,
    roles: Vec<Roles>,
    past: &'p [u32],
    rows: u64,
    all: u64,
    lists: BTreeSet<u32>,
    wholes: BTreeMap<u32, u32>,
    imports: Vec<Vec<u32>>,
    added: Vec<Tensor<'a>>, // behind the key's
    begun: bool,            // steps, which may read what is added
}

impl<'a> Deriver<'a, '_> {
    fn before(&self, role: Role) -> i64 {
        if role == Role::Rows { (self.all - self.rows) as i64 } else { 0 }
    }

    fn shape(&self, of: &Shape, roles: &[Role]) -> Shape {
        let mut shape = of.clone();
        for (d, _) in shape.now.iter_mut().zip(roles).filter(|(_, r)| **r == Role::All) {
            *d = self.all;
        }
        shape
    }

    /// A tensor of the key with these axes.
    fn filled(&mut self, id: usize, roles: &[Role]) -> Result<Tensor<'a>> {
        let mut t = self.tensors[id].clone();
        let of = core::mem::take(&mut t.shape);
        t.shape = self.shape(&of, roles);
        if let Some(f) = &mut t.formula {
            f.offset += match f.kind {
                FormulaKind::Progression => f.step * self.before(roles[0]),
                _ => self.before(roles[1]) - self.before(roles[0]),
            };
        }
        for l in &mut t.definition {
            self.term(l, &of, roles)?;
        }
        if let Some(p) = &mut t.product {
            self.factors(p, roles)?;
        }
        Ok(t)
    }

    /// Whether a tensor is the rows of another one along its first axis, with zeros behind, for indexes of the statement.
    fn is_list(&self, id: usize) -> bool {
        let t = &self.tensors[id];
        let [Linear { coefficient: 1, source, view: Some(View { groups, fill: 0 }) }] = &t.definition[..] else { return false };
        let of = &self.tensors[*source as usize].shape;
        let n = t.shape.now.len();
        n > 0
            && of.scales.len() == n
            && groups.len() == n
            && of.scales[0] == LENGTH
            && of.unit[0] == 1
            && of.scales[1..].iter().chain(&t.shape.scales).all(|&s| s == 0)
            && of.now[1..] == t.shape.now[1..]
            && groups.iter().all(|g| g.follows() && g.source == g.out)
    }

    fn term(&mut self, l: &mut Linear, out: &Shape, roles: &[Role]) -> Result<()> {
        let have = self.roles[l.source as usize].clone();
        let public = l.view.iter().flat_map(|v| &v.groups).any(|g| g.map == Map::Public);
        require!(public || !self.lists.contains(&l.source), "{LIST}");
        let mut want = vec![Role::Plain; have.len()];
        match &mut l.view {
            None => want = roles.to_vec(),
            Some(view) => {
                for g in &mut view.groups {
                    self.group(g, out, roles, l.source, &mut want)?;
                }
            }
        }
        l.source = self.source(l.source, &want)?;
        Ok(())
    }

    fn group(&self, g: &mut Group, out: &Shape, roles: &[Role], source: u32, want: &mut [Role]) -> Result<()> {
        let (to, from) = (only(&g.out, roles)?, only(&g.source, &self.roles[source as usize])?);
        let sums = g.sums.iter().any(|s| s.dimension.scale & LENGTH != 0);
        require!(g.base.scale & LENGTH == 0 && (!sums || from.is_some()), "{MOVED}");
        let of = &self.tensors[source as usize].shape;
        match (g.map, to, from) {
            (Map::Public, _, Some(_)) => return fail!("{MOVED}"),
            (Map::Public, ..) => {
                let ids = &self.tensors[g.ids as usize].shape;
                let axes: Vec<u32> = (0..ids.now.len() as u32).collect();
                let at = only(&axes, &self.roles[g.ids as usize])?;
                match (to, at) {
                    (None, None) => {}
                    (Some(to), Some(at)) => {
                        let n = ahead(out, &g.out, to);
                        require!(roles[to] == Role::Rows && n.is_some() && n == ahead(ids, &axes, at), "{MOVED}");
                    }
                    _ => return fail!("{MOVED}"),
                }
            }
            (_, None, None) => {}
            (Map::Reshape, Some(to), Some(from)) => {
                let n = ahead(out, &g.out, to);
                require!(n.is_some() && n == ahead(of, &g.source, from), "{MOVED}");
                want[from] = roles[to];
            }
            (Map::Affine, Some(to), Some(from)) => {
                require!(g.out.len() == 1 && g.base.now == 0 && g.strides[0] == 1 && g.sums.is_empty(), "{MOVED}");
                want[from] = roles[to];
            }
            (Map::Affine, None, Some(from)) => {
                let one = matches!(&g.sums[..], [SumIndex { dimension: Scaled { unit: 1, scale: LENGTH, .. }, stride: 1 }]);
                require!(one && g.base.now == 0 && g.strides.iter().all(|&s| s == 0), "{MOVED}");
                g.sums[0].dimension = Scaled { now: self.all as i64, unit: self.all as i64, scale: 0 };
                want[from] = Role::All;
            }
            (Map::Affine, Some(to), None) => {
                let stride = g.out.iter().position(|&a| a as usize == to).map_or(0, |j| g.strides[j]);
                let now = g.base.now + stride * self.before(roles[to]);
                g.base = Scaled { now, unit: now, scale: 0 };
            }
            _ => return fail!("{MOVED}"),
        }
        Ok(())
    }

    /// The tensor that has the axes that are wanted of one.
    fn source(&mut self, id: u32, want: &[Role]) -> Result<u32> {
        let have = &self.roles[id as usize];
        if have == want {
            return Ok(id);
        }
        require!(!have.contains(&Role::All) && whole(have) == want, "{MOVED}");
        require!(self.begun, "it does not prove texts in segments: a tensor that is no step's result reads all tokens");
        self.whole(id)
    }

    fn add(&mut self, t: Tensor<'a>) -> u32 {
        self.added.push(t);
        (self.tensors.len() + self.added.len() - 1) as u32
    }

    /// The tensor that has all rows of one that has rows.
    fn whole(&mut self, id: u32) -> Result<u32> {
        if let Some(&made) = self.wholes.get(&id) {
            return Ok(made);
        }
        let all = whole(&self.roles[id as usize]);
        let mut t = match self.tensors[id as usize].kind {
            Kind::Virtual | Kind::Formula => self.filled(id as usize, &all)?,
            Kind::Witness => self.joined(id, &all)?,
            _ => return fail!("it does not prove texts in segments: a step reads all of an input"),
        };
        t.shape = plain(t.shape.now);
        let made = self.add(t);
        self.wholes.insert(id, made);
        Ok(made)
    }

    /// Rows that are imported, and behind them the segment's own.
    fn joined(&mut self, id: u32, all: &[Role]) -> Result<Tensor<'a>> {
        let many = (self.imports[0].len() + 1) * self.imports.len();
        require!(many <= MOST_IMPORTS, "it does not prove texts in segments: over {MOST_IMPORTS} tensors of other segments");
        let t = self.tensors[id as usize].clone();
        let Some(axis) = self.roles[id as usize].iter().position(|&r| r == Role::Rows) else { return fail!("{MOVED}") };
        let (mut definition, mut at) = (Vec::new(), 0);
        for i in 0..self.imports.len() {
            let mut own = id;
            if let Some(&tokens) = self.past.get(i) {
                let mut part = Tensor { shape: plain(t.shape.now.clone()), chunk: 0, ..t.clone() };
                part.shape.now[axis] = tokens as u64;
                own = self.add(part);
            }
            self.imports[i].push(own);
            let group = |a: u32| {
                let base = if a as usize == axis { -at } else { 0 };
                Group {
                    source: vec![a],
                    strides: vec![1],
                    base: Scaled { now: base, unit: base, scale: 0 },
                    ..one_axis(Map::Affine, vec![a])
                }
            };
            let groups = (0..t.shape.now.len() as u32).map(group).collect();
            definition.push(Linear { coefficient: 1, source: own, view: Some(View { groups, fill: 0 }) });
            at += self.past.get(i).copied().unwrap_or(0) as i64;
        }
        Ok(Tensor { kind: Kind::Virtual, definition, shape: self.shape(&t.shape, all), chunk: 0, ..t })
    }

    fn step(&mut self, s: &mut Step) -> Result<()> {
        let own = roles(&s.shape)?;
        let of = core::mem::take(&mut s.shape);
        s.shape = self.shape(&of, &own);
        for l in &mut s.accumulator.linear {
            self.term(l, &of, &own)?;
        }
        for p in &mut s.accumulator.products {
            self.factors(p, &own)?;
        }
        if let Some(divisor) = s.divisor {
            let have = &self.roles[divisor as usize];
            let fits = have.len() >= own.len() && have[..own.len()] == own[..] && !have[own.len()..].contains(&Role::Rows);
            require!(fits && !self.lists.contains(&divisor), "{MOVED}");
        }
        Ok(())
    }

    fn factors(&mut self, p: &mut Product, step: &[Role]) -> Result<()> {
        p.a = self.factor(p.a, &p.labels_a, step)?;
        p.b = self.factor(p.b, &p.labels_b, step)?;
        Ok(())
    }

    fn factor(&mut self, id: u32, labels: &[u32], step: &[Role]) -> Result<u32> {
        require!(!self.lists.contains(&id), "{LIST}");
        let want = |(&role, &label): (&Role, &u32)| match role {
            Role::Plain => Role::Plain,
            _ => step.get(label as usize).copied().unwrap_or(Role::All),
        };
        let want: Roles = self.roles[id as usize].iter().zip(labels).map(want).collect();
        self.source(id, &want)
    }
}

fn plain(now: Vec<u64>) -> Shape {
    Shape { now, ..Shape::default() }
}

/// A statement that somebody vouches for, by its digest, and the file of a proof that states it, of which nothing else is looked at.
#[derive(Clone, Copy)]
pub struct Pinned<'p> {
    /// The digest, as `Segment` has it.
    pub statement: &'p [u8; 32],
    /// The file.
    pub proof: &'p [u8],
}

impl<'a> Key<'a> {
    /// Verifies the proofs of a text's segments, each as the one behind the one before: the first is that of the text's beginning, or the
    /// one behind what is pinned.
    pub fn verify_chain(&mut self, proofs: &[&[u8]], from: Option<Pinned>, policy: &Policy) -> Result<Vec<Verdict<'a>>> {
        require!(!proofs.is_empty(), "there is no segment");
        let mut before = None;
        if let Some(pinned) = from {
            let stated = self.stated(pinned.proof, policy)?;
            require!(stated.0.statement == *pinned.statement, "another statement is pinned than that of the segment");
            before = Some(stated);
        }
        let mut found = Vec::new();
        for (i, proof) in proofs.iter().enumerate() {
            let here = |e: crate::Error| e.within(format_args!("segment {}", i + 1));
            let verdict = self.verify_part(proof, policy).map_err(here)?;
            let (Some(own), Some(written)) = (&verdict.segment, &verdict.written) else {
                return fail!("segment {}: the segments are not a chain: the proof is of no segment", i + 1);
            };
            follows(before.as_ref(), own, written.tokens.first().copied()).map_err(here)?;
            before = Some((own.clone(), written.ended));
            found.push(verdict);
        }
        Ok(found)
    }
}

/// Checks that a segment is the one behind another, of which it is known whether the model ended its text there.
fn follows(before: Option<&(Segment, bool)>, own: &Segment, first: Option<u32>) -> Result<()> {
    const NOT: &str = "the segments are not a chain";
    let past = &own.trees[..own.trees.len() - 1];
    let Some((before, ended)) = before else {
        require!(past.is_empty(), "{NOT}: it comes behind {} others, and nothing before it is there", past.len());
        return Ok(());
    };
    require!(own.predecessor == before.statement, "{NOT}: it follows on another statement than that of the segment before");
    require!(past == &before.trees[..], "{NOT}: it names other keys and values of the segments before than they do");
    if own.follows {
        require!(first == Some(before.next), "{NOT}: its first token is not the one that the segment before leaves to be chosen");
        require!(!ended, "{NOT}: it goes on after a text that has ended");
    }
    Ok(())
}
