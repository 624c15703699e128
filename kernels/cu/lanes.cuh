// Two rounds of a sumcheck at once. With few terms eight lanes have the eight sums, so that no thread
// does much.
#pragma once
#include "sum.cuh"

// What tables still have to be bound to: the challenge of one round, or of two, r and s, as
// (1 − r)·s, r·(1 − s) and r·s.
struct challenges {
    qm31_factor w[3];
};

// They from a kernel's parameters.
DEVICE challenges taken(u64 w0_low, u64 w0_high, u64 w1_low, u64 w1_high, u64 w2_low, u64 w2_high)
{
    return {{qm31_prepare(qm31_unpack(w0_low, w0_high)), qm31_prepare(qm31_unpack(w1_low, w1_high)), qm31_prepare(qm31_unpack(w2_low, w2_high))}};
}

// Entry i of a table that has 2^folds·m entries t(0), t(1) …, its first variables bound to folds
// challenges.
template <u32 folds, class T>
DEVICE qm31 bound_of(T t, u64 i, u64 m, const challenges &r)
{
    if constexpr (folds == 0)
        return t(i);
    else if constexpr (folds == 1)
        return qm31_lerp(t(i), t(i + m), r.w[0]);
    else {
        qm31 t0 = t(i), t1 = t(i + m), t2 = t(i + 2 * m), t3 = t(i + 3 * m);
        qm31_sum v = {t0.a, t0.b, t0.c, t0.d};
        v.add(qm31_sub(t1, t0), r.w[0]);
        v.add(qm31_sub(t2, t0), r.w[1]);
        v.add(qm31_sub(t3, t0), r.w[2]);
        return v.value();
    }
}

template <u32 folds>
DEVICE qm31 bound(const qm31 *t, u64 i, u64 m, const challenges &r)
{
    return bound_of<folds>([&](u64 j) { return t[j]; }, i, m, r);
}

// The values of one table with the next two variables at 0, 1 and, where it is
// twice one of them, the difference of the two: from its entries at
// (0,0), (0,1), (1,0) and (1,1).
struct grid {
    qm31 v00, v01, v10, d0, d1, e0, e1, de;

    __device__ __forceinline__ grid(qm31 t0, qm31 t1, qm31 t2, qm31 t3)
        : v00(t0), v01(t1), v10(t2), d0(qm31_sub(t2, t0)), d1(qm31_sub(t3, t1)), e0(qm31_sub(t1, t0)), e1(qm31_sub(t3, t2)),
          de(qm31_sub(e1, e0))
    {
    }
};

// Adds the products of two tables on the grid of a quad.
DEVICE void add_grid(qm31_sum (&s)[8], const qm31 (&u)[4], const qm31 (&v)[4])
{
    grid f(u[0], u[1], u[2], u[3]), g(v[0], v[1], v[2], v[3]);
    s[0].add(f.v00, qm31_prepare(g.v00));
    s[1].add(f.v01, qm31_prepare(g.v01));
    s[2].add(f.v10, qm31_prepare(g.v10));
    s[3].add(f.d0, qm31_prepare(g.d0));
    s[4].add(f.d1, qm31_prepare(g.d1));
    s[5].add(f.e0, qm31_prepare(g.e0));
    s[6].add(f.e1, qm31_prepare(g.e1));
    s[7].add(f.de, qm31_prepare(g.de));
}

// Adds a block's sums of the products on a grid.
DEVICE void add_sums(u64 *sum, const qm31_sum (&s)[8])
{
    block_sums<8>(sum, {s[0].value(), s[1].value(), s[2].value(), s[3].value(), s[4].value(), s[5].value(), s[6].value(), s[7].value()});
}

// The element of a lane, of those of the same `width`. All lanes of a warp call it.
DEVICE qm31 from_lane(qm31 v, u32 lane, u32 width)
{
#ifdef PROVE_MODEL_HOST
    return __shfl_sync(~0u, v, lane, width);
#else
    return {__shfl_sync(~0u, v.a, lane, width), __shfl_sync(~0u, v.b, lane, width), __shfl_sync(~0u, v.c, lane, width),
            __shfl_sync(~0u, v.d, lane, width)};
#endif
}

// The values of a table with the next two variables at 0, 1 and, where it is twice one of them, the
// difference of the two, from its entries at (0,0), (0,1), (1,0) and (1,1), which four lanes from
// the `first` of `width` have. Lane k of each eight gets, by k: the entries at (0,0), (0,1) and
// (1,0); the differences in the first variable at (·,0) and (·,1), and in the second at (0,·) and
// (1,·); and that of these two.
DEVICE qm31 grid_value(qm31 v, u32 first, u32 width)
{
    const u32 k = threadIdx.x % 8, plus = 0x33132210u >> 4 * k & 3, minus = 0x22010000u >> 4 * k & 3;
    qm31 f = from_lane(v, first + plus, width), less = from_lane(v, first + minus, width);
    if (k >= 3)
        f = qm31_sub(f, less);
    less = from_lane(f, threadIdx.x % width / 8 * 8 + 5, width);
    if (k == 7)
        f = qm31_sub(f, less);
    return f;
}

// Adds lane k's values of all groups of eight lanes to sum[4·k …]. The block has a multiple of 32
// threads, 256 at most, which must all call it, once.
DEVICE void lane_sums(u64 *sum, qm31 v)
{
    __shared__ u32 part[8][32];
    for (u32 mask = 8; mask < 32; mask *= 2)
        v = qm31_add(v, across(v, mask));
    if (threadIdx.x % 32 < 8) {
        u32 *to = part[threadIdx.x / 32] + 4 * (threadIdx.x % 8);
        to[0] = v.a;
        to[1] = v.b;
        to[2] = v.c;
        to[3] = v.d;
    }
    __syncthreads();
    if (threadIdx.x < 32) {
        u64 all = 0;
        for (u32 w = 0; w < blockDim.x / 32; w++)
            all += part[w][threadIdx.x];
        atomicAdd(sum + threadIdx.x, all);
    }
}

// The first of the terms that the warp's groups of `width` lanes take next to each other, and how
// many there are of all.
DEVICE u64 first_term(u32 width) { return (thread_index() - threadIdx.x % 32) / width; }
DEVICE u64 terms_at_once(u32 width) { return thread_count() / width; }
