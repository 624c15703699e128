// Products of matrices of integers, into sums of 64 bits. Everything is exact.
#include "base.cuh"
#include "ints.cuh"
#include "mma.cuh"

// BYTES bytes of entries, 4 or more.
template <int BYTES> struct packed {
    u32 w[BYTES / 4];

    __device__ __forceinline__ void load(const void *p)
    {
        if constexpr (BYTES == 4) {
            w[0] = *(const u32 *)p;
        } else if constexpr (BYTES == 8) {
            u64 x = *(const u64 *)p;
            w[0] = (u32)x, w[1] = (u32)(x >> 32);
        } else {
#pragma unroll
            for (int i = 0; i < BYTES / 16; i++) {
                uint4 x = ((const uint4 *)p)[i];
                w[4 * i] = x.x, w[4 * i + 1] = x.y, w[4 * i + 2] = x.z, w[4 * i + 3] = x.w;
            }
        }
    }

    // Entry j of T, j known to the compiler.
    template <class T> __device__ __forceinline__ i32 entry(int j) const
    {
        constexpr int bits = 8 * sizeof(T), each = 4 / sizeof(T);
        return (i32)(w[j / each] << (32 - bits - bits * (j % each))) >> (32 - bits);
    }
};

// Sums of products of four bytes: of a and b, both signed, added to *high, and of x and y, of which y is unsigned,
// added to *low with 128 times the sum of y, which is added to *more.
DEVICE void dot_bytes(i32 *high, u32 a, u32 b) { *high = __dp4a((i32)a, (i32)b, *high); }
DEVICE void dot_bytes(u32 *low, u32 *more, u32 x, u32 y)
{
    *low = __dp4a(x ^ 0x80808080u, y, *low);
    *more = __dp4a(0x01010101u, y, *more);
}

// The low and the high bytes of four integers of 16 bits.
DEVICE u32 low_bytes(const u32 *w) { return __byte_perm(w[0], w[1], 0x6420); }
DEVICE u32 high_bytes(const u32 *w) { return __byte_perm(w[0], w[1], 0x7531); }

// The sum of products of N entries, N of W being 16 bytes.
template <class W, class X>
DEVICE i64 dot(const packed<16> &q, const packed<16 / sizeof(W) * sizeof(X)> &v)
{
    constexpr int N = 16 / sizeof(W);
    if constexpr (sizeof(W) == 1 && sizeof(X) == 1) {
        i32 sum = 0;
#pragma unroll
        for (int i = 0; i < 4; i++)
            dot_bytes(&sum, q.w[i], v.w[i]);
        return sum;
    } else if constexpr (sizeof(W) + sizeof(X) == 3) {
        // Bytes times the two bytes of the other's entries.
        i32 high = 0;
        u32 low = 0, more = 0;
#pragma unroll
        for (int i = 0; i < N / 4; i++) {
            const u32 one = sizeof(W) == 1 ? q.w[i] : v.w[i], *two = (sizeof(W) == 1 ? v.w : q.w) + 2 * i;
            dot_bytes(&high, one, high_bytes(two));
            dot_bytes(&low, &more, one, low_bytes(two));
        }
        return 256 * high + (i32)(low - 128 * more);
    } else if constexpr (sizeof(W) == 2 && sizeof(X) == 2) {
        i32 high = 0;
        u32 mixed = 0, more = 0, low = 0;
#pragma unroll
        for (int i = 0; i < N / 4; i++) {
            const u32 ah = high_bytes(q.w + 2 * i), al = low_bytes(q.w + 2 * i), bh = high_bytes(v.w + 2 * i), bl = low_bytes(v.w + 2 * i);
            dot_bytes(&high, ah, bh);
            dot_bytes(&mixed, &more, ah, bl);
            dot_bytes(&mixed, &more, bh, al);
            low = __dp4a(al, bl, low);
        }
        return (i64)high * 65536 + (i64)(i32)(mixed - 128 * more) * 256 + low;
    } else {
        i64 sum = 0;
#pragma unroll
        for (int j = 0; j < N; j++)
            sum += (i64)q.template entry<W>(j) * v.template entry<X>(j);
        return sum;
    }
}

// Rows that a warp of a matrix-vector product takes at a time: they share what is read of x.
constexpr int GEMV_ROWS = 2;

// The type of the entries of a vector that there is not.
struct none {};
template <class X> constexpr bool is_there = true;
template <> constexpr bool is_there<none> = false;

