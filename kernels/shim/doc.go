// Package shim runs the kernels on the host: their sources, compiled by g++
// under a header that gives CUDA's words a meaning for one thread at a time.
// Tests compare kernels with the Go code this way where there is no GPU. It is
// slow, and strict: see host/host.cc for what it refuses.
//
// What it cannot show: races between blocks, which run one after another here,
// and inline PTX, which a source must give another form under PROVE_MODEL_HOST.
package shim
