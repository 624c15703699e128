package fixed

// mostKept bounds what is remembered of a kind in a pass: columns of 2^16 rows take 128 MB then. What
// comes after it is made anew.
const mostKept = 512

// Recall remembers by a key what has been asked for since Next was called last, and before: passes over a
// model, and models that differ in some formats, have most in common, and a column takes longer to make
// than all else in a pass.
type Recall[T any] struct{ now, before map[string]T }

// Get returns what a key has.
func (r *Recall[T]) Get(key string) (T, bool) {
	if x, ok := r.now[key]; ok {
		return x, true
	}
	x, ok := r.before[key]
	return x, ok
}

// Keep remembers what a key has, while there is room.
func (r *Recall[T]) Keep(key string, x T) {
	if r.now == nil {
		r.now = map[string]T{}
	}
	if _, known := r.now[key]; known || len(r.now) < mostKept {
		r.now[key] = x
	}
}

// Of is what a key has, which f makes the first time. The empty key has nothing.
func (r *Recall[T]) Of(key string, f func() T) T {
	if key == "" {
		return f()
	}
	x, ok := r.Get(key)
	if !ok {
		x = f()
	}
	r.Keep(key, x)
	return x
}

// Next forgets what nobody has asked for since it was last called.
func (r *Recall[T]) Next() { r.now, r.before = nil, r.now }

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