// sum[0][r] += Σ_c w[(first + r)·k + c]·x[c] over terms from … to - 1, by all lanes of a warp together, and sum[1][r] those of y, if
// there is one: both vectors take what is read of w.
template <class W, class X, class Y = none>
DEVICE void gemv_terms(i64 (&sum)[2][GEMV_ROWS], const W *w, const X *x, const Y *y, u64 first, u64 rows, u64 k, u64 from, u64 to)
{
    // N entries are 16 bytes of w. AHEAD of these are read before the first is used; beyond the last they are zeros.
    constexpr int N = 16 / sizeof(W), SIZE = sizeof(X) + (is_there<Y> ? sizeof(Y) : 0), AHEAD = N * SIZE > 32 || is_there<Y> ? 2 : 4;
    const u64 lane = threadIdx.x % 32;
    if (k % N == 0 && (((u64)w | (u64)x | (is_there<Y> ? (u64)y : 0)) & 15) == 0) {
        const W *row[GEMV_ROWS];
#pragma unroll
        for (int r = 0; r < GEMV_ROWS; r++)
            row[r] = w + min(first + r, rows - 1) * k;
        const u32 end = (u32)to;
#pragma unroll 1
        for (u32 c = (u32)from + (u32)lane * N; c < end; c += AHEAD * 32 * N) {
            packed<N * sizeof(X)> v[AHEAD] = {};
            packed<N * sizeof(Y)> z[AHEAD] = {};
            packed<16> q[AHEAD][GEMV_ROWS] = {};
#pragma unroll
            for (int a = 0; a < AHEAD; a++) {
                const u32 at = c + a * 32 * N;
                if (at < end) {
#pragma unroll
                    for (int r = 0; r < GEMV_ROWS; r++)
                        q[a][r].load(row[r] + at);
                    v[a].load(x + at);
                    if constexpr (is_there<Y>)
                        z[a].load(y + at);
                }
            }
#pragma unroll
            for (int a = 0; a < AHEAD; a++)
#pragma unroll
                for (int r = 0; r < GEMV_ROWS; r++) {
                    sum[0][r] += dot<W, X>(q[a][r], v[a]);
                    if constexpr (is_there<Y>)
                        sum[1][r] += dot<W, Y>(q[a][r], z[a]);
                }
        }
    } else {
#pragma unroll 1
        for (u64 c = from + lane; c < to; c += 32)
            for (int r = 0; r < GEMV_ROWS && first + r < rows; r++) {
                sum[0][r] += (i64)w[(first + r) * k + c] * x[c];
                if constexpr (is_there<Y>)
                    sum[1][r] += (i64)w[(first + r) * k + c] * y[c];
            }
    }
#pragma unroll
    for (int v = 0; v < (is_there<Y> ? 2 : 1); v++)
#pragma unroll
        for (int r = 0; r < GEMV_ROWS; r++)
            for (int d = 16; d > 0; d /= 2)
                sum[v][r] += __shfl_xor_sync(0xffffffffu, sum[v][r], d);
}

// acc[r·stride] += coef·Σ_c w[r·k + c]·x[c] for all rows r: a warp for two of them, and one of
// `parts` parts of the terms, each of `part`, a multiple of 16 but for the last.
template <class W, class X>
DEVICE void gemv_rows(i64 *acc, const W *w, const X *x, u64 rows, u64 k, i64 coef, u64 stride, u64 parts, u64 part)
{
    const u64 lane = thread_index() % 32, warps = thread_count() / 32, all = (rows + GEMV_ROWS - 1) / GEMV_ROWS * parts;
    for (u64 job = thread_index() / 32; job < all; job += warps) {
        const u64 first = job / parts * GEMV_ROWS, from = job % parts * part, to = min(k, from + part);
        i64 sum[2][GEMV_ROWS] = {};
        gemv_terms(sum, w, x, (const none *)nullptr, first, rows, k, from, to);
        for (int r = 0; r < GEMV_ROWS; r++)
            if (lane == 0 && first + r < rows)
                atomicAdd((u64 *)&acc[(first + r) * stride], (u64)(coef * sum[0][r]));
    }
}

constexpr u32 GEMV_WARPS = 8;

// What a matrix is multiplied with, and where the products go.
struct gemv_vector {
    i64 *acc;
    const void *x;
    i64 coef;
};

// Products of a matrix with one vector or two, whose rows take blocks from `first` on: two rows for `parts` of a block's warps, a power of
// two. Row r counts 2^shifts[r] times if there are shifts.
struct gemv {
    u64 first;
    const void *w;
    const u8 *shifts;
    u64 rows, k, parts;
    gemv_vector v[2];
};

// acc[r] = coef·2^shifts[r]·Σ_c w[r·k + c]·x[c] for the rows of a block.
template <class W, class X, class Y>
DEVICE void gemv_set(i64 (&sums)[GEMV_WARPS][2][GEMV_ROWS], const gemv &g)
{
    constexpr int vectors = is_there<Y> ? 2 : 1;
    const u32 lane = threadIdx.x % 32, warp = threadIdx.x / 32, parts = (u32)g.parts, part = warp & (parts - 1);
    const u64 each = ((g.k - 1) / parts / 16 + 1) * 16, first = ((blockIdx.x - g.first) * GEMV_WARPS + warp) / parts * GEMV_ROWS;
    i64 sum[2][GEMV_ROWS] = {};
    if (first < g.rows)
        gemv_terms(sum, (const W *)g.w, (const X *)g.v[0].x, (const Y *)g.v[1].x, first, g.rows, g.k, part * each, min(g.k, (part + 1) * each));
    if (parts > 1) {
        if (lane == 0)
            for (int v = 0; v < vectors; v++)
                for (int r = 0; r < GEMV_ROWS; r++)
                    sums[warp][v][r] = sum[v][r];
        __syncthreads();
#pragma unroll 1
        for (u32 p = 1; p < parts && part == 0; p++)
            for (int v = 0; v < vectors; v++)
                for (int r = 0; r < GEMV_ROWS; r++)
                    sum[v][r] += sums[warp + p][v][r];
    }
    for (int v = 0; v < vectors; v++)
        for (int r = 0; r < GEMV_ROWS; r++)
            if (part == 0 && lane == 0 && first + r < g.rows)
                g.v[v].acc[first + r] = g.v[v].coef * (sum[v][r] * (1ll << (g.shifts ? g.shifts[first + r] : 0)));
}

