//! What a circuit must be before anything is proved about it (docs/proof-format.md, "The key file"). It is checked
//! for the circuit with all free dimensions of size 1, and again for that of a proof.

use crate::error::{Error, Result, fail, require};
use crate::forced;
use crate::graph::{
    Accumulator, FormulaKind, Graph, Group, Kind, Linear, Map, Numbers, Product, Step, StepKind, Table, TableKind, Tensor, View,
};
use crate::names;
use crate::shape::variables;
use alloc::vec;

pub const MOST_TABLE_BITS: u32 = 20;
/// Integers are below it in absolute value.
pub const BOUND: i64 = 1 << 30;
const MOST_AXES: usize = 8;
const MOST_VARIABLES: usize = 34;
const MOST_NESTED: u32 = 1 << 10;
const MOST_LABELS: usize = 24;
const MOST_PIECES: usize = 64;
const MOST_SATURATED: usize = 64;
const MOST_SHIFT: u32 = 29;
const MOST_WIRED: u64 = 1 << 24;
const MOST_LISTED: u64 = 1 << 28; // entries that public indexes choose among

fn wide(v: i64) -> bool {
    v <= -BOUND || v >= BOUND
}

fn number<T>(what: &str, list: &[T], check: impl Fn(usize, &T) -> Result<()>) -> Result<()> {
    for (i, item) in list.iter().enumerate() {
        check(i, item).map_err(|e| e.within(format_args!("{what} {i}")))?;
    }
    Ok(())
}

/// Every rule for circuits, but for those of names if they have been checked: a proof's sizes change none.
pub fn check(g: &Graph, named: bool) -> Result<()> {
    let name = |name: &str| if named { Ok(()) } else { names::check(name) };
    name(g.name)?;
    number("tensor", &g.tensors, |i, t| name(&t.name).and_then(|()| tensor(t, t.kind == Kind::Input || g.is_hidden(i as u32))))?;
    number("tensor", &g.tensors, |i, t| definition(g, i as u32, t))?;
    nesting(g)?;
    g.check_base()?;
    number("table", &g.tables, |_, t| name(t.name).and_then(|()| table(g, t)))?;
    number("step", &g.steps, |_, s| name(s.name).and_then(|()| step(g, s)))?;
    public(g)?;
    let mut looked_up = vec![false; g.tables.len()];
    g.steps.iter().filter_map(|s| s.table).for_each(|table| looked_up[table as usize] = true);
    if let Some(i) = looked_up.iter().position(|&there| !there) {
        return fail!("table {i} is looked up in by no step");
    }
    forced::check(g)
}

/// The inputs are all input tensors, each once. Tensors without entries, and those with codes for numbers that are not
/// finite, are inputs or outputs.
fn public(g: &Graph) -> Result<()> {
    require!(!g.outputs.is_empty(), "a graph needs an output");
    let (mut listed, mut given) = (vec![false; g.tensors.len()], vec![false; g.tensors.len()]);
    for &id in &g.inputs {
        let fits = matches!(g.kind(id), Kind::Input | Kind::Empty) && !listed[id as usize];
        require!(fits, "input {id} is not an input tensor, or comes twice");
        listed[id as usize] = true;
    }
    for &id in &g.outputs {
        require!(!g.is_product(id), "output {id} is a product: {PRODUCT}");
        given[id as usize] = true;
    }
    for (i, t) in g.tensors.iter().enumerate() {
        require!(t.kind != Kind::Input || listed[i], "tensor {i} is an input that the graph does not list");
        let there = listed[i] || given[i];
        require!(t.kind != Kind::Empty || there, "tensor {i} has no entries, and is neither an input nor an output");
        let coded = t.numbers == Numbers::Finite || t.kind == Kind::Input || given[i];
        require!(coded, "tensor {i} has codes, and is neither an input nor an output");
    }
    Ok(())
}

fn shape(shape: &[u64]) -> Result<()> {
    require!(shape.len() <= MOST_AXES, "rank {} is over {MOST_AXES}", shape.len());
    for &d in shape {
        require!(0 < d && d <= 1 << MOST_VARIABLES, "dimension {d} out of range");
    }
    let vars: usize = shape.iter().map(|&d| variables(d)).sum();
    require!(vars <= MOST_VARIABLES, "shape {shape:?} is too large");
    Ok(())
}

