// Products of matrices of integers, into sums of 64 bits. Everything is exact.
#include "base.cuh"
#include "ints.cuh"
#include "mma.cuh"

// A vector of 16 bytes.
struct __align__(16) words4 {
    u32 w[4];
};

// Lane j of 16 bytes of T, j known to the compiler.
template <typename T> DEVICE i32 lane_of(words4 q, int j)
{
    constexpr int bits = 8 * sizeof(T), each = 4 / sizeof(T);
    return (i32)(q.w[j / each] << (32 - bits - bits * (j % each))) >> (32 - bits);
}

// Rows that a warp of a matrix-vector product takes at a time: they share what
// is read of x.
constexpr int GEMV_ROWS = 4;

// acc[r·stride] += coef·Σ_c w[r·k + c]·x[c] for all rows r, a warp for four of
// them. If NARROW, 16 products in a row fit 32 bits.
template <typename T, bool NARROW>
DEVICE void gemv_rows(i64 *acc, const T *w, const i32 *x, u64 rows, u64 k, i64 coef, u64 stride)
{
    constexpr int N = 16 / sizeof(T);
    u64 lane = thread_index() % 32, warps = thread_count() / 32;
    for (u64 first = thread_index() / 32 * GEMV_ROWS; first < rows; first += warps * GEMV_ROWS) {
        i64 sum[GEMV_ROWS] = {};
        if (k % N == 0) {
            for (u64 c = lane * N; c < k; c += 32 * N) {
                i32 v[N];
                for (int j = 0; j < N; j += 4) {
                    words4 q = *(const words4 *)(x + c + j);
                    for (int i = 0; i < 4; i++)
                        v[j + i] = (i32)q.w[i];
                }
                for (int r = 0; r < GEMV_ROWS; r++) {
                    if (first + r >= rows)
                        break;
                    words4 q = *(const words4 *)(w + (first + r) * k + c);
                    if (NARROW) {
                        i32 part = 0;
                        for (int j = 0; j < N; j++)
                            part += lane_of<T>(q, j) * v[j];
                        sum[r] += part;
                    } else {
                        for (int j = 0; j < N; j++)
                            sum[r] += (i64)lane_of<T>(q, j) * v[j];
                    }
                }
            }
        } else {
            for (u64 c = lane; c < k; c += 32)
                for (int r = 0; r < GEMV_ROWS && first + r < rows; r++)
                    sum[r] += (i64)w[(first + r) * k + c] * x[c];
        }
        for (int r = 0; r < GEMV_ROWS; r++) {
            for (int d = 16; d > 0; d /= 2)
                sum[r] += __shfl_xor_sync(0xffffffffu, sum[r], d);
            if (lane == 0 && first + r < rows)
                acc[(first + r) * stride] += coef * sum[r];
        }
    }
}

KERNEL forward_gemv_rows_i8(i64 *acc, const i8 *w, const i32 *x, u64 rows, u64 k, i64 coef, u64 stride)
{
    gemv_rows<i8, false>(acc, w, x, rows, k, coef, stride);
}

// |x[c]| < 2^19: 16 products of at most 2^26.
KERNEL forward_gemv_rows_i8_narrow(i64 *acc, const i8 *w, const i32 *x, u64 rows, u64 k, i64 coef, u64 stride)
{
    gemv_rows<i8, true>(acc, w, x, rows, k, coef, stride);
}

KERNEL forward_gemv_rows_i16(i64 *acc, const i16 *w, const i32 *x, u64 rows, u64 k, i64 coef, u64 stride)
{
    gemv_rows<i16, false>(acc, w, x, rows, k, coef, stride);
}

KERNEL forward_gemv_rows_i32(i64 *acc, const i32 *w, const i32 *x, u64 rows, u64 k, i64 coef, u64 stride)
{
    gemv_rows<i32, false>(acc, w, x, rows, k, coef, stride);
}