// gemv_set for entries of so many bytes, those of the second vector 0 if there is none.
DEVICE void gemv_set_of(i64 (&sums)[GEMV_WARPS][2][GEMV_ROWS], const gemv &g, u32 w, u32 x, u32 y)
{
    const u32 types = 100 * w + 10 * x + y;
#define GEMV_TYPES(A, W, B, X, C, Y) \
    case 100 * A + 10 * B + C:       \
        return gemv_set<W, X, Y>(sums, g);
    switch (types) {
        GEMV_TYPES(1, i8, 1, i8, 0, none)
        GEMV_TYPES(1, i8, 2, i16, 0, none)
        GEMV_TYPES(1, i8, 1, i8, 1, i8)
        GEMV_TYPES(1, i8, 2, i16, 1, i8)
        GEMV_TYPES(1, i8, 2, i16, 2, i16)
        GEMV_TYPES(2, i16, 1, i8, 0, none)
        GEMV_TYPES(2, i16, 2, i16, 0, none)
        GEMV_TYPES(2, i16, 1, i8, 1, i8)
        GEMV_TYPES(2, i16, 2, i16, 1, i8)
        GEMV_TYPES(2, i16, 2, i16, 2, i16)
    }
#undef GEMV_TYPES
}

// Up to three of these, in one launch. Entries of a matrix have width % 4 bytes, those of its vectors width / 4 % 4 and width / 16.
KERNEL __launch_bounds__(256, 3) forward_gemv_three(
    const void *w0, u64 width0, const u8 *shifts0, u64 rows0, u64 k0, u64 parts0, i64 *acc0, const void *x0, i64 coef0, i64 *more0,
    const void *y0, i64 by0, u64 first1, const void *w1, u64 width1, const u8 *shifts1, u64 rows1, u64 k1, u64 parts1, i64 *acc1, const void *x1,
    i64 coef1, i64 *more1, const void *y1, i64 by1, u64 first2, const void *w2, u64 width2, const u8 *shifts2, u64 rows2, u64 k2, u64 parts2,
    i64 *acc2, const void *x2, i64 coef2, i64 *more2, const void *y2, i64 by2)
{
    __shared__ i64 sums[GEMV_WARPS][2][GEMV_ROWS];
    let_next_begin();
    wait_for_earlier();
    gemv g = {0, w0, shifts0, rows0, k0, parts0, {{acc0, x0, coef0}, {more0, y0, by0}}};
    u32 width = (u32)width0;
    if (blockIdx.x >= first2) {
        g = {first2, w2, shifts2, rows2, k2, parts2, {{acc2, x2, coef2}, {more2, y2, by2}}};
        width = (u32)width2;
    } else if (blockIdx.x >= first1) {
        g = {first1, w1, shifts1, rows1, k1, parts1, {{acc1, x1, coef1}, {more1, y1, by1}}};
        width = (u32)width1;
    }
    gemv_set_of(sums, g, width % 4, width / 4 % 4, width / 16);
}

// What is common to the integers of a row: the bits that any of them has, and those that any magnitude has.
struct row_bits {
    u32 any, magnitude;

    __device__ __forceinline__ void add(i32 v)
    {
        any |= (u32)v;
        magnitude |= (u32)(v ^ v >> 31);
    }
};

// A matrix of n rows of k integers of 16 bits as a byte each, times 2^shifts[row]: *bad becomes 1 if a row has no such form. The bytes are
// not written if dst is null. A block takes a row at a time.
KERNEL __launch_bounds__(256) forward_mantissas(i8 *dst, u8 *shifts, u32 *bad, const i16 *w, u64 n, u64 k)
{
    __shared__ row_bits parts[8];
    const u32 lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    const bool whole = k % 8 == 0 && (((u64)w | (u64)dst) & 15) == 0;
    for (u64 row = blockIdx.x; row < n; row += gridDim.x) {
        const i16 *from = w + row * k;
        row_bits all = {0, 0};
        if (whole) {
            for (u64 c = threadIdx.x; c < k / 8; c += blockDim.x) {
                packed<16> q;
                q.load(from + 8 * c);
#pragma unroll
                for (int j = 0; j < 8; j++)
                    all.add(q.entry<i16>(j));
            }
        } else {
            for (u64 c = threadIdx.x; c < k; c += blockDim.x)
                all.add(from[c]);
        }
        for (int d = 16; d > 0; d /= 2) {
            all.any |= __shfl_xor_sync(~0u, all.any, d);
            all.magnitude |= __shfl_xor_sync(~0u, all.magnitude, d);
        }
        __syncthreads(); // the last row's are read
        if (lane == 0)
            parts[warp] = all;
        __syncthreads();
        for (u32 i = 0; i < blockDim.x / 32; i++) {
            all.any |= parts[i].any;
            all.magnitude |= parts[i].magnitude;
        }
        const u32 shift = all.any ? (u32)__ffs((int)all.any) - 1 : 0;
        if (threadIdx.x == 0) {
            shifts[row] = (u8)shift;
            if (all.magnitude >> shift > 127)
                *bad = 1;
        }
        if (!dst)
            continue;
        i8 *to = dst + row * k;
        if (whole) {
            for (u64 c = threadIdx.x; c < k / 8; c += blockDim.x) {
                packed<16> q;
                q.load(from + 8 * c);
                u64 bytes = 0;
#pragma unroll
                for (int j = 0; j < 8; j++)
                    bytes |= (u64)(u8)(q.entry<i16>(j) >> shift) << 8 * j;
                ((u64 *)to)[c] = bytes;
            }
        } else {
            for (u64 c = threadIdx.x; c < k; c += blockDim.x)
                to[c] = (i8)(from[c] >> shift);
        }
    }
}

