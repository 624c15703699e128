//go:build cuda && cgo && linux && (amd64 || arm64)

package nvrtc

// #cgo LDFLAGS: -ldl
// #include <stdlib.h>
// #include "library.h"
import "C"

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"unsafe"

	"github.com/prove-model/prove-model/internal/must"
)

// A library is an open NVRTC.
type library struct {
	path    string
	version string // such as 12.9
	archs   []int  // that it can compile for: 90 for sm_90
	fns     *C.nvrtc_library
}

// openLibrary opens NVRTC, the first time it is called: the file that
// PROVE_MODEL_NVRTC names, or else the first of candidates that opens.
var openLibrary = sync.OnceValues(func() (*library, error) {
	var failures []string
	paths, only := candidates()
	for _, path := range paths {
		lib, err := openPath(path)
		if err == nil {
			return lib, nil
		}
		failures = append(failures, err.Error())
	}
	if only {
		return nil, fmt.Errorf("NVRTC, as PROVE_MODEL_NVRTC names it: %s", failures[0])
	}
	return nil, errors.New("neither libnvrtc.so.13 nor libnvrtc.so.12 was found; install the CUDA toolkit, or the Python package nvidia-cuda-nvrtc-cu12, and set PROVE_MODEL_NVRTC to the library if it is in an unusual place")
})

func openPath(path string) (_ *library, err error) {
	defer must.Catch(&err)
	fns := (*C.nvrtc_library)(C.calloc(1, C.sizeof_nvrtc_library)) // lives as long as the process
	name := C.CString(path)
	defer C.free(unsafe.Pointer(name))
	if why := C.nvrtc_open(fns, name); why != nil {
		C.free(unsafe.Pointer(fns))
		return nil, fmt.Errorf("%s: %s", path, C.GoString(why))
	}
	lib := &library{path: path, fns: fns}
	var major, minor, n C.int
	must.OK(lib.check("nvrtcVersion", C.nvrtc_version(fns, &major, &minor)))
	lib.version = fmt.Sprintf("%d.%d", major, minor)
	must.OK(lib.check("nvrtcGetNumSupportedArchs", C.nvrtc_num_archs(fns, &n)))
	archs := make([]C.int, max(n, 1))
	must.OK(lib.check("nvrtcGetSupportedArchs", C.nvrtc_archs(fns, &archs[0])))
	for _, a := range archs[:n] {
		lib.archs = append(lib.archs, int(a))
	}
	// NVRTC 13 looks for its second library in the loader's folders alone, by a
	// name that one already loaded answers to. A toolkit whose libraries are
	// there needs no help, so a failure shows when compiling, if at all.
	if folder, _ := filepath.Split(path); folder != "" {
		builtins := C.CString(filepath.Join(folder, "libnvrtc-builtins.so."+lib.version))
		defer C.free(unsafe.Pointer(builtins))
		C.nvrtc_preload(builtins)
	}
	return lib, nil
}

// check returns the error of a call, nil for success.
func (lib *library) check(call string, r C.int) error {
	if r == 0 {
		return nil
	}
	return fmt.Errorf("%s: %s", call, C.GoString(C.nvrtc_error_string(lib.fns, r)))
}

// cstrings returns C copies of texts and a function that frees them.
func cstrings(texts []string) (**C.char, func()) {
	n := max(len(texts), 1)
	array := (**C.char)(C.calloc(C.size_t(n), C.size_t(unsafe.Sizeof(uintptr(0)))))
	list := unsafe.Slice(array, n)
	for i, t := range texts {
		list[i] = C.CString(t)
	}
	return array, func() {
		for _, s := range list {
			C.free(unsafe.Pointer(s))
		}
		C.free(unsafe.Pointer(array))
	}
}

// build compiles src for a target: machine code for sm_N, PTX for compute_N.
func (lib *library) build(src Source, target string) (code []byte, log string, err error) {
	var names, texts []string
	for name, text := range src.Headers {
		names = append(names, name)
		texts = append(texts, text)
	}
	cnames, freeNames := cstrings(names)
	defer freeNames()
	ctexts, freeTexts := cstrings(texts)
	defer freeTexts()
	copts, freeOpts := cstrings(append([]string{"--gpu-architecture=" + target}, options...))
	defer freeOpts()
	text, name := C.CString(src.Text), C.CString(src.Name)
	defer C.free(unsafe.Pointer(text))
	defer C.free(unsafe.Pointer(name))

	var prog unsafe.Pointer
	if err := lib.check("nvrtcCreateProgram", C.nvrtc_create(lib.fns, &prog, text, name, C.int(len(names)), ctexts, cnames)); err != nil {
		return nil, "", err
	}
	defer C.nvrtc_destroy(lib.fns, &prog)
	failed := lib.check("nvrtcCompileProgram", C.nvrtc_compile(lib.fns, prog, C.int(1+len(options)), copts))

	var n C.size_t
	if err := lib.check("nvrtcGetProgramLogSize", C.nvrtc_log_size(lib.fns, prog, &n)); err != nil {
		return nil, "", errors.Join(failed, err)
	}
	if n > 1 { // with the terminating zero
		buf := make([]byte, n)
		if err := lib.check("nvrtcGetProgramLog", C.nvrtc_log(lib.fns, prog, (*C.char)(unsafe.Pointer(&buf[0])))); err != nil {
			return nil, "", errors.Join(failed, err)
		}
		log = strings.TrimSpace(string(buf[:n-1]))
	}
	if failed != nil {
		return nil, log, fmt.Errorf("compiling %s for %s: %w\n%s", src.Name, target, failed, log)
	}

	ptx := C.int(0)
	if strings.HasPrefix(target, "compute_") {
		ptx = 1
	}
	if err := lib.check("nvrtcGetCUBINSize", C.nvrtc_code_size(lib.fns, prog, ptx, &n)); err != nil {
		return nil, log, err
	}
	if n == 0 {
		return nil, log, fmt.Errorf("compiling %s for %s gave no code", src.Name, target)
	}
	code = make([]byte, n)
	if err := lib.check("nvrtcGetCUBIN", C.nvrtc_code(lib.fns, prog, ptx, (*C.char)(unsafe.Pointer(&code[0])))); err != nil {
		return nil, log, err
	}
	return code, log, nil
}
