/*
 * gorgonia.org/cu v0.9.6 was written for CUDA 12's cuda.h. CUDA 13's gives five
 * functions that it calls other parameters, under new symbols; libcuda.so still
 * has the old ones, declared here. This folder goes first on the include path.
 */
#include_next <cuda.h>

#if CUDA_VERSION >= 13000 && !defined(PROVE_MODEL_CUDA_12_CALLS)
#define PROVE_MODEL_CUDA_12_CALLS

#undef cuCtxCreate
#undef cuMemAdvise
#undef cuMemPrefetchAsync
#undef cuGraphAddDependencies
#undef cuGraphGetEdges
#define cuCtxCreate cuCtxCreate_v2

CUresult CUDAAPI cuCtxCreate(CUcontext *pctx, unsigned int flags, CUdevice dev);
CUresult CUDAAPI cuMemAdvise(CUdeviceptr devPtr, size_t count, CUmem_advise advice, CUdevice device);
CUresult CUDAAPI cuMemPrefetchAsync(CUdeviceptr devPtr, size_t count, CUdevice dstDevice, CUstream hStream);
CUresult CUDAAPI cuGraphAddDependencies(CUgraph hGraph, const CUgraphNode *from, const CUgraphNode *to, size_t numDependencies);
CUresult CUDAAPI cuGraphGetEdges(CUgraph hGraph, CUgraphNode *from, CUgraphNode *to, size_t *numEdges);

#endif