#define GEMV_ROWS_OF(W, X)                                                                                                              \
    KERNEL forward_gemv_rows_##W##_##X(i64 *acc, const W *w, const X *x, u64 rows, u64 k, i64 coef, u64 stride, u64 parts, u64 part) \
    {                                                                                                                                   \
        gemv_rows<W, X>(acc, w, x, rows, k, coef, stride, parts, part);                                                                 \
    }

GEMV_ROWS_OF(i8, i8)
GEMV_ROWS_OF(i8, i16)
GEMV_ROWS_OF(i8, i32)
GEMV_ROWS_OF(i16, i8)
GEMV_ROWS_OF(i16, i16)
GEMV_ROWS_OF(i16, i32)
GEMV_ROWS_OF(i32, i8)
GEMV_ROWS_OF(i32, i16)
GEMV_ROWS_OF(i32, i32)

// acc[j·stride] += coef·Σ_c w[c·n + j]·x[c]: a thread for a column, blockIdx.y for
// a range of `part` rows.
template <typename T>
DEVICE void gemv_columns(i64 *acc, const T *w, const void *x, u64 width, u64 n, u64 k, i64 coef, u64 stride, u64 part)
{
    u64 from = blockIdx.y * part, to = min(from + part, k);
    for (u64 j = thread_index(); j < n; j += thread_count()) {
        i64 sum = 0;
        for (u64 c = from; c < to; c++)
            sum += (i64)w[c * n + j] * entry(x, width, c);
        atomicAdd((u64 *)&acc[j * stride], (u64)(coef * sum));
    }
}

KERNEL forward_gemv_columns_i8(i64 *acc, const i8 *w, const void *x, u64 width, u64 n, u64 k, i64 coef, u64 stride, u64 part)
{
    gemv_columns(acc, w, x, width, n, k, coef, stride, part);
}

KERNEL forward_gemv_columns_i16(i64 *acc, const i16 *w, const void *x, u64 width, u64 n, u64 k, i64 coef, u64 stride, u64 part)
{
    gemv_columns(acc, w, x, width, n, k, coef, stride, part);
}

KERNEL forward_gemv_columns_i32(i64 *acc, const i32 *w, const void *x, u64 width, u64 n, u64 k, i64 coef, u64 stride, u64 part)
{
    gemv_columns(acc, w, x, width, n, k, coef, stride, part);
}

// Where index i lies along an axis.
DEVICE u64 along(const i32 *table, u64 stride, u64 i) { return table ? (u64)table[i] : i * stride; }

// Rows and terms of a matrix that a block of forward_planes takes, and words of a row of so
// many bytes in shared memory.
constexpr int PIECE = 64, PIECE_WORDS = PIECE / 4 + 1;