fn tensor(t: &Tensor, input: bool) -> Result<()> {
    if t.kind == Kind::Empty {
        return empty(t);
    }
    shape(&t.shape.now)?;
    let (low, high) = t.finite();
    require!(low <= high, "codes in the range [{}, {}]", t.min, t.max);
    let units = t.fracs.is_empty() || input && t.frac == 0 && t.shape.now.last().is_some_and(|&d| d == t.fracs.len() as u64);
    require!(units, "{} scales of {:?} entries", t.fracs.len(), t.shape.now);
    require!(t.min <= t.max && !wide(t.min) && !wide(t.max), "range [{}, {}] is not within ±2^30", t.min, t.max);
    let definitions = !t.definition.is_empty() as usize + t.product.is_some() as usize;
    require!(definitions == (t.kind == Kind::Virtual) as usize, "exactly the virtual tensors have a definition, a sum or a product");
    formula(t)
}

fn empty(t: &Tensor) -> Result<()> {
    let shape = &t.shape.now;
    require!(shape.len() <= MOST_AXES && shape.contains(&0), "shape {shape:?} of a tensor without entries");
    for &d in shape {
        require!(d <= 1 << MOST_VARIABLES, "dimension {d} out of range");
    }
    let said = t.frac != 0 || !t.fracs.is_empty() || t.min != 0 || t.max != 0 || t.numbers != Numbers::Finite;
    let silent = !said && t.definition.is_empty() && t.product.is_none() && t.formula.is_none();
    require!(silent, "a tensor without entries that says what they are");
    Ok(())
}

fn formula(t: &Tensor) -> Result<()> {
    require!((t.kind == Kind::Formula) == t.formula.is_some(), "exactly the tensors by formula have one");
    let Some(f) = &t.formula else { return Ok(()) };
    let rank = if f.kind == FormulaKind::Progression { 1 } else { 2 };
    require!(t.shape.now.len() == rank, "a formula of {rank} indexes for shape {:?}", t.shape.now);
    let fits = !wide(f.offset) && !wide(f.step) && (rank == 1 || f.step == 0);
    require!(fits, "a formula with offset {} and step {}", f.offset, f.step);
    let (mut low, mut high) = (0, 1);
    if rank == 1 {
        let last = t.shape.now[0] as i64 - 1; // below 2^34, so that nothing overflows
        require!(f.step == 0 || last <= BOUND, "a progression of {} entries", t.shape.now[0]);
        let end = f.offset + f.step * last;
        (low, high) = (f.offset.min(end), f.offset.max(end));
    }
    require!(t.min <= low && high <= t.max, "a formula with entries in [{low}, {high}] and the range [{}, {}]", t.min, t.max);
    Ok(())
}

const PRODUCT: &str = "it is an operand of a step's product with a tensor that is none, and nothing else";

/// A tensor that a product defines: of two that come before it and are no products, without a factor or a sum, and with no
/// axis that neither has.
fn product_tensor(g: &Graph, id: u32, t: &Tensor, p: &Product) -> Result<()> {
    require!(p.a < id && p.b < id, "definition looks ahead");
    product(g, p, &t.shape.now).map_err(|e: Error| e.within("product"))?;
    require!(!g.is_product(p.a) && !g.is_product(p.b), "product of tensors {} and {}: {PRODUCT}", p.a, p.b);
    for label in 0..MOST_LABELS as u32 {
        let has = p.labels_a.contains(&label) || p.labels_b.contains(&label);
        require!(has == ((label as usize) < t.shape.now.len()), "label {label}: the axes of the operands are all those of the product");
    }
    require!(p.coefficient == 1, "product with the factor {}", p.coefficient);
    Ok(())
}

fn definition(g: &Graph, id: u32, t: &Tensor) -> Result<()> {
    if let Some(p) = &t.product {
        return product_tensor(g, id, t, p);
    }
    for l in &t.definition {
        require!(l.source < id, "definition looks ahead");
        linear(g, l, &t.shape.now)?;
    }
    Ok(())
}

