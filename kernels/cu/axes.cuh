// Index spaces of tensors.
#pragma once
#include "base.cuh"

#define MAX_AXES 8

// ⌈log2 d⌉.
DEVICE u32 log2_ceil(u64 d) { return d > 1 ? 64 - __clzll((i64)(d - 1)) : 0; }

// x/d. Numbers below 2^32 take a fourth of the time.
DEVICE u64 quotient(u64 x, u64 d) { return (x | d) >> 32 ? x / d : (u32)x / (u32)d; }

// The dimensions of a dense, row-major tensor; axes of length 1 do not matter.
struct axes {
    u64 dims[MAX_AXES];

    // The number of the block that entry x of the tensor is in, and its place there,
    // where each axis is cut into the powers of two of its dimension, largest first
    // (model.Cut).
    __device__ __forceinline__ u64 block(u64 x, u64 &place) const
    {
        u64 number = 0, blocks = 1;
        u32 shift = 0;
        place = 0;
#pragma unroll
        for (int a = MAX_AXES - 1; a >= 0; a--) {
            u64 d = dims[a];
            if (d == 1)
                continue;
            u64 upper = quotient(x, d), i = x - upper * d;
            x = upper;
            // The part of a bit of d begins where the bits above it end: i is in that of
            // the highest bit at which they differ.
            u32 bits = 63 - __clzll((i64)(i ^ d));
            number += __popcll(d >> bits >> 1) * blocks;
            blocks *= __popcll(d);
            place |= (i & (((u64)1 << bits) - 1)) << shift;
            shift += bits;
        }
        return number;
    }
};
