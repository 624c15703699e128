// Rounds of a batched sumcheck over Σ eq·A·B (package sumcheck).
#include "gram.cuh"
#include "lanes.cuh"

// An instance of the batch, as the launcher writes it.
struct instance {
    qm31 *a, *b;
    const qm31 *outer, *inner; // heaps over eq's coordinates, see weights
    u64 vars, eq, inner_eq;
    u64 flipped; // bit j: coordinate j of eq is zero
};

template <u32 folds>
DEVICE void one_round(u64 *sum, qm31 *a, qm31 *b, u64 pairs, const weights &w, bool flipped, const challenges &r)
{
    weighted_sums(sum, pairs, w, [&](u64 x, qm31 &p, qm31 &q) {
        qm31 a0 = bound<folds>(a, x, 2 * pairs, r), a1 = bound<folds>(a, x + pairs, 2 * pairs, r);
        qm31 b0 = bound<folds>(b, x, 2 * pairs, r), b1 = bound<folds>(b, x + pairs, 2 * pairs, r);
        if (folds > 0) {
            a[x] = a0;
            a[x + pairs] = a1;
            b[x] = b0;
            b[x + pairs] = b1;
        }
        p = flipped ? qm31_mul(a1, b1) : qm31_mul(a0, b0);
        q = qm31_mul(qm31_sub(a1, a0), qm31_sub(b1, b0));
    });
}

// One round of the first gridDim.y instances, those with the most variables,
// whose sums have 2^log_pairs terms. Instances that have been in a round before
// are bound first to the `pending` challenges since the last pass. To
// sums[8·i …] of instance i are added Σ w·A_0·B_0 and the leading coefficient
// Σ w·(A_1 − A_0)·(B_1 − B_0); the first with A_1, B_1 where the round's own eq
// coordinate is zero.
KERNEL __launch_bounds__(256) sumcheck_round(u64 *sums, u64 *box, u64 *done, const instance *instances, u64 log_pairs, u64 pending,
                                            u64 w0_low, u64 w0_high, u64 w1_low, u64 w1_high, u64 w2_low, u64 w2_high)
{
    const instance in = instances[blockIdx.y];
    u64 pairs = (u64)1 << log_pairs;
    u32 round = (u32)(in.vars - 1 - log_pairs); // the instance's own
    u32 eq = (u32)in.eq > round + 1 ? (u32)in.eq - round - 1 : 0;
    weights w = weights_of(in.outer, in.inner, (u32)in.inner_eq, eq, (u32)log_pairs);
    bool flipped = in.flipped >> round & 1;
    u64 *sum = sums + 8 * blockIdx.y;
    challenges r = taken(w0_low, w0_high, w1_low, w1_high, w2_low, w2_high);
    switch (round == 0 ? 0 : pending) {
    case 0:
        one_round<0>(sum, in.a, in.b, pairs, w, flipped, r);
        break;
    case 1:
        one_round<1>(sum, in.a, in.b, pairs, w, flipped, r);
        break;
    default:
        one_round<2>(sum, in.a, in.b, pairs, w, flipped, r);
    }
    result_buffer{box, done}.send(sums, 8 * gridDim.y);
}

template <u32 folds>
DEVICE void two_rounds(u64 *sum, qm31 *a, qm31 *b, u64 quads, const challenges &r)
{
    qm31_sum s[8] = {};
#pragma unroll 1
    for (u64 x = thread_index(); x < quads; x += thread_count()) {
        qm31 u[4], v[4];
#pragma unroll
        for (u32 j = 0; j < 4; j++) {
            u[j] = bound<folds>(a, x + j * quads, 4 * quads, r);
            v[j] = bound<folds>(b, x + j * quads, 4 * quads, r);
        }
        if (folds > 0) {
#pragma unroll
            for (u32 j = 0; j < 4; j++) {
                a[x + j * quads] = u[j];
                b[x + j * quads] = v[j];
            }
        }
        add_grid(s, u, v);
    }
    add_sums(sum, s);
}

