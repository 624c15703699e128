//go:build cuda && linux && (amd64 || arm64)

package libcuda

// #cgo LDFLAGS: -L${SRCDIR}/lib -ldl
// #include <stdlib.h>
// #include "libcuda.h"
import "C"

import (
	"fmt"
	"strings"
	"sync"
	"unsafe"
)

// soname is the driver's library, part of the driver's installation.
const soname = "libcuda.so.1"

// Open opens and initialises the driver, the first time it is called. It
// returns the same error, or nil, ever after.
var Open = sync.OnceValue(func() error {
	path := C.CString(soname)
	defer C.free(unsafe.Pointer(path))
	message := make([]C.char, 512)
	if r := C.libcuda_open(path, &message[0], C.size_t(len(message))); r != C.CUDA_SUCCESS {
		return fmt.Errorf("no usable NVIDIA driver: %s", strings.TrimSpace(C.GoString(&message[0])))
	}
	return nil
})
