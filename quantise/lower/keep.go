package lower

import (
	"bytes"
	"encoding/binary"
	"encoding/gob"
	"errors"
	"fmt"

	"github.com/prove-model/prove-model/internal/must"
	"github.com/prove-model/prove-model/prover/circuit/model"
	"github.com/prove-model/prove-model/prover/math/ints"
)

// kept is a model as it is kept between runs, in a cache. It is no stable format: only the same version of the
// program reads it.
type kept struct {
	Model    Result // without Graph, Weights, Making and OneBatch
	Instance model.Instance
	OneBatch string        // the error's text; "" for none
	Weights  []keptWeights // of the lists that follow, in their order
}

// keptWeights describes a list of Length weights of Width bytes each.
type keptWeights struct {
	Tensor        model.TensorID
	Width, Length int
}

// keptAlign is the number of bytes at a multiple of which every list begins, so that lists of any width can be used in
// place.
const keptAlign = 8

// Keep returns the model as bytes, in parts that are to be written one after the other. Large parts are the
// memory of the model's weights, and must not be changed. Kept is the inverse.
func (m *Result) Keep() ([][]byte, error) {
	k := kept{Model: *m, Instance: m.Graph.Instance}
	k.Model.Graph, k.Model.Weights, k.Model.Making, k.Model.OneBatch = nil, nil, nil, nil
	if m.OneBatch != nil {
		k.OneBatch = m.OneBatch.Error()
	}
	var values [][]byte
	for id, v := range m.Weights {
		if v == nil {
			continue
		}
		k.Weights = append(k.Weights, keptWeights{model.TensorID(id), v.Width(), v.Len()})
		b := ints.Bytes(v)
		values = append(values, b, make([]byte, padding(len(b))))
	}
	head := bytes.NewBuffer(make([]byte, keptAlign))
	if err := gob.NewEncoder(head).Encode(&k); err != nil {
		return nil, fmt.Errorf("a quantised model: %w", err)
	}
	binary.LittleEndian.PutUint64(head.Bytes(), uint64(head.Len()-keptAlign))
	return append([][]byte{head.Bytes(), make([]byte, padding(head.Len()))}, values...), nil
}

// padding is the number of bytes from n to the next multiple of keptAlign.
func padding(n int) int { return -n & (keptAlign - 1) }

var errKept = errors.New("not a model that this version has kept")

// Kept returns the model from the bytes of Keep's parts, one after the other. The model's weights use the memory of b,
// which must not be changed.
func Kept(b []byte) (of *Result, err error) {
	defer must.Catch(&err)
	want := func(ok bool) {
		if !ok {
			must.OK(errKept)
		}
	}
	want(len(b) >= keptAlign)
	n := binary.LittleEndian.Uint64(b)
	want(n <= uint64(len(b)-keptAlign))
	var k kept
	if err := gob.NewDecoder(bytes.NewReader(b[keptAlign:][:n])).Decode(&k); err != nil {
		return nil, fmt.Errorf("%w: %w", errKept, err)
	}
	m := &k.Model
	want(m.Circuit != nil && m.Circuit.Graph != nil)
	m.Weights = make(model.Weights, len(m.Circuit.Graph.Tensors))
	if k.OneBatch != "" {
		m.OneBatch = errors.New(k.OneBatch)
	}
	rest := b[keptAlign+int(n):]
	rest = rest[min(padding(int(n)), len(rest)):]
	for _, w := range k.Weights {
		want(w.Length >= 0 && w.Width >= 1 && w.Length <= len(rest)/w.Width && int(w.Tensor) >= 0 && int(w.Tensor) < len(m.Weights))
		size := w.Length * w.Width
		v := ints.FromBytes(rest[:size:size], w.Width)
		want(v != nil)
		m.Weights[w.Tensor] = v
		rest = rest[min(size+padding(size), len(rest)):]
	}
	want(len(rest) == 0)
	if m.Graph, err = m.Circuit.At(k.Instance); err != nil {
		return nil, fmt.Errorf("%w: %w", errKept, err)
	}
	return m, nil
}
