package quantise

// madeColumns remembers the columns of functions by name: passes over a model, and
// models that differ in some formats, have most of them in common, and a column takes
// longer to make than all else in a pass.
type madeColumns struct{ last, before map[string][]int32 }

// get returns a column, which nobody may write to, and makes it if need be.
func (m *madeColumns) get(name string, make func() []int32) []int32 {
	v, ok := m.last[name]
	if ok {
		return v
	}
	if v, ok = m.before[name]; !ok {
		v = make()
	}
	if m.last == nil {
		m.last = map[string][]int32{}
	}
	m.last[name] = v
	return v
}

// next forgets what nobody has asked for since it was last called.
func (m *madeColumns) next() { m.last, m.before = nil, m.last }

// column is a function's column of that name.
func (l *lowering) column(name string, make func() []int32) []int32 {
	if l.past != nil {
		return l.past.columns.made.get(name, make)
	}
	return l.stats.columns.get(name, make)
}