/// How many virtual tensors are upon each other. Definitions look back.
fn nesting(g: &Graph) -> Result<()> {
    let mut depth = vec![0; g.tensors.len()];
    for (i, t) in g.tensors.iter().enumerate() {
        let operands = t.product.iter().flat_map(|p| [p.a, p.b]);
        depth[i] = t.definition.iter().map(|l| l.source).chain(operands).map(|id| depth[id as usize] + 1).max().unwrap_or(0);
        require!(depth[i] <= MOST_NESTED, "tensor {i}: more than {MOST_NESTED} virtual tensors upon each other");
    }
    Ok(())
}

fn same_shape(a: &[u64], b: &[u64]) -> Result<()> {
    let same = a.len() == b.len() && a.iter().zip(b).all(|(a, b)| a == b); // short, so that no call for it pays
    require!(same, "shapes {a:?} and {b:?} differ");
    Ok(())
}

fn linear(g: &Graph, l: &Linear, out: &[u64]) -> Result<()> {
    require!(!wide(l.coefficient), "coefficient {} out of range", l.coefficient);
    require!(g.kind(l.source) != Kind::Empty, "source {} has no entries", l.source);
    require!(!g.is_product(l.source), "source {} is a product: {PRODUCT}", l.source);
    match &l.view {
        None => same_shape(out, g.shape(l.source)),
        Some(v) => view(g, v, out, g.shape(l.source)),
    }
}

fn view(g: &Graph, v: &View, out: &[u64], source: &[u64]) -> Result<()> {
    require!(!wide(v.fill), "fill {} out of range", v.fill);
    let (mut seen_out, mut seen_source) = (0u32, 0u32);
    for group in &v.groups {
        for &a in &group.out {
            let fits = (a as usize) < out.len() && seen_out >> a & 1 == 0;
            require!(fits, "view: output axis {a} missing or used twice");
            seen_out |= 1 << a;
        }
        for (j, &a) in group.source.iter().enumerate() {
            let fits = (a as usize) < source.len() && seen_source >> a & 1 == 0;
            require!(fits, "view: source axis {a} missing or used twice");
            require!(j == 0 || a == group.source[j - 1] + 1, "view: source axes of a group must be adjacent");
            seen_source |= 1 << a;
        }
        check_group(g, group, out, source, v.fill != 0).map_err(|e| e.within("view"))?;
    }
    let all = seen_out.count_ones() as usize == out.len() && seen_source.count_ones() as usize == source.len();
    require!(all, "view: an axis belongs to no group");
    Ok(())
}

fn size_of(shape: &[u64], axes: &[u32]) -> u64 {
    axes.iter().map(|&a| shape[a as usize]).product()
}

