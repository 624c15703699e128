// Package shim runs the kernels on the host. It compiles their sources by g++ with a
// header that implements CUDA's language for one thread at a time. With it, tests
// compare kernels with the Go code on machines without a GPU. It is slow, and strict:
// host/host.cc lists what it refuses.
//
// It cannot find races between blocks, which run one after another here, nor test
// inline PTX, for which a source must have an alternative under PROVE_MODEL_HOST.
package shim