// dst[((b·planes + p)·rows + i)·pitch + c] = byte p of entry (i, c) of matrix b, 0 for c from k on,
// for b < batches, p < planes, i < rows, c < pitch, which is a multiple of PIECE. An entry lies
// where its indexes say, added up, each an index times a stride or, where there is a table,
// what that has for it. 128 threads.
KERNEL __launch_bounds__(128) forward_planes(i8 *dst, const void *src, u64 width, u64 planes, u64 rows, u64 k, u64 pitch, u64 batches,
                                             u64 sb, u64 sr, u64 sk, const i32 *tb, const i32 *tr, const i32 *tk)
{
    __shared__ u32 bytes[4][PIECE][PIECE_WORDS];
    __shared__ u64 at[PIECE], terms[PIECE];
    u64 across = pitch / PIECE, r0 = blockIdx.x / across * PIECE, c0 = blockIdx.x % across * PIECE;
    bool near = sk == 1 && !tk; // terms are neighbours in memory, and not rows
    u32 x = threadIdx.x;
    for (u64 batch = blockIdx.y; batch < batches; batch += gridDim.y) {
        if (x < PIECE) {
            at[x] = r0 + x < rows ? along(tb, sb, batch) + along(tr, sr, r0 + x) : 0;
        } else {
            u64 c = c0 + x - PIECE;
            terms[x - PIECE] = c < k ? along(tk, sk, c) : 0;
        }
        __syncthreads();
        for (u32 e = x; e < PIECE * PIECE / 4; e += 128) {
            u32 row = near ? e / 16 : e % PIECE, word = near ? e % 16 : e / PIECE;
            u32 v[4] = {};
            for (u32 j = 0; j < 4; j++) {
                u32 c = 4 * word + j;
                u32 y = r0 + row < rows && c0 + c < k ? (u32)entry(src, width, at[row] + terms[c]) : 0;
                for (u32 p = 0; p < 4; p++) v[p] |= (y >> 8 * p & 255) << 8 * j;
            }
            for (u32 p = 0; p < 4; p++)
                if (p < planes) bytes[p][row][word] = v[p];
        }
        __syncthreads();
        for (u32 p = 0; p < planes; p++)
            for (u32 e = x; e < PIECE * PIECE / 4; e += 128)
                if (r0 + e / 16 < rows) ((u32 *)(dst + ((batch * planes + p) * rows + r0 + e / 16) * pitch + c0))[e % 16] = bytes[p][e / 16][e % 16];
        __syncthreads(); // before they are the next batch's
    }
}

// forward_planes where terms are neighbours in memory (sk = 1, no tk), a thread for 16 of them.
KERNEL __launch_bounds__(256) forward_planes_near(i8 *dst, const void *src, u64 width, u64 planes, u64 rows, u64 k, u64 pitch, u64 batches,
                                                  u64 sb, u64 sr, const i32 *tb, const i32 *tr)
{
    const u32 across = (u32)(pitch / 16);
    for (u64 batch = blockIdx.y; batch < batches; batch += gridDim.y)
        for (u64 e = thread_index(); e < rows * across; e += thread_count()) {
            const u64 row = e / across, c = e % across * 16, at = along(tb, sb, batch) + along(tr, sr, row) + c;
            const char *p = (const char *)src + at * width;
            // Four words for each plane, of four entries a word.
            u32 bytes[4][4] = {};
            if (c + 16 <= k && ((u64)p & 15) == 0) {
                const uint4 *q = (const uint4 *)p;
#pragma unroll
                for (u32 i = 0; i < 4; i++) {
                    if (width == 1) {
                        bytes[0][i] = ((const u32 *)p)[i];
                    } else if (width == 2) {
                        const uint4 x = q[i / 2];
                        const u32 low = i % 2 ? x.z : x.x, high = i % 2 ? x.w : x.y;
                        bytes[0][i] = __byte_perm(low, high, 0x6420);
                        bytes[1][i] = __byte_perm(low, high, 0x7531);
                    } else {
                        const uint4 x = q[i];
                        u32 v[4];
                        transpose(v, x.x, x.y, x.z, x.w);
#pragma unroll
                        for (u32 j = 0; j < 4; j++)
                            bytes[j][i] = v[j];
                    }
                }
            } else {
#pragma unroll
                for (u32 i = 0; i < 16; i++) {
                    const u32 y = c + i < k ? (u32)entry(src, width, at + i) : 0;
#pragma unroll
                    for (u32 j = 0; j < 4; j++)
                        bytes[j][i / 4] |= (y >> 8 * j & 255) << 8 * (i % 4);
                }
            }
#pragma unroll
            for (u32 j = 0; j < 4; j++)
                if (j < planes)
                    *(uint4 *)(dst + ((batch * planes + j) * rows + row) * pitch + c) = make_uint4(bytes[j][0], bytes[j][1], bytes[j][2], bytes[j][3]);
        }
}

// A tile of a product: TILE by TILE sums, DEPTH terms at a time. Rows in shared memory are
// four chunks of 16 bytes, in an order by which the eight rows that a warp reads at once lie in
// different banks.
constexpr int TILE = 128, DEPTH = 64, GEMM_STAGES = 6;

DEVICE u32 chunk_at(u32 row, u32 chunk) { return 4 * row + (chunk ^ (row >> 1 & 3)); }

