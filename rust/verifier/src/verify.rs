//! A proof against a key: everything in its order (docs/proof-format.md, "The order of messages").

use crate::cost::{self, Cost};
use crate::error::{Kind, Result, fail, require};
use crate::field::{K, ZERO};
use crate::forms::{Masked, Plain, Tape};
use crate::graph::{self, Graph, StepKind};
use crate::hash::{Suite, Transcript};
use crate::hide;
use crate::key::{Key, Text};
use crate::layout::{Claim, Combined, Table, TailLogs, Where};
use crate::lookups;
use crate::pads::{self, Pads};
use crate::poly::{evaluate, last};
use crate::proof::{Due, Header, Reader};
use crate::reduce::{Fork, Shared};
use crate::reveal::Revealed;
use crate::segment::{self, Segment};
use crate::shape::{Cuts, shape_variables, size};
use crate::soundness::{self, Rounds, Strength};
use crate::stream::Stream;
use crate::text::{self, Model, Rule, Written};
use crate::texts::part;
use crate::validate;
use crate::values::{elements, entries};
use crate::whir::{self, Claimed};
use alloc::borrow::Cow;
use alloc::collections::BTreeMap;
use alloc::format;
use alloc::string::ToString;
use alloc::vec;
use alloc::vec::Vec;
use sha2::{Digest as _, Sha256};

const PROTOCOL: &[u8] = b"prove-model protocol 4";
const LONG: usize = 1 << 11; // entries of a public tensor, beyond which the digests of columns are absorbed
const COLUMNS: usize = 128;

/// What somebody demands of a proof and of its key, which may come from the prover.
#[derive(Clone, Copy, Default)]
pub struct Policy<'p> {
    /// The least bits of security of the weakest challenge, proofs of work included. 0 accepts every key.
    pub min_bits: u32,
    /// The commitment that the key must have, if it is not known that the key is the model's.
    pub commitment: Option<&'p [u8; 32]>,
    /// The rule by which tokens that a model wrote were drawn: from logits, what they are a multiple of as −log2, and the
    /// token's place in the text it makes the token. Without one each token must have the greatest logit.
    pub rule: Option<Rule<'p>>,
    /// Leaves out the checksum at the end of a proof, which tells damage from dishonesty and is no part of its security:
    /// for machines on which every instruction costs.
    pub skip_checksum: bool,
}

/// A public tensor of a valid proof.
#[derive(Clone, Debug)]
pub struct Tensor<'a> {
    /// As the key has it.
    pub name: Cow<'a, str>,
    /// At the proof's sizes.
    pub shape: Vec<u64>,
    /// Row-major. An integer x stands for x·2^(−unit).
    pub integers: Vec<i32>,
    units: Vec<i32>,
    codes: Codes,
}

/// The integers that stand for numbers which are not finite.
#[derive(Clone, Copy, Debug)]
struct Codes {
    low: i64,
    high: i64,
}

impl Tensor<'_> {
    /// The number that an entry stands for.
    pub fn real(&self, i: usize) -> f64 {
        let (v, unit) = (self.integers[i], self.units[i % self.units.len()]);
        match v as i64 {
            v if v < self.codes.low => f64::NEG_INFINITY,
            v if v == self.codes.high + 1 => f64::INFINITY,
            v if v > self.codes.high => f64::NAN,
            v => scaled(v, unit),
        }
    }
}

/// v·2^(−unit). It is exact: units are at most 1000, so that the power of two is a normal number.
fn scaled(v: i64, unit: i32) -> f64 {
    v as f64 * f64::from_bits(((1023 - unit as i64) as u64) << 52)
}

/// How many look-ups of a table hit rows that the key marks as saturated: those of values beyond the range that the table
/// was made for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Saturation<'a> {
    /// The name of the table.
    pub table: &'a str,
    /// The steps that look up in it, each name once.
    pub steps: Vec<&'a str>,
    /// Such look-ups.
    pub count: u64,
    /// All look-ups in the table.
    pub of: u64,
}

/// An output that is indexes: those of the greatest entries of an output of the model's, in every row along its last axis, of
/// equal ones the first first.
#[derive(Clone, Debug)]
pub struct Greatest<'a> {
    /// Its place among the outputs.
    pub output: usize,
    /// The name of the model's output.
    pub of: Cow<'a, str>,
    /// How many there are of a row, in order; none if there is the greatest alone, without an axis for it.
    pub top: Option<u32>,
    /// The least and the greatest number that the comparisons take the model's output to have.
    pub range: [f64; 2],
    /// Whether the proof shows that there are no others. If not, that rests on who issued the key.
    pub proved: bool,
}

