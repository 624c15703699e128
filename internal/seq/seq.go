// Package seq has what the standard library's slices lack.
package seq

// Map returns what f makes of each of a list, in order.
func Map[T, R any](list []T, f func(T) R) []R {
	out := make([]R, len(list))
	for i, x := range list {
		out[i] = f(x)
	}
	return out
}