fn check_group(g: &Graph, group: &Group, out: &[u64], source: &[u64], filled: bool) -> Result<()> {
    require!(!group.out.is_empty() || !group.source.is_empty(), "a group without axes");
    let affine = group.map == Map::Affine;
    let unused = !affine && (group.base.now != 0 || !group.strides.is_empty() || !group.sums.is_empty())
        || group.map != Map::Index && !group.index.is_empty()
        || group.map != Map::Public && group.ids != 0;
    require!(!unused, "a group with the parameters of another map");
    require!(!affine || group.source.len() <= 1 && group.strides.len() == group.out.len(), "malformed affine group");
    let kept = group.map != Map::Reshape || size_of(out, &group.out) == size_of(source, &group.source);
    require!(kept, "reshape changes the size");
    if group.is_trivial(out, source) {
        return Ok(());
    }
    let mut work = size_of(out, &group.out); // of valid shapes: nothing overflows
    let most = if group.map == Map::Public { MOST_LISTED } else { MOST_WIRED };
    require!(work <= MOST_WIRED && size_of(source, &group.source) <= most, "wiring too large");
    let far = |v: i64| v.unsigned_abs() > MOST_WIRED;
    match group.map {
        Map::Affine => {
            for s in &group.sums {
                let fits = 0 < s.dimension.now && !far(s.dimension.now) && !far(s.stride);
                require!(fits, "malformed sum");
                work *= s.dimension.now as u64;
                require!(work <= MOST_WIRED, "wiring too large");
            }
            require!(!group.strides.iter().any(|&s| far(s)), "stride out of range");
            require!(!far(group.base.now), "base out of range");
            require!(!filled || group.sums.is_empty(), "a fill value and a sum");
        }
        Map::Index => {
            let one = group.out.len() == 1 && group.source.len() == 1;
            require!(one && group.index.len() as u64 == size_of(out, &group.out), "malformed index group");
            let entries = source[group.source[0] as usize];
            if let Some(i) = group.index.iter().find(|&&i| i > entries) {
                return fail!("index {} out of range", i - 1);
            }
        }
        Map::Reshape => {}
        Map::Public => {
            let ids = &g.tensors[group.ids as usize];
            let fits = group.source.len() == 1 && ids.kind == Kind::Input;
            require!(fits, "tensor {}, which is to wire one axis, is no input", group.ids);
            let n: u64 = ids.shape.now.iter().product();
            require!(n == size_of(out, &group.out), "{n} public indexes wire {} entries", size_of(out, &group.out));
            let entries = source[group.source[0] as usize];
            let within = 0 <= ids.min && ids.max < entries as i64;
            require!(within, "public indexes in [{}, {}] of an axis of {entries}", ids.min, ids.max);
        }
    }
    Ok(())
}

fn table(g: &Graph, t: &Table) -> Result<()> {
    require!(t.bits <= MOST_TABLE_BITS, "{} bits out of range", t.bits);
    require!(!wide(t.min), "first key {} out of range", t.min);
    let own = (t.kind == TableKind::Piecewise || t.pieces.is_empty()) && (t.kind == TableKind::Function || t.values.is_none());
    require!(own, "values of another kind of table");
    let drops = t.drop == 0 || t.kind == TableKind::Piecewise && t.min == 0 && t.drop < t.bits;
    require!(drops, "{} of {} bits of keys from {} without a meaning", t.drop, t.bits, t.min);
    saturated(t)?;
    match t.kind {
        TableKind::Range => {}
        TableKind::Piecewise => {
            require!(t.pieces.len() <= MOST_PIECES, "too many pieces");
            let mut at = 0;
            for p in &t.pieces {
                require!(p.end > at && !wide(p.slope) && !wide(p.offset), "malformed piece");
                at = p.end;
            }
            require!(at == 1 << (t.bits - t.drop), "pieces do not cover the table");
        }
        TableKind::Function => {
            let Some(values) = t.values.filter(|&v| g.kind(v) == Kind::Fixed) else {
                return fail!("the value column is not a fixed tensor");
            };
            same_shape(g.shape(values), &[1 << t.bits])?;
        }
    }
    Ok(())
}

fn saturated(t: &Table) -> Result<()> {
    let count = t.saturated.len();
    let may = count <= MOST_SATURATED && (t.kind != TableKind::Range && t.drop == 0 || count == 0);
    require!(may, "{count} intervals of saturated rows");
    let mut before = -1;
    for &(first, end) in &t.saturated {
        let own = first as i64 > before && end > first && end <= 1 << t.bits;
        require!(own, "saturated rows [{first}, {end})");
        before = end as i64;
        let mut start = 0;
        for p in &t.pieces {
            let beside = start >= end as i64 || first as i64 >= p.end;
            require!(p.slope == 0 || beside, "saturated rows whose values differ");
            start = p.end;
        }
    }
    Ok(())
}

fn step(g: &Graph, s: &Step) -> Result<()> {
    shape(&s.shape.now)?;
    accumulator(g, &s.accumulator, &s.shape.now)?;
    step_kind(g, s)?;
    let tabled = s.kind == StepKind::Lookup || s.shift == 0 && s.table.is_none();
    require!(tabled, "a shift or a table without a look-up");
    let divides = matches!(s.kind, StepKind::Divide | StepKind::Maximum) || s.divisor.is_none();
    require!(divides, "a divisor without a division");
    let has_entries = s.divisor.is_none_or(|d| g.kind(d) != Kind::Empty && !g.is_product(d));
    require!(has_entries, "a divisor without entries, or that is a product");
    for id in s.results() {
        let fits = g.kind(id) == Kind::Witness && g.tensors[id as usize].chunk == s.chunk;
        require!(fits, "result {id} is not a witness tensor of the step's chunk");
        same_shape(g.shape(id), &s.shape.now)?;
    }
    Ok(())
}

