// Tables of an opening, package whir.
#include "longparts.cuh"
#include "stack.cuh"
#include "sum.cuh"
#include "weights.cuh"

#define PACKED 4096 // entries that a block of pack_stack takes

// pack_stack sets dst to n entries of a stack, from entry `from` on.
KERNEL __launch_bounds__(256) pack_stack(i32 *dst, u64 n, u64 from, const u64 *offsets, const stack_block *blocks, u64 count, const stack_axis *axes)
{
    __shared__ u32 in;
    u64 first = (u64)PACKED * blockIdx.x, end = min(n, first + PACKED);
    if (threadIdx.x == 0) in = stack_block_with(from + first, end - first, offsets, count);
    __syncthreads();
    for (u64 i = first + 4 * threadIdx.x; i < end; i += 4 * blockDim.x) {
        if (from % 4 != 0 || end - i < 4) {
            for (u64 j = i; j < min(end, i + 4); j++) dst[j] = stack_value(from + j, offsets, blocks, count, axes);
            continue;
        }
        i32 v[4];
        stack_four(v, from + i, in, offsets, blocks, count, axes);
        *(int4 *)(dst + i) = make_int4(v[0], v[1], v[2], v[3]);
    }
}

// Adds the block's sum of v to the four words at sum, as block_sums does.
DEVICE void block_sum(u64 *sum, qm31 v)
{
    __shared__ qm31 part[32];
    u32 lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    v = warp_sum(v);
    if (lane == 0)
        part[warp] = v;
    __syncthreads();
    if (warp > 0)
        return;
    v = warp_sum(lane < blockDim.x / 32 ? part[lane] : qm31_zero());
    if (lane == 0)
        add_to(sum, v);
}

// extend doubles a table of 2^j weights for one more, more significant variable.
DEVICE void extend(qm31 *t, u32 j, qm31 factor, bool eq)
{
    qm31_factor f = qm31_prepare(factor);
    for (u32 i = threadIdx.x; i < 1u << j; i += blockDim.x) {
        qm31 v = qm31_mul(t[i], f);
        t[(1u << j) + i] = v;
        if (eq) t[i] = qm31_sub(t[i], v);
    }
    __syncthreads();
}

// make_weights fills the tables of one weight a block.
KERNEL make_weights(qm31 *tables, const weight_part *parts, const qm31 *factors, u64 eq)
{
    weight_part p = parts[blockIdx.x];
    qm31 *low = tables + p.low, *high = tables + p.high;
    if (threadIdx.x == 0) low[0] = high[0] = qm31_one();
    __syncthreads();
    u32 l = low_vars(p.vars);
    for (u32 j = 0; j < p.vars; j++) {
        qm31 f = factors[p.factors + j];
        if (j < l) {
            extend(low, j, f, eq != 0);
        } else {
            extend(high, j - l, f, eq != 0);
        }
    }
}

// A block takes 2^LOW·PIECE indexes of a weight: every thread one lower index,
// and PIECE upper ones.
#define PIECE 32

// A dot_job is the sum of every 2^stride-th entry of a row from a column on times a
// weight. The row is of bytes in `width` planes, each `pitch` behind the one before, which lack `bias`
// (bytes.cu).
struct dot_job {
    const i8 *bytes;
    u64 part, stride, width, pitch, bias;
};

// The entry of a dot_job's row that is i bytes on.
DEVICE i64 dot_entry(const dot_job &job, u64 i)
{
    i32 v = (i32)job.bias;
    for (u64 j = 0; j < job.width; j++) v += job.bytes[j * job.pitch + i] * (1 << 8 * j);
    return v;
}

