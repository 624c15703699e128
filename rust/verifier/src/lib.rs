//! Verifies proofs of prove-model. A key and a proof are bytes; a [`Verdict`] says what a valid proof states, and an
//! [`Error`] why one is refused. Nothing else is needed: no standard library, no files, no clock, and there is no unsafe
//! code.
//!
//! ```no_run
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! use prove_model_verifier::{Policy, verify};
//! let (key, proof) = (std::fs::read("digits.vk")?, std::fs::read("digits.proof")?);
//! let verdict = verify(&key, &proof, &Policy { min_bits: 100, ..Policy::default() })?;
//! println!("{:?}", verdict.outputs[0].integers);
//! # Ok(())
//! # }
//! ```
//!
//! It is written from docs/proof-format.md, which says what every byte means, docs/protocol.md, which says why that is
//! sound, and docs/composition.md. Time and memory are bounded by the lengths of both files and by limits on what a key may
//! ask for (docs/security.md, "What a key may cost").
#![no_std]
#![forbid(unsafe_code)]
#![warn(missing_docs)]

extern crate alloc;

mod circle;
mod cost;
mod error;
mod field;
mod forced;
mod forms;
mod formulas;
mod graph;
mod hash;
mod hide;
mod key;
mod layout;
mod link;
mod lookups;
mod merkle;
mod names;
mod pads;
mod poly;
mod proof;
mod reduce;
mod reveal;
mod segment;
mod shape;
mod soundness;
mod stream;
mod template;
mod text;
mod texts;
mod validate;
mod values;
mod verify;
mod whir;
mod wire;
mod wiring;

pub use error::{Error, Kind, Result};
pub use key::{Key, MOST_BYTES as MOST_KEY_BYTES, Text};
pub use link::{MOST_BYTES as MOST_LINK_BYTES, check_link};
pub use segment::{Pinned, Segment};
pub use soundness::Strength;
pub use text::{Rule, Written};
pub use verify::{Greatest, Hidden, Policy, Saturation, Tensor, Verdict, verify};
