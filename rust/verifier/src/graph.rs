//! The circuit of a key, as the key has it (docs/proof-format.md, "The key file"; the fields are explained in
//! prover/proof/schema/key.proto).

use crate::error::{Result, require};
use crate::hide::Hidden;
use crate::reveal::{Marks, Revealed};
use crate::segment::Segmented;
use crate::texts::Texts;
use crate::wire::{self, Decoder, Field, bytes, message, messages, number};
use alloc::borrow::Cow;
use alloc::collections::BTreeSet;
use alloc::vec;
use alloc::vec::Vec;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    Input,
    Fixed,
    Witness,
    Virtual,
    Formula,
    Empty,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Numbers {
    Finite,
    All,
    Masking,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum StepKind {
    Lookup,
    Exact,
    Zero,
    Divide,
    Maximum,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TableKind {
    Range,
    Piecewise,
    Function,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Map {
    Affine,
    Index,
    Reshape,
    Public,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum FormulaKind {
    AtMost,
    AtLeast,
    Equal,
    Progression,
}

/// The shape of a tensor or of a step, and that with all free dimensions of size 1 if it depends on them.
#[derive(Clone, Default, Debug)]
pub struct Shape {
    pub now: Vec<u64>,
    pub unit: Vec<u64>,
    pub scales: Vec<u32>,
}

#[derive(Clone, Debug)]
pub struct Tensor<'a> {
    pub name: Cow<'a, str>,
    pub shape: Shape,
    pub kind: Kind,
    pub frac: i32,
    pub fracs: Vec<i32>,
    pub min: i64,
    pub max: i64,
    pub numbers: Numbers,
    pub definition: Vec<Linear>,
    pub product: Option<Product>, // of a virtual one, in place of the definition
    pub formula: Option<Formula>,
    pub chunk: usize,         // of a witness tensor
    pub marks: Option<Marks>, // of an input that follows from what is stated
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Formula {
    pub kind: FormulaKind,
    pub offset: i64,
    pub step: i64,
}

/// coefficient·view(source)
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Linear {
    pub coefficient: i64,
    pub source: u32,
    pub view: Option<View>,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct View {
    pub groups: Vec<Group>,
    pub fill: i64,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Group {
    pub out: Vec<u32>,
    pub source: Vec<u32>,
    pub map: Map,
    pub base: Scaled,
    pub strides: Vec<i64>,
    pub sums: Vec<SumIndex>,
    pub index: Vec<u64>, // 1 + the source entry, 0 for none
    pub ids: u32,
}

impl Linear {
    fn new() -> Linear {
        Linear { coefficient: 0, source: 0, view: None }
    }
}

impl Group {
    /// An affine group without axes.
    pub fn new() -> Group {
        Group {
            out: Vec::new(),
            source: Vec::new(),
            map: Map::Affine,
            base: Scaled::default(),
            strides: Vec::new(),
            sums: Vec::new(),
            index: Vec::new(),
            ids: 0,
        }
    }
}

/// A number of a template: as it is at the present sizes, and with all of size 1.
#[derive(Clone, Copy, Default, Debug)]
pub struct Scaled {
    pub now: i64,
    pub unit: i64,
    pub scale: u32,
}

impl PartialEq for Scaled {
    fn eq(&self, other: &Scaled) -> bool {
        self.now == other.now
    }
}

impl Eq for Scaled {}

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SumIndex {
    pub dimension: Scaled,
    pub stride: i64,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Product {
    pub coefficient: i64,
    pub a: u32,
    pub b: u32,
    pub labels_a: Vec<u32>,
    pub labels_b: Vec<u32>,
}

#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Accumulator {
    pub constant: i64,
    pub linear: Vec<Linear>,
    pub products: Vec<Product>,
}

#[derive(Clone, Debug)]
pub struct Step<'a> {
    pub name: &'a str,
    pub kind: StepKind,
    pub shape: Shape,
    pub accumulator: Accumulator,
    pub shift: u32,
    pub remainder: Option<u32>,
    pub table: Option<u32>,
    pub out: Option<u32>,
    pub divisor: Option<u32>,
    pub chunk: usize,
}

impl<'a> Step<'a> {
    fn new() -> Step<'a> {
        Step {
            name: "",
            kind: StepKind::Lookup,
            shape: Shape::default(),
            accumulator: Accumulator::default(),
            shift: 0,
            remainder: None,
            table: None,
            out: None,
            divisor: None,
            chunk: 0,
        }
    }

    /// The tensors that the step fills.
    pub fn results(&self) -> impl Iterator<Item = u32> {
        let none = self.kind == StepKind::Zero;
        [self.remainder, self.out].into_iter().flatten().filter(move |_| !none)
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Piece {
    pub end: i64,
    pub slope: i64,
    pub offset: i64,
}

#[derive(Clone, Debug)]
pub struct Table<'a> {
    pub name: &'a str,
    pub kind: TableKind,
    pub bits: u32,
    pub min: i64,
    pub pieces: Vec<Piece>,
    pub values: Option<u32>,
    pub saturated: Vec<(u32, u32)>, // first row and end
    pub drop: u32,
}

#[derive(Clone, Debug)]
pub struct Free<'a> {
    pub name: &'a str,
    pub bound: u32,
}

/// The tensor that counts how often the look-ups of a chunk use each row of a table.
#[derive(Clone, Copy, Debug)]
pub struct Multiplicity {
    pub table: u32,
    pub tensor: u32,
    pub chunk: usize,
}

/// How many of a circuit's lists are the key's own.
#[derive(Clone, Copy, Default, Debug)]
pub struct Own {
    pub tensors: usize,
    pub tables: usize,
    pub steps: usize,
    pub inputs: usize,
}

#[derive(Clone, Debug)]
pub struct Graph<'a> {
    pub name: &'a str,
    pub tensors: Vec<Tensor<'a>>,
    pub tables: Vec<Table<'a>>,
    pub steps: Vec<Step<'a>>,
    pub inputs: Vec<u32>,
    pub outputs: Vec<u32>,
    pub free: Vec<Free<'a>>,
    /// Fixed tensors under a tree of their own, in the order of its stack; others are under a second one. Empty: all are under one.
    pub base: Vec<u32>,
    // Those of the present proof (modules texts, reveal, hide and template), whose tensors, tables and steps stand behind the key's.
    pub own: Own,
    pub texts: Option<Texts<'a>>,
    pub revealed: Vec<Revealed>,
    pub hidden: Hidden,
    pub segmented: Option<Segmented<'a>>,
    pub multiplicities: Vec<Multiplicity>,
    pub chunks: usize,
}

impl<'a> Graph<'a> {
    pub fn shape(&self, tensor: u32) -> &[u64] {
        &self.tensors[tensor as usize].shape.now
    }

    pub fn kind(&self, tensor: u32) -> Kind {
        self.tensors[tensor as usize].kind
    }

    /// Whether a tensor is a virtual one that a product defines.
    pub fn is_product(&self, tensor: u32) -> bool {
        self.tensors[tensor as usize].product.is_some()
    }

    /// The summands of all virtual tensors and accumulators.
    pub fn summands(&self) -> impl Iterator<Item = &Linear> {
        let definitions = self.tensors.iter().flat_map(|t| &t.definition);
        definitions.chain(self.steps.iter().flat_map(|s| &s.accumulator.linear))
    }

    /// The groups of all views that public indexes wire.
    pub fn public_groups(&self) -> impl Iterator<Item = (&Linear, &Group)> {
        let groups = self.summands().flat_map(|l| l.view.iter().flat_map(move |v| v.groups.iter().map(move |g| (l, g))));
        groups.filter(|(_, g)| g.map == Map::Public)
    }

    /// Whether some view has entries of the tensor as indexes.
    pub fn is_ids(&self, tensor: u32) -> bool {
        self.public_groups().any(|(_, g)| g.ids == tensor)
    }

    /// The fixed tensors under each tree of theirs, in the order of its stack: those of the base, then the others.
    pub fn fixed_stacks(&self) -> Vec<Vec<u32>> {
        let base: BTreeSet<u32> = self.base.iter().copied().collect();
        let rest = (0..self.tensors.len() as u32).filter(|id| self.kind(*id) == Kind::Fixed && !base.contains(id)).collect();
        let mut stacks = vec![self.base.clone(), rest];
        if self.base.is_empty() {
            stacks.retain(|stack: &Vec<u32>| !stack.is_empty());
        }
        stacks
    }

    /// The tensors of a base are fixed ones, each once, and not all of them.
    pub fn check_base(&self) -> Result<()> {
        let mut base = BTreeSet::new();
        for &id in &self.base {
            let fits = self.kind(id) == Kind::Fixed && base.insert(id);
            require!(fits, "tensor {id} of the base is no fixed tensor, or comes twice");
        }
        let all = self.tensors.iter().filter(|t| t.kind == Kind::Fixed).count();
        require!(base.is_empty() || base.len() < all, "all fixed tensors are those of the base: there is no adapter to it");
        Ok(())
    }
}

// Decoding

macro_rules! enumerations {
    ($($name:ident { $($value:ident),* })*) => {
        $(impl $name {
            const ALL: &'static [$name] = &[$($name::$value),*];
            fn read(value: &wire::Value) -> Result<$name> {
                Ok(Self::ALL[value.number(wire::enumeration(Self::ALL.len() as u64))? as usize])
            }
        })*
    };
}

enumerations! {
    Kind { Input, Fixed, Witness, Virtual, Formula, Empty }
    Numbers { Finite, All, Masking }
    StepKind { Lookup, Exact, Zero, Divide, Maximum }
    TableKind { Range, Piecewise, Function }
    Map { Affine, Index, Reshape, Public }
    FormulaKind { AtMost, AtLeast, Equal, Progression }
}

static GRAPH: [Field; 8] = [
    bytes("name"),
    messages("tensors"),
    messages("tables"),
    messages("steps"),
    bytes("inputs"),
    bytes("outputs"),
    messages("free"),
    bytes("base"),
];

pub fn graph<'a>(d: &mut Decoder, body: &'a [u8]) -> Result<Graph<'a>> {
    let mut g = Graph {
        name: "",
        tensors: Vec::new(),
        tables: Vec::new(),
        steps: Vec::new(),
        inputs: Vec::new(),
        outputs: Vec::new(),
        free: Vec::new(),
        base: Vec::new(),
        own: Own::default(),
        texts: None,
        revealed: Vec::new(),
        hidden: Hidden::default(),
        segmented: None,
        multiplicities: Vec::new(),
        chunks: 0,
    };
    let mut fields = d.open(body, &GRAPH)?;
    let steps;
    [d.tensors, d.tables, steps] = wire::counts(body, [2, 3, 4]);
    let tensors = d.left.min(d.tensors as usize);
    const ADDED: usize = 1 << 9; // room for those that a proof adds, mostly counts of its chunks' look-ups
    g.tensors.reserve_exact(tensors + ADDED);
    g.steps.reserve_exact((d.left - tensors).min(steps as usize) + ADDED);
    while let Some((field, value)) = fields.next()? {
        match field {
            1 => g.name = value.text()?,
            2 => value.fill(d, &mut g.tensors, Tensor::new(Kind::Input), tensor)?,
            3 => value.push(d, &mut g.tables, table)?,
            4 => value.fill(d, &mut g.steps, Step::new(), step)?,
            5 => g.inputs = value.numbers(wire::identifier(d.tensors))?,
            6 => g.outputs = value.numbers(wire::identifier(d.tensors))?,
            7 => value.push(d, &mut g.free, free)?,
            _ => g.base = value.numbers(wire::identifier(d.tensors))?,
        }
    }
    g.own = Own { tensors: g.tensors.len(), tables: g.tables.len(), steps: g.steps.len(), inputs: g.inputs.len() };
    Ok(g)
}

static FREE: [Field; 2] = [bytes("name"), number("bound")];

fn free<'a>(d: &mut Decoder, body: &'a [u8]) -> Result<Free<'a>> {
    let mut f = Free { name: "", bound: 0 };
    let mut fields = d.open(body, &FREE)?;
    while let Some((field, value)) = fields.next()? {
        match field {
            1 => f.name = value.text()?,
            _ => f.bound = value.number(wire::count)?,
        }
    }
    Ok(f)
}

