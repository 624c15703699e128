// Rounds of a batched sumcheck over Σ eq·A·B (package sumcheck).
#include "sum.cuh"

// An instance of the batch, as the launcher writes it.
struct instance {
    qm31 *a, *b;
    const qm31 *outer, *inner; // heaps over eq's coordinates, see weights
    u64 vars, eq, inner_eq;
    u64 flipped; // bit j: coordinate j of eq is zero
};

// What tables still have to be bound to: the challenge of one round, or of two, r and s, as
// (1 − r)·s, r·(1 − s) and r·s.
struct challenges {
    qm31_factor w[3];
};

// They as parameters of a kernel, and from there.
#define CHALLENGES u64 w0_low, u64 w0_high, u64 w1_low, u64 w1_high, u64 w2_low, u64 w2_high
#define TAKEN {{qm31_prepare(qm31_unpack(w0_low, w0_high)), qm31_prepare(qm31_unpack(w1_low, w1_high)), qm31_prepare(qm31_unpack(w2_low, w2_high))}}

// Entry i of a table that has 2^folds·m entries, its first variables bound to
// folds challenges.
template <u32 folds>
DEVICE qm31 bound(const qm31 *t, u64 i, u64 m, const challenges &r)
{
    if constexpr (folds == 0)
        return t[i];
    else if constexpr (folds == 1)
        return qm31_lerp(t[i], t[i + m], r.w[0]);
    else {
        qm31 t0 = t[i], t1 = t[i + m], t2 = t[i + 2 * m], t3 = t[i + 3 * m];
        qm31_sum v = {t0.a, t0.b, t0.c, t0.d};
        v.add(qm31_sub(t1, t0), r.w[0]);
        v.add(qm31_sub(t2, t0), r.w[1]);
        v.add(qm31_sub(t3, t0), r.w[2]);
        return v.value();
    }
}

template <u32 folds>
DEVICE void one_round(u64 *sum, qm31 *a, qm31 *b, u64 pairs, const weights &w, bool flipped, const challenges &r)
{
    weighted_sums(sum, pairs, w, [&](u64 x, qm31 &p, qm31 &q) {
        qm31 a0 = bound<folds>(a, x, 2 * pairs, r), a1 = bound<folds>(a, x + pairs, 2 * pairs, r);
        qm31 b0 = bound<folds>(b, x, 2 * pairs, r), b1 = bound<folds>(b, x + pairs, 2 * pairs, r);
        if (folds > 0) {
            a[x] = a0;
            a[x + pairs] = a1;
            b[x] = b0;
            b[x + pairs] = b1;
        }
        p = flipped ? qm31_mul(a1, b1) : qm31_mul(a0, b0);
        q = qm31_mul(qm31_sub(a1, a0), qm31_sub(b1, b0));
    });
}

// One round of the first gridDim.y instances, those with the most variables,
// whose sums have 2^log_pairs terms. Instances that have been in a round before
// are bound first to the `pending` challenges since the last pass. To
// sums[8·i …] of instance i are added Σ w·A_0·B_0 and the leading coefficient
// Σ w·(A_1 − A_0)·(B_1 − B_0); the first with A_1, B_1 where the round's own eq
// coordinate is zero.
KERNEL __launch_bounds__(256) sumcheck_round(u64 *sums, u64 *box, u64 ticket, u64 *done, const instance *instances, u64 log_pairs, u64 pending,
                                            CHALLENGES)
{
    const instance in = instances[blockIdx.y];
    u64 pairs = (u64)1 << log_pairs;
    u32 round = (u32)(in.vars - 1 - log_pairs); // the instance's own
    u32 eq = (u32)in.eq > round + 1 ? (u32)in.eq - round - 1 : 0;
    weights w = weights_of(in.outer, in.inner, (u32)in.inner_eq, eq, (u32)log_pairs);
    bool flipped = in.flipped >> round & 1;
    u64 *sum = sums + 8 * blockIdx.y;
    challenges r = TAKEN;
    switch (round == 0 ? 0 : pending) {
    case 0:
        one_round<0>(sum, in.a, in.b, pairs, w, flipped, r);
        break;
    case 1:
        one_round<1>(sum, in.a, in.b, pairs, w, flipped, r);
        break;
    default:
        one_round<2>(sum, in.a, in.b, pairs, w, flipped, r);
    }
    mailbox{box, ticket, done}.send(sums, 8 * gridDim.y);
}

// The values of one table with the next two variables at 0, 1 and, where it is
// twice one of them, the difference of the two: from its entries at
// (0,0), (0,1), (1,0) and (1,1).
struct grid {
    qm31 v00, v01, v10, d0, d1, e0, e1, de;

