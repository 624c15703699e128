// Rows of integers as bytes, and products with them on the tensor cores.
//
// A row's entry is an integer of up to 4 bytes, which lie in as many planes: byte j of all entries, plane j, is one
// plane behind that of byte j - 1. In all but the last plane 128 is taken from the byte, of a row without negative
// entries mostly in all, so that all bytes are signed: the entry is the sum of 256^j times byte j, plus 128·256^j for
// each plane of which it was taken.
#include "mma.cuh"
#include "stack.cuh"
#include "sum.cuh"
#include "weights.cuh"

// plane_bias is what has to be taken from each of four bytes of plane j.
DEVICE u32 plane_bias(u64 j, u64 width, u64 natural) { return j + 1 < width || natural ? 0x80808080u : 0; }

// store_planes sets 4 entries of a row, the first of which is at dst in plane 0.
DEVICE void store_planes(i8 *dst, u64 pitch, u64 width, u64 natural, const i32 (&v)[4])
{
    for (u64 j = 0; j < width; j++) {
        u32 word = 0;
        for (u32 i = 0; i < 4; i++) word |= ((u32)(v[i] >> 8 * j) & 0xff) << 8 * i;
        *(u32 *)(dst + j * pitch) = word ^ plane_bias(j, width, natural);
    }
}

// A pack_job is some rows of a table to be set from a stack. There are 2^shift slots in each, and in each slot
// 2^row_vars entries (package whir, layout.go): it sets those of slots `first` to first + slots - 1 of `rows` rows,
// which begin with slot 0, the first of which begins with entry `from` of the stack. Rows lie one behind the other,
// of `width` planes each, from all of which 128 is taken if they are `natural`.
struct pack_job {
    u64 first_block; // of threads
    i8 *dst;
    u64 width, natural, rows, first, slots, from;
};

#define TILE 4096     // entries of a row that a block takes
#define TILES 4       // of them, where slots are rows
#define TILE_SHIFT 10 // slots of a row of which a block has places of all

// sixteen_planes sets 16 entries of a row, which lie behind each other at `at`, 16 bytes aligned, with WIDTH bytes each.
template <u32 WIDTH> DEVICE void sixteen_planes(i8 *to, u64 pitch, u32 width, u32 natural, const uint4 *at)
{
    u32 words[4 * WIDTH], out[WIDTH][4];
#pragma unroll
    for (u32 i = 0; i < WIDTH; i++) {
        uint4 w = at[i];
        words[4 * i] = w.x, words[4 * i + 1] = w.y, words[4 * i + 2] = w.z, words[4 * i + 3] = w.w;
    }
#pragma unroll
    for (u32 i = 0; i < 4; i++) { // four entries
        const u32 *w = words + WIDTH * i;
        if constexpr (WIDTH == 1) {
            out[0][i] = w[0];
        } else if constexpr (WIDTH == 2) {
            out[0][i] = __byte_perm(w[0], w[1], 0x6420), out[1][i] = __byte_perm(w[0], w[1], 0x7531);
        } else {
            u32 even = __byte_perm(w[0], w[1], 0x5140), odd = __byte_perm(w[2], w[3], 0x5140);
            out[0][i] = __byte_perm(even, odd, 0x5410), out[1][i] = __byte_perm(even, odd, 0x7632);
            even = __byte_perm(w[0], w[1], 0x7362), odd = __byte_perm(w[2], w[3], 0x7362);
            out[2][i] = __byte_perm(even, odd, 0x5410), out[3][i] = __byte_perm(even, odd, 0x7632);
        }
    }
#pragma unroll
    for (u32 j = 0; j < WIDTH; j++) {
        if (j >= width) break;
        u32 bias = (u32)plane_bias(j, width, natural);
        *(uint4 *)(to + j * pitch) = make_uint4(out[j][0] ^ bias, out[j][1] ^ bias, out[j][2] ^ bias, out[j][3] ^ bias);
    }
}

