// Products of byte matrices on the tensor cores.
#pragma once
#include "base.cuh"

#ifdef PROVE_MODEL_HOST
// What the instruction does with bytes A in a and B in b.
template <class A, class B> DEVICE void mma_on_host(i32 (&d)[4], const uint4 &a, u32 b0, u32 b1)
{
    u32 g = threadIdx.x % 32 / 4, t = threadIdx.x % 4;
    struct operands {
        uint4 a;
        u32 b0, b1;
    };
    shim_lanes<operands> all = shim_gather(~0u, operands{a, b0, b1}); // all lanes' at once: shuffles would take the host long
    for (u32 from = 0; from < 4; from++) {
        const uint4 &v = all[4 * g + from].a;
        u32 low[2] = {v.x, v.y}, high[2] = {v.z, v.w}; // of a: columns 4·from … and 16 + 4·from …, by row
        for (u32 column = 0; column < 2; column++) {
            u32 x = all[4 * (2 * t + column) + from].b0, y = all[4 * (2 * t + column) + from].b1;
            for (u32 row = 0; row < 2; row++)
                for (u32 byte = 0; byte < 32; byte += 8)
                    d[2 * row + column] += (A)(low[row] >> byte) * (B)(x >> byte) + (A)(high[row] >> byte) * (B)(y >> byte);
        }
    }
}
#endif

// d += a·b for a 16×32 matrix of unsigned bytes and a 32×8 matrix of signed
// ones, in the layout of the instruction mma.m16n8k32: lane 4·g + t has rows g
// and g + 8 of a, at columns 4·t … (a[0], a[1]) and 16 + 4·t … (a[2], a[3]); of b
// column g at rows 4·t … (b[0]) and 16 + 4·t … (b[1]); of d rows g (d[0], d[1])
// and g + 8 (d[2], d[3]) at columns 2·t and 2·t + 1. All lanes must call it.
DEVICE void mma_u8_s8(i32 (&d)[4], const uint4 &a, u32 b0, u32 b1)
{
#ifndef PROVE_MODEL_HOST
    asm("mma.sync.aligned.m16n8k32.row.col.s32.u8.s8.s32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
        : "+r"(d[0]), "+r"(d[1]), "+r"(d[2]), "+r"(d[3])
        : "r"(a.x), "r"(a.y), "r"(a.z), "r"(a.w), "r"(b0), "r"(b1));
#else
    mma_on_host<u8, i8>(d, a, b0, b1);
#endif
}

// The same for signed bytes in a.
DEVICE void mma_s8_s8(i32 (&d)[4], const uint4 &a, u32 b0, u32 b1)
{
#ifndef PROVE_MODEL_HOST
    asm("mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
        : "+r"(d[0]), "+r"(d[1]), "+r"(d[2]), "+r"(d[3])
        : "r"(a.x), "r"(a.y), "r"(a.z), "r"(a.w), "r"(b0), "r"(b1));
#else
    mma_on_host<i8, i8>(d, a, b0, b1);
#endif
}

// The same for bytes that are signed, or not, as is said.
template <bool ASIGNED, bool BSIGNED> DEVICE void mma_bytes(i32 (&d)[4], const uint4 &a, u32 b0, u32 b1)
{
    if (ASIGNED && BSIGNED) {
        mma_s8_s8(d, a, b0, b1);
    } else if (BSIGNED) {
        mma_u8_s8(d, a, b0, b1);
    } else if (ASIGNED) {
#ifndef PROVE_MODEL_HOST
        asm("mma.sync.aligned.m16n8k32.row.col.s32.s8.u8.s32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
            : "+r"(d[0]), "+r"(d[1]), "+r"(d[2]), "+r"(d[3])
            : "r"(a.x), "r"(a.y), "r"(a.z), "r"(a.w), "r"(b0), "r"(b1));
#else
        mma_on_host<i8, u8>(d, a, b0, b1);
#endif
    } else {
#ifndef PROVE_MODEL_HOST
        asm("mma.sync.aligned.m16n8k32.row.col.s32.u8.u8.s32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
            : "+r"(d[0]), "+r"(d[1]), "+r"(d[2]), "+r"(d[3])
            : "r"(a.x), "r"(a.y), "r"(a.z), "r"(a.w), "r"(b0), "r"(b1));
#else
        mma_on_host<u8, u8>(d, a, b0, b1);
#endif
    }
}

