// Lists of signed integers.
#pragma once
#include "base.cuh"

// Entry i of integers of the given width in bytes.
DEVICE i32 entry(const void *p, u64 width, u64 i)
{
    if (width == 1)
        return ((const i8 *)p)[i];
    if (width == 2)
        return ((const i16 *)p)[i];
    return ((const i32 *)p)[i];
}
