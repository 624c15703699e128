//! The reduction of a fork: from values of tensors at points to claims on committed tensors (docs/proof-format.md, "The
//! order of messages"; docs/protocol.md, "Claim reduction").

use crate::cost::Cost;
use crate::error::{Result, require};
use crate::field::{K, ONE, ZERO};
use crate::forms::Tape;
use crate::formulas;
use crate::graph::{Accumulator, Graph, Group, Kind, Linear, Product, View};
use crate::layout::{Claim, Table, Where};
use crate::poly::{eq, evaluate, mask, split};
use crate::shape::{shape_variables, variables};
use crate::soundness::Rounds;
use crate::stream::Stream;
use crate::wiring::{Inputs, Wiring};
use alloc::boxed::Box;
use alloc::collections::BTreeMap;
use alloc::collections::btree_map::Entry;
use alloc::rc::Rc;
use alloc::string::String;
use alloc::vec::Vec;

/// A point by the places of its coordinates among the challenges of a fork: what is the same is found by them.
pub type Point = Vec<u32>;

/// What all forks of a proof have in common.
pub struct Shared<'v> {
    pub graph: &'v Graph<'v>,
    pub table: &'v Table,
    pub inputs: &'v Inputs<'v>,
    pub elements: &'v BTreeMap<u32, Vec<u32>>, // of the public inputs, as elements of F
    pub cost: Cost,
    pub rounds: Rounds,
    empty: BTreeMap<usize, bool>, // by the address of a summand: whether its view wires nothing
}

impl<'v> Shared<'v> {
    pub fn new(
        graph: &'v Graph<'v>,
        table: &'v Table,
        inputs: &'v Inputs<'v>,
        elements: &'v BTreeMap<u32, Vec<u32>>,
        rounds: Rounds,
    ) -> Shared<'v> {
        Shared { graph, table, inputs, elements, cost: Cost::default(), rounds, empty: BTreeMap::new() }
    }
}

/// One fork of the transcript with its stream.
pub struct Fork<'v, 's, T: Tape> {
    pub name: String,
    pub stream: Stream,
    pub shared: &'s mut Shared<'v>,
    pub tape: T,
    pub claims: Vec<Claim>,
    pub values: Vec<T::Value>, // of the claims
    challenges: Vec<K>,
    known: BTreeMap<u32, BTreeMap<Box<[u32]>, T::Value>>, // by tensor and point
    points: BTreeMap<Box<[u32]>, Rc<[K]>>,                // of claims
    masks: BTreeMap<(&'v [u64], Box<[u32]>), K>,          // of constants, by shape and point
    queue: Vec<Sum<'v, T::Value>>,
    weights: Vec<(Weighted<'v>, K)>,
}

/// A sum that waits for a batch: eq(…)·A·B over some variables.
struct Sum<'v, V> {
    value: V,
    variables: usize,
    kind: SumKind<'v>,
}

enum SumKind<'v> {
    /// factor·Σ_x source~(x)·Π g~(x_group) over the groups that do not only rename.
    View { wiring: Wiring<'v>, source: u32, out: Point, factor: K },
    /// Σ_{b,k} eq(ρ_b, b)·A~(b, k, ρ_A)·B~(b, k, ρ_B)
    Product { product: &'v Product, shape: &'v [u64], out: Point, order: Vec<u32>, eq_variables: usize },
}

impl<V> Sum<'_, V> {
    fn eq_variables(&self) -> usize {
        match self.kind {
            SumKind::View { .. } => 0,
            SumKind::Product { eq_variables, .. } => eq_variables,
        }
    }
}

/// What the weight of a view's groups follows from: the shapes of the output and of the source, the groups, the point of the
/// output, and at the end of a sum the first challenge of its point there, and how many there are.
type Weighted<'v> = (&'v [u64], &'v [u64], Vec<&'v Group>, Point, Option<(u32, usize)>);

/// How many weights a fork remembers: layers of a model have the same views at the same points.
const MOST_WEIGHTS: usize = 64;

