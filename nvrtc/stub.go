//go:build !cuda || !cgo || !linux || !(amd64 || arm64)

package nvrtc

import "context"

// Open returns ErrNoGPUSupport.
func Open() error { return ErrNoGPUSupport }

// Devices returns ErrNoGPUSupport.
func Devices() ([]DeviceInfo, error) { return nil, ErrNoGPUSupport }

// Compiler returns ErrNoGPUSupport.
func Compiler() (path, version string, err error) { return "", "", ErrNoGPUSupport }

// Compile returns ErrNoGPUSupport.
func Compile(ctx context.Context, src Source, arch string) (code []byte, log string, err error) {
	return nil, "", ErrNoGPUSupport
}
