//go:build cuda && linux && (amd64 || arm64)

package libcuda

// #include "libcuda.h"
import "C"

import (
	"errors"
	"fmt"
	"reflect"
)

// Error is a failed call of the driver.
type Error struct {
	Call string // what was called
	Code int    // the driver's CUresult, never 0
}

// Error names the call and says what the driver says of the code.
func (e *Error) Error() string {
	name, text := "", ""
	var s *C.char
	if C.cuGetErrorName(C.CUresult(e.Code), &s) == C.CUDA_SUCCESS && s != nil {
		name = C.GoString(s)
	}
	if C.cuGetErrorString(C.CUresult(e.Code), &s) == C.CUDA_SUCCESS && s != nil {
		text = C.GoString(s)
	}
	if name == "" {
		return fmt.Sprintf("%s: CUDA error %d", e.Call, e.Code)
	}
	return fmt.Sprintf("%s: %s (%s)", e.Call, text, name)
}

// OutOfMemory reports whether the device, or pinned host memory, ran out.
func (e *Error) OutOfMemory() bool { return e.Code == C.CUDA_ERROR_OUT_OF_MEMORY }

// Sticky reports whether the context is lost: every later call in it fails.
func (e *Error) Sticky() bool {
	switch e.Code {
	case C.CUDA_ERROR_ILLEGAL_ADDRESS, C.CUDA_ERROR_LAUNCH_TIMEOUT, C.CUDA_ERROR_CONTEXT_IS_DESTROYED,
		C.CUDA_ERROR_ASSERT, C.CUDA_ERROR_HARDWARE_STACK_ERROR, C.CUDA_ERROR_ILLEGAL_INSTRUCTION,
		C.CUDA_ERROR_MISALIGNED_ADDRESS, C.CUDA_ERROR_INVALID_ADDRESS_SPACE, C.CUDA_ERROR_INVALID_PC,
		C.CUDA_ERROR_LAUNCH_FAILED, C.CUDA_ERROR_ECC_UNCORRECTABLE, C.CUDA_ERROR_NVLINK_UNCORRECTABLE,
		C.CUDA_ERROR_DEVICE_UNAVAILABLE, C.CUDA_ERROR_INVALID_CONTEXT, C.CUDA_ERROR_UNKNOWN:
		return true
	}
	return false
}

// result returns the error of a call, nil for success.
func result(call string, r C.CUresult) error {
	if r == C.CUDA_SUCCESS {
		return nil
	}
	return &Error{call, int(r)}
}

// Wrap gives an error of gorgonia.org/cu, whose type is not exported but is an
// integer, the driver's code, the form of those of this package.
func Wrap(call string, err error) error {
	for e := err; e != nil; e = errors.Unwrap(e) {
		if v := reflect.ValueOf(e); v.Kind() == reflect.Int {
			return &Error{call, int(v.Int())}
		}
	}
	if err != nil {
		return fmt.Errorf("%s: %w", call, err)
	}
	return nil
}