impl<'v, 's, T: Tape> Fork<'v, 's, T> {
    pub fn new(name: String, stream: Stream, shared: &'s mut Shared<'v>) -> Result<Fork<'v, 's, T>> {
        shared.cost.fork()?;
        Ok(Fork {
            name,
            stream,
            shared,
            tape: T::default(),
            claims: Vec::new(),
            values: Vec::new(),
            challenges: Vec::new(),
            known: BTreeMap::new(),
            points: BTreeMap::new(),
            masks: BTreeMap::new(),
            queue: Vec::new(),
            weights: Vec::new(),
        })
    }

    /// The point of some challenges.
    pub fn point(&mut self, challenges: &[K]) -> Point {
        let first = self.challenges.len() as u32;
        self.challenges.extend_from_slice(challenges);
        (first..self.challenges.len() as u32).collect()
    }

    /// An element of K, sent.
    pub fn element(&mut self) -> Result<T::Value> {
        let sent = self.stream.element()?;
        Ok(self.tape.receive(sent))
    }

    pub fn elements<const N: usize>(&mut self) -> Result<[T::Value; N]> {
        Ok(self.stream.elements()?.map(|sent| self.tape.receive(sent)))
    }

    pub fn at(&self, point: &[u32]) -> Vec<K> {
        point.iter().map(|&i| self.challenges[i as usize]).collect()
    }

    /// The weight of a view's groups in the sum, at a point of the output and the end of the sum, without their factor; without
    /// an end the factor, of the other groups.
    fn weight(&mut self, w: &Wiring<'v>, out: &[u32], end: Option<&[u32]>) -> K {
        let groups = if end.is_some() { &w.summed } else { &w.single };
        let ends = end.map(|at| (at.first().copied().unwrap_or(0), at.len()));
        let same = |(own, _): &&(Weighted, K)| own.3 == out && own.4 == ends && (own.0, own.1) == (w.out, w.source) && own.2 == *groups;
        if let Some(&(_, weight)) = self.weights.iter().find(same) {
            return weight;
        }
        let (at, inputs) = (self.at(out), self.shared.inputs);
        let weight = match end {
            Some(end) => w.weight(&at, &self.at(end), ONE, inputs),
            None => w.factor(&at, inputs),
        };
        if self.weights.len() == MOST_WEIGHTS {
            self.weights.remove(0);
        }
        self.weights.push(((w.out, w.source, groups.clone(), out.to_vec(), ends), weight));
        weight
    }

    // Evaluating

    /// The value of a tensor at a point. Tensors by which virtual ones are defined come before them, and only so many are
    /// upon each other.
    pub fn evaluate(&mut self, tensor: u32, point: &[u32]) -> Result<T::Value> {
        if let Some(&value) = self.known.get(&tensor).and_then(|points| points.get(point)) {
            return Ok(value);
        }
        let g = self.shared.graph;
        let t = &g.tensors[tensor as usize];
        let shape = &t.shape.now;
        let value = match t.kind {
            Kind::Fixed | Kind::Witness => {
                let value = self.element()?;
                self.shared.cost.node(0)?;
                self.claim(tensor, point, value)?;
                value
            }
            Kind::Virtual if t.product.is_some() => {
                self.shared.cost.node(1)?;
                let Some(p) = &t.product else { return Ok(T::known(ZERO)) };
                self.product(p, shape, point)?
            }
            Kind::Virtual => {
                self.shared.cost.node(t.definition.len())?;
                self.linear(&t.definition, shape, point)?
            }
            Kind::Formula => {
                self.shared.cost.formula(shape)?;
                self.shared.cost.node(0)?;
                T::known(formulas::value(t, &self.at(point)))
            }
            Kind::Input if t.marks.is_some() => {
                let Some(marks) = t.marks else { return Ok(T::known(ZERO)) };
                let indexes = &self.shared.elements[&marks.at];
                self.shared.cost.marks(indexes.len() as u64, shape.last().copied().unwrap_or(1))?;
                self.shared.cost.node(0)?;
                T::known(marks.value(shape, indexes, &self.at(point)))
            }
            Kind::Input | Kind::Empty => {
                self.shared.cost.public(shape)?;
                self.shared.cost.node(0)?;
                T::known(evaluate(&self.shared.elements[&tensor], shape, &self.at(point)))
            }
        };
        self.known.entry(tensor).or_default().insert(point.into(), value);
        Ok(value)
    }