/// An input or an output of the model that a proof does not state: there are entries of the input in its range with which all
/// else holds, and nothing is said of the output.
#[derive(Clone, Debug)]
pub struct Hidden<'a> {
    /// Whether it is an input.
    pub input: bool,
    /// Its place among the model's inputs or outputs.
    pub place: u32,
    /// As the key has it.
    pub name: Cow<'a, str>,
    /// At the proof's sizes.
    pub shape: Vec<u64>,
    /// The digest of the commitment to an input that the proof is of, if it was committed to: that of a file which `prove-model
    /// commit-input` writes.
    pub commitment: Option<[u8; 32]>,
}

/// What a valid proof states: the committed model maps the inputs to the outputs.
#[derive(Clone, Debug)]
pub struct Verdict<'a> {
    /// The commitment to the model: the key's digest.
    pub commitment: [u8; 32],
    /// What the model was run on.
    pub inputs: Vec<Tensor<'a>>,
    /// What it gives; of those that `greatest` names, where their greatest entries are.
    pub outputs: Vec<Tensor<'a>>,
    /// Outputs that are indexes of the greatest entries of an output of the model's.
    pub greatest: Vec<Greatest<'a>>,
    /// Inputs and outputs that are not stated.
    pub hidden: Vec<Hidden<'a>>,
    /// The digest of the key's vocabulary, if the model takes strings or names classes. Which strings the numbers of inputs and
    /// outputs stand for is not checked here.
    pub vocabulary: Option<[u8; 32]>,
    /// That of the weakest challenge.
    pub strength: Strength,
    /// An element for each table with rows that the key marks as saturated; none of a masked proof.
    pub saturated: Vec<Saturation<'a>>,
    /// Whether the proof shows nothing of the values inside of the model but what follows from inputs, outputs and what is
    /// known of the weights.
    pub masked: bool,
    /// The text that the model wrote, if the key is one for that.
    pub written: Option<Written>,
    /// Of a proof of a part of a text, its place.
    pub segment: Option<Segment>,
    /// Of a proof of several texts, which have a first axis of all inputs and outputs, those that the model wrote.
    pub texts: Vec<Written>,
}

impl Verdict<'_> {
    /// The SHA-256 of the model's commitment and of the statement: of the inputs and then of the outputs their number, and
    /// of each the number of its axes, their lengths, and its integers. If some outputs are indexes of greatest entries, then
    /// their number follows, and for each its place among the outputs and how many there are of a row, 0 for the greatest
    /// alone. If some inputs or outputs are hidden, then 2^32 − 1 and their number follow, and for each 0 for an input or 1,
    /// and its place; behind all of them the commitments to inputs that there are, 32 bytes each. Numbers and integers have 4 bytes,
    /// lengths 8, all little-endian.
    pub fn digest(&self) -> [u8; 32] {
        let mut hash = Sha256::new_with_prefix(self.commitment);
        for tensors in [&self.inputs, &self.outputs] {
            hash.update((tensors.len() as u32).to_le_bytes());
            for t in tensors {
                hash.update((t.shape.len() as u32).to_le_bytes());
                t.shape.iter().for_each(|d| hash.update(d.to_le_bytes()));
                let mut bytes = [0; 256];
                for part in t.integers.chunks(bytes.len() / 4) {
                    let bytes = &mut bytes[..4 * part.len()];
                    bytes.chunks_exact_mut(4).zip(part).for_each(|(four, v)| four.copy_from_slice(&v.to_le_bytes()));
                    hash.update(bytes);
                }
            }
        }
        if !self.greatest.is_empty() {
            hash.update((self.greatest.len() as u32).to_le_bytes());
            for g in &self.greatest {
                hash.update((g.output as u32).to_le_bytes());
                hash.update(g.top.unwrap_or(0).to_le_bytes());
            }
        }
        if !self.hidden.is_empty() {
            hash.update(u32::MAX.to_le_bytes());
            hash.update((self.hidden.len() as u32).to_le_bytes());
            for h in &self.hidden {
                hash.update((!h.input as u32).to_le_bytes());
                hash.update(h.place.to_le_bytes());
            }
            self.hidden.iter().filter_map(|h| h.commitment).for_each(|c| hash.update(c));
        }
        hash.finalize().into()
    }
}