static TENSOR: [Field; 12] = [
    bytes("name"),
    bytes("shape"),
    number("kind"),
    number("frac"),
    number("min"),
    number("max"),
    messages("definition"),
    bytes("scales"),
    bytes("fracs"),
    message("formula"),
    number("numbers"),
    message("product"),
];

fn tensor<'a>(d: &mut Decoder, body: &'a [u8], t: &mut Tensor<'a>) -> Result<()> {
    let mut fields = d.open(body, &TENSOR)?;
    while let Some((field, value)) = fields.next()? {
        match field {
            1 => t.name = Cow::Borrowed(value.text()?),
            2 => t.shape.now = value.numbers(wire::dimension)?,
            3 => t.kind = Kind::read(&value)?,
            4 => t.frac = value.number(wire::exponent)?,
            5 => t.min = value.number(wire::integer)?,
            6 => t.max = value.number(wire::integer)?,
            7 => value.fill(d, &mut t.definition, Linear::new(), linear)?,
            8 => t.shape.scales = value.numbers(wire::any32)?,
            9 => t.fracs = value.numbers(wire::exponent)?,
            10 => t.formula = Some(value.message(d, formula)?),
            11 => t.numbers = Numbers::read(&value)?,
            _ => t.product = Some(value.message(d, product)?),
        }
    }
    t.shape.keep_unit();
    Ok(())
}

