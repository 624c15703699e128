// Package nvrtc finds the NVIDIA driver and its run-time compiler, lists the
// devices, and compiles CUDA C++ to machine code for one of them, keeping what
// it compiled on disk.
//
// Everything is opened at run time and only when asked for, so one binary serves
// machines with and without a GPU. A binary built without the tag cuda, which
// needs no C compiler, has the same functions; they return ErrNoGPUSupport.
package nvrtc