    fn claim(&mut self, tensor: u32, point: &[u32], value: T::Value) -> Result<()> {
        self.shared.cost.claim(self.shared.table.located[tensor as usize].places.len() as u64)?;
        let at = match self.points.get(point) {
            Some(at) => at.clone(),
            None => {
                let at: Rc<[K]> = self.at(point).into();
                self.points.insert(point.into(), at.clone());
                at
            }
        };
        self.claims.push(Claim { tensor, at: Where::Point(at) });
        self.values.push(value);
        Ok(())
    }

    /// How often rows of a table, in aligned blocks, are looked up.
    pub fn count(&mut self, tensor: u32, rows: Vec<(u64, usize)>) -> Result<()> {
        self.shared.cost.node(0)?;
        self.shared.cost.claim(rows.len() as u64)?;
        let value = if T::MASKED { self.element()? } else { T::known(K::base(self.stream.limb()?)) };
        self.claims.push(Claim { tensor, at: Where::Rows(rows) });
        self.values.push(value);
        Ok(())
    }

    fn linear(&mut self, terms: &'v [Linear], shape: &'v [u64], point: &[u32]) -> Result<T::Value> {
        let mut sum = T::known(ZERO);
        for l in terms {
            let value = match &l.view {
                None => self.evaluate(l.source, point)?,
                Some(view) => self.view(l, view, shape, point)?,
            };
            let term = self.tape.scale(value, l.coefficient);
            sum = self.tape.add(sum, term);
        }
        Ok(sum)
    }

    /// The value of a view at a point. If its wiring does more than rename variables, that of the source's part is sent, and
    /// a sum of the next batch reduces it to a value of the source.
    fn view(&mut self, l: &'v Linear, view: &'v View, shape: &'v [u64], point: &[u32]) -> Result<T::Value> {
        let shared = &mut *self.shared;
        let w = Wiring::new(shared.graph, l, view, shape);
        let address = l as *const Linear as usize;
        if !shared.empty.contains_key(&address) {
            shared.cost.analysis(&w)?;
            shared.empty.insert(address, w.is_empty());
        }
        shared.cost.wiring(&w)?;
        let inputs = shared.inputs;
        let empty = shared.empty[&address];
        let at = if w.single.is_empty() && !w.has_fill() { Vec::new() } else { self.at(point) };
        let factor = if w.single.is_empty() { ONE } else { self.weight(&w, point, None) };
        let filled = T::known(if w.has_fill() { w.filled(&at, factor, inputs) } else { ZERO });
        if empty {
            return Ok(filled);
        }
        if w.summed.is_empty() {
            let value = self.evaluate(l.source, &w.bound(point).concat())?;
            let value = self.tape.times(value, factor);
            return Ok(self.tape.add(filled, value));
        }
        let value = self.element()?;
        self.shared.cost.node(0)?;
        let variables = w.kept().map(|a| variables(w.source[a as usize])).sum();
        let kind = SumKind::View { wiring: w, source: l.source, out: point.to_vec(), factor };
        self.queue.push(Sum { value, variables, kind });
        Ok(self.tape.add(filled, value))
    }

    /// The value of an accumulator over an index space at a point.
    pub fn accumulator(&mut self, a: &'v Accumulator, shape: &'v [u64], point: &[u32]) -> Result<T::Value> {
        let mut sum = ZERO;
        if a.constant != 0 {
            let mask = match self.masks.entry((shape, point.into())) {
                Entry::Occupied(known) => *known.get(),
                Entry::Vacant(unknown) => {
                    let at: Vec<K> = point.iter().map(|&i| self.challenges[i as usize]).collect();
                    *unknown.insert(mask(split(&at, shape), shape))
                }
            };
            sum = mask.scale(a.constant);
        }
        let linear = self.linear(&a.linear, shape, point)?;
        let mut sum = self.tape.add(T::known(sum), linear);
        for p in &a.products {
            let value = self.product(p, shape, point)?;
            let term = self.tape.scale(value, p.coefficient);
            sum = self.tape.add(sum, term);
        }
        self.shared.cost.node(a.linear.len() + a.products.len())?;
        Ok(sum)
    }

