// Steps of the forward pass on tensors that stay on the device. A launch runs chains of them,
// and goes by records (kernels.Step says what is in one).
#include "base.cuh"
#include "ints.cuh"

// What the steps of a launch have in common, in shared memory: where addresses of records count
// from, by their top three bits, accumulators that products have made, where the keys of a look-up
// go if nothing else is wanted, the word for numbers that leave their range, and whether look-ups
// are counted.
struct launched {
    char *base[8];
    const i64 *sums;
    char *only;
    u32 *bad;
    bool counted;
};

DEVICE char *address(i64 w, const launched &l) { return l.base[(u64)w >> 61] + ((u64)w & ((1ull << 61) - 1)); }

// An operand: the address of its tensor, the width, how its entries lie (enum below), and what
// says where. LISTED operands may have no entry.
enum { O_ADDRESS, O_WIDTH, O_LAYOUT, O_RUN, O_WORDS, O_FIRST };
// The same entry as the output's; a sum of indexes times strides; groups, which have limits or lists.
enum { IN_PLACE, STRIDED, LISTED };
// How four entries lie of which the first one's number is a multiple of four.
enum { ANYWHERE, BEHIND, SAME };

// The place of a LISTED operand's entry for entry x of the output and summand t, −1 if there
// is none. w is at the operand's groups.
DEVICE i64 listed(const i64 *w, const launched &l, u32 x, u32 t)
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
            s = entry(address(table, l), (u64)width, (u64)s);
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
    i64 at = w[0];
    const u32 axes = (u32)w[2];
    w += 3;
    for (u32 a = 0; a < axes; a++, w += 4) {
        u32 o = quotient(x, w[0]), dim = (u32)w[2];
        if (dim)
            o -= dim * quotient(o, w[1]);
        at += w[3] * (i64)o;
    }
    return at;
}

// The place of an operand's entry, −1 if there is none.
DEVICE i64 place(const i64 *o, const launched &l, u32 x, u32 t)
{
    if (o[O_LAYOUT] == IN_PLACE)
        return x;
    if (o[O_LAYOUT] == STRIDED)
        return strided(o + O_FIRST, x) + o[O_FIRST + 1] * (i64)t;
    return listed(o + O_FIRST, l, x, t);
}

