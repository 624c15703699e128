// Digests of any hash suite in memory: eight words at an address aligned to 16.
#pragma once

#include "base.cuh"

// load8 and store8 move eight words from or to an address aligned to 16.
DEVICE void load8(u32 *w, const u32 *from)
{
    const uint4 *v = (const uint4 *)from;
    uint4 a = v[0], b = v[1];
    w[0] = a.x, w[1] = a.y, w[2] = a.z, w[3] = a.w;
    w[4] = b.x, w[5] = b.y, w[6] = b.z, w[7] = b.w;
}

DEVICE void store8(u32 *to, const u32 *w)
{
    uint4 *v = (uint4 *)to;
    v[0] = make_uint4(w[0], w[1], w[2], w[3]);
    v[1] = make_uint4(w[4], w[5], w[6], w[7]);
}
