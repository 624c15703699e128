// Kernels that test the shim: v[i] = i at first, one thread an element but
// where the kernel says otherwise.
#include "base.cuh"

constexpr u32 ALL = 0xffffffffu;

KERNEL indices(u32 *v, u64 n) { v[thread_index()] = threadIdx.x + blockIdx.x * blockDim.x; }

KERNEL reverse_block(u32 *v, u64 n)
{
    u32 mine = v[threadIdx.x];
    __syncthreads();
    v[n - 1 - threadIdx.x] = mine;
}

KERNEL reverse_shared(u32 *v, u64 n)
{
    DYNAMIC_SHARED(u32, copy);
    copy[threadIdx.x] = v[threadIdx.x];
    __syncthreads();
    v[threadIdx.x] = copy[n - 1 - threadIdx.x];
}

// A tree with a barrier a level.
KERNEL block_sum(u32 *v, u64 n)
{
    __shared__ u32 sums[1024];
    sums[threadIdx.x] = v[threadIdx.x];
    for (u32 half = (u32)n / 2; half > 0; half /= 2) {
        __syncthreads();
        if (threadIdx.x < half)
            sums[threadIdx.x] += sums[threadIdx.x + half];
    }
    __syncthreads();
    v[threadIdx.x] = sums[0];
}

KERNEL count(u32 *v, u64 n)
{
    v[threadIdx.x] = (u32)__syncthreads_count(threadIdx.x % 3 == 0);
    if (__syncthreads_or(threadIdx.x == 7) == 0 || __syncthreads_and(threadIdx.x != 7) != 0)
        v[threadIdx.x] = 0;
}

KERNEL rotate_warp(u32 *v, u64 n) { v[threadIdx.x] = __shfl_sync(ALL, v[threadIdx.x], (threadIdx.x + 1) % 32); }

KERNEL xor_warp(u32 *v, u64 n)
{
    u64 wide = (u64)v[threadIdx.x] << 32;
    v[threadIdx.x] = (u32)(__shfl_xor_sync(ALL, wide, 5) >> 32);
}

KERNEL prefix_warp(u32 *v, u64 n)
{
    u32 sum = v[threadIdx.x];
    for (u32 d = 1; d < 32; d *= 2) {
        u32 other = __shfl_up_sync(ALL, sum, d);
        if (threadIdx.x % 32 >= d)
            sum += other;
    }
    v[threadIdx.x] = sum;
}

KERNEL down_warp(u32 *v, u64 n) { v[threadIdx.x] = __shfl_down_sync(ALL, v[threadIdx.x], 8); }

KERNEL halves(u32 *v, u64 n) { v[threadIdx.x] = __shfl_sync(ALL, v[threadIdx.x], 0, 16); }

KERNEL ballot(u32 *v, u64 n)
{
    v[threadIdx.x] = __ballot_sync(ALL, threadIdx.x % 2);
    if (!__any_sync(ALL, threadIdx.x % 32 == 3) || __all_sync(ALL, threadIdx.x % 32 != 3))
        v[threadIdx.x] = 0;
}

// Groups of eight lanes, each with a mask of its own and its own number of
// operations.
KERNEL partial(u32 *v, u64 n)
{
    u32 group = threadIdx.x % 32 / 8, mask = 0xffu << (8 * group), mine = v[threadIdx.x];
    for (u32 i = 0; i <= group; i++)
        mine = __shfl_sync(mask, mine, (int)(8 * group));
    __syncwarp();
    v[threadIdx.x] = mine;
}

KERNEL bits(u32 *v, u64 n) { v[threadIdx.x] = __brev(v[threadIdx.x]); }

// sum[0] counts threads; the block that comes last copies it to sum[1].
KERNEL last_block(u64 *sum)
{
    __shared__ u32 last;
    static __device__ u32 finished;
    atomicAdd(sum, (u64)1);
    __syncthreads();
    if (threadIdx.x == 0)
        last = atomicAdd(&finished, 1u) == gridDim.x * gridDim.y - 1;
    __syncthreads();
    if (last && threadIdx.x == 0)
        sum[1] = sum[0];
}

// What must be refused. n is 900: the page of v begins and ends with bytes that
// belong to nobody.

KERNEL past_end(u32 *v, u64 n)
{
    if (threadIdx.x == 5)
        v[1024] = 1;
}

KERNEL before_begin(u32 *v, u64 n) { *(v - 1) = 1; }

KERNEL far_away(u32 *v, u64 n) { v[0] = *(u32 *)0x1230; }

KERNEL slack(u32 *v, u64 n) { v[n + 3] = 1; }

KERNEL past_shared(u32 *v, u64 n)
{
    DYNAMIC_SHARED(u32, s);
    s[17] = 1;
}

KERNEL split_barrier(u32 *v, u64 n)
{
    if (threadIdx.x < 32)
        __syncthreads();
    else
        v[threadIdx.x] = (u32)__syncthreads_count(1);
}

KERNEL missing_lane(u32 *v, u64 n)
{
    if (threadIdx.x == 3)
        return;
    v[threadIdx.x] = __shfl_sync(ALL, v[threadIdx.x], 0);
}

KERNEL lost_lane(u32 *v, u64 n)
{
    if (threadIdx.x == 3)
        __syncthreads();
    v[threadIdx.x] = __shfl_sync(ALL, v[threadIdx.x], 0);
}

KERNEL different_masks(u32 *v, u64 n)
{
    v[threadIdx.x] = __shfl_sync(threadIdx.x == 3 ? 0x0fu : ALL, v[threadIdx.x], 0);
}

KERNEL misaligned(u32 *v, u64 n) { v[0] = (u32)*(u64 *)(v + 1); }

KERNEL shift(u32 *v, u64 n) { v[0] = 1u << n; }

static u32 deeper(volatile u32 *v, u32 depth) { return depth == 0 ? 0 : v[0] + deeper(v, depth + 1) + v[1]; }

KERNEL recursion_forever(u32 *v, u64 n) { v[0] = deeper(v, 1); }
