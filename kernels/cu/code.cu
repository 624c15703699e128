// The encoder of the circle code, package code. Level s of the transform has 2^s
// nodes, 2^s + k being node k of it, which evaluates a table of L = 2^(m-s)
// elements over its block of the codeword: with the twiddle t of the node, (a, b)
// becomes (a + t b, a - t b), a from the first half of a block, b from the second.
#include "m31.cuh"

// mul_twiddle is t·b mod p for a twiddle doubled, t2 = 2t: the upper word of the product is t·b >> 31, and
// the lower one holds the other bits one place higher.
DEVICE u32 mul_twiddle(u32 t2, u32 b)
{
    u64 v = (u64)t2 * b;
    return m31_once((u32)(v >> 32) + ((u32)v >> 1));
}

// layer does layer r of R on 2^R elements of a block, from node v of that layer on, and those below it. The 2^r twiddles lie
// side by side.
template <int R, int r>
DEVICE void layer(u32 *x, const u32 *twiddles, u64 v)
{
    constexpr int half = 1 << (R - 1 - r);
    u32 t[1 << r];
    if constexpr (r == 0) {
        t[0] = twiddles[v];
    } else if constexpr (r == 1) {
        uint2 w = *(const uint2 *)(twiddles + v);
        t[0] = w.x, t[1] = w.y;
    } else {
#pragma unroll
        for (int i = 0; i < 1 << r; i += 4) {
            uint4 w = *(const uint4 *)(twiddles + v + i);
            t[i] = w.x, t[i + 1] = w.y, t[i + 2] = w.z, t[i + 3] = w.w;
        }
    }
#pragma unroll
    for (int i = 0; i < 1 << (R - 1); i++) {
        const int node = i / half;
        u32 &a = x[half * node + i], &b = x[half * node + half + i];
        u32 tb = mul_twiddle(t[node], b);
        b = m31_sub(a, tb);
        a = m31_add(a, tb);
    }
    if constexpr (r + 1 < R) layer<R, r + 1>(x, twiddles, v << 1);
}

// layers does R layers on 2^R elements of a block, from node v on.
template <int R>
DEVICE void layers(u32 *x, const u32 *twiddles, u64 v)
{
    layer<R, 0>(x, twiddles, v);
}

// Tiles are in shared memory between the steps of a pass: 2^TILE elements, with the last layers of a codeword, or with rows of it
// that are far apart.
#define LAST_TILE 12
#define TILE 13
#define TILE_THREADS 256 // in blocks of so few some move data while others compute

// at spreads a tile's elements over the banks of shared memory. It is a sum over the bits of i, so that
// distances between a thread's elements are known when this is compiled: bits 5, 6, 7, 8, 9 count as 1, 2, 4, 16, 8 banks.
DEVICE constexpr u32 at(u32 i) { return i + (i >> 5) + (i >> 8 << 3) + (i >> 9 << 3); }
DEVICE constexpr int tile_words(int log_tile) { return at((1 << log_tile) - 1) + 1; }

// tile_steps says how many layers the next step of a pass does of those that are left: four if they are a multiple of
// four, else three if the rest is then a sum of threes and fours.
DEVICE constexpr int tile_steps(int left) { return left <= 4 ? left : left % 4 == 0 || left % 3 == 1 ? 4 : left % 3 == 0 ? 3 : 2; }

// first_of returns the first element of thread t in a step on nodes of 2^NODE elements that are 2^STRIDE apart for a thread. The
// bits of t are those that its elements have in common, in an order in which those of a warp fall into different banks.
template <int NODE, int STRIDE>
DEVICE u32 first_of(u32 t)
{
    u32 node = t >> STRIDE;
    if (STRIDE == 3 && NODE == 6) node = (node & ~15u) | (node & 3) << 2 | (node >> 2 & 3); // bits 8 and 9 before 6 and 7
    if (STRIDE == 4 && NODE == 7) node = (node & ~3u) | (node & 1) << 1 | (node >> 1 & 1);  // bit 8 before 7
    if (STRIDE == 0 && NODE == 4) node = (node & ~48u) | (node & 16) << 1 | (node >> 1 & 16); // bit 9 before 8
    return node << NODE | (t & ((1u << STRIDE) - 1));
}

// A tile's place: in the node, element e of the tile is element (e >> W) stride + e mod 2^W from `dst` on.
struct place {
    u32 *dst;
    const i32 *src; // where the first step finds them instead, if not null
    u32 log_stride;
};

