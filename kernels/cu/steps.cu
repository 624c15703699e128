// Steps of the forward pass on tensors that stay on the device: each is one launch,
// which goes by a record (kernels.Step says what is in it).
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

// The place of an operand's entry for entry x of the output and summand t, −1 if
// there is none. w is at the operand's groups and is left behind them.
DEVICE i64 place(const i64 *&w, const bases &from, u32 x, u32 t)
{
    i64 groups = *w++;
    if (groups == 0)
        return x;
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

// Summand t of a term at entry x of the output.
DEVICE u64 summand(const i64 *w, const bases &from, u32 x, u32 t)
{
    i64 operands = w[3], fill = w[4];
    u64 value = (u64)w[1];
    w += 5;
    for (i64 i = 0; i < operands; i++) {
        const char *p = address(w[0], from);
        i64 width = w[1];
        w += 2;
        i64 at = place(w, from, x, t);
        value *= (u64)(at < 0 ? fill : (i64)entry(p, (u64)width, (u64)at));
    }
    return value;
}

// A result: address, width, least and greatest value.
struct result {
    char *p;
    i64 width, least, most;

    __device__ __forceinline__ result(const i64 *w, const bases &from)
        : p(address(w[0], from)), width(w[1]), least(w[2]), most(w[3]) {}

    __device__ __forceinline__ bool holds(i64 v) const { return !p || (v >= least && v <= most); }

    __device__ __forceinline__ void set(u64 i, i64 v) const
    {
        if (!p)
            return;
        if (width == 1)
            ((i8 *)p)[i] = (i8)v;
        else if (width == 2)
            ((i16 *)p)[i] = (i16)v;
        else
            ((i32 *)p)[i] = (i32)v;
    }
};

// A piece of a piecewise-linear table: rows up to end, exclusive, have the value
// slope·key + offset. Rows and keys are those of the table without its lowest bits, if it
// drops some; it begins at 0 then.
struct piece {
    i64 end, slope, offset;
};

constexpr i64 BOUND = (i64)1 << 30;

// Adds one to counts[row] in every lane that is valid. All lanes call it: where many
// have the same row, as most of a network's values do, one of them adds for all.
DEVICE void count(i32 *counts, bool valid, i32 row)
{
    u32 lane = threadIdx.x % 32, left = __ballot_sync(~0u, valid);
    for (int turn = 0; turn < 2 && left; turn++) {
        u32 leader = (u32)__ffs((int)left) - 1;
        i32 common = __shfl_sync(~0u, row, (int)leader);
        u32 same = __ballot_sync(~0u, valid && row == common) & left;
        if (lane == leader)
            atomicAdd(&counts[common], __popc(same));
        left &= ~same;
    }
    if (left >> lane & 1)
        atomicAdd(&counts[row], 1);
}

enum { LOOK_UP, EXACT, DIVIDE, SUM };

// The words of a record.
enum {
    W_KIND, W_N, W_CONST, W_ACC, W_TERMS, W_SHIFT, W_LEAST, W_ROWS, W_PIECES, W_NPIECES, W_DROP, W_VALUES, W_VALUE_WIDTH,
    W_KEYS, W_OUT = W_KEYS + 4, W_LO = W_OUT + 4, W_DEN = W_LO + 4, W_DEN_WIDTH, W_COUNTS, W_FIRST
};

// The step of the record at code + at, on sums in place of its own accumulator if not null, with a lane for every entry, or a warp if
// `wide`. If `local`, a block counts in shared memory, of 4 bytes a row of the table,
// and adds that up in the end. *small becomes 1 where a number leaves its range; the
// results there are zero. With `only` the keys of a look-up go there, and there are no
// other results. If `uncounted`, it does not count.
KERNEL __launch_bounds__(512) steps_run(char *code, u64 at, char *small, char *large, const i64 *sums, u64 wide, u64 local, char *only,
                                                 char *again, u64 uncounted)
{
    DYNAMIC_SHARED(i32, own);
    bases from = {code, small, large, again};
    const i64 *w = (const i64 *)(code + at);
    const u64 n = (u64)w[W_N];
    const i64 kind = w[W_KIND], terms = w[W_TERMS], rows = w[W_ROWS];
    const i64 *acc = sums ? sums : (const i64 *)address(w[W_ACC], from);
    i32 *counts = w[W_COUNTS] && !only && !uncounted ? (i32 *)address(w[W_COUNTS], from) : nullptr;
    if (local) {
        for (i64 r = threadIdx.x; r < rows; r += blockDim.x)
            own[r] = 0;
        __syncthreads();
    }
    result keys(w + W_KEYS, from), out(w + W_OUT, from), lo(w + W_LO, from);
    if (only)
        keys.p = only, out.p = lo.p = nullptr;
    const u32 lane = threadIdx.x % 32;
    const u64 lanes = wide ? 32 : 1, warps = thread_count() / 32;
    for (u64 first = thread_index() / 32 * (32 / lanes); first < n; first += warps * (32 / lanes)) {
        const u64 i = wide ? first : first + lane;
        const bool mine = i < n && (!wide || lane == 0);
        u64 sum = 0;
        if (mine)
            sum = (u64)w[W_CONST] + (acc ? (u64)acc[i] : 0);
        if (i < n) {
            const i64 *term = w + W_FIRST;
            for (i64 k = 0; k < terms; k++, term += term[0]) {
                const u32 summands = (u32)term[2];
                for (u32 t = wide ? lane : 0; t < summands; t += (u32)lanes)
                    sum += summand(term, from, (u32)i, t);
            }
        }
        if (wide)
            for (int d = 16; d > 0; d /= 2)
                sum += __shfl_xor_sync(~0u, sum, d);
        const i64 x = (i64)sum;
        bool good = kind == SUM || (x > -BOUND && x < BOUND);
        i64 key = 0, value = x, rest = 0, row = 0;
        if (mine && kind == LOOK_UP) {
            key = x >> w[W_SHIFT];
            row = key - w[W_LEAST];
            rest = x & (((i64)1 << w[W_SHIFT]) - 1);
            good = good && row >= 0 && row < rows;
            value = 0;
            if (good && out.p && w[W_NPIECES]) {
                const piece *p = (const piece *)address(w[W_PIECES], from);
                const piece *last = p + w[W_NPIECES] - 1;
                const i64 drop = w[W_DROP];
                while (p < last && row >> drop >= p->end)
                    p++;
                value = p->slope * (key >> drop) + p->offset;
            } else if (good && out.p) {
                value = entry(address(w[W_VALUES], from), (u64)w[W_VALUE_WIDTH], (u64)row);
            }
        } else if (mine && kind == DIVIDE) {
            const i64 d = entry(address(w[W_DEN], from), (u64)w[W_DEN_WIDTH], i);
            good = good && d > 0;
            if (good) {
                value = x / d - (x % d < 0);
                rest = x - value * d;
            }
        }
        good = good && out.holds(value) && lo.holds(rest);
        if (mine) {
            if (!good)
                *(u32 *)small = 1;
            keys.set(i, good ? key : 0);
            out.set(i, good ? value : 0);
            lo.set(i, good ? rest : 0);
        }
        if (counts)
            count(local ? own : counts, mine && good, (i32)row);
    }
    if (local) {
        __syncthreads();
        for (i64 r = threadIdx.x; r < rows; r += blockDim.x)
            if (own[r] != 0)
                atomicAdd(&counts[r], own[r]);
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
