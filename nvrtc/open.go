//go:build cuda && cgo && linux && (amd64 || arm64)

package nvrtc

import (
	"fmt"

	"github.com/prove-model/prove-model/nvrtc/libcuda"
	"gorgonia.org/cu"
)

// Open opens the NVIDIA driver, the first time it is called. On a machine that
// has none it says so. It is safe for concurrent use.
func Open() error { return libcuda.Open() }

// Devices lists the GPUs of this machine, in the driver's order. It takes no
// memory on them.
func Devices() ([]DeviceInfo, error) {
	if err := Open(); err != nil {
		return nil, err
	}
	n, err := cu.NumDevices()
	if err != nil {
		return nil, libcuda.Wrap("cuDeviceGetCount", err)
	}
	devices := make([]DeviceInfo, n)
	for i := range devices {
		if devices[i], err = describe(i); err != nil {
			return nil, fmt.Errorf("device %d: %w", i, err)
		}
	}
	return devices, nil
}

// describe describes device number i.
func describe(i int) (DeviceInfo, error) {
	d, err := cu.GetDevice(i)
	if err != nil {
		return DeviceInfo{}, libcuda.Wrap("cuDeviceGet", err)
	}
	info := DeviceInfo{Index: i, Driver: version(cu.Version())}
	if info.Name, err = d.Name(); err != nil {
		return info, libcuda.Wrap("cuDeviceGetName", err)
	}
	id, err := d.UUID()
	if err != nil {
		return info, libcuda.Wrap("cuDeviceGetUuid", err)
	}
	info.UUID = id.String()
	if info.Memory, err = d.TotalMem(); err != nil {
		return info, libcuda.Wrap("cuDeviceTotalMem", err)
	}
	for _, a := range []struct {
		value *int
		attr  cu.DeviceAttribute
	}{
		{&info.Major, cu.ComputeCapabilityMajor},
		{&info.Minor, cu.ComputeCapabilityMinor},
		{&info.Multiprocessors, cu.MultiprocessorCount},
		{&info.ClockKHz, cu.ClockRate},
		{&info.L2, cu.L2CacheSize},
		{&info.SharedPerBlock, maxSharedPerBlockOptin},
	} {
		if *a.value, err = d.Attribute(a.attr); err != nil {
			return info, libcuda.Wrap("cuDeviceGetAttribute", err)
		}
	}
	return info, nil
}

// maxSharedPerBlockOptin is CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN,
// which gorgonia.org/cu does not name.
const maxSharedPerBlockOptin = cu.DeviceAttribute(97)

// version returns the text of a CUDA version number, 1000·major + 10·minor.
func version(v int) string { return fmt.Sprintf("%d.%d", v/1000, v%1000/10) }
