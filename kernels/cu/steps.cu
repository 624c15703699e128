// Steps of the forward pass on tensors that stay on the device. A launch runs chains of them,
// and goes by records (kernels.Step says what is in one).
#include "base.cuh"
#include "ints.cuh"

// Where addresses of records count from.
struct bases {
    char *code, *small, *large, *again;
};

// An address: its top two bits say from where, and one more in the third case.
DEVICE char *address(i64 w, const bases &from)
{
    u64 at = (u64)w & ((1ull << 62) - 1);
    switch ((u64)w >> 62) {
    case 1: return from.code + at;
    case 2: return from.small + at;
    case 3: return at >> 61 ? from.again + (at & ((1ull << 61) - 1)) : from.large + at;
    }
    return (char *)at;
}

// An operand: the address of its tensor, the width, how its entries lie (enum below), and what
// says where. LISTED operands may have no entry.
enum { O_ADDRESS, O_WIDTH, O_LAYOUT, O_RUN, O_WORDS, O_FIRST };
// The same entry as the output's; a sum of indexes times strides; groups, which have limits or lists.
enum { IN_PLACE, STRIDED, LISTED };
// How four entries lie of which the first one's number is a multiple of four.
enum { ANYWHERE, BEHIND, SAME };

// The place of a LISTED operand's entry for entry x of the output and summand t, −1 if there
// is none. w is at the operand's groups.
DEVICE i64 listed(const i64 *w, const bases &from, u32 x, u32 t)
{
    i64 groups = *w++;
    i64 at = 0;
    bool wired = true;
    for (i64 g = 0; g < groups; g++) {
        i64 s = w[0], limit = w[1], step = w[2], table = w[3], width = w[4], axes = w[5];
        w += 6;
        for (i64 a = 0; a < axes; a++, w += 4) {
            u32 o = w[0] ? t : x, div = (u32)w[1], dim = (u32)w[2];
            if (div > 1)
                o /= div;
            if (dim)
                o %= dim;
            s += w[3] * (i64)o;
        }
        if (table)
            s = entry(address(table, from), (u64)width, (u64)s);
        if (limit && (s < 0 || s >= limit))
            wired = false;
        at += s * step;
    }
    return wired ? at : -1;
}

// x divided, x < 2^31, by what the host has made these of: a factor below 2^32, and above it
// how far to shift.
DEVICE u32 quotient(u32 x, i64 by) { return (u32)((u64)x * (u32)by >> (by >> 32)); }

// The place of a STRIDED operand's entry for entry x of the output and the first summand. w is at
// its base, the stride of summands, and the axes: divisor, modulus and its value (0 for none), stride.
DEVICE i64 strided(const i64 *w, u32 x)
{
    i64 at = w[0], axes = w[2];
    w += 3;
    for (i64 a = 0; a < axes; a++, w += 4) {
        u32 o = quotient(x, w[0]), dim = (u32)w[2];
        if (dim)
            o -= dim * quotient(o, w[1]);
        at += w[3] * (i64)o;
    }
    return at;
}

// The place of an operand's entry, −1 if there is none.
DEVICE i64 place(const i64 *o, const bases &from, u32 x, u32 t)
{
    if (o[O_LAYOUT] == IN_PLACE)
        return x;
    if (o[O_LAYOUT] == STRIDED)
        return strided(o + O_FIRST, x) + o[O_FIRST + 1] * (i64)t;
    return listed(o + O_FIRST, from, x, t);
}

// Four integers that lie behind each other, of which there are `have`.
DEVICE void load_four(i32 (&v)[4], const char *p, u32 width, u32 have)
{
    bool whole = have == 4 && ((u64)p & (4 * width - 1)) == 0;
    if (whole && width == 1) {
        u32 x = *(const u32 *)p;
#pragma unroll
        for (u32 e = 0; e < 4; e++)
            v[e] = (i8)(x >> 8 * e);
    } else if (whole && width == 2) {
        u64 x = *(const u64 *)p;
#pragma unroll
        for (u32 e = 0; e < 4; e++)
            v[e] = (i16)(x >> 16 * e);
    } else if (whole) {
        int4 x = *(const int4 *)p;
        v[0] = x.x, v[1] = x.y, v[2] = x.z, v[3] = x.w;
    } else {
#pragma unroll
        for (u32 e = 0; e < 4; e++)
            v[e] = e < have ? entry(p, width, e) : 0;
    }
}

