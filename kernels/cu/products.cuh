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

// Adds the products of weights and four columns of every step-th row.
template <class T>
DEVICE void add_rows(i64 (&acc)[4][4], const void *values, const qm31 *weights, u64 from, u64 to, u64 step, u64 columns, u64 column)
{
    const T *row = static_cast<const T *>(values) + from * columns;
    bool vector = columns % 4 == 0;
#pragma unroll 4
    for (u64 r = from; r < to; r += step, row += step * columns) {
        qm31 w = weights[r];
        four<T> v = load_four(row, column, columns, vector);
#pragma unroll
        for (u32 i = 0; i < 4; i++)
            add_products(acc[i], w, v.v[i]);
    }
}

DEVICE void add_rows(i64 (&acc)[4][4], const void *values, u64 width, const qm31 *weights, u64 from, u64 to, u64 step, u64 columns,
                     u64 column)
{
    if (width == 1)
        add_rows<i8>(acc, values, weights, from, to, step, columns, column);
    else if (width == 2)
        add_rows<i16>(acc, values, weights, from, to, step, columns, column);
    else
        add_rows<i32>(acc, values, weights, from, to, step, columns, column);
}
