// The fractional sums of LogUp (package logup): leaves, the tree above them,
// and the rounds of a layer's sumcheck.
#include "axes.cuh"
#include "sum.cuh"

// Entry i of integers of 1, 2 or 4 bytes.
DEVICE i32 integer(const void *v, u64 width, u64 i)
{
    switch (width) {
    case 1:
        return static_cast<const i8 *>(v)[i];
    case 2:
        return static_cast<const i16 *>(v)[i];
    default:
        return static_cast<const i32 *>(v)[i];
    }
}

// The leaves of a look-up step over n = 2^k padded entries: 1/(base − key +
// beta·out), beta negative already, and 0/base in the padding. outs may be null.
KERNEL logup_step_leaves(u32 *num, qm31 *den, u64 n, const void *keys, u64 keys_width, const void *outs, u64 outs_width, u64 d0,
                         u64 d1, u64 d2, u64 d3, u64 d4, u64 d5, u64 d6, u64 d7, u64 base_low, u64 base_high, u64 beta_low,
                         u64 beta_high)
{
    axes shape = {{d0, d1, d2, d3, d4, d5, d6, d7}};
    qm31 base = qm31_unpack(base_low, base_high), beta = qm31_unpack(beta_low, beta_high);
    for (u64 x = thread_index(); x < n; x += thread_count()) {
        qm31 d = base;
        u64 i;
        bool in = shape.dense(x, i);
        if (in) {
            d.a = m31_sub(d.a, m31_from_i32(integer(keys, keys_width, i)));
            if (outs)
                d = qm31_add(d, qm31_mul_m31(beta, m31_from_i32(integer(outs, outs_width, i))));
        }
        num[x] = in;
        den[x] = d;
    }
}

// The leaves of a table of n rows with the keys min, min + 1, …:
// −count/(base − key + beta·value). values may be null.
KERNEL logup_table_leaves(u32 *num, qm31 *den, u64 n, const void *counts, u64 counts_width, const u32 *values, i64 min_key,
                          u64 base_low, u64 base_high, u64 beta_low, u64 beta_high)
{
    qm31 base = qm31_unpack(base_low, base_high), beta = qm31_unpack(beta_low, beta_high);
    for (u64 x = thread_index(); x < n; x += thread_count()) {
        qm31 d = base;
        d.a = m31_sub(d.a, m31_from_i64(min_key + (i64)x));
        if (values)
            d = qm31_add(d, qm31_mul_m31(beta, values[x]));
        num[x] = m31_neg(m31_from_i32(integer(counts, counts_width, x)));
        den[x] = d;
    }
}

// The fraction 0/1 in n entries.
KERNEL logup_fill(u32 *num, qm31 *den, u64 n)
{
    for (u64 x = thread_index(); x < n; x += thread_count()) {
        num[x] = 0;
        den[x] = qm31_one();
    }
}

// The layer of half entries above the leaves: entry i is the sum of the leaves
// i and half + i.
KERNEL __launch_bounds__(256) logup_first_layer(qm31 *num, qm31 *den, const u32 *leaf_num, const qm31 *leaf_den, u64 half)
{
    for (u64 i = thread_index(); i < half; i += thread_count()) {
        qm31 d0 = leaf_den[i], d1 = leaf_den[half + i];
        num[i] = qm31_add(qm31_mul_m31(d1, leaf_num[i]), qm31_mul_m31(d0, leaf_num[half + i]));
        den[i] = qm31_mul(d0, d1);
    }
}

// The layers above one of 2·half entries in a heap (layer k in entries 2^k …
// of num and den): that of half entries.
KERNEL __launch_bounds__(256) logup_layer(qm31 *num, qm31 *den, u64 half)
{
    for (u64 i = thread_index(); i < half; i += thread_count()) {
        qm31 d0 = den[2 * half + i];
        qm31_factor d1 = qm31_prepare(den[3 * half + i]);
        num[half + i] = qm31_add(qm31_mul(num[2 * half + i], d1), qm31_mul(num[3 * half + i], d0));
        den[half + i] = qm31_mul(d0, d1);
    }
}

// A layer's four tables with the round's variable at 0 and 1, n1 with λ·d1 in
// it.
struct pair {
    qm31 n0[2], n1[2], d0[2], d1[2];

