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
    mailbox{box, done}.send(sums, 8 * gridDim.y);
}

// The values of one table with the next two variables at 0, 1 and, where it is
// twice one of them, the difference of the two: from its entries at
// (0,0), (0,1), (1,0) and (1,1).
struct grid {
    qm31 v00, v01, v10, d0, d1, e0, e1, de;

    __device__ __forceinline__ grid(qm31 t0, qm31 t1, qm31 t2, qm31 t3)
        : v00(t0), v01(t1), v10(t2), d0(qm31_sub(t2, t0)), d1(qm31_sub(t3, t1)), e0(qm31_sub(t1, t0)), e1(qm31_sub(t3, t2)),
          de(qm31_sub(e1, e0))
    {
    }
};

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
        grid f(u[0], u[1], u[2], u[3]), g(v[0], v[1], v[2], v[3]);
        s[0].add(f.v00, qm31_prepare(g.v00));
        s[1].add(f.v01, qm31_prepare(g.v01));
        s[2].add(f.v10, qm31_prepare(g.v10));
        s[3].add(f.d0, qm31_prepare(g.d0));
        s[4].add(f.d1, qm31_prepare(g.d1));
        s[5].add(f.e0, qm31_prepare(g.e0));
        s[6].add(f.e1, qm31_prepare(g.e1));
        s[7].add(f.de, qm31_prepare(g.de));
    }
    block_sums<8>(sum, {s[0].value(), s[1].value(), s[2].value(), s[3].value(), s[4].value(), s[5].value(), s[6].value(), s[7].value()});
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
    mailbox{box, done}.send(sums, 32 * gridDim.y);
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
    mailbox{box, done}.send(sums, 32 * gridDim.y);
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
DEVICE void three_first_rounds(u64 *sum, const octet_entries &in)
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
    gram_sums(sum, g, (u32 *)ring);
}

// The same where entries are bound first, each from 2^pending: as many planes for a tile of 32 octets,
// whose threads read what is theirs alone, and one of what they make of them.
DEVICE void three_more_rounds(u64 *sum, const octet_entries &in, u32 sources, const held_factor *factors)
{
    constexpr u32 ahead = PLANES - 2;
    DYNAMIC_SHARED(uint4, ring);
    uint4 *bound = ring + ahead * GRAM_THREADS; // of two tiles
    const u64 tiles = (in.octets + 31) / 32;
    // The tile that is read next, and the place and the number of its source.
    u64 next = blockIdx.x;
    u64 x = next * 32 + threadIdx.x % 32;
    const qm31 *from = in.t + x;
    u32 next_source = 0;
    auto fetch = [&](u32 slot) {
        if (next < tiles)
            copy16(ring + slot * GRAM_THREADS + threadIdx.x, next * 32 + threadIdx.x % 32 < in.octets ? from : nullptr);
        copies_begun();
        from += 8 * in.octets;
        if (++next_source == sources) {
            next_source = 0;
            next += gridDim.x;
            from = in.t + next * 32 + threadIdx.x % 32;
        }
    };
#pragma unroll 1
    for (u32 k = 0; k < ahead; k++)
        fetch(k);
    gram<2> g = {};
    u32 slot = 0, buffer = 0;
#pragma unroll 1
    for (; x < 32 * tiles; x += 32 * gridDim.x) {
        qm31_long_sum s = {};
#pragma unroll 1
        for (u32 source = 0; source < sources; source++) {
            copies_done<ahead - 1>();
            s.add(*(const qm31 *)(ring + slot * GRAM_THREADS + threadIdx.x), factors[source].w);
            fetch(slot);
            slot = slot == ahead - 1 ? 0 : slot + 1;
        }
        qm31 v = s.value();
        if (x < in.octets)
            in.t[x] = v;
        uint4 *plane = bound + buffer * GRAM_THREADS;
        *(qm31 *)(plane + threadIdx.x) = in.times_weight(v, x);
        __syncthreads();
        gram_add(g, plane);
        buffer ^= 1;
    }
    copies_done<0>();
    gram_sums(sum, g, (u32 *)ring);
}

// Three rounds at once of instances as in sumcheck_two_rounds, none of which joins in the second or
// the third; the sums of the third have 2^log_octets terms. Instances may have eq coordinates left: the
// sums are weighted with eq in the variables after the three. To sums[108·i …] are added the sums over x
// of A·B with the three variables at 0, at 1 and at infinity (gram_sums). Entries are bound to the
// pending challenges r, s and t. A block takes 2^15 octets at most. One instance may come as
// parameters, with no instances.
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
    __shared__ held_factor factors[8];
    hold(factors, (u32)pending, qm31_unpack(r_low, r_high), qm31_unpack(s_low, s_high), qm31_unpack(t_low, t_high));
    const u32 warp = threadIdx.x / 32;
    const octet_entries entries = {(warp < 8 ? in.a : in.b) + warp % 8 * octets, octets, w, warp < 8 && !w.none()};
    if (in.vars == log_octets + 3)
        three_first_rounds(sum, entries);
    else
        three_more_rounds(sum, entries, 1u << pending, factors);
    mailbox{box, done}.send(sums, 108 * gridDim.y);
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
    mailbox{box, done}.send(sums, 8 * gridDim.y);
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
            v = qm31_add(v, {__shfl_xor_sync(~0u, v.a, mask), __shfl_xor_sync(~0u, v.b, mask), __shfl_xor_sync(~0u, v.c, mask),
                             __shfl_xor_sync(~0u, v.d, mask)});
        if (k == 0 && i < elements)
            out[i] = v;
    }
}
