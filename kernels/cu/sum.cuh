// Sums over K across a grid, and the weights eq(r, x) of sums.
#pragma once
#include "m31.cuh"

// An element passed to a kernel as two words, the first limbs low.
DEVICE qm31 qm31_unpack(u64 low, u64 high) { return {(u32)low, (u32)(low >> 32), (u32)high, (u32)(high >> 32)}; }

// x + r·(y − x).
DEVICE qm31 qm31_lerp(qm31 x, qm31 y, const qm31_factor &r) { return qm31_add(x, qm31_mul(qm31_sub(y, x), r)); }

// The element of the lane whose number differs in the bits of mask. All lanes of a warp call it. On the
// host each shuffle takes long, and one has room for all limbs.
DEVICE qm31 across(qm31 v, int mask)
{
#ifdef PROVE_MODEL_HOST
    return __shfl_xor_sync(~0u, v, mask);
#else
    return {__shfl_xor_sync(~0u, v.a, mask), __shfl_xor_sync(~0u, v.b, mask), __shfl_xor_sync(~0u, v.c, mask),
            __shfl_xor_sync(~0u, v.d, mask)};
#endif
}

// The sum over the warp, in every lane; all lanes must call it.
DEVICE qm31 warp_sum(qm31 v)
{
    for (int mask = 16; mask > 0; mask >>= 1)
        v = qm31_add(v, across(v, mask));
    return v;
}

// Adds v to a sum kept as four words, one a limb, that whoever reads it reduces
// mod p. Sums of integers do not depend on the order; fewer than 2^33 calls for
// one sum cannot overflow.
DEVICE void add_to(u64 *sum, qm31 v)
{
    atomicAdd(sum + 0, (u64)v.a);
    atomicAdd(sum + 1, (u64)v.b);
    atomicAdd(sum + 2, (u64)v.c);
    atomicAdd(sum + 3, (u64)v.d);
}

// Adds the block's sums of N values to sum[0 … 3], sum[4 … 7] …. The block has a
// multiple of 32 threads, which must all call it, once.
template <u32 N>
DEVICE void block_sums(u64 *sum, const qm31 (&values)[N])
{
    __shared__ qm31 part[N][32];
    u32 lane = threadIdx.x % 32, warp = threadIdx.x / 32, warps = blockDim.x / 32;
#pragma unroll
    for (u32 i = 0; i < N; i++) {
        qm31 v = warp_sum(values[i]);
        if (lane == 0)
            part[i][warp] = v;
    }
    __syncthreads();
    for (u32 i = warp; i < N; i += warps) {
        qm31 v = warp_sum(lane < warps ? part[i][lane] : qm31_zero());
        if (lane == 0)
            add_to(sum + 4 * i, v);
    }
}

DEVICE void block_sums(u64 *sum, qm31 x, qm31 y) { block_sums<2>(sum, {x, y}); }

// Where a launch puts its sums when all blocks are done: in a result buffer, whose words are ~0 until they
// are written, so that the host waits for each and no order of them has to be waited for here. Null for
// nowhere. The launch counts its blocks in `done`, which it finds zero and leaves so.
struct result_buffer {
    u64 *box, *done;

    // Whether all other blocks are done, as every thread of every block is told that calls it; what
    // they have added up is then there to read. One thread's fences do for its block, between barriers.
    __device__ __forceinline__ bool last() const
    {
        __shared__ bool is_last;
        __syncthreads();
        if (threadIdx.x == 0) {
            __threadfence();
            is_last = atomicAdd(done, (u64)1) + 1 == (u64)gridDim.x * gridDim.y;
            if (is_last)
                *done = 0;
            __threadfence();
        }
        __syncthreads();
        return is_last;
    }

    // Every thread of every block calls it last. words sums are at from, which are zero
    // again afterwards, and below 2^63.
    __device__ __forceinline__ void send(u64 *from, u64 words) const
    {
        if (!box || !last())
            return;
        for (u64 i = threadIdx.x; i < words; i += blockDim.x) {
            *(volatile u64 *)(box + i) = *(volatile u64 *)(from + i);
            from[i] = 0;
        }
    }
};

// Weights eq(r, x_0 …) of x in {0,1}^vars over the last eq coordinates left of
// a point of which some are bound, constant in the other variables of x. A heap
// over coordinates c_0 … c_(m−1) has eq(c_(m−l) … c_(m−1), i) in entry 2^l + i.
struct weights {
    const qm31 *outer, *inner; // heaps over the first and the last coordinates
    u32 outer_eq, inner_eq;    // coordinates left of each
    u32 free;                  // variables without

    __device__ __forceinline__ bool none() const { return outer_eq + inner_eq == 0; }

    // The weight of x.
    __device__ __forceinline__ qm31 at(u64 x) const
    {
        if (inner_eq == 0)
            return outer[(1u << outer_eq) + (x >> free)];
        qm31 e = inner[(1u << inner_eq) + (x >> free & ((1u << inner_eq) - 1))];
        return outer_eq == 0 ? e : qm31_mul(e, outer[(1u << outer_eq) + (x >> (free + inner_eq))]);
    }
};

// The weights of vars variables of which the first eq have coordinates; the
// heap over the last ones has all_inner of them.
DEVICE weights weights_of(const qm31 *outer, const qm31 *inner, u32 all_inner, u32 eq, u32 vars)
{
    u32 in = min(eq, all_inner);
    return {outer, inner, eq - in, in, vars - eq};
}

// The most values a thread adds up before it multiplies by the outer weight.
#define RUN 8

// Adds Σ_x w(x)·f(x) over x < n to sum and sum[4 …]: f(x, p, q) sets two
// values. Blocks take runs of consecutive x; all threads must call it.
template <class F>
DEVICE void weighted_sums(u64 *sum, u64 n, const weights &w, F f)
{
    // Of a run, each thread has values that are a block apart and share their
    // outer weight.
    u32 same = w.free + w.inner_eq, run = 1;
    while (run < RUN && (same >= 32 || 2 * run * blockDim.x <= 1u << same) && 2 * run * thread_count() <= n)
        run *= 2;
    qm31 p_sum = qm31_zero(), q_sum = qm31_zero();
    for (u64 from = (u64)blockIdx.x * blockDim.x * run + threadIdx.x; from < n; from += thread_count() * run) {
        qm31 p_run = qm31_zero(), q_run = qm31_zero();
        for (u32 k = 0; k < run; k++) {
            u64 x = from + k * blockDim.x;
            if (x >= n)
                break;
            qm31 p, q;
            f(x, p, q);
            if (w.inner_eq > 0) {
                qm31_factor e = qm31_prepare(w.inner[(1u << w.inner_eq) + (x >> w.free & ((1u << w.inner_eq) - 1))]);
                p = qm31_mul(p, e);
                q = qm31_mul(q, e);
            }
            p_run = qm31_add(p_run, p);
            q_run = qm31_add(q_run, q);
        }
        if (w.outer_eq > 0) {
            qm31_factor e = qm31_prepare(w.outer[(1u << w.outer_eq) + (from >> same)]);
            p_run = qm31_mul(p_run, e);
            q_run = qm31_mul(q_run, e);
        }
        p_sum = qm31_add(p_sum, p_run);
        q_sum = qm31_add(q_sum, q_run);
    }
    block_sums(sum, p_sum, q_sum);
}
