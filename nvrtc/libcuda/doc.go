// Package libcuda lets a program that uses gorgonia.org/cu start on a machine
// without an NVIDIA driver. That package links libcuda.so and ends the process
// when it cannot be initialised; here every function of the driver that it
// refers to is defined as a jump through a slot. Until Open has opened the
// driver at run time and filled the slots, they all return
// CUDA_ERROR_NOT_INITIALIZED, and nothing touches a driver.
//
// It also has the driver's calls that gorgonia.org/cu lacks or makes slowly.
// Each takes the context it runs in, so that it may be called from any
// goroutine, and leaves the thread's current context as it was.
//
// Everything needs the build tag cuda, cgo, and CUDA's headers; see docs/gpu.md.
package libcuda
