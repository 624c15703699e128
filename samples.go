package provemodel

import (
	"fmt"

	"github.com/prove-model/prove-model/prover/model"
)

// Samples matches arrays with the model's inputs, by name if all have the names
// of inputs and by position otherwise, and cuts each into as many samples as it
// holds.
func (m *Model) Samples(arrays Arrays) ([]Input, error) {
	specs := m.Inputs()
	if len(arrays) != len(specs) {
		return nil, fmt.Errorf("it holds %d arrays, but the model takes %d: %s", len(arrays), len(specs), signature(specs))
	}
	ordered := inOrder(specs, arrays)
	n := 0
	for i, s := range specs {
		have, want := len(ordered[i].Values), model.Size(s.Shape)
		if have == 0 || have%want != 0 || n != 0 && have != n*want {
			return nil, fmt.Errorf("array %d has %d elements, which is not %s: the model takes %s",
				i, have, times(n, want), signature(specs))
		}
		n = have / want
	}
	samples := make([]Input, n)
	for k := range samples {
		for i, s := range specs {
			size := model.Size(s.Shape)
			samples[k] = append(samples[k], ordered[i].Values[k*size:(k+1)*size])
		}
	}
	return samples, nil
}

// inOrder returns as many arrays as there are inputs in the inputs' order: by
// name if all have the names of inputs, each its own, as they are otherwise.
func inOrder(specs []Spec, arrays Arrays) Arrays {
	index := map[string]int{}
	for i, a := range arrays {
		index[a.Name] = i
	}
	ordered := make(Arrays, len(arrays))
	for i, s := range specs {
		at, ok := index[s.Name]
		if !ok {
			return arrays
		}
		ordered[i] = arrays[at]
		delete(index, s.Name)
	}
	return ordered
}

func times(n, size int) string {
	if n == 0 {
		return fmt.Sprintf("a multiple of %d", size)
	}
	return fmt.Sprintf("%d × %d", n, size)
}

// signature lists inputs with their shapes.
func signature(specs []Spec) string {
	s := ""
	for i, x := range specs {
		if i > 0 {
			s += ", "
		}
		s += fmt.Sprintf("%s %v", x.Name, x.Shape)
	}
	return s
}
