//! Values of K as a verifier has them (docs/proof-format.md, "Hiding proofs"). In a plain proof it knows them. In a masked one
//! elements are sent less pads that it does not know: what is computed of them is a known part and a linear form in the pads
//! and in products of two of them, and what must be zero is left to the opening.

use crate::field::{K, ONE, ZERO};
use alloc::vec;
use alloc::vec::Vec;

/// How values are computed with. `Plain` has elements of K, `Masked` forms.
pub trait Tape: Default {
    type Value: Copy;
    const MASKED: bool;

    fn known(value: K) -> Self::Value;
    /// An element as it was sent.
    fn receive(&mut self, sent: K) -> Self::Value;
    fn add(&mut self, a: Self::Value, b: Self::Value) -> Self::Value;
    fn sub(&mut self, a: Self::Value, b: Self::Value) -> Self::Value;
    fn times(&mut self, a: Self::Value, c: K) -> Self::Value;
    fn scale(&mut self, a: Self::Value, v: i64) -> Self::Value;
    /// Of two values of which each is known or as it was received.
    fn product(&mut self, a: Self::Value, b: Self::Value) -> Self::Value;
    /// Says that two values are equal, which is false if they are known not to be.
    fn equal(&mut self, a: Self::Value, b: Self::Value) -> bool;

    /// The polynomial with these coefficients, constant first, at x.
    fn horner(&mut self, coefficients: &[Self::Value], x: K) -> Self::Value {
        let Some((&last, others)) = coefficients.split_last() else { return Self::known(ZERO) };
        let mut value = last;
        for &c in others.iter().rev() {
            value = self.times(value, x);
            value = self.add(value, c);
        }
        value
    }
}

/// Everything is known.
#[derive(Default)]
pub struct Plain;

impl Tape for Plain {
    type Value = K;
    const MASKED: bool = false;

    #[inline(always)]
    fn known(value: K) -> K {
        value
    }

    #[inline(always)]
    fn receive(&mut self, sent: K) -> K {
        sent
    }

    #[inline(always)]
    fn add(&mut self, a: K, b: K) -> K {
        a + b
    }

    #[inline(always)]
    fn sub(&mut self, a: K, b: K) -> K {
        a - b
    }

    #[inline(always)]
    fn times(&mut self, a: K, c: K) -> K {
        a * c
    }

    #[inline(always)]
    fn scale(&mut self, a: K, v: i64) -> K {
        a.scale(v)
    }

    #[inline(always)]
    fn product(&mut self, a: K, b: K) -> K {
        a * b
    }

    #[inline(always)]
    fn equal(&mut self, a: K, b: K) -> bool {
        a == b
    }
}

/// A known part, and a place on a tape; none of a value that is known.
#[derive(Clone, Copy, Debug)]
pub struct Form {
    known: K,
    at: Option<u32>,
}

/// How a form was computed.
enum Entry {
    Sum(u32, K, Option<(u32, K)>),
    Pad(u32),
    Product(u32),
}

/// Elements are sent less pads.
#[derive(Default)]
pub struct Masked {
    entries: Vec<Entry>,
    /// How many elements were received, each with a pad.
    pub pads: usize,
    /// The numbers of the two pads of each product.
    pub products: Vec<[usize; 2]>,
    /// What must be zero.
    pub equations: Vec<Form>,
}

impl Masked {
    fn record(&mut self, entry: Entry) -> Option<u32> {
        self.entries.push(entry);
        Some(self.entries.len() as u32 - 1)
    }

    /// a + c·b, for c = ±1
    fn combine(&mut self, a: Form, b: Form, c: K) -> Form {
        let known = a.known + if c == ONE { b.known } else { -b.known };
        let at = match (a.at, b.at) {
            (at, None) => at,
            (None, Some(b)) => self.record(Entry::Sum(b, c, None)),
            (Some(a), Some(b)) => self.record(Entry::Sum(a, ONE, Some((b, c)))),
        };
        Form { known, at }
    }

    /// The number of the pad of a form as it was received.
    fn pad(&self, at: u32) -> usize {
        match self.entries[at as usize] {
            Entry::Pad(number) => number as usize,
            _ => panic!("a product of forms that were not received"),
        }
    }

