// Arithmetic in F_p, p = 2^31 - 1, and in K = F_p(i)(u), i^2 = -1, u^2 = 2 + i.
// Elements are canonical between operations, as in package field.
#pragma once

typedef unsigned int u32;
typedef int i32;
typedef unsigned long long u64;
typedef long long i64;

#define P 0x7fffffffu

// DYNAMIC_SHARED declares name, the block's dynamic shared memory, as elements
// of a type of up to 16 bytes.
#ifndef HOST_SHIM
#define DYNAMIC_SHARED(type, name)                              \
    extern __shared__ __align__(16) unsigned char name##_raw[]; \
    type *name = (type *)name##_raw
#else
#define DYNAMIC_SHARED(type, name) type *name = (type *)shim_dynamic_shared
#endif

// m31_add returns a + b.
static __device__ __forceinline__ u32 m31_add(u32 a, u32 b) {
    u32 s = a + b;  // < 2p; s - p wraps to a large number if s < p
    return min(s, s - P);
}

// m31_sub returns a - b.
static __device__ __forceinline__ u32 m31_sub(u32 a, u32 b) {
    u32 d = a - b;  // wraps to a large number if a < b; then d + p does not
    return min(d, d + P);
}

// m31_neg returns -a.
static __device__ __forceinline__ u32 m31_neg(u32 a) { return m31_sub(0, a); }

// m31_reduce returns v mod p for any v.
static __device__ __forceinline__ u32 m31_reduce(u64 v) {
    // v = low + 2^31 middle + 2^62 high, and 2^31 = 1.
    u32 s = m31_add((u32)v & P, (u32)(v >> 31) & P);  // 0 … p
    return m31_add(s, (u32)(v >> 62));
}

// m31_mul returns a*b.
static __device__ __forceinline__ u32 m31_mul(u32 a, u32 b) {
    u64 v = (u64)a * b;  // < 2^62
    return m31_add((u32)v & P, (u32)(v >> 31));
}

// m31_from_signed returns v mod p for any v.
static __device__ __forceinline__ u32 m31_from_signed(i32 v) {
    u32 u = (u32)v + ((u32)(v >> 31) & (2 * P));  // 0 … 2^31 - 1, or up to 2p - 1
    return min(u, u - P);
}

// m31_reduce_signed returns v mod p for |v| < 2^63 - 2^32.
static __device__ __forceinline__ u32 m31_reduce_signed(i64 v) {
    return m31_reduce((u64)v + ((u64)P << 32));  // p 2^32 = 2^63 - 2^32
}

// qm31 is (a0 + a1 i) + (a2 + a3 i) u.
struct __align__(16) qm31 {
    u32 a0, a1, a2, a3;
};

static __device__ __forceinline__ qm31 qm31_make(u32 a0, u32 a1, u32 a2, u32 a3) {
    qm31 r;
    r.a0 = a0;
    r.a1 = a1;
    r.a2 = a2;
    r.a3 = a3;
    return r;
}

static __device__ __forceinline__ qm31 qm31_zero() { return qm31_make(0, 0, 0, 0); }
static __device__ __forceinline__ qm31 qm31_one() { return qm31_make(1, 0, 0, 0); }

// qm31_unpack returns an element passed to a kernel as two 64-bit words, the
// first limbs low.
static __device__ __forceinline__ qm31 qm31_unpack(u64 low, u64 high) {
    return qm31_make((u32)low, (u32)(low >> 32), (u32)high, (u32)(high >> 32));
}

static __device__ __forceinline__ qm31 qm31_add(qm31 a, qm31 b) {
    return qm31_make(m31_add(a.a0, b.a0), m31_add(a.a1, b.a1), m31_add(a.a2, b.a2), m31_add(a.a3, b.a3));
}

static __device__ __forceinline__ qm31 qm31_sub(qm31 a, qm31 b) {
    return qm31_make(m31_sub(a.a0, b.a0), m31_sub(a.a1, b.a1), m31_sub(a.a2, b.a2), m31_sub(a.a3, b.a3));
}

// qm31_scale returns a*s for s in F_p.
static __device__ __forceinline__ qm31 qm31_scale(qm31 a, u32 s) {
    return qm31_make(m31_mul(a.a0, s), m31_mul(a.a1, s), m31_mul(a.a2, s), m31_mul(a.a3, s));
}

