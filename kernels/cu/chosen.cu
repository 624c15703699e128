// Products with few matrices of many: by[row][e]·x[row/each][c]·w[e][j][c], of which by is mostly 0. What it chooses
// alone is read.
#include "ints.cuh"
#include "sum.cuh"

// Rows that chose a matrix, of CHOSEN_WINDOW that are looked through at a time, and by[row][e] of each, in any order.
#define CHOSEN_WINDOW 1024
struct chosen_rows {
    u32 count, row[CHOSEN_WINDOW];
    i32 factor[CHOSEN_WINDOW];

    // All threads of a block call it for the rows of a window.
    __device__ __forceinline__ void find(const void *by, u64 by_width, u64 window, u64 rows, u64 experts, u64 e)
    {
        __syncthreads();
        if (threadIdx.x == 0)
            count = 0;
        __syncthreads();
        for (u64 r = window + threadIdx.x; r < min(rows, window + CHOSEN_WINDOW); r += blockDim.x)
            if (const i32 times = entry(by, by_width, r * experts + e)) {
                const u32 at = atomicAdd(&count, 1u);
                row[at] = (u32)r, factor[at] = times;
            }
        __syncthreads();
    }
};

// A block takes one matrix and CHOSEN_COLUMNS of its rows j, four a warp, and goes through the rows that chose the matrix, as many at a
// time as it has warps: so a weight that was read is multiplied with all of these. What they read is in shared memory, a piece of it at
// a time.
#define CHOSEN_WARPS 8
#define CHOSEN_COLUMNS (4 * CHOSEN_WARPS)
#define CHOSEN_PIECE 512

template <class T> struct alignas(4 * sizeof(T)) four { T v[4]; };

// Entries from c on of a list of k, zeros behind it. Lists that whole reads of four suit are `aligned`.
template <class T> DEVICE four<T> four_of(const T *list, u64 c, u64 k, bool aligned)
{
    if (aligned && c < k)
        return *(const four<T> *)(list + c);
    four<T> some;
#pragma unroll
    for (u32 i = 0; i < 4; i++)
        some.v[i] = c + i < k ? list[c + i] : 0;
    return some;
}

// Of 2·D sums in every lane of 2·D, lane i returns the i-th, of all of these lanes.
template <u32 D> DEVICE i64 lane_sums(i64 *v)
{
    const bool upper = threadIdx.x & D;
#pragma unroll
    for (u32 i = 0; i < D; i++) {
        const i64 kept = upper ? v[i + D] : v[i], sent = upper ? v[i] : v[i + D];
        v[i] = kept + __shfl_xor_sync(~0u, sent, (int)D);
    }
    if constexpr (D > 1)
        return lane_sums<D / 2>(v);
    return v[0];
}

// acc[row·n + j] += coef·Σ_e by[row][e]·Σ_c w[e][j][c]·x[row/each][c].
template <class T>
DEVICE void chosen_products(i64 *acc, const T *w, const void *x, u64 x_width, const void *by, u64 by_width, u64 rows, u64 experts, u64 n, u64 k,
                            u64 each, i64 coef)
{
    __shared__ __align__(16) i32 read[CHOSEN_WARPS][CHOSEN_PIECE];
    __shared__ chosen_rows chose;
    const u32 lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    const u64 tiles = (n + CHOSEN_COLUMNS - 1) / CHOSEN_COLUMNS;
    const bool aligned = k % 4 == 0 && (u64)w % sizeof(four<T>) == 0;
    for (u64 job = blockIdx.x; job < experts * tiles; job += gridDim.x) {
        const u64 e = job / tiles, first = job % tiles * CHOSEN_COLUMNS + 4 * warp;
        for (u64 window = 0; window < rows; window += CHOSEN_WINDOW) {
            chose.find(by, by_width, window, rows, experts, e);
            for (u32 batch = 0; batch < chose.count; batch += CHOSEN_WARPS) {
                const bool some = batch + warp < chose.count;
                const u64 own = some ? chose.row[batch + warp] / each * k : 0;
                i64 sums[4 * CHOSEN_WARPS] = {}; // of the warp's four columns, CHOSEN_WARPS each
                for (u64 from = 0; from < k; from += CHOSEN_PIECE) {
                    const u32 size = (u32)min((u64)CHOSEN_PIECE, k - from);
                    __syncthreads();
                    for (u32 c = lane; c < CHOSEN_PIECE; c += 32)
                        read[warp][c] = some && c < size ? entry(x, x_width, own + from + c) : 0;
                    __syncthreads();
                    for (u32 c = 4 * lane; c < size; c += 128) {
                        four<T> m[4];
#pragma unroll
                        for (u32 j = 0; j < 4; j++)
                            m[j] = four_of(w + (e * n + first + j) * k, from + c, first + j < n ? k : 0, aligned);
#pragma unroll
                        for (u32 r = 0; r < CHOSEN_WARPS; r++) {
                            const four<i32> v = *(const four<i32> *)(read[r] + c);
#pragma unroll
                            for (u32 j = 0; j < 4; j++)
#pragma unroll
                                for (u32 i = 0; i < 4; i++)
                                    sums[j * CHOSEN_WARPS + r] += (i64)v.v[i] * m[j].v[i];
                        }
                    }
                }
                const i64 sum = lane_sums<16>(sums);
                const u64 j = first + lane / CHOSEN_WARPS;
                const u32 r = batch + lane % CHOSEN_WARPS;
                if (j < n && r < chose.count)
                    atomicAdd((u64 *)&acc[chose.row[r] * n + j], (u64)(coef * chose.factor[r] * sum));
            }
        }
    }
}

#define CHOSEN_PRODUCTS(T)                                                                                                            \
    KERNEL __launch_bounds__(32 * CHOSEN_WARPS) chosen_products_##T(i64 *acc, const T *w, const void *x, u64 x_width, const void *by, \
                                                                    u64 by_width, u64 rows, u64 experts, u64 n, u64 k, u64 each,      \
                                                                    i64 coef)                                                         \
    {                                                                                                                                 \
        chosen_products<T>(acc, w, x, x_width, by, by_width, rows, experts, n, k, each, coef);                                        \
    }

CHOSEN_PRODUCTS(i8)
CHOSEN_PRODUCTS(i16)
CHOSEN_PRODUCTS(i32)

// out[e·pitch + c] = Σ_row weights[row]·by[row][e]·x[row/each][c], zero beyond the experts and the k of a row, in
// rows of `pitch`: one element a thread, and `blocks` blocks for each e.
KERNEL __launch_bounds__(256) chosen_restrict(qm31 *out, const qm31 *weights, const void *x, u64 x_width, const void *by, u64 by_width,
                                              u64 rows, u64 experts, u64 k, u64 each, u64 pitch, u64 blocks)
{
    __shared__ chosen_rows chose;
    const u64 e = blockIdx.x / blocks, c = blockIdx.x % blocks * blockDim.x + threadIdx.x;
    qm31 sum = qm31_zero();
    for (u64 window = 0; e < experts && window < rows; window += CHOSEN_WINDOW) {
        chose.find(by, by_width, window, rows, experts, e);
        for (u32 i = 0; c < k && i < chose.count; i++) {
            const u64 row = chose.row[i];
            sum = qm31_add(sum, qm31_mul_m31(weights[row], m31_mul(m31_from_i32(chose.factor[i]), m31_from_i32(entry(x, x_width, row / each * k + c)))));
        }
    }
    if (c < pitch)
        out[e * pitch + c] = sum;
}
