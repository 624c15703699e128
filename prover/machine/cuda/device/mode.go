package device

// A Mode says what is recomputed on demand, as memory is short. The zero Mode keeps everything on the device.
type Mode struct {
	Rows   bool // the opening packs rows of its table some at a time, for each pass over them
	Keys   bool // of look-ups
	Values bool // of the forward pass, and keys: those of a segment of the circuit together
	Ahead  bool // the next segment's values too, while chunks of one are proved: streams need not wait for each other, and two segments have values at a time
	Kept   int  // how many segments keep their values all the same: the first ones
	Packed bool // an opening packs the rows of the other segments once, when it begins, and does not recompute them for each pass
	// Tables bounds the bytes that an opening's tables over K take, as far as it can do with fewer; 0: no bound.
	Tables int64
	// Stay is how many bytes of rows, of those that Rows packs for each pass, are packed once all the same, and stay until the opening is done.
	Stay int64
}

// Together is how many segments have values on the device at a time.
func (m Mode) Together() int {
	if m.Ahead {
		return 2
	}
	return 1
}

// Forward is the part of the mode that a forward pass depends on.
func (m Mode) Forward() Mode {
	return Mode{Keys: m.Keys || m.Values, Values: m.Values, Kept: m.Kept}
}

// Recomputed names what is: "rows", "keys", "values". Nil if everything is kept.
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