// copy_tile sets TILE entries of a row from entries e and on of a stack, of which `in` is the block if they are all one's.
DEVICE void copy_tile(i8 *to, u64 pitch, u32 width, u32 natural, u64 e, u32 in, const u64 *offsets, const stack_block *blocks, u64 count, const stack_axis *axes)
{
    if (in == NO_BLOCK) {
        for (u32 x = 4 * threadIdx.x; x < TILE; x += 4 * blockDim.x) {
            i32 v[4];
            stack_four(v, e + x, in, offsets, blocks, count, axes);
            store_planes(to + x, pitch, width, natural, v);
        }
        return;
    }
    stack_block b = blocks[in];
    e -= offsets[in];
    for (u32 x = 16 * threadIdx.x; x < TILE; x += 16 * blockDim.x) {
        if (b.run >= 4 && width <= b.width) {
            u64 at = (u64)b.values + b.width * stack_address(b, e + x, axes);
            if (at % 16 == 0) {
                switch (b.width) {
                case 1:
                    sixteen_planes<1>(to + x, pitch, width, natural, (const uint4 *)at);
                    break;
                case 2:
                    sixteen_planes<2>(to + x, pitch, width, natural, (const uint4 *)at);
                    break;
                default:
                    sixteen_planes<4>(to + x, pitch, width, natural, (const uint4 *)at);
                }
                continue;
            }
        }
        for (u32 i = 0; i < 16; i += 4) {
            i32 v[4];
            stack_four(v, b, e + x + i, axes);
            store_planes(to + x + i, pitch, width, natural, v);
        }
    }
}

// pack_planes does jobs with rows of planes of `pitch` bytes. Value c of slot l is entry c·2^shift + l' of the row, where
// l' are the bits of l in reverse: a block reads what it takes of every slot as that lies, and writes it as the row lies.
KERNEL __launch_bounds__(256) pack_planes(const pack_job *jobs, u64 n, u64 pitch, u64 row_vars, u64 shift, const u64 *offsets,
                                          const stack_block *blocks, u64 count, const stack_axis *axes)
{
    __shared__ i32 values[TILE + (1 << TILE_SHIFT)];
    __shared__ u32 in[1 << TILE_SHIFT]; // the block that has the values of a slot
    __shared__ pack_job job;
    if (threadIdx.x < 32) {
        u64 own = warp_last([&](u64 i) { return jobs[i].first_block <= blockIdx.x; }, n);
        if (threadIdx.x == 0) job = jobs[own];
    }
    __syncthreads();
    u64 vars = row_vars + shift, size = min((u64)(shift == 0 ? TILES * TILE : TILE), (u64)1 << vars), tiles = ((u64)1 << vars) / size;
    u64 block = blockIdx.x - job.first_block, row = block / tiles, start = block % tiles * size;
    u64 all = (u64)1 << shift, mask = all - 1, each = size >> shift; // slots, and values of each
    auto slot_of = [&](u64 i) { return shift == 0 ? (u64)0 : (u64)__brev((u32)(i & mask)) >> (32 - shift); };
    auto has = [&](u64 slot) { return row * all + slot >= job.first && row * all + slot - job.first < job.slots; };
    auto entry = [&](u64 slot) { return job.from + ((row * all + slot - job.first) << row_vars) + (start >> shift); };
    i8 *to = job.dst + row * job.width * pitch + start;
    if (shift == 0 && size >= TILE) { // as it lies, and mostly of one block
        if (!has(0)) return;
        u64 e = entry(0);
        u32 warp = threadIdx.x / 32;
        if (warp * TILE < size) {
            u32 own = stack_block_of_warp(e + warp * TILE, TILE, offsets, count);
            if (threadIdx.x % 32 == 0) in[warp] = own;
        }
        __syncthreads();
        for (u32 x = 0; x < size; x += TILE)
            copy_tile(to + x, pitch, (u32)job.width, (u32)job.natural, e + x, in[x / TILE], offsets, blocks, count, axes);
        return;
    }
    if (shift > TILE_SHIFT) { // short rows in many slots: one by one
        for (u64 i = threadIdx.x; i < size; i += blockDim.x) {
            u64 slot = slot_of(start + i);
            if (!has(slot)) continue;
            i32 v = stack_value(entry(slot) + (i >> shift), offsets, blocks, count, axes);
            for (u64 j = 0; j < job.width; j++) to[j * pitch + i] = (i8)(v >> 8 * j ^ (i32)plane_bias(j, job.width, job.natural));
        }
        return;
    }
    for (u64 slot = threadIdx.x; slot < all; slot += blockDim.x)
        if (has(slot)) in[slot] = stack_block_with(entry(slot), each, offsets, count);
    __syncthreads();
    // A word between slots keeps what threads next to each other read in banks of their own.
    u64 log_each = min((u64)12, vars) - shift;
    if (each >= 4) {
        for (u64 x = 4 * threadIdx.x; x < size; x += 4 * blockDim.x) {
            u64 slot = x >> log_each, c = x & (each - 1);
            if (!has(slot)) continue;
            i32 v[4];
            stack_four(v, entry(slot) + c, in[slot], offsets, blocks, count, axes);
            for (u32 i = 0; i < 4; i++) values[slot * (each + 1) + c + i] = v[i];
        }
    } else {
        for (u64 x = threadIdx.x; x < size; x += blockDim.x) {
            u64 slot = x >> log_each, c = x & (each - 1);
            if (has(slot)) values[slot * (each + 1) + c] = stack_value(entry(slot) + c, offsets, blocks, count, axes);
        }
    }
    __syncthreads();
    for (u64 x = 4 * threadIdx.x; x < size; x += 4 * blockDim.x) {
        i32 v[4];
        u32 own = 0; // which of four are the job's
        for (u32 i = 0; i < 4 && x + i < size; i++) {
            u64 slot = slot_of(x + i);
            if (!has(slot)) continue;
            v[i] = values[slot * (each + 1) + ((x + i) >> shift)];
            own |= 1 << i;
        }
        if (own == 15) {
            store_planes(to + x, pitch, job.width, job.natural, v);
            continue;
        }
        for (u32 i = 0; i < 4; i++)
            for (u64 j = 0; j < job.width && (own >> i & 1); j++)
                to[j * pitch + x + i] = (i8)(v[i] >> 8 * j ^ (i32)plane_bias(j, job.width, job.natural));
    }
}

