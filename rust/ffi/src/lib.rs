//! `prove-model-verifier` for C (include/prove_model.h, which says what each function does) and for WebAssembly, where the
//! same functions are exported. Unsafe code is for the pointers alone.

use core::ffi::{CStr, c_char};
use prove_model_verifier::{Key, Policy, Tensor, Verdict};
use std::ffi::CString;
use std::panic::catch_unwind;

/// What came of a verification. Names and reasons are text without zeros, for C.
pub struct Outcome {
    reason: CString, // empty if the proof is valid
    commitment: [u8; 32],
    digest: [u8; 32],
    bits: f64,
    tensors: [Vec<Public>; 2],
    written: Option<Text>,
}

struct Public {
    name: CString,
    shape: Vec<u64>,
    integers: Vec<i32>,
    reals: Vec<f64>,
}

struct Text {
    prompt: usize,
    tokens: Vec<u32>,
    ended: bool,
}

impl Outcome {
    fn refused(reason: &str) -> Outcome {
        let mut o = Outcome {
            reason: text(reason),
            commitment: [0; 32],
            digest: [0; 32],
            bits: 0.0,
            tensors: [Vec::new(), Vec::new()],
            written: None,
        };
        if o.reason.is_empty() {
            o.reason = text("refused");
        }
        o
    }

    fn of(verdict: &Verdict) -> Outcome {
        let public = |t: &Tensor| Public {
            name: text(&t.name),
            shape: t.shape.clone(),
            integers: t.integers.clone(),
            reals: (0..t.integers.len()).map(|i| t.real(i)).collect(),
        };
        Outcome {
            reason: CString::default(),
            commitment: verdict.commitment,
            digest: verdict.digest(),
            bits: verdict.strength.total_bits(),
            tensors: [&verdict.inputs, &verdict.outputs].map(|list| list.iter().map(public).collect()),
            written: verdict.written.as_ref().map(|w| Text { prompt: w.prompt.len(), tokens: w.tokens.clone(), ended: w.ended }),
        }
    }

    fn tensor(&self, outputs: bool, i: usize) -> Option<&Public> {
        self.tensors[outputs as usize].get(i)
    }
}

fn text(s: &str) -> CString {
    CString::new(s.replace('\0', " ")).unwrap_or_default()
}

/// # Safety
/// The pointer is null, or to so many bytes, which nobody changes meanwhile.
unsafe fn bytes<'a>(pointer: *const u8, length: usize) -> &'a [u8] {
    if pointer.is_null() {
        return &[];
    }
    // SAFETY: what the caller promises.
    unsafe { core::slice::from_raw_parts(pointer, length) }
}

/// # Safety
/// `key` and `proof` are null, or point to so many bytes; `commitment` is null, or points to 32.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn prove_model_verify(
    key: *const u8,
    key_length: usize,
    proof: *const u8,
    proof_length: usize,
    commitment: *const u8,
    min_bits: u32,
) -> *mut Outcome {
    // SAFETY: what the caller promises.
    let (key, proof, commitment) = unsafe { (bytes(key, key_length), bytes(proof, proof_length), bytes(commitment, 32)) };
    let judge = || {
        let policy = Policy { min_bits, commitment: commitment.try_into().ok(), ..Policy::default() };
        match Key::read(key).and_then(|mut key| key.verify(proof, &policy)) {
            Ok(verdict) => Outcome::of(&verdict),
            Err(reason) => Outcome::refused(&reason.to_string()),
        }
    };
    // No bytes should make the verifier panic. If some do, the proof is not valid.
    let outcome = catch_unwind(judge).unwrap_or_else(|_| Outcome::refused("the verifier failed on it"));
    Box::into_raw(Box::new(outcome))
}

/// # Safety
/// The outcome is null, or one of `prove_model_verify` that has not been freed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn prove_model_free(outcome: *mut Outcome) {
    if !outcome.is_null() {
        // SAFETY: it was a box, and is given up here.
        drop(unsafe { Box::from_raw(outcome) });
    }
}