impl<'a> Tensor<'a> {
    pub fn new(kind: Kind) -> Tensor<'a> {
        Tensor {
            name: Cow::Borrowed(""),
            shape: Shape::default(),
            kind,
            frac: 0,
            fracs: Vec::new(),
            min: 0,
            max: 0,
            numbers: Numbers::Finite,
            definition: Vec::new(),
            product: None,
            formula: None,
            chunk: 0,
            marks: None,
        }
    }

    /// The least and the greatest integer that stand for finite numbers.
    pub fn finite(&self) -> (i64, i64) {
        let low = self.min.wrapping_add((self.numbers != Numbers::Finite) as i64);
        (low, self.max.wrapping_sub(2 * (self.numbers == Numbers::All) as i64))
    }
}

impl Shape {
    fn keep_unit(&mut self) {
        if !self.scales.is_empty() {
            self.unit = self.now.clone();
        }
    }
}

static FORMULA: [Field; 3] = [number("kind"), number("offset"), number("step")];

fn formula(d: &mut Decoder, body: &[u8]) -> Result<Formula> {
    let mut f = Formula { kind: FormulaKind::AtMost, offset: 0, step: 0 };
    let mut fields = d.open(body, &FORMULA)?;
    while let Some((field, value)) = fields.next()? {
        match field {
            1 => f.kind = FormulaKind::read(&value)?,
            2 => f.offset = value.number(wire::integer)?,
            _ => f.step = value.number(wire::integer)?,
        }
    }
    Ok(f)
}

