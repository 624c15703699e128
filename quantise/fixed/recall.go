package fixed

// mostKept bounds what is remembered of a kind: columns of 2^16 rows take 128 MB then.
const mostKept = 512

// Recall remembers what has been asked for by a key: passes over a model, and models that differ
// in some formats, have most in common, and a column takes longer to make than all else in a pass.
type Recall[T any] struct{ known map[string]T }

// Of is what a key has, which f makes the first time, or again where there was no room for it. The
// empty key has nothing.
func (r *Recall[T]) Of(key string, f func() T) T {
	if key == "" {
		return f()
	}
	x := Remember(&r.known, key, f)
	for other := range r.known {
		if len(r.known) <= mostKept {
			break
		}
		delete(r.known, other)
	}
	return x
}

// Remember is what a map has for a key, which f makes the first time.
func Remember[K comparable, T any](known *map[K]T, key K, f func() T) T {
	x, ok := (*known)[key]
	if ok {
		return x
	}
	if x = f(); *known == nil {
		*known = map[K]T{}
	}
	(*known)[key] = x
	return x
}