// split_planes sets one row from its n entries at src, in 32 bits.
KERNEL split_planes(i8 *dst, const i32 *src, u64 width, u64 pitch, u64 n)
{
    for (u64 i = thread_index(); i < n; i += thread_count())
        for (u64 j = 0; j < width; j++) dst[j * pitch + i] = (i8)(src[i] >> 8 * j ^ (j + 1 < width ? 0x80 : 0));
}

// A byte_row is a plane of a row. What it adds to goes to `target`, times 2^shift.
struct byte_row {
    const i8 *bytes; // null for a row of zeros
    u32 target, shift;
};

// Weights for the tensor cores are vectors over the base field, four in a panel: the
// bytes of their limbs are 16 rows. Those of 64 indexes are a piece of a panel, 64
// uint4, in the order in which mma_u8_s8 wants them if lane t of a column has indexes
// 16·t … 16·t + 15 of the piece, of which each of two instructions takes eight.

// store_piece writes four vectors' weights of indexes k … k + 3, k a multiple of 4.
DEVICE void store_piece(u32 *panel, u64 k, const u32 (&w)[4][4])
{
    u32 *piece = panel + k / 64 * 256, q = (u32)(k % 64);
    piece += q / 8 % 2 * 128 + q / 16 * 4 + q / 4 % 2 * 2;
#pragma unroll
    for (u32 row = 0; row < 16; row++) {
        u32 v = 0;
#pragma unroll
        for (u32 i = 0; i < 4; i++) v |= (w[row / 4][i] >> 8 * (row % 4) & 0xff) << 8 * i;
        piece[row % 8 * 16 + row / 8] = v;
    }
}