    // The value at 0 and the leading coefficient of n0·d1 + n1·d0.
    __device__ __forceinline__ void products(qm31 &zero, qm31 &top) const
    {
        zero = qm31_add(qm31_mul(n0[0], d1[0]), qm31_mul(n1[0], d0[0]));
        top = qm31_add(qm31_mul(qm31_sub(n0[1], n0[0]), qm31_sub(d1[1], d1[0])),
                       qm31_mul(qm31_sub(n1[1], n1[0]), qm31_sub(d0[1], d0[0])));
    }
};

// The rounds of a layer add what it says in LogUpRounds to the eight words at
// sums. This one is the first, of a layer of 2^vars entries whose children are
// the halves of num and den: it adds λ·d1 to n1.
KERNEL __launch_bounds__(256) logup_first_round(u64 *sums, u64 *box, u64 ticket, u64 *done, qm31 *num, const qm31 *den, u64 vars,
                                                const qm31 *outer, const qm31 *inner, u64 inner_eq, u64 l_low, u64 l_high)
{
    u64 half = (u64)1 << vars, pairs = half / 2;
    weights w = weights_of(outer, inner, (u32)inner_eq, (u32)vars - 1, (u32)vars - 1);
    qm31_factor lambda = qm31_prepare(qm31_unpack(l_low, l_high));
    weighted_sums(sums, pairs, w, [&](u64 x, qm31 &zero, qm31 &top) {
        pair p;
#pragma unroll
        for (int h = 0; h < 2; h++) {
            u64 i = x + h * pairs;
            p.n0[h] = num[i];
            p.d0[h] = den[i];
            p.d1[h] = den[half + i];
            p.n1[h] = num[half + i];
        }
#pragma unroll
        for (int h = 0; h < 2; h++)
            num[half + x + h * pairs] = p.n1[h] = qm31_add(p.n1[h], qm31_mul(p.d1[h], lambda));
        p.products(zero, top);
    });
    mailbox{box, ticket, done}.send(sums, 8);
}

// A later round, of 2^log_pairs pairs: binds the variable of the round before
// to r in all tables, which keep their beginnings.
KERNEL __launch_bounds__(256) logup_round(u64 *sums, u64 *box, u64 ticket, u64 *done, qm31 *n0, qm31 *n1, qm31 *d0, qm31 *d1, u64 log_pairs,
                                          const qm31 *outer, const qm31 *inner, u64 inner_eq, u64 r_low, u64 r_high)
{
    u64 pairs = (u64)1 << log_pairs;
    weights w = weights_of(outer, inner, (u32)inner_eq, (u32)log_pairs, (u32)log_pairs);
    qm31_factor r = qm31_prepare(qm31_unpack(r_low, r_high));
    weighted_sums(sums, pairs, w, [&](u64 x, qm31 &zero, qm31 &top) {
        pair p;
        qm31 m0[2], m1[2], e0[2], e1[2]; // where the bound variable is 1
#pragma unroll
        for (int h = 0; h < 2; h++) {
            u64 i = x + h * pairs, j = i + 2 * pairs;
            p.n0[h] = n0[i];
            m0[h] = n0[j];
            p.n1[h] = n1[i];
            m1[h] = n1[j];
            p.d0[h] = d0[i];
            e0[h] = d0[j];
            p.d1[h] = d1[i];
            e1[h] = d1[j];
        }
#pragma unroll
        for (int h = 0; h < 2; h++) {
            u64 i = x + h * pairs;
            n0[i] = p.n0[h] = qm31_lerp(p.n0[h], m0[h], r);
            n1[i] = p.n1[h] = qm31_lerp(p.n1[h], m1[h], r);
            d0[i] = p.d0[h] = qm31_lerp(p.d0[h], e0[h], r);
            d1[i] = p.d1[h] = qm31_lerp(p.d1[h], e1[h], r);
        }
        p.products(zero, top);
    });
    mailbox{box, ticket, done}.send(sums, 8);
}