/// Verifies the proof in a file against the key in another.
pub fn verify<'a>(key: &'a [u8], proof: &[u8], policy: &Policy) -> Result<Verdict<'a>> {
    Key::read(key)?.verify(proof, policy)
}

impl<'a> Key<'a> {
    /// Verifies the proof in a file. The key's circuit takes on the proof's sizes; any other proof may follow. A part of a text that
    /// rests on others is refused: `verify_chain` verifies it with these.
    pub fn verify(&mut self, proof: &[u8], policy: &Policy) -> Result<Verdict<'a>> {
        let verdict = self.verify_part(proof, policy)?;
        let alone = verdict.segment.as_ref().is_none_or(|s| s.trees.len() == 1);
        require!(alone, "it is of a part of a text and holds only with the parts before: verify the chain");
        Ok(verdict)
    }

    /// Verifies the proof in a file, which may be of a part of a text that rests on others.
    pub(crate) fn verify_part(&mut self, proof: &[u8], policy: &Policy) -> Result<Verdict<'a>> {
        let (mut reader, header, frame) = self.begin(proof, policy)?;
        let verdict = Verification { key: self, header: &header, frame }.run(&mut reader, policy)?;
        reader.end(!policy.skip_checksum)?;
        verdict.strength.require(policy.min_bits).map_err(|e| e.of(Kind::Policy))?;
        Ok(verdict)
    }

    /// What a segment states of its place, and whether the model ended its text there; nothing is proved.
    pub(crate) fn stated(&mut self, proof: &[u8], policy: &Policy) -> Result<(Segment, bool)> {
        let (mut reader, header, frame) = self.begin(proof, policy)?;
        let v = Verification { key: self, header: &header, frame };
        let g = &v.key.graph;
        let public = reader.public(g.given().len() + g.outputs.len())?;
        let (inputs, outputs) = (v.values("inputs", g.given(), &public.inputs)?, v.values("outputs", &g.outputs, &public.outputs)?);
        v.check_reveals(&outputs)?;
        let by_tensor = g.given().iter().copied().zip(inputs.iter().map(|v| &v[..])).collect();
        v.check_statement(&by_tensor, &inputs)?;
        match v.written_segment(policy, reader.statement(), &inputs, &outputs)? {
            Some((segment, written)) => Ok((segment, written.ended)),
            None => fail!("the segments are not a chain: the proof is of no segment"),
        }
    }

    /// Reads the header, and makes the key's circuit the proof's.
    fn begin<'p>(&mut self, proof: &'p [u8], policy: &Policy) -> Result<(Reader<'p>, Header, &'p [u8])> {
        if let Some(commitment) = policy.commitment {
            let same = *commitment == self.digest;
            let (own, other) = (Hex(&self.digest), Hex(commitment));
            if !same {
                return fail!("the key is another model's: its commitment is {own}, not {other}")
                    .map_err(|e: crate::Error| e.of(Kind::Policy));
            }
        }
        let (reader, header, frame) = Reader::open(proof)?;
        let same = header.key == self.digest;
        require!(same, "it was made for another key, that of commitment {}, not {}", Hex(&header.key), Hex(&self.digest));
        let (own, asked) = (header.hash, self.security.hash);
        require!(own == asked, "the proof says that it is hashed with {own}, and its key asks for {asked}");
        if !(header.hidden_inputs.is_empty() && header.hidden_outputs.is_empty()) {
            require!(header.tail_log > 0, "the proof hides inputs or outputs and is not masked, so that it says what they are");
            let none = self.text().is_none();
            require!(none, "it cannot be hidden: inputs and outputs of language models are tokens and logits, which proofs state");
        }
        if header.texts > 0 {
            let plain = header.hidden_inputs.is_empty() && header.hidden_outputs.is_empty();
            require!(plain, "it does not prove several texts at once, and hides some of what they are");
        }
        segment::check(&header, self)?;
        self.graph.at(&header)?;
        validate::check(&self.graph, true)?;
        cost::check_sizes(&self.graph)?;
        Ok((reader, header, frame))
    }
}

pub(crate) struct Hex<'h>(pub(crate) &'h [u8; 32]);

impl core::fmt::Display for Hex<'_> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

/// What all forks of a proof run on.
struct Run<'v, 'r> {
    trees: &'r [lookups::Tree<'v>], // by chunk
    grind: u32,
    outputs: &'r [Vec<u32>],
}