// Adds to sum the products of 64 rows of a with 64 of b, from row wi and wj on, that the warp
// has, over terms `from` to `to` - 1, multiples of 16, of which there are at most 2^15. Rows from
// rows_a and rows_b on are zeros. All threads of the block call it.
template <bool ASIGNED, bool BSIGNED>
DEVICE void gemm_terms(i32 (&sum)[4][8][4], uint4 (*as)[4 * TILE], uint4 (*bs)[4 * TILE], const i8 *a, const i8 *b, u64 pitch_a, u64 pitch_b,
                       u64 rows_a, u64 rows_b, u64 from, u64 to, u32 wi, u32 wj)
{
    u32 x = threadIdx.x, g = x % 32 / 4, t = x % 4;
    auto load = [&](u64 k, u32 stage) {
        if (k < to) {
            u32 chunk = x % 4;
            bool inside = k + 16 * chunk < to;
#pragma unroll
            for (u32 i = 0; i < TILE / 32; i++) {
                u32 row = x / 4 + 32 * i;
                copy16(&as[stage][chunk_at(row, chunk)], inside && row < rows_a ? a + row * pitch_a + k + 16 * chunk : nullptr);
                copy16(&bs[stage][chunk_at(row, chunk)], inside && row < rows_b ? b + row * pitch_b + k + 16 * chunk : nullptr);
            }
        }
        copies_begun(); // a group, if an empty one, each time
    };
    bool some = wi < rows_a && wj < rows_b;
    for (u32 i = 0; i < GEMM_STAGES - 1; i++) load(from + i * DEPTH, i);
    u32 stage = 0, next = GEMM_STAGES - 1;
    for (u64 k = from; k < to; k += DEPTH) {
        copies_done<GEMM_STAGES - 2>();
        __syncthreads(); // these terms are there, and those before were used up
        load(k + (GEMM_STAGES - 1) * DEPTH, next);
        if (some) {
            const u32 *u = (const u32 *)as[stage], *v = (const u32 *)bs[stage];
#pragma unroll
            for (u32 chunk = 0; chunk < 4; chunk += 2) {
                u32 y[8][2];
#pragma unroll
                for (u32 j = 0; j < 8; j++)
#pragma unroll
                    for (u32 h = 0; h < 2; h++) y[j][h] = v[4 * chunk_at(wj + 8 * j + g, chunk + h) + t];
#pragma unroll
                for (u32 i = 0; i < 4; i++) {
                    u32 low = wi + 16 * i + g, high = low + 8;
                    uint4 w = make_uint4(u[4 * chunk_at(low, chunk) + t], u[4 * chunk_at(high, chunk) + t],
                                         u[4 * chunk_at(low, chunk + 1) + t], u[4 * chunk_at(high, chunk + 1) + t]);
#pragma unroll
                    for (u32 j = 0; j < 8; j++) mma_bytes<ASIGNED, BSIGNED>(sum[i][j], w, y[j][0], y[j][1]);
                }
            }
        }
        stage = stage + 1 == GEMM_STAGES ? 0 : stage + 1;
        next = next + 1 == GEMM_STAGES ? 0 : next + 1;
    }
    copies_done<0>();
    __syncthreads(); // before the shared memory is used again
}

// acc[O(b, i, j)] += coef·Σ_c A[b, i, c]·B[b, j, c] for i < m, j < n, c < k and all batches b.
// A and B lie as planes of bytes, of which the uppermost is signed: byte p of A's entry is at
// a[b·batch_a + p·plane_a + i·pitch_a + c]. k, pitches and what they begin at are multiples of 16.
// Where indexes of acc lie is as in forward_planes; none are the same.
//
// The work is that of all batches, tiles (by columns of tiles), pairs of planes and pieces of DEPTH
// terms, in this order. Blocks have equal shares of it, and at most 2^15 terms at a time. A tile
// that is the work of several is added up atomically. A block of four warps has a tile at a time,
// each warp a quarter of it.
KERNEL __launch_bounds__(128, 2) forward_gemm(i64 *acc, const i8 *a, u64 planes_a, u64 batch_a, u64 plane_a, u64 pitch_a,
                                              const i8 *b, u64 planes_b, u64 batch_b, u64 plane_b, u64 pitch_b,
                                              u64 m, u64 n, u64 k, u64 batches, i64 coef,
                                              u64 sob, u64 som, u64 son, const i32 *tob, const i32 *tom, const i32 *ton)
{
    DYNAMIC_SHARED(uint4, shared);
    uint4(*as)[4 * TILE] = (uint4(*)[4 * TILE])shared, (*bs)[4 * TILE] = as + GEMM_STAGES;
    const u64 down = (m + TILE - 1) / TILE, tiles = down * ((n + TILE - 1) / TILE);
    const u64 depths = (k + DEPTH - 1) / DEPTH, pairs = planes_a * planes_b, each = pairs * depths, all = batches * tiles * each;
    const u64 first = all * blockIdx.x / gridDim.x, last = all * (blockIdx.x + 1) / gridDim.x;
    const u32 lane = threadIdx.x % 32, g = lane / 4, t = lane % 4;
    const u32 wi = threadIdx.x / 64 * 64, wj = threadIdx.x / 32 % 2 * 64; // where the warp's part begins
    for (u64 at = first, next; at < last; at = next) {
        const u64 tile = at / each, batch = tile / tiles, pair = at % each / depths, depth = at % depths;
        // To the end of the pair of planes, or of the share, or as far as 32 bits go.
        next = min(min(at - depth + depths, last), at + (1 << 15) / DEPTH);
        const bool alone = first <= tile * each && last >= (tile + 1) * each;
        const u64 i0 = tile % tiles % down * TILE, j0 = tile % tiles / down * TILE;
        const u64 p = pair % planes_a, q = pair / planes_a, from = depth * DEPTH, to = min(k, (depth + next - at) * DEPTH);
        const i8 *x = a + batch * batch_a + p * plane_a + i0 * pitch_a, *y = b + batch * batch_b + q * plane_b + j0 * pitch_b;
        i32 sum[4][8][4] = {};
        if (p + 1 < planes_a && q + 1 < planes_b)
            gemm_terms<false, false>(sum, as, bs, x, y, pitch_a, pitch_b, m - i0, n - j0, from, to, wi, wj);
        else if (p + 1 < planes_a)
            gemm_terms<false, true>(sum, as, bs, x, y, pitch_a, pitch_b, m - i0, n - j0, from, to, wi, wj);
        else if (q + 1 < planes_b)
            gemm_terms<true, false>(sum, as, bs, x, y, pitch_a, pitch_b, m - i0, n - j0, from, to, wi, wj);
        else
            gemm_terms<true, true>(sum, as, bs, x, y, pitch_a, pitch_b, m - i0, n - j0, from, to, wi, wj);
        const u64 obase = along(tob, sob, batch), scale = (u64)coef << 8 * (p + q);
#pragma unroll
        for (u32 i = 0; i < 4; i++)
#pragma unroll
            for (u32 e = 0; e < 4; e += 2) {
                u64 r = i0 + wi + 16 * i + g + 4 * e;
                if (r >= m) continue;
                u64 row = obase + along(tom, som, r);
#pragma unroll
                for (u32 j = 0; j < 8; j++)
#pragma unroll
                    for (u32 h = 0; h < 2; h++) {
                        u64 s = j0 + wj + 8 * j + 2 * t + h;
                        if (s >= n) continue;
                        u64 *o = (u64 *)&acc[row + along(ton, son, s)], more = scale * (u64)(i64)sum[i][j][e + h];
                        if (alone)
                            *o += more;
                        else
                            atomicAdd(o, more);
                    }
            }
    }
}

