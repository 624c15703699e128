// The field F_p, p = 2^31 − 1, and K = QM31, as in package prover/math/field: all
// limbs canonical, in [0, p). Functions keep that; those that take more say so.
#pragma once
#include "base.cuh"

constexpr u32 P = 0x7fffffffu;

// v or v − p, whichever is canonical, for v < 2p: below p the difference wraps
// to more than v.
DEVICE u32 m31_once(u32 v) { return min(v, v - P); }

DEVICE u32 m31_add(u32 a, u32 b) { return m31_once(a + b); }

DEVICE u32 m31_sub(u32 a, u32 b) { return min(a - b, a - b + P); }

DEVICE u32 m31_neg(u32 a) { return a == 0 ? 0 : P - a; }

DEVICE u32 m31_double(u32 a) { return m31_once(2 * a); }

// a·b mod p. The product is at most (p − 1)², so one step of folding the upper
// half onto the lower gives less than 2p.
DEVICE u32 m31_mul(u32 a, u32 b)
{
    u64 v = (u64)a * b;
    return m31_once(((u32)v & P) + (u32)(v >> 31));
}

DEVICE u32 m31_square(u32 a) { return m31_mul(a, a); }

// v mod p for any v.
DEVICE u32 m31_reduce(u64 v)
{
    v = (v & P) + (v >> 31);                         // < 2^31 + 2^33
    return m31_once(((u32)v & P) + (u32)(v >> 31));  // ≤ p + 5 before
}

// v mod p for any v.
DEVICE u32 m31_from_i32(i32 v) { return m31_once((u32)v + (v < 0 ? 2 * P : 0)); }

// v mod p for |v| < 2^62.
DEVICE u32 m31_from_i64(i64 v)
{
    return m31_reduce((u64)v + (v < 0 ? (u64)P << 32 : 0)); // (2^31 − 1)·2^32 is a multiple of p
}

// a·2^k for 0 ≤ k < 31: a rotation of the 31-bit word.
DEVICE u32 m31_mul2exp(u32 a, u32 k) { return (a << k | a >> (31 - k)) & P; }

// a^(p−2), the inverse, and 0 for 0: 2^31 − 3 has all bits but bit 1.
DEVICE u32 m31_inv(u32 a)
{
    u32 r = a; // a^(2^1 − 1)
    for (int i = 0; i < 28; i++)
        r = m31_mul(m31_square(r), a);  // ends at a^(2^29 − 1)
    r = m31_square(m31_square(r));      // a^(2^31 − 4)
    return m31_mul(r, a);
}

// (a + b·i) + (c + d·i)·u with i² = −1, u² = 2 + i. Loads and stores are of 16
// bytes.
struct __align__(16) qm31 {
    u32 a, b, c, d;
};

DEVICE qm31 qm31_zero() { return {0, 0, 0, 0}; }
DEVICE qm31 qm31_one() { return {1, 0, 0, 0}; }
DEVICE qm31 qm31_from(u32 a) { return {a, 0, 0, 0}; }

DEVICE qm31 qm31_add(qm31 x, qm31 y)
{
    return {m31_add(x.a, y.a), m31_add(x.b, y.b), m31_add(x.c, y.c), m31_add(x.d, y.d)};
}

DEVICE qm31 qm31_sub(qm31 x, qm31 y)
{
    return {m31_sub(x.a, y.a), m31_sub(x.b, y.b), m31_sub(x.c, y.c), m31_sub(x.d, y.d)};
}

DEVICE qm31 qm31_neg(qm31 x) { return {m31_neg(x.a), m31_neg(x.b), m31_neg(x.c), m31_neg(x.d)}; }

DEVICE qm31 qm31_mul_m31(qm31 x, u32 s)
{
    return {m31_mul(x.a, s), m31_mul(x.b, s), m31_mul(x.c, s), m31_mul(x.d, s)};
}

// An element made ready to multiply by, once or many times: e + f·i is u² times
// its upper half, and nb, nd, nf are p less b, d, f.
struct qm31_factor {
    u32 a, b, c, d, e, f, nb, nd, nf;
};

DEVICE qm31_factor qm31_prepare(qm31 y)
{
    u32 e = m31_sub(m31_double(y.c), y.d), f = m31_add(m31_double(y.d), y.c);
    return {y.a, y.b, y.c, y.d, e, f, P - y.b, P - y.d, P - f};
}

