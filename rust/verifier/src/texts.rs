//! Several texts in one proof (docs/proof-format.md, "Several texts").

use crate::error::{Result, require};
use crate::graph::{Graph, Group, Kind, Linear, Map, Product, Shape, Step, Tensor, View};
use crate::reveal::{one_axis, same_axes};
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::format;
use alloc::vec;
use alloc::vec::Vec;

/// The most texts of one proof.
pub const MOST_TEXTS: u32 = 1 << 10;

/// What a circuit of several texts has beside that of one.
#[derive(Clone, Debug)]
pub struct Texts<'a> {
    pub count: usize,
    /// Whether the second input wires some view, and which inputs have a length that the key leaves open.
    pub places: bool,
    pub open: Vec<bool>,
    rows: BTreeMap<(u32, u64), u32>, // derived inputs, by the indexes that they are made of and the rows of a text
    tensors: Vec<Tensor<'a>>,        // of the circuit of one text
    steps: Vec<Step<'a>>,
}

/// What of all texts' entries is that of one.
pub fn part(entries: &[i32], text: usize, count: usize) -> &[i32] {
    let own = entries.len() / count;
    &entries[text * own..(text + 1) * own]
}

impl Texts<'_> {
    /// The entries of derived inputs, of those of all texts. Each index is that of a row that its text has.
    pub fn entries(&self, inputs: &BTreeMap<u32, &[i32]>) -> Result<Vec<(u32, Vec<i32>)>> {
        let one = |(&(ids, length), &made): (&(u32, u64), &u32)| {
            let at = inputs[&ids];
            let own = at.len() / self.count;
            for (i, &x) in at.iter().enumerate() {
                require!((x as u64) < length, "text {}: an index {x} of {length} rows", i / own + 1);
            }
            let rows = at.iter().enumerate().map(|(i, &x)| (i / own) as i32 * length as i32 + x);
            Ok((made, rows.collect()))
        };
        self.rows.iter().map(one).collect()
    }

    /// Of texts that a model wrote one is as long as all, and one has as many written tokens as there are positions, where the
    /// key leaves these sizes open.
    pub fn check_longest(&self, ids: &[i32], positions: &[i32]) -> Result<()> {
        let n = self.count;
        let ends = (0..n).map(|text| part(positions, text, n)).map(|p| (p[0] as i64, p[p.len() - 1] as i64));
        let (longest, most) = ends.fold((0, 0), |(longest, most), (first, last)| (longest.max(last + 2), most.max(last - first + 1)));
        let (room, places) = ((ids.len() / n) as i64, (positions.len() / n) as i64);
        require!(!self.open[0] || longest == room, "the longest of {n} texts has {longest} tokens, and there is room for {room}");
        let full = !self.open[1] || most == places;
        require!(full, "of {n} texts at most {most} tokens are written, and there are logits at {places} positions");
        Ok(())
    }
}

impl<'a> Graph<'a> {
    /// Takes back what `several` did, but for tensors and inputs that it added.
    pub fn single(&mut self) {
        if let Some(texts) = self.texts.take() {
            (self.tensors, self.steps) = (texts.tensors, texts.steps);
        }
    }

    /// Makes a circuit that has sizes one of several texts of that length: all that depends on inputs gets a first axis.
    pub fn several(&mut self, count: u32) -> Result<()> {
        if count == 0 {
            return Ok(());
        }
        const NOT: &str = "it does not prove several texts at once";
        require!((2..=MOST_TEXTS).contains(&count), "{NOT}: {count} texts, where 2 to {MOST_TEXTS} are several");
        let mut many = Many { count: count as u64, own: Vec::new(), lines: BTreeSet::new(), rows: BTreeMap::new() };
        many.mark(self).map_err(|e| e.within(NOT))?;
        self.texts = Some(Texts {
            count: count as usize,
            places: self.inputs.get(1).is_some_and(|&id| self.is_ids(id)),
            open: self.inputs.iter().map(|&id| !self.tensors[id as usize].shape.scales.is_empty()).collect(),
            rows: BTreeMap::new(),
            tensors: self.tensors.clone(),
            steps: self.steps.clone(),
        });
        for t in self.tensors.iter_mut().filter(|t| t.kind == Kind::Input) {
            t.shape = many.shape(&t.shape);
        }
        for id in 0..many.own.len() {
            many.tensor(self, id).map_err(|e| e.within(format_args!("tensor {id}")).within(NOT))?;
        }
        let mut steps = core::mem::take(&mut self.steps);
        let done =
            steps.iter_mut().enumerate().try_for_each(|(i, s)| many.step(self, s).map_err(|e| e.within(format!("step {i}")).within(NOT)));
        self.steps = steps;
        if let Some(texts) = &mut self.texts {
            texts.rows = many.rows;
        }
        done
    }
}

