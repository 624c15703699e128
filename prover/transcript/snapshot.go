package transcript

// Snapshot is the state of a Writer at some moment.
type Snapshot struct {
	sponge Sponge
	search NonceSearch
	length int
}

// Snapshot returns the writer's state, for Restore.
func (w *Writer) Snapshot() Snapshot {
	return Snapshot{sponge: *w.Sponge, search: w.Search, length: len(w.proof)}
}

// Restore takes back everything written and absorbed, and every challenge
// drawn, since the snapshot of this writer.
func (w *Writer) Restore(s Snapshot) {
	*w.Sponge, w.Search, w.proof = s.sponge, s.search, w.proof[:s.length]
}