// pack_parts makes a panel of each of `count` weights over 2^vars indexes (see
// make_weights), of which `parts` lists the numbers: its limbs are the vectors. With
// fewer than 64 indexes the others have weight 0.
KERNEL pack_parts(u32 *panels, const u64 *numbers, u64 count, u64 vars, const weight_part *parts, const qm31 *tables)
{
    u64 n = max((u64)64, (u64)1 << vars), i = 4 * thread_index();
    if (i >= n * count) return;
    u64 panel = i / n, k = i % n;
    weight_part p = parts[numbers[panel]];
    u32 w[4][4] = {}, l = low_vars(vars);
    for (u32 j = 0; j < 4 && k + j < (u64)1 << vars; j++) {
        u64 x = k + j;
        qm31 v = qm31_mul(tables[p.high + (x >> l)], tables[p.low + (x & ((1u << l) - 1))]);
        w[0][j] = v.a, w[1][j] = v.b, w[2][j] = v.c, w[3][j] = v.d;
    }
    store_piece(panels + panel * n * 4, k, w);
}

// pack_rows makes a panel of each row of weights over 2^vars indexes that is the sum of
// parts (fill_rows): its limbs are the vectors. With fewer than 64 indexes
// the others have weight 0. A block takes four indexes a thread of one row.
KERNEL __launch_bounds__(FOUR_BLOCK) pack_rows(u32 *panels, const u64 *lists, u64 vars, const row_part *all, const weight_part *parts, const qm31 *tables)
{
    u64 n = max((u64)64, (u64)1 << vars), blocks = (n + 4 * blockDim.x - 1) / (4 * blockDim.x);
    u64 row = blockIdx.x / blocks, k = (blockIdx.x % blocks * blockDim.x + threadIdx.x) * 4;
    qm31 v[4];
    four_weights(v, k, lists + row * part_lists((u64)1 << vars), true, all, parts, tables);
    if (k >= n) return;
    u32 w[4][4];
#pragma unroll
    for (u32 j = 0; j < 4; j++) w[0][j] = v[j].a, w[1][j] = v[j].b, w[2][j] = v[j].c, w[3][j] = v[j].d;
    store_piece(panels + row * n * 4, k, w);
}

// pack_points makes panels of the weights of evaluation at `count` points of rows of
// 2^vars values, from the tables of make_points: four points in each panel.
KERNEL pack_points(u32 *panels, u64 count, u64 vars, const u32 *lower, const qm31 *upper)
{
    u64 n = max((u64)64, (u64)1 << vars), i = 4 * thread_index();
    if (i >= (count + 3) / 4 * n) return;
    u64 panel = i / n, k = i % n;
    u32 w[4][4] = {}, l = low_vars(vars);
    for (u32 q = 0; q < 4; q++) {
        u64 point = 4 * panel + q;
        for (u32 j = 0; j < 4 && point < count && k + j < (u64)1 << vars; j++) {
            u64 x = k + j;
            w[q][j] = m31_mul(lower[(point << l) + (x & ((1u << l) - 1))], upper[(point << (vars - l)) + (x >> l)].a);
        }
    }
    store_piece(panels + panel * n * 4, k, w);
}

#define PANELS 8 // a block takes
#define STAGES 3 // pieces on their way or in use

// byte_product is as in bytes.go: panels of `pieces` pieces, those of the given numbers or
// if these are null the first, times rows of as many times 64 bytes, from byte `column` on.
// The product of vector v of the p-th panel and row r is added to the word
// sums[(4·p + v)·targets + r.target]. With segments each of the rows is 2^segments behind each
// other, of as many bytes as a panel has indexes, and count counts these; the product with number i of
// them is set at segment_sums[(4·p + v)·count + i] instead.
struct byte_product {
    const uint4 *weights;
    const u64 *numbers;
    const byte_row *rows;
    union {
        u64 *sums;
        u32 *segment_sums;
    };
    u32 panels, count, targets, pieces, column, segments;
};

// product_block is what a block does of a product: PANELS panels, those of number
// tile mod ⌈panels / PANELS⌉, and as many rows as it has threads; pieces `from` to `end` − 1, at
// most 2^10, since sums of products are in 32 bits. With segments it does all pieces, of rows of
// tiles `from` to `end` − 1.
struct product_block {
    u32 product, tile, from, end;
};