// dots adds the sum of each job to its four words at sums. first[j] is the first
// block of job j; there are count jobs.
KERNEL __launch_bounds__(256) dots(u64 *sums, const u64 *first, const dot_job *jobs, u64 count, const weight_part *parts,
                                                       const qm31 *tables)
{
    u64 j = last_not_after(first, count, blockIdx.x);
    dot_job job = jobs[j];
    weight_part p = parts[job.part];
    u32 l = low_vars(p.vars);
    u64 upper = (u64)1 << (p.vars - l);
    u64 h = (blockIdx.x - first[j]) * PIECE;
    u64 end = min(h + PIECE, upper);
    qm31 sum = qm31_zero();
    if (threadIdx.x < 1u << l) {
        job.bytes += (u64)threadIdx.x << job.stride;
        u64 step = l + job.stride;
        for (; h < end; h += 2) {
            // Two products below 2^61 add up without reduction.
            i64 x = dot_entry(job, h << step), y = 0;
            qm31 w = tables[p.high + h], v = qm31_zero();
            if (h + 1 < end) {
                y = dot_entry(job, (h + 1) << step);
                v = tables[p.high + h + 1];
            }
            sum.a = m31_add(sum.a, m31_from_i64(x * (i64)w.a + y * (i64)v.a));
            sum.b = m31_add(sum.b, m31_from_i64(x * (i64)w.b + y * (i64)v.b));
            sum.c = m31_add(sum.c, m31_from_i64(x * (i64)w.c + y * (i64)v.c));
            sum.d = m31_add(sum.d, m31_from_i64(x * (i64)w.d + y * (i64)v.d));
        }
        sum = qm31_mul(sum, tables[p.low + threadIdx.x]);
    }
    block_sum(sums + 4 * j, sum);
}

// An add_job adds coef times a weight to every 2^stride-th entry of a table from an
// index on.
struct add_job {
    u64 start, part, stride, unused;
    qm31 coef;
};

// add_weights adds the weights of all jobs to q. Jobs do not overlap.
KERNEL __launch_bounds__(256) add_weights(qm31 *q, const u64 *first, const add_job *jobs, u64 count, const weight_part *parts,
                                                              const qm31 *tables)
{
    u64 j = last_not_after(first, count, blockIdx.x);
    add_job job = jobs[j];
    weight_part p = parts[job.part];
    u32 l = low_vars(p.vars);
    if (threadIdx.x >> l) return;
    u64 upper = (u64)1 << (p.vars - l);
    u64 h = (blockIdx.x - first[j]) * PIECE;
    u64 end = min(h + PIECE, upper);
    qm31_factor w = qm31_prepare(qm31_mul(tables[p.low + threadIdx.x], job.coef));
    q += job.start + ((u64)threadIdx.x << job.stride);
    u64 step = l + job.stride;
    for (; h < end; h++) q[h << step] = qm31_add(q[h << step], qm31_mul(tables[p.high + h], w));
}

// fill_rows sets rows of 2^vars elements to the sums of their parts that are not long, or adds these to them. The parts lie in `lists`, those
// of one row behind those of another. A block takes four elements a thread of one row.
KERNEL __launch_bounds__(FOUR_BLOCK) fill_rows(qm31 *out, const u64 *lists, u64 vars, const row_part *all, const weight_part *parts,
                                               const qm31 *tables, u64 add)
{
    u64 size = (u64)1 << vars, blocks = (size + 4 * blockDim.x - 1) / (4 * blockDim.x);
    u64 row = blockIdx.x / blocks, k = (blockIdx.x % blocks * blockDim.x + threadIdx.x) * 4;
    lists += row * part_lists(size);
    u64 near = NEAR_LISTS + (k >> NEAR); // the same for the block
    if (add && lists[FAR_LIST] == lists[FAR_LIST + 1] && lists[near] == lists[near + 1]) return;
    qm31 v[4];
    four_weights(v, k, lists, false, all, parts, tables);
    qm31 *at = out + row * size + k;
    for (u32 j = 0; j < 4 && k + j < size; j++) at[j] = add ? qm31_add(at[j], v[j]) : v[j];
}

// fill_long sets rows of 2^vars elements, at least 2^NEAR, to the sums of their long parts.
KERNEL __launch_bounds__(LONG_BLOCK) fill_long(qm31 *out, const u64 *lists, u64 vars, const row_part *all, const weight_part *parts,
                                               const qm31 *tables)
{
    const u64 blocks = ((u64)1 << (vars - NEAR)) * LONG_TILES, row = blockIdx.x / blocks, tile = blockIdx.x % blocks;
    lists += row * part_lists((u64)1 << vars);
    long_sums s(tile);
    s.add(lists[LONG_LIST], lists[LONG_LIST + 1], all, parts, tables);
    s.put(out + (row << vars));
}