// forward_gemm for matrices of PA and PB planes, at most two: all pairs of planes are multiplied at
// once, and those with the same scale added up, in 32 bits for 2^15 terms: |Σ| ≤ 2^15·2·255·128. A
// block of eight warps has a tile at a time, and each warp 32 rows and 64 columns of it.
template <int PA, int PB>
DEVICE void gemm(uint4 *shared, i64 *acc, const i8 *a, u64 batch_a, u64 plane_a, u64 pitch_a, const i8 *b, u64 batch_b, u64 plane_b, u64 pitch_b,
                 u64 m, u64 n, u64 k, u64 batches, i64 coef, u64 sob, u64 som, u64 son, const i32 *tob, const i32 *tom, const i32 *ton)
{
    // A stage of shared memory has DEPTH terms of all planes.
    constexpr u32 STAGES = 12 / (PA + PB), PLANE = 4 * TILE, STAGE = (PA + PB) * PLANE;
    const u64 down = (m + TILE - 1) / TILE, tiles = down * ((n + TILE - 1) / TILE), each = (k + DEPTH - 1) / DEPTH, all = batches * tiles * each;
    const u64 first = all * blockIdx.x / gridDim.x, last = all * (blockIdx.x + 1) / gridDim.x;
    const u32 lane = threadIdx.x % 32, g = lane / 4, t = lane % 4;
    const u32 wi = threadIdx.x / 64 * 32, wj = threadIdx.x / 32 % 2 * 64; // where the warp's part begins
    for (u64 at = first, next; at < last; at = next) {
        const u64 tile = at / each, batch = tile / tiles, depth = at % each;
        next = min(min(at - depth + each, last), at + (1 << 15) / DEPTH);
        const bool alone = first <= tile * each && last >= (tile + 1) * each;
        const u64 i0 = tile % tiles % down * TILE, j0 = tile % tiles / down * TILE, from = depth * DEPTH, to = min(k, (depth + next - at) * DEPTH);
        const u32 rows_a = (u32)min(m - i0, (u64)TILE), rows_b = (u32)min(n - j0, (u64)TILE);
        const u32 chunk = threadIdx.x % 4;
        const i8 *x = a + batch * batch_a + (i0 + threadIdx.x / 4) * pitch_a + 16 * chunk;
        const i8 *y = b + batch * batch_b + (j0 + threadIdx.x / 4) * pitch_b + 16 * chunk;
        auto load = [&](u64 c, u32 stage) {
            if (c < to) {
                const bool inside = c + 16 * chunk < to;
#pragma unroll
                for (u32 i = 0; i < TILE / 64; i++) {
                    const u32 row = threadIdx.x / 4 + 64 * i;
                    uint4 *d = shared + stage * STAGE + chunk_at(row, chunk);
#pragma unroll
                    for (u32 p = 0; p < PA; p++)
                        copy16(d + p * PLANE, inside && row < rows_a ? x + p * plane_a + 64 * i * pitch_a + c : nullptr);
#pragma unroll
                    for (u32 q = 0; q < PB; q++)
                        copy16(d + (PA + q) * PLANE, inside && row < rows_b ? y + q * plane_b + 64 * i * pitch_b + c : nullptr);
                }
            }
            copies_begun(); // a group, if an empty one, each time
        };
        i32 sum[PA + PB - 1][2][8][4] = {};
        const bool some = wi < rows_a && wj < rows_b;
        for (u32 i = 0; i < STAGES - 1; i++) load(from + i * DEPTH, i);
        u32 stage = 0, ahead = STAGES - 1;
        for (u64 c = from; c < to; c += DEPTH) {
            copies_done<STAGES - 2>();
            __syncthreads(); // these terms are there, and those before were used up
            load(c + (STAGES - 1) * DEPTH, ahead);
            if (some) {
                const u32 *u = (const u32 *)(shared + stage * STAGE), *v = u + 4 * PA * PLANE;
#pragma unroll
                for (u32 half = 0; half < 4; half += 2) {
                    uint4 w[2][PA];
#pragma unroll
                    for (u32 i = 0; i < 2; i++)
#pragma unroll
                        for (u32 p = 0; p < PA; p++) {
                            const u32 low = wi + 16 * i + g, high = low + 8, o = 4 * p * PLANE + t;
                            w[i][p] = make_uint4(u[4 * chunk_at(low, half) + o], u[4 * chunk_at(high, half) + o],
                                                 u[4 * chunk_at(low, half + 1) + o], u[4 * chunk_at(high, half + 1) + o]);
                        }
#pragma unroll
                    for (u32 j = 0; j < 8; j++) {
                        u32 z[PB][2];
#pragma unroll
                        for (u32 q = 0; q < PB; q++)
#pragma unroll
                            for (u32 h = 0; h < 2; h++) z[q][h] = v[4 * chunk_at(wj + 8 * j + g, half + h) + 4 * q * PLANE + t];
#pragma unroll
                        for (u32 i = 0; i < 2; i++) {
                            mma_bytes<PA == 1, PB == 1>(sum[0][i][j], w[i][0], z[0][0], z[0][1]);
                            if constexpr (PA == 2) mma_bytes<true, PB == 1>(sum[1][i][j], w[i][PA - 1], z[0][0], z[0][1]);
                            if constexpr (PB == 2) mma_bytes<PA == 1, true>(sum[1][i][j], w[i][0], z[PB - 1][0], z[PB - 1][1]);
                            if constexpr (PA == 2 && PB == 2) mma_bytes<true, true>(sum[2][i][j], w[i][PA - 1], z[PB - 1][0], z[PB - 1][1]);
                        }
                    }
                }
            }
            stage = stage + 1 == STAGES ? 0 : stage + 1;
            ahead = ahead + 1 == STAGES ? 0 : ahead + 1;
        }
        copies_done<0>();
        __syncthreads(); // before the shared memory is used again
        const u64 obase = along(tob, sob, batch);
#pragma unroll
        for (u32 i = 0; i < 2; i++)
#pragma unroll
            for (u32 e = 0; e < 4; e += 2) {
                const u32 r = wi + 16 * i + g + 4 * e;
                if (r >= rows_a) continue;
                const u64 row = obase + along(tom, som, i0 + r);
#pragma unroll
                for (u32 j = 0; j < 8; j++)
#pragma unroll
                    for (u32 h = 0; h < 2; h++) {
                        const u32 s = wj + 8 * j + 2 * t + h;
                        if (s >= rows_b) continue;
                        i64 value = 0;
#pragma unroll
                        for (u32 p = 0; p < PA + PB - 1; p++) value += (i64)sum[p][i][j][e + h] * (1 << 8 * p);
                        u64 *o = (u64 *)&acc[row + along(ton, son, j0 + s)], more = (u64)coef * (u64)value;
                        if (alone)
                            *o += more;
                        else
                            atomicAdd(o, more);
                    }
            }
    }
}

