package fixed

// mostKept bounds what is remembered of a kind: columns of 2^16 rows take 128 MB then. What
// comes after it is made anew.
const mostKept = 512

// Recall remembers what has been asked for by a key: passes over a model, and models that differ
// in some formats, have most in common, and a column takes longer to make than all else in a pass.
type Recall[T any] struct{ known map[string]T }

// Of is what a key has, which f makes the first time. The empty key has nothing.
func (r *Recall[T]) Of(key string, f func() T) T {
	if _, ok := r.known[key]; !ok && (key == "" || len(r.known) == mostKept) {
		return f()
	}
	return Remember(&r.known, key, f)
}

// Next begins another pass, for which everything is forgotten if there is room for nothing else.
func (r *Recall[T]) Next() {
	if len(r.known) == mostKept {
		r.known = nil
	}
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