// The same of instances that have eq coordinates left, with the weights of the variables after the
// two, and with eight lanes for a quad: each makes one of the eight entries, and then one of the
// eight products.
template <u32 folds>
DEVICE void two_rounds_in_lanes(u64 *sum, qm31 *a, qm31 *b, u64 quads, const weights &w, const challenges &r)
{
    qm31 *t = threadIdx.x % 8 < 4 ? a : b;
    qm31_sum s = {0, 0, 0, 0};
#pragma unroll 1
    for (u64 from = first_term(8); from < quads; from += terms_at_once(8)) {
        u64 x = from + threadIdx.x % 32 / 8;
        qm31 v = qm31_zero();
        if (x < quads) {
            u64 i = x + threadIdx.x % 4 * quads;
            v = bound<folds>(t, i, 4 * quads, r);
            if (folds > 0)
                t[i] = v;
        }
        qm31 f = grid_value(v, 0, 8);
        qm31_factor g = qm31_prepare(grid_value(v, 4, 8));
        if (w.none())
            s.add(f, g);
        else if (x < quads)
            s.add(qm31_mul(f, g), qm31_prepare(w.at(x)));
    }
    lane_sums(sum, s.value());
}

// Two rounds at once of instances as in sumcheck_round, none of which joins in
// the second or has eq coordinates left; the sums of the second have 2^log_quads
// terms. To sums[32·i …] are added the sums over x of the product A·B with the
// two variables at (0,0), (0,1), (1,0), and its leading coefficients in the
// first at (·,0) and (·,1), in the second at (0,·) and (1,·), and in both.
KERNEL __launch_bounds__(256, 2) sumcheck_two_rounds(u64 *sums, u64 *box, u64 *done, const instance *instances, u64 log_quads,
                                                    u64 pending, u64 w0_low, u64 w0_high, u64 w1_low, u64 w1_high, u64 w2_low, u64 w2_high)
{
    const instance in = instances[blockIdx.y];
    u64 quads = (u64)1 << log_quads;
    u64 *sum = sums + 32 * blockIdx.y;
    challenges r = taken(w0_low, w0_high, w1_low, w1_high, w2_low, w2_high);
    switch (in.vars == log_quads + 2 ? 0 : pending) {
    case 0:
        two_rounds<0>(sum, in.a, in.b, quads, r);
        break;
    case 1:
        two_rounds<1>(sum, in.a, in.b, quads, r);
        break;
    default:
        two_rounds<2>(sum, in.a, in.b, quads, r);
    }
    result_buffer{box, done}.send(sums, 32 * gridDim.y);
}

// sumcheck_two_rounds by eight lanes for each of the 2^log_quads terms. Instances may have eq
// coordinates left: the sums are weighted with eq in the variables after the two.
KERNEL __launch_bounds__(256) sumcheck_two_rounds_in_lanes(u64 *sums, u64 *box, u64 *done, const instance *instances, u64 log_quads,
                                                          u64 pending, u64 w0_low, u64 w0_high, u64 w1_low, u64 w1_high, u64 w2_low, u64 w2_high)
{
    const instance in = instances[blockIdx.y];
    u64 quads = (u64)1 << log_quads;
    u64 *sum = sums + 32 * blockIdx.y;
    challenges r = taken(w0_low, w0_high, w1_low, w1_high, w2_low, w2_high);
    u32 after = (u32)(in.vars - log_quads); // the instance's own round after the two
    weights w = weights_of(in.outer, in.inner, (u32)in.inner_eq, (u32)in.eq > after ? (u32)in.eq - after : 0, (u32)log_quads);
    switch (in.vars == log_quads + 2 ? 0 : pending) {
    case 0:
        two_rounds_in_lanes<0>(sum, in.a, in.b, quads, w, r);
        break;
    case 1:
        two_rounds_in_lanes<1>(sum, in.a, in.b, quads, w, r);
        break;
    default:
        two_rounds_in_lanes<2>(sum, in.a, in.b, quads, w, r);
    }
    result_buffer{box, done}.send(sums, 32 * gridDim.y);
}

// A factor in shared memory, aligned.
struct __align__(16) held_factor {
    qm31_factor w;
};

// Puts the weights there with which the 2^pending entries that become one are bound to the challenges:
// r in the uppermost variable, and so on. All threads must call it.
DEVICE void hold(held_factor *factors, u32 pending, qm31 r, qm31 s, qm31 t)
{
    if (threadIdx.x < 8) {
        qm31 w = qm31_one();
#pragma unroll 1
        for (u32 j = 0; j < pending; j++) {
            qm31 one = qm31_mul(j == 0 ? r : j == 1 ? s : t, w);
            w = threadIdx.x >> (pending - 1 - j) & 1 ? one : qm31_sub(w, one);
        }
        factors[threadIdx.x].w = qm31_prepare(w);
    }
    __syncthreads();
}

