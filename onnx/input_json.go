package onnx

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"

	"github.com/prove-model/prove-model/graph"
)

// parseJSON reads nested lists, an object of them by name, or {"input_data": …}.
func parseJSON(data []byte) (Inputs, error) {
	switch trimmed := bytes.TrimLeft(data, " \t\r\n\ufeff"); {
	case len(trimmed) == 0:
		return nil, errors.New("is empty: give a list of numbers, nested as the input's axes are")
	case trimmed[0] != '{':
		if err := json.Unmarshal(trimmed, new(json.RawMessage)); err != nil {
			return nil, err
		}
		in, err := parseNested(trimmed)
		return Inputs{in}, err
	default:
		return parseObject(trimmed)
	}
}

// parseNested reads one input. A number or a flat list says nothing about axes.
func parseNested(raw []byte) (Input, error) {
	values, strings, shape, err := parseList(raw)
	if len(shape) <= 1 {
		shape = nil
	}
	return Input{Values: values, Strings: strings, Shape: shape}, err
}

// parseObject reads an object with a list for each input name, or with one list of all
// inputs under "input_data"; beside that, other keys are ignored.
func parseObject(data []byte) (Inputs, error) {
	keys, values, err := members(data)
	if err != nil {
		return nil, err
	}
	var in Inputs
	seen := map[string]bool{}
	for i, name := range keys {
		if name == "input_data" {
			return parseData(data)
		}
		if seen[name] {
			return nil, fmt.Errorf("has %s twice", graph.Quote(name))
		}
		seen[name] = true
		one, err := parseNested(values[i])
		if err != nil {
			return nil, fmt.Errorf(`%s: %w: want lists of numbers by the names of the inputs, or in "input_data"`, graph.Quote(name), err)
		}
		one.Name = name
		in = append(in, one)
	}
	if len(in) == 0 {
		return nil, errors.New(`holds no inputs: want {"name": [numbers]} or {"input_data": [[numbers]]}`)
	}
	return in, nil
}

// members lists the keys of an object, in its order, with their values.
func members(data []byte) (keys []string, values []json.RawMessage, err error) {
	if err := json.Unmarshal(data, &map[string]json.RawMessage{}); err != nil {
		return nil, nil, err // of the whole text
	}
	dec := json.NewDecoder(bytes.NewReader(data))
	if _, err := dec.Token(); err != nil {
		return nil, nil, err
	}
	for dec.More() {
		key, err := dec.Token()
		if err != nil {
			return nil, nil, err
		}
		var value json.RawMessage
		if err := dec.Decode(&value); err != nil {
			return nil, nil, err
		}
		keys, values = append(keys, key.(string)), append(values, value)
	}
	return keys, values, nil
}

// parseData reads {"input_data": …, "input_shapes": …}. Shapes that do not fit the data
// are ignored, with a note.
func parseData(data []byte) (Inputs, error) {
	var file struct {
		Data   []json.RawMessage `json:"input_data"`
		Shapes [][]int64         `json:"input_shapes"`
	}
	if err := json.Unmarshal(data, &file); err != nil {
		return nil, err
	}
	if len(file.Data) == 0 {
		return nil, errors.New(`"input_data" holds no inputs`)
	}
	in := make(Inputs, len(file.Data))
	for i, raw := range file.Data {
		var err error
		if in[i], err = parseNested(raw); err != nil {
			return nil, fmt.Errorf(`"input_data", input %d: %w`, i, err)
		}
	}
	if file.Shapes != nil && len(file.Shapes) != len(file.Data) {
		in[0].Note = fmt.Sprintf(`"input_shapes" has %d entries and "input_data" %d: the shapes are passed over`, len(file.Shapes), len(file.Data))
		return in, nil
	}
	for i, dims := range file.Shapes {
		if shape, err := graph.CheckShape(dims); err == nil && graph.Size(shape) == max(len(in[i].Values), len(in[i].Strings)) {
			in[i].Shape = shape
		} else {
			in[i].Note = fmt.Sprintf(`"input_shapes" gives %v for input %d, which has %d numbers: it is passed over`, dims, i, len(in[i].Values))
		}
	}
	return in, nil
}