// acc[j·stride] += coef·Σ_c w[c·n + j]·x[c]: a thread for a column, blockIdx.y for
// a range of `part` rows.
template <typename T>
DEVICE void gemv_columns(i64 *acc, const T *w, const i32 *x, u64 n, u64 k, i64 coef, u64 stride, u64 part)
{
    u64 from = blockIdx.y * part, to = min(from + part, k);
    for (u64 j = thread_index(); j < n; j += thread_count()) {
        i64 sum = 0;
        for (u64 c = from; c < to; c++)
            sum += (i64)w[c * n + j] * x[c];
        atomicAdd((u64 *)&acc[j * stride], (u64)(coef * sum));
    }
}

KERNEL forward_gemv_columns_i8(i64 *acc, const i8 *w, const i32 *x, u64 n, u64 k, i64 coef, u64 stride, u64 part)
{
    gemv_columns(acc, w, x, n, k, coef, stride, part);
}

KERNEL forward_gemv_columns_i16(i64 *acc, const i16 *w, const i32 *x, u64 n, u64 k, i64 coef, u64 stride, u64 part)
{
    gemv_columns(acc, w, x, n, k, coef, stride, part);
}

KERNEL forward_gemv_columns_i32(i64 *acc, const i32 *w, const i32 *x, u64 n, u64 k, i64 coef, u64 stride, u64 part)
{
    gemv_columns(acc, w, x, n, k, coef, stride, part);
}

// A tile of a matrix product: 64 by 64 sums.
constexpr int TILE = 64;

// Words of a row of 64 bytes in shared memory: four more than its 16, so that
// the eight rows that a warp reads at once lie in different banks.
constexpr int ROW_WORDS = 20;

// Where index i lies along an axis.
DEVICE u64 along(const i32 *table, u64 stride, u64 i) { return table ? (u64)table[i] : i * stride; }

// Bytes of integers that are summed over at a time.
constexpr int DEPTH = 64;

// Puts the bytes of a tile of 64 rows and 64 terms of a matrix into shared memory, plane
// by plane, a row's one behind the other: byte p of entry (i, c) is byte c of
// planes[p][i]. What is beyond the matrix is zero. 128 threads do it; near says that
// terms are neighbours in memory, and not rows.
DEVICE void load_planes(u32 (*planes)[TILE][ROW_WORDS], const void *v, u64 width, const u64 *rows, const u64 *terms, u64 nrows, u64 nterms, bool near)
{
    for (u32 e = threadIdx.x; e < TILE * DEPTH / 4; e += 128) {
        u32 row = near ? e / 16 : e % TILE, word = near ? e % 16 : e / TILE;
        u32 bytes[4] = {};
        for (u32 j = 0; j < 4; j++) {
            u32 c = 4 * word + j;
            u32 x = row < nrows && c < nterms ? (u32)entry(v, width, rows[row] + terms[c]) : 0;
            for (u32 p = 0; p < 4; p++)
                bytes[p] |= (x >> 8 * p & 255) << 8 * j;
        }
        for (u32 p = 0; p < 4; p++)
            if (p < width)
                planes[p][row][word] = bytes[p];
    }
}

// Adds to sum, shifted, what the tensor cores make of 32 rows of a plane of each side:
// the part of the warp, all of whose lanes call it.
template <bool ASIGNED, bool BSIGNED>
DEVICE void multiply_planes(u64 (&sum)[2][4][4], const u32 (*a)[ROW_WORDS], const u32 (*b)[ROW_WORDS], u32 shift)
{
    u32 g = threadIdx.x % 32 / 4, t = threadIdx.x % 4;
    i32 part[2][4][4] = {};
#pragma unroll
    for (int w = 0; w < 16; w += 8) {
        uint4 v[2];
#pragma unroll
        for (int i = 0; i < 2; i++) {
            const u32 *low = a[16 * i + g] + w + t, *high = low + 8 * ROW_WORDS;
            v[i] = make_uint4(low[0], high[0], low[4], high[4]);
        }
#pragma unroll
        for (int j = 0; j < 4; j++) {
            const u32 *y = b[8 * j + g] + w + t;
#pragma unroll
            for (int i = 0; i < 2; i++)
                mma_bytes<ASIGNED, BSIGNED>(part[i][j], v[i], y[0], y[4]);
        }
    }
#pragma unroll
    for (int i = 0; i < 2; i++)
#pragma unroll
        for (int j = 0; j < 4; j++)
#pragma unroll
            for (int e = 0; e < 4; e++)
                sum[i][j][e] += (u64)(i64)part[i][j][e] << shift;
}

