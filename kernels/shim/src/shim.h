// CUDA's language for g++: enough of it for the sources in ../cu. Blocks run
// one after the other; the threads of a block are fibres that take turns at
// barriers and warp operations. Included before every source.
#pragma once
#include <stddef.h>

#define HOST_SHIM 1
#define __global__ __attribute__((used, visibility("default")))
#define __device__
#define __host__
#define __forceinline__ inline
#define __noinline__ __attribute__((noinline))
#define __shared__ static
#define __constant__ const
#define __align__(n) alignas(n)
#define __launch_bounds__(...)

struct dim3 { unsigned x, y, z; };
struct alignas(8) uint2 { unsigned x, y; };
struct alignas(16) uint4 { unsigned x, y, z, w; };
struct alignas(8) int2 { int x, y; };
struct alignas(16) int4 { int x, y, z, w; };
struct alignas(4) char4 { signed char x, y, z, w; };
struct alignas(16) ulonglong2 { unsigned long long x, y; };
static inline uint2 make_uint2(unsigned x, unsigned y) { return {x, y}; }
static inline uint4 make_uint4(unsigned x, unsigned y, unsigned z, unsigned w) { return {x, y, z, w}; }
static inline int2 make_int2(int x, int y) { return {x, y}; }
static inline int4 make_int4(int x, int y, int z, int w) { return {x, y, z, w}; }
static inline ulonglong2 make_ulonglong2(unsigned long long x, unsigned long long y) { return {x, y}; }

extern dim3 threadIdx, blockIdx, blockDim, gridDim;
static const int warpSize = 32;

// Where a block's dynamic shared memory is; see DYNAMIC_SHARED in m31.cuh.
extern unsigned char *shim_dynamic_shared;

// shim_barrier returns once every live thread of the block has called it.
void shim_barrier();
// shim_warp_barrier is the same for the warp.
void shim_warp_barrier();
// shim_exchange gives v to the warp and returns all lanes' values, valid until
// the call after the next. Every live lane must call it.
const unsigned long long *shim_exchange(unsigned long long v);
// shim_lane is the number of the thread in its warp.
int shim_lane();
// shim_live says whether a lane of the warp has not returned.
bool shim_live(int lane);

static inline void __syncthreads() { shim_barrier(); }
static inline void __syncwarp(unsigned = 0xffffffffu) { shim_warp_barrier(); }
static inline void __threadfence() {}
static inline void __threadfence_block() {}

template <class T> static inline T shim_shuffle(T v, int lane) {
    static_assert(sizeof(T) <= 8, "shuffles move up to 8 bytes");
    unsigned long long bits = 0;
    __builtin_memcpy(&bits, &v, sizeof v);
    const unsigned long long *all = shim_exchange(bits);
    bits = all[lane & 31];
    __builtin_memcpy(&v, &bits, sizeof v);
    return v;
}
template <class T> static inline T __shfl_sync(unsigned, T v, int lane, int width = 32) {
    return shim_shuffle(v, (shim_lane() & ~(width - 1)) | (lane & (width - 1)));
}
template <class T> static inline T __shfl_xor_sync(unsigned, T v, int mask, int = 32) {
    return shim_shuffle(v, shim_lane() ^ mask);
}
template <class T> static inline T __shfl_down_sync(unsigned, T v, int by, int width = 32) {
    int l = shim_lane();
    return shim_shuffle(v, (l & (width - 1)) + by < width ? l + by : l);
}
template <class T> static inline T __shfl_up_sync(unsigned, T v, int by, int width = 32) {
    int l = shim_lane();
    return shim_shuffle(v, (l & (width - 1)) >= by ? l - by : l);
}
static inline unsigned __ballot_sync(unsigned, int p) {
    const unsigned long long *all = shim_exchange(p != 0);
    unsigned r = 0;
    for (int i = 0; i < 32; i++)
        if (shim_live(i) && all[i]) r |= 1u << i;
    return r;
}
static inline int __any_sync(unsigned m, int p) { return __ballot_sync(m, p) != 0; }
static inline int __all_sync(unsigned m, int p) { return __ballot_sync(m, !p) == 0; }

template <class T> static inline T min(T a, T b) { return b < a ? b : a; }
template <class T> static inline T max(T a, T b) { return a < b ? b : a; }
template <class T> static inline T __ldg(const T *p) { return *p; }
template <class T> static inline T __ldcs(const T *p) { return *p; }
template <class T> static inline void __stcs(T *p, T v) { *p = v; }

template <class T> static inline T atomicAdd(T *p, T v) { T o = *p; *p = o + v; return o; }
template <class T> static inline T atomicMin(T *p, T v) { T o = *p; *p = v < o ? v : o; return o; }
template <class T> static inline T atomicMax(T *p, T v) { T o = *p; *p = o < v ? v : o; return o; }
template <class T> static inline T atomicOr(T *p, T v) { T o = *p; *p = o | v; return o; }
template <class T> static inline T atomicExch(T *p, T v) { T o = *p; *p = v; return o; }
template <class T> static inline T atomicCAS(T *p, T c, T v) { T o = *p; if (o == c) *p = v; return o; }

static inline unsigned __umulhi(unsigned a, unsigned b) { return (unsigned long long)a * b >> 32; }
static inline int __popc(unsigned v) { return __builtin_popcount(v); }
static inline int __clz(int v) { return v ? __builtin_clz(v) : 32; }
static inline int __clzll(long long v) { return v ? __builtin_clzll(v) : 64; }
static inline int __ffs(int v) { return __builtin_ffs(v); }
static inline unsigned __brev(unsigned v) {
    unsigned r = 0;
    for (int i = 0; i < 32; i++) r |= (v >> i & 1u) << (31 - i);
    return r;
}
static inline unsigned __byte_perm(unsigned a, unsigned b, unsigned s) {
    unsigned long long v = (unsigned long long)b << 32 | a;
    unsigned r = 0;
    for (int i = 0; i < 4; i++) r |= (unsigned)(v >> 8 * (s >> 4 * i & 7) & 0xff) << 8 * i;
    return r;
}
static inline unsigned __funnelshift_l(unsigned lo, unsigned hi, unsigned n) {
    return ((unsigned long long)hi << 32 | lo) << (n & 31) >> 32;
}
static inline unsigned __funnelshift_r(unsigned lo, unsigned hi, unsigned n) {
    return ((unsigned long long)hi << 32 | lo) >> (n & 31);
}

// shim_mma_u8s8 is mma.sync.m16n8k32 with A unsigned bytes, B signed bytes, D
// and C 32-bit integers, in the layout of the PTX manual.
void shim_mma_u8s8(int d[4], const unsigned a[4], const unsigned b[2]);
// shim_mma_s8s8 is the same with A signed.
void shim_mma_s8s8(int d[4], const unsigned a[4], const unsigned b[2]);
