// Binding axes of integer tensors to weights in K, in one pass over the tensor:
//
//	out[p][s] = Σ_d w[d]·in[p][d][s]
//
// for a dense tensor in with the bound axes in the middle. What several blocks
// add to is kept as words (see add_to) until restrict_finish.
#include "axes.cuh"
#include "mma.cuh"
#include "products.cuh"
#include "sum.cuh"

// Lanes that differ in one bit exchange halves of 2·half values each and add
// what they get, until each has the warp's sum of one value.
template <u32 half>
DEVICE void exchange(u32 *v, u32 lane)
{
    bool upper = lane & half;
#pragma unroll
    for (u32 i = 0; i < half; i++) {
        u32 mine = upper ? v[i + half] : v[i], other = upper ? v[i] : v[i + half];
        v[i] = m31_add(mine, __shfl_xor_sync(~0u, other, half));
    }
    if constexpr (half > 1)
        exchange<half / 2>(v, lane);
}

#define ROWS 8

// No axes behind the bound ones: the sums of ROWS rows, those of block x, over
// part y of a row, of `chunk` entries.
template <class T>
DEVICE void restrict_rows(u64 *sums, const T *in, const qm31 *w, u64 rows, u64 n, u64 chunk, u64 x, u64 y)
{
    u64 first = x * ROWS, end = min(n, (y + 1) * chunk);
    i64 acc[ROWS][4] = {};
    bool vector = n % 4 == 0;
    for (u64 k = y * chunk + 4 * threadIdx.x; k < end; k += 4 * blockDim.x) {
        qm31 weight[4];
        for (u32 i = 0; i < 4; i++)
            weight[i] = k + i < n ? w[k + i] : qm31_zero();
#pragma unroll
        for (u32 r = 0; r < ROWS; r++) {
            if (first + r >= rows)
                break;
            four<T> v = load_four(in + (first + r) * n, k, n, vector);
            for (u32 i = 0; i < 4; i++)
                add_products(acc[r], weight[i], v.v[i]);
        }
    }
    u32 v[4 * ROWS], lane = threadIdx.x % 32;
#pragma unroll
    for (u32 i = 0; i < 4 * ROWS; i++)
        v[i] = m31_from_i64(acc[i / 4][i % 4]);
    exchange<16>(v, lane);
    if (first + lane / 4 < rows)
        atomicAdd(sums + 4 * first + lane, (u64)v[0]);
}

KERNEL __launch_bounds__(256) restrict_rows_i8(u64 *sums, const i8 *in, const qm31 *w, u64 rows, u64 n, u64 chunk)
{
    restrict_rows(sums, in, w, rows, n, chunk, blockIdx.x, blockIdx.y);
}

KERNEL __launch_bounds__(256) restrict_rows_i16(u64 *sums, const i16 *in, const qm31 *w, u64 rows, u64 n, u64 chunk)
{
    restrict_rows(sums, in, w, rows, n, chunk, blockIdx.x, blockIdx.y);
}

KERNEL __launch_bounds__(256) restrict_rows_i32(u64 *sums, const i32 *in, const qm31 *w, u64 rows, u64 n, u64 chunk)
{
    restrict_rows(sums, in, w, rows, n, chunk, blockIdx.x, blockIdx.y);
}

// Axes of s > 1 entries behind the bound ones: four outputs a thread of block x,
// over part y of the bound index. outer is the size of the axes in front.
template <class T>
DEVICE void restrict_columns(u64 *sums, const T *in, const qm31 *w, u64 outer, u64 n, u64 s, u64 chunk, u64 x, u64 y)
{
    u64 pieces = (s + 3) / 4;
    u64 at = x * blockDim.x + threadIdx.x;
    if (at >= outer * pieces)
        return;
    u64 p = at / pieces, column = at % pieces * 4;
    i64 acc[4][4] = {};
    bool vector = s % 4 == 0;
    const T *row = in + p * n * s;
    for (u64 d = y * chunk; d < min(n, (y + 1) * chunk); d++) {
        qm31 weight = w[d];
        four<T> v = load_four(row + d * s, column, s, vector);
        for (u32 i = 0; i < 4; i++)
            add_products(acc[i], weight, v.v[i]);
    }
    u64 *to = sums + 4 * (p * s + column);
    for (u32 i = 0; i < 4 && column + i < s; i++)
        for (u32 limb = 0; limb < 4; limb++)
            atomicAdd(to + 4 * i + limb, (u64)m31_from_i64(acc[i][limb]));
}

