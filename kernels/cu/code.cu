// The encoder of the circle code, package code. Level s of the transform has 2^s
// nodes, 2^s + k being node k of it, which evaluates a table of L = 2^(m-s)
// elements over its block of the codeword: with the twiddle t of the node, (a, b)
// becomes (a + t b, a - t b), a from the first half of a block, b from the second.
#include "m31.cuh"

// layers does R layers on 2^R elements of a block, from node v on.
template <int R>
DEVICE void layers(u32 *x, const u32 *twiddles, u64 v)
{
#pragma unroll
    for (int r = 0; r < R; r++) {
        const int half = 1 << (R - 1 - r);
#pragma unroll
        for (int node = 0; node < 1 << r; node++) {
            u32 t = twiddles[(v << r) + node];
#pragma unroll
            for (int i = 0; i < half; i++) {
                u32 &a = x[2 * half * node + i], &b = x[2 * half * node + half + i];
                u32 tb = m31_mul(t, b);
                b = m31_sub(a, tb);
                a = m31_add(a, tb);
            }
        }
    }
}

// pass does R layers from level s on of the words of 2^m elements at dst, one for
// each y of the grid. The tables are the words' own blocks, or with FIRST the
// signed integers at src, 2^(m-s) a row, the same for each node.
template <int R, bool FIRST>
DEVICE void pass(u32 *dst, const i32 *src, const u32 *twiddles, u64 m, u64 s)
{
    u64 t = thread_index();
    if (t >> (m - R)) return;
    u64 log_stride = m - s - R;
    u64 node = t >> log_stride, i = t & (((u64)1 << log_stride) - 1);
    dst += ((u64)blockIdx.y << m) + (node << (m - s)) + i;
    u32 x[1 << R];
    if (FIRST) {
        src += ((u64)blockIdx.y << (m - s)) + i;
#pragma unroll
        for (int j = 0; j < 1 << R; j++) x[j] = m31_from_i32(src[(u64)j << log_stride]);
    } else {
#pragma unroll
        for (int j = 0; j < 1 << R; j++) x[j] = dst[(u64)j << log_stride];
    }
    layers<R>(x, twiddles, ((u64)1 << s) + node);
#pragma unroll
    for (int j = 0; j < 1 << R; j++) dst[(u64)j << log_stride] = x[j];
}

KERNEL __launch_bounds__(256) encode_first1(u32 *dst, const i32 *src, const u32 *twiddles, u64 m, u64 s)
{
    pass<1, true>(dst, src, twiddles, m, s);
}

KERNEL __launch_bounds__(256) encode_pass1(u32 *dst, const u32 *twiddles, u64 m, u64 s)
{
    pass<1, false>(dst, nullptr, twiddles, m, s);
}

KERNEL __launch_bounds__(256) encode_first2(u32 *dst, const i32 *src, const u32 *twiddles, u64 m, u64 s)
{
    pass<2, true>(dst, src, twiddles, m, s);
}

KERNEL __launch_bounds__(256) encode_pass2(u32 *dst, const u32 *twiddles, u64 m, u64 s)
{
    pass<2, false>(dst, nullptr, twiddles, m, s);
}

KERNEL __launch_bounds__(256) encode_first3(u32 *dst, const i32 *src, const u32 *twiddles, u64 m, u64 s)
{
    pass<3, true>(dst, src, twiddles, m, s);
}

KERNEL __launch_bounds__(256) encode_pass3(u32 *dst, const u32 *twiddles, u64 m, u64 s)
{
    pass<3, false>(dst, nullptr, twiddles, m, s);
}

KERNEL __launch_bounds__(256) encode_first4(u32 *dst, const i32 *src, const u32 *twiddles, u64 m, u64 s)
{
    pass<4, true>(dst, src, twiddles, m, s);
}

KERNEL __launch_bounds__(256) encode_pass4(u32 *dst, const u32 *twiddles, u64 m, u64 s)
{
    pass<4, false>(dst, nullptr, twiddles, m, s);
}

// Blocks of up to 2^LAST elements are finished in shared memory.
#define LAST 12

// at spreads a block's elements over the banks of shared memory: both eight
// neighbours and elements eight or 64 apart fall into different ones.
DEVICE u32 at(u32 i) { return i + (i >> 3); }

