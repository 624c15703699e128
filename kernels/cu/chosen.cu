// Products with few matrices of many: by[row][e]·x[row/each][c]·w[e][j][c], of which by is mostly 0. What it chooses
// alone is read.
#include "ints.cuh"
#include "sum.cuh"

// acc[row·n + j] += coef·Σ_e by[row][e]·Σ_c w[e][j][c]·x[row/each][c]: a warp for a row and a j.
template <class T>
DEVICE void chosen_products(i64 *acc, const T *w, const void *x, u64 x_width, const void *by, u64 by_width, u64 rows, u64 experts, u64 n, u64 k,
                            u64 each, i64 coef)
{
    const u64 lane = thread_index() % 32, warps = thread_count() / 32;
    for (u64 job = thread_index() / 32; job < rows * n; job += warps) {
        const u64 row = job / n, j = job % n;
        i64 sum = 0;
        for (u64 first = 0; first < experts; first += 32) {
            const i32 own = first + lane < experts ? entry(by, by_width, row * experts + first + lane) : 0;
            for (u32 some = __ballot_sync(~0u, own != 0); some != 0; some &= some - 1) {
                const u32 e = (u32)__ffs((int)some) - 1;
                const i32 times = __shfl_sync(~0u, own, (int)e);
                const T *m = w + ((first + e) * n + j) * k;
                i64 one = 0;
                for (u64 c = lane; c < k; c += 32)
                    one += (i64)m[c] * entry(x, x_width, row / each * k + c);
                sum += one * times;
            }
        }
        for (int d = 16; d > 0; d /= 2)
            sum += __shfl_xor_sync(~0u, sum, d);
        if (lane == 0)
            acc[job] += coef * sum;
    }
}

#define CHOSEN_PRODUCTS(T)                                                                                                            \
    KERNEL chosen_products_##T(i64 *acc, const T *w, const void *x, u64 x_width, const void *by, u64 by_width, u64 rows, u64 experts, \
                               u64 n, u64 k, u64 each, i64 coef)                                                                      \
    {                                                                                                                                 \
        chosen_products<T>(acc, w, x, x_width, by, by_width, rows, experts, n, k, each, coef);                                        \
    }

CHOSEN_PRODUCTS(i8)
CHOSEN_PRODUCTS(i16)
CHOSEN_PRODUCTS(i32)

// out[e·pitch + c] = Σ_row weights[row]·by[row][e]·x[row/each][c], zero beyond the experts and the k of a row, for all
// `size` elements: one a thread.
KERNEL __launch_bounds__(256) chosen_restrict(qm31 *out, const qm31 *weights, const void *x, u64 x_width, const void *by, u64 by_width,
                                              u64 rows, u64 experts, u64 k, u64 each, u64 pitch, u64 size)
{
    for (u64 i = thread_index(); i < size; i += thread_count()) {
        const u64 e = i / pitch, c = i % pitch;
        qm31 sum = qm31_zero();
        if (e < experts && c < k)
            for (u64 row = 0; row < rows; row++) {
                const i32 times = entry(by, by_width, row * experts + e);
                if (times != 0)
                    sum = qm31_add(sum, qm31_mul_m31(weights[row], m31_mul(m31_from_i32(times), m31_from_i32(entry(x, x_width, row / each * k + c)))));
            }
        out[i] = sum;
    }
}
