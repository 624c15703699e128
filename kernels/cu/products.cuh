// Products of weights in K and integers, added up before they are reduced.
#pragma once
#include "m31.cuh"

// acc += w·v without reducing, far from overflow for 2^15 times.
DEVICE void add_product(i64 &acc, u32 w, i8 v) { acc += (i64)(i32)w * v; }   // < 2^38
DEVICE void add_product(i64 &acc, u32 w, i16 v) { acc += (i64)(i32)w * v; }  // < 2^46
DEVICE void add_product(i64 &acc, u32 w, i32 v)
{
    u64 p = (u64)w * m31_from_i32(v);
    acc += (i64)((p & P) + (p >> 31)); // < 2^32
}

template <class T>
DEVICE void add_products(i64 (&acc)[4], qm31 w, T v)
{
    add_product(acc[0], w.a, v);
    add_product(acc[1], w.b, v);
    add_product(acc[2], w.c, v);
    add_product(acc[3], w.d, v);
}

template <class T>
struct __align__(4 * sizeof(T)) four {
    T v[4];
};

// Entries k … k + 3 of a row of n, zero beyond it. Vector says that the row and
// n are aligned to four entries.
template <class T>
DEVICE four<T> load_four(const T *row, u64 k, u64 n, bool vector)
{
    if (vector)
        return *reinterpret_cast<const four<T> *>(row + k);
    four<T> f;
    for (u32 i = 0; i < 4; i++)
        f.v[i] = k + i < n ? row[k + i] : (T)0;
    return f;
}
