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
KERNEL __launch_bounds__(256) sumcheck_round(const instance *instances, u64 *sums, u64 log_pairs, u64 r_low, u64 r_high, u64 *box, u64 ticket, u64 *done)
{
    const instance in = instances[blockIdx.y];
    qm31 *a = in.a, *b = in.b;
    u64 pairs = (u64)1 << log_pairs;
    u32 round = (u32)(in.vars - 1 - log_pairs); // the instance's own
    u32 eq = (u32)in.eq > round + 1 ? (u32)in.eq - round - 1 : 0;
    weights w = weights_of(in.outer, in.inner, (u32)in.inner_eq, eq, (u32)log_pairs);
    bool flipped = in.flipped >> round & 1;
    u64 *sum = sums + 8 * blockIdx.y;
    auto products = [&](qm31 a0, qm31 a1, qm31 b0, qm31 b1, qm31 &p, qm31 &q) {
        p = flipped ? qm31_mul(a1, b1) : qm31_mul(a0, b0);
        q = qm31_mul(qm31_sub(a1, a0), qm31_sub(b1, b0));
    };
    if (round == 0) {
        weighted_sums(sum, pairs, w, [&](u64 x, qm31 &p, qm31 &q) { products(a[x], a[x + pairs], b[x], b[x + pairs], p, q); });
    } else {
        qm31_factor r = qm31_prepare(qm31_unpack(r_low, r_high));
        weighted_sums(sum, pairs, w, [&](u64 x, qm31 &p, qm31 &q) {
            qm31 a0 = a[x], a1 = a[x + pairs], a2 = a[x + 2 * pairs], a3 = a[x + 3 * pairs];
            qm31 b0 = b[x], b1 = b[x + pairs], b2 = b[x + 2 * pairs], b3 = b[x + 3 * pairs];
            a[x] = a0 = qm31_lerp(a0, a2, r);
            a[x + pairs] = a1 = qm31_lerp(a1, a3, r);
            b[x] = b0 = qm31_lerp(b0, b2, r);
            b[x + pairs] = b1 = qm31_lerp(b1, b3, r);
            products(a0, a1, b0, b1, p, q);
        });
    }
    mailbox{box, ticket, done}.send(sums, 8 * gridDim.y);
}

// Adds Σ_x eq(x_0 …)·a[x]·b[x] over 2^vars entries to sum[0 … 3].
KERNEL __launch_bounds__(256) sumcheck_inner(u64 *sum, const qm31 *a, const qm31 *b, u64 vars, const qm31 *outer, const qm31 *inner, u64 inner_eq, u64 eq,
                                             u64 *box, u64 ticket, u64 *done)
{
    weights w = weights_of(outer, inner, (u32)inner_eq, (u32)eq, (u32)vars);
    weighted_sums(sum, (u64)1 << vars, w, [&](u64 x, qm31 &p, qm31 &q) {
        p = qm31_mul(a[x], b[x]);
        q = qm31_zero();
    });
    mailbox{box, ticket, done}.send(sum, 4);
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
