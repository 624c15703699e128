//go:build cuda && linux && (amd64 || arm64)

#include "libcuda.h"

/* The arguments that a kernel may have: far below the 4 KB that the driver
 * takes. libcuda.go has the same number. */
#define MAX_ARGS 64

/*
 * A thread has one current context. WITHIN makes ctx current for one call and
 * puts back what was current before; where ctx is current already, as on a
 * thread bound to it, that costs a read.
 */
#define WITHIN(ctx, call)                           \
	do {                                            \
		CUcontext before_;                          \
		CUresult r_ = cuCtxGetCurrent(&before_);    \
		if (r_ != CUDA_SUCCESS)                     \
			return r_;                              \
		if (before_ == (ctx))                       \
			return (call);                          \
		if ((r_ = cuCtxSetCurrent(ctx)) != CUDA_SUCCESS) \
			return r_;                              \
		r_ = (call);                                \
		CUresult back_ = cuCtxSetCurrent(before_);  \
		return r_ != CUDA_SUCCESS ? r_ : back_;     \
	} while (0)

CUresult libcuda_launch(CUcontext ctx, CUfunction f, const uint32_t grid[3], const uint32_t block[3],
	unsigned int shared, CUstream stream, const uint64_t *args, int count, int way)
{
	void *params[MAX_ARGS];
	if (count < 0 || count > MAX_ARGS)
		return CUDA_ERROR_INVALID_VALUE;
	for (int i = 0; i < count; i++)
		params[i] = (void *)&args[i];
	if (way == LAUNCH_COOPERATIVE)
		WITHIN(ctx, cuLaunchCooperativeKernel(f, grid[0], grid[1], grid[2], block[0], block[1], block[2], shared, stream, params));
	if (way == LAUNCH_EARLY) {
		CUlaunchAttribute early = {
			.id = CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION, .value.programmaticStreamSerializationAllowed = 1};
		CUlaunchConfig config = {
			.gridDimX = grid[0], .gridDimY = grid[1], .gridDimZ = grid[2], .blockDimX = block[0], .blockDimY = block[1], .blockDimZ = block[2],
			.sharedMemBytes = shared, .hStream = stream, .attrs = &early, .numAttrs = 1};
		WITHIN(ctx, cuLaunchKernelEx(&config, f, params, NULL));
	}
	WITHIN(ctx, cuLaunchKernel(f, grid[0], grid[1], grid[2], block[0], block[1], block[2], shared, stream, params, NULL));
}

CUresult libcuda_set_max_dynamic_shared(CUcontext ctx, CUfunction f, int bytes)
{
	WITHIN(ctx, cuFuncSetAttribute(f, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, bytes));
}

CUresult libcuda_h2d(CUcontext ctx, CUdeviceptr dst, const void *src, size_t n, CUstream stream)
{
	WITHIN(ctx, cuMemcpyHtoDAsync(dst, src, n, stream));
}

CUresult libcuda_d2h(CUcontext ctx, void *dst, CUdeviceptr src, size_t n, CUstream stream)
{
	WITHIN(ctx, cuMemcpyDtoHAsync(dst, src, n, stream));
}

CUresult libcuda_d2d(CUcontext ctx, CUdeviceptr dst, CUdeviceptr src, size_t n, CUstream stream)
{
	WITHIN(ctx, cuMemcpyDtoDAsync(dst, src, n, stream));
}

CUresult libcuda_peer_copy(CUcontext ctx, CUdeviceptr dst, CUcontext from, CUdeviceptr src, size_t n, CUstream stream)
{
	WITHIN(ctx, cuMemcpyPeerAsync(dst, ctx, src, from, n, stream));
}

CUresult libcuda_can_access_peer(int *can, CUdevice device, CUdevice other)
{
	return cuDeviceCanAccessPeer(can, device, other);
}

CUresult libcuda_record(CUcontext ctx, CUevent event, CUstream stream)
{
	WITHIN(ctx, cuEventRecord(event, stream));
}

CUresult libcuda_wait(CUcontext ctx, CUstream stream, CUevent event)
{
	WITHIN(ctx, cuStreamWaitEvent(stream, event, 0));
}

CUresult libcuda_memset(CUcontext ctx, CUdeviceptr dst, unsigned char value, size_t n, CUstream stream)
{
	WITHIN(ctx, cuMemsetD8Async(dst, value, n, stream));
}

CUresult libcuda_host_alloc(CUcontext ctx, void **p, size_t n)
{
	/* Portable: pinned for every context. With unified addressing a kernel
	 * reads and writes it at the same address. */
	WITHIN(ctx, cuMemHostAlloc(p, n, CU_MEMHOSTALLOC_PORTABLE | CU_MEMHOSTALLOC_DEVICEMAP));
}