/// # Safety
/// As of `prove_model_free`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn prove_model_reason(outcome: *const Outcome) -> *const c_char {
    // SAFETY: what the caller promises.
    unsafe { outcome.as_ref() }.map_or(c"there is no verdict", |o| &o.reason as &CStr).as_ptr()
}

/// # Safety
/// As of `prove_model_free`; `out` points to room for 32 bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn prove_model_commitment(outcome: *const Outcome, out: *mut u8) {
    // SAFETY: what the caller promises.
    unsafe { out.copy_from_nonoverlapping((*outcome).commitment.as_ptr(), 32) }
}

/// # Safety
/// As of `prove_model_commitment`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn prove_model_digest(outcome: *const Outcome, out: *mut u8) {
    // SAFETY: what the caller promises.
    unsafe { out.copy_from_nonoverlapping((*outcome).digest.as_ptr(), 32) }
}

/// # Safety
/// As of `prove_model_free`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn prove_model_bits(outcome: *const Outcome) -> f64 {
    // SAFETY: what the caller promises.
    unsafe { outcome.as_ref() }.map_or(0.0, |o| o.bits)
}

/// # Safety
/// As of `prove_model_free`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn prove_model_tensors(outcome: *const Outcome, outputs: bool) -> usize {
    // SAFETY: what the caller promises.
    unsafe { outcome.as_ref() }.map_or(0, |o| o.tensors[outputs as usize].len())
}

/// # Safety
/// As of `prove_model_free`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn prove_model_name(outcome: *const Outcome, outputs: bool, i: usize) -> *const c_char {
    // SAFETY: what the caller promises.
    unsafe { outcome.as_ref() }.and_then(|o| o.tensor(outputs, i)).map_or(c"", |t| &t.name as &CStr).as_ptr()
}

macro_rules! lists {
    ($($name:ident $field:ident $type:ty;)*) => {
        $(
            /// # Safety
            /// As of `prove_model_free`; `count` points to a number.
            #[unsafe(no_mangle)]
            pub unsafe extern "C" fn $name(outcome: *const Outcome, outputs: bool, i: usize, count: *mut usize) -> *const $type {
                // SAFETY: what the caller promises.
                let list = unsafe { outcome.as_ref() }.and_then(|o| o.tensor(outputs, i)).map_or(&[][..], |t| &t.$field);
                // SAFETY: what the caller promises.
                unsafe { count.write(list.len()) }
                list.as_ptr()
            }
        )*
    };
}

lists! {
    prove_model_shape shape u64;
    prove_model_integers integers i32;
    prove_model_reals reals f64;
}

/// # Safety
/// As of `prove_model_free`; the other pointers are to room for what they name.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn prove_model_written(
    outcome: *const Outcome,
    prompt: *mut usize,
    count: *mut usize,
    ended: *mut bool,
) -> *const u32 {
    // SAFETY: what the caller promises.
    let Some(text) = unsafe { outcome.as_ref() }.and_then(|o| o.written.as_ref()) else {
        return core::ptr::null();
    };
    // SAFETY: what the caller promises.
    unsafe {
        prompt.write(text.prompt);
        count.write(text.tokens.len());
        ended.write(text.ended);
    }
    text.tokens.as_ptr()
}

/// Room in the memory of a WebAssembly module, for what its caller hands over.
#[unsafe(no_mangle)]
pub extern "C" fn prove_model_room(length: usize) -> *mut u64 {
    let room = vec![0u64; length.div_ceil(8)].into_boxed_slice();
    Box::into_raw(room) as *mut u64
}

/// # Safety
/// The room is one of `prove_model_room` for this length that has not been given back.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn prove_model_give_back(room: *mut u64, length: usize) {
    // SAFETY: it was a box of so many numbers.
    drop(unsafe { Box::from_raw(core::ptr::slice_from_raw_parts_mut(room, length.div_ceil(8))) });
}
