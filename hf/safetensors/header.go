package safetensors

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/prove-model/prove-model/graph"
)

// entry is a tensor as the header describes it.
type entry struct {
	name       string
	dtype      string
	shape      []int
	begin, end int // in the data
}

// maxName bounds a tensor's name. maxHeader is the format's own bound.
const (
	maxName   = 1 << 12
	maxHeader = 100_000_000
)

// parseHeader reads the header of a file whose data has the given size, and checks
// all that it says. The tensors are in the order of their bytes.
func parseHeader(header []byte, size int) ([]entry, error) {
	p := &parser{json.NewDecoder(bytes.NewReader(header))}
	p.dec.UseNumber()
	var entries []entry
	names := map[string]struct{}{}
	err := p.object(func(name string) error {
		if _, ok := names[name]; ok {
			return fmt.Errorf("%s is there twice", graph.Quote(name))
		}
		names[name] = struct{}{}
		if name == "__metadata__" {
			return p.metadata()
		}
		if len(name) > maxName {
			return fmt.Errorf("the name %s is too long", graph.Quote(name))
		}
		e, err := p.entry(name)
		if err != nil {
			return fmt.Errorf("tensor %s: %w", graph.Quote(name), err)
		}
		entries = append(entries, e)
		return nil
	})
	if err != nil {
		return nil, err
	}
	if _, err := p.dec.Token(); err == nil {
		return nil, errors.New("the header goes on after its object")
	}
	slices.SortFunc(entries, func(a, b entry) int {
		return cmp.Or(cmp.Compare(a.begin, b.begin), cmp.Compare(a.end, b.end)) // an empty one comes first
	})
	at := 0
	for _, e := range entries {
		if e.begin != at {
			kind := "a gap"
			if e.begin < at {
				kind = "an overlap"
			}
			return nil, fmt.Errorf("tensor %s begins at byte %d of the data, where %d is expected: %s", graph.Quote(e.name), e.begin, at, kind)
		}
		at = e.end
	}
	if at != size {
		return nil, fmt.Errorf("the tensors take %d bytes, but there are %d: the file is cut, or damaged", at, size)
	}
	return entries, nil
}

// parser reads the JSON of a header a token at a time. It fails at the first thing
// that is not part of the format.
type parser struct{ dec *json.Decoder }

// object calls f for each key of an object. f reads the value.
func (p *parser) object(f func(key string) error) error {
	if err := p.delim('{'); err != nil {
		return err
	}
	for p.dec.More() {
		key, err := p.text()
		if err != nil {
			return err
		}
		if err := f(key); err != nil {
			return err
		}
	}
	return p.delim('}')
}

func (p *parser) delim(want json.Delim) error {
	t, err := p.dec.Token()
	if err != nil {
		return fmt.Errorf("its JSON: %w", err)
	}
	if t != want {
		return fmt.Errorf("its JSON has %s where %q is expected", graph.Quote(fmt.Sprint(t)), want.String())
	}
	return nil
}

func (p *parser) text() (string, error) {
	t, err := p.dec.Token()
	if err != nil {
		return "", fmt.Errorf("its JSON: %w", err)
	}
	s, ok := t.(string)
	if !ok {
		return "", fmt.Errorf("its JSON has %s where a string is expected", graph.Quote(fmt.Sprint(t)))
	}
	return s, nil
}

// metadata skips an object of strings.
func (p *parser) metadata() error {
	seen := map[string]struct{}{}
	return p.object(func(key string) error {
		if _, ok := seen[key]; ok {
			return fmt.Errorf("metadata %s is there twice", graph.Quote(key))
		}
		seen[key] = struct{}{}
		_, err := p.text()
		return err
	})
}

// entry reads the value of a tensor.
func (p *parser) entry(name string) (entry, error) {
	e := entry{name: name}
	var seen []string
	var offsets []int64
	err := p.object(func(key string) error {
		if slices.Contains(seen, key) {
			return fmt.Errorf("%s is there twice", graph.Quote(key))
		}
		seen = append(seen, key)
		var err error
		switch key {
		case "dtype":
			e.dtype, err = p.text()
		case "shape":
			var dims []int64
			if dims, err = p.list(graph.MaxRank); err == nil {
				e.shape, err = graph.CheckShape(dims)
			}
		case "data_offsets":
			offsets, err = p.list(2)
		default:
			err = fmt.Errorf("%s is not of the format", graph.Quote(key))
		}
		return err
	})
	if err != nil {
		return e, err
	}
	if len(seen) != 3 {
		return e, errors.New(`"dtype", "shape" and "data_offsets" are not all there`)
	}
	dt, ok := dtypes[e.dtype]
	if !ok {
		return e, fmt.Errorf("type %s is not one that is read: %s", graph.Quote(e.dtype), strings.Join(slices.Sorted(maps.Keys(dtypes)), ", "))
	}
	if len(offsets) != 2 {
		return e, fmt.Errorf("%d offsets", len(offsets))
	}
	length := graph.Size(e.shape) * dt.bytes
	if offsets[0] > offsets[1] || offsets[1]-offsets[0] != int64(length) {
		return e, fmt.Errorf("bytes %d to %d, but %s of shape %v takes %d", offsets[0], offsets[1], e.dtype, e.shape, length)
	}
	e.begin, e.end = int(offsets[0]), int(offsets[1])
	return e, nil
}

// list reads a list of at most most whole numbers from 0 on.
func (p *parser) list(most int) ([]int64, error) {
	if err := p.delim('['); err != nil {
		return nil, err
	}
	var out []int64
	for p.dec.More() {
		t, err := p.dec.Token()
		if err != nil {
			return nil, fmt.Errorf("its JSON: %w", err)
		}
		n, ok := t.(json.Number)
		if !ok {
			return nil, fmt.Errorf("its JSON has %s where a number is expected", graph.Quote(fmt.Sprint(t)))
		}
		v, err := n.Int64()
		if err != nil || v < 0 {
			return nil, fmt.Errorf("%s is no size", graph.Quote(n.String()))
		}
		if len(out) == most {
			return nil, fmt.Errorf("more than %d numbers", most)
		}
		out = append(out, v)
	}
	return out, p.delim(']')
}