// add_pieces adds to d the products of a piece of N panels, of which each lane has what is at
// `panels`, with one of 64 rows. All operands are loaded before the first product, and no product
// waits for the one before it: few warps fit, so that none must wait for long.
template <u32 N> DEVICE void add_pieces(i32 (&d)[4][8][4], const uint4 *panels, const uint4 *rows)
{
    uint4 w[N][2], v[8];
#pragma unroll
    for (u32 p = 0; p < N; p++)
#pragma unroll
        for (u32 half = 0; half < 2; half++) w[p][half] = panels[64 * p + 32 * half];
#pragma unroll
    for (u32 r = 0; r < 8; r++) v[r] = rows[32 * r];
#pragma unroll
    for (u32 r = 0; r < 8; r++)
#pragma unroll
        for (u32 p = 0; p < N; p++) mma_u8_s8(d[p][r], w[p][0], v[r].x, v[r].y);
#pragma unroll
    for (u32 r = 0; r < 8; r++)
#pragma unroll
        for (u32 p = 0; p < N; p++) mma_u8_s8(d[p][r], w[p][1], v[r].z, v[r].w);
}

// A tile is up to PANELS panels times ROWS rows: d has the warp's own 4 panels times 64 rows of it. finish_tile gives the limbs of what
// these come to to `put`: the number of a vector, that of the first of two rows, and a limb for each.
template <typename Put> DEVICE void finish_tile(const i32 (&d)[4][8][4], u32 panels, u32 rows, Put put)
{
    // Byte g mod 4 of vector g / 4 is in lanes 4·g + t, of vector 2 + g / 4 too. The four lanes that have the bytes of a vector
    // divide panels: each comes to have one, by giving half of what it has to another lane, twice.
    u32 lane = threadIdx.x % 32, g = lane / 4, t = lane % 4, shift = 8 * (g % 4);
    bool second = g & 1, odd = g & 2;
    u32 panel = 2 * second + odd;
#pragma unroll
    for (u32 r = 0; r < 8; r++) {
        u32 v[4];
#pragma unroll
        for (u32 i = 0; i < 4; i++) {
            u32 x[4];
#pragma unroll
            for (u32 p = 0; p < 4; p++) x[p] = m31_mul2exp((u32)d[p][r][i] + (d[p][r][i] < 0 ? P : 0), shift); // |d| < P
            u32 y0 = m31_add(second ? x[2] : x[0], __shfl_xor_sync(~0u, second ? x[0] : x[2], 4));
            u32 y1 = m31_add(second ? x[3] : x[1], __shfl_xor_sync(~0u, second ? x[1] : x[3], 4));
            v[i] = m31_add(odd ? y1 : y0, __shfl_xor_sync(~0u, odd ? y0 : y1, 8));
        }
        u32 row = 8 * r + 2 * t;
        if (panel >= panels || row >= rows) continue;
        put(4 * panel + g / 4, row, v[0], v[1]);
        put(4 * panel + g / 4 + 2, row, v[2], v[3]);
    }
}

