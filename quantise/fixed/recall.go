package fixed

import "sync"

// mostKept bounds the results that a Recall keeps: 512 columns of 2^16 rows take 128 MB.
const mostKept = 512

// Recall is a cache of results by key, such as columns of functions. Passes over a model, and models
// that differ in some formats, need mostly the same columns, and a column takes longer to make than
// the rest of a pass. Several goroutines may use a Recall at the same time.
type Recall[T any] struct {
	mu    sync.Mutex
	known map[string]T
}

// Of returns the result for a key. f makes it the first time, and again if it has been dropped to make
// room. Results for the empty key are not kept.
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
	x = f() // not under the lock, as f may ask for other keys
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

// Remember returns what a map has for a key. If it has nothing, f makes it, and the map keeps it.
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