    /// Of a sum of forms with coefficients: the known part, and the coefficients of pads and of products.
    pub fn back(&self, weighted: &[(Form, K)]) -> (K, Vec<K>, Vec<K>) {
        let mut sums = vec![ZERO; self.entries.len()];
        let mut known = ZERO;
        for (form, weight) in weighted {
            known += form.known * *weight;
            if let Some(at) = form.at {
                sums[at as usize] += *weight;
            }
        }
        let (mut pads, mut products) = (vec![ZERO; self.pads], vec![ZERO; self.products.len()]);
        for (i, entry) in self.entries.iter().enumerate().rev() {
            let sum = sums[i];
            match *entry {
                Entry::Pad(number) => pads[number as usize] += sum,
                Entry::Product(number) => products[number as usize] += sum,
                Entry::Sum(a, ca, second) => {
                    sums[a as usize] += sum * ca;
                    if let Some((b, cb)) = second {
                        sums[b as usize] += sum * cb;
                    }
                }
            }
        }
        (known, pads, products)
    }
}

impl Tape for Masked {
    type Value = Form;
    const MASKED: bool = true;

    fn known(known: K) -> Form {
        Form { known, at: None }
    }

    fn receive(&mut self, known: K) -> Form {
        self.pads += 1;
        let at = self.record(Entry::Pad(self.pads as u32 - 1));
        Form { known, at }
    }

    fn add(&mut self, a: Form, b: Form) -> Form {
        self.combine(a, b, ONE)
    }

    fn sub(&mut self, a: Form, b: Form) -> Form {
        self.combine(a, b, -ONE)
    }

    fn times(&mut self, a: Form, c: K) -> Form {
        let at = a.at.and_then(|at| self.record(Entry::Sum(at, c, None)));
        Form { known: a.known * c, at }
    }

    fn scale(&mut self, a: Form, v: i64) -> Form {
        self.times(a, ONE.scale(v))
    }

    /// (X^ + x)·(Y^ + y) = X^·Y^ + X^·y + Y^·x + z, z = x·y being the next product.
    fn product(&mut self, a: Form, b: Form) -> Form {
        let (Some(x), Some(y)) = (a.at, b.at) else {
            return if a.at.is_none() { self.times(b, a.known) } else { self.times(a, b.known) };
        };
        self.products.push([self.pad(x), self.pad(y)]);
        let z = self.record(Entry::Product(self.products.len() as u32 - 1));
        let first = self.record(Entry::Sum(x, b.known, Some((y, a.known))));
        let sum = Form { known: a.known * b.known, at: first };
        self.combine(sum, Form { known: ZERO, at: z }, ONE)
    }

    fn equal(&mut self, a: Form, b: Form) -> bool {
        let zero = self.sub(a, b);
        self.equations.push(zero);
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn element(seed: u32) -> K {
        K([seed, 7 * seed + 1, seed * seed % 1000, 11])
    }

    /// What the tape says of forms is what the true values give.
    #[test]
    fn forms_are_true_at_the_pads() {
        let mut tape = Masked::default();
        let (values, pads) = ([element(3), element(5), element(8)], [element(13), element(21), element(34)]);
        let forms = [0, 1, 2].map(|i| tape.receive(values[i] - pads[i]));
        let product = tape.product(forms[0], forms[1]);
        let mut sum = tape.times(product, element(2));
        sum = tape.sub(sum, forms[2]);
        sum = tape.add(Masked::known(element(9)), sum);
        sum = tape.horner(&[sum, forms[0], product], element(4));
        let (p, x) = (values[0] * values[1], element(4));
        let want = element(9) + p * element(2) - values[2] + values[0] * x + p * x * x;
        let (known, of_pads, of_products) = tape.back(&[(sum, ONE)]);
        let linear: K = of_pads.iter().zip(&pads).map(|(&c, &pad)| c * pad).sum();
        assert_eq!(tape.products, [[0, 1]]);
        assert_eq!(known + linear + of_products[0] * (pads[0] * pads[1]), want);
        assert!(tape.equal(forms[0], forms[1]) && tape.equations.len() == 1);
    }
}
