/*
 * NVRTC, opened at run time. The types are those of nvrtc.h, which is not
 * needed: a program is an opaque pointer and a result is an int, 0 for success.
 */
#ifndef PROVE_MODEL_NVRTC_LIBRARY_H
#define PROVE_MODEL_NVRTC_LIBRARY_H

#include <stddef.h>

typedef struct {
	const char *(*error_string)(int);
	int (*version)(int *major, int *minor);
	int (*num_archs)(int *n);
	int (*archs)(int *archs);
	int (*create)(void **prog, const char *text, const char *name, int headers, const char *const *texts, const char *const *names);
	int (*destroy)(void **prog);
	int (*compile)(void *prog, int options, const char *const *option);
	int (*log_size)(void *prog, size_t *n);
	int (*log)(void *prog, char *log);
	int (*cubin_size)(void *prog, size_t *n);
	int (*cubin)(void *prog, char *code);
	int (*ptx_size)(void *prog, size_t *n);
	int (*ptx)(void *prog, char *code);
} nvrtc_library;

/* Opens the library at path. Returns NULL, or a text that says why not, which
 * the next call may overwrite. */
const char *nvrtc_open(nvrtc_library *lib, const char *path);

/* Loads the library at path, if it is there, for another to find by its name. */
void nvrtc_preload(const char *path);

/* Calls through the table, since Go cannot call a C function pointer. */
const char *nvrtc_error_string(const nvrtc_library *lib, int result);
int nvrtc_version(const nvrtc_library *lib, int *major, int *minor);
int nvrtc_num_archs(const nvrtc_library *lib, int *n);
int nvrtc_archs(const nvrtc_library *lib, int *archs);
int nvrtc_create(const nvrtc_library *lib, void **prog, const char *text, const char *name, int headers, char **texts, char **names);
int nvrtc_destroy(const nvrtc_library *lib, void **prog);
int nvrtc_compile(const nvrtc_library *lib, void *prog, int options, char **option);
int nvrtc_log_size(const nvrtc_library *lib, void *prog, size_t *n);
int nvrtc_log(const nvrtc_library *lib, void *prog, char *log);
/* The machine code, or PTX if ptx is not 0. */
int nvrtc_code_size(const nvrtc_library *lib, void *prog, int ptx, size_t *n);
int nvrtc_code(const nvrtc_library *lib, void *prog, int ptx, char *code);

#endif