/// A circuit that becomes one of several texts.
struct Many {
    count: u64,
    own: Vec<bool>,       // by tensor: each text has its own
    lines: BTreeSet<u32>, // tensors that become one list of the rows of all texts
    rows: BTreeMap<(u32, u64), u32>,
}

fn wired(l: &Linear) -> impl Iterator<Item = &Group> {
    l.view.iter().flat_map(|v| &v.groups).filter(|g| g.map == Map::Public)
}

impl Many {
    fn mark(&mut self, g: &Graph) -> Result<()> {
        let divisors: BTreeSet<u32> = g.steps.iter().filter_map(|s| s.divisor).collect();
        for (i, t) in g.tensors.iter().enumerate() {
            require!(t.kind != Kind::Empty, "an input or an output has no entries");
            let divides = divisors.contains(&(i as u32));
            let own = match t.kind {
                Kind::Input | Kind::Witness => true,
                Kind::Virtual if t.product.is_some() => t.product.iter().any(|p| self.own[p.a as usize] || self.own[p.b as usize]),
                Kind::Virtual => divides || t.definition.iter().any(|l| self.own[l.source as usize] || wired(l).next().is_some()),
                _ => false,
            };
            require!(own || !divides, "the divisor of a step is the same for all texts");
            self.own.push(own);
        }
        for l in g.summands() {
            let mut groups = wired(l);
            let Some(group) = groups.next() else { continue };
            require!(groups.next().is_none(), "a view is wired by two lists of indexes");
            if self.own[l.source as usize] {
                let first = group.source[0] == 0 && continues(g, l.source);
                require!(first, "indexes read tensor {}, which does not continue rows of a text of any length", l.source);
                self.lines.insert(l.source);
            }
        }
        for &id in &g.outputs {
            let own = self.own[id as usize] && !self.lines.contains(&id);
            require!(own, "an output is not what each text has its own of");
        }
        Ok(())
    }

    fn shape(&self, shape: &Shape) -> Shape {
        Shape { now: [&[self.count], &shape.now[..]].concat(), ..Shape::default() }
    }

    fn tensor(&mut self, g: &mut Graph, id: usize) -> Result<()> {
        if !self.own[id] || g.tensors[id].kind == Kind::Input {
            return Ok(());
        }
        let t = &mut g.tensors[id];
        if let Some(p) = &mut t.product {
            t.shape = self.shape(&t.shape);
            return self.product(p);
        }
        let t = &g.tensors[id];
        let (shape, definition) = if self.lines.contains(&(id as u32)) {
            line(g, t.definition[0].source)
        } else {
            let (shape, axes, terms) = (self.shape(&t.shape), t.shape.now.len(), t.definition.clone());
            (shape, self.terms(g, terms, axes)?)
        };
        (g.tensors[id].shape, g.tensors[id].definition) = (shape, definition);
        Ok(())
    }

    fn step(&mut self, g: &mut Graph, s: &mut Step) -> Result<()> {
        let axes = s.shape.now.len();
        s.shape = self.shape(&s.shape);
        s.accumulator.linear = self.terms(g, core::mem::take(&mut s.accumulator.linear), axes)?;
        self.whole(s.divisor)?;
        s.accumulator.products.iter_mut().try_for_each(|p| self.product(p))
    }