/// Which tensors and what table a step of its kind has.
fn step_kind(g: &Graph, s: &Step) -> Result<()> {
    match s.kind {
        StepKind::Lookup => {
            let Some(table) = s.table else { return fail!("table -1 does not exist") };
            let table = &g.tables[table as usize];
            let goes = s.shift <= MOST_SHIFT && s.remainder.is_none() == (s.shift == 0);
            require!(goes, "shift {} does not go with the remainder", s.shift);
            let narrow = s.shift == 0 || s.shift + table.bits <= forced::MOST_KEY_BITS;
            require!(narrow, "shift {} and table of {} bits together exceed 30 bits", s.shift, table.bits);
            let valued = s.out.is_none() == (table.kind == TableKind::Range);
            require!(valued, "the table's values do not go with the output");
        }
        StepKind::Exact => {
            require!(s.out.is_some() && s.remainder.is_none(), "an exact step has an output and no remainder");
        }
        StepKind::Zero => {
            require!(s.out.is_none() && s.remainder.is_none(), "a zero step has no results");
        }
        StepKind::Divide => {
            let (Some(_), Some(_), Some(divisor)) = (s.out, s.remainder, s.divisor) else {
                return fail!("a division needs a quotient, a remainder and a divisor");
            };
            same_shape(g.shape(divisor), &s.shape.now)?;
        }
        StepKind::Maximum => {
            let (Some(_), None, Some(operand)) = (s.out, s.remainder, s.divisor) else {
                return fail!("a maximum has an operand, an output and no remainder");
            };
            require!(s.accumulator == Accumulator::default(), "a maximum with an accumulator");
            let (of, shape) = (g.shape(operand), &s.shape.now);
            let one_more = of.len() == shape.len() + 1;
            require!(one_more, "a maximum of shape {shape:?} along the last axis of {of:?}");
            same_shape(&of[..shape.len()], shape)?;
        }
    }
    Ok(())
}

fn accumulator(g: &Graph, a: &Accumulator, shape: &[u64]) -> Result<()> {
    require!(!wide(a.constant), "constant {} out of range", a.constant);
    for l in &a.linear {
        linear(g, l, shape)?;
    }
    for p in &a.products {
        product(g, p, shape).map_err(|e: Error| e.within("product"))?;
        require!(!g.is_product(p.a) || !g.is_product(p.b), "product of tensors {} and {}: {PRODUCT}", p.a, p.b);
    }
    Ok(())
}

fn product(g: &Graph, p: &Product, shape: &[u64]) -> Result<()> {
    require!(!wide(p.coefficient), "coefficient {} out of range", p.coefficient);
    require!(g.kind(p.a) != Kind::Empty && g.kind(p.b) != Kind::Empty, "operand has no entries");
    let mut dimensions = [0; MOST_LABELS];
    dimensions[..shape.len()].copy_from_slice(shape);
    let (mut used, mut twice) = (0u32, 0); // a bit for each label
    for (operand, labels) in [(p.a, &p.labels_a), (p.b, &p.labels_b)] {
        let operand = g.shape(operand);
        require!(operand.len() == labels.len(), "one label an axis");
        for (i, &label) in labels.iter().enumerate() {
            let fits = (label as usize) < MOST_LABELS && !labels[..i].contains(&label);
            require!(fits, "label {label} out of range or repeated");
            let known = &mut dimensions[label as usize];
            require!(*known == 0 || *known == operand[i], "label {label} has dimensions {known} and {}", operand[i]);
            *known = operand[i];
            (used, twice) = (used | 1 << label, twice | used & 1 << label);
        }
    }
    let once = (used & !twice) >> shape.len() << shape.len();
    require!(once == 0, "contracted label {} is in one operand only", once.trailing_zeros());
    Ok(())
}