// step does R layers of a block of 2^log_block elements in shared memory, that
// is divided into nodes of 2^log_node from node v on.
template <int R>
DEVICE void step(u32 *shared, u32 log_block, u32 log_node, const u32 *twiddles, u64 v)
{
    u32 log_stride = log_node - R;
    for (u32 t = threadIdx.x; t < 1u << (log_block - R); t += blockDim.x) {
        u32 node = t >> log_stride;
        u32 from = (node << log_node) + (t & ((1u << log_stride) - 1));
        u32 x[1 << R];
#pragma unroll
        for (int j = 0; j < 1 << R; j++) x[j] = shared[at(from + (j << log_stride))];
        layers<R>(x, twiddles, v + node);
#pragma unroll
        for (int j = 0; j < 1 << R; j++) shared[at(from + (j << log_stride))] = x[j];
    }
}

// encode_last does all layers from level s on, m - s of them, at most LAST. With
// a src, signed integers as for encode_first, there was no pass before. One block
// of threads a node and word.
KERNEL __launch_bounds__(512) encode_last(u32 *dst, const i32 *src, const u32 *twiddles, u64 m, u64 s)
{
    __shared__ u32 shared[(1 << LAST) + (1 << LAST) / 8];
    u32 log_block = (u32)(m - s), n = 1u << log_block;
    dst += ((u64)blockIdx.y << m) + ((u64)blockIdx.x << log_block);
    if (src) {
        src += (u64)blockIdx.y << log_block;
        for (u32 i = threadIdx.x; i < n; i += blockDim.x) shared[at(i)] = m31_from_i32(src[i]);
    } else {
        for (u32 i = threadIdx.x; i < n; i += blockDim.x) shared[at(i)] = dst[i];
    }
    __syncthreads();
    u64 v = ((u64)1 << s) + blockIdx.x;
    u32 log_node = log_block;
    for (; log_node >= 3; log_node -= 3, v <<= 3) {
        step<3>(shared, log_block, log_node, twiddles, v);
        __syncthreads();
    }
    if (log_node == 2) step<2>(shared, log_block, 2, twiddles, v);
    if (log_node == 1) step<1>(shared, log_block, 1, twiddles, v);
    __syncthreads();
    for (u32 i = threadIdx.x; i < n; i += blockDim.x) dst[i] = shared[at(i)];
}

// make_twiddles sets twiddle v = 2^s + k, 0 < v < 2^n, to the x-coordinate of
// point 2k of X_(s+1). powers are g, g^2, g^4, … g^(2^30) for the generator g, two
// words each.
KERNEL make_twiddles(u32 *dst, const u32 *powers, u64 n)
{
    u64 v = thread_index();
    if (v == 0 || v >> n) return;
    int s = 0;
    while (v >> (s + 1)) s++;
    // The natural index of position 2k in s + 1 bits, see code.naturalIndex; its
    // lowest bit is where the highest of the position was.
    u64 parity = (v << 1) & (((u64)2 << s) - 1);
    for (int d = 1; d <= s; d *= 2) parity ^= parity << d;
    u64 j = 0;
    for (int b = 0; b <= s; b++) j |= (parity >> b & 1) << (s - b);
    // (2j + 1) times a point of order 2^(s+3) is the generator to this power.
    u64 e = (2 * j + 1) << (31 - (s + 3)) & 0x7fffffffu;
    u32 x = 1, y = 0;
    for (int b = 0; b < 31; b++) {
        if (!(e >> b & 1)) continue;
        u32 c = powers[2 * b], d = powers[2 * b + 1];
        u32 re = m31_sub(m31_mul(x, c), m31_mul(y, d));
        y = m31_add(m31_mul(x, d), m31_mul(y, c));
        x = re;
    }
    dst[v] = x;
}

// split_limbs turns rows of 2^n elements of K into four rows of limbs each.
KERNEL split_limbs(u32 *dst, const qm31 *src, u64 n, u64 rows)
{
    u64 i = thread_index();
    if (i >= rows << n) return;
    u64 row = i >> n, c = i & (((u64)1 << n) - 1);
    qm31 v = src[i];
    dst += (row << (n + 2)) + c;
    dst[0] = v.a;
    dst[(u64)1 << n] = v.b;
    dst[(u64)2 << n] = v.c;
    dst[(u64)3 << n] = v.d;
}

// gather_columns copies the values of n words at some positions: value r of leaf
// k is dst[k length + r]. Word r begins at words + r stride.
KERNEL gather_columns(u32 *dst, u64 length, const u32 *words, u64 stride, u64 n, const u64 *positions, u64 count)
{
    u64 i = thread_index();
    if (i >= n * count) return;
    u64 k = i / n, r = i % n;
    dst[k * length + r] = words[r * stride + positions[k]];
}
