// Rounds of a batched sumcheck over Σ eq·A·B (package sumcheck).
#include "sum.cuh"

// An instance of the batch, as the launcher writes it.
struct instance {
    qm31 *a, *b;
    const qm31 *outer, *inner; // heaps over eq's coordinates, see weights
    u64 vars, eq, inner_eq;
    u64 flipped; // bit j: coordinate j of eq is zero
};

// One round of the first gridDim.y instances, those with the most variables,
// whose sums have 2^log_pairs terms. Instances that have been in the round
// before have that round's variable bound to r first. To sums[8·i …] of
// instance i are added Σ w·A_0·B_0 and the leading coefficient
// Σ w·(A_1 − A_0)·(B_1 − B_0); the first with A_1, B_1 where the round's own eq
// coordinate is zero.
KERNEL __launch_bounds__(256) sumcheck_round(const instance *instances, u64 *sums, u64 log_pairs, u64 r_low, u64 r_high)
{
    const instance in = instances[blockIdx.y];
    qm31 *a = in.a, *b = in.b;
    u64 pairs = (u64)1 << log_pairs;
    u32 round = (u32)(in.vars - 1 - log_pairs); // the instance's own
    u32 eq = (u32)in.eq > round + 1 ? (u32)in.eq - round - 1 : 0;
    weights w = weights_of(in.outer, in.inner, (u32)in.inner_eq, eq, (u32)log_pairs);
    bool flipped = in.flipped >> round & 1;
    qm31_factor r = qm31_prepare(qm31_unpack(r_low, r_high));
    qm31 first = qm31_zero(), top = qm31_zero();
    for (u64 x = thread_index(); x < pairs; x += thread_count()) {
        qm31 a0 = a[x], a1 = a[x + pairs], b0 = b[x], b1 = b[x + pairs];
        if (round > 0) {
            a0 = qm31_lerp(a0, a[x + 2 * pairs], r);
            a1 = qm31_lerp(a1, a[x + 3 * pairs], r);
            b0 = qm31_lerp(b0, b[x + 2 * pairs], r);
            b1 = qm31_lerp(b1, b[x + 3 * pairs], r);
            a[x] = a0;
            a[x + pairs] = a1;
            b[x] = b0;
            b[x + pairs] = b1;
        }
        qm31 p = flipped ? qm31_mul(a1, b1) : qm31_mul(a0, b0);
        qm31 q = qm31_mul(qm31_sub(a1, a0), qm31_sub(b1, b0));
        if (!w.none()) {
            qm31_factor e = qm31_prepare(w.at(x));
            p = qm31_mul(p, e);
            q = qm31_mul(q, e);
        }
        first = qm31_add(first, p);
        top = qm31_add(top, q);
    }
    block_sums(sums + 8 * blockIdx.y, first, top);
}

// Adds Σ_x eq(x_0 …)·a[x]·b[x] over 2^vars entries to sum[0 … 3].
KERNEL __launch_bounds__(256) sumcheck_inner(u64 *sum, const qm31 *a, const qm31 *b, u64 vars, const qm31 *outer, const qm31 *inner, u64 inner_eq, u64 eq)
{
    weights w = weights_of(outer, inner, (u32)inner_eq, (u32)eq, (u32)vars);
    qm31 s = qm31_zero();
    for (u64 x = thread_index(); x < (u64)1 << vars; x += thread_count()) {
        qm31 p = qm31_mul(a[x], b[x]);
        if (!w.none())
            p = qm31_mul(p, w.at(x));
        s = qm31_add(s, p);
    }
    block_sums(sum, s, qm31_zero());
}

// Copies the first size entries of A and of B of n instances to out, 2·size
// for each; those with fewer entries fill what they have.
KERNEL sumcheck_gather(qm31 *out, const instance *instances, u64 n, u64 size)
{
    for (u64 i = thread_index(); i < size * n; i += thread_count()) {
        const instance *in = instances + i / size;
        u64 k = i % size;
        if (k >> in->vars == 0) {
            qm31 *to = out + 2 * size * (i / size) + k;
            to[0] = in->a[k];
            to[size] = in->b[k];
        }
    }
}