// dot_weight adds the sum of f times the weight of part 0 to the four words at
// sums.
KERNEL __launch_bounds__(256) dot_weight(u64 *sums, const qm31 *f, const weight_part *parts, const qm31 *tables)
{
    weight_part p = parts[0];
    u32 l = low_vars(p.vars);
    u64 upper = (u64)1 << (p.vars - l);
    u64 h = (u64)blockIdx.x * PIECE;
    u64 end = min(h + PIECE, upper);
    qm31 sum = qm31_zero();
    if (threadIdx.x < 1u << l) {
        f += threadIdx.x;
        for (; h < end; h++) sum = qm31_add(sum, qm31_mul(f[h << l], tables[p.high + h]));
        sum = qm31_mul(sum, tables[p.low + threadIdx.x]);
    }
    block_sum(sums, sum);
}

// A point is coef times the functional of evaluation at z, of a row of 2^n values.
struct point {
    qm31 coef;
    u32 z, unused[3];
};

DEVICE u32 double_angle(u32 t)
{
    u32 s = m31_mul(t, t);
    return m31_sub(m31_add(s, s), 1);
}

// make_points fills the tables of the weights of evaluation at one point a block:
// lower[i 2^LOW + b] over the lower index bits, upper[i 2^(n-LOW) + b] over the
// others, with the coefficient.
KERNEL make_points(u32 *lower, qm31 *upper, const point *points, u64 n)
{
    point p = points[blockIdx.x];
    u32 l = low_vars(n);
    lower += (u64)blockIdx.x << l;
    upper += (u64)blockIdx.x << (n - l);
    if (threadIdx.x == 0) {
        lower[0] = 1;
        upper[0] = p.coef;
    }
    __syncthreads();
    u32 t = p.z;
    for (u32 j = 0; j < l; j++, t = double_angle(t)) {
        for (u32 i = threadIdx.x; i < 1u << j; i += blockDim.x) lower[(1u << j) + i] = m31_mul(lower[i], t);
        __syncthreads();
    }
    for (u32 j = 0; j < n - l; j++, t = double_angle(t)) {
        for (u32 i = threadIdx.x; i < 1u << j; i += blockDim.x) upper[(1u << j) + i] = qm31_mul_m31(upper[i], t);
        __syncthreads();
    }
}

// Upper indexes a block of add_points takes, so that lower weights are read once
// for all of them.
#define UPPER 4

// add_points adds the weights of count points to the table q of 2^n values.
KERNEL __launch_bounds__(256) add_points(qm31 *q, const u32 *lower, const qm31 *upper, u64 count, u64 n)
{
    u32 l = low_vars(n);
    if (threadIdx.x >> l) return;
    u64 h = (u64)blockIdx.x * UPPER, uppers = (u64)1 << (n - l);
    // Fewer upper indexes than UPPER: the last is done again and not written.
    qm31 sum[UPPER];
#pragma unroll
    for (int k = 0; k < UPPER; k++) sum[k] = qm31_zero();
    for (u64 i = 0; i < count; i++) {
        u32 w = lower[(i << l) + threadIdx.x];
#pragma unroll
        for (int k = 0; k < UPPER; k++) {
            qm31 u = upper[(i << (n - l)) + min(h + k, uppers - 1)];
            sum[k] = qm31_add(sum[k], qm31_mul_m31(u, w));
        }
    }
#pragma unroll
    for (int k = 0; k < UPPER; k++) {
        if (h + k >= uppers) return;
        qm31 *at = q + ((h + k) << l) + threadIdx.x;
        *at = qm31_add(*at, sum[k]);
    }
}

// A finish_dot is a rectangle of sums of products of weights with rows: limb i of the one with
// row h·pitch + l, for h < longs and l < places, is at sums[(h·pitch + l)·target + i·limb].
// To it comes coef times the row's bias, if there are biases.
struct finish_dot {
    const u64 *sums;
    const u32 *biases;
    u32 limb, target, places, pitch;
    u64 column, unused;
    qm31 coef;
};

