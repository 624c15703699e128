package forward

import "github.com/prove-model/prove-model/prover/circuit/model"

// place is where a row of a tensor's values goes; the zero value is nowhere.
type place struct {
	values   []int32
	shape    []int
	axis, at int
}

// place returns where a row of a tensor goes.
func (r *Rows) place(id model.TensorID, shape []int, axis, at int) place {
	if id == model.None {
		return place{}
	}
	return place{r.Values[id], shape, axis, at}
}

// row returns memory for the row: its own where it lies together, else room, which is made longer if need be; nil for nowhere.
func (p *place) row(room *[]int32) []int32 {
	if p.values == nil {
		return nil
	}
	before, after := around(p.shape, p.axis)
	if before == 1 {
		return p.values[p.at*after:][:after]
	}
	if cap(*room) < before*after {
		*room = make([]int32, before*after)
	}
	return (*room)[:before*after]
}

// done puts the row in its place after it has been filled.
func (p *place) done(row []int32) {
	if p.values == nil {
		return
	}
	if before, _ := around(p.shape, p.axis); before > 1 {
		put(p.values, p.shape, p.axis, p.at, row)
	}
}