// A qm31_factor is an element b ready to be multiplied by: with
// e + f i = u^2 (b2 + b3 i),
//
//	c0 = a0 b0 - a1 b1 + a2 e  - a3 f
//	c1 = a0 b1 + a1 b0 + a2 f  + a3 e
//	c2 = a0 b2 - a1 b3 + a2 b0 - a3 b1
//	c3 = a0 b3 + a1 b2 + a2 b1 + a3 b0
//
// with the negatives that occur. Each sum is at most 4p^2 < 2^64.
struct qm31_factor {
    u32 b0, b1, b2, b3, e, f, n1, n3, nf;
};

static __device__ __forceinline__ qm31_factor qm31_prepare(qm31 b) {
    qm31_factor m;
    m.b0 = b.a0;
    m.b1 = b.a1;
    m.b2 = b.a2;
    m.b3 = b.a3;
    m.e = m31_sub(m31_add(b.a2, b.a2), b.a3);
    m.f = m31_add(m31_add(b.a3, b.a3), b.a2);
    m.n1 = P - b.a1;
    m.n3 = P - b.a3;
    m.nf = P - m.f;
    return m;
}

// qm31_by returns a*b for the prepared b: 16 products and four reductions.
static __device__ __forceinline__ qm31 qm31_by(qm31 a, const qm31_factor &m) {
    return qm31_make(
        m31_reduce((u64)a.a0 * m.b0 + (u64)a.a1 * m.n1 + (u64)a.a2 * m.e + (u64)a.a3 * m.nf),
        m31_reduce((u64)a.a0 * m.b1 + (u64)a.a1 * m.b0 + (u64)a.a2 * m.f + (u64)a.a3 * m.e),
        m31_reduce((u64)a.a0 * m.b2 + (u64)a.a1 * m.n3 + (u64)a.a2 * m.b0 + (u64)a.a3 * m.n1),
        m31_reduce((u64)a.a0 * m.b3 + (u64)a.a1 * m.b2 + (u64)a.a2 * m.b1 + (u64)a.a3 * m.b0));
}

// qm31_mul returns a*b.
static __device__ __forceinline__ qm31 qm31_mul(qm31 a, qm31 b) { return qm31_by(a, qm31_prepare(b)); }

// qm31_fold returns a + r (b - a).
static __device__ __forceinline__ qm31 qm31_fold(qm31 a, qm31 b, const qm31_factor &r) {
    return qm31_add(a, qm31_by(qm31_sub(b, a), r));
}

// qm31_shuffle_xor returns the value of the lane whose number differs by the
// bits of mask. All lanes of the warp must call it.
static __device__ __forceinline__ qm31 qm31_shuffle_xor(qm31 v, int mask) {
    return qm31_make(__shfl_xor_sync(0xffffffffu, v.a0, mask), __shfl_xor_sync(0xffffffffu, v.a1, mask),
                     __shfl_xor_sync(0xffffffffu, v.a2, mask), __shfl_xor_sync(0xffffffffu, v.a3, mask));
}

// qm31_warp_sum returns the sum over the warp, in every lane.
static __device__ __forceinline__ qm31 qm31_warp_sum(qm31 v) {
    for (int mask = 16; mask > 0; mask >>= 1) v = qm31_add(v, qm31_shuffle_xor(v, mask));
    return v;
}

// qm31_add_to adds v to a sum kept as four 64-bit words, one a limb, that
// fewer than 2^33 calls add to. The sums are of integers, so their order does
// not matter; whoever reads them reduces them modulo p.
static __device__ __forceinline__ void qm31_add_to(u64 *sum, qm31 v) {
    atomicAdd(sum + 0, (u64)v.a0);
    atomicAdd(sum + 1, (u64)v.a1);
    atomicAdd(sum + 2, (u64)v.a2);
    atomicAdd(sum + 3, (u64)v.a3);
}

// qm31_block_sum adds the sum of v over the block to sum. The block has a
// multiple of 32 threads, all of which must call it.
static __device__ __forceinline__ void qm31_block_sum(u64 *sum, qm31 v) {
    v = qm31_warp_sum(v);
    __shared__ qm31 warps[32];
    if (threadIdx.x % 32 == 0) warps[threadIdx.x / 32] = v;
    __syncthreads();
    if (threadIdx.x < 32) {
        v = threadIdx.x < blockDim.x / 32 ? warps[threadIdx.x] : qm31_zero();
        v = qm31_warp_sum(v);
        if (threadIdx.x == 0) qm31_add_to(sum, v);
    }
    __syncthreads();
}
