// Package seq has functions on slices that the standard library lacks.
package seq

// Map returns f(x) for each x of a list, in order.
func Map[T, R any](list []T, f func(T) R) []R {
	out := make([]R, len(list))
	for i, x := range list {
		out[i] = f(x)
	}
	return out
}