// x·y: each limb a sum of four products of at most p², less than 2^64 together,
// reduced once.
DEVICE qm31 qm31_mul(qm31 x, const qm31_factor &y)
{
    return {
        m31_reduce((u64)x.a * y.a + (u64)x.b * y.nb + (u64)x.c * y.e + (u64)x.d * y.nf),
        m31_reduce((u64)x.a * y.b + (u64)x.b * y.a + (u64)x.c * y.f + (u64)x.d * y.e),
        m31_reduce((u64)x.a * y.c + (u64)x.b * y.nd + (u64)x.c * y.a + (u64)x.d * y.nb),
        m31_reduce((u64)x.a * y.d + (u64)x.b * y.c + (u64)x.c * y.b + (u64)x.d * y.a),
    };
}

DEVICE qm31 qm31_mul(qm31 x, qm31 y) { return qm31_mul(x, qm31_prepare(y)); }

// A number of at most p + 3 that is v mod p, for any v: the sum of its lower 31 bits, the next 31,
// and the last two.
DEVICE u32 m31_fold(u64 v) { return m31_once(((u32)v & P) + ((u32)(v >> 31) & P)) + (u32)(v >> 62); }

// A sum of products, whose limbs are at most p + 3. With four products of at most p·(p − 1) they
// are less than 2^64.
struct qm31_sum {
    u32 a, b, c, d;

    __device__ __forceinline__ void add(qm31 x, const qm31_factor &y)
    {
        a = m31_fold(a + (u64)x.a * y.a + (u64)x.b * y.nb + (u64)x.c * y.e + (u64)x.d * y.nf);
        b = m31_fold(b + (u64)x.a * y.b + (u64)x.b * y.a + (u64)x.c * y.f + (u64)x.d * y.e);
        c = m31_fold(c + (u64)x.a * y.c + (u64)x.b * y.nd + (u64)x.c * y.a + (u64)x.d * y.nb);
        d = m31_fold(d + (u64)x.a * y.d + (u64)x.b * y.c + (u64)x.c * y.b + (u64)x.d * y.a);
    }

    __device__ __forceinline__ qm31 value() const { return {m31_once(a), m31_once(b), m31_once(c), m31_once(d)}; }
};

// The same with less work for each product and more at the end, of fewer than 2^29 products.
struct qm31_long_sum {
    u64 low[4], high[4]; // sums of the lower and of the upper halves of the limbs

    __device__ __forceinline__ void add(qm31 x, const qm31_factor &y)
    {
        add(0, (u64)x.a * y.a + (u64)x.b * y.nb + (u64)x.c * y.e + (u64)x.d * y.nf);
        add(1, (u64)x.a * y.b + (u64)x.b * y.a + (u64)x.c * y.f + (u64)x.d * y.e);
        add(2, (u64)x.a * y.c + (u64)x.b * y.nd + (u64)x.c * y.a + (u64)x.d * y.nb);
        add(3, (u64)x.a * y.d + (u64)x.b * y.c + (u64)x.c * y.b + (u64)x.d * y.a);
    }

    __device__ __forceinline__ void add(u32 limb, u64 v)
    {
        low[limb] += (u32)v;
        high[limb] += v >> 32;
    }

    // 2^32 is 2 mod p.
    __device__ __forceinline__ u32 value(u32 limb) const { return m31_reduce(low[limb] + 2 * high[limb]); }
    __device__ __forceinline__ qm31 value() const { return {value(0), value(1), value(2), value(3)}; }
};

DEVICE qm31 qm31_square(qm31 x) { return qm31_mul(x, x); }

// 1/x, and 0 for 0: (c0 − c1·u) / (c0² − (2 + i)·c1²).
DEVICE qm31 qm31_inv(qm31 x)
{
    u32 ss = m31_sub(m31_square(x.c), m31_square(x.d)), st = m31_double(m31_mul(x.c, x.d)); // c1²
    u32 nr = m31_sub(m31_sub(m31_square(x.a), m31_square(x.b)), m31_sub(m31_double(ss), st));
    u32 ni = m31_sub(m31_double(m31_mul(x.a, x.b)), m31_add(m31_double(st), ss));
    u32 n = m31_inv(m31_add(m31_square(nr), m31_square(ni)));
    u32 ir = m31_mul(nr, n), ii = m31_mul(m31_neg(ni), n); // 1/(nr + ni·i)
    return {
        m31_sub(m31_mul(x.a, ir), m31_mul(x.b, ii)),
        m31_add(m31_mul(x.a, ii), m31_mul(x.b, ir)),
        m31_sub(m31_mul(x.d, ii), m31_mul(x.c, ir)),
        m31_neg(m31_add(m31_mul(x.c, ii), m31_mul(x.d, ir))),
    };
}
