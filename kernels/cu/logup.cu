// The fractional sums of LogUp (package logup): leaves, the tree above them,
// and the rounds of a layer's sumcheck.
#include "axes.cuh"
#include "ints.cuh"
#include "products.cuh"
#include "lanes.cuh"

// A piece of a piecewise-linear table: rows up to end, exclusive, have the value
// slope·key + offset. Rows and keys are those of the table without its lowest bits, if it
// drops some; it begins at 0 then.
struct piece {
    i64 end, slope, offset;
};

// The leaves of a look-up step, or of a table (LogUpLeaves).
struct leaf_job {
    u64 first, n;               // the first of its blocks; entries
    const void *numbers, *outs; // keys of a step, counts of a table; outs may be null
    u64 numbers_width, outs_width;
    const u64 *offsets;  // of a step: the places of its blocks; null of a table
    const piece *pieces; // of a table, or null
    u64 npieces, drop;   // of a table: the bits of a key that its value does not depend on
    i64 min_key;
    u64 dims[MAX_AXES];
    u64 place; // of a table
    qm31 base;
};

// Entries that a block of logup_leaves takes.
#define LEAVES 1024

// The leaves of all jobs: 1/(base − key + beta·out) of a step, beta negative already, and
// −count/(base − key + beta·value) of a table with the keys min_key, min_key + 1, …
KERNEL __launch_bounds__(256) logup_leaves(u32 *num, qm31 *den, const leaf_job *jobs, u64 njobs, u64 beta_low, u64 beta_high)
{
    const leaf_job &job = job_of(jobs, njobs, blockIdx.x);
    const qm31 beta = qm31_unpack(beta_low, beta_high);
    const u64 from = (blockIdx.x - job.first) * LEAVES, to = min(from + LEAVES, job.n);
    if (!job.offsets) {
        for (u64 x = from + threadIdx.x; x < to; x += blockDim.x) {
            i64 key = job.min_key + (i64)x;
            u32 value = 0;
            if (job.npieces) {
                u64 p = 0;
                while (p + 1 < job.npieces && (i64)(x >> job.drop) >= job.pieces[p].end)
                    p++;
                value = m31_from_i64(job.pieces[p].slope * (key >> job.drop) + job.pieces[p].offset);
            } else if (job.outs) {
                value = m31_from_i32(entry(job.outs, job.outs_width, x));
            }
            qm31 d = qm31_add(job.base, qm31_mul_m31(beta, value));
            d.a = m31_sub(d.a, m31_from_i64(key));
            num[job.place + x] = m31_neg(m31_from_i32(entry(job.numbers, job.numbers_width, x)));
            den[job.place + x] = d;
        }
        return;
    }
    axes shape;
    for (int a = 0; a < MAX_AXES; a++)
        shape.dims[a] = job.dims[a];
    for (u64 i = from + threadIdx.x; i < to; i += blockDim.x) {
        qm31 d = job.base;
        d.a = m31_sub(d.a, m31_from_i32(entry(job.numbers, job.numbers_width, i)));
        if (job.outs)
            d = qm31_add(d, qm31_mul_m31(beta, m31_from_i32(entry(job.outs, job.outs_width, i))));
        u64 in_block, block = shape.block(i, in_block), x = job.offsets[block] + in_block;
        num[x] = 1;
        den[x] = d;
    }
}

// Of the second half of the leaves only the first `stored` are there: the others
// are 0/1.

