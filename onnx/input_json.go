package onnx

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math"

	"github.com/prove-model/prove-model/graph"
	"github.com/prove-model/prove-model/internal/must"
	"github.com/prove-model/prove-model/internal/refuse"
)

// parseJSON reads nested lists, an object of them by name, or {"input_data": …}.
func parseJSON(data []byte) Inputs {
	trimmed := bytes.TrimLeft(data, " \t\r\n\ufeff")
	refuse.If(len(trimmed) == 0, "is empty: give a list of numbers, nested as the input's axes are")
	if trimmed[0] == '{' {
		return parseObject(trimmed)
	}
	must.OK(json.Unmarshal(trimmed, new(json.RawMessage)))
	return Inputs{parseNested(trimmed)}
}

// parseNested reads one input. A number or a flat list has no shape.
func parseNested(raw []byte) Input {
	in := parseList(raw)
	if len(in.Shape) <= 1 {
		in.Shape = nil
	}
	return in
}

// parseObject reads an object with a list for each input name, or with one list of all
// inputs under "input_data"; beside that, other keys are ignored.
func parseObject(data []byte) Inputs {
	keys, values := members(data)
	var in Inputs
	seen := map[string]bool{}
	for i, name := range keys {
		if name == "input_data" {
			return parseData(data)
		}
		refuse.If(seen[name], "has %s twice", graph.Quote(name))
		seen[name] = true
		one, err := refuse.Result(func() Input { return parseNested(values[i]) })
		refuse.If(err != nil,
			`%s: %w: want lists of numbers by the names of the inputs, or in "input_data"`, graph.Quote(name), err)
		one.Name = name
		in = append(in, one)
	}
	refuse.If(len(in) == 0, `holds no inputs: want {"name": [numbers]} or {"input_data": [[numbers]]}`)
	return in
}

// members lists the keys of an object, in its order, with their values.
func members(data []byte) (keys []string, values []json.RawMessage) {
	must.OK(json.Unmarshal(data, &map[string]json.RawMessage{})) // the whole text
	dec := json.NewDecoder(bytes.NewReader(data))
	must.Get(dec.Token())
	for dec.More() {
		key := must.Get(dec.Token())
		var value json.RawMessage
		must.OK(dec.Decode(&value))
		keys, values = append(keys, key.(string)), append(values, value)
	}
	return keys, values
}

// parseData reads {"input_data": …, "input_shapes": …}. Shapes that do not fit the data
// are ignored, with a note.
func parseData(data []byte) Inputs {
	var file struct {
		Data   []json.RawMessage `json:"input_data"`
		Shapes [][]int64         `json:"input_shapes"`
	}
	must.OK(json.Unmarshal(data, &file))
	refuse.If(len(file.Data) == 0, `"input_data" holds no inputs`)
	in := make(Inputs, len(file.Data))
	for i, raw := range file.Data {
		refuse.Within(fmt.Sprintf(`"input_data", input %d`, i), func() { in[i] = parseNested(raw) })
	}
	if file.Shapes != nil && len(file.Shapes) != len(file.Data) {
		in[0].Note = fmt.Sprintf(`"input_shapes" has %d entries and "input_data" %d: the shapes are passed over`, len(file.Shapes), len(file.Data))
		return in
	}
	for i, dims := range file.Shapes {
		if shape, err := graph.CheckShape(dims); err == nil && graph.Size(shape) == max(len(in[i].Values), len(in[i].Strings)) {
			in[i].Shape = shape
		} else {
			in[i].Note = fmt.Sprintf(`"input_shapes" gives %v for input %d, which has %d numbers: it is passed over`, dims, i, len(in[i].Values))
		}
	}
	return in
}

// parseList flattens nested lists of numbers (true and false are 1 and 0), or of strings, and finds
// their shape. Strings that all stand for numbers ("NaN" and the infinities) are returned as strings
// and as numbers.
func parseList(raw []byte) Input {
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	l := nestedLists{leaves: -1}
	for {
		tok, err := dec.Token()
		if err == io.EOF {
			return l.flat()
		}
		l.add(must.Get(tok, err))
	}
}

// nestedLists is the state of parseList.
type nestedLists struct {
	values []float64
	texts  []string // the strings
	odd    string   // the first string that does not stand for a number
	some   bool     // whether there is such a string
	counts []int    // for each list that is open, its number of elements so far
	closed []int    // at each depth, the number of elements of the lists there; −1 if none is closed yet
	leaves int      // depth of the numbers and strings; −1 if there was none yet
}

// add reads the next token.
func (l *nestedLists) add(tok json.Token) {
	switch tok {
	case json.Delim('['):
		l.open()
		return
	case json.Delim(']'):
		l.close()
		return
	}
	var v float64
	if text, ok := tok.(string); ok {
		if v, ok = notFinite[text]; !ok && !l.some {
			l.odd, l.some = text, true
		}
		l.texts = append(l.texts, text)
	} else {
		v = jsonNumber(tok)
	}
	if l.leaves < 0 {
		l.leaves = len(l.counts)
	}
	refuse.If(len(l.counts) != l.leaves, "numbers are nested unevenly")
	if l.leaves > 0 {
		l.counts[l.leaves-1]++
	}
	l.values = append(l.values, v)
}

func (l *nestedLists) open() {
	if n := len(l.counts); n == graph.MaxRank {
		refuse.With("lists are nested deeper than %d", graph.MaxRank)
	} else if n > 0 {
		l.counts[n-1]++
	}
	l.counts = append(l.counts, 0)
	if len(l.closed) < len(l.counts) {
		l.closed = append(l.closed, -1)
	}
}

func (l *nestedLists) close() {
	depth := len(l.counts) - 1
	refuse.If(l.closed[depth] >= 0 && l.closed[depth] != l.counts[depth], "nested lists have different lengths")
	l.closed[depth] = l.counts[depth]
	l.counts = l.counts[:depth]
}

// flat returns the numbers or strings, and the shape.
func (l *nestedLists) flat() Input {
	refuse.If(l.leaves >= 0 && len(l.closed) != l.leaves || graph.Size(l.closed) != len(l.values),
		"lists are nested unevenly")
	if l.closed == nil {
		l.closed = []int{}
	}
	in, whole := Input{Values: l.values, Shape: l.closed}, len(l.texts) == len(l.values)
	if l.some {
		in.Values = nil
	}
	if whole && len(l.texts) > 0 {
		in.Strings = l.texts
	} else if l.some {
		must.OK(noNumber(l.odd))
	}
	return in
}

// noNumber is the error about a string in the place of a number.
func noNumber(s string) error {
	return fmt.Errorf("holds %s where numbers are expected", graph.Quote(s))
}

// jsonNumber returns the number that a token stands for; true and false are 1 and 0.
func jsonNumber(tok json.Token) float64 {
	switch tok := tok.(type) {
	case json.Number:
		v, err := tok.Float64()
		if err != nil {
			refuse.With("%s is not a number that can be held", graph.Quote(tok.String()))
		}
		return v
	case bool:
		return float64(truth(tok))
	case json.Delim:
		refuse.With("holds an object where numbers are expected")
	}
	refuse.With("holds %v where numbers are expected", graph.Quote(fmt.Sprint(tok)))
	return 0
}

// notFinite has the strings that stand for numbers which JSON cannot write.
var notFinite = map[string]float64{"NaN": math.NaN(), "Infinity": math.Inf(1), "-Infinity": math.Inf(-1)}