// finish_dots adds to out[h·columns + column + l] the products of each job. first[j] is the
// first block of job j of count jobs; a thread does one product.
KERNEL finish_dots(qm31 *out, const u64 *first, const finish_dot *jobs, u64 count, u64 longs, u64 columns)
{
    u64 j = last_not_after(first, count, blockIdx.x);
    finish_dot job = jobs[j];
    u64 i = (blockIdx.x - first[j]) * blockDim.x + threadIdx.x;
    if (i >= longs * job.places) return;
    u64 h = i / job.places, l = i % job.places, row = h * job.pitch + l;
    const u64 *sum = job.sums + row * job.target;
    qm31 v = {m31_reduce(sum[0]), m31_reduce(sum[job.limb]), m31_reduce(sum[2 * job.limb]), m31_reduce(sum[3 * job.limb])};
    if (job.biases) v = qm31_add(v, qm31_mul_m31(job.coef, m31_reduce(job.biases[row])));
    qm31 &to = out[h * columns + job.column + l];
    to = qm31_add(to, v);
}

// An element of K and its place.
struct placed {
    u64 at, unused;
    qm31 value;
};

// put_elements sets elements of a table.
KERNEL put_elements(qm31 *out, const placed *all, u64 n)
{
    u64 i = thread_index();
    if (i < n) out[all[i].at] = all[i].value;
}

// add_round adds to sums the value at 0 and behind it the leading coefficient
// of one pair of entries of f and of q.
DEVICE void round_terms(qm31 &zero, qm31 &top, qm31 f0, qm31 f1, qm31 q0, qm31 q1)
{
    zero = qm31_add(zero, qm31_mul(f0, q0));
    top = qm31_add(top, qm31_mul(qm31_sub(f1, f0), qm31_sub(q1, q0)));
}

// pair_round adds to the eight words at sums the value at 0 and the leading
// coefficient of the round polynomial of f and q, of 2h entries each.
KERNEL __launch_bounds__(256) pair_round(u64 *sums, u64 *box, u64 *done, const qm31 *f, const qm31 *q, u64 h)
{
    qm31 zero = qm31_zero(), top = qm31_zero();
    for (u64 i = thread_index(); i < h; i += (u64)gridDim.x * blockDim.x) round_terms(zero, top, f[i], f[i + h], q[i], q[i + h]);
    block_sums(sums, zero, top);
    result_buffer{box, done}.send(sums, 8);
}

// pair_bind binds the first variable of f and q, of 4h entries each, to r, and
// does what pair_round does for the result.
KERNEL __launch_bounds__(256) pair_bind(u64 *sums, u64 *box, u64 *done, qm31 *f, qm31 *q, u64 h, u64 r_low, u64 r_high)
{
    qm31_factor r = qm31_prepare(qm31_unpack(r_low, r_high));
    qm31 zero = qm31_zero(), top = qm31_zero();
    for (u64 i = thread_index(); i < h; i += (u64)gridDim.x * blockDim.x) {
        qm31 f0 = qm31_lerp(f[i], f[i + 2 * h], r), f1 = qm31_lerp(f[i + h], f[i + 3 * h], r);
        qm31 q0 = qm31_lerp(q[i], q[i + 2 * h], r), q1 = qm31_lerp(q[i + h], q[i + 3 * h], r);
        f[i] = f0, f[i + h] = f1;
        q[i] = q0, q[i + h] = q1;
        round_terms(zero, top, f0, f1, q0, q1);
    }
    block_sums(sums, zero, top);
    result_buffer{box, done}.send(sums, 8);
}

// pair_end binds the first variable of f and q, of 2n entries each, to r.
KERNEL __launch_bounds__(256) pair_end(qm31 *f, qm31 *q, u64 n, u64 r_low, u64 r_high)
{
    qm31_factor r = qm31_prepare(qm31_unpack(r_low, r_high));
    for (u64 i = thread_index(); i < n; i += thread_count()) {
        f[i] = qm31_lerp(f[i], f[i + n], r);
        q[i] = qm31_lerp(q[i], q[i + n], r);
    }
}
