/*
 * The driver's calls that the executor makes often, each within a given context
 * whatever thread it runs on: the calling thread's context is put back after
 * it. Every function returns the driver's result.
 */
#ifndef PROVE_MODEL_LIBCUDA_H
#define PROVE_MODEL_LIBCUDA_H

#include <cuda.h>
#include <stddef.h>
#include <stdint.h>

/* Opens the driver at path and fills the slots. On failure a text of at most
 * size bytes is put at message. Must be called once at most. */
CUresult libcuda_open(const char *path, char *message, size_t size);

/* Ways to launch: as usual, with all blocks at once, or before the kernel in front has ended. */
enum { LAUNCH_PLAIN, LAUNCH_COOPERATIVE, LAUNCH_EARLY };

/* Launches f with count arguments of 8 bytes each. */
CUresult libcuda_launch(CUcontext ctx, CUfunction f, const uint32_t grid[3], const uint32_t block[3],
	unsigned int shared, CUstream stream, const uint64_t *args, int count, int way);

CUresult libcuda_set_max_dynamic_shared(CUcontext ctx, CUfunction f, int bytes);

CUresult libcuda_h2d(CUcontext ctx, CUdeviceptr dst, const void *src, size_t n, CUstream stream);
CUresult libcuda_d2h(CUcontext ctx, void *dst, CUdeviceptr src, size_t n, CUstream stream);
CUresult libcuda_d2d(CUcontext ctx, CUdeviceptr dst, CUdeviceptr src, size_t n, CUstream stream);
/* ctx is that of dst. */
CUresult libcuda_peer_copy(CUcontext ctx, CUdeviceptr dst, CUcontext from, CUdeviceptr src, size_t n, CUstream stream);
CUresult libcuda_can_access_peer(int *can, CUdevice device, CUdevice other);
CUresult libcuda_record(CUcontext ctx, CUevent event, CUstream stream);
CUresult libcuda_wait(CUcontext ctx, CUstream stream, CUevent event);
CUresult libcuda_memset(CUcontext ctx, CUdeviceptr dst, unsigned char value, size_t n, CUstream stream);

CUresult libcuda_host_alloc(CUcontext ctx, void **p, size_t n);
CUresult libcuda_host_free(CUcontext ctx, void *p);

/* A pool of device memory that keeps what is freed until trimmed. */
CUresult libcuda_pool_create(CUmemoryPool *pool, CUdevice device);
CUresult libcuda_pool_stats(CUcontext ctx, CUmemoryPool pool, uint64_t *reserved, uint64_t *reserved_high,
	uint64_t *used, uint64_t *used_high);
CUresult libcuda_pool_reset_high(CUcontext ctx, CUmemoryPool pool);
/* Gives the pool's unused memory back, after waiting for the stream. */
CUresult libcuda_pool_trim(CUcontext ctx, CUmemoryPool pool, CUstream stream);
CUresult libcuda_pool_allow(CUmemoryPool pool, CUdevice device);
CUresult libcuda_alloc(CUcontext ctx, CUdeviceptr *p, size_t n, CUmemoryPool pool, CUstream stream);
CUresult libcuda_free(CUcontext ctx, CUdeviceptr p, CUstream stream);

CUresult libcuda_capture_begin(CUcontext ctx, CUstream stream);
/* Ends the capture and makes it launchable. */
CUresult libcuda_capture_end(CUcontext ctx, CUstream stream, CUgraphExec *exec);
CUresult libcuda_graph_launch(CUcontext ctx, CUgraphExec exec, CUstream stream);
CUresult libcuda_graph_destroy(CUcontext ctx, CUgraphExec exec);

CUresult libcuda_synchronize(CUcontext ctx, CUstream stream);

#endif
