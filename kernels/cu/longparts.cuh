// Sums of long parts of rows (weights.cuh) on the tensor cores.
//
// They are products of matrices: of 2^NEAR elements 256·h + l, element (h, l) is a sum over the parts of an upper weight, times the
// coefficient, and a lower one. A product in K is one of a vector of four limbs, those of the lower weight, and a matrix of four by four;
// limbs are taken as bytes, without sign.
#pragma once
#include "mma.cuh"
#include "weights.cuh"

#define LONG_BLOCK 256                         // threads of a block
#define LONG_PARTS 256                         // that it looks at, at a time: of so many, sums of products of bytes fit into 32 bits
#define LONG_CHUNK 16                          // whose upper weights are made at a time
#define LONG_LOWERS 64                         // lower indexes of a block, with all sixteen upper ones; a warp takes sixteen with eight
#define LONG_TILES ((1 << LOW) / LONG_LOWERS) // blocks for 2^NEAR elements

// A long part, as far as a block has some of it: where its upper weights for the block and its lower ones lie.
struct long_part {
    u64 high, low;
    qm31 coef;
};

// The upper weights of a chunk as operand b of the instruction: of the matrix of each there are rows [limb of the product], and of a row
// [byte] of its four limbs as a word. Lane 4·g + t has upper index 8·half + g, and in [0] part 8·step + t, in [1] part 8·step + 4 + t.
struct long_uppers {
    u32 word[LONG_CHUNK / 8][2][4][4][32][2]; // [step][half][limb][byte][lane]
};

// Which of them a thread makes: that of one part and index.
struct long_upper {
    u32 lane, second, half, step;

    __device__ __forceinline__ long_upper()
        : lane(threadIdx.x % 32), second(threadIdx.x / 32 % 2), half(threadIdx.x / 64 % 2), step(threadIdx.x / 128) {}
    __device__ __forceinline__ u32 part() const { return 8 * step + 4 * second + lane % 4; }
    __device__ __forceinline__ u32 index() const { return 8 * half + lane / 4; }

    __device__ __forceinline__ void put(long_uppers &to, qm31 weight) const
    {
        qm31_factor f = qm31_prepare(weight);
        u32 rows[4][4];
        transpose(rows[0], f.a, f.nb, f.e, f.nf); // as in qm31_mul
        transpose(rows[1], f.b, f.a, f.f, f.e);
        transpose(rows[2], f.c, f.nd, f.a, f.nb);
        transpose(rows[3], f.d, f.c, f.b, f.a);
#pragma unroll
        for (u32 limb = 0; limb < 4; limb++)
#pragma unroll
            for (u32 byte = 0; byte < 4; byte++) to.word[step][half][limb][byte][lane][second] = rows[limb][byte];
    }
};

// What a thread has of the sums of a block: the elements with lower indexes `lower` and lower + 8 and upper ones `upper` and upper + 1, of
// 2^NEAR from `first` on.
struct long_sums {
    u64 first;
    u32 lower, upper;
    qm31 sum[2][2]; // [lower][upper]

    __device__ __forceinline__ long_sums(u64 tile) : first(tile / LONG_TILES << NEAR), sum{}
    {
        const u32 lane = threadIdx.x % 32, warp = threadIdx.x / 32;
        lower = (u32)(tile % LONG_TILES) * LONG_LOWERS + warp / 2 * 16 + lane / 4;
        upper = 8 * (warp % 2) + 2 * (lane % 4);
    }

    __device__ __forceinline__ void put(qm31 *row) const
    {
        for (u32 l = 0; l < 2; l++)
            for (u32 h = 0; h < 2; h++) row[first + ((upper + h) << LOW) + lower + 8 * l] = sum[l][h];
    }