template <u32 ROWS, bool SEGMENTS> DEVICE void byte_products_of(const byte_product *products, const product_block *blocks)
{
    __shared__ uint4 a[STAGES][PANELS * 64], b[STAGES][ROWS * 4];
    product_block work = blocks[blockIdx.x];
    byte_product job = products[work.product];
    const byte_row *rows = job.rows;
    u32 panels = job.panels, count = job.count, tiles = (panels + PANELS - 1) / PANELS;
    u32 first_panel = work.tile % tiles * PANELS, first_row = SEGMENTS ? work.from * ROWS : work.tile / tiles * ROWS;
    constexpr u32 EACH = PANELS * 64 / ROWS; // of a piece, that a thread copies
    const uint4 *panel_at[EACH];
    const i8 *row_at[4];
#pragma unroll
    for (u32 i = 0; i < EACH; i++) {
        u32 x = threadIdx.x + ROWS * i, panel = first_panel + x / 64;
        panel_at[i] = panel < panels ? job.weights + (job.numbers ? job.numbers[panel] : panel) * job.pieces * 64 + x % 64 : nullptr;
    }
    auto set_rows = [&](u32 first) {
#pragma unroll
        for (u32 i = 0; i < 4; i++) {
            u32 x = threadIdx.x + ROWS * i, row = first + x / 4;
            const i8 *bytes = row < count ? rows[SEGMENTS ? row >> job.segments : row].bytes : nullptr;
            if (SEGMENTS && bytes) bytes += (u64)(row & ((1u << job.segments) - 1)) * job.pieces * 64;
            row_at[i] = bytes ? bytes + job.column + x % 4 * 16 : nullptr;
        }
    };
    auto load = [&](u32 stage, u32 piece) {
#pragma unroll
        for (u32 i = 0; i < EACH; i++) copy16(&a[stage][threadIdx.x + ROWS * i], panel_at[i] ? panel_at[i] + (u64)piece * 64 : nullptr);
#pragma unroll
        for (u32 i = 0; i < 4; i++) copy16(&b[stage][threadIdx.x + ROWS * i], row_at[i] ? row_at[i] + (u64)piece * 64 : nullptr);
    };
    // What is read next: a piece of the tile's rows, and with segments those of the next tile behind its last.
    u32 piece = SEGMENTS ? 0 : work.from, end = SEGMENTS ? job.pieces : work.end, next_row = first_row, into = 0;
    u32 left = SEGMENTS ? (work.end - work.from) * job.pieces : work.end - work.from, loads = left;
    set_rows(first_row);
    auto load_next = [&] {
        if (loads > 0) {
            if (SEGMENTS && piece == end) {
                piece = 0, next_row += ROWS;
                set_rows(next_row);
            }
            load(into, piece++);
            into = into + 1 < STAGES ? into + 1 : 0;
            loads--;
        }
        copies_begun(); // a group, if an empty one, for each piece
    };
    u32 lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    u32 own_panels = warp % 2 * 4, own_rows = warp / 2 * 64;
    // Of these, what there is.
    u32 some_panels = panels - min(panels, first_panel + own_panels), some_rows = count - min(count, first_row + own_rows);
    i32 d[4][8][4] = {};
    for (u32 i = 0; i < STAGES - 1; i++) load_next();
    for (u32 done = 0, stage = 0; left > 0; left--) {
        copies_done<STAGES - 2>();
        __syncthreads(); // the piece is there, and the one before it was used up
        load_next();
        const uint4 *own_a = &a[stage][own_panels * 64 + lane], *own_b = &b[stage][own_rows * 4 + lane]; // rows that are not there are zeros
        stage = stage + 1 < STAGES ? stage + 1 : 0;
        if (some_rows > 0 && some_panels > 0) {
            if (some_panels > 2) {
                add_pieces<4>(d, own_a, own_b);
            } else if (some_panels == 2) {
                add_pieces<2>(d, own_a, own_b);
            } else {
                add_pieces<1>(d, own_a, own_b);
            }
        }
        if (!SEGMENTS || ++done < job.pieces) continue;
        u32 *out = job.segment_sums + (u64)4 * (first_panel + own_panels) * count + first_row + own_rows;
        finish_tile(d, some_panels, some_rows, [&](u32 vector, u32 row, u32 v, u32 next) { *(uint2 *)(out + (u64)vector * count + row) = make_uint2(v, next); }); // count is even
#pragma unroll
        for (u32 p = 0; p < 4; p++)
#pragma unroll
            for (u32 r = 0; r < 8; r++)
#pragma unroll
                for (u32 i = 0; i < 4; i++) d[p][r][i] = 0;
        done = 0, first_row += ROWS;
        some_rows = count - min(count, first_row + own_rows);
    }
    if (SEGMENTS) return;
    u32 first = first_row + own_rows, first_vector = 4 * (first_panel + own_panels);
    finish_tile(d, some_panels, some_rows, [&](u32 vector, u32 row, u32 v, u32 next) {
        u64 *sums = job.sums + (u64)(first_vector + vector) * job.targets;
        for (u32 i = 0; i < 2 && row + i < some_rows; i++) {
            byte_row to = rows[first + row + i];
            if (to.bytes) atomicAdd(sums + to.target, (u64)m31_mul2exp(i ? next : v, to.shift));
        }
    });
}

