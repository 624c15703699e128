// Element-wise arithmetic on vectors of n elements. dst may be a or b.
#include "m31.cuh"

KERNEL m31_vec_add(u32 *dst, const u32 *a, const u32 *b, u64 n)
{
    for (u64 i = thread_index(); i < n; i += thread_count())
        dst[i] = m31_add(a[i], b[i]);
}

KERNEL m31_vec_sub(u32 *dst, const u32 *a, const u32 *b, u64 n)
{
    for (u64 i = thread_index(); i < n; i += thread_count())
        dst[i] = m31_sub(a[i], b[i]);
}

KERNEL m31_vec_mul(u32 *dst, const u32 *a, const u32 *b, u64 n)
{
    for (u64 i = thread_index(); i < n; i += thread_count())
        dst[i] = m31_mul(a[i], b[i]);
}

// dst[i] = a[i] mod p, a signed.
KERNEL m31_vec_from_i32(u32 *dst, const i32 *a, u64 n)
{
    for (u64 i = thread_index(); i < n; i += thread_count())
        dst[i] = m31_from_i32(a[i]);
}

KERNEL qm31_vec_add(qm31 *dst, const qm31 *a, const qm31 *b, u64 n)
{
    for (u64 i = thread_index(); i < n; i += thread_count())
        dst[i] = qm31_add(a[i], b[i]);
}

KERNEL qm31_vec_sub(qm31 *dst, const qm31 *a, const qm31 *b, u64 n)
{
    for (u64 i = thread_index(); i < n; i += thread_count())
        dst[i] = qm31_sub(a[i], b[i]);
}

KERNEL qm31_vec_mul(qm31 *dst, const qm31 *a, const qm31 *b, u64 n)
{
    for (u64 i = thread_index(); i < n; i += thread_count())
        dst[i] = qm31_mul(a[i], b[i]);
}

// dst[i] = 1/a[i], 0 for 0.
KERNEL qm31_vec_inv(qm31 *dst, const qm31 *a, u64 n)
{
    for (u64 i = thread_index(); i < n; i += thread_count())
        dst[i] = qm31_inv(a[i]);
}