// Multiplies values by an operand's entries for x … x + 3 and summand t, of which there are `have`.
DEVICE void multiply(i64 (&value)[4], const i64 *o, const bases &from, u32 x, u32 t, u32 have, i64 fill)
{
    const char *p = address(o[O_ADDRESS], from);
    const u32 width = (u32)o[O_WIDTH], run = (u32)o[O_RUN];
    i32 v[4];
    if (run == BEHIND) {
        load_four(v, p + (u64)place(o, from, x, t) * width, width, have);
    } else if (run == SAME) {
        v[0] = v[1] = v[2] = v[3] = entry(p, width, (u64)place(o, from, x, t));
    } else {
#pragma unroll
        for (u32 e = 0; e < 4; e++) {
            v[e] = 0;
            if (e < have) {
                i64 at = place(o, from, x + e, t);
                v[e] = at < 0 ? (i32)fill : entry(p, width, (u64)at);
            }
        }
    }
#pragma unroll
    for (u32 e = 0; e < 4; e++)
        value[e] = (i64)((u64)value[e] * (u64)(i64)v[e]);
}

// The words of a term, before its operands.
enum { T_WORDS, T_COEF, T_SUMMANDS, T_OPERANDS, T_FILL, T_FIRST };

// Adds a term, all of its summands, to the sums of entries x … x + 3.
DEVICE void add_term(u64 (&sum)[4], const i64 *term, const bases &from, u32 x, u32 have)
{
    const u32 summands = (u32)term[T_SUMMANDS], operands = (u32)term[T_OPERANDS];
    for (u32 t = 0; t < summands; t++) {
        i64 value[4];
#pragma unroll
        for (u32 e = 0; e < 4; e++)
            value[e] = term[T_COEF];
        const i64 *o = term + T_FIRST;
        for (u32 i = 0; i < operands; i++, o += o[O_WORDS])
            multiply(value, o, from, x, t, have, term[T_FILL]);
#pragma unroll
        for (u32 e = 0; e < 4; e++)
            sum[e] += (u64)value[e];
    }
}

// The sum of a term at entry x, but for its coefficient, over every `lanes`-th four summands from
// lane on.
DEVICE u64 part_of_term(const i64 *term, const bases &from, u32 x, u32 lane, u32 lanes)
{
    const u32 summands = (u32)term[T_SUMMANDS], operands = (u32)term[T_OPERANDS];
    const i64 *o = term + T_FIRST, *o2 = o + o[O_WORDS];
    u64 sum = 0;
    if (operands > 2 || o[O_LAYOUT] == LISTED || (operands == 2 && o2[O_LAYOUT] == LISTED)) {
        for (u32 t = lane; t < summands; t += lanes) {
            u64 value = 1;
            const i64 *w = o;
            for (u32 i = 0; i < operands; i++, w += w[O_WORDS]) {
                i64 at = place(w, from, x, t);
                value *= (u64)(at < 0 ? term[T_FILL] : (i64)entry(address(w[O_ADDRESS], from), (u64)w[O_WIDTH], (u64)at));
            }
            sum += value;
        }
        return sum;
    }
    // One operand, or two of which the second may be the first.
    const char *p[2];
    u32 width[2];
    i64 stride[2];
#pragma unroll
    for (u32 i = 0; i < 2; i++) {
        const i64 *w = i < operands ? o : nullptr;
        if (i == 1 && w)
            w = o2;
        p[i] = nullptr, width[i] = 1, stride[i] = 0;
        if (w) {
            width[i] = (u32)w[O_WIDTH];
            stride[i] = w[O_LAYOUT] == STRIDED ? w[O_FIRST + 1] : 0;
            p[i] = address(w[O_ADDRESS], from) + place(w, from, x, 0) * (i64)width[i];
        }
    }
    for (u32 t = 4 * lane; t < summands; t += 4 * lanes) {
        const u32 have = min(4u, summands - t);
        i32 v[2][4];
#pragma unroll
        for (u32 i = 0; i < 2; i++) {
            if (!p[i]) {
                v[i][0] = v[i][1] = v[i][2] = v[i][3] = 1;
            } else if (stride[i] == 1) {
                load_four(v[i], p[i] + (u64)t * width[i], width[i], have);
            } else {
#pragma unroll
                for (u32 e = 0; e < 4; e++)
                    v[i][e] = e < have ? entry(p[i], width[i], (u64)(stride[i] * (i64)(t + e))) : 0;
            }
        }
#pragma unroll
        for (u32 e = 0; e < 4; e++)
            if (e < have)
                sum += (u64)((i64)v[0][e] * v[1][e]);
    }
    return sum;
}

