// Tables of eq(r, ·).
#include "axes.cuh"
#include "sum.cuh"

// eq of the coordinates c[0 … n) and the bits of i, c[0] with the top one.
DEVICE qm31 eq_index(const qm31 *c, u32 n, u64 i)
{
    qm31 e = qm31_one();
    for (u32 j = 0; j < n; j++) {
        qm31 x = c[j];
        e = qm31_mul(e, i >> (n - 1 - j) & 1 ? x : qm31_sub(qm31_one(), x));
    }
    return e;
}

DEVICE void heap_entry(qm31 *heap, const qm31 *c, u32 n, u64 h)
{
    if (h == 0)
        return;
    u32 level = 63 - __clzll((i64)h);
    heap[h] = eq_index(c + (n - level), level, h - ((u64)1 << level));
}

// The heaps (see weights) over point[0 … n) and point[n … n + m), of 2^(n+1)
// and 2^(m+1) entries.
struct heaps_job {
    qm31 *outer, *inner;
    const qm31 *point;
    u64 n, m;
};

// The heaps of the job blockIdx.y.
KERNEL eq_heaps(const heaps_job *jobs)
{
    heaps_job job = jobs[blockIdx.y];
    qm31 *outer = job.outer, *inner = job.inner;
    const qm31 *point = job.point;
    u64 n = job.n, m = job.m, first = (u64)2 << n, all = first + ((u64)2 << m);
    for (u64 h = thread_index(); h < all; h += thread_count()) {
        if (h < first)
            heap_entry(outer, point, (u32)n, h);
        else
            heap_entry(inner, point + n, (u32)m, h - first);
    }
}

// Π_j eq(part_j, i_j) at entry x of a dense shape of dimensions d_j. The parts are one
// after the other in point, ⌈log2 d_j⌉ coordinates each.
DEVICE qm31 eq_entry(const qm31 *point, const u64 (&dims)[MAX_AXES], u64 x)
{
    u32 end = 0;
    for (int a = 0; a < MAX_AXES; a++)
        end += log2_ceil(dims[a]);
    qm31 e = qm31_one();
#pragma unroll
    for (int a = MAX_AXES - 1; a >= 0; a--) {
        if (dims[a] == 1)
            continue;
        u32 v = log2_ceil(dims[a]);
        end -= v;
        e = qm31_mul(e, eq_index(point + end, v, x % dims[a]));
        x /= dims[a];
    }
    return e;
}

// The weights of all entries of a shape.
KERNEL eq_tensor(qm31 *out, const qm31 *point, u64 d0, u64 d1, u64 d2, u64 d3, u64 d4, u64 d5, u64 d6, u64 d7)
{
    u64 dims[MAX_AXES] = {d0, d1, d2, d3, d4, d5, d6, d7}, n = 1;
    for (int a = 0; a < MAX_AXES; a++)
        n *= dims[a];
    for (u64 x = thread_index(); x < n; x += thread_count())
        out[x] = eq_entry(point, dims, x);
}

// Weights of the entries of a shape, n of them (eq_tensors).
struct tensor_job {
    u64 first, n; // the first of its blocks; entries
    qm31 *out;
    const qm31 *point;
    u64 dims[MAX_AXES];
};

// The weights of all jobs, a thread for each.
KERNEL eq_tensors(const tensor_job *jobs, u64 njobs)
{
    const tensor_job &job = job_of(jobs, njobs, blockIdx.x);
    u64 x = (blockIdx.x - job.first) * blockDim.x + threadIdx.x;
    if (x < job.n)
        job.out[x] = eq_entry(job.point, job.dims, x);
}
