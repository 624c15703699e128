//go:build !amd64 || purego

package poseidon2

// Without assembly no kernel is called.

func permuteBlock(*uint32, *uint32)       {}
func permuteStateAVX512(*uint32, *uint32) {}
func transposeWords(*uint32, *uint32)     {}