// How many planes there is room for in the shared memory of sumcheck_three_rounds.
#define PLANES 12

// Up to how many blocks of an instance there send what they have summed, each for itself.
#define PARTS 4

// What a thread of sumcheck_three_rounds has to do for an instance: of octets x its entry, which is
// x + i·octets of A or of B.
struct octet_entries {
    qm31 *t;
    u64 octets;
    weights w;
    bool weighted;

    // Multiplies an entry of octet x with the weight where it has to be, which is in A.
    __device__ __forceinline__ qm31 times_weight(qm31 v, u64 x) const { return weighted && x < octets ? qm31_mul(v, w.at(x)) : v; }
};

// The block's part of the sums for an instance whose tables are bound. Tiles of 64 octets, two
// planes, are read while those before them are multiplied.
DEVICE void three_first_rounds(u64 *sum, u64 *box, const octet_entries &in)
{
    constexpr u32 ahead = PLANES / 2 - 1;
    DYNAMIC_SHARED(uint4, ring);
    const u64 tiles = (in.octets + 63) / 64;
    auto octet = [&](u64 tile, u32 i) { return tile * 64 + 32 * i + threadIdx.x % 32; };
    u64 next = blockIdx.x;
    auto fetch = [&](u32 stage) {
        if (next < tiles)
#pragma unroll
            for (u32 i = 0; i < 2; i++) {
                const u64 x = octet(next, i);
                copy16(ring + (2 * stage + i) * GRAM_THREADS + threadIdx.x, x < in.octets ? in.t + x : nullptr);
            }
        next += gridDim.x;
        copies_begun();
    };
#pragma unroll 1
    for (u32 k = 0; k < ahead; k++)
        fetch(k);
    gram<4> g = {};
    u32 stage = 0;
#pragma unroll 1
    for (u64 tile = blockIdx.x; tile < tiles; tile += gridDim.x) {
        copies_done<ahead - 1>();
        uint4 *planes = ring + 2 * stage * GRAM_THREADS;
        if (in.weighted)
#pragma unroll 1
            for (u32 i = 0; i < 2; i++) {
                qm31 *mine = (qm31 *)(planes + i * GRAM_THREADS + threadIdx.x);
                *mine = in.times_weight(*mine, octet(tile, i));
            }
        __syncthreads();
        fetch(stage == 0 ? ahead : stage - 1); // where all are done with the tile before
        gram_add(g, planes);
        stage = stage == ahead ? 0 : stage + 1;
    }
    copies_done<0>();
    gram_sums(sum, box, g, (u32 *)ring);
}

// What a lane has of the weights with which eight entries become one, for the tensor cores: a limb of the sum
// is one of all 32 limbs of the entries, times what the weights have for it, and both are taken apart into
// bytes. Byte j of limb o of the products is column (o, j) of the instruction, of two, where lane 4·g + t has
// the bytes 2·i and 2·i + 1 of limb t in instruction i; its rows are the entries' bytes, of two entries at a
// time, and so [k][i] has what byte b of limb t of the entries 2·k and 2·k + 1 is times 2^(8·b).
struct binding {
    u32 w[4][2][2];

    __device__ __forceinline__ binding(const held_factor *factors, u32 sources)
    {
        const u32 limb = threadIdx.x % 4, out = threadIdx.x % 32 / 8, odd = threadIdx.x / 4 % 2;
        // Which word of the factor limb `out` of a product takes times limb `limb` of an entry (qm31_mul).
        const u32 word = (u32)(0x0123607245018460ull >> 4 * (4 * out + limb)) & 15;
#pragma unroll
        for (u32 s = 0; s < 8; s++) {
            const u32 v = s < sources ? ((const u32 *)&factors[s].w)[word] : 0;
            u32 low = 0, high = 0;
#pragma unroll
            for (u32 byte = 0; byte < 4; byte++) {
                const u32 at = m31_mul2exp(v, 8 * byte) >> 8 * odd;
                low |= (at & 255) << 8 * byte;
                high |= (at >> 16 & 255) << 8 * byte;
            }
            w[s / 2][0][s % 2] = low;
            w[s / 2][1][s % 2] = high;
        }
    }
};

