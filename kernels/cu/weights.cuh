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

#define NEAR 12     // log2 of the entries of a row of which the short parts are listed together; a long part has as many or more
#define AT_ONCE 128 // parts of a row that a block looks at
#define FOUR_BLOCK 256 // its threads

// A part of a row, with its weight.
struct live_part {
    row_part row;
    weight_part weight;
};

// Products of K not yet reduced add up in 64 bits, up to 2^30 of them.
struct wide_qm31 {
    u64 a, b, c, d;
};

DEVICE u64 half_reduced(u64 v) { return (v & P) + (v >> 31); }

DEVICE void add_product(wide_qm31 &sum, qm31 x, const qm31_factor &y)
{
    sum.a += half_reduced((u64)x.a * y.a + (u64)x.b * y.nb + (u64)x.c * y.e + (u64)x.d * y.nf);
    sum.b += half_reduced((u64)x.a * y.b + (u64)x.b * y.a + (u64)x.c * y.f + (u64)x.d * y.e);
    sum.c += half_reduced((u64)x.a * y.c + (u64)x.b * y.nd + (u64)x.c * y.a + (u64)x.d * y.nb);
    sum.d += half_reduced((u64)x.a * y.d + (u64)x.b * y.c + (u64)x.c * y.b + (u64)x.d * y.a);
}

// The lists of parts that a row has: the long ones, of 2^NEAR entries or more next to each other, others that reach over more than 2^NEAR
// entries, and for each 2^NEAR entries those that lie within them. List i has the parts from number lists[i] to lists[i + 1] - 1.
#define LONG_LIST 0
#define FAR_LIST 1
#define NEAR_LISTS 2

DEVICE u64 part_lists(u64 entries) { return NEAR_LISTS + max((u64)1, entries >> NEAR); }

// Adds to one of four sums the product of x and y.
DEVICE void add_product_to(wide_qm31 (&sum)[4], u32 number, qm31 x, const qm31_factor &y)
{
    wide_qm31 v = {};
    add_product(v, x, y);
#pragma unroll
    for (u32 j = 0; j < 4; j++) // not by its number, so that sums lie in registers
        if (j == number) sum[j].a += v.a, sum[j].b += v.b, sum[j].c += v.c, sum[j].d += v.d;
}

// Chains of the parts that four_weights has a thread look at.
#define CHAINS 64
#define NO_PART (~(u32)0)

// four_weights sets v to entries k to k + 3 of a row, k a multiple of 4: the sums of its parts, without the long ones unless
// `all_lists`. A block of FOUR_BLOCK threads has consecutive k of one row; all of them call it, those beyond the row too.
DEVICE void four_weights(qm31 (&v)[4], u64 k, const u64 *lists, bool all_lists, const row_part *all, const weight_part *parts,
                         const qm31 *tables)
{
    const u32 entries = 4 * FOUR_BLOCK, uppers = entries >> LOW;
    __shared__ live_part some[AT_ONCE];
    // Of a part its coefficient times the upper weights that there are in the block: those of 2^LOW indexes each.
    __shared__ qm31_factor common[AT_ONCE][uppers];
    // Parts that have at most one of the four entries of a thread are in a chain by where that is, as every 2^chain_bits-th thread has
    // some; the others are in the last chain.
    __shared__ u32 head[CHAINS + 1], next[AT_ONCE], count, chain_bits;
    u64 first = k - 4 * threadIdx.x, last = first + entries - 1;
    auto begin_of = [](const live_part &p) { return p.row.column & ~(((u64)1 << (p.weight.vars + p.row.stride)) - 1); };
    auto uppers_of = [&](const live_part &p) { return max(1u, uppers >> p.row.stride); }; // at most
    auto chain_of = [&](u64 entry) { return (u32)(entry >> 2) & ((1u << chain_bits) - 1); };
    wide_qm31 sum[4] = {};
    const u64 near = NEAR_LISTS + (first >> NEAR);
    for (u32 near_ones = 0; near_ones < 2; near_ones++) {
        const u64 to = lists[near_ones ? near + 1 : FAR_LIST + 1];
        for (u64 from = lists[near_ones ? near : all_lists ? LONG_LIST : FAR_LIST]; from < to; from += AT_ONCE) {
            __syncthreads(); // the parts before are done with
            if (threadIdx.x == 0) count = 0, chain_bits = 31 - __clz(CHAINS);
            if (threadIdx.x <= CHAINS) head[threadIdx.x] = NO_PART;
            __syncthreads();
            for (u64 i = from + threadIdx.x; i < min(to, from + AT_ONCE); i += FOUR_BLOCK) {
                live_part p;
                p.row = all[i];
                p.weight = parts[p.row.part];
                u64 begin = begin_of(p), span = (u64)1 << (p.weight.vars + p.row.stride);
                if (begin > last || first >= begin + span) continue;
                some[atomicAdd(&count, 1u)] = p;
                if (p.row.stride >= 2) atomicMin(&chain_bits, p.row.stride - 2);
            }
            __syncthreads();
            for (u32 i = threadIdx.x; i < uppers * count; i += FOUR_BLOCK) {
                const u32 part = i / uppers, upper = i % uppers;
                const live_part &p = some[part];
                if (upper == 0) next[part] = atomicExch(&head[p.row.stride >= 2 ? chain_of(p.row.column) : CHAINS], part);
                if (upper >= uppers_of(p) || upper >> (p.weight.vars - low_vars(p.weight.vars))) continue;
                u64 begin = begin_of(p), before = first > begin ? (first - begin) >> p.row.stride >> LOW : 0;
                common[part][upper] = qm31_prepare(qm31_mul(tables[p.weight.high + before + upper], p.row.coef));
            }
            __syncthreads();
            auto add = [&](u32 i) {
                const row_part &r = some[i].row;
                const weight_part &w = some[i].weight;
                u32 step = 1u << r.stride;
                for (u32 j = (r.column - (u32)k) & (step - 1); j < 4; j += step) {
                    u64 x = (k + j - r.column) >> r.stride; // far beyond the weight's end before the column
                    if (x >> w.vars) continue;
                    qm31 low = tables[w.low + (x & ((1u << low_vars(w.vars)) - 1))];
                    add_product_to(sum, j, low, common[i][(x >> LOW) & (uppers_of(some[i]) - 1)]);
                }
            };
            for (u32 i = head[CHAINS]; i != NO_PART; i = next[i]) {
                const weight_part &w = some[i].weight;
                if (some[i].row.stride > 0 || (u64)1 << w.vars < entries) {
                    add(i);
                    continue;
                }
                const qm31 *low = tables + w.low + (k & ((1u << LOW) - 1)); // all entries, next to each other
                qm31_factor f = common[i][(4 * threadIdx.x) >> LOW];
#pragma unroll
                for (u32 j = 0; j < 4; j++) add_product(sum[j], low[j], f);
            }
            for (u32 i = head[chain_of(k)]; i != NO_PART; i = next[i]) add(i);
        }
    }
#pragma unroll
    for (u32 j = 0; j < 4; j++) v[j] = {m31_reduce(sum[j].a), m31_reduce(sum[j].b), m31_reduce(sum[j].c), m31_reduce(sum[j].d)};
}