KERNEL __launch_bounds__(256) restrict_columns_i8(u64 *sums, const i8 *in, const qm31 *w, u64 outer, u64 n, u64 s, u64 chunk)
{
    restrict_columns(sums, in, w, outer, n, s, chunk, blockIdx.x, blockIdx.y);
}

KERNEL __launch_bounds__(256) restrict_columns_i16(u64 *sums, const i16 *in, const qm31 *w, u64 outer, u64 n, u64 s, u64 chunk)
{
    restrict_columns(sums, in, w, outer, n, s, chunk, blockIdx.x, blockIdx.y);
}

KERNEL __launch_bounds__(256) restrict_columns_i32(u64 *sums, const i32 *in, const qm31 *w, u64 outer, u64 n, u64 s, u64 chunk)
{
    restrict_columns(sums, in, w, outer, n, s, chunk, blockIdx.x, blockIdx.y);
}

// One of many tensors of entries of `width` bytes, each with its own sums: parts of
// the bound index, of `chunk` entries, each `blocks` blocks wide.
struct restrict_job {
    u64 first; // the first of its blocks
    u64 *sums;
    const void *in;
    const qm31 *w;
    u64 width, outer, n, s, chunk, blocks;
};

template <class T>
DEVICE void restrict_part(const restrict_job &job, u64 block)
{
    const T *in = (const T *)job.in;
    u64 x = block % job.blocks, y = block / job.blocks;
    if (job.s == 1)
        restrict_rows(job.sums, in, job.w, job.outer, job.n, job.chunk, x, y);
    else
        restrict_columns(job.sums, in, job.w, job.outer, job.n, job.s, job.chunk, x, y);
}

KERNEL __launch_bounds__(256) restrict_jobs(const restrict_job *jobs, u64 njobs)
{
    const restrict_job &job = job_of(jobs, njobs, blockIdx.x);
    u64 block = blockIdx.x - job.first;
    if (job.width == 1)
        restrict_part<i8>(job, block);
    else if (job.width == 2)
        restrict_part<i16>(job, block);
    else
        restrict_part<i32>(job, block);
}

// The same of a table over K, any s: one output a thread.
KERNEL __launch_bounds__(256) restrict_columns_k(u64 *sums, const qm31 *in, const qm31 *w, u64 outer, u64 n, u64 s, u64 chunk)
{
    u64 at = thread_index();
    if (at >= outer * s)
        return;
    const qm31 *row = in + at / s * n * s + at % s;
    qm31 sum = qm31_zero();
    for (u64 d = blockIdx.y * chunk; d < min(n, (blockIdx.y + 1) * chunk); d++)
        sum = qm31_add(sum, qm31_mul(row[d * s], w[d]));
    add_to(sums + 4 * at, sum);
}

// out[i] is the element that the words at sums + 4·i stand for.
KERNEL restrict_finish(qm31 *out, const u64 *sums, u64 n)
{
    for (u64 i = thread_index(); i < n; i += thread_count())
        out[i] = {m31_reduce(sums[4 * i]), m31_reduce(sums[4 * i + 1]), m31_reduce(sums[4 * i + 2]), m31_reduce(sums[4 * i + 3])};
}

DEVICE qm31 to_field(i8 v) { return qm31_from(m31_from_i32(v)); }
DEVICE qm31 to_field(i16 v) { return qm31_from(m31_from_i32(v)); }
DEVICE qm31 to_field(i32 v) { return qm31_from(m31_from_i32(v)); }
DEVICE qm31 to_field(qm31 v) { return v; }

// What several blocks have added to (see add_to).
struct words {
    u64 v[4];
};

DEVICE qm31 to_field(const words &w) { return {m31_reduce(w.v[0]), m31_reduce(w.v[1]), m31_reduce(w.v[2]), m31_reduce(w.v[3])}; }

// Entry x of the table of a tensor's MLE: axes in the order of the table, of
// dimension d and step s in the tensor, each padded to a power of two with zeros.
template <class T>
DEVICE qm31 arranged(const T *in, u64 x, const u64 (&dims)[MAX_AXES], const u64 (&step)[MAX_AXES])
{
    u64 at = 0;
#pragma unroll
    for (int a = MAX_AXES - 1; a >= 0; a--) {
        if (dims[a] == 1)
            continue;
        u32 v = log2_ceil(dims[a]);
        u64 i = x & (((u64)1 << v) - 1);
        x >>= v;
        if (i >= dims[a])
            return qm31_zero();
        at += i * step[a];
    }
    return to_field(in[at]);
}

