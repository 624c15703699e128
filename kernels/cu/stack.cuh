// Stacks of blocks of tensors, package model.
#pragma once
#include "base.cuh"

// last_not_after returns the last i below n with first[i] <= v, for increasing
// values with first[0] <= v: the block of a stack that has entry v, or the job of a
// block of threads where jobs take several.
DEVICE u64 last_not_after(const u64 *first, u64 n, u64 v)
{
    u64 lo = 0;
    while (n - lo > 1) {
        u64 mid = (lo + n) / 2;
        if (first[mid] <= v) {
            lo = mid;
        } else {
            n = mid;
        }
    }
    return lo;
}

// warp_last returns the last i below n, at least 1, for which `is` holds, which holds for 0 and for no i behind one for
// which it does not. All lanes of a warp look at once, with the same arguments.
template <typename F> DEVICE u64 warp_last(F is, u64 n)
{
    u64 lo = 0, lane = threadIdx.x % 32;
    while (n > 1) { // from lo on
        u64 step = (n + 31) / 32;
        u64 last = 31 - __clz(__ballot_sync(~0u, lane * step < n && is(lo + lane * step)));
        lo += last * step, n = min(step, n - last * step);
    }
    return lo;
}

// A stack_block is a block of a stack: entry i of it is in a dense tensor at
// values + (i mod 2^run) + the sum over the axes, the last first, of the axis's
// bits of i / 2^run times its stride.
struct stack_block {
    const void *values;
    u64 width; // bytes an entry
    u64 run, first_axis, axes;
};

struct stack_axis {
    u64 bits, stride;
};

// The entry of a block's tensor at an address.
DEVICE i32 stack_load(const stack_block &b, u64 address)
{
    switch (b.width) {
    case 1:
        return ((const i8 *)b.values)[address];
    case 2:
        return ((const i16 *)b.values)[address];
    default:
        return ((const i32 *)b.values)[address];
    }
}

// Where entry e of a block is.
DEVICE u64 stack_address(const stack_block &b, u64 e, const stack_axis *axes)
{
    u64 address = e & (((u64)1 << b.run) - 1);
    e >>= b.run;
    for (u64 a = b.first_axis; a < b.first_axis + b.axes; a++) {
        address += (e & (((u64)1 << axes[a].bits) - 1)) * axes[a].stride;
        e >>= axes[a].bits;
    }
    return address;
}

// Entry e of a stack. offsets are those of its blocks, and last the end of the last,
// after which entries are zero.
DEVICE i32 stack_value(u64 e, const u64 *offsets, const stack_block *blocks, u64 count, const stack_axis *axes)
{
    if (e >= offsets[count]) return 0;
    u64 k = last_not_after(offsets, count, e);
    stack_block b = blocks[k];
    return stack_load(b, stack_address(b, e - offsets[k], axes));
}

// No block.
#define NO_BLOCK (~(u32)0)

// The block of a stack that has all of entries e … e + n - 1, NO_BLOCK if none has. What a block of threads takes
// of a stack is mostly in one: to look for it once is what makes copies quick.
DEVICE u32 stack_block_with(u64 e, u64 n, const u64 *offsets, u64 count)
{
    if (e + n > offsets[count]) return NO_BLOCK;
    u64 k = last_not_after(offsets, count, e);
    return e + n <= offsets[k + 1] ? (u32)k : NO_BLOCK;
}

// The same, by all lanes of a warp.
DEVICE u32 stack_block_of_warp(u64 e, u64 n, const u64 *offsets, u64 count)
{
    u64 k = warp_last([&](u64 i) { return offsets[i] <= e; }, count);
    return e + n <= offsets[k + 1] ? (u32)k : NO_BLOCK;
}

// Entries e … e + 3 of a block, for e a multiple of 4.
DEVICE void stack_four(i32 (&v)[4], const stack_block &b, u64 e, const stack_axis *axes)
{
    if (b.run < 2) {
        for (u32 i = 0; i < 4; i++) v[i] = stack_load(b, stack_address(b, e + i, axes));
        return;
    }
    u64 address = stack_address(b, e, axes), at = (u64)b.values + address * b.width;
    if (b.width == 1 && at % 4 == 0) {
        u32 w = *(const u32 *)at;
        for (u32 i = 0; i < 4; i++) v[i] = (i8)(w >> 8 * i);
    } else if (b.width == 2 && at % 8 == 0) {
        uint2 w = *(const uint2 *)at;
        v[0] = (i16)w.x, v[1] = (i16)(w.x >> 16), v[2] = (i16)w.y, v[3] = (i16)(w.y >> 16);
    } else {
        for (u32 i = 0; i < 4; i++) v[i] = stack_load(b, address + i);
    }
}

// Entries e … e + 3 of a stack, for e a multiple of 4, of which `in` is the block if it is one's.
DEVICE void stack_four(i32 (&v)[4], u64 e, u32 in, const u64 *offsets, const stack_block *blocks, u64 count, const stack_axis *axes)
{
    if (in != NO_BLOCK) {
        stack_four(v, blocks[in], e - offsets[in], axes);
        return;
    }
    for (u32 i = 0; i < 4; i++) v[i] = stack_value(e + i, offsets, blocks, count, axes);
}