static LINEAR: [Field; 3] = [number("coefficient"), number("source"), message("view")];

fn linear(d: &mut Decoder, body: &[u8], l: &mut Linear) -> Result<()> {
    let mut fields = d.open(body, &LINEAR)?;
    while let Some((field, value)) = fields.next()? {
        match field {
            1 => l.coefficient = value.number(wire::integer)?,
            2 => l.source = value.number(wire::identifier(d.tensors))?,
            _ => l.view = Some(value.message(d, view)?),
        }
    }
    require!(d.tensors > 0, ".source: identifier 0 of 0");
    Ok(())
}

static VIEW: [Field; 2] = [messages("groups"), number("fill")];

fn view(d: &mut Decoder, body: &[u8]) -> Result<View> {
    let mut v = View { groups: Vec::new(), fill: 0 };
    let mut fields = d.open(body, &VIEW)?;
    while let Some((field, value)) = fields.next()? {
        match field {
            1 => value.fill(d, &mut v.groups, Group::new(), group)?,
            _ => v.fill = value.number(wire::integer)?,
        }
    }
    Ok(v)
}

static GROUP: [Field; 9] = [
    bytes("out"),
    bytes("in"),
    number("map"),
    number("base"),
    bytes("strides"),
    messages("sums"),
    bytes("index"),
    number("base_scale"),
    number("ids"),
];

fn group(d: &mut Decoder, body: &[u8], g: &mut Group) -> Result<()> {
    let mut fields = d.open(body, &GROUP)?;
    while let Some((field, value)) = fields.next()? {
        match field {
            1 => g.out = value.numbers(wire::count)?,
            2 => g.source = value.numbers(wire::count)?,
            3 => g.map = Map::read(&value)?,
            4 => g.base.unit = value.number(wire::stride)?,
            5 => g.strides = value.numbers(wire::stride)?,
            6 => value.push(d, &mut g.sums, sum)?,
            7 => g.index = value.numbers(wire::dimension)?,
            8 => g.base.scale = value.number(wire::any32)?,
            _ => g.ids = value.number(wire::identifier(d.tensors))?,
        }
    }
    g.base.now = g.base.unit;
    require!(d.tensors > 0, ".ids: identifier 0 of 0");
    Ok(())
}

static SUM: [Field; 3] = [number("dimension"), number("stride"), number("scale")];

fn sum(d: &mut Decoder, body: &[u8]) -> Result<SumIndex> {
    let mut s = SumIndex { dimension: Scaled::default(), stride: 0 };
    let mut fields = d.open(body, &SUM)?;
    while let Some((field, value)) = fields.next()? {
        match field {
            1 => s.dimension.unit = value.number(wire::dimension)? as i64,
            2 => s.stride = value.number(wire::stride)?,
            _ => s.dimension.scale = value.number(wire::any32)?,
        }
    }
    s.dimension.now = s.dimension.unit;
    Ok(s)
}

static PRODUCT: [Field; 5] = [number("coefficient"), number("a"), number("b"), bytes("labels_a"), bytes("labels_b")];