// acc[O(b, i, j)] += coef·Σ_c A[b, i, c]·B[b, j, c] for i < m, j < n, c < k and all
// batches b: an entry lies where its indexes say, added up, each an index times a stride
// or, where there is a table, what that has for it. Integers are cut into bytes, of which
// the uppermost is signed, and products of these are the tensor cores'.
//
// blockIdx.x is the tile, by rows of tiles, and before that one of `parts` parts of the
// terms. If there are several, they are added up atomically. A block of four warps has a
// tile, each warp 32 by 32 of it.
KERNEL __launch_bounds__(128) forward_gemm(i64 *acc, const void *a, u64 awidth, const void *b, u64 bwidth, u64 m, u64 n, u64 k, u64 batches, u64 parts, i64 coef,
                                           u64 sab, u64 sam, u64 sak, u64 sbb, u64 sbn, u64 sbk, u64 sob, u64 som, u64 son,
                                           const i32 *tab, const i32 *tam, const i32 *tak, const i32 *tbb, const i32 *tbn, const i32 *tbk,
                                           const i32 *tob, const i32 *tom, const i32 *ton)
{
    DYNAMIC_SHARED(u32, planes);
    typedef u32 plane[TILE][ROW_WORDS];
    plane *as = (plane *)planes, *bs = as + awidth;
    __shared__ u64 arows[TILE], brows[TILE], aterms[DEPTH], bterms[DEPTH];
    u64 tiles = (n + TILE - 1) / TILE, all = (m + TILE - 1) / TILE * tiles;
    u64 tile = blockIdx.x % all, i0 = tile / tiles * TILE, j0 = tile % tiles * TILE;
    // This part's terms, in whole depths.
    u64 depths = (k + DEPTH - 1) / DEPTH, each = (depths + parts - 1) / parts;
    u64 from = blockIdx.x / all * each * DEPTH, to = min(k, from + each * DEPTH);
    u32 thread = threadIdx.x, lane = thread % 32, g = lane / 4, t = lane % 4;
    u32 wi = thread / 64 * 32, wj = thread / 32 % 2 * 32; // where the warp's part begins
    for (u64 batch = blockIdx.y; batch < batches; batch += gridDim.y) {
        u64 abase = along(tab, sab, batch), bbase = along(tbb, sbb, batch), obase = along(tob, sob, batch);
        if (thread < TILE)
            arows[thread] = i0 + thread < m ? abase + along(tam, sam, i0 + thread) : 0;
        else
            brows[thread - TILE] = j0 + thread - TILE < n ? bbase + along(tbn, sbn, j0 + thread - TILE) : 0;
        u64 sum[2][4][4] = {};
        for (u64 c0 = from; c0 < to; c0 += DEPTH) {
            if (thread < DEPTH)
                aterms[thread] = c0 + thread < to ? along(tak, sak, c0 + thread) : 0;
            else
                bterms[thread - DEPTH] = c0 + thread - DEPTH < to ? along(tbk, sbk, c0 + thread - DEPTH) : 0;
            __syncthreads();
            load_planes(as, a, awidth, arows, aterms, m - i0, to - c0, sak == 1 && !tak);
            load_planes(bs, b, bwidth, brows, bterms, n - j0, to - c0, sbk == 1 && !tbk);
            __syncthreads();
            for (u64 p = 0; p < awidth; p++)
                for (u64 q = 0; q < bwidth; q++) {
                    u32 shift = 8 * (u32)(p + q);
                    const u32(*x)[ROW_WORDS] = as[p] + wi, (*y)[ROW_WORDS] = bs[q] + wj;
                    if (p + 1 < awidth && q + 1 < bwidth)
                        multiply_planes<false, false>(sum, x, y, shift);
                    else if (p + 1 < awidth)
                        multiply_planes<false, true>(sum, x, y, shift);
                    else if (q + 1 < bwidth)
                        multiply_planes<true, false>(sum, x, y, shift);
                    else
                        multiply_planes<true, true>(sum, x, y, shift);
                }
            __syncthreads();
        }
#pragma unroll
        for (int i = 0; i < 2; i++)
#pragma unroll
            for (int j = 0; j < 4; j++)
#pragma unroll
                for (int e = 0; e < 4; e++) {
                    u64 r = i0 + wi + 16 * i + g + e / 2 * 8, s = j0 + wj + 8 * j + 2 * t + e % 2;
                    if (r >= m || s >= n)
                        continue;
                    u64 *o = (u64 *)&acc[obase + along(tom, som, r) + along(ton, son, s)], more = (u64)coef * sum[i][j][e];
                    if (parts > 1)
                        atomicAdd(o, more);
                    else
                        *o += more;
                }
        __syncthreads(); // before arows are the next batch's
    }
}