// The first round of the last layer, of 2^vars entries, from the leaves.
KERNEL __launch_bounds__(256) logup_first_leaf_round(u64 *sums, u64 *box, u64 ticket, u64 *done, const u32 *num, const qm31 *den, u64 vars,
                                                     const qm31 *outer, const qm31 *inner, u64 inner_eq, u64 l_low, u64 l_high)
{
    u64 half = (u64)1 << vars, pairs = half / 2;
    weights w = weights_of(outer, inner, (u32)inner_eq, (u32)vars - 1, (u32)vars - 1);
    qm31 lambda = qm31_unpack(l_low, l_high);
    // With numerators of the base field, n0·d1 + n1·d0 takes four products of a
    // base element, and λ·d0·d1 the only ones in K.
    weighted_sums(sums, pairs, w, [&](u64 x, qm31 &zero, qm31 &top) {
        u32 n00 = num[x], n01 = num[x + pairs], n10 = num[half + x], n11 = num[half + x + pairs];
        qm31 d00 = den[x], d01 = den[x + pairs], d10 = den[half + x], d11 = den[half + x + pairs];
        zero = qm31_add(qm31_add(qm31_mul_m31(d10, n00), qm31_mul_m31(d00, n10)), qm31_mul(qm31_mul(d00, d10), lambda));
        qm31 s0 = qm31_sub(d01, d00), s1 = qm31_sub(d11, d10);
        top = qm31_add(qm31_add(qm31_mul_m31(s1, m31_sub(n01, n00)), qm31_mul_m31(s0, m31_sub(n11, n10))), qm31_mul(qm31_mul(s0, s1), lambda));
    });
    mailbox{box, ticket, done}.send(sums, 8);
}

DEVICE qm31 lerp_m31(u32 x, u32 y, qm31 r)
{
    qm31 v = qm31_mul_m31(r, m31_sub(y, x));
    v.a = m31_add(v.a, x);
    return v;
}

// The second round of the last layer, of 2^(log_pairs + 2) entries, from the
// leaves: binds the first variable to r. The tables go to n0 and n1, of
// 2^(log_pairs + 1) entries each, and to the first quarter of den, d0, and the
// second, d1; n1 with λ·d1 in it.
KERNEL __launch_bounds__(256) logup_second_leaf_round(u64 *sums, u64 *box, u64 ticket, u64 *done, qm31 *n0, qm31 *n1, const u32 *num, qm31 *den,
                                                      u64 log_pairs, const qm31 *outer, const qm31 *inner, u64 inner_eq, u64 r_low, u64 r_high,
                                                      u64 l_low, u64 l_high)
{
    u64 pairs = (u64)1 << log_pairs, quarter = 2 * pairs;
    weights w = weights_of(outer, inner, (u32)inner_eq, (u32)log_pairs, (u32)log_pairs);
    qm31 rv = qm31_unpack(r_low, r_high);
    qm31_factor r = qm31_prepare(rv), lambda = qm31_prepare(qm31_unpack(l_low, l_high));
    weighted_sums(sums, pairs, w, [&](u64 x, qm31 &zero, qm31 &top) {
        pair p;
        u32 n[4][2];
        qm31 d[4][2];
#pragma unroll
        for (int h = 0; h < 2; h++) {
#pragma unroll
            for (int q = 0; q < 4; q++) {
                n[q][h] = num[q * quarter + x + h * pairs];
                d[q][h] = den[q * quarter + x + h * pairs];
            }
        }
#pragma unroll
        for (int h = 0; h < 2; h++) {
            u64 i = x + h * pairs;
            n0[i] = p.n0[h] = lerp_m31(n[0][h], n[1][h], rv);
            den[i] = p.d0[h] = qm31_lerp(d[0][h], d[1][h], r);
            // What this overwrites nobody else reads.
            den[quarter + i] = p.d1[h] = qm31_lerp(d[2][h], d[3][h], r);
            n1[i] = p.n1[h] = qm31_add(lerp_m31(n[2][h], n[3][h], rv), qm31_mul(p.d1[h], lambda));
        }
        p.products(zero, top);
    });
    mailbox{box, ticket, done}.send(sums, 8);
}

// Copies the first size entries of four tables to out, one after the other.
KERNEL logup_gather(qm31 *out, const qm31 *n0, const qm31 *n1, const qm31 *d0, const qm31 *d1, u64 size)
{
    for (u64 i = thread_index(); i < size; i += thread_count()) {
        out[i] = n0[i];
        out[size + i] = n1[i];
        out[2 * size + i] = d0[i];
        out[3 * size + i] = d1[i];
    }
}