CUresult libcuda_host_free(CUcontext ctx, void *p)
{
	WITHIN(ctx, cuMemFreeHost(p));
}

CUresult libcuda_pool_create(CUmemoryPool *pool, CUdevice device)
{
	CUmemPoolProps props = {
		.allocType = CU_MEM_ALLOCATION_TYPE_PINNED,
		.handleTypes = CU_MEM_HANDLE_TYPE_NONE,
		.location = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = device},
	};
	CUresult r = cuMemPoolCreate(pool, &props);
	if (r != CUDA_SUCCESS)
		return r;
	cuuint64_t keep = UINT64_MAX;
	r = cuMemPoolSetAttribute(*pool, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, &keep);
	if (r != CUDA_SUCCESS)
		cuMemPoolDestroy(*pool);
	return r;
}

static CUresult pool_stats(CUmemoryPool pool, uint64_t *reserved, uint64_t *reserved_high, uint64_t *used, uint64_t *used_high)
{
	cuuint64_t v[4];
	static const CUmemPool_attribute attrs[4] = {
		CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT,
		CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH,
		CU_MEMPOOL_ATTR_USED_MEM_CURRENT,
		CU_MEMPOOL_ATTR_USED_MEM_HIGH,
	};
	for (int i = 0; i < 4; i++) {
		CUresult r = cuMemPoolGetAttribute(pool, attrs[i], &v[i]);
		if (r != CUDA_SUCCESS)
			return r;
	}
	*reserved = v[0], *reserved_high = v[1], *used = v[2], *used_high = v[3];
	return CUDA_SUCCESS;
}

CUresult libcuda_pool_stats(CUcontext ctx, CUmemoryPool pool, uint64_t *reserved, uint64_t *reserved_high,
	uint64_t *used, uint64_t *used_high)
{
	WITHIN(ctx, pool_stats(pool, reserved, reserved_high, used, used_high));
}

static CUresult pool_reset_high(CUmemoryPool pool)
{
	cuuint64_t zero = 0;
	CUresult r = cuMemPoolSetAttribute(pool, CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH, &zero);
	return r != CUDA_SUCCESS ? r : cuMemPoolSetAttribute(pool, CU_MEMPOOL_ATTR_USED_MEM_HIGH, &zero);
}

CUresult libcuda_pool_reset_high(CUcontext ctx, CUmemoryPool pool)
{
	WITHIN(ctx, pool_reset_high(pool));
}

/* Waits for the stream, so that what was freed in it counts as free. */
static CUresult pool_trim(CUmemoryPool pool, CUstream stream)
{
	CUresult r = cuStreamSynchronize(stream);
	return r != CUDA_SUCCESS ? r : cuMemPoolTrimTo(pool, 0);
}

CUresult libcuda_pool_trim(CUcontext ctx, CUmemoryPool pool, CUstream stream)
{
	WITHIN(ctx, pool_trim(pool, stream));
}

CUresult libcuda_pool_allow(CUmemoryPool pool, CUdevice device)
{
	CUmemAccessDesc access = {
		.location = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = device},
		.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE,
	};
	return cuMemPoolSetAccess(pool, &access, 1);
}

CUresult libcuda_alloc(CUcontext ctx, CUdeviceptr *p, size_t n, CUmemoryPool pool, CUstream stream)
{
	WITHIN(ctx, cuMemAllocFromPoolAsync(p, n, pool, stream));
}

CUresult libcuda_free(CUcontext ctx, CUdeviceptr p, CUstream stream)
{
	WITHIN(ctx, cuMemFreeAsync(p, stream));
}

CUresult libcuda_capture_begin(CUcontext ctx, CUstream stream)
{
	/* Relaxed: begin and end may come from different threads. */
	WITHIN(ctx, cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_RELAXED));
}

static CUresult capture_end(CUstream stream, CUgraphExec *exec)
{
	CUgraph graph;
	CUresult r = cuStreamEndCapture(stream, &graph);
	if (r != CUDA_SUCCESS)
		return r;
	r = cuGraphInstantiateWithFlags(exec, graph, 0);
	cuGraphDestroy(graph);
	return r;
}

CUresult libcuda_capture_end(CUcontext ctx, CUstream stream, CUgraphExec *exec)
{
	WITHIN(ctx, capture_end(stream, exec));
}

CUresult libcuda_graph_launch(CUcontext ctx, CUgraphExec exec, CUstream stream)
{
	WITHIN(ctx, cuGraphLaunch(exec, stream));
}

CUresult libcuda_graph_destroy(CUcontext ctx, CUgraphExec exec)
{
	WITHIN(ctx, cuGraphExecDestroy(exec));
}

CUresult libcuda_synchronize(CUcontext ctx, CUstream stream)
{
	WITHIN(ctx, cuStreamSynchronize(stream));
}