    __device__ __forceinline__ grid(qm31 t0, qm31 t1, qm31 t2, qm31 t3)
        : v00(t0), v01(t1), v10(t2), d0(qm31_sub(t2, t0)), d1(qm31_sub(t3, t1)), e0(qm31_sub(t1, t0)), e1(qm31_sub(t3, t2)),
          de(qm31_sub(e1, e0))
    {
    }
};

template <u32 folds>
DEVICE void two_rounds(u64 *sum, qm31 *a, qm31 *b, u64 quads, const challenges &r)
{
    qm31 s[8];
    for (u32 i = 0; i < 8; i++)
        s[i] = qm31_zero();
#pragma unroll 1
    for (u64 x = thread_index(); x < quads; x += thread_count()) {
        qm31 u[4], v[4];
#pragma unroll
        for (u32 j = 0; j < 4; j++) {
            u[j] = bound<folds>(a, x + j * quads, 4 * quads, r);
            v[j] = bound<folds>(b, x + j * quads, 4 * quads, r);
        }
        if (folds > 0) {
#pragma unroll
            for (u32 j = 0; j < 4; j++) {
                a[x + j * quads] = u[j];
                b[x + j * quads] = v[j];
            }
        }
        grid f(u[0], u[1], u[2], u[3]), g(v[0], v[1], v[2], v[3]);
        s[0] = qm31_add(s[0], qm31_mul(f.v00, g.v00));
        s[1] = qm31_add(s[1], qm31_mul(f.v01, g.v01));
        s[2] = qm31_add(s[2], qm31_mul(f.v10, g.v10));
        s[3] = qm31_add(s[3], qm31_mul(f.d0, g.d0));
        s[4] = qm31_add(s[4], qm31_mul(f.d1, g.d1));
        s[5] = qm31_add(s[5], qm31_mul(f.e0, g.e0));
        s[6] = qm31_add(s[6], qm31_mul(f.e1, g.e1));
        s[7] = qm31_add(s[7], qm31_mul(f.de, g.de));
    }
    block_sums<8>(sum, s);
}

// An element of another lane among eight.
DEVICE qm31 of_lane(qm31 v, u32 lane)
{
    return {__shfl_sync(~0u, v.a, lane, 8), __shfl_sync(~0u, v.b, lane, 8), __shfl_sync(~0u, v.c, lane, 8), __shfl_sync(~0u, v.d, lane, 8)};
}

// The same with eight lanes for a quad: each makes one of the eight entries, and then one of the
// eight products.
template <u32 folds>
DEVICE void two_rounds_in_lanes(u64 *sum, qm31 *a, qm31 *b, u64 quads, const challenges &r)
{
    const u32 k = threadIdx.x % 8;
    qm31 *t = (k < 4 ? a : b);
    // Value k of a table (grid) is entry plus less entry minus, from the third on; of the last one
    // value 5 has to be taken as well.
    const u32 plus = 0x33132210u >> 4 * k & 3, minus = 0x22010000u >> 4 * k & 3;
    qm31_sum s = {0, 0, 0, 0};
    const u64 step = thread_count() / 8;
#pragma unroll 1
    for (u64 from = (thread_index() - threadIdx.x % 32) / 8; from < quads; from += step) {
        u64 x = from + threadIdx.x % 32 / 8;
        qm31 v = qm31_zero();
        if (x < quads) {
            u64 i = x + k % 4 * quads;
            v = bound<folds>(t, i, 4 * quads, r);
            if (folds > 0)
                t[i] = v;
        }
        qm31 f = of_lane(v, plus), g = of_lane(v, 4 + plus), f0 = of_lane(v, minus), g0 = of_lane(v, 4 + minus);
        if (k >= 3) {
            f = qm31_sub(f, f0);
            g = qm31_sub(g, g0);
        }
        f0 = of_lane(f, 5);
        g0 = of_lane(g, 5);
        if (k == 7) {
            f = qm31_sub(f, f0);
            g = qm31_sub(g, g0);
        }
        s.add(f, qm31_prepare(g));
    }
    qm31 v = s.value();
    for (int mask = 8; mask < 32; mask *= 2) {
        qm31 o = {__shfl_xor_sync(~0u, v.a, mask), __shfl_xor_sync(~0u, v.b, mask),
                  __shfl_xor_sync(~0u, v.c, mask), __shfl_xor_sync(~0u, v.d, mask)};
        v = qm31_add(v, o);
    }
    __shared__ u32 part[8][32];
    if (threadIdx.x % 32 < 8) {
        u32 *to = part[threadIdx.x / 32] + 4 * k;
        to[0] = v.a;
        to[1] = v.b;
        to[2] = v.c;
        to[3] = v.d;
    }
    __syncthreads();
    if (threadIdx.x < 32) {
        u64 all = 0;
        for (u32 w = 0; w < blockDim.x / 32; w++)
            all += part[w][threadIdx.x];
        atomicAdd(sum + threadIdx.x, all);
    }
}