/// What forks have come to: their claims, and of each the tape and the values of its claims.
struct Forks<T: Tape> {
    claims: Vec<Claim>,
    each: Vec<(T, Vec<T::Value>)>,
}

struct Verification<'k, 'a> {
    key: &'k Key<'a>,
    header: &'k Header,
    frame: &'k [u8], // the header as it is in the file
}

/// The values of some public tensors, by place in the list of the key.
type Values = Vec<Vec<i32>>;

impl<'a> Verification<'_, 'a> {
    fn run(&self, reader: &mut Reader, policy: &Policy) -> Result<Verdict<'a>> {
        let (g, key) = (&self.key.graph, self.key);
        let security = &key.security;
        let public = reader.public(g.given().len() + g.outputs.len())?;
        let statement = reader.statement();
        let inputs = self.header.trees.iter().map(|t| t.tail_log).collect();
        let tail_logs = TailLogs { proof: self.header.tail_log, key: key.trees.first().map_or(0, |t| t.tail_log), inputs };
        let masked = tail_logs.proof > 0 || tail_logs.key > 0;
        if masked {
            tail_logs.check()?;
        }
        let fixed_row_vars: Vec<u32> = key.trees.iter().map(|t| t.row_vars).collect();
        let mut cuts = Cuts::default();
        let mut table = Table::new(g, security.hash, &fixed_row_vars, self.header, masked, &mut cuts)?;
        let mut rounds = Rounds::new(security);
        self.check_levels(&table, &mut rounds, masked)?;
        let trees: Vec<lookups::Tree> = (0..g.chunks).map(|chunk| lookups::Tree::new(g, chunk, &mut cuts)).collect::<Result<_>>()?;
        let grind = soundness::lookup_grind(security, &trees.iter().map(|t| t.fractions).collect::<Vec<_>>())?;
        let inputs = self.values("inputs", g.given(), &public.inputs)?;
        let outputs = self.values("outputs", &g.outputs, &public.outputs)?;
        self.check_reveals(&outputs)?;
        let mut follow: Vec<_> = g.revealed.iter().flat_map(|r| r.entries(&outputs[r.place])).collect();
        let given = g.given().iter().copied().zip(inputs.iter().map(|v| &v[..]));
        if let Some(texts) = &g.texts {
            follow.extend(texts.entries(&given.clone().collect())?);
        }
        let by_tensor: BTreeMap<u32, &[i32]> = given.chain(follow.iter().map(|(id, v)| (*id, &v[..]))).collect();
        self.check_statement(&by_tensor, &inputs)?;
        let segment = self.written_segment(policy, statement, &inputs, &outputs)?;
        let mut texts = match &segment {
            Some((_, written)) => vec![written.clone()],
            None => self.written(policy, &inputs, &outputs)?,
        };
        let written = if g.texts.is_none() { texts.pop() } else { None };
        let input_elements: BTreeMap<u32, Vec<u32>> = by_tensor.iter().map(|(&id, v)| (id, elements(v))).collect();
        let output_elements: Vec<Vec<u32>> = outputs.iter().map(|v| elements(v)).collect();

        let mut main = self.start(&input_elements, &output_elements);
        let mut stream = Stream::new(security.hash, main, reader, Due::Commitments)?;
        for (i, tree) in table.trees.iter_mut().enumerate() {
            tree.root = match key.trees.get(i) {
                Some(commitment) => commitment.root,
                None if i - key.trees.len() < self.header.trees.len() => self.header.trees[i - key.trees.len()].root,
                None => stream.digest().map_err(|e| e.within("commitments"))?,
            };
        }
        stream.end().map_err(|e| e.within("commitments"))?;
        main = stream.transcript;

        let mut shared = Shared::new(g, &table, &by_tensor, &input_elements, rounds);
        shared.cost.statement(g, table.ends().count())?;
        let run = Run { trees: &trees, grind, outputs: &output_elements };
        let opened = |e: crate::Error| e.within("opening");
        let (strength, saturated) = if masked {
            let forks = self.forks::<Masked>(reader, &mut main, &mut shared, &run)?;
            let Shared { mut rounds, mut cost, .. } = shared;
            let mut stream = Stream::new(security.hash, main, reader, Due::Opening)?;
            self.open_masked(&mut stream, &mut table, &forks, &tail_logs, &mut rounds, &mut cost).map_err(opened)?;
            stream.end().map_err(opened)?;
            (rounds.strength, Vec::new())
        } else {
            let forks = self.forks::<Plain>(reader, &mut main, &mut shared, &run)?;
            let mut rounds = shared.rounds;
            let mut stream = Stream::new(security.hash, main, reader, Due::Opening)?;
            self.open(&mut stream, &table, &forks, &mut rounds).map_err(opened)?;
            stream.end().map_err(opened)?;
            (rounds.strength, self.saturated(&forks))
        };
        Ok(Verdict {
            commitment: key.digest,
            inputs: self.tensors(g.given(), inputs),
            outputs: self.tensors(&g.outputs, outputs),
            greatest: self.greatest(),
            hidden: self.hidden(),
            vocabulary: self.key.vocabulary().copied(),
            strength,
            saturated,
            masked,
            written,
            segment: segment.map(|(segment, _)| segment),
            texts,
        })
    }

    /// The levels of the opening fit what is committed. Of a masked proof how many rows there are is not known yet.
    fn check_levels(&self, table: &Table, rounds: &mut Rounds, masked: bool) -> Result<()> {
        let (security, levels) = (&self.key.security, &self.header.levels);
        if table.trees.is_empty() {
            require!(levels.is_empty(), "parameters for an opening, but nothing is committed");
            return Ok(());
        }
        if masked {
            soundness::check_hiding(levels, self.header.tail_log)?;
        }
        soundness::check_levels(security, levels, Some(table.rows).filter(|_| !masked), self.header.tail_log)?;
        rounds.opening(levels, self.header.tail_log)?;
        let own = levels[0].row_vars;
        require!(own == table.row_vars, "parameters for rows of 2^{own} values, not 2^{}", table.row_vars);
        Ok(())
    }

    /// Verifies all forks.
    fn forks<'v, T: Tape>(
        &self,
        reader: &mut Reader,
        main: &mut Transcript,
        shared: &mut Shared<'v>,
        run: &Run<'v, '_>,
    ) -> Result<Forks<T>> {
        let (suite, chunks) = (self.key.security.hash, run.trees.len());
        let (mut forks, mut ends) = (Forks { claims: Vec::new(), each: Vec::new() }, Vec::new());
        for index in 0..=chunks {
            let due = if index < chunks { Due::Chunk(index) } else { Due::Outputs };
            let name = if index < chunks { format!("chunk {index}") } else { "outputs".to_string() };
            let stream = Stream::new(suite, main.fork(index as u64), reader, due)?;
            let mut fork = Fork::<T>::new(name, stream, shared)?;
            let done = match run.trees.get(index) {
                Some(tree) => self.chunk(&mut fork, index, tree, run.grind),
                None => self.outputs(&mut fork, run.outputs),
            };
            done.and_then(|()| fork.stream.end()).map_err(|e| e.within(&fork.name))?;
            forks.claims.append(&mut fork.claims);
            ends.push(fork.stream.transcript.end());
            forks.each.push((fork.tape, fork.values));
        }
        main.join(&ends);
        Ok(forks)
    }

    fn values(&self, what: &str, ids: &[u32], packed: &[&[u8]]) -> Result<Values> {
        let read = || {
            require!(packed.len() == ids.len(), "{} tensors, the key has {}", packed.len(), ids.len());
            let one = |(i, (&id, bytes)): (usize, (&u32, &&[u8]))| {
                entries(&self.key.graph.tensors[id as usize], bytes).map_err(|e| e.within(format_args!("tensor {i}")))
            };
            ids.iter().zip(packed).enumerate().map(one).collect()
        };
        read().map_err(|e: crate::Error| e.within(what).of(Kind::Proof))
    }

    /// The indexes that are stated of a row are different.
    fn check_reveals(&self, outputs: &Values) -> Result<()> {
        for r in &self.key.graph.revealed {
            let at = r.place;
            r.check(&outputs[at]).map_err(|e| e.within(format_args!("outputs: tensor {at}")).of(Kind::Proof))?;
        }
        Ok(())
    }

    /// Indexes are those of entries that are there; where the second input of a language model is the positions of its
    /// logits, these are the last ones of the text; or of a model that writes any number of tokens, the last before the end.
    fn check_statement(&self, by_tensor: &BTreeMap<u32, &[i32]>, inputs: &Values) -> Result<()> {
        let g = &self.key.graph;
        g.check_ids(by_tensor)?;
        let (Some(&Text { writes, ref starts, .. }), [ids, positions]) = (self.key.text(), &inputs[..]) else { return Ok(()) };
        if !starts.is_empty() {
            return Ok(()); // each text is as long as the sizes say, the decoder's too
        }
        if let Some(texts) = &g.texts {
            if writes {
                return texts.check_longest(ids, positions);
            }
            let each =
                (0..if texts.places { texts.count } else { 0 }).map(|i| (part(ids, i, texts.count), part(positions, i, texts.count)));
            return each.into_iter().try_for_each(|(ids, positions)| at_the_end(ids, positions, false));
        }
        if !g.is_ids(g.inputs[1]) || writes && g.tensors[g.inputs[1] as usize].shape.scales.is_empty() {
            return Ok(());
        }
        at_the_end(ids, positions, writes && self.header.segment.is_none())
    }

    /// The place of a segment, and what of it the model wrote. Logits are at its last positions, so that every token behind the first of
    /// these is the model's, and the last logits choose the token behind the segment.
    fn written_segment(
        &self,
        policy: &Policy,
        statement: [u8; 32],
        inputs: &Values,
        outputs: &Values,
    ) -> Result<Option<(Segment, Written)>> {
        let (Some(named), Some(text)) = (&self.header.segment, self.key.text()) else { return Ok(None) };
        let [ids, positions] = &inputs[..] else { return fail!("a segment of {} inputs", inputs.len()) };
        let past = &self.header.trees[..self.header.trees.len() - 1];
        let first = past.iter().map(|t| t.tokens as u64).sum();
        let (written, next) = text::segment(text, ids, positions.len(), self.model(policy, &outputs[0])?, first as usize, named.follows)?;
        let trees = self.header.trees.clone();
        let segment = Segment { statement, predecessor: named.predecessor, first, follows: named.follows, next, trees };
        Ok(Some((segment, written)))
    }

    /// What tokens follow from.
    fn model<'m>(&self, policy: &Policy<'m>, out: &'m [i32]) -> Result<Model<'m>> {
        let g = &self.key.graph;
        match (g.revealed.is_empty(), policy.rule) {
            (true, rule) => Ok(Model::Logits(out, rule, g.tensors[g.outputs[0] as usize].frac)),
            (false, None) => Ok(Model::Greatest(out)),
            (false, Some(_)) => fail!("it states the likeliest tokens and no logits, from which others could be drawn"),
        }
    }

    /// The texts that the model wrote, if the key is for that.
    fn written(&self, policy: &Policy, inputs: &Values, outputs: &Values) -> Result<Vec<Written>> {
        let Some(text) = self.key.text().filter(|t| t.writes) else { return Ok(Vec::new()) };
        let g = &self.key.graph;
        let count = g.texts.as_ref().map_or(1, |t| t.count);
        let listens = !text.starts.is_empty() && !g.is_ids(g.inputs[1]); // to audio: the decoder's tokens are the first input
        let one = |i| {
            let (mut ids, mut positions, out) = (part(&inputs[0], i, count), part(&inputs[1], i, count), part(&outputs[0], i, count));
            if listens {
                (ids, positions) = (&[], ids);
            }
            let written = text::written(text, ids, positions, self.model(policy, out)?);
            if count > 1 { written.map_err(|e| e.within(format_args!("text {}", i + 1))) } else { written }
        };
        (0..count).map(one).collect()
    }

    /// The transcript up to the statement.
    fn start(&self, inputs: &BTreeMap<u32, Vec<u32>>, outputs: &[Vec<u32>]) -> Transcript {
        let suite = self.key.security.hash;
        let mut t = Transcript::new(suite);
        t.absorb_bytes(PROTOCOL);
        t.absorb_bytes(self.frame);
        let inputs: Vec<&Vec<u32>> = self.key.graph.given().iter().map(|id| &inputs[id]).collect();
        for tensors in [inputs, outputs.iter().collect()] {
            t.absorb_integer(tensors.len() as u64);
            for values in tensors {
                t.absorb_integer(values.len() as u64);
                if values.len() > LONG {
                    absorb_columns(&mut t, suite, values);
                } else {
                    t.absorb(values);
                }
            }
        }
        t
    }

    fn chunk<'v, T: Tape>(&self, fork: &mut Fork<'v, '_, T>, chunk: usize, tree: &lookups::Tree<'v>, grind: u32) -> Result<()> {
        if tree.fractions > 0 {
            lookups::check(fork, tree, grind)?;
        }
        let g = fork.shared.graph;
        let equations = || g.steps.iter().filter(|s| s.chunk == chunk && matches!(s.kind, StepKind::Exact | StepKind::Zero));
        if let Some(most) = equations().map(|s| shape_variables(&s.shape.now)).max() {
            fork.shared.rounds.point(format_args!("{}: exact steps", fork.name), most as u64)?;
            let tau = fork.stream.transcript.challenges(most);
            let tau = fork.point(&tau);
            for s in equations() {
                let at = last(&tau, shape_variables(&s.shape.now));
                let value = fork.accumulator(&s.accumulator, &s.shape.now, at)?;
                let out = match s.out {
                    Some(out) => fork.evaluate(out, at)?,
                    None => T::known(ZERO),
                };
                require!(fork.tape.equal(value, out), "{}: equation does not hold", s.name);
            }
        }
        fork.run_batches()
    }

    fn outputs<T: Tape>(&self, fork: &mut Fork<T>, values: &[Vec<u32>]) -> Result<()> {
        let g = fork.shared.graph;
        let ids = || g.outputs.iter().copied().zip(values).enumerate().filter(|&(_, (id, _))| g.kind(id) != graph::Kind::Empty);
        let most = ids().map(|(_, (id, _))| shape_variables(g.shape(id))).max().unwrap_or(0);
        fork.shared.rounds.point("outputs", most as u64)?;
        let point = fork.stream.transcript.challenges(most);
        let point = fork.point(&point);
        for (i, (id, values)) in ids() {
            let shape = g.shape(id);
            let at = last(&point, shape_variables(shape));
            let value = fork.evaluate(id, at)?;
            fork.shared.cost.public(shape)?;
            let stated = T::known(evaluate(values, shape, &fork.at(at)));
            require!(fork.tape.equal(value, stated), "output {i} is not the model's");
        }
        fork.run_batches()
    }

    fn open(&self, stream: &mut Stream, table: &Table, forks: &Forks<Plain>, rounds: &mut Rounds) -> Result<()> {
        if table.trees.is_empty() {
            return Ok(());
        }
        let (tau, zeta) = self.joined(stream, table, forks.claims.len(), rounds)?;
        let values = forks.each.iter().rev().flat_map(|(_, values)| values.iter().rev());
        let value = values.fold(ZERO, |value, &c| value * zeta + c);
        let combined = Combined::new(&self.key.graph, table, &forks.claims, zeta, tau);
        let claimed = Claimed { value, weight: &|point| combined.weight(point) };
        whir::check(stream, &self.key.security, &self.header.levels, 0, table, &claimed)
    }

    /// The challenges that join so many claims, and unused ends.
    fn joined(&self, stream: &mut Stream, table: &Table, claims: usize, rounds: &mut Rounds) -> Result<(Vec<K>, K)> {
        let most = table.ends().map(|(_, _, bits)| bits).max().unwrap_or(0);
        rounds.point("unused ends of rows", most as u64)?;
        rounds.point("join of claims", (claims + table.ends().count()).max(1) as u64 - 1)?;
        Ok((stream.transcript.challenges(most), stream.transcript.challenge()))
    }

    fn open_masked(
        &self,
        stream: &mut Stream,
        table: &mut Table,
        forks: &Forks<Masked>,
        tail_logs: &TailLogs,
        rounds: &mut Rounds,
        cost: &mut Cost,
    ) -> Result<()> {
        let (security, levels) = (&self.key.security, &self.header.levels);
        let tapes = || forks.each.iter().map(|(tape, _)| tape);
        let pads = Pads::new(tapes());
        let ends = table.ends().count();
        let first = table.add_masks(security.hash, pads::LIMBS * pads.elements as u64, levels[0].queries, tail_logs)?;
        soundness::check_levels(security, levels, Some(table.rows), tail_logs.proof)?;
        cost.pads(pads.elements, table.ends().count() - ends)?;
        let last = pads.read(stream, rounds)?;
        let (tau, zeta) = self.joined(stream, table, forks.claims.len() + pads.joined(tapes(), &last), rounds)?;
        let claims: Vec<_> = forks.each.iter().map(|(tape, values)| (tape, &values[..])).collect();
        let (value, coefficients) = pads.join(&claims, table.ends().count(), &last, zeta);
        let mut combined = Combined::new(&self.key.graph, table, &forks.claims, zeta, tau);
        combined.add_pads(first, coefficients);
        let claimed = Claimed { value, weight: &|point| combined.weight(point) };
        whir::check(stream, security, levels, tail_logs.proof, table, &claimed)
    }

    fn tensors(&self, ids: &[u32], values: Values) -> Vec<Tensor<'a>> {
        let tensor = |(&id, integers): (&u32, Vec<i32>)| {
            let t = &self.key.graph.tensors[id as usize];
            let units = if t.fracs.is_empty() { vec![t.frac] } else { t.fracs.clone() };
            let (low, high) = t.finite();
            Tensor { name: t.name.clone(), shape: t.shape.now.clone(), integers, units, codes: Codes { low, high } }
        };
        ids.iter().zip(values).map(tensor).collect()
    }

    fn hidden(&self) -> Vec<Hidden<'a>> {
        let g = &self.key.graph;
        let one = |input: bool| {
            move |&(place, id): &(u32, u32)| {
                let t = &g.tensors[id as usize];
                let tree = self.header.trees.iter().find(|t| input && t.input == place + 1);
                let commitment = tree.map(|tree| hide::commitment(self.key.security.hash, tree, &t.shape.now));
                Hidden { input, place, name: t.name.clone(), shape: t.shape.now.clone(), commitment }
            }
        };
        g.hidden.inputs.iter().map(one(true)).chain(g.hidden.outputs.iter().map(one(false))).collect()
    }

    fn greatest(&self) -> Vec<Greatest<'a>> {
        let g = &self.key.graph;
        let one = |r: &Revealed| {
            let of = &g.tensors[r.of as usize];
            let range = [r.range.0, r.range.1].map(|v| scaled(v, of.frac));
            let (output, top) = (r.place, Some(r.reveal.top).filter(|&top| top > 0));
            Greatest { output, of: of.name.clone(), top, range, proved: r.proved }
        };
        g.revealed.iter().map(one).collect()
    }

    fn saturated(&self, forks: &Forks<Plain>) -> Vec<Saturation<'a>> {
        let g: &Graph<'a> = &self.key.graph;
        let none = |t: &graph::Table<'a>| Saturation { table: t.name, steps: Vec::new(), count: 0, of: 0 };
        let mut list: Vec<Saturation> = g.tables.iter().map(none).collect();
        let table: BTreeMap<u32, u32> = g.multiplicities.iter().map(|m| (m.tensor, m.table)).collect();
        let values = forks.claims.iter().zip(forks.each.iter().flat_map(|(_, values)| values));
        for (c, value) in values.filter(|(c, _)| matches!(c.at, Where::Rows(_))) {
            list[table[&c.tensor] as usize].count += value.0[0] as u64;
        }
        for s in g.steps.iter().filter(|s| s.kind == StepKind::Lookup) {
            let Some(table) = s.table.filter(|&t| !g.tables[t as usize].saturated.is_empty()) else { continue };
            let found = &mut list[table as usize];
            found.of += size(&s.shape.now);
            if !found.steps.contains(&s.name) {
                found.steps.push(s.name);
            }
        }
        list.into_iter().zip(&g.tables).filter(|(_, t)| !t.saturated.is_empty()).map(|(found, _)| found).collect()
    }
}