// A result: address, width, least and greatest value.
struct result {
    char *p;
    u32 width;
    i64 least, most;

    __device__ __forceinline__ result(const i64 *w, const bases &from)
        : p(address(w[0], from)), width((u32)w[1]), least(w[2]), most(w[3]) {}

    __device__ __forceinline__ bool holds(i64 v) const { return !p || (v >= least && v <= most); }

    __device__ __forceinline__ void set(u64 i, i64 v) const
    {
        if (width == 1)
            ((i8 *)p)[i] = (i8)v;
        else if (width == 2)
            ((i16 *)p)[i] = (i16)v;
        else
            ((i32 *)p)[i] = (i32)v;
    }

    // Entries i … i + 3, of which there are `have`; those that are not good are zero.
    __device__ __forceinline__ void set_four(u64 i, const i64 (&v)[4], u32 good, u32 have) const
    {
        if (!p || have == 0)
            return;
        u32 x[4];
#pragma unroll
        for (u32 e = 0; e < 4; e++)
            x[e] = good >> e & 1 ? (u32)v[e] : 0;
        char *to = p + i * width;
        bool whole = have == 4 && ((u64)to & (4 * width - 1)) == 0;
        if (whole && width == 1) {
            *(u32 *)to = (x[0] & 255) | (x[1] & 255) << 8 | (x[2] & 255) << 16 | x[3] << 24;
        } else if (whole && width == 2) {
            *(u64 *)to = (u64)((x[0] & 65535) | x[1] << 16) | (u64)((x[2] & 65535) | x[3] << 16) << 32;
        } else if (whole) {
            *(uint4 *)to = make_uint4(x[0], x[1], x[2], x[3]);
        } else {
#pragma unroll
            for (u32 e = 0; e < 4; e++)
                if (e < have)
                    set(i + e, (i32)x[e]);
        }
    }
};

// A piece of a piecewise-linear table: rows up to end, exclusive, have the value
// slope·key + offset.
struct piece {
    i64 end, slope, offset;
};

constexpr i64 BOUND = (i64)1 << 30;

// Counts of rows in the shared memory of a block, which come before those of the table: the first
// row that asks for a slot has it until the step is over. Rows that many have find one early.
constexpr u32 SLOTS = 2048, FREE = ~0u;

struct counters {
    i32 *all;            // by row, the table's
    u32 *rows, *counted; // by slot; null for none

    __device__ __forceinline__ void add(u32 row, i32 n) const
    {
        if (rows) {
            u32 slot = row % SLOTS, has = ((volatile u32 *)rows)[slot];
            if (has == FREE) {
                has = atomicCAS(&rows[slot], FREE, row);
                if (has == FREE)
                    has = row;
            }
            if (has == row) {
                atomicAdd(&counted[slot], (u32)n);
                return;
            }
        }
        atomicAdd(&all[row], n);
    }