fn product(d: &mut Decoder, body: &[u8]) -> Result<Product> {
    let mut p = Product { coefficient: 0, a: 0, b: 0, labels_a: Vec::new(), labels_b: Vec::new() };
    let mut fields = d.open(body, &PRODUCT)?;
    while let Some((field, value)) = fields.next()? {
        match field {
            1 => p.coefficient = value.number(wire::integer)?,
            2 => p.a = value.number(wire::identifier(d.tensors))?,
            3 => p.b = value.number(wire::identifier(d.tensors))?,
            4 => p.labels_a = value.numbers(wire::count)?,
            _ => p.labels_b = value.numbers(wire::count)?,
        }
    }
    require!(d.tensors > 0, ".a: identifier 0 of 0");
    Ok(p)
}

static ACCUMULATOR: [Field; 3] = [number("constant"), messages("linear"), messages("products")];

fn accumulator(d: &mut Decoder, body: &[u8]) -> Result<Accumulator> {
    let mut a = Accumulator::default();
    let mut fields = d.open(body, &ACCUMULATOR)?;
    while let Some((field, value)) = fields.next()? {
        match field {
            1 => a.constant = value.number(wire::integer)?,
            2 => value.fill(d, &mut a.linear, Linear::new(), linear)?,
            _ => value.push(d, &mut a.products, product)?,
        }
    }
    Ok(a)
}

static STEP: [Field; 10] = [
    number("kind"),
    bytes("name"),
    bytes("shape"),
    message("accumulator"),
    number("shift"),
    number("remainder"),
    number("table"),
    number("out"),
    number("divisor"),
    bytes("scales"),
];

fn step<'a>(d: &mut Decoder, body: &'a [u8], s: &mut Step<'a>) -> Result<()> {
    let mut accumulates = false;
    let mut fields = d.open(body, &STEP)?;
    while let Some((field, value)) = fields.next()? {
        match field {
            1 => s.kind = StepKind::read(&value)?,
            2 => s.name = value.text()?,
            3 => s.shape.now = value.numbers(wire::dimension)?,
            4 => (s.accumulator, accumulates) = (value.message(d, accumulator)?, true),
            5 => s.shift = value.number(wire::count)?,
            6 => s.remainder = value.number(wire::maybe_identifier(d.tensors))?,
            7 => s.table = value.number(wire::maybe_identifier(d.tables))?,
            8 => s.out = value.number(wire::maybe_identifier(d.tensors))?,
            9 => s.divisor = value.number(wire::maybe_identifier(d.tensors))?,
            _ => s.shape.scales = value.numbers(wire::any32)?,
        }
    }
    require!(accumulates, ".accumulator: is missing");
    s.shape.keep_unit();
    Ok(())
}

static TABLE: [Field; 8] = [
    bytes("name"),
    number("kind"),
    number("bits"),
    number("min"),
    messages("pieces"),
    number("values"),
    bytes("saturated"),
    number("drop"),
];

fn table<'a>(d: &mut Decoder, body: &'a [u8]) -> Result<Table<'a>> {
    let mut t = Table::new("");
    let mut fields = d.open(body, &TABLE)?;
    while let Some((field, value)) = fields.next()? {
        match field {
            1 => t.name = value.text()?,
            2 => t.kind = TableKind::read(&value)?,
            3 => t.bits = value.number(wire::count)?,
            4 => t.min = value.number(wire::integer)?,
            5 => value.push(d, &mut t.pieces, piece)?,
            6 => t.values = value.number(wire::maybe_identifier(d.tensors))?,
            7 => {
                let ends = value.numbers(wire::any32)?;
                require!(ends.len() % 2 == 0, ".saturated: an odd number of numbers, where they are pairs");
                t.saturated = ends.chunks_exact(2).map(|pair| (pair[0], pair[1])).collect();
            }
            _ => t.drop = value.number(wire::count)?,
        }
    }
    Ok(t)
}

impl<'a> Table<'a> {
    pub fn new(name: &'a str) -> Table<'a> {
        Table { name, kind: TableKind::Range, bits: 0, min: 0, pieces: Vec::new(), values: None, saturated: Vec::new(), drop: 0 }
    }
}

static PIECE: [Field; 3] = [number("end"), number("slope"), number("offset")];

fn piece(d: &mut Decoder, body: &[u8]) -> Result<Piece> {
    let mut p = Piece { end: 0, slope: 0, offset: 0 };
    let mut fields = d.open(body, &PIECE)?;
    while let Some((field, value)) = fields.next()? {
        match field {
            1 => p.end = value.number(wire::integer)?,
            2 => p.slope = value.number(wire::integer)?,
            _ => p.offset = value.number(wire::integer)?,
        }
    }
    Ok(p)
}