// steps does the last LEFT of R layers of a tile of 2^T elements, from nodes v on, and writes it where it belongs.
template <int T, int R, int LEFT>
DEVICE void steps(u32 *shared, const place &p, const u32 *twiddles, u64 v)
{
    constexpr int K = tile_steps(LEFT), W = T - R;    // layers of this step, columns of the tile
    constexpr int NODE = W + LEFT, STRIDE = NODE - K; // elements of a node, and between those of a thread
    constexpr bool FIRST = LEFT == R, LAST = LEFT == K;
    if (!FIRST) __syncthreads();
#pragma unroll 1
    for (u32 t = threadIdx.x; t < 1u << (T - K); t += TILE_THREADS) {
        u32 from = first_of<NODE, STRIDE>(t), node = from >> NODE;
        u32 x[1 << K];
        u32 outside = (from >> W << p.log_stride) + (from & ((1u << W) - 1));
        // Elements of a thread are 2^STRIDE apart in the tile, whole rows of it: 2^(STRIDE - W).
        u64 step = (u64)1 << (p.log_stride + STRIDE - W);
        if (FIRST) {
            const i32 *own = (p.src ? p.src : (const i32 *)p.dst) + outside;
#pragma unroll
            for (int j = 0; j < 1 << K; j++, own += step) x[j] = (u32)*own;
            if (p.src) {
#pragma unroll
                for (int j = 0; j < 1 << K; j++) x[j] = m31_from_i32((i32)x[j]);
            }
        } else {
            const u32 *own = shared + at(from);
#pragma unroll
            for (int j = 0; j < 1 << K; j++) x[j] = own[at((u32)j << STRIDE)];
        }
        layers<K>(x, twiddles, v + node);
        if (LAST && W >= 3) { // whole sectors of memory
            u32 *own = p.dst + outside;
#pragma unroll
            for (int j = 0; j < 1 << K; j++, own += step) *own = x[j];
        } else {
            u32 *own = shared + at(from);
#pragma unroll
            for (int j = 0; j < 1 << K; j++) own[at((u32)j << STRIDE)] = x[j];
        }
    }
    if constexpr (!LAST)
        steps<T, R, LEFT - K>(shared, p, twiddles, v << K);
    else if (W < 3) {
        __syncthreads();
#pragma unroll 4
        for (u32 e = threadIdx.x; e < 1u << T; e += TILE_THREADS)
            p.dst[(e >> W << p.log_stride) + (e & ((1u << W) - 1))] = shared[at(e)];
    }
}

// tile does R layers of words of 2^m elements at dst, which are the blocks of a node `root`, from s layers below it on. A tile has
// 2^R rows and 2^(T - R) columns: rows of a node, whose table is cut into as many. The tables are the words' own blocks, or the
// signed integers at src, 2^(m-s) a word, the same for each node. Neighbouring blocks of threads have the same columns of the
// same node, of other words, and then of other nodes: so they find twiddles and tables in the device's cache.
template <int T, int R>
DEVICE void tile(u32 *dst, const i32 *src, const u32 *twiddles, u64 m, u64 s, u64 words, u64 root)
{
    __shared__ u32 shared[tile_words(T)];
    u32 word = blockIdx.x % (u32)words, number = blockIdx.x / (u32)words;
    u32 node = number & ((1u << s) - 1), column = number >> s << (T - R);
    place p = {dst + ((u64)word << m) + ((u64)node << (m - s)) + column, src ? src + ((u64)word << (m - s)) + column : nullptr, (u32)(m - s - R)};
    steps<T, R, R>(shared, p, twiddles, (root << s) + node);
}

#define ENCODE_TILE(T, R)                                                                                                                  \
    KERNEL __launch_bounds__(TILE_THREADS, 4) encode_tile##R(u32 *dst, const i32 *src, const u32 *twiddles, u64 m, u64 s, u64 words, u64 root) \
    {                                                                                                                                      \
        tile<T, R>(dst, src, twiddles, m, s, words, root);                                                                                 \
    }

ENCODE_TILE(TILE, 1)
ENCODE_TILE(TILE, 2)
ENCODE_TILE(TILE, 3)
ENCODE_TILE(TILE, 4)
ENCODE_TILE(TILE, 5)
ENCODE_TILE(TILE, 6)
ENCODE_TILE(TILE, 7)
ENCODE_TILE(TILE, 8)
ENCODE_TILE(TILE, 9)
ENCODE_TILE(TILE, 10)
ENCODE_TILE(LAST_TILE, 12)
ENCODE_TILE(TILE, 13)

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

// encode_short does all layers of tables that are shorter than a tile: signed integers at src, 2^(m-s) a word. Words are the
// blocks of node root, m and s counted from there. One block of threads a node and word.
KERNEL __launch_bounds__(512) encode_short(u32 *dst, const i32 *src, const u32 *twiddles, u64 m, u64 s, u64 root)
{
    __shared__ u32 shared[tile_words(LAST_TILE)];
    u32 log_block = (u32)(m - s), n = 1u << log_block;
    dst += ((u64)blockIdx.y << m) + ((u64)blockIdx.x << log_block);
    src += (u64)blockIdx.y << log_block;
    for (u32 i = threadIdx.x; i < n; i += blockDim.x) shared[at(i)] = m31_from_i32(src[i]);
    __syncthreads();
    u64 v = (root << s) + blockIdx.x;
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

// make_twiddles sets twiddle v = 2^s + k, 0 < v < 2^n, to twice the x-coordinate of
// point 2k of X_(s+1), not reduced. powers are g, g^2, g^4, … g^(2^30) for the generator g, two
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
    dst[v] = 2 * x;
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