    // Adds one to the count of row in every lane that is valid. All lanes call it: where many have
    // the same row, as most of a network's values do, one of them adds for all.
    __device__ __forceinline__ void count(bool valid, u32 row) const
    {
        u32 lane = threadIdx.x % 32, left = __ballot_sync(~0u, valid);
        for (int turn = 0; turn < 2 && left; turn++) {
            u32 leader = (u32)__ffs((int)left) - 1;
            u32 common = __shfl_sync(~0u, row, (int)leader);
            u32 same = __ballot_sync(~0u, valid && row == common) & left;
            if (lane == leader)
                add(common, __popc(same));
            left &= ~same;
        }
        if (left >> lane & 1)
            add(row, 1);
    }

    // All threads of the block call these, and wait before they do and afterwards.
    __device__ __forceinline__ void clear() const
    {
        for (u32 s = threadIdx.x; s < SLOTS; s += blockDim.x)
            rows[s] = FREE, counted[s] = 0;
    }

    __device__ __forceinline__ void flush() const
    {
        for (u32 s = threadIdx.x; s < SLOTS; s += blockDim.x)
            if (rows[s] != FREE)
                atomicAdd(&all[rows[s]], (i32)counted[s]);
    }
};

enum { LOOK_UP, EXACT, DIVIDE, SUM };

// The words of a record, before its terms, of which the first `wide` ones have many summands.
enum {
    W_WORDS, W_KIND, W_CONST, W_ACC, W_TERMS, W_WIDE, W_SHIFT, W_LEAST, W_ROWS, W_PIECES, W_NPIECES, W_VALUES, W_VALUE_WIDTH,
    W_KEYS, W_OUT = W_KEYS + 4, W_LO = W_OUT + 4, W_DEN = W_LO + 4, W_DEN_WIDTH, W_COUNTS, W_FIRST
};

// A chain: steps over the same n entries, whose records of so many words lie behind each other from
// a byte on. Its blocks begin at `first`, and each has `each` entries, one, two, or a multiple of
// four. Records are read in shared memory if they are `staged`; there may be sums of entries, and
// counters, behind them.
struct chain {
    u64 first, each, n, at, words, steps, staged, summed, counted;
};

// The launch's part of steps: where the results of a look-up go, if only its keys are wanted, and
// whether look-ups are not counted.
struct launched {
    bases from;
    const i64 *sums;
    char *only;
    bool uncounted;
    u32 *small;
};

// Sums the terms with many summands of entries begin … end − 1 of a step: sums[i − begin]. All
// threads of the block call it.
DEVICE void sum_wide(u64 *sums, const i64 *w, const bases &from, u64 begin, u64 end)
{
    const u32 lane = threadIdx.x % 32, warp = threadIdx.x / 32, warps = blockDim.x / 32, entries = (u32)(end - begin);
    for (u32 i = threadIdx.x; i < entries; i += blockDim.x)
        sums[i] = 0;
    __syncthreads();
    // Where there are fewer entries than warps, several share one.
    const u32 share = entries < warps ? warps / entries : 1;
    for (u32 j = warp; j < entries * share; j += warps) {
        const u32 i = j % entries, part = j / entries;
        u64 sum = 0;
        const i64 *term = w + W_FIRST;
        for (i64 k = 0; k < w[W_WIDE]; k++, term += term[T_WORDS])
            sum += (u64)term[T_COEF] * part_of_term(term, from, (u32)(begin + i), 32 * part + lane, 32 * share);
        for (int d = 16; d > 0; d /= 2)
            sum += __shfl_xor_sync(~0u, sum, d);
        if (lane == 0)
            atomicAdd(&sums[i], sum);
    }
    __syncthreads();
}

