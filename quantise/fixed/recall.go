package fixed

import "sync"

// mostKept bounds what is remembered of a kind: columns of 2^16 rows take 128 MB then.
const mostKept = 512

// Recall remembers what has been asked for by a key: passes over a model, and models that differ
// in some formats, have most in common, and a column takes longer to make than all else in a pass.
// Passes that run at the same time may ask at the same time.
type Recall[T any] struct {
	mu    sync.Mutex
	known map[string]T
}

// Of is what a key has, which f makes the first time, or again where there was no room for it. The
// empty key has nothing.
func (r *Recall[T]) Of(key string, f func() T) T {
	if key == "" {
		return f()
	}
	r.mu.Lock()
	x, ok := r.known[key]
	r.mu.Unlock()
	if ok {
		return x
	}
	x = f() // which may ask for other keys
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.known == nil {
		r.known = map[string]T{}
	}
	r.known[key] = x
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
