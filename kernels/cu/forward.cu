// The forward pass on integers: matrix products into sums of 64 bits, and
// look-up steps on them. Everything is exact.
#include "base.cuh"
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

// Entry i of integers of the given width in bytes.
DEVICE i32 entry(const void *p, u64 width, u64 i)
{
    if (width == 1)
        return ((const i8 *)p)[i];
    if (width == 2)
        return ((const i16 *)p)[i];
    return ((const i32 *)p)[i];
}

// A tile of a matrix product: 64 by 64 sums in a block of 256 threads, four by
// four a thread, over 16 terms at a time.
constexpr int TILE = 64, DEPTH = 16;

// acc[b·so + i·som + j·son] += coef·Σ_c A[b·sa + i·sam + c·sak]·B[b·sb + j·sbn + c·sbk],
// i < m, j < n, c < k, b = blockIdx.y; blockIdx.x is the tile, by rows of tiles.
KERNEL forward_gemm(i64 *acc, const void *a, u64 awidth, const void *b, u64 bwidth, u64 m, u64 n, u64 k,
                    u64 sam, u64 sak, u64 sbn, u64 sbk, u64 som, u64 son, u64 sa, u64 sb, u64 so, i64 coef)
{
    __shared__ i32 as[DEPTH][TILE + 1], bs[DEPTH][TILE + 1];
    u64 tiles = (n + TILE - 1) / TILE;
    u64 i0 = blockIdx.x / tiles * TILE, j0 = blockIdx.x % tiles * TILE;
    u64 abase = blockIdx.y * sa, bbase = blockIdx.y * sb;
    u32 t = threadIdx.x, ty = t / 16, tx = t % 16;
    i64 sum[4][4] = {};
    for (u64 c0 = 0; c0 < k; c0 += DEPTH) {
        for (u32 e = t; e < TILE * DEPTH; e += 256) {
            // Neighbours in memory go to neighbouring threads.
            u32 i = sak == 1 ? e / DEPTH : e % TILE, c = sak == 1 ? e % DEPTH : e / TILE;
            as[c][i] = i0 + i < m && c0 + c < k ? entry(a, awidth, abase + (i0 + i) * sam + (c0 + c) * sak) : 0;
            u32 j = sbk == 1 ? e / DEPTH : e % TILE, d = sbk == 1 ? e % DEPTH : e / TILE;
            bs[d][j] = j0 + j < n && c0 + d < k ? entry(b, bwidth, bbase + (j0 + j) * sbn + (c0 + d) * sbk) : 0;
        }
        __syncthreads();
        for (int c = 0; c < DEPTH; c++) {
            i32 x[4], y[4];
            for (int i = 0; i < 4; i++) {
                x[i] = as[c][ty * 4 + i];
                y[i] = bs[c][tx + 16 * i];
            }
            for (int i = 0; i < 4; i++)
                for (int j = 0; j < 4; j++)
                    sum[i][j] += (i64)x[i] * y[j];
        }
        __syncthreads();
    }
    for (int i = 0; i < 4; i++)
        for (int j = 0; j < 4; j++) {
            u64 row = i0 + ty * 4 + i, column = j0 + tx + 16 * j;
            if (row < m && column < n)
                acc[blockIdx.y * so + row * som + column * son] += coef * sum[i][j];
        }
}

// Words of a row of 64 bytes in shared memory: four more than its 16, so that
// the eight rows that a warp reads at once lie in different banks.
constexpr int ROW_WORDS = 20;

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

// acc[i·so] += coef·a[i·sa]·b[i·sb] for n entries.
KERNEL forward_elementwise(i64 *acc, const void *a, u64 awidth, const void *b, u64 bwidth, u64 n, u64 sa, u64 sb, u64 so, i64 coef)
{
    for (u64 i = thread_index(); i < n; i += thread_count())
        acc[i * so] += coef * entry(a, awidth, i * sa) * entry(b, bwidth, i * sb);
}

// A piece of a piecewise-linear table: rows up to end, exclusive, have the value
// slope·key + offset.
struct piece {
    i64 end, slope, offset;
};

constexpr i64 BOUND = (i64)1 << 30;

// The look-up step on n accumulators: keys acc >> shift, lo the bits shifted out
// (lo may be null), out the table's value (out may be null): that of the first
// of the pieces that ends beyond the row, or values[row], integers of that
// width, if there are no pieces. The table has `rows` rows from the key least. Counts the rows used.
// *bad becomes 1 where an accumulator is not within ±2^30 or a key not in the
// table; the results are then undefined.
//
// If local, a block counts in shared memory, of 4 bytes a row, and adds that up
// in the end: most of a network's values fall on few rows of a table.
KERNEL forward_lookup(const i64 *acc, u64 n, u64 shift, i64 least, u64 rows, const piece *pieces, u64 npieces,
                      const void *values, u64 width, i32 *keys, i32 *out, i32 *lo, i32 *counts, u32 *bad, u64 local)
{
    DYNAMIC_SHARED(i32, own);
    if (local) {
        for (u64 r = threadIdx.x; r < rows; r += blockDim.x)
            own[r] = 0;
        __syncthreads();
    }
    for (u64 i = thread_index(); i < n; i += thread_count()) {
        i64 x = acc[i], key = x >> shift, row = key - least;
        if (x <= -BOUND || x >= BOUND || row < 0 || row >= (i64)rows) {
            *bad = 1;
            continue;
        }
        keys[i] = (i32)key;
        atomicAdd(local ? &own[row] : &counts[row], 1);
        if (lo)
            lo[i] = (i32)(x & (((i64)1 << shift) - 1));
        if (out) {
            if (npieces == 0) {
                out[i] = entry(values, width, row);
                continue;
            }
            u64 p = 0;
            while (p + 1 < npieces && row >= pieces[p].end)
                p++;
            out[i] = (i32)(pieces[p].slope * key + pieces[p].offset);
        }
    }
    if (local) {
        __syncthreads();
        for (u64 r = threadIdx.x; r < rows; r += blockDim.x)
            if (own[r] != 0)
                atomicAdd(&counts[r], own[r]);
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
