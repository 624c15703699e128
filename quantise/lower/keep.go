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

// kept is a model as it is kept between runs. It is no format: a program reads what the same
// version of itself has written.
type kept struct {
	Model    Result // without its weights, its instance and OneBatch, which is an error
	Instance model.Instance
	OneBatch string        // "" for none
	Weights  []keptWeights // in the order in which their values follow
}

type keptWeights struct {
	Tensor        model.TensorID
	Width, Length int
}

// keptAlign is what parts begin at a multiple of: lists of any width are read in place.
const keptAlign = 8

// Keep returns the model as bytes, in parts that follow each other: large ones are the
// memory of weights, which must not be changed. Kept is the inverse.
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

// padding is what is missing to a multiple of keptAlign.
func padding(n int) int { return -n & (keptAlign - 1) }

var errKept = errors.New("not a model that this version has kept")

// Kept returns the model of the bytes that Keep has given, one part after the other. Its
// weights have their memory.
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
