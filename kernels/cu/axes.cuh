// Index spaces of tensors.
#pragma once
#include "base.cuh"

#define MAX_AXES 8

// ⌈log2 d⌉.
DEVICE u32 log2_ceil(u64 d) { return d > 1 ? 64 - __clzll((i64)(d - 1)) : 0; }

// The dimensions of a dense, row-major tensor; axes of length 1 do not matter.
struct axes {
    u64 dims[MAX_AXES];

    // The dense index of what is at x where every axis is padded to a power of
    // two, or false in the padding.
    __device__ __forceinline__ bool dense(u64 x, u64 &index) const
    {
        u64 stride = 1;
        index = 0;
#pragma unroll
        for (int a = MAX_AXES - 1; a >= 0; a--) {
            if (dims[a] == 1)
                continue;
            u32 v = log2_ceil(dims[a]);
            u64 i = x & (((u64)1 << v) - 1);
            x >>= v;
            if (i >= dims[a])
                return false;
            index += i * stride;
            stride *= dims[a];
        }
        return true;
    }
};