// One step on entries begin … end − 1, four by each thread at a time. All threads of the block
// call it. `wide` has the sums of terms with many summands, `own` the block's counters or null.
DEVICE void run_step(const i64 *w, const launched &l, u64 begin, u64 end, const u64 *wide, u32 *own)
{
    const bases &from = l.from;
    const i64 kind = w[W_KIND], least = w[W_LEAST], rows = w[W_ROWS];
    const u32 shift = (u32)w[W_SHIFT];
    result keys(w + W_KEYS, from), out(w + W_OUT, from), lo(w + W_LO, from);
    if (l.only)
        keys.p = l.only, out.p = lo.p = nullptr;
    const i64 *acc = nullptr;
    if (w[W_ACC] & 1)
        acc = l.sums + (w[W_ACC] >> 3);
    else if (w[W_ACC])
        acc = (const i64 *)address(w[W_ACC], from);
    const bool counts = w[W_COUNTS] && !l.only && !l.uncounted;
    const counters c = {(i32 *)address(w[W_COUNTS], from), counts ? own : nullptr, own ? own + SLOTS : nullptr};
    if (c.rows) {
        c.clear();
        __syncthreads();
    }
    // Warps stay together.
    for (u64 first = begin + threadIdx.x / 32 * 128; first < end; first += 4 * blockDim.x) {
        const u64 i = first + 4 * (threadIdx.x % 32);
        const u32 have = i < end ? (u32)min(end - i, (u64)4) : 0;
        u64 sum[4];
#pragma unroll
        for (u32 e = 0; e < 4; e++) {
            sum[e] = (u64)w[W_CONST];
            if (e < have) {
                if (acc)
                    sum[e] += (u64)acc[i + e];
                if (w[W_WIDE])
                    sum[e] += wide[i + e - begin];
            }
        }
        if (have) {
            const i64 *term = w + W_FIRST;
            for (i64 k = 0; k < w[W_TERMS]; k++, term += term[T_WORDS])
                if (k >= w[W_WIDE])
                    add_term(sum, term, from, (u32)i, have);
        }
        // A bit for each entry.
        const u32 mine = (1u << have) - 1;
        u32 good = 0;
        i64 value[4], key[4], rest[4];
#pragma unroll
        for (u32 e = 0; e < 4; e++) {
            value[e] = (i64)sum[e];
            key[e] = rest[e] = 0;
            good |= (u32)(kind == SUM || (value[e] > -BOUND && value[e] < BOUND)) << e;
        }
        good &= mine;
        if (kind == LOOK_UP) {
#pragma unroll
            for (u32 e = 0; e < 4; e++) {
                key[e] = value[e] >> shift;
                rest[e] = value[e] & (((i64)1 << shift) - 1);
                value[e] = 0;
                if (key[e] < least || key[e] - least >= rows)
                    good &= ~(1u << e);
            }
            if (out.p && w[W_NPIECES]) {
                const piece *p = (const piece *)address(w[W_PIECES], from);
                u32 left = good;
                for (i64 k = w[W_NPIECES]; k > 0 && left; k--, p++) {
                    const i64 stop = k > 1 ? p->end : rows, slope = p->slope, offset = p->offset;
#pragma unroll
                    for (u32 e = 0; e < 4; e++)
                        if ((left >> e & 1) && key[e] - least < stop) {
                            value[e] = slope * key[e] + offset;
                            left &= ~(1u << e);
                        }
                }
            } else if (out.p) {
                const char *p = address(w[W_VALUES], from);
#pragma unroll
                for (u32 e = 0; e < 4; e++)
                    if (good >> e & 1)
                        value[e] = entry(p, (u64)w[W_VALUE_WIDTH], (u64)(key[e] - least));
            }
        } else if (kind == DIVIDE && have) {
            i32 d[4];
            load_four(d, address(w[W_DEN], from) + i * (u64)w[W_DEN_WIDTH], (u32)w[W_DEN_WIDTH], have);
#pragma unroll
            for (u32 e = 0; e < 4; e++) {
                if (d[e] <= 0)
                    good &= ~(1u << e);
                if (good >> e & 1) {
                    i32 x = (i32)value[e];
                    value[e] = x / d[e] - (x % d[e] < 0);
                    rest[e] = x - value[e] * d[e];
                }
            }
        }
#pragma unroll
        for (u32 e = 0; e < 4; e++)
            if (!out.holds(value[e]) || !lo.holds(rest[e]))
                good &= ~(1u << e);
        if (good != mine)
            *l.small = 1;
        keys.set_four(i, key, good, have);
        out.set_four(i, value, good, have);
        lo.set_four(i, rest, good, have);
        if (counts) {
#pragma unroll
            for (u32 e = 0; e < 4; e++)
                c.count(good >> e & 1, (u32)(key[e] - least));
        }
    }
    if (c.rows) {
        __syncthreads();
        c.flush();
    }
}