// The same where entries are bound first, each from 2^pending: as many planes for a tile of 32 octets,
// which the warps read that have read them from memory, and one of what they make of them.
DEVICE void three_more_rounds(u64 *sum, u64 *box, const octet_entries &in, u32 pending, qm31 r, qm31 s, qm31 t)
{
    constexpr u32 ahead = PLANES - 2;
    DYNAMIC_SHARED(uint4, ring);
    uint4 *bound = ring + ahead * GRAM_THREADS; // of two tiles
    const u32 sources = 1u << pending, lane = threadIdx.x % 32;
    const u64 tiles = (in.octets + 31) / 32;
    // The tile that is read next, and the place and the number of its source.
    u64 next = blockIdx.x;
    u64 x = next * 32 + lane;
    const qm31 *from = in.t + x;
    u32 next_source = 0;
    auto fetch = [&](u32 slot) {
        if (next < tiles)
            copy16(ring + slot * GRAM_THREADS + threadIdx.x, next * 32 + lane < in.octets ? from : nullptr);
        copies_begun();
        from += 8 * in.octets;
        if (++next_source == sources) {
            next_source = 0;
            next += gridDim.x;
            from = in.t + next * 32 + lane;
        }
    };
#pragma unroll 1
    for (u32 k = 0; k < ahead; k++)
        fetch(k);
    __shared__ held_factor factors[8];
    hold(factors, pending, r, s, t);
    const binding by(factors, sources);
    const u32 together = min(sources, 2u); // entries that an instruction takes
    gram<2> g = {};
    u32 slot = 0, buffer = 0;
#pragma unroll 1
    for (u64 tile = blockIdx.x; tile < tiles; tile += gridDim.x) {
        i32 d[2][2][4] = {}; // of 16 octets, and 16 more
#pragma unroll
        for (u32 k = 0; k < 4; k++) {
            if (2 * k >= sources)
                break;
            copies_done<ahead - 2>();
            __syncwarp();
            // Slots are even in number, so that both are there.
            const uint4 *here = ring + slot * GRAM_THREADS + threadIdx.x / 32 * 32;
            const uint4 *row = here + lane % 16 + (together == 2 ? lane / 16 * GRAM_THREADS : 0);
            u32 a[2][4];
#pragma unroll
            for (u32 i = 0; i < 2; i++)
                load_words(a[i], row + 16 * i);
#pragma unroll
            for (u32 i = 0; i < 2; i++)
#pragma unroll
                for (u32 j = 0; j < 2; j++)
                    mma_bytes<false, false>(d[i][j], make_uint4(a[i][0], a[i][1], a[i][2], a[i][3]), by.w[k][j][0], by.w[k][j][1]);
            __syncwarp();
            for (u32 n = 0; n < together; n++) {
                fetch(slot);
                slot = slot == ahead - 1 ? 0 : slot + 1;
            }
        }
        u32 *plane = (u32 *)(bound + buffer * GRAM_THREADS + threadIdx.x / 32 * 32);
#pragma unroll
        for (u32 i = 0; i < 2; i++)
#pragma unroll
            for (u32 half = 0; half < 2; half++) {
                const i32(&low)[4] = d[i][0], (&high)[4] = d[i][1];
                const u32 k = 2 * half, row = 16 * i + 8 * half + lane / 4;
                // Each below 2^23: 128 products of bytes.
                const u32 v = m31_reduce((u32)low[k] + ((u64)(u32)low[k + 1] << 8) + ((u64)(u32)high[k] << 16) + ((u64)(u32)high[k + 1] << 24));
                plane[4 * row + lane % 4] = v;
                if (tile * 32 + row < in.octets)
                    ((u32 *)(in.t + tile * 32 + row))[lane % 4] = v;
            }
        if (in.weighted) {
            __syncwarp();
            qm31 *mine = (qm31 *)plane + lane;
            *mine = in.times_weight(*mine, tile * 32 + lane);
        }
        __syncthreads();
        gram_add(g, bound + buffer * GRAM_THREADS);
        buffer ^= 1;
    }
    copies_done<0>();
    gram_sums(sum, box, g, (u32 *)ring);
}