    fn product(&mut self, p: &'v Product, shape: &'v [u64], point: &[u32]) -> Result<T::Value> {
        let value = self.element()?;
        self.shared.cost.node(0)?;
        let g = self.shared.graph;
        let mut order: Vec<u32> = p.labels_a.iter().copied().filter(|l| p.labels_b.contains(l)).collect();
        order.sort_unstable(); // labels of the step's axes are smaller than others
        let dimensions = |label: u32| variables(g.shape(p.a)[place(&p.labels_a, label)]);
        let eq_variables = order.iter().filter(|&&l| (l as usize) < shape.len()).map(|&l| dimensions(l)).sum();
        let variables = order.iter().map(|&l| dimensions(l)).sum();
        let absent = |axis: u32| !p.labels_a.contains(&axis) && !p.labels_b.contains(&axis);
        let mut times = ONE;
        if (0..shape.len() as u32).any(absent) {
            let at = self.at(point);
            let parts = split(&at, shape);
            for axis in (0..shape.len()).filter(|&axis| absent(axis as u32)) {
                times *= mask([parts[axis]], &shape[axis..=axis]);
            }
        }
        let kind = SumKind::Product { product: p, shape, out: point.to_vec(), order, eq_variables };
        self.queue.push(Sum { value, variables, kind });
        Ok(if times == ONE { value } else { self.tape.times(value, times) })
    }

    // Sums

    /// Proves all sums, batch by batch, until none is waiting.
    pub fn run_batches(&mut self) -> Result<()> {
        while !self.queue.is_empty() {
            self.batch()?;
        }
        Ok(())
    }

    fn batch(&mut self) -> Result<()> {
        let sums = core::mem::take(&mut self.queue);
        let rounds = sums.iter().map(|s| s.variables).max().unwrap_or(0);
        self.shared.cost.rounds(rounds)?;
        self.shared.rounds.point(format_args!("{}: batch of sums", self.name), sums.len() as u64 - 1)?;
        let gamma = self.stream.transcript.challenge();
        let mut powers = Vec::with_capacity(sums.len());
        let mut power = ONE;
        // Sums by their variables: when they join.
        let mut joining = alloc::vec![T::known(ZERO); rounds + 1];
        let mut cubic = alloc::vec![false; rounds + 1];
        for s in &sums {
            let term = self.tape.times(s.value, power);
            joining[s.variables] = self.tape.add(joining[s.variables], term);
            (s.variables - s.eq_variables() + 1..=s.variables).for_each(|left| cubic[left] = true);
            powers.push(power);
            power *= gamma;
        }
        let (mut claim, mut point) = (T::known(ZERO), Vec::with_capacity(rounds));
        for left in (1..=rounds).rev() {
            claim = self.tape.add(claim, joining[left]);
            let [c0, c2] = self.elements()?;
            let c3 = if cubic[left] { self.element()? } else { T::known(ZERO) };
            let rest = [c0, c2, c3].into_iter().fold(c0, |sum, c| self.tape.add(sum, c));
            let c1 = self.tape.sub(claim, rest);
            self.shared.rounds.point(format_args!("{}: sums", self.name), if cubic[left] { 3 } else { 2 })?;
            let r = self.stream.transcript.challenge();
            point.push(r);
            claim = self.tape.horner(&[c0, c1, c2, c3], r);
        }
        claim = self.tape.add(claim, joining[0]);
        let kept = self.point(&point);
        let mut ends = Vec::with_capacity(sums.len());
        let mut total = T::known(ZERO);
        let mut factors = BTreeMap::new();
        for (s, &power) in sums.iter().zip(&powers) {
            let at = &kept[rounds - s.variables..];
            let a = self.element()?;
            let b = match &s.kind {
                SumKind::View { wiring, out, factor, .. } if T::MASKED => T::known(self.weight(wiring, out, Some(at)) * *factor),
                _ => self.element()?,
            };
            let weight = self.eq_factor(s, at, &mut factors);
            let product = self.tape.product(a, b);
            let term = self.tape.times(product, power * weight);
            total = self.tape.add(total, term);
            ends.push((a, b));
        }
        require!(self.tape.equal(total, claim), "sumcheck: the final evaluations do not give the running claim");
        for (s, (a, b)) in sums.into_iter().zip(ends) {
            if let (SumKind::View { wiring, source, out, factor }, false) = (&s.kind, T::MASKED) {
                let weight = self.weight(wiring, out, Some(&kept[rounds - s.variables..])) * *factor;
                let of = || &self.shared.graph.tensors[*source as usize].name;
                require!(self.tape.equal(T::known(weight), b), "wiring of {:?}: wrong weights", of());
            }
            self.bind_sum(s, &kept, a, b)?;
        }
        Ok(())
    }

