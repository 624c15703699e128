// What makes trees and openings hide: random elements from a secret key (package prf), tails of rows, and the round over the
// auxiliary row (package whir, hiding.go).
#include "blake3.cuh"
#include "sum.cuh"

// prf_message is the block that names a stream: a use and a row, and if `more` the index of an element besides, as bytes.
// It returns their number.
DEVICE u32 prf_message(u32 (&block)[B3_BLOCK_WORDS], u64 use, u64 row, bool more, u64 index)
{
#pragma unroll
    for (int i = 0; i < B3_BLOCK_WORDS; i++) block[i] = 0;
    block[0] = (u32)use | (u32)row << 8;
    block[1] = (u32)(row >> 24);
    block[2] = (u32)(row >> 56);
    if (!more) return 9;
    block[2] |= (u32)index << 8;
    block[3] = (u32)(index >> 24);
    block[4] = (u32)(index >> 56);
    return 17;
}

// prf_instead is the element in the place of a word that is none: the first in a stream of its own.
DEVICE u32 prf_instead(const u32 *key, u64 use, u64 row, u64 index)
{
    u32 block[B3_BLOCK_WORDS], words[16];
    u32 length = prf_message(block, use, row, true, index);
    for (u32 number = 0;; number++) {
        b3_output(words, key, block, number, length);
#pragma unroll
        for (int i = 0; i < 16; i++)
            if ((words[i] & P) != P) return words[i] & P;
    }
}

// prf_sixteen sets out to elements 16·number and on of a stream.
DEVICE void prf_sixteen(u32 (&out)[16], const u32 *key, u64 use, u64 row, u64 number)
{
    u32 block[B3_BLOCK_WORDS];
    u32 length = prf_message(block, use, row, false, 0), none = 16;
    b3_output(out, key, block, (u32)number, length);
#pragma unroll
    for (int i = 0; i < 16; i++) {
        out[i] &= P;
        if (out[i] == P) none = i;
    }
    if (none == 16) return;
#pragma unroll 1
    for (int i = 0; i < 16; i++)
        if (out[i] == P) out[i] = prf_instead(key, use, row, 16 * number + i);
}

// prf_elements sets dst to elements `from` to from + n - 1 of each of some rows, from `row` on. One thread for sixteen.
KERNEL __launch_bounds__(256) prf_elements(u32 *dst, u64 use, u64 row, u64 from, u64 rows, u64 n, B3_KEY)
{
    u64 first = from / 16, blocks = (from + n + 15) / 16 - first, i = thread_index();
    if (i >= rows * blocks) return;
    u32 key[8], v[16];
    b3_start(key, B3_KEY_ARGS);
    u64 r = i / blocks, number = first + i % blocks;
    prf_sixteen(v, key, use, row + r, number);
    for (int j = 0; j < 16; j++) {
        u64 at = 16 * number + j - from; // what is before `from` is beyond n
        if (at < n) dst[r * n + at] = v[j];
    }
}

// prf_planes sets rows of four planes of `pitch` bytes, a multiple of 16, at dst to the first n elements of some rows, from
// `row` on, and zeros behind them. A byte is at least -128 and at most 127, and an element is what they add up to, times 256^j in
// plane j. One thread for sixteen.
KERNEL __launch_bounds__(256) prf_planes(i8 *dst, u64 use, u64 row, u64 rows, u64 n, u64 pitch, B3_KEY)
{
    u64 blocks = pitch / 16, i = thread_index();
    if (i >= rows * blocks) return;
    u64 r = i / blocks, number = i % blocks;
    u32 planes[4][4] = {};
    if (16 * number < n) {
        u32 key[8], v[16];
        b3_start(key, B3_KEY_ARGS);
        prf_sixteen(v, key, use, row + r, number);
#pragma unroll
        for (int j = 0; j < 16; j++) {
            i32 x = 16 * number + j >= n ? 0 : v[j] > P / 2 ? (i32)v[j] - (i32)P : (i32)v[j];
#pragma unroll
            for (int p = 0; p < 4; p++) {
                i32 b = (i8)x;
                planes[p][j / 4] |= (u32)(u8)b << 8 * (j % 4);
                x = (x - b) >> 8;
            }
        }
    }
    dst += 4 * r * pitch + 16 * number;
#pragma unroll
    for (int p = 0; p < 4; p++) *(uint4 *)(dst + p * pitch) = make_uint4(planes[p][0], planes[p][1], planes[p][2], planes[p][3]);
}