// acc[i·som + j·son] += coef·Σ_c a[i·k + c]·b[j·k + c] for bytes, on the tensor
// cores; k is a multiple of 16 below 2^17, so that sums fit 32 bits. A block of
// four warps has a tile of 64 by 64, 64 terms at a time; each warp 32 by 32 of
// it.
KERNEL __launch_bounds__(128) forward_gemm_i8(i64 *acc, const i8 *a, const i8 *b, u64 m, u64 n, u64 k, u64 som, u64 son, i64 coef)
{
    __shared__ u32 as[TILE][ROW_WORDS], bs[TILE][ROW_WORDS];
    u64 tiles = (n + TILE - 1) / TILE;
    u64 i0 = blockIdx.x / tiles * TILE, j0 = blockIdx.x % tiles * TILE;
    u32 x = threadIdx.x, lane = x % 32, g = lane / 4, t = lane % 4;
    u32 wi = x / 64 * 32, wj = x / 32 % 2 * 32; // where the warp's part begins
    u32 row = x / 4, part = x % 4;              // this thread copies 16 bytes of rows row and row + 32
    words4 p[2], q[2];                          // of a and b, on their way to shared memory
    auto load = [&](u64 c0) {
        u64 c = c0 + part * 16;
        for (int h = 0; h < 2; h++) {
            u64 i = i0 + row + 32 * h, j = j0 + row + 32 * h;
            p[h] = c < k && i < m ? *(const words4 *)(a + i * k + c) : words4{};
            q[h] = c < k && j < n ? *(const words4 *)(b + j * k + c) : words4{};
        }
    };
    i32 sum[2][4][4] = {};
    load(0);
    for (u64 c0 = 0; c0 < k; c0 += 64) {
        for (int h = 0; h < 2; h++) {
            *(words4 *)&as[row + 32 * h][part * 4] = p[h];
            *(words4 *)&bs[row + 32 * h][part * 4] = q[h];
        }
        __syncthreads();
        load(c0 + 64); // while the tensor cores work
        for (int w = 0; w < 16; w += 8) {
            uint4 x[2];
            for (int i = 0; i < 2; i++) {
                const u32 *low = as[wi + 16 * i + g] + w + t, *high = low + 8 * ROW_WORDS;
                x[i] = make_uint4(low[0], high[0], low[4], high[4]);
            }
            for (int j = 0; j < 4; j++) {
                const u32 *y = bs[wj + 8 * j + g] + w + t;
                for (int i = 0; i < 2; i++)
                    mma_s8_s8(sum[i][j], x[i], y[0], y[4]);
            }
        }
        __syncthreads();
    }
    for (int i = 0; i < 2; i++)
        for (int j = 0; j < 4; j++)
            for (int e = 0; e < 4; e++) {
                u64 r = i0 + wi + 16 * i + g + e / 2 * 8, s = j0 + wj + 8 * j + 2 * t + e % 2;
                if (r < m && s < n)
                    acc[r * som + s * son] += coef * sum[i][j][e];
            }
}

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

// dst[r·columns + c] = a[r·stride + c], which fits.
KERNEL forward_narrow_i8(i8 *dst, const i32 *a, u64 rows, u64 columns, u64 stride)
{
    for (u64 i = thread_index(); i < rows * columns; i += thread_count())
        dst[i] = (i8)a[i / columns * stride + i % columns];
}