// Copies a tensor to the table of its MLE, of n entries.
template <class T>
DEVICE void arrange(qm31 *out, const T *in, u64 n, const axes &shape, const u64 (&step)[MAX_AXES])
{
    for (u64 x = thread_index(); x < n; x += thread_count())
        out[x] = arranged(in, x, shape.dims, step);
}

// One of many tensors, of entries of `width` bytes: integers, or the words of sums.
struct arrange_job {
    u64 first, n; // the first of its blocks; entries of the table
    qm31 *out;
    const void *in;
    u64 width;
    u64 dims[MAX_AXES], step[MAX_AXES];
};

// The tables of all jobs, a thread for each entry.
KERNEL arrange_jobs(const arrange_job *jobs, u64 njobs)
{
    const arrange_job &job = job_of(jobs, njobs, blockIdx.x);
    u64 x = (blockIdx.x - job.first) * blockDim.x + threadIdx.x;
    if (x >= job.n)
        return;
    switch (job.width) {
    case 1: job.out[x] = arranged((const i8 *)job.in, x, job.dims, job.step); break;
    case 2: job.out[x] = arranged((const i16 *)job.in, x, job.dims, job.step); break;
    case 4: job.out[x] = arranged((const i32 *)job.in, x, job.dims, job.step); break;
    default: job.out[x] = arranged((const words *)job.in, x, job.dims, job.step);
    }
}

#define ARRANGE(name, T)                                                                                               \
    KERNEL name(qm31 *out, const T *in, u64 n, u64 d0, u64 d1, u64 d2, u64 d3, u64 d4, u64 d5, u64 d6, u64 d7, u64 s0, \
                u64 s1, u64 s2, u64 s3, u64 s4, u64 s5, u64 s6, u64 s7)                                                \
    {                                                                                                                  \
        const u64 step[MAX_AXES] = {s0, s1, s2, s3, s4, s5, s6, s7};                                                   \
        arrange(out, in, n, axes{{d0, d1, d2, d3, d4, d5, d6, d7}}, step);                                             \
    }

ARRANGE(restrict_arrange_i8, i8)
ARRANGE(restrict_arrange_i16, i16)
ARRANGE(restrict_arrange_i32, i32)
ARRANGE(restrict_arrange_k, qm31)

// On the tensor cores: the four bytes of every limb of the weights are 16 rows
// of bytes, the tensor's entries the other matrix. Entries of a product are
// below 2^15·2^16 < 2^31 for 2^16 terms, the most that chunk may be.
//
// The weights are packed as the instruction wants them, 64 indices at a time:
// within these, lane t of a column has indices 16·t … 16·t + 15, of which each
// of two instructions takes eight.

// Packs n weights, to n/64 pieces (rounded up) of 256 words.
KERNEL restrict_pack(u32 *packed, const qm31 *w, u64 n)
{
    u64 words = (n + 63) / 64 * 256;
    for (u64 x = thread_index(); x < words; x += thread_count()) {
        u32 reg = x % 4, lane = x / 4 % 32, half = x / 128 % 2;
        u32 row = lane / 4 + 8 * (reg % 2);
        u64 k = x / 256 * 64 + 16 * (lane % 4) + 8 * half + 4 * (reg / 2);
        u32 v = 0;
        for (u32 i = 0; i < 4; i++) {
            if (k + i < n) {
                qm31 e = w[k + i];
                u32 limb = row / 4 == 0 ? e.a : row / 4 == 1 ? e.b : row / 4 == 2 ? e.c : e.d;
                v |= (limb >> 8 * (row % 4) & 0xff) << 8 * i;
            }
        }
        packed[x] = v;
    }
}

// Adds a warp's product to a block's: column c of it are the 16 bytes of
// output to(c).
template <class F>
DEVICE void collect(i32 (*block)[16], const i32 (&d)[4], F to)
{
    u32 g = threadIdx.x % 32 / 4, t = threadIdx.x % 4;
#pragma unroll
    for (u32 i = 0; i < 4; i++)
        atomicAdd(&block[to(2 * t + i % 2)][g + 8 * (i / 2)], d[i]);
}

