//! Throughput of Plonky3's Mersenne-31 code on one core, for the table
//! "Against Plonky3" of docs/benchmarks.md. Prints "name<TAB>value", values in
//! millions a second; run.sh does the same for the Go side.

use std::hint::black_box;
use std::time::{Duration, Instant};

use p3_circle::{CircleDomain, CircleEvaluations};
use p3_field::integers::QuotientMap;
use p3_field::{Field, PackedValue};
use p3_matrix::dense::RowMajorMatrix;
use p3_mersenne_31::{Mersenne31, default_mersenne31_poseidon2_16};
use p3_symmetric::Permutation;

type Packed = <Mersenne31 as Field>::Packing;

/// Elements of each operand: they stay in the second-level cache.
const LEN: usize = 1 << 13;

/// Many short runs, of which the best counts: on a machine that does other
/// work some of them are not interrupted.
const RUNS: usize = 100;
const RUN: Duration = Duration::from_millis(3);

/// Prints the rate of `op`, which handles `n` items a call.
fn measure(name: &str, n: usize, mut op: impl FnMut()) {
    let mut best = 0f64;
    for _ in 0..RUNS {
        let start = Instant::now();
        let mut calls = 0;
        while calls == 0 || start.elapsed() < RUN {
            op();
            calls += 1;
        }
        best = best.max((calls * n) as f64 / start.elapsed().as_secs_f64() / 1e6);
    }
    println!("{name}\t{best:.2}");
}

fn sample(n: usize, seed: u32) -> Vec<Mersenne31> {
    (0..n as u32)
        .map(|i| Mersenne31::from_int((i + 1).wrapping_mul(0x9e3779b9).wrapping_add(seed) >> 2))
        .collect()
}

/// Measures dst[i] = op(a[i], b[i]).
fn elementwise(name: &str, op: impl Fn(Packed, Packed) -> Packed) {
    let (a, b, mut dst) = (sample(LEN, 1), sample(LEN, 2), sample(LEN, 3));
    measure(name, LEN, || {
        let (a, b) = (Packed::pack_slice(black_box(&a)), Packed::pack_slice(black_box(&b)));
        for ((d, &x), &y) in Packed::pack_slice_mut(&mut dst).iter_mut().zip(a).zip(b) {
            *d = op(x, y);
        }
        black_box(&mut dst);
    });
}

fn main() {
    elementwise("M31 add", |x, y| x + y);
    elementwise("M31 mul", |x, y| x * y);

    // States of packed words, sixteen words each: as many as fit the cache.
    let perm = default_mersenne31_poseidon2_16();
    let mut states: Vec<[Packed; 16]> = (0..16)
        .map(|s| core::array::from_fn(|i| Packed::from(Mersenne31::from_int((s * 16 + i) as u32))))
        .collect();
    measure("Poseidon2 width 16", states.len() * Packed::WIDTH, || {
        for s in black_box(&mut states).iter_mut() {
            perm.permute_mut(s);
        }
    });
    let mut one: [Mersenne31; 16] = core::array::from_fn(|i| Mersenne31::from_int(i as u32));
    measure("Poseidon2 width 16, one state", 1, || perm.permute_mut(black_box(&mut one)));

    // Evaluation at rate 1/4. Sixteen columns, so that the library's
    // vectors, which run across columns, are full and its twiddles shared.
    let (log_n, columns) = (16, 16);
    let coeffs = sample(columns << log_n, 4);
    measure("Circle FFT, rate 1/4", columns << (log_n + 2), || {
        let m = RowMajorMatrix::new(coeffs.clone(), columns);
        black_box(CircleEvaluations::evaluate(CircleDomain::standard(log_n + 2), m));
    });
}
