// Products of byte matrices on the tensor cores.
#pragma once
#include "base.cuh"

#ifdef PROVE_MODEL_HOST
// What the instruction does with bytes A in a.
template <class A> DEVICE void mma_on_host(i32 (&d)[4], const uint4 &a, u32 b0, u32 b1)
{
    u32 g = threadIdx.x % 32 / 4, t = threadIdx.x % 4;
    for (u32 from = 0; from < 4; from++) {
        u32 low[2], high[2]; // of a: columns 4·from … and 16 + 4·from …, by row
        low[0] = __shfl_sync(~0u, a.x, 4 * g + from);
        low[1] = __shfl_sync(~0u, a.y, 4 * g + from);
        high[0] = __shfl_sync(~0u, a.z, 4 * g + from);
        high[1] = __shfl_sync(~0u, a.w, 4 * g + from);
        for (u32 column = 0; column < 2; column++) {
            u32 x = __shfl_sync(~0u, b0, 4 * (2 * t + column) + from), y = __shfl_sync(~0u, b1, 4 * (2 * t + column) + from);
            for (u32 row = 0; row < 2; row++)
                for (u32 byte = 0; byte < 32; byte += 8)
                    d[2 * row + column] += (A)(low[row] >> byte) * (i8)(x >> byte) + (A)(high[row] >> byte) * (i8)(y >> byte);
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
    mma_on_host<u8>(d, a, b0, b1);
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
    mma_on_host<i8>(d, a, b0, b1);
#endif
}