KERNEL __launch_bounds__(128, 2) byte_products(const byte_product *products, const product_block *blocks) { byte_products_of<128, false>(products, blocks); }

// Blocks of half as many rows, more of them at once.
KERNEL __launch_bounds__(64, 4) byte_products_narrow(const byte_product *products, const product_block *blocks) { byte_products_of<64, false>(products, blocks); }

// Rows in segments.
KERNEL __launch_bounds__(128, 2) byte_products_segments(const byte_product *products, const product_block *blocks) { byte_products_of<128, true>(products, blocks); }

#define JOINED 4 // rows for which a warp makes a weight once

// joined_product is as in bytes.go: what the segments of each of `planes` rows come to, which are at `values` as byte_products_segments
// sets them, each times a weight of its own: of panel p, weight numbers[p] over 2^segments indexes.
struct joined_product {
    u64 *sums;
    const u32 *values;
    const u64 *numbers;
    const byte_row *rows;
    u32 panels, planes, targets, segments;
};

// join_products adds them to the products' sums. first_block[j] is the first block of product j of n. A warp takes a panel and JOINED rows.
KERNEL join_products(const u64 *first_block, const joined_product *products, u64 n, const weight_part *parts, const qm31 *tables)
{
    u64 j = last_not_after(first_block, n, blockIdx.x);
    joined_product job = products[j];
    u64 each = (job.planes + JOINED - 1) / JOINED, i = (blockIdx.x - first_block[j]) * (blockDim.x / 32) + threadIdx.x / 32, lane = threadIdx.x % 32;
    if (i >= job.panels * each) return;
    u64 panel = i / each, first = i % each * JOINED, some = min((u64)JOINED, job.planes - first), count = (u64)job.planes << job.segments;
    weight_part p = parts[job.numbers[panel]];
    u32 l = low_vars(job.segments);
    const u32 *values = job.values + 4 * panel * count + (first << job.segments);
    qm31 sum[JOINED] = {};
    for (u64 h = lane; h < (u64)1 << job.segments; h += 32) {
        qm31_factor w = qm31_prepare(qm31_mul(tables[p.high + (h >> l)], tables[p.low + (h & ((1u << l) - 1))]));
#pragma unroll
        for (u64 k = 0; k < JOINED; k++) {
            if (k >= some) break;
            const u32 *own = values + (k << job.segments) + h;
            qm31 v = {own[0], own[count], own[2 * count], own[3 * count]};
            sum[k] = qm31_add(sum[k], qm31_mul(v, w));
        }
    }
#pragma unroll
    for (u64 k = 0; k < JOINED; k++) {
        if (k >= some) break;
        byte_row to = job.rows[first + k];
        u32 limb[4] = {sum[k].a, sum[k].b, sum[k].c, sum[k].d};
#pragma unroll
        for (u32 v = 0; v < 4; v++) {
            for (u32 other = 16; other > 0; other /= 2) limb[v] = m31_add(limb[v], __shfl_xor_sync(~0u, limb[v], other));
            if (lane == v && to.bytes) atomicAdd(job.sums + (4 * panel + v) * job.targets + to.target, (u64)m31_mul2exp(limb[v], to.shift));
        }
    }
}

// finish_products sets out[v·targets + r] to the element that the word at that index
// of sums stands for, for vectors v and targets r, plus, if there are constants, ones[v]
// times constants[r]: what the bytes lack.
KERNEL finish_products(u32 *out, const u64 *sums, u64 vectors, u64 targets, const u32 *ones, const u32 *constants)
{
    u64 i = thread_index();
    if (i >= vectors * targets) return;
    u32 v = m31_reduce(sums[i]);
    out[i] = constants ? m31_add(v, m31_mul(ones[i / targets], constants[i % targets])) : v;
}

