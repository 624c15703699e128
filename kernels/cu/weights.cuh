// Weights that are products of two tables, package whir.
#pragma once
#include "m31.cuh"

// A weight over 2^n indexes is a product of a table over the
// upper bits of the index and one over the lower LOW, or all if there are fewer.
#define LOW 8

DEVICE u32 low_vars(u64 n) { return n < LOW ? (u32)n : LOW; }

// A weight_part is where the two tables of a weight are, in elements of a common
// array, and the number of variables. With it come n factors: variable j from
// the last multiplies by factors[j] where its bit is 1, and for eq by
// 1 - factors[j] where it is 0.
struct weight_part {
    u64 high, low, vars, factors;
};

// A row_part adds coef times a weight to every 2^stride-th entry of a row from entry
// `column` on, all of them within the 2^(n + stride) entries that begin at a multiple of
// that, for a weight over 2^n indexes.
struct row_part {
    u64 part;
    u32 column, stride;
    qm31 coef;
};

#define AT_ONCE 256 // parts of a row that a block looks at, threads of that

// four_weights sets v to entries k to k + 3 of a row, k a multiple of 4: the sums of its parts,
// those from `from` to `to` - 1. A block has consecutive k of one row; all its threads call
// it, those beyond the row too.
DEVICE void four_weights(qm31 (&v)[4], u64 k, u64 from, u64 to, const row_part *all, const weight_part *parts, const qm31 *tables)
{
    __shared__ row_part some[AT_ONCE];
    __shared__ u32 count;
    u64 first = k - 4 * threadIdx.x, last = first + 4 * blockDim.x - 1;
#pragma unroll
    for (u32 j = 0; j < 4; j++) v[j] = qm31_zero();
    for (; from < to; from += AT_ONCE) {
        __syncthreads(); // the parts before are done with
        if (threadIdx.x == 0) count = 0;
        __syncthreads();
        for (u64 i = from + threadIdx.x; i < min(to, from + AT_ONCE); i += blockDim.x) {
            row_part p = all[i];
            u64 span = (u64)1 << (parts[p.part].vars + p.stride), begin = p.column & ~(span - 1);
            if (begin <= last && first < begin + span) some[atomicAdd(&count, 1u)] = p;
        }
        __syncthreads();
        for (u32 i = 0; i < count; i++) {
            row_part p = some[i];
            weight_part w = parts[p.part];
            u32 l = low_vars(w.vars);
            u64 upper = ~(u64)0; // which `high` is for
            qm31 high = qm31_zero();
#pragma unroll
            for (u32 j = 0; j < 4; j++) {
                u64 d = k + j - p.column, x = d >> p.stride; // far beyond the weight's end before the column
                if (x >> w.vars || x << p.stride != d) continue;
                if (x >> l != upper) {
                    upper = x >> l;
                    high = qm31_mul(tables[w.high + upper], p.coef);
                }
                v[j] = qm31_add(v[j], qm31_mul(tables[w.low + (x & ((1u << l) - 1))], high));
            }
        }
    }
}