// Writes a block's product of `count` outputs, the first of which is `first` of
// `size`: to out if no other block has a part of them, otherwise to sums.
DEVICE void deliver(qm31 *out, u64 *sums, i32 (*block)[16], u32 count, u64 first, u64 size)
{
    __syncthreads();
    for (u32 x = threadIdx.x; x < 4 * count; x += blockDim.x) {
        if (first + x / 4 >= size)
            break;
        i64 v = 0; // < 2^31·2^25
        for (u32 i = 0; i < 4; i++)
            v += (i64)block[x / 4][4 * (x % 4) + i] * (1 << 8 * i);
        u32 limb = m31_from_i64(v);
        if (out)
            reinterpret_cast<u32 *>(out)[4 * first + x] = limb;
        else
            atomicAdd(sums + 4 * first + x, (u64)limb);
    }
}

#define ROW_TILES 4

// restrict_rows_i8 for n a multiple of 16: 8·ROW_TILES rows a block, whose warps
// take 64 entries in turn.
KERNEL __launch_bounds__(256) restrict_rows_tensor(qm31 *out, u64 *sums, const i8 *in, const uint4 *packed, u64 rows, u64 n, u64 chunk)
{
    __shared__ i32 block[8 * ROW_TILES][16];
    for (u32 i = threadIdx.x; i < 8 * ROW_TILES * 16; i += blockDim.x)
        block[i / 16][i % 16] = 0;
    __syncthreads();
    u32 lane = threadIdx.x % 32, g = lane / 4, t = lane % 4;
    u64 first = (u64)blockIdx.x * (8 * ROW_TILES), end = min(n, (blockIdx.y + 1) * chunk);
    i32 d[ROW_TILES][4] = {};
    for (u64 k = blockIdx.y * chunk + threadIdx.x / 32 * 64; k < end; k += 2 * blockDim.x) {
        uint4 b[ROW_TILES];
#pragma unroll
        for (u32 r = 0; r < ROW_TILES; r++) {
            u64 row = first + 8 * r + g;
            b[r] = make_uint4(0, 0, 0, 0);
            if (row < rows && k + 16 * t < n)
                b[r] = *reinterpret_cast<const uint4 *>(in + row * n + k + 16 * t);
        }
        uint4 a0 = packed[k + lane], a1 = packed[k + 32 + lane];
#pragma unroll
        for (u32 r = 0; r < ROW_TILES; r++) {
            mma_u8_s8(d[r], a0, b[r].x, b[r].y);
            mma_u8_s8(d[r], a1, b[r].z, b[r].w);
        }
    }
#pragma unroll
    for (u32 r = 0; r < ROW_TILES; r++)
        collect(block, d[r], [&](u32 c) { return 8 * r + c; });
    deliver(out, sums, block, 8 * ROW_TILES, first, rows);
}

// restrict_columns_i8 for s a multiple of 16: 128 outputs a block, of which lane
// group g of every warp has 16·g … 16·g + 15; the warps take 64 indices in turn.
KERNEL __launch_bounds__(128) restrict_columns_tensor(qm31 *out, u64 *sums, const i8 *in, const uint4 *packed, u64 outer, u64 n, u64 s, u64 chunk)
{
    __shared__ i32 block[128][16];
    for (u32 i = threadIdx.x; i < 128 * 16; i += blockDim.x)
        block[i / 16][i % 16] = 0;
    __syncthreads();
    u32 lane = threadIdx.x % 32, g = lane / 4, t = lane % 4;
    u64 pieces = (s + 127) / 128, p = blockIdx.x / pieces, column = blockIdx.x % pieces * 128;
    bool inside = column + 16 * g < s;
    const i8 *from = in + p * n * s + column + 16 * g;
    i32 d[16][4] = {};
    u64 end = min(n, (blockIdx.y + 1) * chunk);
    for (u64 k = blockIdx.y * chunk + threadIdx.x / 32 * 64; k < end; k += 2 * blockDim.x) {
#pragma unroll
        for (u32 half = 0; half < 2; half++) {
            uint4 v[8];
#pragma unroll
            for (u32 i = 0; i < 8; i++) {
                u64 row = k + 16 * t + 8 * half + i;
                v[i] = make_uint4(0, 0, 0, 0);
                if (inside && row < n)
                    v[i] = *reinterpret_cast<const uint4 *>(from + row * s);
            }
            mma_rows(d, packed[k + 32 * half + lane], v);
        }
    }
#pragma unroll
    for (u32 j = 0; j < 16; j++)
        collect(block, d[j], [&](u32 c) { return 16 * c + j; });
    // What is beyond the row's end must not reach the next one.
    u64 base = p * s + column;
    deliver(out, sums, block, (u32)min((u64)128, s - column), base, outer * s);
}