// parseList flattens nested lists of numbers (true and false are 1 and 0), or of strings, and
// returns their shape. Strings that all stand for numbers are both.
func parseList(raw []byte) ([]float64, []string, []int, error) {
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	l := nestedLists{leaves: -1}
	for {
		tok, err := dec.Token()
		if err == io.EOF {
			return l.flat()
		}
		if err == nil {
			err = l.add(tok)
		}
		if err != nil {
			return nil, nil, nil, err
		}
	}
}

// nestedLists are lists of numbers while they are read.
type nestedLists struct {
	values []float64
	texts  []string // of the leaves that are strings
	odd    string   // the first of them that stands for no number
	some   bool     // there is such a one
	counts []int    // elements so far of the lists that are open
	closed []int    // elements of the closed lists at each depth; −1 if none is closed yet
	leaves int      // depth of the numbers; −1 if there is none yet
}

func (l *nestedLists) add(tok json.Token) error {
	switch tok {
	case json.Delim('['):
		return l.open()
	case json.Delim(']'):
		return l.close()
	}
	v, err := 0.0, error(nil)
	if text, ok := tok.(string); ok {
		if v, ok = notFinite[text]; !ok && !l.some {
			l.odd, l.some = text, true
		}
		l.texts = append(l.texts, text)
	} else if v, err = jsonNumber(tok); err != nil {
		return err
	}
	if l.leaves < 0 {
		l.leaves = len(l.counts)
	}
	if len(l.counts) != l.leaves {
		return errors.New("numbers are nested unevenly")
	}
	if l.leaves > 0 {
		l.counts[l.leaves-1]++
	}
	l.values = append(l.values, v)
	return nil
}

func (l *nestedLists) open() error {
	if n := len(l.counts); n == graph.MaxRank {
		return fmt.Errorf("lists are nested deeper than %d", graph.MaxRank)
	} else if n > 0 {
		l.counts[n-1]++
	}
	l.counts = append(l.counts, 0)
	if len(l.closed) < len(l.counts) {
		l.closed = append(l.closed, -1)
	}
	return nil
}

func (l *nestedLists) close() error {
	depth := len(l.counts) - 1
	if l.closed[depth] >= 0 && l.closed[depth] != l.counts[depth] {
		return errors.New("nested lists have different lengths")
	}
	l.closed[depth] = l.counts[depth]
	l.counts = l.counts[:depth]
	return nil
}

// flat returns the numbers or strings, and the shape.
func (l *nestedLists) flat() ([]float64, []string, []int, error) {
	if l.leaves >= 0 && len(l.closed) != l.leaves || graph.Size(l.closed) != len(l.values) {
		return nil, nil, nil, errors.New("lists are nested unevenly")
	}
	if l.closed == nil {
		l.closed = []int{}
	}
	switch whole := len(l.texts) == len(l.values); {
	case l.some && !whole:
		return nil, nil, nil, noNumber(l.odd)
	case l.some:
		return nil, l.texts, l.closed, nil
	case whole && len(l.texts) > 0:
		return l.values, l.texts, l.closed, nil
	}
	return l.values, nil, l.closed, nil
}

// noNumber is the error about a string in the place of a number.
func noNumber(s string) error {
	return fmt.Errorf("holds %s where numbers are expected", graph.Quote(s))
}

// jsonNumber returns the number that a token is.
func jsonNumber(tok json.Token) (float64, error) {
	switch tok := tok.(type) {
	case json.Number:
		v, err := tok.Float64()
		if err != nil {
			return 0, fmt.Errorf("%s is not a number that can be held", graph.Quote(tok.String()))
		}
		return v, nil
	case bool:
		if tok {
			return 1, nil
		}
		return 0, nil
	case json.Delim:
		return 0, errors.New("holds an object where numbers are expected")
	}
	return 0, fmt.Errorf("holds %v where numbers are expected", graph.Quote(fmt.Sprint(tok)))
}

// notFinite are the strings for numbers that JSON cannot write.
var notFinite = map[string]float64{"NaN": math.NaN(), "Infinity": math.Inf(1), "-Infinity": math.Inf(-1)}