// Two rounds at once of instances as in sumcheck_round, none of which joins in
// the second or has eq coordinates left; the sums of the second have 2^log_quads
// terms. To sums[32·i …] are added the sums over x of the product A·B with the
// two variables at (0,0), (0,1), (1,0), and its leading coefficients in the
// first at (·,0) and (·,1), in the second at (0,·) and (1,·), and in both.
KERNEL __launch_bounds__(256, 2) sumcheck_two_rounds(u64 *sums, u64 *box, u64 ticket, u64 *done, const instance *instances, u64 log_quads,
                                                    u64 pending, CHALLENGES)
{
    const instance in = instances[blockIdx.y];
    u64 quads = (u64)1 << log_quads;
    u64 *sum = sums + 32 * blockIdx.y;
    challenges r = TAKEN;
    switch (in.vars == log_quads + 2 ? 0 : pending) {
    case 0:
        two_rounds<0>(sum, in.a, in.b, quads, r);
        break;
    case 1:
        two_rounds<1>(sum, in.a, in.b, quads, r);
        break;
    default:
        two_rounds<2>(sum, in.a, in.b, quads, r);
    }
    mailbox{box, ticket, done}.send(sums, 32 * gridDim.y);
}

// sumcheck_two_rounds by eight lanes for each of the 2^log_quads terms.
KERNEL __launch_bounds__(256) sumcheck_two_rounds_in_lanes(u64 *sums, u64 *box, u64 ticket, u64 *done, const instance *instances, u64 log_quads,
                                                          u64 pending, CHALLENGES)
{
    const instance in = instances[blockIdx.y];
    u64 quads = (u64)1 << log_quads;
    u64 *sum = sums + 32 * blockIdx.y;
    challenges r = TAKEN;
    switch (in.vars == log_quads + 2 ? 0 : pending) {
    case 0:
        two_rounds_in_lanes<0>(sum, in.a, in.b, quads, r);
        break;
    case 1:
        two_rounds_in_lanes<1>(sum, in.a, in.b, quads, r);
        break;
    default:
        two_rounds_in_lanes<2>(sum, in.a, in.b, quads, r);
    }
    mailbox{box, ticket, done}.send(sums, 32 * gridDim.y);
}

// Adds Σ_x eq(x_0 …)·A[x]·B[x] of each of gridDim.y instances to sums[8·i …].
KERNEL __launch_bounds__(256) sumcheck_inner(u64 *sums, u64 *box, u64 ticket, u64 *done, const instance *instances)
{
    const instance in = instances[blockIdx.y];
    weights w = weights_of(in.outer, in.inner, (u32)in.inner_eq, (u32)in.eq, (u32)in.vars);
    weighted_sums(sums + 8 * blockIdx.y, (u64)1 << in.vars, w, [&](u64 x, qm31 &p, qm31 &q) {
        p = qm31_mul(in.a[x], in.b[x]);
        q = qm31_zero();
    });
    mailbox{box, ticket, done}.send(sums, 8 * gridDim.y);
}

// Writes what is left of A and of B of n instances to out, 2^(log_size + 1) elements for each: of
// 2^log_size entries once those that have been in a round are bound to the pending challenges, of
// fewer where a table has fewer.
KERNEL __launch_bounds__(256) sumcheck_rest(u64 *out, u64 *box, u64 ticket, u64 *done, const instance *instances, u64 n, u64 log_size,
                                           u64 pending, CHALLENGES)
{
    const u64 size = (u64)1 << log_size;
    challenges r = TAKEN;
    for (u64 i = thread_index(); i < 2 * size * n; i += thread_count()) {
        const instance &in = instances[i >> log_size >> 1];
        const qm31 *t = i >> log_size & 1 ? in.b : in.a;
        u64 x = i & (size - 1);
        if (x >> in.vars)
            continue;
        switch (in.vars > log_size ? pending : 0) {
        case 0:
            store_words(out, i, t[x]);
            break;
        case 1:
            store_words(out, i, bound<1>(t, x, size, r));
            break;
        default:
            store_words(out, i, bound<2>(t, x, size, r));
        }
    }
    mailbox{box, ticket, done}.written();
}
