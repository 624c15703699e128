//go:build cuda && linux && (amd64 || arm64)

#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>

#include "libcuda.h"

struct slot {
	const char *name;
	void *fn;
};

extern struct slot libcuda_slots[], libcuda_slots_end[];

/* What a slot points to until the driver is open. */
CUresult libcuda_unavailable(void) { return CUDA_ERROR_NOT_INITIALIZED; }

/* What the slot of an entry point that the driver lacks points to then. */
static CUresult unsupported(void) { return CUDA_ERROR_NOT_SUPPORTED; }

/*
 * gorgonia.org/cu calls cuInit when the program starts and ends the process if
 * it fails. This one touches nothing; libcuda_open calls the driver's own.
 */
CUresult cuInit(unsigned int flags) { return CUDA_SUCCESS; }

CUresult libcuda_open(const char *path, char *message, size_t size)
{
	void *driver = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	if (driver == NULL) {
		const char *why = dlerror();
		snprintf(message, size, "%s", why != NULL ? why : "dlopen failed");
		return CUDA_ERROR_NOT_INITIALIZED;
	}
	CUresult (*init)(unsigned int) = (CUresult (*)(unsigned int))dlsym(driver, "cuInit");
	if (init == NULL) {
		snprintf(message, size, "%s has no cuInit", path);
		dlclose(driver);
		return CUDA_ERROR_NOT_INITIALIZED;
	}
	CUresult r = init(0);
	if (r != CUDA_SUCCESS) {
		/* The slots stay as they are: nothing can be called. A driver that
		 * failed may have threads of its own, so it stays mapped. */
		CUresult (*name)(CUresult, const char **) = (CUresult (*)(CUresult, const char **))dlsym(driver, "cuGetErrorString");
		const char *why = NULL;
		if (name != NULL)
			name(r, &why);
		snprintf(message, size, "cuInit: %s", why != NULL ? why : "failed");
		return r;
	}
	for (struct slot *s = libcuda_slots; s < libcuda_slots_end; s++) {
		void *fn = dlsym(driver, s->name);
		s->fn = fn != NULL ? fn : (void *)unsupported;
	}
	return CUDA_SUCCESS;
}
