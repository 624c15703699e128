// Sums of products of all of eight elements of K with all of eight others, on the tensor cores: bytes
// times bytes, exact in 32 bits for 2^15 terms.
#pragma once
#include "mma.cuh"
#include "sum.cuh"

// A block has GRAM_THREADS threads. A plane are 32 terms of 16 elements, those of the eight rows
// and then those of the eight columns: an element for each thread.
#define GRAM_THREADS 512

// What a thread has of the products of ROWS rows with two columns, of bytes: [e] are those with bytes
// 2·j + e of the columns' limbs, as the instruction leaves them.
template <u32 ROWS>
struct gram {
    i32 d[ROWS][2][2][4];
};

// 32 elements, one of each term, as an operand of mma_bytes: lane 8·l + 4·h + t has the bytes 2·h and 2·h + 1
// of limb l, of eight of the terms. As rows they are the instruction's rows g and g + 8; as columns,
// those of two instructions, the even bytes and the odd ones.
DEVICE uint4 gram_operand(const uint4 *elements)
{
    u32 v[4];
    load_transposed(v, elements + threadIdx.x % 32);
    return make_uint4(__byte_perm(v[0], v[1], 0x6420), __byte_perm(v[0], v[1], 0x7531), __byte_perm(v[2], v[3], 0x6420),
                      __byte_perm(v[2], v[3], 0x7531));
}

// The first of the rows and of the columns that a warp multiplies. There are as many planes at once
// as it takes for all warps to have some.
template <u32 ROWS> DEVICE u32 first_row() { return threadIdx.x / 128 * ROWS % 8; }
DEVICE u32 first_column() { return threadIdx.x / 32 % 4 * 2; }

// Adds the products of the warp's plane, of those from `planes` on.
template <u32 ROWS>
DEVICE void gram_add(gram<ROWS> &g, const uint4 *planes)
{
    const uint4 *mine = planes + threadIdx.x / (64 * (16 / ROWS)) * GRAM_THREADS;
    uint4 b[2];
#pragma unroll
    for (u32 j = 0; j < 2; j++)
        b[j] = gram_operand(mine + 32 * (8 + first_column() + j));
#pragma unroll
    for (u32 i = 0; i < ROWS; i++) {
        uint4 a = gram_operand(mine + 32 * (first_row<ROWS>() + i));
#pragma unroll
        for (u32 j = 0; j < 2; j++) {
            mma_bytes<false, false>(g.d[i][j][0], a, b[j].x, b[j].z);
            mma_bytes<false, false>(g.d[i][j][1], a, b[j].y, b[j].w);
        }
    }
}

// How often product m of limbs, aa', ab', ac', ad', ba' …, is in each limb of a product in K, and two, as
// nibbles.
DEVICE constexpr u64 limb_counts(u32 limb)
{
    const i32 counts[4][16] = {{1, 0, 0, 0, 0, -1, 0, 0, 0, 0, 2, -1, 0, 0, -1, -2},
                               {0, 1, 0, 0, 1, 0, 0, 0, 0, 0, 1, 2, 0, 0, 2, -1},
                               {0, 0, 1, 0, 0, 0, 0, -1, 1, 0, 0, 0, 0, -1, 0, 0},
                               {0, 0, 0, 1, 0, 0, 1, 0, 0, 1, 0, 0, 1, 0, 0, 0}};
    u64 nibbles = 0;
    for (u32 m = 0; m < 16; m++)
        nibbles |= (u64)(counts[limb][m] + 2) << 4 * m;
    return nibbles;
}

// Adds to the 108 words at sum, or puts into a box if there is one, the sums over all terms of the block of A·B,
// elements of the rows and the columns as polynomials in three variables, whose first is the uppermost bit
// of the element's index: at the 27 points with the variables at 0, at 1 and, for the leading coefficient, at
// infinity. The block has 8 KB at `room`, which nobody uses any more once all threads call it. What is done
// once is short: to fetch instructions takes longer than to run them.
template <u32 ROWS>
DEVICE void gram_sums(u64 *sum, u64 *box, const gram<ROWS> &g, u32 *room)
{
    constexpr u32 sets = ROWS / 2; // of warps with terms of their own
    const u32 lane = threadIdx.x % 32;
    __syncthreads();
    // Products of limbs, 16 for each of 64 pairs.
    u32 *limbs = room + threadIdx.x / (64 * (16 / ROWS)) * 1024 + (first_row<ROWS>() * 8 + first_column()) * 16 + lane / 8 * 4 + lane % 4;
#pragma unroll
    for (u32 i = 0; i < ROWS; i++)
#pragma unroll
        for (u32 j = 0; j < 2; j++) {
            const i32(&e)[4] = g.d[i][j][0], (&o)[4] = g.d[i][j][1];
            u64 v = (u32)e[0] + (u64)(u32)e[2] * 0x100 + (u64)(u32)o[0] * 0x100 + (u64)(u32)e[1] * 0x10000 + (u64)(u32)o[2] * 0x10000 +
                    (u64)(u32)e[3] * 0x1000000 + (u64)(u32)o[1] * 0x1000000 + ((u64)(u32)o[3] << 32); // < 2^64, each being below 2^31
            u32 q = m31_reduce(v);
            q = m31_add(q, m31_mul2exp(__shfl_xor_sync(~0u, q, 4), 16)); // right in lanes with the lower bytes
            if (!(lane & 4))
                limbs[(i * 8 + j) * 16] = q;
        }
    __syncthreads();
    u32 limb = 0;
    if (threadIdx.x < 256) {
        const u32 *q = room + threadIdx.x / 4 * 16, k = threadIdx.x % 4;
        constexpr u64 a = limb_counts(0), b = limb_counts(1), c = limb_counts(2), d = limb_counts(3);
        u64 nibbles = k == 0 ? a : k == 1 ? b : k == 2 ? c : d, v = 0;
#pragma unroll 4
        for (u32 m = 0; m < 16; m++, nibbles >>= 4) {
            u32 both = q[m];
            if (sets == 2)
                both = m31_add(both, q[m + 1024]);
            v += (u64)((u32)nibbles & 15) * both + 2 * (u64)(P - both); // the count's and a multiple of p
        }
        limb = m31_reduce(v);
    }
    __syncthreads();
    u32 *from = room, *to = room + 256;
    if (threadIdx.x < 256)
        from[threadIdx.x] = limb;
    // Elements of four words from[o][i'][j'], o < outer, i' and j' < 2·half, become to[c][i][j], c < 3·outer: with the uppermost
    // bits of i' and j' both 0, both 1, and the product of the two differences.
    u32 outer = 1;
#pragma unroll 1
    for (i32 log = 2; log >= 0; log--, outer *= 3) {
        __syncthreads();
        const u32 row = 8u << log, k = threadIdx.x, c = k >> (2 + 2 * log);
        if (c < 3 * outer) {
            const u32 *at = from + (c / 3 * (2u << log) + (k >> (2 + log) & ((1u << log) - 1))) * row + (k & (row / 2 - 1));
            u32 v00 = at[0], v01 = at[row / 2], v10 = at[row << log], v11 = at[(row << log) + row / 2];
            to[k] = c % 3 == 0 ? v00 : c % 3 == 1 ? v11 : m31_sub(m31_add(v00, v11), m31_add(v01, v10));
        }
        u32 *other = from;
        from = to;
        to = other;
    }
    __syncthreads();
    if (threadIdx.x < 108) {
        if (box)
            *(volatile u64 *)(box + threadIdx.x) = from[threadIdx.x];
        else
            atomicAdd(sum + threadIdx.x, (u64)from[threadIdx.x]);
    }
}
