package onnx

import "github.com/prove-model/prove-model/internal/refuse"

// refusal returns what a reader makes of something, or the error with which it refuses.
func refusal[A, T any](read func(A) T, of A) (T, error) {
	return refuse.Result(func() T { return read(of) })
}