/// Absorbs the digests of the columns of a long public tensor.
fn absorb_columns(t: &mut Transcript, suite: Suite, values: &[u32]) {
    let rows = values.len().div_ceil(COLUMNS);
    let mut columns = vec![0; rows * COLUMNS];
    // Some columns at a time, so that what is written stays in the cache.
    const TILE: usize = 16;
    for first in (0..COLUMNS).step_by(TILE) {
        for (r, row) in values.chunks(COLUMNS).enumerate() {
            for (c, &x) in row.iter().enumerate().skip(first).take(TILE) {
                columns[c * rows + r] = x;
            }
        }
    }
    for column in columns.chunks_exact(rows) {
        t.absorb_digest(&suite.hash_public(column));
    }
}

/// Positions of logits are the last ones of a text, or the last before its end if the model wrote what is behind each.
fn at_the_end(ids: &[i32], positions: &[i32], writes: bool) -> Result<()> {
    let (tokens, count) = (ids.len() as i64, positions.len() as i64);
    for (i, &at) in positions.iter().enumerate() {
        let want = tokens - count + i as i64 - writes as i64;
        let last = at as i64 == want;
        require!(last || writes, "logits at position {at} of a text of {tokens} tokens, where the key's are those of the last: {want}");
        require!(last, "logits at position {at} of a text of {tokens} tokens, of which {count} are written: the key's are at {want}");
    }
    Ok(())
}
