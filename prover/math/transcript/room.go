package transcript

import "github.com/prove-model/prove-model/internal/parallel"

// Room is memory for a proof that is to be written: to have pages for the first time takes
// longer than to fill them, and can be done beforehand.
type Room struct {
	there chan struct{}
	bytes []byte
}

// pageBytes is at most the size of a page.
const pageBytes = 1 << 12

// NewRoom has room for so many bytes made, and returns at once. It is nil, which is none, where that
// is not worth it.
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

// MoveTo has the proof go on in room, if there is more than it has. The room is used up.
func (w *Writer) MoveTo(r *Room) {
	if r == nil {
		return
	}
	<-r.there
	if cap(r.bytes) > cap(w.proof) {
		w.proof = append(r.bytes[:0], w.proof...)
	}
}
