// What every kernel may use, with no header but this: NVRTC has none, and the
// host build (package shim) defines the same names.
#pragma once

using u8 = unsigned char;
using u16 = unsigned short;
using u32 = unsigned int;
using u64 = unsigned long long;
using i8 = signed char;
using i16 = short;
using i32 = int;
using i64 = long long;

// The launch's dynamic shared memory as an array of T called name.
#ifndef PROVE_MODEL_HOST
#define DYNAMIC_SHARED(T, name)                             \
    extern __shared__ __align__(16) unsigned char dynamic_shared_memory[]; \
    T *name = reinterpret_cast<T *>(dynamic_shared_memory)
#endif

// A kernel: extern "C", so that the host finds it by name. Its parameters are
// pointers and u64 or i64 alone, since a launch passes 8 bytes for each.
#define KERNEL extern "C" __global__ void

#define DEVICE static __device__ __forceinline__

// What a kernel calls that may be launched early: first that the kernel behind it may begin, then, before it reads or writes what others
// do, that all kernels before it have ended.
DEVICE void let_next_begin()
{
#if !defined(PROVE_MODEL_HOST) && __CUDA_ARCH__ >= 900
    asm volatile("griddepcontrol.launch_dependents;");
#endif
}
DEVICE void wait_for_earlier()
{
#if !defined(PROVE_MODEL_HOST) && __CUDA_ARCH__ >= 900
    asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
}

// The index of this thread among all of a one-dimensional launch, and their
// number.
DEVICE u64 thread_index() { return (u64)blockIdx.x * blockDim.x + threadIdx.x; }
DEVICE u64 thread_count() { return (u64)gridDim.x * blockDim.x; }

// The job that a block belongs to, of n jobs with their first blocks in order.
template <class J>
DEVICE const J &job_of(const J *jobs, u64 n, u64 block)
{
    u64 low = 0, high = n; // the last job that begins at this block or before
    while (high - low > 1) {
        u64 middle = (low + high) / 2;
        if (jobs[middle].first <= block)
            low = middle;
        else
            high = middle;
    }
    return jobs[low];
}