// Three rounds at once of instances as in sumcheck_two_rounds, none of which joins in the second or
// the third; the sums of the third have 2^log_octets terms. Instances may have eq coordinates left: the
// sums are weighted with eq in the variables after the three. To sums[108·i …] are added the sums over x
// of A·B with the three variables at 0, at 1 and at infinity (gram_sums). Entries are bound to the
// pending challenges r, s and t. A block takes 2^15 octets at most. One instance may come as
// parameters, with no instances. Up to PARTS blocks of an instance leave their sums in the result buffer one behind the other.
KERNEL __launch_bounds__(GRAM_THREADS)
    sumcheck_three_rounds(u64 *sums, u64 *box, u64 *done, const instance *instances, qm31 *a, qm31 *b, const qm31 *outer, const qm31 *inner,
                          u64 vars, u64 eq, u64 inner_eq, u64 flipped, u64 log_octets, u64 pending, u64 r_low, u64 r_high, u64 s_low,
                          u64 s_high, u64 t_low, u64 t_high)
{
    const instance in = instances ? instances[blockIdx.y] : instance{a, b, outer, inner, vars, eq, inner_eq, flipped};
    u64 octets = (u64)1 << log_octets;
    u64 *sum = sums + 108 * blockIdx.y;
    u32 after = (u32)(in.vars - log_octets); // the instance's own round after the three
    weights w = weights_of(in.outer, in.inner, (u32)in.inner_eq, (u32)in.eq > after ? (u32)in.eq - after : 0, (u32)log_octets);
    const u32 warp = threadIdx.x / 32;
    const octet_entries entries = {(warp < 8 ? in.a : in.b) + warp % 8 * octets, octets, w, warp < 8 && !w.none()};
    // What few blocks make the host adds up sooner than they could.
    u64 *own = box && gridDim.x <= PARTS ? box + 108 * (blockIdx.y * gridDim.x + blockIdx.x) : nullptr;
    if (in.vars == log_octets + 3)
        three_first_rounds(sum, own, entries);
    else
        three_more_rounds(sum, own, entries, (u32)pending, qm31_unpack(r_low, r_high), qm31_unpack(s_low, s_high), qm31_unpack(t_low, t_high));
    if (!own)
        result_buffer{box, done}.send(sums, 108 * gridDim.y);
}

// Adds Σ_x eq(x_0 …)·A[x]·B[x] of each of gridDim.y instances to sums[8·i …].
KERNEL __launch_bounds__(256) sumcheck_inner(u64 *sums, u64 *box, u64 *done, const instance *instances)
{
    const instance in = instances[blockIdx.y];
    weights w = weights_of(in.outer, in.inner, (u32)in.inner_eq, (u32)in.eq, (u32)in.vars);
    weighted_sums(sums + 8 * blockIdx.y, (u64)1 << in.vars, w, [&](u64 x, qm31 &p, qm31 &q) {
        p = qm31_mul(in.a[x], in.b[x]);
        q = qm31_zero();
    });
    result_buffer{box, done}.send(sums, 8 * gridDim.y);
}

// Writes what is left of A and of B of n instances to out, 2^(log_size + 1) elements for each: of
// 2^log_size entries once those that have been in a round are bound to the pending challenges r, s and t;
// of fewer, and then zeros, where a table has fewer. One instance may come as parameters.
KERNEL __launch_bounds__(256)
    sumcheck_rest(qm31 *out, const instance *instances, qm31 *a, qm31 *b, const qm31 *outer, const qm31 *inner, u64 vars, u64 eq, u64 inner_eq,
                  u64 flipped, u64 n, u64 log_size, u64 pending, u64 r_low, u64 r_high, u64 s_low, u64 s_high, u64 t_low, u64 t_high)
{
    const u64 size = (u64)1 << log_size;
    __shared__ held_factor factors[8];
    hold(factors, (u32)pending, qm31_unpack(r_low, r_high), qm31_unpack(s_low, s_high), qm31_unpack(t_low, t_high));
    // Eight lanes for an element, of which each takes one of the entries that become it.
    const u32 k = threadIdx.x % 8;
    const u64 elements = 2 * size * n;
    for (u64 first = first_term(8); first < elements; first += terms_at_once(8)) {
        const u64 i = first + threadIdx.x % 32 / 8;
        qm31 v = qm31_zero();
        if (i < elements) {
            const instance in = instances ? instances[i >> log_size >> 1] : instance{a, b, outer, inner, vars, eq, inner_eq, flipped};
            const qm31 *from = i >> log_size & 1 ? in.b : in.a;
            const u64 x = i & (size - 1);
            if (in.vars > log_size) {
                if (k < 1u << pending)
                    v = qm31_mul(from[x + k * size], factors[k].w);
            } else if (k == 0 && !(x >> in.vars)) {
                v = from[x];
            }
        }
#pragma unroll 1
        for (int mask = 4; mask > 0; mask >>= 1)
            v = qm31_add(v, across(v, mask));
        if (k == 0 && i < elements)
            out[i] = v;
    }
}
