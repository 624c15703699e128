// The field's operations, element by element: what tests compare with package
// field, and nothing else needs.
#include "m31.cuh"

// field_binary sets out to the results of op on a and b: 0 a+b, 1 a-b, 2 a*b.
extern "C" __global__ void field_binary(qm31 *out, const qm31 *a, const qm31 *b, u64 n, u64 op) {
    u64 i = (u64)blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    out[i] = op == 0 ? qm31_add(a[i], b[i]) : op == 1 ? qm31_sub(a[i], b[i]) : qm31_mul(a[i], b[i]);
}

// field_sum adds the elements of v to the four words of sum.
extern "C" __global__ void field_sum(u64 *sum, const qm31 *v, u64 n) {
    qm31 s = qm31_zero();
    for (u64 i = (u64)blockIdx.x * blockDim.x + threadIdx.x; i < n; i += (u64)gridDim.x * blockDim.x)
        s = qm31_add(s, v[i]);
    qm31_block_sum(sum, s);
}

// field_reduce sets out[i] = v[i] mod p, v of any sign with |v| < 2^63 - 2^32 if
// signed_, otherwise of any 64 bits.
extern "C" __global__ void field_reduce(u32 *out, const i64 *v, u64 n, u64 signed_) {
    u64 i = (u64)blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    out[i] = signed_ ? m31_reduce_signed(v[i]) : m31_reduce((u64)v[i]);
}

// field_from_signed sets out[i] = v[i] mod p.
extern "C" __global__ void field_from_signed(u32 *out, const i32 *v, u64 n) {
    u64 i = (u64)blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = m31_from_signed(v[i]);
}
