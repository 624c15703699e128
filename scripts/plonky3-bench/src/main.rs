//! Throughput of Plonky3's Mersenne-31 code on one core, for the table
//! "Against Plonky3" of docs/benchmarks.md; with the argument "trees" of its
//! Merkle trees on as many cores as RAYON_NUM_THREADS says. Prints
//! "name<TAB>value", values in millions a second; run.sh does the same for the
//! Go side.

use std::hint::black_box;
use std::time::{Duration, Instant};

use p3_blake3::Blake3;
use p3_circle::{CircleDomain, CircleEvaluations};
use p3_field::integers::QuotientMap;
use p3_field::{Field, PackedValue};
use p3_matrix::dense::{RowMajorMatrix, RowMajorMatrixView};
use p3_merkle_tree::MerkleTree;
use p3_mersenne_31::{Mersenne31, default_mersenne31_poseidon2_16};
use p3_symmetric::{
    CompressionFunctionFromHasher, PaddingFreeSponge, Permutation, SerializingHasher,
    TruncatedPermutation,
};

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
    if std::env::args().nth(1).as_deref() == Some("trees") {
        return trees();
    }
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

    circle_fft(18, 64);
    circle_fft(20, 64);
    circle_fft(22, 16);
}

/// Measures the Merkle tree over the 2^18 rows of a matrix of 64 columns: in processor time on one core, as one tree takes too
/// long to be left alone on a machine that does other work.
fn trees() {
    let values = sample(TREE_COLUMNS << TREE_LOG_ROWS, 5);
    let matrix = || RowMajorMatrixView::new(black_box(&values), TREE_COLUMNS);
    let elements = values.len() as f64 / 1e6;
    let alone = std::env::var("RAYON_NUM_THREADS").as_deref() == Ok("1");
    let best = |op: &dyn Fn()| {
        let time = (0..TREE_RUNS).map(|_| {
            let (start, processor) = (Instant::now(), processor_time());
            op();
            if alone { processor_time() - processor } else { start.elapsed().as_secs_f64() }
        });
        elements / time.fold(f64::MAX, f64::min)
    };

    let (leaf, node) = (SerializingHasher::new(Blake3), CompressionFunctionFromHasher::<_, 2, 32>::new(Blake3));
    let rate = best(&|| {
        black_box(MerkleTree::<Mersenne31, u8, _, 2, 32>::new::<Mersenne31, u8, _, _>(&leaf, &node, vec![matrix()]));
    });
    println!("Merkle tree, BLAKE3\t{rate:.2}");

    let perm = default_mersenne31_poseidon2_16();
    let leaf = PaddingFreeSponge::<_, 16, 8, 8>::new(perm.clone());
    let node = TruncatedPermutation::<_, 2, 8, 16>::new(perm);
    let rate = best(&|| {
        black_box(MerkleTree::<Mersenne31, Mersenne31, _, 2, 8>::new::<Packed, Packed, _, _>(&leaf, &node, vec![matrix()]));
    });
    println!("Merkle tree, Poseidon2\t{rate:.2}");
}

const TREE_COLUMNS: usize = 64;
const TREE_LOG_ROWS: usize = 18;
const TREE_RUNS: usize = 10;

/// Measures the evaluation of polynomials, one a column, at rate 1/4 on
/// 2^log_n points. One call takes long, so that it cannot be hoped to run
/// without interruption: what counts is processor time. The memory has been
/// written to before, and no allocation is part of it but that of the
/// library's twiddles, which it computes in each call.
fn circle_fft(log_n: usize, columns: usize) {
    let coeffs = sample(columns << (log_n - 2), 4);
    let mut memory = vec![Mersenne31::default(); columns << log_n];
    let mut best = f64::MAX;
    for _ in 0..FFT_RUNS {
        memory.clear();
        memory.extend_from_slice(black_box(&coeffs));
        let m = RowMajorMatrix::new(memory, columns);
        let start = processor_time();
        let word = CircleEvaluations::evaluate(CircleDomain::standard(log_n), m);
        best = best.min(processor_time() - start);
        memory = black_box(word).to_cfft_order().values;
    }
    let rate = (columns << log_n) as f64 / best / 1e6;
    println!("Circle FFT, 2^{log_n} points, {columns} columns\t{rate:.2}");
}

const FFT_RUNS: usize = 3;

/// Seconds of processor time that this process has used.
fn processor_time() -> f64 {
    let mut t = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: t is a valid place for the result.
    let status = unsafe { libc::clock_gettime(libc::CLOCK_PROCESS_CPUTIME_ID, &mut t) };
    assert_eq!(status, 0);
    t.tv_sec as f64 + t.tv_nsec as f64 * 1e-9
}
