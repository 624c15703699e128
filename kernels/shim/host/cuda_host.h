// CUDA C++ for the host: the words and functions that the kernels in kernels/cu use,
// with blocks run one after another and the threads of a block as fibres. The
// compiler includes this before a kernel's source.
#pragma once
#define PROVE_MODEL_HOST 1

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define __global__
#define __device__
#define __host__
#define __forceinline__ inline __attribute__((always_inline))
#define __noinline__ __attribute__((noinline))
#define __launch_bounds__(...)
#define __align__(n) __attribute__((aligned(n)))
// Blocks run one after another, so one copy serves all.
#define __shared__ static
#define __constant__ static

struct uint2 { unsigned x, y; } __attribute__((aligned(8)));
struct uint3 { unsigned x, y, z; };
struct uint4 { unsigned x, y, z, w; } __attribute__((aligned(16)));
struct int2 { int x, y; } __attribute__((aligned(8)));
struct int4 { int x, y, z, w; } __attribute__((aligned(16)));
struct ulonglong2 { unsigned long long x, y; } __attribute__((aligned(16)));
static inline uint2 make_uint2(unsigned x, unsigned y) { return {x, y}; }
static inline uint4 make_uint4(unsigned x, unsigned y, unsigned z, unsigned w) { return {x, y, z, w}; }
static inline int2 make_int2(int x, int y) { return {x, y}; }
static inline int4 make_int4(int x, int y, int z, int w) { return {x, y, z, w}; }
static inline ulonglong2 make_ulonglong2(unsigned long long x, unsigned long long y) { return {x, y}; }

// What the runtime (host.cc) keeps of the launch and of the running thread.
struct shim_launch {
    uint3 grid, block, block_index, thread;
    unsigned char *dynamic_shared;
};
extern shim_launch shim_now;

#define gridDim (shim_now.grid)
#define blockDim (shim_now.block)
#define blockIdx (shim_now.block_index)
#define threadIdx (shim_now.thread)
#define warpSize 32
#define DYNAMIC_SHARED(T, name) T *name = reinterpret_cast<T *>(shim_now.dynamic_shared)

// Waits for all threads of the block that have not returned.
void shim_barrier(int kind);
// A barrier to which each thread brings a bit; returns how many brought 1.
int shim_barrier_count(int kind, int predicate);
// Waits for the lanes of mask, each of which brings size ≤ SHIM_LANE bytes. Lane i's are at
// [SHIM_LANE·i] of the result, until this lane is in its second operation after this one.
const unsigned char *shim_exchange(int kind, unsigned mask, const void *mine, size_t size);
#define SHIM_LANE 64

static inline void __syncthreads() { shim_barrier(0); }
static inline int __syncthreads_count(int p) { return shim_barrier_count(1, p != 0); }
static inline int __syncthreads_or(int p) { return shim_barrier_count(2, p != 0) != 0; }
static inline int __syncthreads_and(int p) { return shim_barrier_count(3, p == 0) == 0; }

// What the lanes of a warp have brought to an operation. Those that the block does not have brought 0.
template <typename T>
struct shim_lanes {
    const unsigned char *brought;
    const T &operator[](unsigned lane) const { return *(const T *)(brought + SHIM_LANE * lane); }
};

// Gives every lane of mask what each of them brought, to build warp-wide
// operations from that have no function in C++.
template <typename T>
static inline shim_lanes<T> shim_gather(unsigned mask, const T &mine)
{
    static_assert(sizeof(T) <= SHIM_LANE, "a lane brings at most 64 bytes");
    return {shim_exchange(10, mask, &mine, sizeof(T))};
}

static inline void __syncwarp(unsigned mask = 0xffffffffu) { shim_exchange(11, mask, nullptr, 0); }

static inline unsigned shim_lane() { return (shim_now.thread.x + shim_now.block.x * (shim_now.thread.y + shim_now.block.y * shim_now.thread.z)) % 32; }

template <typename T>
static inline T shim_shuffle(unsigned mask, T v, unsigned source, bool inside)
{
    shim_lanes<T> all = shim_gather(mask, v);
    return !inside ? v : mask >> source & 1 ? all[source] : T{};
}

template <typename T>
static inline T __shfl_sync(unsigned mask, T v, int source, int width = 32)
{
    unsigned lane = shim_lane();
    return shim_shuffle(mask, v, lane / width * width + (unsigned)source % width, true);
}
template <typename T>
static inline T __shfl_xor_sync(unsigned mask, T v, int bits, int width = 32)
{
    unsigned lane = shim_lane(), source = lane ^ (unsigned)bits;
    return shim_shuffle(mask, v, source % 32, source / width <= lane / width);
}
template <typename T>
static inline T __shfl_down_sync(unsigned mask, T v, unsigned delta, int width = 32)
{
    unsigned lane = shim_lane(), source = lane + delta;
    return shim_shuffle(mask, v, source % 32, source / width == lane / width);
}
template <typename T>
static inline T __shfl_up_sync(unsigned mask, T v, unsigned delta, int width = 32)
{
    unsigned lane = shim_lane(), source = lane - delta;
    return shim_shuffle(mask, v, source % 32, delta <= lane % width);
}

static inline unsigned __ballot_sync(unsigned mask, int p)
{
    shim_lanes<unsigned char> all = shim_gather(mask, (unsigned char)(p != 0));
    unsigned bits = 0;
    for (int i = 0; i < 32; i++)
        if (mask >> i & 1)
            bits |= (unsigned)all[i] << i;
    return bits;
}
static inline int __any_sync(unsigned mask, int p) { return __ballot_sync(mask, p) != 0; }
static inline int __all_sync(unsigned mask, int p) { return __ballot_sync(mask, p) == mask; }

