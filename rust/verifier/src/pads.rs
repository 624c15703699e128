//! The stack of pads of a masked proof, and the proof that products of pads are products (docs/proof-format.md, "Hiding
//! proofs").

use crate::error::Result;
use crate::field::{K, ONE, ZERO};
use crate::forms::{Form, Masked, Tape};
use crate::poly::eq_table;
use crate::soundness::Rounds;
use crate::stream::Stream;
use alloc::vec;
use alloc::vec::Vec;

/// The values of an element of the stack.
pub const LIMBS: u64 = 4;
const DUMMIES: usize = 4;

/// Which element of the stack is what.
pub struct Pads {
    first: Vec<usize>,        // of each fork's pads
    rounds: usize,            // where those of the proof of products begin
    products: usize,          // where the products begin
    triples: Vec<[usize; 3]>, // x, y and their product
    variables: usize,         // of the sum over triples
    pub elements: usize,
}

/// Where the proof of products ends.
pub struct Ends {
    tape: Masked,
    point: Vec<K>,
    at: [K; 3],
}

impl Pads {
    /// Of forks, of which these are the tapes.
    pub fn new<'t>(tapes: impl Iterator<Item = &'t Masked>) -> Pads {
        let (mut first, mut pairs, mut rounds) = (Vec::new(), Vec::new(), 0);
        for tape in tapes {
            first.push(rounds);
            pairs.extend(tape.products.iter().map(|[x, y]| [rounds + x, rounds + y]));
            rounds += tape.pads;
        }
        let variables = crate::shape::variables((pairs.len() + DUMMIES) as u64);
        let products = rounds + 2 * variables;
        let dummies = products + pairs.len();
        let of_products = pairs.iter().enumerate().map(|(i, &[x, y])| [x, y, products + i]);
        let of_dummies = (0..DUMMIES).map(|i| dummies + 3 * i).map(|at| [at, at + 1, at + 2]);
        let triples = of_products.chain(of_dummies).collect();
        Pads { first, rounds, products, triples, variables, elements: dummies + 3 * DUMMIES }
    }

    /// Reads the proof of products.
    pub fn read(&self, stream: &mut Stream, rounds: &mut Rounds) -> Result<Ends> {
        rounds.point("products of pads", self.variables as u64)?;
        rounds.point("products of pads", 3)?;
        let tau = stream.transcript.challenges(self.variables);
        let mut tape = Masked::default();
        let (mut claim, mut point) = (Masked::known(ZERO), Vec::with_capacity(tau.len()));
        for &t in &tau {
            let [q1, q2] = stream.elements()?.map(|sent| tape.receive(sent));
            let both = tape.add(q1, q2);
            let rest = tape.times(both, t);
            let q0 = tape.sub(claim, rest);
            let r = stream.transcript.challenge();
            point.push(r);
            claim = tape.horner(&[q0, q1, q2], r);
        }
        let at: [K; 3] = stream.elements()?;
        tape.equal(claim, Masked::known(at[0] * at[1] - at[2]));
        Ok(Ends { tape, point, at })
    }

    /// The value of all claims and equations joined, and the coefficient of each element of the stack. `claims` has the tape of
    /// each fork with the values of its claims; `between` is how many claims come after these that are zero.
    pub fn join(&self, claims: &[(&Masked, &[Form])], between: usize, ends: &Ends, zeta: K) -> (K, Vec<K>) {
        let mut weights = vec![ZERO; self.elements];
        let mut power = ONE;
        let mut next = || {
            let own = power;
            power *= zeta;
            own
        };
        let mut lists: Vec<Vec<(Form, K)>> = Vec::with_capacity(claims.len() + 1);
        for (_, values) in claims {
            lists.push(values.iter().map(|&value| (value, next())).collect());
        }
        lists.push(Vec::new());
        for _ in 0..between {
            next();
        }
        let eq = eq_table(&ends.point, self.triples.len() as u64);
        let mut value = ZERO;
        for (k, &end) in ends.at.iter().enumerate() {
            let own = next();
            value += own * end;
            for (triple, &e) in self.triples.iter().zip(&eq) {
                weights[triple[k]] += own * e;
            }
        }
        let tapes = claims.iter().map(|(tape, _)| *tape).chain([&ends.tape]);
        let firsts = self.first.iter().copied().chain([self.rounds]);
        let mut product = self.products;
        for ((tape, first), mut list) in tapes.zip(firsts).zip(lists) {
            list.extend(tape.equations.iter().map(|&equation| (equation, next())));
            let (known, pads, products) = tape.back(&list);
            value += known;
            for (start, coefficients) in [(first, pads), (product, products)] {
                weights[start..].iter_mut().zip(coefficients).for_each(|(w, c)| *w -= c);
            }
            product += tape.products.len();
        }
        (value, weights)
    }

    /// How many claims and equations there are beside the claims of forks and unused ends.
    pub fn joined<'t>(&self, tapes: impl Iterator<Item = &'t Masked>, ends: &Ends) -> usize {
        ends.at.len() + ends.tape.equations.len() + tapes.map(|tape| tape.equations.len()).sum::<usize>()
    }
}