// add_tails adds tau times the tails, t elements for each of some rows of 2^vars signed integers, to the rows' first values.
KERNEL add_tails(u32 *values, const u32 *tails, u64 vars, u64 t, u64 rows, u64 tau)
{
    u64 i = thread_index();
    if (i >= rows * t) return;
    u32 &v = values[(i / t << vars) + i % t];
    v = m31_add(m31_from_i32((i32)v), m31_mul((u32)tau, tails[i]));
}

// Of which of 2^shift rows of a tree a value of a table row is that they make: value i is value i >> shift of it.
DEVICE u64 row_of(u64 i, u64 shift) { return shift == 0 ? 0 : (u64)(__brev((u32)(i & (((u64)1 << shift) - 1))) >> (32 - shift)); }

// join_tails adds rows of 2^vars elements, 2^shift of them, to the one that they make.
KERNEL join_tails(qm31 *dst, const qm31 *src, u64 vars, u64 shift)
{
    u64 i = thread_index();
    if (i >= (u64)1 << (vars + shift)) return;
    dst[i] = qm31_add(dst[i], src[(row_of(i, shift) << vars) + (i >> shift)]);
}

// Value i of the row that 2^shift rows make, of which each has n values, and zeros behind them.
DEVICE qm31 joined(const u32 *rows, u64 n, u64 shift, u64 i)
{
    u64 c = i >> shift;
    return {c < n ? rows[row_of(i, shift) * n + c] : 0, 0, 0, 0};
}

// auxiliary_round adds to the eight words at sums the value at 0 and the leading coefficient of X -> sum of
// ((1 - X) f + X a) ((1 - X) q - X u), for the auxiliary row a, of 2^shift rows of n values, and `given` values of u, zeros behind
// them.
KERNEL __launch_bounds__(256) auxiliary_round(u64 *sums, u64 *box, u64 *done, const qm31 *f, const qm31 *q, const u32 *a, u64 n, u64 shift,
                                              const qm31 *u, u64 given)
{
    qm31 zero = qm31_zero(), top = qm31_zero();
    for (u64 i = thread_index(); i < n << shift; i += thread_count()) {
        qm31 v = f[i], w = q[i];
        zero = qm31_add(zero, qm31_mul(v, w));
        if (i < given) w = qm31_add(w, u[i]);
        top = qm31_add(top, qm31_mul(qm31_sub(v, joined(a, n, shift, i)), w));
    }
    block_sums(sums, zero, top);
    result_buffer{box, done}.send(sums, 8);
}

// auxiliary_bind binds X to r in new tables of twice the length: behind the row its tail, of which those of the table's rows are
// there, and those of the auxiliary row have t elements, and zeros behind the functional.
KERNEL __launch_bounds__(256) auxiliary_bind(qm31 *new_f, qm31 *new_q, const qm31 *f, const qm31 *q, const u32 *a, u64 n, u64 shift,
                                             const u32 *tails, u64 t, const qm31 *u, u64 given, u64 r_low, u64 r_high)
{
    qm31_factor r = qm31_prepare(qm31_unpack(r_low, r_high));
    u64 size = n << shift;
    for (u64 i = thread_index(); i < size; i += thread_count()) {
        new_f[i] = qm31_lerp(f[i], joined(a, n, shift, i), r);
        new_q[i] = qm31_lerp(q[i], i < given ? qm31_sub(qm31_zero(), u[i]) : qm31_zero(), r);
        new_f[size + i] = qm31_lerp(new_f[size + i], joined(tails, t, shift, i), r);
        new_q[size + i] = qm31_zero();
    }
}