    // add adds the parts from number `from` to to - 1.
    __device__ void add(u64 from, u64 to, const row_part *all, const weight_part *parts, const qm31 *tables)
    {
        __shared__ long_part some[LONG_PARTS];
        __shared__ long_uppers uppers[2]; // those in use, and the next
        __shared__ u32 count;
        const u32 lane = threadIdx.x % 32, t = lane % 4, half = threadIdx.x / 32 % 2;
        const long_upper own;
        // What is read is on its way while what was read before is multiplied. Behind the last part lower weights are any, as upper ones
        // are zero.
        auto upper_of = [&](u32 chunk) { // before it is multiplied by the coefficient
            u32 part = chunk + own.part();
            return part < count ? tables[some[part].high + own.index()] : qm31_zero();
        };
        auto weight_of = [&](u32 chunk, qm31 upper) { return qm31_mul(upper, some[min(chunk + own.part(), count - 1)].coef); };
        auto get_lowers = [&](qm31(&v)[4], u32 part) {
            const qm31 *x = tables + some[min(part + t, count - 1)].low + lower;
            const qm31 *y = tables + some[min(part + 4 + t, count - 1)].low + lower;
            v[0] = x[0], v[1] = x[8], v[2] = y[0], v[3] = y[8];
        };
        for (; from < to; from += LONG_PARTS) {
            __syncthreads(); // the parts before are done with
            if (threadIdx.x == 0) count = 0;
            __syncthreads();
            if (from + threadIdx.x < to) {
                row_part r = all[from + threadIdx.x];
                weight_part w = parts[r.part];
                u64 d = first - r.column; // far beyond the weight's end before the column
                if (d >> w.vars == 0) some[atomicAdd(&count, 1u)] = {w.high + (d >> LOW), w.low, r.coef};
            }
            __syncthreads();
            if (count == 0) continue;
            qm31 v[4];
            get_lowers(v, 0);
            own.put(uppers[0], weight_of(0, upper_of(0)));
            __syncthreads();
            i32 d[4][7][4] = {}; // of limbs, by the sum of the numbers of the bytes that are multiplied
            for (u32 chunk = 0; chunk < count; chunk += LONG_CHUNK) {
                const long_uppers &b = uppers[chunk / LONG_CHUNK % 2];
                qm31 next = upper_of(chunk + LONG_CHUNK);
                for (u32 step = 0; step < LONG_CHUNK / 8 && chunk + 8 * step < count; step++) {
                    u32 a[4][4];
#pragma unroll
                    for (u32 i = 0; i < 4; i++) transpose(a[i], v[i].a, v[i].b, v[i].c, v[i].d);
                    get_lowers(v, chunk + 8 * step + 8);
#pragma unroll
                    for (u32 j = 0; j < 4; j++)
#pragma unroll
                        for (u32 limb = 0; limb < 4; limb++) {
                            uint2 w = *(const uint2 *)b.word[step][half][limb][j][lane];
#pragma unroll
                            for (u32 i = 0; i < 4; i++)
                                mma_bytes<false, false>(d[limb][i + j], make_uint4(a[0][i], a[1][i], a[2][i], a[3][i]), w.x, w.y);
                        }
                }
                if (chunk + LONG_CHUNK < count) own.put(uppers[(chunk / LONG_CHUNK + 1) % 2], weight_of(chunk + LONG_CHUNK, next));
                __syncthreads();
            }
#pragma unroll
            for (u32 i = 0; i < 4; i++) { // the instruction's rows are lower indexes, its columns upper ones
                u32 limbs[4];
#pragma unroll
                for (u32 limb = 0; limb < 4; limb++) {
                    u64 x = 0; // 2^31 is 1 mod p
#pragma unroll
                    for (u32 k = 0; k < 7; k++) x += (u64)(u32)d[limb][k][i] << (k < 4 ? 8 * k : 8 * k - 31);
                    limbs[limb] = m31_reduce(x);
                }
                sum[i / 2][i % 2] = qm31_add(sum[i / 2][i % 2], {limbs[0], limbs[1], limbs[2], limbs[3]});
            }
        }
    }
};
