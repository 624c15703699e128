//go:build !cuda || !cgo || !linux || !(amd64 || arm64)

package kernels

import "github.com/prove-model/prove-model/nvrtc"

// Cached returns nvrtc.ErrNoGPUSupport.
func Cached() (Device, error) { return nil, nvrtc.ErrNoGPUSupport }

// CachedFor returns nvrtc.ErrNoGPUSupport.
func CachedFor(device int) (Device, error) { return nil, nvrtc.ErrNoGPUSupport }
