//go:build cuda && cgo && linux && (amd64 || arm64)

#define _GNU_SOURCE
#include "library.h"

#include <dlfcn.h>

const char *nvrtc_open(nvrtc_library *lib, const char *path)
{
	void *handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	if (handle == NULL) {
		const char *why = dlerror();
		return why != NULL ? why : "dlopen failed";
	}
	const struct {
		void **slot;
		const char *name;
	} entries[] = {
		{(void **)&lib->error_string, "nvrtcGetErrorString"},
		{(void **)&lib->version, "nvrtcVersion"},
		{(void **)&lib->num_archs, "nvrtcGetNumSupportedArchs"},
		{(void **)&lib->archs, "nvrtcGetSupportedArchs"},
		{(void **)&lib->create, "nvrtcCreateProgram"},
		{(void **)&lib->destroy, "nvrtcDestroyProgram"},
		{(void **)&lib->compile, "nvrtcCompileProgram"},
		{(void **)&lib->log_size, "nvrtcGetProgramLogSize"},
		{(void **)&lib->log, "nvrtcGetProgramLog"},
		{(void **)&lib->cubin_size, "nvrtcGetCUBINSize"},
		{(void **)&lib->cubin, "nvrtcGetCUBIN"},
		{(void **)&lib->ptx_size, "nvrtcGetPTXSize"},
		{(void **)&lib->ptx, "nvrtcGetPTX"},
	};
	for (size_t i = 0; i < sizeof entries / sizeof *entries; i++) {
		*entries[i].slot = dlsym(handle, entries[i].name);
		if (*entries[i].slot == NULL) {
			dlclose(handle);
			return "it lacks functions that CUDA 12 has";
		}
	}
	return NULL;
}

void nvrtc_preload(const char *path) { dlopen(path, RTLD_LAZY | RTLD_LOCAL); }

const char *nvrtc_error_string(const nvrtc_library *lib, int result) { return lib->error_string(result); }
int nvrtc_version(const nvrtc_library *lib, int *major, int *minor) { return lib->version(major, minor); }
int nvrtc_num_archs(const nvrtc_library *lib, int *n) { return lib->num_archs(n); }
int nvrtc_archs(const nvrtc_library *lib, int *archs) { return lib->archs(archs); }

int nvrtc_create(const nvrtc_library *lib, void **prog, const char *text, const char *name, int headers, char **texts, char **names)
{
	return lib->create(prog, text, name, headers, (const char *const *)texts, (const char *const *)names);
}

int nvrtc_destroy(const nvrtc_library *lib, void **prog) { return lib->destroy(prog); }

int nvrtc_compile(const nvrtc_library *lib, void *prog, int options, char **option)
{
	return lib->compile(prog, options, (const char *const *)option);
}

int nvrtc_log_size(const nvrtc_library *lib, void *prog, size_t *n) { return lib->log_size(prog, n); }
int nvrtc_log(const nvrtc_library *lib, void *prog, char *log) { return lib->log(prog, log); }

int nvrtc_code_size(const nvrtc_library *lib, void *prog, int ptx, size_t *n)
{
	return ptx ? lib->ptx_size(prog, n) : lib->cubin_size(prog, n);
}

int nvrtc_code(const nvrtc_library *lib, void *prog, int ptx, char *code)
{
	return ptx ? lib->ptx(prog, code) : lib->cubin(prog, code);
}
