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

struct fraction {
    qm31 num, den;
};

DEVICE fraction sum_of(const fraction &x, const fraction &y)
{
    qm31_factor d1 = qm31_prepare(y.den);
    return {qm31_add(qm31_mul(x.num, d1), qm31_mul(y.num, x.den)), qm31_mul(x.den, d1)};
}

// Three layers of a tree at once, of which the largest has `half` entries: a thread makes four of
// its entries from eight below, that are half apart, two of the next and one of the third. Below(i)
// is entry i of the largest, which lies in a heap, as do the others (layer k in entries 2^k … of num
// and den). The largest is not stored if all is false.
template <class F>
DEVICE void three_layers(qm31 *num, qm31 *den, u64 half, bool all, F below)
{
    const u64 n = half / 4;
    auto put = [&](u64 i, const fraction &f) {
        num[i] = f.num;
        den[i] = f.den;
    };
    for (u64 i = thread_index(); i < n; i += thread_count()) {
        fraction f[4];
#pragma unroll
        for (u32 k = 0; k < 4; k++) {
            f[k] = below(k * n + i);
            if (all)
                put(half + k * n + i, f[k]);
        }
#pragma unroll
        for (u32 k = 0; k < 2; k++)
            put(half / 2 + k * n + i, f[k] = sum_of(f[k], f[k + 2]));
        put(n + i, sum_of(f[0], f[1]));
    }
}

// Entry i of the layer of half entries above the leaves: the sum of the leaves i and half + i. Of the second half of the leaves only
// the first `stored` are there: the others are 0/1.
DEVICE fraction of_leaves(const u32 *leaf_num, const qm31 *leaf_den, u64 half, u64 stored, u64 i)
{
    u32 n0 = leaf_num[i];
    qm31 d0 = leaf_den[i];
    if (i >= stored)
        return {qm31_from(n0), d0};
    qm31 d1 = leaf_den[half + i];
    return {qm31_add(qm31_mul_m31(d1, n0), qm31_mul_m31(d0, leaf_num[half + i])), qm31_mul(d0, d1)};
}

// The three layers above the leaves, the largest of half entries, 4 or more, which is stored if all is not 0.
KERNEL __launch_bounds__(256) logup_first_layers(qm31 *num, qm31 *den, const u32 *leaf_num, const qm31 *leaf_den, u64 half, u64 stored, u64 all)
{
    three_layers(num, den, half, all, [&](u64 i) { return of_leaves(leaf_num, leaf_den, half, stored, i); });
}

// The largest of these layers, at the beginning of num and den.
KERNEL __launch_bounds__(256) logup_above_leaves(qm31 *num, qm31 *den, const u32 *leaf_num, const qm31 *leaf_den, u64 half, u64 stored)
{
    for (u64 i = thread_index(); i < half; i += thread_count()) {
        fraction f = of_leaves(leaf_num, leaf_den, half, stored, i);
        num[i] = f.num;
        den[i] = f.den;
    }
}

// The three layers above one of 2·half entries.
KERNEL __launch_bounds__(256) logup_layers(qm31 *num, qm31 *den, u64 half)
{
    three_layers(num, den, half, true, [&](u64 i) {
        const u64 j = 2 * half + i, k = j + half;
        return sum_of({num[j], den[j]}, {num[k], den[k]});
    });
}

// The layers of half entries and fewer, one after the other, in one block.
KERNEL __launch_bounds__(512) logup_top(qm31 *num, qm31 *den, u64 half)
{
    for (u64 h = half; h >= 1; h /= 2) {
        for (u64 i = threadIdx.x; i < h; i += blockDim.x) {
            fraction f = sum_of({num[2 * h + i], den[2 * h + i]}, {num[3 * h + i], den[3 * h + i]});
            num[h + i] = f.num;
            den[h + i] = f.den;
        }
        __syncthreads();
    }
}

// The rounds of a layer's sumcheck go two at a time (LogUpRounds.TwoRounds): with the two variables on
// a grid they add n0·d1 + (n1 + λ·d1)·d0 to the 32 words at sums, as sumcheck_two_rounds does A·B.

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