    /// Gives the operands that each text has its own of the label of texts.
    fn product(&self, p: &mut Product) -> Result<()> {
        self.whole([p.a, p.b])?;
        (p.labels_a, p.labels_b) = (self.labels(p.a, &p.labels_a), self.labels(p.b, &p.labels_b));
        Ok(())
    }

    fn whole(&self, ids: impl IntoIterator<Item = u32>) -> Result<()> {
        let rows = ids.into_iter().any(|id| self.lines.contains(&id));
        require!(!rows, "what indexes read the rows of is read in another way too");
        Ok(())
    }

    /// Those of an operand behind that of the texts, 0.
    fn labels(&self, id: u32, labels: &[u32]) -> Vec<u32> {
        let own = if self.own[id as usize] { Some(0) } else { None };
        own.into_iter().chain(labels.iter().map(|&l| l.saturating_add(1))).collect()
    }

    fn terms(&mut self, g: &mut Graph, mut terms: Vec<Linear>, axes: usize) -> Result<Vec<Linear>> {
        for l in &mut terms {
            let own = self.own[l.source as usize];
            if wired(l).next().is_some() {
                let rows = g.tensors[l.source as usize].shape.now[0];
                for group in l.view.iter_mut().flat_map(|v| &mut v.groups) {
                    behind(&mut group.out, 1);
                    if group.map == Map::Public {
                        group.out.insert(0, 0);
                        group.ids = if own { self.rows(g, group.ids, rows) } else { group.ids };
                    }
                }
                continue;
            }
            self.whole([l.source])?;
            if l.view.is_none() && own {
                continue;
            }
            let mut view = l.view.take().unwrap_or_else(|| View { groups: same_axes(axes), fill: 0 });
            for group in &mut view.groups {
                behind(&mut group.out, 1);
                behind(&mut group.source, own as u32);
            }
            let texts = Group { source: vec![0; own as usize], strides: vec![own as i64], ..one_axis(Map::Affine, vec![0]) };
            view.groups.insert(0, texts);
            l.view = Some(view);
        }
        Ok(terms)
    }

    /// The derived input of indexes into a list of the rows of all texts.
    fn rows(&mut self, g: &mut Graph, ids: u32, all: u64) -> u32 {
        let shape = g.tensors[ids as usize].shape.now.clone();
        *self.rows.entry((ids, all / self.count)).or_insert_with(|| g.add_input(&shape, 0, all as i64 - 1))
    }
}

fn behind(axes: &mut [u32], by: u32) {
    axes.iter_mut().for_each(|a| *a = a.saturating_add(by));
}

/// Whether a tensor has the entries of another one, as many along the first axis as a size says, with zeros behind them up to a length that
/// no size says.
fn continues(g: &Graph, id: u32) -> bool {
    let t = &g.tensors[id as usize];
    let [Linear { coefficient: 1, source, view: Some(View { groups, fill: 0 }) }] = &t.definition[..] else { return false };
    let of = &g.tensors[*source as usize].shape;
    let (Some((rows, rest)), Some((most, others))) = (of.now.split_first(), t.shape.now.split_first()) else { return false };
    of.scales.first().is_some_and(|&s| s != 0)
        && (rows == most || rows < most && t.shape.scales.first().is_none_or(|&s| s == 0))
        && rest == others
        && groups.len() == of.now.len()
        && groups.iter().all(|group| group.follows() && group.source == group.out)
}

/// One list of the rows of all texts.
fn line(g: &Graph, source: u32) -> (Shape, Vec<Linear>) {
    let of = &g.tensors[source as usize].shape.now;
    let mut groups = vec![Group { source: vec![0, 1], ..one_axis(Map::Reshape, vec![0]) }];
    let others = (1..of.len() as u32 - 1).map(|a| Group { source: vec![a + 1], strides: vec![1], ..one_axis(Map::Affine, vec![a]) });
    groups.extend(others);
    let shape = Shape { now: [&[of[0] * of[1]], &of[2..]].concat(), ..Shape::default() };
    (shape, vec![Linear { coefficient: 1, source, view: Some(View { groups, fill: 0 }) }])
}