    /// eq of a product's batch axes, at the end of its sum. `known` has those of the batch's sums so far, by the two points.
    fn eq_factor(&self, s: &Sum<T::Value>, kept: &[u32], known: &mut BTreeMap<(Point, Point), K>) -> K {
        let SumKind::Product { shape, out, order, eq_variables, .. } = &s.kind else { return ONE };
        if *eq_variables == 0 {
            return ONE;
        }
        let parts = split_point(out, shape);
        let batch: Point = order.iter().filter(|&&l| (l as usize) < shape.len()).flat_map(|&l| parts[l as usize]).copied().collect();
        let both = (batch, kept[..*eq_variables].to_vec());
        if let Some(&factor) = known.get(&both) {
            return factor;
        }
        let factor = eq(&self.at(&both.0), &self.at(&both.1));
        known.insert(both, factor);
        factor
    }

    /// What a sum came to at its end binds tensors.
    fn bind_sum(&mut self, s: Sum<'v, T::Value>, kept: &[u32], a: T::Value, b: T::Value) -> Result<()> {
        let kept = &kept[kept.len() - s.variables..];
        match s.kind {
            SumKind::View { wiring, source, out, .. } => {
                let (mut bound, mut rest) = (wiring.bound(&out), kept);
                for axis in wiring.kept() {
                    let (own, after) = rest.split_at(variables(wiring.source[axis as usize]));
                    bound[axis as usize] = own.to_vec();
                    rest = after;
                }
                self.bind(source, &bound.concat(), a)
            }
            SumKind::Product { product: p, shape, out, order, .. } => {
                let g = self.shared.graph;
                let mut parts: [&[u32]; 24] = [&[]; 24]; // by label
                for (own, part) in split_point(&out, shape).into_iter().zip(&mut parts) {
                    *part = own;
                }
                let mut rest = kept;
                for &label in &order {
                    let (own, after) = rest.split_at(variables(g.shape(p.a)[place(&p.labels_a, label)]));
                    parts[label as usize] = own;
                    rest = after;
                }
                let join = |labels: &[u32]| -> Point { labels.iter().flat_map(|&l| parts[l as usize]).copied().collect() };
                self.bind(p.a, &join(&p.labels_a), a)?;
                self.bind(p.b, &join(&p.labels_b), b)
            }
        }
    }

    /// A sum ended in this value of a tensor.
    fn bind(&mut self, tensor: u32, point: &[u32], value: T::Value) -> Result<()> {
        if matches!(self.shared.graph.kind(tensor), Kind::Fixed | Kind::Witness) {
            if let Entry::Vacant(unknown) = self.known.entry(tensor).or_default().entry(point.into()) {
                unknown.insert(value);
                self.shared.cost.node(0)?;
                return self.claim(tensor, point, value);
            }
        }
        let known = self.evaluate(tensor, point)?;
        require!(self.tape.equal(known, value), "tensor {:?}: evaluations disagree", self.shared.graph.tensors[tensor as usize].name);
        Ok(())
    }
}

fn place(labels: &[u32], label: u32) -> usize {
    labels.iter().position(|&l| l == label).unwrap_or(0)
}

fn split_point<'p>(point: &'p [u32], shape: &[u64]) -> Vec<&'p [u32]> {
    debug_assert_eq!(point.len(), shape_variables(shape));
    let mut rest = point;
    let part = |&d: &u64| {
        let (part, after) = rest.split_at(variables(d));
        rest = after;
        part
    };
    shape.iter().map(part).collect()
}