// Four integers that lie behind each other, of which there are `have`.
DEVICE void load_four(i32 (&v)[4], const char *p, u32 width, u32 have)
{
    const bool whole = have == 4 && ((u32)(u64)p & (4 * width - 1)) == 0;
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

// N integers that lie behind each other, of which there are `have`: one or four.
template <u32 N>
DEVICE void load_some(i32 (&v)[N], const char *p, u32 width, u32 have)
{
    if constexpr (N == 4)
        load_four(v, p, width, have);
    else
        v[0] = have ? entry(p, width, 0) : 0;
}

// The entries of an operand for x … x + N − 1, of which there are `have`, and summand t.
template <u32 N>
DEVICE void load_operand(i32 (&v)[N], const i64 *o, const launched &l, u32 x, u32 t, u32 have, i64 fill)
{
    const char *p = address(o[O_ADDRESS], l);
    const u32 width = (u32)o[O_WIDTH], run = (u32)o[O_RUN];
    if (N == 1 || run == ANYWHERE) {
#pragma unroll
        for (u32 e = 0; e < N; e++) {
            v[e] = 0;
            if (e < have) {
                i64 at = place(o, l, x + e, t);
                v[e] = at < 0 ? (i32)fill : entry(p, width, (u64)at);
            }
        }
        return;
    }
    p += place(o, l, x, t) * (i64)width;
    if (run == BEHIND) {
        load_some<N>(v, p, width, have);
    } else {
        const i32 same = have ? entry(p, width, 0) : 0;
#pragma unroll
        for (u32 e = 0; e < N; e++)
            v[e] = same;
    }
}

// The words of a term, before its operands.
enum { T_WORDS, T_COEF, T_SUMMANDS, T_OPERANDS, T_FILL, T_FIRST };

// Adds a term, all of its summands, to the sums of entries x … x + N − 1, of which there are `have`.
template <u32 N>
DEVICE void add_term(u64 (&sum)[N], const i64 *term, const launched &l, u32 x, u32 have)
{
    const u32 summands = (u32)term[T_SUMMANDS], operands = (u32)term[T_OPERANDS];
    for (u32 t = 0; t < summands; t++) {
        const i64 *o = term + T_FIRST;
        i32 v[N];
        load_operand(v, o, l, x, t, have, term[T_FILL]);
        u64 value[N];
#pragma unroll
        for (u32 e = 0; e < N; e++)
            value[e] = (u64)(i64)v[e];
        for (u32 i = 1; i < operands; i++) {
            o += o[O_WORDS];
            load_operand(v, o, l, x, t, have, term[T_FILL]);
#pragma unroll
            for (u32 e = 0; e < N; e++)
                value[e] *= (u64)(i64)v[e];
        }
#pragma unroll
        for (u32 e = 0; e < N; e++)
            sum[e] += (u64)term[T_COEF] * value[e];
    }
}

// The sum of a term at entry x, but for its coefficient, over every `lanes`-th four summands from
// lane on, of which AHEAD are read before the first is used.
template <u32 AHEAD>
DEVICE u64 part_of_term(const i64 *term, const launched &l, u32 x, u32 lane, u32 lanes)
{
    const u32 summands = (u32)term[T_SUMMANDS], operands = (u32)term[T_OPERANDS];
    const i64 *o = term + T_FIRST, *o2 = o + o[O_WORDS];
    u64 sum = 0;
    if (operands > 2 || o[O_LAYOUT] == LISTED || (operands == 2 && o2[O_LAYOUT] == LISTED)) {
        for (u32 t = lane; t < summands; t += lanes) {
            u64 value = 1;
            const i64 *w = o;
            for (u32 i = 0; i < operands; i++, w += w[O_WORDS]) {
                i64 at = place(w, l, x, t);
                value *= (u64)(at < 0 ? term[T_FILL] : (i64)entry(address(w[O_ADDRESS], l), (u64)w[O_WIDTH], (u64)at));
            }
            sum += value;
        }
        return sum;
    }
    const char *p[2] = {};
    u32 width[2];
    i64 stride[2];
#pragma unroll
    for (u32 i = 0; i < 2; i++) {
        const i64 *w = i == 0 ? o : o2;
        if (i < operands) {
            width[i] = (u32)w[O_WIDTH];
            stride[i] = w[O_LAYOUT] == STRIDED ? w[O_FIRST + 1] : 0;
            p[i] = address(w[O_ADDRESS], l) + place(w, l, x, 0) * (i64)width[i];
        }
    }
    for (u32 t = 4 * lane; t < summands; t += 4 * AHEAD * lanes) {
        i32 v[AHEAD][2][4];
#pragma unroll
        for (u32 a = 0; a < AHEAD; a++) {
            const u32 at = t + 4 * a * lanes, have = at < summands ? min(4u, summands - at) : 0;
#pragma unroll
            for (u32 i = 0; i < 2; i++) {
                if (!p[i]) {
#pragma unroll
                    for (u32 e = 0; e < 4; e++)
                        v[a][i][e] = e < have;
                } else if (stride[i] == 1) {
                    load_four(v[a][i], p[i] + (u64)at * width[i], width[i], have);
                } else {
#pragma unroll
                    for (u32 e = 0; e < 4; e++)
                        v[a][i][e] = e < have ? entry(p[i], width[i], (u64)(stride[i] * (i64)(at + e))) : 0;
                }
            }
        }
#pragma unroll
        for (u32 a = 0; a < AHEAD; a++)
#pragma unroll
            for (u32 e = 0; e < 4; e++)
                sum += (u64)((i64)v[a][0][e] * v[a][1][e]);
    }
    return sum;
}

// A result: where it goes, least and greatest value. In a record: address, width, these.
struct result {
    char *p;
    u32 width;
    i64 least, most;

    __device__ __forceinline__ bool holds(i64 v) const { return !p || (v >= least && v <= most); }

    // A bit for each of N values: whether it is in the range, or has nowhere to go.
    template <class T, u32 N>
    __device__ __forceinline__ u32 holds(const T (&v)[N]) const
    {
        u32 all = 0;
#pragma unroll
        for (u32 e = 0; e < N; e++)
            all |= (u32)holds(v[e]) << e;
        return all;
    }

    __device__ __forceinline__ void set(u64 i, i64 v) const
    {
        if (width == 1)
            ((i8 *)p)[i] = (i8)v;
        else if (width == 2)
            ((i16 *)p)[i] = (i16)v;
        else
            ((i32 *)p)[i] = (i32)v;
    }

    // Entries i … i + N − 1, of which there are `have`; those that are not good are zero.
    template <class T, u32 N>
    __device__ __forceinline__ void set(u64 i, const T (&v)[N], u32 good, u32 have) const
    {
        if (!p || have == 0)
            return;
        u32 x[N];
#pragma unroll
        for (u32 e = 0; e < N; e++)
            x[e] = good >> e & 1 ? (u32)v[e] : 0;
        if constexpr (N == 4) {
            char *to = p + i * width;
            const bool whole = have == 4 && ((u32)(u64)to & (4 * width - 1)) == 0;
            if (whole && width == 1) {
                *(u32 *)to = (x[0] & 255) | (x[1] & 255) << 8 | (x[2] & 255) << 16 | x[3] << 24;
                return;
            }
            if (whole && width == 2) {
                *(u64 *)to = (u64)((x[0] & 65535) | x[1] << 16) | (u64)((x[2] & 65535) | x[3] << 16) << 32;
                return;
            }
            if (whole) {
                *(uint4 *)to = make_uint4(x[0], x[1], x[2], x[3]);
                return;
            }
        }
#pragma unroll
        for (u32 e = 0; e < N; e++)
            if (e < have)
                set(i + e, (i32)x[e]);
    }
};

DEVICE result result_at(const i64 *w, const launched &l) { return {address(w[0], l), (u32)w[1], w[2], w[3]}; }

// A piece of a piecewise-linear table: rows up to end, exclusive, have the value
// slope·key + offset. Rows and keys are those of the table without its lowest bits, if it
// drops some; it begins at 0 then.
struct piece {
    i64 end, slope, offset;
};

constexpr i64 BOUND = (i64)1 << 30;

// Counts in the shared memory of a block, which come before those of a table: of all rows if there
// are COUNTERS at most, else the first row that asks for a slot has it until the step is over, so
// that rows that many have are counted there.
constexpr u32 COUNTERS = 8192, SLOTS = COUNTERS / 2, FREE = ~0u;

// Calls add(row, n) for N rows of each lane, of which those are valid that a bit of `valid` says.
// All lanes call it: where many have the same first row, one of them adds for all as long as many do.
template <u32 N, class F>
DEVICE void by_row(u32 valid, const u32 (&row)[N], F add)
{
    const u32 lane = threadIdx.x % 32;
    bool crowded = true;
#pragma unroll
    for (u32 e = 0; e < N; e++) {
        const u32 all = crowded ? __ballot_sync(~0u, valid >> e & 1) : 0;
        u32 left = all;
        while (left) {
            const u32 leader = (u32)__ffs((int)left) - 1;
            const u32 same = __ballot_sync(~0u, row[e] == __shfl_sync(~0u, row[e], (int)leader)) & left;
            if (__popc(same) < 8)
                break;
            if (lane == leader)
                add(row[e], __popc(same));
            left &= ~same;
        }
        if (crowded ? left >> lane & 1 : valid >> e & 1)
            add(row[e], 1);
        if (e == 0)
            crowded = left != all;
    }
}

struct counters {
    i32 *all;           // by row, the table's
    u32 *counted, rows; // of the block, or null

    __device__ __forceinline__ void add(u32 row, i32 n) const
    {
        if (counted && rows <= COUNTERS) {
            atomicAdd(&counted[row], (u32)n);
            return;
        }
        if (counted) {
            u32 *slot = &counted[row % SLOTS], has = *(volatile u32 *)slot;
            if (has == FREE) {
                has = atomicCAS(slot, FREE, row);
                if (has == FREE)
                    has = row;
            }
            if (has == row) {
                atomicAdd(slot + SLOTS, (u32)n);
                return;
            }
        }
        atomicAdd(&all[row], n);
    }

    // All threads of the block call these, and wait before they do and afterwards.
    __device__ __forceinline__ void clear() const
    {
        const u32 free = rows <= COUNTERS ? 0 : FREE, n = rows <= COUNTERS ? rows : SLOTS;
        for (u32 s = threadIdx.x; s < n; s += blockDim.x)
            counted[s] = free;
        if (free)
            for (u32 s = threadIdx.x; s < SLOTS; s += blockDim.x)
                counted[SLOTS + s] = 0;
    }

    __device__ __forceinline__ void flush() const
    {
        if (rows <= COUNTERS) {
            for (u32 s = threadIdx.x; s < rows; s += blockDim.x)
                if (counted[s])
                    atomicAdd(&all[s], (i32)counted[s]);
        } else {
            for (u32 s = threadIdx.x; s < SLOTS; s += blockDim.x)
                if (counted[s] != FREE)
                    atomicAdd(&all[counted[s]], (i32)counted[SLOTS + s]);
        }
    }
};

enum { LOOK_UP, EXACT, DIVIDE, SUM };

// The words of a record, before its terms: `plain` ones, which are an operand in place and a
// coefficient, `wide` ones, which have many summands, and the others.
enum {
    W_WORDS, W_KIND, W_CONST, W_ACC, W_PLAIN, W_WIDE, W_OTHERS, W_SHIFT, W_LEAST, W_ROWS, W_PIECES, W_NPIECES, W_DROP, W_VALUES, W_VALUE_WIDTH,
    W_KEYS, W_OUT = W_KEYS + 4, W_LO = W_OUT + 4, W_DEN = W_LO + 4, W_DEN_WIDTH, W_COUNTS, W_FIRST
};
// Those of a plain term.
enum { P_COEF, P_ADDRESS, P_WIDTH, P_WORDS };

// A chain: steps over the same n entries, whose records of so many words lie behind each other from
// a byte on. Its blocks begin at `first`, and each has `each` entries, one, two, or a multiple of
// four. Records are read in shared memory if they are `staged`; there may be sums of entries, and
// counters, behind them.
struct chain {
    u64 first, each, n, at, words, steps, staged, summed, counted;
};

// Sums the terms with many summands, the first of which is given, of entries begin … end − 1 of a
// step: sums[i − begin]. All threads of the block call it.
DEVICE void sum_wide(u64 *sums, const i64 *terms, u32 n, const launched &l, u32 begin, u32 end)
{
    const u32 lane = threadIdx.x % 32, warp = threadIdx.x / 32, warps = blockDim.x / 32, entries = end - begin;
    for (u32 i = threadIdx.x; i < entries; i += blockDim.x)
        sums[i] = 0;
    __syncthreads();
    // Where there are fewer entries than warps, several share one.
    const u32 share = entries < warps ? warps / entries : 1;
    for (u32 j = warp; j < entries * share; j += warps) {
        const u32 i = j % entries, part = j / entries;
        u64 sum = 0;
        const i64 *term = terms;
        for (u32 k = 0; k < n; k++, term += term[T_WORDS])
            sum += (u64)term[T_COEF] * part_of_term<1>(term, l, begin + i, 32 * part + lane, 32 * share);
        for (int d = 16; d > 0; d /= 2)
            sum += __shfl_xor_sync(~0u, sum, d);
        if (lane == 0)
            atomicAdd(&sums[i], sum);
    }
    __syncthreads();
}

// Adds n plain terms to the sums of entries i … i + N − 1, of which there are `have`: four are read
// before the first is used.
template <u32 N>
DEVICE void add_plain(u64 (&sum)[N], const i64 *t, u32 n, const launched &l, u32 i, u32 have)
{
    for (u32 k = 0; k < n; k += 4, t += 4 * P_WORDS) {
        i32 v[4][N];
#pragma unroll
        for (u32 j = 0; j < 4; j++)
            if (k + j < n) {
                const u32 width = (u32)t[j * P_WORDS + P_WIDTH];
                load_some<N>(v[j], address(t[j * P_WORDS + P_ADDRESS], l) + (u64)i * width, width, have);
            }
#pragma unroll
        for (u32 j = 0; j < 4; j++)
            if (k + j < n) {
                const i64 coef = t[j * P_WORDS + P_COEF];
#pragma unroll
                for (u32 e = 0; e < N; e++)
                    sum[e] += (u64)(coef * v[j][e]);
            }
    }
}

// Looks keys up: value by key where good says that there is a row.
template <u32 N>
DEVICE void look_up(i64 (&value)[N], const i32 (&key)[N], u32 good, const i64 *w, const launched &l)
{
    const i64 least = w[W_LEAST];
    if (w[W_NPIECES]) {
        const piece *p = (const piece *)address(w[W_PIECES], l);
        const u32 drop = (u32)w[W_DROP];
        for (u32 k = (u32)w[W_NPIECES]; k > 0 && good; k--, p++) {
            const i64 stop = (k > 1 ? p->end : w[W_ROWS]) + least, slope = p->slope, offset = p->offset;
#pragma unroll
            for (u32 e = 0; e < N; e++)
                if ((good >> e & 1) && key[e] >> drop < stop) {
                    value[e] = slope * (key[e] >> drop) + offset;
                    good &= ~(1u << e);
                }
        }
        return;
    }
    const char *p = address(w[W_VALUES], l);
#pragma unroll
    for (u32 e = 0; e < N; e++)
        if (good >> e & 1)
            value[e] = entry(p, (u64)w[W_VALUE_WIDTH], (u64)(key[e] - least));
}

// One step on entries begin … end − 1, N by each thread at a time. All threads of the block call it.
// sums is memory for those of wide terms, `own` for counters, or null. Of few entries each has a thread,
// which goes through a fourth of the instructions: it takes longer to fetch these than to read entries.
template <u32 N>
DEVICE void run_step(const i64 *w, const launched &l, u32 begin, u32 end, u64 *sums, u32 *own)
{
    const u32 kind = (u32)w[W_KIND];
    const i64 *acc = nullptr;
    if (w[W_ACC] & 1)
        acc = l.sums + (w[W_ACC] >> 3);
    else if (w[W_ACC])
        acc = (const i64 *)address(w[W_ACC], l);
    const bool counts = w[W_COUNTS] && l.counted;
    const counters c = {(i32 *)address(w[W_COUNTS], l), counts ? own : nullptr, (u32)w[W_ROWS]};
    if (c.counted) {
        c.clear();
        __syncthreads();
    }
    const i64 *wide = w + W_FIRST + w[W_PLAIN] * P_WORDS, *others = wide;
    if (w[W_WIDE]) {
        sum_wide(sums, wide, (u32)w[W_WIDE], l, begin, end);
        for (i64 k = 0; k < w[W_WIDE]; k++)
            others += others[T_WORDS];
    }
    // Warps stay together.
    for (u32 first = begin + threadIdx.x / 32 * 32 * N; first < end; first += N * blockDim.x) {
        const u32 i = first + N * (threadIdx.x % 32);
        const u32 have = i < end ? min(end - i, N) : 0;
        u64 sum[N];
#pragma unroll
        for (u32 e = 0; e < N; e++)
            sum[e] = (u64)w[W_CONST];
        if (acc) {
            bool whole = false;
            if constexpr (N == 4) {
                whole = have == 4 && ((u32)(u64)(acc + i) & 15) == 0;
                if (whole) {
                    const uint4 x = ((const uint4 *)(acc + i))[0], y = ((const uint4 *)(acc + i))[1];
                    sum[0] += x.x | (u64)x.y << 32, sum[1] += x.z | (u64)x.w << 32;
                    sum[2] += y.x | (u64)y.y << 32, sum[3] += y.z | (u64)y.w << 32;
                }
            }
#pragma unroll
            for (u32 e = 0; e < N; e++)
                if (!whole && e < have)
                    sum[e] += (u64)acc[i + e];
        }
        if (w[W_WIDE]) {
#pragma unroll
            for (u32 e = 0; e < N; e++)
                if (e < have)
                    sum[e] += sums[i + e - begin];
        }
        add_plain(sum, w + W_FIRST, (u32)w[W_PLAIN], l, i, have);
        const i64 *term = others;
        for (u32 k = (u32)w[W_OTHERS]; k > 0; k--, term += term[T_WORDS])
            add_term(sum, term, l, i, have);
        // A bit for each entry. Those that are good are below 2^30 but where the kind is SUM.
        const u32 mine = (1u << have) - 1;
        u32 good = 0;
        i64 value[N];
        i32 key[N], rest[N];
#pragma unroll
        for (u32 e = 0; e < N; e++) {
            value[e] = (i64)sum[e];
            key[e] = rest[e] = 0;
            good |= (u32)(kind == SUM || (value[e] > -BOUND && value[e] < BOUND)) << e;
        }
        good &= mine;
        if (kind == LOOK_UP) {
            const u32 shift = (u32)w[W_SHIFT];
            const i64 least = w[W_LEAST], rows = w[W_ROWS];
#pragma unroll
            for (u32 e = 0; e < N; e++) {
                key[e] = (i32)value[e] >> shift;
                rest[e] = (i32)value[e] & (((i32)1 << shift) - 1);
                value[e] = 0;
                if (key[e] < least || key[e] - least >= rows)
                    good &= ~(1u << e);
            }
            if (w[W_OUT] && !l.only)
                look_up(value, key, good, w, l);
        } else if (kind == DIVIDE && have) {
            i32 d[N];
            load_some<N>(d, address(w[W_DEN], l) + (u64)i * (u64)w[W_DEN_WIDTH], (u32)w[W_DEN_WIDTH], have);
#pragma unroll
            for (u32 e = 0; e < N; e++) {
                if (d[e] <= 0)
                    good &= ~(1u << e);
                if (good >> e & 1) {
                    const i32 x = (i32)value[e], y = x / d[e] - (x % d[e] < 0);
                    value[e] = y;
                    rest[e] = x - y * d[e];
                }
            }
        }
        if (!l.only) {
            const result out = result_at(w + W_OUT, l), lo = result_at(w + W_LO, l);
            good &= out.holds(value) & lo.holds(rest);
            out.set(i, value, good, have);
            lo.set(i, rest, good, have);
        }
        if (good != mine)
            *l.bad = 1;
        result keys = result_at(w + W_KEYS, l);
        if (l.only)
            keys.p = l.only;
        keys.set(i, key, good, have);
        if (counts) {
            u32 row[N];
#pragma unroll
            for (u32 e = 0; e < N; e++)
                row[e] = (u32)(key[e] - w[W_LEAST]);
            by_row(good, row, [&](u32 r, i32 n) { c.add(r, n); });
        }
    }
    if (c.counted) {
        __syncthreads();
        c.flush();
    }
}

// Entries of a block at a time.
constexpr u32 SOME = 4096;

// The steps of chains, each of which reads what the ones before it in its chain have written only
// where its own entry is, and nothing that other chains write. Accumulators that products have made
// are at sums. *small becomes 1 where a number leaves its range; the results there are zero. With
// `only` the keys of a look-up, the only step, go there, and there are no other results. If
// `uncounted`, nothing is counted.
KERNEL __launch_bounds__(256, 3) steps_run(char *code, u64 at, u64 chains, char *small, char *large, const i64 *sums, char *only, char *again,
                                           u64 uncounted)
{
    DYNAMIC_SHARED(u64, own);
    __shared__ launched l;
    if (threadIdx.x == 0)
        l = {{nullptr, nullptr, code, code, small, small, large, again}, sums, only, (u32 *)small, !uncounted && !only};
    const chain *c = &job_of((const chain *)(code + at), chains, blockIdx.x);
    const u32 begin = (u32)((blockIdx.x - c->first) * c->each), end = (u32)min(begin + c->each, c->n), steps = (u32)c->steps;
    const i64 *w = (const i64 *)(code + c->at);
    u64 *free = own;
    if (c->staged) {
        const u32 words = (u32)c->words;
        for (u32 i = threadIdx.x; i < words; i += blockDim.x)
            own[i] = (u64)w[i];
        w = (const i64 *)own;
        free += words;
    }
    u64 *wide = free;
    if (c->summed)
        free += c->each;
    u32 *counted = c->counted ? (u32 *)free : nullptr;
    const bool one = c->each <= blockDim.x;
    // Some entries go through all steps while they are near. Counters are cleared for each step.
    const u32 some = counted ? end - begin : SOME;
    for (u32 i = begin; i < end; i += some) {
        const i64 *step = w;
        for (u32 s = 0; s < steps; s++, step += step[W_WORDS]) {
            __syncthreads(); // what the step before has written is there, and its sums and counters are free
            if (one)
                run_step<1>(step, l, i, min(end, i + some), wide, counted);
            else
                run_step<4>(step, l, i, min(end, i + some), wide, counted);
        }
    }
}

// Steps of a row. There are few entries and many steps, each of which depends on others. So a block first reads all
// that its chain reads, at once, into shared memory, then goes through the steps there, independent ones in different
// warps, and writes all results at the end. Nothing is counted or kept for a proof.

// A chain. Its blocks have `each` of the n entries, `batch` at a time. Behind it lie, from these words on: where its
// operands lie in the records, where its sums do, of which the first ones are for warps, its results, its levels, and
// where its steps do. Values and sums are in shared memory from these words on, and parts of sums.
struct row_chain {
    u32 n, each, batch, loads;
    u32 adds, wides, stores, levels;
    u32 loads_at, adds_at, stores_at, levels_at;
    u32 steps_at, values, sums, parts;
};

// Where a result goes that is in shared memory.
struct row_store {
    i64 at;
    u32 width, value;
};

// Steps [first, end) depend on those of levels before, and not on each other.
struct row_level {
    u32 first, end;
};

// A step. Values and sums have the numbers of their first entries in shared memory; those at 0 are ones, and no result.
// Behind it lie its terms, its pieces, and the numbers of its sums.
struct row_step {
    u32 kind, terms, sums, pieces;
    u32 shift, drop, rows, value_width;
    i32 least;
    u32 den, out, lo;
    i32 out_least, out_most, lo_least, lo_most;
    i64 constant, values;
};

// coefficient · a · b
struct row_term {
    i64 coef;
    u32 a, b;
};

// Where a chain of a launch lies, and the first of its blocks.
struct row_job {
    u64 first, at, words;
};

// An operand's entry for entry x and summand t.
DEVICE i64 row_operand(const i64 *o, const launched &l, u32 x, u32 t, i64 fill)
{
    const i64 at = place(o, l, x, t);
    return at < 0 ? fill : entry(address(o[O_ADDRESS], l), (u64)o[O_WIDTH], (u64)at);
}

// A sum of a thread's at entry x: an accumulator, if there is one, or a term.
DEVICE u64 row_sum(const i64 *w, const launched &l, u32 x)
{
    if (w[0])
        return w[0] & 1 ? (u64)l.sums[(w[0] >> 3) + x] : ((const u64 *)address(w[0], l))[x];
    const i64 *term = w + 1;
    const u32 summands = (u32)term[T_SUMMANDS], operands = (u32)term[T_OPERANDS];
    u64 all = 0;
    for (u32 t = 0; t < summands; t++) {
        const i64 *o = term + T_FIRST;
        u64 value = 1;
        for (u32 j = 0; j < operands; j++, o += o[O_WORDS])
            value *= (u64)row_operand(o, l, x, t, term[T_FILL]);
        all += value;
    }
    return (u64)term[T_COEF] * all;
}

// A step at an entry, whose values and sums are given. Returns whether all numbers are in their ranges.
DEVICE bool row_step_at(const row_step &s, const launched &l, i32 *values, const u64 *sums)
{
    const row_term *term = (const row_term *)(&s + 1);
    const piece *pieces = (const piece *)(term + s.terms);
    const u32 *list = (const u32 *)(pieces + s.pieces);
    u64 sum = (u64)s.constant;
    for (u32 k = 0; k < s.sums; k++)
        sum += sums[list[k]];
#pragma unroll 4
    for (u32 k = 0; k < s.terms; k++)
        sum += (u64)term[k].coef * (u64)((i64)values[term[k].a] * values[term[k].b]);
    i64 value = (i64)sum;
    i32 rest = 0;
    bool good = s.kind == SUM || (value > -BOUND && value < BOUND);
    if (s.kind == LOOK_UP) {
        const i32 key = (i32)value >> s.shift;
        rest = (i32)value & (((i32)1 << s.shift) - 1);
        value = 0;
        good = good && key >= s.least && (u32)(key - s.least) < s.rows;
        if (s.pieces) {
            const i32 of = key >> s.drop;
            const piece *p = pieces;
            for (u32 k = 1; k < s.pieces && of >= p->end + s.least; k++)
                p++;
            value = p->slope * of + p->offset;
        } else if (good && s.values) {
            value = entry(address(s.values, l), s.value_width, (u64)((i64)key - s.least));
        }
    } else if (s.kind == DIVIDE) {
        const i32 d = values[s.den];
        good = good && d > 0;
        if (good) {
            const i32 v = (i32)value, y = v / d - (v % d < 0);
            value = y;
            rest = v - y * d;
        }
    }
    good = good && (!s.out || (value >= s.out_least && value <= s.out_most)) && (!s.lo || (rest >= s.lo_least && rest <= s.lo_most));
    if (s.out)
        values[s.out] = good ? (i32)value : 0;
    if (s.lo)
        values[s.lo] = good ? rest : 0;
    return good;
}

// Chains of steps on a row, as steps_run runs them. All chains lie in the records as jobs say, which are there, or one alone, of so many
// words.
KERNEL __launch_bounds__(512) steps_row(char *code, u64 at, u64 chains, u64 words_of_one, char *small, char *large, const i64 *given)
{
    DYNAMIC_SHARED(uint4, own);
    __shared__ launched l;
    let_next_begin();
    const u32 lane = threadIdx.x % 32, warp = threadIdx.x / 32, warps = blockDim.x / 32;
    row_job j = {0, at, words_of_one};
    if (chains > 1) {
        const row_job *jobs = (const row_job *)(code + at);
        u32 job = 0;
        for (u32 k = 0; k < chains; k += 32)
            job += (u32)__popc((int)__ballot_sync(~0u, k + lane < chains && jobs[min((u64)k + lane, chains - 1)].first <= blockIdx.x));
        j = jobs[job - 1];
    }
    const uint4 *from = (const uint4 *)(code + j.at);
    for (u32 i = threadIdx.x; i < j.words / 2; i += blockDim.x)
        own[i] = from[i];
    if (threadIdx.x == 0)
        l = {{nullptr, nullptr, code, code, small, small, large, nullptr}, given, nullptr, (u32 *)small, false};
    wait_for_earlier(); // the records are always there
    __syncthreads();
    const row_chain c = *(const row_chain *)own;
    const i64 *words = (const i64 *)own;
    const u32 *loads = (const u32 *)(words + c.loads_at), *adds = (const u32 *)(words + c.adds_at), *steps = (const u32 *)(words + c.steps_at);
    const row_store *stores = (const row_store *)(words + c.stores_at);
    const row_level *levels = (const row_level *)(words + c.levels_at);
    i32 *values = (i32 *)((u64 *)own + c.values);
    u64 *sums = (u64 *)own + c.sums, *parts = (u64 *)own + c.parts;
    const u32 begin = (u32)(blockIdx.x - j.first) * c.each, end = min(begin + c.each, c.n);
    for (u32 i = begin; i < end; i += c.batch) {
        const u32 entries = min(c.batch, end - i), groups = (entries + 31) / 32, items = c.wides * entries;
        for (u32 k = threadIdx.x; k < entries; k += blockDim.x)
            values[k] = 1;
        for (u32 k = threadIdx.x; k < c.loads * entries; k += blockDim.x) {
            const u32 which = k / entries, e = k - which * entries;
            const i64 *o = words + loads[which];
            values[(which + 1) * c.batch + e] = (i32)row_operand(o + 1, l, i + e, 0, o[0]);
        }
        for (u32 k = threadIdx.x; k < (c.adds - c.wides) * entries; k += blockDim.x) {
            const u32 which = k / entries + c.wides, e = k % entries;
            sums[which * c.batch + e] = row_sum(words + adds[which], l, i + e);
        }
        // Where there are fewer sums than warps, several share one.
        const u32 share = items ? max(1u, warps / items) : 1;
        for (u32 k = warp; k < items * share; k += warps) {
            const u32 part = k / items, item = k % items, which = item / entries, e = item % entries;
            const i64 *term = words + adds[which] + 1;
            u64 sum = (u64)term[T_COEF] * part_of_term<4>(term, l, i + e, 32 * part + lane, 32 * share);
            for (int d = 16; d > 0; d /= 2)
                sum += __shfl_xor_sync(~0u, sum, d);
            if (lane == 0)
                (share == 1 ? sums[which * c.batch + e] : parts[k]) = sum;
        }
        __syncthreads();
        if (share > 1) {
            for (u32 k = threadIdx.x; k < items; k += blockDim.x) {
                u64 sum = 0;
                for (u32 p = 0; p < share; p++)
                    sum += parts[p * items + k];
                sums[k / entries * c.batch + k % entries] = sum;
            }
            __syncthreads();
        }
        for (u32 level = 0; level < c.levels; level++) {
            const row_level now = levels[level];
            for (u32 k = warp; k < (now.end - now.first) * groups; k += warps) {
                const u32 step = groups == 1 ? k : k / groups, e = 32 * (k - step * groups) + lane;
                if (e < entries && !row_step_at(*(const row_step *)(words + steps[now.first + step]), l, values + e, sums + e))
                    *l.bad = 1;
            }
            __syncthreads(); // what this level has made is there
        }
        for (u32 k = threadIdx.x; k < c.stores * entries; k += blockDim.x) {
            const u32 which = k / entries, e = k - which * entries;
            const row_store to = stores[which];
            result{address(to.at, l), to.width, 0, 0}.set(i + e, values[to.value + e]);
        }
        __syncthreads(); // before the next entries
    }
}

// The look-ups of a table whose keys lie in memory, or those of them in `own` rows from a row on.
// They lie in n pieces from a byte on; blocks from `first` on share them. If own is 0 these are all.
struct tally {
    u64 first, blocks;
    i64 counts, least, rows;
    u64 from, own, at, n;
};

// n keys, less a constant.
struct keys_piece {
    i64 keys;
    u64 width, n;
    i64 plus;
};

constexpr u32 TALLY_WARPS = 16;

// Adds look-ups to the counts of tables, with a table's own rows in shared memory. *small becomes 1
// where a key has no row.
KERNEL __launch_bounds__(512) steps_tally(char *code, u64 at, u64 tallies, char *small, char *large, char *again)
{
    DYNAMIC_SHARED(u32, own);
    __shared__ launched l;
    if (threadIdx.x == 0)
        l = {{nullptr, nullptr, code, code, small, small, large, again}, nullptr, nullptr, (u32 *)small, true};
    const tally t = job_of((const tally *)(code + at), tallies, blockIdx.x);
    for (u32 r = threadIdx.x; r < t.own; r += blockDim.x)
        own[r] = 0;
    __syncthreads();
    i32 *counts = (i32 *)address(t.counts, l);
    const u32 lane = threadIdx.x % 32, from = (u32)t.from, rows = t.own ? (u32)t.own : (u32)t.rows;
    const bool first = from == 0;
    for (u64 k = (blockIdx.x - t.first) * TALLY_WARPS + threadIdx.x / 32; k < t.n; k += t.blocks * TALLY_WARPS) {
        const keys_piece p = ((const keys_piece *)(code + t.at))[k];
        const char *keys = address(p.keys, l);
        const u32 width = (u32)p.width, n = (u32)p.n;
        const i64 plus = p.plus - t.least;
        for (u32 i = 0; i < n; i += 256) {
            i32 v[2][4];
            u32 have[2];
#pragma unroll
            for (u32 h = 0; h < 2; h++) {
                const u32 j = i + 128 * h + 4 * lane;
                have[h] = j < n ? min(n - j, 4u) : 0;
                load_four(v[h], keys + (u64)j * width, width, have[h]);
            }
#pragma unroll
            for (u32 h = 0; h < 2; h++) {
                u32 row[4], mine = 0;
#pragma unroll
                for (u32 e = 0; e < 4; e++) {
                    const i64 r = v[h][e] + plus;
                    if (first && e < have[h] && (r < 0 || r >= t.rows))
                        *l.bad = 1;
                    row[e] = (u32)r - from;
                    mine |= (u32)(e < have[h] && r >= from && r < (i64)from + rows) << e;
                }
                by_row(mine, row, [&](u32 r, i32 some) {
                    if (t.own)
                        atomicAdd(&own[r], (u32)some);
                    else
                        atomicAdd(&counts[r], some);
                });
            }
        }
    }
    __syncthreads();
    for (u32 r = threadIdx.x; r < t.own; r += blockDim.x)
        if (own[r])
            atomicAdd(&counts[from + r], (i32)own[r]);
}

// out[i] = the greatest of the entries i·row … of x, a warp for each of n rows.
KERNEL steps_max(char *small, char *out, u64 outwidth, const void *x, u64 width, u64 n, u64 row, i64 least, i64 most)
{
    let_next_begin();
    wait_for_earlier();
    const result r{out, (u32)outwidth, least, most};
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

// Puts a row in a tensor, at the index that *at has, on an axis of so many, with before and after entries of the axes around it.
KERNEL steps_put(char *whole, u64 width, const void *row, u64 rowwidth, const void *at, u64 atwidth, u64 before, u64 rows, u64 after)
{
    let_next_begin();
    wait_for_earlier();
    const result r{whole, (u32)width, 0, 0};
    const u64 index = (u64)entry(at, atwidth, 0);
    if (index >= rows)
        return;
    for (u64 i = thread_index(); i < before * after; i += thread_count())
        r.set((i / after * rows + index) * after + i % after, entry(row, rowwidth, i));
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