// The bytes of four words transposed: byte i of out[j] is byte j of word i.
DEVICE void transpose(u32 (&out)[4], u32 a, u32 b, u32 c, u32 d)
{
    u32 ab_low = __byte_perm(a, b, 0x5140), ab_high = __byte_perm(a, b, 0x7362);
    u32 cd_low = __byte_perm(c, d, 0x5140), cd_high = __byte_perm(c, d, 0x7362);
    out[0] = __byte_perm(ab_low, cd_low, 0x5410);
    out[1] = __byte_perm(ab_low, cd_low, 0x7632);
    out[2] = __byte_perm(ab_high, cd_high, 0x5410);
    out[3] = __byte_perm(ab_high, cd_high, 0x7632);
}

// Adds to d the weighted sums of 32 rows of bytes, for 16 weight bytes each: a has
// the weights as mma_u8_s8 wants them; lane 4·g + t has in v[i] columns 16·g …
// 16·g + 15 of the row that stands at 4·t + i mod 4 of a's columns, 16 more for
// i ≥ 4. d[j] is then of columns j, 16 + j, …: column g of the instruction's is
// 16·g + j.
DEVICE void mma_rows(i32 (&d)[16][4], const uint4 &a, const uint4 (&v)[8])
{
#pragma unroll
    for (u32 word = 0; word < 4; word++) {
        u32 low[4], high[4];
#define WORD(i) (word == 0 ? v[i].x : word == 1 ? v[i].y : word == 2 ? v[i].z : v[i].w)
        transpose(low, WORD(0), WORD(1), WORD(2), WORD(3));
        transpose(high, WORD(4), WORD(5), WORD(6), WORD(7));
#undef WORD
#pragma unroll
        for (u32 j = 0; j < 4; j++) mma_u8_s8(d[4 * word + j], a, low[j], high[j]);
    }
}

// Lane 4·g + t of a warp gets, of 32 rows of 16 bytes in shared memory, the address of one of which each
// lane brings, the bytes 2·g and 2·g + 1: in v[i] those of the rows 8·i + 2·t and 8·i + 2·t + 1. All lanes
// must call it.
DEVICE void load_transposed(u32 (&v)[4], const uint4 *row)
{
#ifndef PROVE_MODEL_HOST
    u32 at = (u32)__cvta_generic_to_shared(row);
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(v[0]), "=r"(v[1]), "=r"(v[2]), "=r"(v[3])
                 : "r"(at)
                 : "memory");
#else
    const u32 g = threadIdx.x % 32 / 4, t = threadIdx.x % 4;
    shim_lanes<const uint4 *> all = shim_gather(~0u, row);
    for (u32 i = 0; i < 4; i++)
        v[i] = (u32)((const u16 *)all[8 * i + 2 * t])[g] | (u32)((const u16 *)all[8 * i + 2 * t + 1])[g] << 16;
#endif
}

// copy16 copies 16 bytes to shared memory, or zeros from null, in the background.
// copies_begun ends a group of copies, copies_done<n> waits for all groups but n.
DEVICE void copy16(uint4 *to, const void *from)
{
#ifndef PROVE_MODEL_HOST
    u32 at = (u32)__cvta_generic_to_shared(to), bytes = from ? 16 : 0;
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(at), "l"(from ? from : (const void *)to), "r"(bytes) : "memory");
#else
    *to = from ? *(const uint4 *)from : make_uint4(0, 0, 0, 0);
#endif
}

DEVICE void copies_begun()
{
#ifndef PROVE_MODEL_HOST
    asm volatile("cp.async.commit_group;" ::: "memory");
#endif
}

template <int n> DEVICE void copies_done()
{
#ifndef PROVE_MODEL_HOST
    asm volatile("cp.async.wait_group %0;" ::"n"(n) : "memory");
#endif
}

// Lane 4·g + t of a warp gets, of 32 rows of 16 bytes in shared memory, the address of one of which each
// lane brings, the word t: in v[i] that of row 8·i + g. All lanes must call it.
DEVICE void load_words(u32 (&v)[4], const uint4 *row)
{
#ifndef PROVE_MODEL_HOST
    u32 at = (u32)__cvta_generic_to_shared(row);
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(v[0]), "=r"(v[1]), "=r"(v[2]), "=r"(v[3])
                 : "r"(at)
                 : "memory");
#else
    const u32 g = threadIdx.x % 32 / 4, t = threadIdx.x % 4;
    shim_lanes<const uint4 *> all = shim_gather(~0u, row);
    for (u32 i = 0; i < 4; i++)
        v[i] = ((const u32 *)all[8 * i + g])[t];
#endif
}
