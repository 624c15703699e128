//go:build !cuda || !cgo || !linux || !(amd64 || arm64)

package nvrtc

import "context"

// Open reports ErrNoGPUSupport.
func Open() error { return ErrNoGPUSupport }

// Devices reports ErrNoGPUSupport.
func Devices() ([]DeviceInfo, error) { return nil, ErrNoGPUSupport }

// Compiler reports ErrNoGPUSupport.
func Compiler() (path, version string, err error) { return "", "", ErrNoGPUSupport }

// Compile reports ErrNoGPUSupport.
func Compile(ctx context.Context, src Source, arch string) (code []byte, log string, err error) {
	return nil, "", ErrNoGPUSupport
}