// The layer of half entries above the leaves: entry i is the sum of the leaves
// i and half + i.
KERNEL __launch_bounds__(256) logup_first_layer(qm31 *num, qm31 *den, const u32 *leaf_num, const qm31 *leaf_den, u64 half, u64 stored)
{
    for (u64 i = thread_index(); i < half; i += thread_count()) {
        qm31 d0 = leaf_den[i];
        if (i >= stored) {
            num[i] = {leaf_num[i], 0, 0, 0};
            den[i] = d0;
            continue;
        }
        qm31 d1 = leaf_den[half + i];
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

// The layers of half entries and fewer, one after the other, in one block.
KERNEL __launch_bounds__(512) logup_top(qm31 *num, qm31 *den, u64 half)
{
    for (u64 h = half; h >= 1; h /= 2) {
        for (u64 i = threadIdx.x; i < h; i += blockDim.x) {
            qm31 d0 = den[2 * h + i];
            qm31_factor d1 = qm31_prepare(den[3 * h + i]);
            num[h + i] = qm31_add(qm31_mul(num[2 * h + i], d1), qm31_mul(num[3 * h + i], d0));
            den[h + i] = qm31_mul(d0, d1);
        }
        __syncthreads();
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
KERNEL __launch_bounds__(256) logup_first_round(u64 *sums, u64 *box, u64 *done, qm31 *num, const qm31 *den, u64 vars,
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
    result_buffer{box, done}.send(sums, 8);
}

// A later round, of 2^log_pairs pairs: binds the variable of the round before
// to r in all tables, which keep their beginnings. Of n1 and d1 only the first
// `stored` entries are there: the others are λ and 1.
KERNEL __launch_bounds__(256) logup_round(u64 *sums, u64 *box, u64 *done, qm31 *n0, qm31 *n1, qm31 *d0, qm31 *d1, u64 log_pairs,
                                          const qm31 *outer, const qm31 *inner, u64 inner_eq, u64 r_low, u64 r_high, u64 l_low, u64 l_high,
                                          u64 stored)
{
    u64 pairs = (u64)1 << log_pairs;
    weights w = weights_of(outer, inner, (u32)inner_eq, (u32)log_pairs, (u32)log_pairs);
    qm31_factor r = qm31_prepare(qm31_unpack(r_low, r_high));
    qm31 lambda = qm31_unpack(l_low, l_high);
    weighted_sums(sums, pairs, w, [&](u64 x, qm31 &zero, qm31 &top) {
        if (x >= stored) {
#pragma unroll
            for (int h = 0; h < 2; h++) {
                u64 i = x + h * pairs, j = i + 2 * pairs;
                qm31 n = qm31_lerp(n0[i], n0[j], r), d = qm31_lerp(d0[i], d0[j], r);
                n0[i] = n;
                d0[i] = d;
                if (h == 0)
                    zero = qm31_add(n, qm31_mul(d, lambda));
            }
            top = qm31_zero();
            return;
        }
        pair p;
        qm31 m0[2], m1[2], e0[2], e1[2]; // where the bound variable is 1
#pragma unroll
        for (int h = 0; h < 2; h++) {
            u64 i = x + h * pairs, j = i + 2 * pairs;
            p.n0[h] = n0[i];
            m0[h] = n0[j];
            p.n1[h] = i < stored ? n1[i] : lambda;
            m1[h] = j < stored ? n1[j] : lambda;
            p.d0[h] = d0[i];
            e0[h] = d0[j];
            p.d1[h] = i < stored ? d1[i] : qm31_one();
            e1[h] = j < stored ? d1[j] : qm31_one();
        }
#pragma unroll
        for (int h = 0; h < 2; h++) {
            u64 i = x + h * pairs;
            n0[i] = p.n0[h] = qm31_lerp(p.n0[h], m0[h], r);
            d0[i] = p.d0[h] = qm31_lerp(p.d0[h], e0[h], r);
            p.n1[h] = qm31_lerp(p.n1[h], m1[h], r);
            p.d1[h] = qm31_lerp(p.d1[h], e1[h], r);
            if (i < stored) {
                n1[i] = p.n1[h];
                d1[i] = p.d1[h];
            }
        }
        p.products(zero, top);
    });
    result_buffer{box, done}.send(sums, 8);
}

// A table of a layer: n0, n1, d0 or d1. Of n1 and d1 only the first entries may be there: the others
// are λ and 1.
struct layer_table {
    qm31 *t;
    u64 there;
    qm31 absent;

    // Entry i of m that are left with the first variables bound.
    template <u32 folds>
    __device__ __forceinline__ qm31 at(u64 i, u64 m, const challenges &r) const
    {
        return bound_of<folds>([&](u64 j) { return j < there ? t[j] : absent; }, i, m, r);
    }

    __device__ __forceinline__ void set(u64 i, qm31 v) const
    {
        if (i < there)
            t[i] = v;
    }
};

// Table k of the four in this order.
DEVICE layer_table table_of(u32 k, qm31 *n0, qm31 *n1, qm31 *d0, qm31 *d1, u64 stored, qm31 lambda)
{
    qm31 *t = k == 0 ? n0 : k == 1 ? n1 : k == 2 ? d0 : d1;
    return {t, k % 2 ? stored : ~(u64)0, k == 1 ? lambda : qm31_one()};
}

// Two rounds at once (sumcheck_two_rounds), with 16 lanes for a quad: each makes one of the 16
// entries, and then one of the products n0·d1 and n1·d0. There are no challenges in the first round
// alone, where λ·d1 is added to n1.
template <u32 folds>
DEVICE void two_layer_rounds(u64 *sum, const layer_table &t, const qm31 *d1, qm31 lambda, u64 quads, const weights &w, const challenges &r)
{
    const bool is_n1 = threadIdx.x % 16 / 4 == 1;
    const u32 half = threadIdx.x % 16 / 8;
    qm31_sum s = {0, 0, 0, 0};
#pragma unroll 1
    for (u64 from = first_term(16); from < quads; from += terms_at_once(16)) {
        u64 x = from + threadIdx.x % 32 / 16;
        qm31 v = qm31_zero();
        if (x < quads) {
            u64 i = x + threadIdx.x % 4 * quads;
            v = t.at<folds>(i, 4 * quads, r);
            if (folds == 0 && is_n1)
                v = qm31_add(v, qm31_mul(d1[i], lambda));
            if (folds > 0 || is_n1)
                t.set(i, v);
        }
        qm31 f = grid_value(v, 4 * half, 16), g = grid_value(v, 12 - 4 * half, 16);
        if (x >= quads)
            continue;
        if (w.none())
            s.add(f, qm31_prepare(g));
        else
            s.add(qm31_mul(f, g), qm31_prepare(w.at(x)));
    }
    lane_sums(sum, s.value());
}

// Two rounds at once, the second of which has 2^log_quads pairs: binds the variables of the rounds
// before to the pending challenges in all tables, which keep their beginnings. To the 32 words at
// sums are added those of TwoRounds, with the weights of the variables after the two.
KERNEL __launch_bounds__(256) logup_two_rounds(u64 *sums, u64 *box, u64 *done, qm31 *n0, qm31 *n1, qm31 *d0, qm31 *d1, u64 log_quads,
                                               const qm31 *outer, const qm31 *inner, u64 inner_eq, u64 l_low, u64 l_high, u64 stored, u64 pending,
                                               u64 w0_low, u64 w0_high, u64 w1_low, u64 w1_high, u64 w2_low, u64 w2_high)
{
    weights w = weights_of(outer, inner, (u32)inner_eq, (u32)log_quads, (u32)log_quads);
    qm31 lambda = qm31_unpack(l_low, l_high);
    layer_table t = table_of(threadIdx.x % 16 / 4, n0, n1, d0, d1, stored, lambda);
    u64 quads = (u64)1 << log_quads;
    challenges r = taken(w0_low, w0_high, w1_low, w1_high, w2_low, w2_high);
    switch (pending) {
    case 0:
        two_layer_rounds<0>(sums, t, d1, lambda, quads, w, r);
        break;
    case 1:
        two_layer_rounds<1>(sums, t, d1, lambda, quads, w, r);
        break;
    default:
        two_layer_rounds<2>(sums, t, d1, lambda, quads, w, r);
    }
    result_buffer{box, done}.send(sums, 32);
}

// The first round of the last layer, of 2^vars entries, from the leaves.
KERNEL __launch_bounds__(256) logup_first_leaf_round(u64 *sums, u64 *box, u64 *done, const u32 *num, const qm31 *den, u64 vars,
                                                     const qm31 *outer, const qm31 *inner, u64 inner_eq, u64 l_low, u64 l_high,
                                                     u64 stored)
{
    u64 half = (u64)1 << vars, pairs = half / 2;
    weights w = weights_of(outer, inner, (u32)inner_eq, (u32)vars - 1, (u32)vars - 1);
    qm31 lambda = qm31_unpack(l_low, l_high);
    // With numerators of the base field, n0·d1 + n1·d0 takes four products of a
    // base element, and λ·d0·d1 the only ones in K.
    weighted_sums(sums, pairs, w, [&](u64 x, qm31 &zero, qm31 &top) {
        u32 n00 = num[x];
        qm31 d00 = den[x];
        if (x >= stored) {
            zero = qm31_mul(d00, lambda);
            zero.a = m31_add(zero.a, n00);
            top = qm31_zero();
            return;
        }
        bool both = x + pairs < stored;
        u32 n01 = num[x + pairs], n10 = num[half + x], n11 = both ? num[half + x + pairs] : 0;
        qm31 d01 = den[x + pairs], d10 = den[half + x], d11 = both ? den[half + x + pairs] : qm31_one();
        zero = qm31_add(qm31_add(qm31_mul_m31(d10, n00), qm31_mul_m31(d00, n10)), qm31_mul(qm31_mul(d00, d10), lambda));
        qm31 s0 = qm31_sub(d01, d00), s1 = qm31_sub(d11, d10);
        top = qm31_add(qm31_add(qm31_mul_m31(s1, m31_sub(n01, n00)), qm31_mul_m31(s0, m31_sub(n11, n10))), qm31_mul(qm31_mul(s0, s1), lambda));
    });
    result_buffer{box, done}.send(sums, 8);
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
KERNEL __launch_bounds__(256) logup_second_leaf_round(u64 *sums, u64 *box, u64 *done, qm31 *n0, qm31 *n1, const u32 *num, qm31 *den,
                                                      u64 log_pairs, const qm31 *outer, const qm31 *inner, u64 inner_eq, u64 r_low, u64 r_high,
                                                      u64 l_low, u64 l_high, u64 stored)
{
    u64 pairs = (u64)1 << log_pairs, quarter = 2 * pairs;
    weights w = weights_of(outer, inner, (u32)inner_eq, (u32)log_pairs, (u32)log_pairs);
    qm31 rv = qm31_unpack(r_low, r_high), lv = qm31_unpack(l_low, l_high);
    qm31_factor r = qm31_prepare(rv), lambda = qm31_prepare(lv);
    weighted_sums(sums, pairs, w, [&](u64 x, qm31 &zero, qm31 &top) {
        if (x >= stored) {
#pragma unroll
            for (int h = 0; h < 2; h++) {
                u64 i = x + h * pairs;
                qm31 n = lerp_m31(num[i], num[quarter + i], rv), d = qm31_lerp(den[i], den[quarter + i], r);
                n0[i] = n;
                den[i] = d;
                if (h == 0)
                    zero = qm31_add(n, qm31_mul(d, lambda));
            }
            top = qm31_zero();
            return;
        }
        pair p;
        u32 n[4][2];
        qm31 d[4][2];
#pragma unroll
        for (int h = 0; h < 2; h++) {
#pragma unroll
            for (int q = 0; q < 4; q++) {
                u64 i = q * quarter + x + h * pairs;
                bool in = i < 2 * quarter + stored;
                n[q][h] = in ? num[i] : 0;
                d[q][h] = in ? den[i] : qm31_one();
            }
        }
#pragma unroll
        for (int h = 0; h < 2; h++) {
            u64 i = x + h * pairs;
            n0[i] = p.n0[h] = lerp_m31(n[0][h], n[1][h], rv);
            den[i] = p.d0[h] = qm31_lerp(d[0][h], d[1][h], r);
            p.d1[h] = qm31_lerp(d[2][h], d[3][h], r);
            p.n1[h] = qm31_add(lerp_m31(n[2][h], n[3][h], rv), qm31_mul(p.d1[h], lambda));
            if (i < stored) {
                // What this overwrites nobody else reads.
                den[quarter + i] = p.d1[h];
                n1[i] = p.n1[h];
            }
        }
        p.products(zero, top);
    });
    result_buffer{box, done}.send(sums, 8);
}

// Binds the first variables of four tables to the pending challenges, one or two, and writes what is
// left of them to out, one after the other: `size` entries each. To out n1 goes without λ·d1.
KERNEL logup_rest(qm31 *out, qm31 *n0, qm31 *n1, qm31 *d0, qm31 *d1, u64 size, u64 l_low, u64 l_high,
                  u64 stored, u64 pending, u64 w0_low, u64 w0_high, u64 w1_low, u64 w1_high, u64 w2_low, u64 w2_high)
{
    qm31 lambda = qm31_unpack(l_low, l_high);
    challenges r = taken(w0_low, w0_high, w1_low, w1_high, w2_low, w2_high);
    auto at = [&](u32 k, u64 i) {
        layer_table t = table_of(k, n0, n1, d0, d1, stored, lambda);
        return pending == 1 ? t.at<1>(i, size, r) : t.at<2>(i, size, r);
    };
    for (u64 x = thread_index(); x < 4 * size; x += thread_count()) {
        u32 k = (u32)(x / size);
        u64 i = x % size;
        qm31 v = at(k, i);
        if (k == 1)
            v = qm31_sub(v, qm31_mul(at(3, i), lambda));
        out[x] = v;
    }
}

// The column key + β·out of a look-up step as rows of `columns` entries, of which `parts` lists
// with weights are added up: part p are the entries of order up to ends[p]. outs may be null.
struct row_job {
    u64 first; // the first of its blocks
    const void *keys, *outs;
    u64 keys_width, outs_width, columns, parts;
    const u32 *order;
    const u64 *ends;
    const qm31 *weights;
    u64 out, none; // the first of its sums; an element is aligned
    qm31 beta;
};

// The sums of all jobs: a block for each row and part, which are at out[parts·row + part] of a job.
KERNEL __launch_bounds__(128) logup_row_sums(qm31 *out, const row_job *jobs, u64 njobs)
{
    const row_job &job = job_of(jobs, njobs, blockIdx.x);
    const u64 block = blockIdx.x - job.first, row = block / job.parts, part = block % job.parts;
    const u64 end = job.ends[part];
    qm31 key = qm31_zero(), value = qm31_zero();
    for (u64 k = (part ? job.ends[part - 1] : 0) + threadIdx.x; k < end; k += blockDim.x) {
        u64 i = row * job.columns + job.order[k];
        qm31 w = job.weights[k];
        key = qm31_add(key, qm31_mul_m31(w, m31_from_i32(entry(job.keys, job.keys_width, i))));
        if (job.outs)
            value = qm31_add(value, qm31_mul_m31(w, m31_from_i32(entry(job.outs, job.outs_width, i))));
    }
    __shared__ qm31 sums[4];
    qm31 v = warp_sum(qm31_add(key, qm31_mul(job.beta, value)));
    if (threadIdx.x % 32 == 0)
        sums[threadIdx.x / 32] = v;
    __syncthreads();
    if (threadIdx.x == 0) {
        for (u32 i = 1; i < blockDim.x / 32; i++)
            v = qm31_add(v, sums[i]);
        out[job.out + block] = v;
    }
}

// The column key + β·out of a look-up step as rows of `columns` entries, with the weights of
// rows, and these times β. outs may be null.
struct column_job {
    u64 first; // the first of its blocks
    const void *keys, *outs;
    u64 keys_width, outs_width, rows, columns;
    u64 chunk; // rows of a block
    const qm31 *weights, *scaled;
    u64 out; // the first of its sums
};

#define COLUMNS 256

// Adds the products of weights and four columns of some rows.
template <class T>
DEVICE void add_rows(i64 (&acc)[4][4], const void *values, const qm31 *weights, u64 from, u64 to, u64 columns, u64 column)
{
    const T *row = static_cast<const T *>(values) + from * columns;
    bool vector = columns % 4 == 0;
    for (u64 r = from; r < to; r++, row += columns) {
        qm31 w = weights[r];
        four<T> v = load_four(row, column, columns, vector);
        for (u32 i = 0; i < 4; i++)
            add_products(acc[i], w, v.v[i]);
    }
}

DEVICE void add_rows(i64 (&acc)[4][4], const void *values, u64 width, const qm31 *weights, u64 from, u64 to, u64 columns, u64 column)
{
    if (width == 1)
        add_rows<i8>(acc, values, weights, from, to, columns, column);
    else if (width == 2)
        add_rows<i16>(acc, values, weights, from, to, columns, column);
    else
        add_rows<i32>(acc, values, weights, from, to, columns, column);
}

// Adds the sums of all columns of the jobs to sums, four words each: COLUMNS columns and
// `chunk` rows a block, four columns a thread.
KERNEL __launch_bounds__(64) logup_column_sums(u64 *sums, const column_job *jobs, u64 njobs)
{
    const column_job &job = job_of(jobs, njobs, blockIdx.x);
    const u64 block = blockIdx.x - job.first, pieces = (job.columns + COLUMNS - 1) / COLUMNS;
    const u64 column = block % pieces * COLUMNS + 4 * threadIdx.x;
    if (column >= job.columns)
        return;
    const u64 from = block / pieces * job.chunk, to = min(from + job.chunk, job.rows);
    i64 acc[4][4] = {};
    add_rows(acc, job.keys, job.keys_width, job.weights, from, to, job.columns, column);
    if (job.outs)
        add_rows(acc, job.outs, job.outs_width, job.scaled, from, to, job.columns, column);
    u64 *at = sums + 4 * (job.out + column);
    for (u32 i = 0; i < 4 && column + i < job.columns; i++)
        for (u32 limb = 0; limb < 4; limb++)
            atomicAdd(at + 4 * i + limb, (u64)m31_from_i64(acc[i][limb]));
}