// join_segments sets out[v·targets + t] to the sum over k < n of weights[v·n + k] times element k of the n at all that
// belong to it.
KERNEL join_segments(u32 *out, const u32 *all, const u32 *weights, u64 vectors, u64 targets, u64 n)
{
    u64 i = thread_index();
    if (i >= vectors * targets) return;
    all += i * n;
    weights += i / targets * n;
    u32 sum = 0;
    for (u64 k = 0; k < n; k++) sum = m31_add(sum, m31_mul(weights[k], all[k]));
    out[i] = sum;
}

#define COLUMNS 128 // of a tile
#define FOLD_WARPS 4
#define FOLD_PITCH (COLUMNS + 4) // words, so that all lanes' are in banks of their own

// fold_bytes adds up rows of bytes, in lists of n = 64·pieces each, null for rows of
// zeros, times the weights of restrict_pack in that order: element c of list l, of
// 2^row_vars, goes to out[l 2^row_vars + c], or if there is no out its limbs to the four
// words at sums + 4·(l 2^row_vars + c). With it come the constants of the lists, and what
// out has if `add`. A tile is COLUMNS columns of a list, for which `together` warps, a power of two, each take 64 rows
// at a time; a block has tiles next to each other, and block y does `chunk` rows, at most 2^16.
KERNEL __launch_bounds__(32 * FOLD_WARPS) fold_bytes(qm31 *out, u64 *sums, const i8 *const *rows, const uint4 *weights, u64 row_vars, u64 n,
                                                     const qm31 *constants, u64 chunk, u64 add, u64 together)
{
    __shared__ i32 parts[FOLD_WARPS][16][FOLD_PITCH]; // of a warp: a byte of weights, a column
    u32 lane = threadIdx.x % 32, g = lane / 4, t = lane % 4, warp = threadIdx.x / 32, each = FOLD_WARPS / (u32)together;
    u64 size = (u64)1 << row_vars, tiles = (size + COLUMNS - 1) / COLUMNS, blocks = (tiles + each - 1) / each;
    u64 list = blockIdx.x / blocks, first = blockIdx.x % blocks * each; // tile
    u64 column = (first + warp / together) * COLUMNS + 16 * g;
    bool inside = column < max(size, (u64)16);
    rows += list * n, weights += list * n;
    i32 d[16][4] = {};
    u64 end = min(n, (blockIdx.y + 1) * chunk);
    for (u64 k = blockIdx.y * chunk + warp % together * 64; k < end; k += 64 * together) {
        uint4 v[2][8];
#pragma unroll
        for (u32 half = 0; half < 2; half++)
#pragma unroll
            for (u32 i = 0; i < 8; i++) {
                const i8 *row = inside ? rows[k + 16 * t + 8 * half + i] : nullptr;
                v[half][i] = row ? *(const uint4 *)(row + column) : make_uint4(0, 0, 0, 0);
            }
#pragma unroll
        for (u32 half = 0; half < 2; half++) mma_rows(d, weights[k + 32 * half + lane], v[half]);
    }
#pragma unroll
    for (u32 j = 0; j < 16; j++)
#pragma unroll
        for (u32 i = 0; i < 4; i++) parts[warp][g + 8 * (i / 2)][33 * t + 16 * (i % 2) + j] = d[j][i]; // column 32·t + …, and a word for each 32
    __syncthreads();
    for (u32 x = threadIdx.x; x < 4 * COLUMNS * each; x += blockDim.x) {
        u32 own = x / (4 * COLUMNS), c = x / 4 % COLUMNS, limb = x % 4;
        if ((first + own) * COLUMNS + c >= size) continue;
        i64 v = 0; // < 2^31·2^25
        for (u32 w = own * (u32)together; w < (own + 1) * (u32)together; w++)
            for (u32 i = 0; i < 4; i++) v += (i64)parts[w][4 * limb + i][c + c / 32] * (1 << 8 * i);
        u32 sum = m31_from_i64(v);
        if (blockIdx.y == 0) sum = m31_add(sum, ((const u32 *)(constants + list))[limb]);
        u64 at = 4 * (list * size + (first + own) * COLUMNS + c) + limb;
        if (out) {
            ((u32 *)out)[at] = add ? m31_add(sum, ((u32 *)out)[at]) : sum;
        } else {
            atomicAdd(sums + at, (u64)sum);
        }
    }
}
