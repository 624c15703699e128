// Sums of products of all of a few elements of K with all of a few others, on the tensor cores:
// bytes times bytes, exact in 32 bits for 2^15 terms.
#pragma once
#include "mma.cuh"
#include "sum.cuh"

// A block has GRAM_THREADS threads: warp i < 8 has elements of the row i, the others those of a
// column. Each warp adds up the products of two rows with two columns.
#define GRAM_THREADS 512

// What a thread has of the sums: of 2×2 elements each, and of bytes 2·j + e of the columns' limbs
// in [e], the products of bytes as the instruction leaves them.
struct gram {
    i32 d[2][2][2][4];
};

// A warp's elements, one of each of 32 terms, as an operand: lane 8·l + 4·h + t has the bytes 2·h and
// 2·h + 1 of limb l, of eight of the terms. As rows they are the instruction's rows g and g + 8; as
// columns, those of two instructions, the even bytes and the odd ones.
DEVICE uint4 gram_operand(const uint4 *elements)
{
    const u32 lane = threadIdx.x % 32, l = lane / 8, t = lane % 4, bytes = lane & 4 ? 0x7362 : 0x5140;
    const u32 *from = (const u32 *)(elements + t) + l;
    u32 v[4];
#pragma unroll
    for (u32 half = 0; half < 2; half++) {
        u32 low = __byte_perm(from[64 * half], from[64 * half + 16], bytes);
        u32 high = __byte_perm(from[64 * half + 32], from[64 * half + 48], bytes);
        v[2 * half] = __byte_perm(low, high, 0x5410);
        v[2 * half + 1] = __byte_perm(low, high, 0x7632);
    }
    return make_uint4(v[0], v[1], v[2], v[3]);
}

// Adds the products of 32 terms, whose operands are those of warp i from 32·i on.
DEVICE void gram_add(gram &g, const uint4 *operands)
{
    const u32 lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    const uint4 *rows = operands + 64 * (warp / 4) + lane, *columns = operands + 256 + 64 * (warp % 4) + lane;
    uint4 a[2] = {rows[0], rows[32]}, b[2] = {columns[0], columns[32]};
#pragma unroll
    for (u32 i = 0; i < 2; i++)
#pragma unroll
        for (u32 j = 0; j < 2; j++) {
            mma_bytes<false, false>(g.d[i][j][0], a[i], b[j].x, b[j].z);
            mma_bytes<false, false>(g.d[i][j][1], a[i], b[j].y, b[j].w);
        }
}

// Of tables to[c][i][j] for c < 3·outer from those of from[o][i'][j'], o < outer, i' and j' < 2·half,
// elements of four words: with the uppermost bits of i' and j' both 0, both 1, and the sum of all four, two of
// which are taken negatively, which is the product of two differences.
DEVICE void gram_collapse(u32 *to, const u32 *from, u32 outer, u32 half)
{
    __syncthreads();
    const u32 words = 4 * half * half;
    for (u32 k = threadIdx.x; k < 3 * outer * words; k += blockDim.x) {
        u32 c = k / words, o = c / 3, i = k % words / (4 * half), rest = k % (4 * half);
        const u32 *at = from + ((o * 2 + 0) * half + i) * 8 * half + rest; // i' = i, j' = j
        u32 v00 = at[0], v01 = at[4 * half], v10 = at[8 * half * half], v11 = at[8 * half * half + 4 * half];
        to[k] = c % 3 == 0 ? v00 : c % 3 == 1 ? v11 : m31_sub(m31_add(v00, v11), m31_add(v01, v10));
    }
}

// Adds to the 108 words at sum the sums over all terms of the block of A·B, elements of the rows and
// the columns as polynomials in three variables, whose first is the uppermost bit of the element's
// index: at the 27 points with the variables at 0, at 1 and, for the leading coefficient, at infinity. The
// block has 4 KB at `room`, which nobody uses any more once all threads call it.
DEVICE void gram_sums(u64 *sum, const gram &g, u32 *room)
{
    const u32 lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    u32 *limbs = room; // products of limbs, 16 for each of 64 pairs
    __syncthreads();
#pragma unroll
    for (u32 i = 0; i < 2; i++)
#pragma unroll
        for (u32 j = 0; j < 2; j++) {
            const i32(&e)[4] = g.d[i][j][0], (&o)[4] = g.d[i][j][1];
            u64 v = (u64)(u32)e[0] + (((u64)(u32)e[2] + (u32)o[0]) << 8) + (((u64)(u32)e[1] + (u32)o[2]) << 16) +
                    (((u64)(u32)e[3] + (u32)o[1]) << 24) + ((u64)(u32)o[3] << 32); // < 2^64, each being below 2^31
            u32 q = m31_reduce(v);
            if (lane & 4)
                q = m31_mul2exp(q, 16);
            q = m31_add(q, __shfl_xor_sync(~0u, q, 4));
            if (!(lane & 4))
                limbs[((warp / 4 * 2 + i) * 8 + warp % 4 * 2 + j) * 16 + lane / 8 * 4 + lane % 4] = q;
        }
    __syncthreads();
    u32 limb = 0;
    if (threadIdx.x < 256) {
        const u32 *q = limbs + threadIdx.x / 4 * 16; // aa' ab' ac' ad' ba' …
        u64 v;
        switch (threadIdx.x % 4) {
        case 0:
            v = 7 * (u64)P + q[0] + 2 * (u64)q[10] - q[5] - 2 * (u64)q[15] - q[11] - q[14];
            break;
        case 1:
            v = (u64)P + q[1] + q[4] + 2 * (u64)q[11] + 2 * (u64)q[14] + q[10] - q[15];
            break;
        case 2:
            v = 2 * (u64)P + q[2] + q[8] - q[7] - q[13];
            break;
        default:
            v = (u64)q[3] + q[12] + q[6] + q[9];
        }
        limb = m31_reduce(v);
    }
    __syncthreads();
    u32 *x = room, *y = room + 256;
    if (threadIdx.x < 256)
        x[threadIdx.x] = limb;
    gram_collapse(y, x, 1, 4);
    gram_collapse(x, y, 3, 2);
    gram_collapse(y, x, 9, 1);
    __syncthreads();
    if (threadIdx.x < 108)
        atomicAdd(sum + threadIdx.x, (u64)y[threadIdx.x]);
}