// Of few planes; blocks is how many run at once on a processor.
#define GEMM_OF(PA, PB, BLOCKS)                                                                                                           \
    KERNEL __launch_bounds__(256, BLOCKS) forward_gemm_##PA##_##PB(                                                                       \
        i64 *acc, const i8 *a, u64 batch_a, u64 plane_a, u64 pitch_a, const i8 *b, u64 batch_b, u64 plane_b, u64 pitch_b, u64 m, u64 n,  \
        u64 k, u64 batches, i64 coef, u64 sob, u64 som, u64 son, const i32 *tob, const i32 *tom, const i32 *ton)                          \
    {                                                                                                                                     \
        DYNAMIC_SHARED(uint4, shared);                                                                                                    \
        gemm<PA, PB>(shared, acc, a, batch_a, plane_a, pitch_a, b, batch_b, plane_b, pitch_b, m, n, k, batches, coef, sob, som, son, tob, \
                     tom, ton);                                                                                                           \
    }

GEMM_OF(1, 1, 2)
GEMM_OF(1, 2, 1)
GEMM_OF(2, 1, 1)
GEMM_OF(2, 2, 1)

// A good 64-bit mixing function (splitmix64).
DEVICE u64 mix(u64 x)
{
    x += 0x9e3779b97f4a7c15ull;
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9ull;
    x = (x ^ x >> 27) * 0x94d049bb133111ebull;
    return x ^ x >> 31;
}

// dst[i] = bytes 8i … 8i + 7 of a pseudo-random sequence, for measurements.
KERNEL forward_random(u64 *dst, u64 n, u64 seed)
{
    for (u64 i = thread_index(); i < n; i += thread_count())
        dst[i] = mix(mix(seed) + i);
}
