package device

// A Mode says what is not kept on the device because memory is short, and is recomputed on demand. The zero Mode keeps everything.
type Mode struct {
	Rows   bool // each pass of the opening packs the rows of its table anew, in pieces
	Keys   bool // each stream computes the keys of look-ups again when it wants them
	Values bool // values of the forward pass, and keys, are recomputed for all of a segment of the circuit at once
	Ahead  bool // with Values: two segments have values at a time, so that streams may begin the next one while others are in the last
	Kept   int  // with Values: the first so many segments keep their values all the same
	Packed bool // with Values: the opening packs rows of recomputed segments once, when it begins, and not again for each pass
	// Tables bounds the bytes of an opening's tables over K, as far as it can do with fewer; 0: no bound.
	Tables int64
	// Stay is how many bytes of rows, where Rows is set, are packed once all the same and kept until the opening is done.
	Stay int64
}

// Together is how many recomputed segments have values on the device at a time.
func (m Mode) Together() int {
	if m.Ahead {
		return 2
	}
	return 1
}

// Forward is the part of the mode that a forward pass depends on. Keys is set in it if Values is.
func (m Mode) Forward() Mode {
	return Mode{Keys: m.Keys || m.Values, Values: m.Values, Kept: m.Kept}
}

// Recomputed lists what is recomputed, for messages: "rows", "keys", "values". It is nil if everything is kept.
func (m Mode) Recomputed() []string {
	var all []string
	add := func(is bool, what string) {
		if is {
			all = append(all, what)
		}
	}
	add(m.Rows, "rows")
	add(m.Forward().Keys, "keys")
	add(m.Values, "values")
	return all
}

// Mode returns the mode that was set last.
func (m *Context) Mode() Mode { return read(&m.mu, &m.mode) }

// SetMode sets the mode of forward passes, openings and estimates that begin later.
func (m *Context) SetMode(mode Mode) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.mode = mode
}
