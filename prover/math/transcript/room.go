package transcript

import "github.com/prove-model/prove-model/internal/parallel"

// Room is memory for a proof that will be written later. Touching pages for the first time takes
// longer than filling them, so it is done in the background beforehand.
type Room struct {
	there chan struct{}
	bytes []byte
}

// pageBytes is at most the size of a page.
const pageBytes = 1 << 12

// NewRoom starts to allocate memory for this number of bytes, and returns at once. It returns nil, which MoveTo ignores, for less than 1
// MB.
func NewRoom(bytes int) *Room {
	const worth = 1 << 20
	if bytes < worth {
		return nil
	}
	r := &Room{there: make(chan struct{})}
	go func() {
		defer close(r.there)
		b := make([]byte, bytes)
		parallel.For((bytes+pageBytes-1)/pageBytes, worth/pageBytes, func(lo, hi int) {
			for i := lo; i < hi; i++ {
				b[i*pageBytes] = 0
			}
		})
		r.bytes = b
	}()
	return r
}

// MoveTo moves the proof to the memory of r, if that is larger than its own. It waits until r is ready. r must not be used again.
func (w *Writer) MoveTo(r *Room) {
	if r == nil {
		return
	}
	<-r.there
	if cap(r.bytes) > cap(w.proof) {
		w.proof = append(r.bytes[:0], w.proof...)
	}
}