// The steps of chains, each of which reads what the ones before it in its chain have written only
// where its own entry is, and nothing that other chains write. Accumulators that products have made
// are at sums. *small becomes 1 where a number leaves its range; the results there are zero. With
// `only` the keys of a look-up, the only step, go there, and there are no other results. If
// `uncounted`, nothing is counted.
KERNEL __launch_bounds__(256) steps_run(char *code, u64 at, u64 chains, char *small, char *large, const i64 *sums, char *only, char *again,
                                        u64 uncounted)
{
    DYNAMIC_SHARED(u64, own);
    const launched l = {{code, small, large, again}, sums, only, uncounted != 0, (u32 *)small};
    const chain c = job_of((const chain *)(code + at), chains, blockIdx.x);
    const u64 begin = (blockIdx.x - c.first) * c.each, end = min(begin + c.each, c.n);
    const i64 *w = (const i64 *)(code + c.at);
    u64 *free = own;
    if (c.staged) {
        for (u64 i = threadIdx.x; i < c.words; i += blockDim.x)
            own[i] = (u64)w[i];
        w = (const i64 *)own;
        free += c.words;
        __syncthreads();
    }
    u64 *wide = free;
    if (c.summed)
        free += c.each;
    u32 *slots = c.counted ? (u32 *)free : nullptr;
    for (u64 s = 0; s < c.steps; s++, w += w[W_WORDS]) {
        if (s > 0)
            __syncthreads(); // what the step before has written is there, and its sums and counters are free
        if (w[W_WIDE])
            sum_wide(wide, w, l.from, begin, end);
        run_step(w, l, begin, end, wide, slots);
    }
}

// out[i] = the greatest of the entries i·row … of x, a warp for each of n rows.
KERNEL steps_max(char *small, char *out, u64 outwidth, const void *x, u64 width, u64 n, u64 row, i64 least, i64 most)
{
    const i64 w[4] = {(i64)(u64)out, (i64)outwidth, least, most};
    const result r(w, bases{});
    u64 lane = threadIdx.x % 32, warps = thread_count() / 32;
    for (u64 i = thread_index() / 32; i < n; i += warps) {
        i32 best = (i32)0x80000000;
        for (u64 c = lane; c < row; c += 32)
            best = max(best, entry(x, width, i * row + c));
        for (int d = 16; d > 0; d /= 2)
            best = max(best, __shfl_xor_sync(~0u, best, d));
        if (lane != 0)
            continue;
        if (!r.holds(best))
            *(u32 *)small = 1;
        r.set(i, r.holds(best) ? best : 0);
    }
}

// A question: how many of n keys are in [least, most].
struct question {
    u64 keys, width, n;
    i64 least, most;
};

// Adds the answers to counts, blockIdx.y being the question's number.
KERNEL steps_count(const question *questions, u64 *counts)
{
    question q = questions[blockIdx.y];
    u64 found = 0;
    for (u64 i = thread_index(); i < q.n; i += thread_count()) {
        i64 key = entry((const void *)q.keys, q.width, i);
        found += key >= q.least && key <= q.most;
    }
    for (int d = 16; d > 0; d /= 2)
        found += __shfl_xor_sync(~0u, found, d);
    if (threadIdx.x % 32 == 0 && found)
        atomicAdd(&counts[blockIdx.y], found);
}

// dst[i] = src[i], in 32 bits.
KERNEL steps_widen(i32 *dst, const void *src, u64 width, u64 n)
{
    for (u64 i = thread_index(); i < n; i += thread_count())
        dst[i] = entry(src, width, i);
}