template <typename T>
static inline T __reduce_add_sync(unsigned mask, T v)
{
    shim_lanes<T> all = shim_gather(mask, v);
    T sum = 0;
    for (int i = 0; i < 32; i++)
        if (mask >> i & 1)
            sum += all[i];
    return sum;
}

// One thread runs at a time, and is only left where it waits.
template <typename T, typename U> static inline T atomicAdd(T *p, U v) { T old = *p; *p = old + (T)v; return old; }
template <typename T, typename U> static inline T atomicSub(T *p, U v) { T old = *p; *p = old - (T)v; return old; }
template <typename T, typename U> static inline T atomicMin(T *p, U v) { T old = *p; if ((T)v < old) *p = (T)v; return old; }
template <typename T, typename U> static inline T atomicMax(T *p, U v) { T old = *p; if ((T)v > old) *p = (T)v; return old; }
template <typename T, typename U> static inline T atomicAnd(T *p, U v) { T old = *p; *p = old & (T)v; return old; }
template <typename T, typename U> static inline T atomicOr(T *p, U v) { T old = *p; *p = old | (T)v; return old; }
template <typename T, typename U> static inline T atomicXor(T *p, U v) { T old = *p; *p = old ^ (T)v; return old; }
template <typename T, typename U> static inline T atomicExch(T *p, U v) { T old = *p; *p = (T)v; return old; }
template <typename T, typename U, typename V> static inline T atomicCAS(T *p, U expected, V v) { T old = *p; if (old == (T)expected) *p = (T)v; return old; }

static inline void __threadfence() {}
static inline void __threadfence_block() {}
static inline void __threadfence_system() {}
static inline void __nanosleep(unsigned) {}
static inline void __trap() { __builtin_trap(); }

template <typename T> static inline T __ldg(const T *p) { return *p; }
template <typename T> static inline T __ldcs(const T *p) { return *p; }
template <typename T> static inline T __ldcg(const T *p) { return *p; }
template <typename T> static inline void __stcs(T *p, T v) { *p = v; }
template <typename T> static inline void __stcg(T *p, T v) { *p = v; }

// As in CUDA, mixed signedness compares as unsigned.
static inline int min(int a, int b) { return a < b ? a : b; }
static inline int max(int a, int b) { return a > b ? a : b; }
static inline unsigned min(unsigned a, unsigned b) { return a < b ? a : b; }
static inline unsigned max(unsigned a, unsigned b) { return a > b ? a : b; }
static inline unsigned min(int a, unsigned b) { return min((unsigned)a, b); }
static inline unsigned min(unsigned a, int b) { return min(a, (unsigned)b); }
static inline unsigned max(int a, unsigned b) { return max((unsigned)a, b); }
static inline unsigned max(unsigned a, int b) { return max(a, (unsigned)b); }
static inline long long min(long long a, long long b) { return a < b ? a : b; }
static inline long long max(long long a, long long b) { return a > b ? a : b; }
static inline unsigned long long min(unsigned long long a, unsigned long long b) { return a < b ? a : b; }
static inline unsigned long long max(unsigned long long a, unsigned long long b) { return a > b ? a : b; }

static inline int __popc(unsigned v) { return __builtin_popcount(v); }
static inline int __popcll(unsigned long long v) { return __builtin_popcountll(v); }
static inline int __clz(int v) { return v == 0 ? 32 : __builtin_clz((unsigned)v); }
static inline int __clzll(long long v) { return v == 0 ? 64 : __builtin_clzll((unsigned long long)v); }
static inline int __ffs(int v) { return __builtin_ffs(v); }
static inline int __ffsll(long long v) { return __builtin_ffsll(v); }
static inline unsigned __brev(unsigned v)
{
    unsigned r = 0;
    for (int i = 0; i < 32; i++)
        r |= (v >> i & 1) << (31 - i);
    return r;
}
static inline unsigned long long __brevll(unsigned long long v) { return (unsigned long long)__brev((unsigned)v) << 32 | __brev((unsigned)(v >> 32)); }
static inline unsigned __umulhi(unsigned a, unsigned b) { return (unsigned)((unsigned long long)a * b >> 32); }
static inline unsigned long long __umul64hi(unsigned long long a, unsigned long long b) { return (unsigned long long)((unsigned __int128)a * b >> 64); }
static inline unsigned __funnelshift_l(unsigned lo, unsigned hi, unsigned n) { return (unsigned)(((unsigned long long)hi << 32 | lo) << (n & 31) >> 32); }
static inline unsigned __funnelshift_r(unsigned lo, unsigned hi, unsigned n) { return (unsigned)(((unsigned long long)hi << 32 | lo) >> (n & 31)); }
static inline unsigned __byte_perm(unsigned a, unsigned b, unsigned s)
{
    unsigned long long v = (unsigned long long)b << 32 | a;
    unsigned r = 0;
    for (int i = 0; i < 4; i++) {
        unsigned byte = (unsigned)(v >> (8 * (s >> (4 * i) & 7))) & 255;
        if (s >> (4 * i) & 8)
            byte = byte & 128 ? 255 : 0;
        r |= byte << (8 * i);
    }
    return r;
}
static inline int __dp4a(int a, int b, int c)
{
    unsigned r = (unsigned)c; // wraps, as the instruction does
    for (int i = 0; i < 4; i++)
        r += (unsigned)((int)(signed char)(a >> (8 * i)) * (int)(signed char)(b >> (8 * i)));
    return (int)r;
}
static inline unsigned __dp4a(unsigned a, unsigned b, unsigned c)
{
    for (int i = 0; i < 4; i++)
        c += (a >> (8 * i) & 255) * (b >> (8 * i) & 255);
    return c;
}