// With 16 lanes for a quad: each makes one of the 16 entries, and then one of the products n0·d1 and
// n1·d0. If n1 lacks λ·d1, it gets it.
template <u32 folds>
DEVICE void rounds_in_lanes(u64 *sum, const layer_table &t, qm31 lambda, bool lacks, u64 quads, const weights &w, const challenges &r)
{
    const bool is_n1 = threadIdx.x % 16 / 4 == 1;
    const u32 half = threadIdx.x % 16 / 8;
    qm31_sum s = {0, 0, 0, 0};
#pragma unroll 1
    for (u64 from = first_term(16); from < quads; from += terms_at_once(16)) {
        u64 x = from + threadIdx.x % 32 / 16, i = x + threadIdx.x % 4 * quads;
        qm31 v = x < quads ? t.at<folds>(i, 4 * quads, r) : qm31_zero();
        qm31 d1 = from_lane(v, threadIdx.x % 4 + 12, 16);
        if (lacks && is_n1)
            v = qm31_add(v, qm31_mul(d1, lambda));
        if (folds > 0 && x < quads)
            t.set(i, v);
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

// Two rounds of a layer in K, the second of which has 2^log_quads pairs, few of them: binds the
// variables of the two rounds before to the pending challenges, if there are any, in all tables, which
// keep their beginnings. The sums have the weights of the variables after the two. N1 lacks λ·d1 before
// the first binding.
KERNEL __launch_bounds__(256) logup_rounds_in_lanes(u64 *sums, u64 *box, u64 *done, qm31 *n0, qm31 *n1, qm31 *d0, qm31 *d1, u64 log_quads,
                                                    const qm31 *outer, const qm31 *inner, u64 inner_eq, u64 l_low, u64 l_high, u64 stored,
                                                    u64 lacks, u64 pending, u64 w0_low, u64 w0_high, u64 w1_low, u64 w1_high, u64 w2_low, u64 w2_high)
{
    weights w = weights_of(outer, inner, (u32)inner_eq, (u32)log_quads, (u32)log_quads);
    qm31 lambda = qm31_unpack(l_low, l_high);
    layer_table t = table_of(threadIdx.x % 16 / 4, n0, n1, d0, d1, stored, lambda);
    u64 quads = (u64)1 << log_quads;
    challenges r = taken(w0_low, w0_high, w1_low, w1_high, w2_low, w2_high);
    if (pending)
        rounds_in_lanes<2>(sums, t, lambda, lacks, quads, w, r);
    else
        rounds_in_lanes<0>(sums, t, lambda, lacks, quads, w, r);
    result_buffer{box, done}.send(sums, 32);
}

// The same rounds with a thread for each quad.
template <u32 folds>
DEVICE void wide_rounds(u64 *sum, qm31 *n0, qm31 *n1, qm31 *d0, qm31 *d1, u64 stored, qm31 lambda, bool lacks, u64 quads, const weights &w,
                        const challenges &r)
{
    qm31_sum s[8] = {};
#pragma unroll 1
    for (u64 x = thread_index(); x < quads; x += thread_count()) {
        const qm31_factor e = qm31_prepare(w.at(x));
        // n0·d1 and n1·d0: not unrolled, so that the code fits the processor's cache.
#pragma unroll 1
        for (u32 h = 0; h < 2; h++) {
            const layer_table num = table_of(h, n0, n1, d0, d1, stored, lambda), den = table_of(3 - h, n0, n1, d0, d1, stored, lambda);
            qm31 n[4], d[4];
#pragma unroll
            for (u32 j = 0; j < 4; j++) {
                n[j] = num.at<folds>(x + j * quads, 4 * quads, r);
                d[j] = den.at<folds>(x + j * quads, 4 * quads, r);
            }
#pragma unroll
            for (u32 j = 0; j < 4; j++) {
                u64 i = x + j * quads;
                if (lacks && h == 1) // that of d1 has been written, or not changed
                    n[j] = qm31_add(n[j], qm31_mul(lambda, table_of(3, n0, n1, d0, d1, stored, lambda).at<0>(i, 0, r)));
                if (folds > 0) {
                    num.set(i, n[j]);
                    den.set(i, d[j]);
                }
                d[j] = qm31_mul(d[j], e); // the weight of all products with it
            }
            add_grid(s, n, d);
        }
    }
    add_sums(sum, s);
}

// logup_rounds_in_lanes for many quads.
KERNEL __launch_bounds__(128, 3) logup_rounds(u64 *sums, u64 *box, u64 *done, qm31 *n0, qm31 *n1, qm31 *d0, qm31 *d1, u64 log_quads,
                                              const qm31 *outer, const qm31 *inner, u64 inner_eq, u64 l_low, u64 l_high, u64 stored,
                                              u64 lacks, u64 pending, u64 w0_low, u64 w0_high, u64 w1_low, u64 w1_high, u64 w2_low, u64 w2_high)
{
    weights w = weights_of(outer, inner, (u32)inner_eq, (u32)log_quads, (u32)log_quads);
    qm31 lambda = qm31_unpack(l_low, l_high);
    u64 quads = (u64)1 << log_quads;
    challenges r = taken(w0_low, w0_high, w1_low, w1_high, w2_low, w2_high);
    if (pending)
        wide_rounds<2>(sums, n0, n1, d0, d1, stored, lambda, lacks, quads, w, r);
    else
        wide_rounds<0>(sums, n0, n1, d0, d1, stored, lambda, lacks, quads, w, r);
    result_buffer{box, done}.send(sums, 32);
}

// The leaves as the last layer's tables: entry i of n0 and d0 is that of leaf i, of n1 and d1 that of
// leaf half + i, of which only the first `stored` are there: the others are 0/1.
struct leaf_table {
    const u32 *nums;
    const qm31 *dens;
    u64 half, stored;

    __device__ __forceinline__ u32 num(u32 h, u64 i) const { return h == 0 ? nums[i] : i < stored ? nums[half + i] : 0; }
    __device__ __forceinline__ qm31 den(u32 h, u64 i) const { return h == 0 ? dens[i] : i < stored ? dens[half + i] : qm31_one(); }
};

// Two rounds from the leaves: the first two, or the next, which bind the first variables and write
// what is left to n0, n1 with λ·d1, d0 and d1. Look-ups have the numerators 1. Where n0 is 1, with
// c = 1/λ (0 if λ is),
//   d1 + (n1 + λ·d1)·d0 = (n1 + λ·d1)·(d0 + c) − c·n1,
// half as many products; c·n1 has no leading coefficients.
template <u32 folds>
DEVICE void leaf_rounds(u64 *sum, qm31 *n0, qm31 *n1, qm31 *d0, qm31 *d1, const leaf_table &t, qm31 lambda, qm31 c, u64 quads, const weights &w,
                        const challenges &r)
{
    const u64 m = 4 * quads;
    auto num = [&](u32 h, u64 i) { return bound_of<folds>([&](u64 j) { return qm31_from(t.num(h, j)); }, i, m, r); };
    auto den = [&](u32 h, u64 i) { return bound_of<folds>([&](u64 j) { return t.den(h, j); }, i, m, r); };
    const bool shifts = c.a | c.b | c.c | c.d;
    qm31_sum s[8] = {};
    qm31 shifted[3] = {}; // the sums of weights times n1 that c takes away
#pragma unroll 1
    for (u64 x = thread_index(); x < quads; x += thread_count()) {
        const qm31_factor e = qm31_prepare(w.at(x));
        qm31 u[4], v[4];
        u32 others = 0; // bits of n0 that are not those of 1
#pragma unroll
        for (u32 j = 0; j < 4 << folds; j++)
            others |= t.num(0, x + j * quads) ^ 1;
        if (shifts && others == 0) {
#pragma unroll
            for (u32 j = 0; j < 4; j++) {
                u64 i = x + j * quads;
                qm31 zero = den(0, i), one = den(1, i), n = num(1, i);
                u[j] = qm31_add(zero, c);
                v[j] = qm31_add(n, qm31_mul(lambda, one));
                if (folds > 0) {
                    n0[i] = qm31_one();
                    d0[i] = zero;
                    if (i < t.stored) {
                        n1[i] = v[j];
                        d1[i] = one;
                    }
                }
                v[j] = qm31_mul(v[j], e);
                if (j < 3)
                    shifted[j] = qm31_add(shifted[j], qm31_mul(n, e));
            }
            add_grid(s, u, v);
            continue;
        }
#pragma unroll 1
        for (u32 h = 0; h < 2; h++) {
#pragma unroll
            for (u32 j = 0; j < 4; j++) {
                u64 i = x + j * quads;
                u[j] = num(h, i);
                v[j] = den(1 - h, i);
                if (h == 1)
                    u[j] = qm31_add(u[j], qm31_mul(lambda, folds == 0 ? t.den(1, i) : i < t.stored ? d1[i] : qm31_one()));
                if (folds > 0 && (h == 0 || i < t.stored))
                    (h == 0 ? n0 : n1)[i] = u[j];
                if (folds > 0 && (h == 1 || i < t.stored))
                    (h == 0 ? d1 : d0)[i] = v[j];
                v[j] = qm31_mul(v[j], e);
            }
            add_grid(s, u, v);
        }
    }
#pragma unroll
    for (u32 j = 0; j < 3; j++)
        s[j].add(qm31_neg(shifted[j]), qm31_prepare(c));
    add_sums(sum, s);
}

// The same rounds of the last layer, of `half` entries, from the leaves. The tables that are written have
// 4·2^log_quads entries each; d0 and d1 may begin where the denominators of the two halves do.
KERNEL __launch_bounds__(128, 3) logup_leaf_rounds(u64 *sums, u64 *box, u64 *done, qm31 *n0, qm31 *n1, qm31 *d0, qm31 *d1, u64 log_quads,
                                                   const qm31 *outer, const qm31 *inner, u64 inner_eq, u64 l_low, u64 l_high, u64 stored,
                                                   u64, u64 pending, u64 w0_low, u64 w0_high, u64 w1_low, u64 w1_high, u64 w2_low, u64 w2_high,
                                                   const u32 *nums, const qm31 *dens, u64 half, u64 c_low, u64 c_high)
{
    weights w = weights_of(outer, inner, (u32)inner_eq, (u32)log_quads, (u32)log_quads);
    qm31 lambda = qm31_unpack(l_low, l_high), c = qm31_unpack(c_low, c_high);
    u64 quads = (u64)1 << log_quads;
    challenges r = taken(w0_low, w0_high, w1_low, w1_high, w2_low, w2_high);
    const leaf_table t = {nums, dens, half, stored};
    if (pending)
        leaf_rounds<2>(sums, n0, n1, d0, d1, t, lambda, c, quads, w, r);
    else
        leaf_rounds<0>(sums, n0, n1, d0, d1, t, lambda, c, quads, w, r);
    result_buffer{box, done}.send(sums, 32);
}

// Binds the first two variables of four tables to the pending challenges and writes what is left of
// them to out, one after the other: `size` entries each. To out n1 goes without λ·d1.
KERNEL logup_rest(qm31 *out, qm31 *n0, qm31 *n1, qm31 *d0, qm31 *d1, u64 size, u64 l_low, u64 l_high,
                  u64 stored, u64, u64 w0_low, u64 w0_high, u64 w1_low, u64 w1_high, u64 w2_low, u64 w2_high)
{
    qm31 lambda = qm31_unpack(l_low, l_high);
    challenges r = taken(w0_low, w0_high, w1_low, w1_high, w2_low, w2_high);
    auto at = [&](u32 k, u64 i) {
        return table_of(k, n0, n1, d0, d1, stored, lambda).at<2>(i, size, r);
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
    add_rows(acc, job.keys, job.keys_width, job.weights, from, to, 1, job.columns, column);
    if (job.outs)
        add_rows(acc, job.outs, job.outs_width, job.scaled, from, to, 1, job.columns, column);
    u64 *at = sums + 4 * (job.out + column);
    for (u32 i = 0; i < 4 && column + i < job.columns; i++)
        for (u32 limb = 0; limb < 4; limb++)
            atomicAdd(at + 4 * i + limb, (u64)m31_from_i64(acc[i][limb]));
}
