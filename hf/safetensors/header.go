package safetensors

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/prove-model/prove-model/graph"
	"github.com/prove-model/prove-model/internal/must"
	"github.com/prove-model/prove-model/internal/refuse"
)

// entry is a tensor as the header describes it.
type entry struct {
	name       string
	dtype      string
	shape      []int
	begin, end int // in the data
}

// maxName and maxHeader are the most bytes of a tensor's name and of a header. The latter is the bound that the format itself has.
const (
	maxName   = 1 << 12
	maxHeader = 100_000_000
)

// parseHeader reads the header of a file whose data has size bytes, and checks all that it
// says. It returns the tensors in the order of their bytes in the data.
func parseHeader(header []byte, size int) (entries []entry) {
	p := &parser{json.NewDecoder(bytes.NewReader(header))}
	p.dec.UseNumber()
	p.object("", func(name string) {
		switch {
		case name == "__metadata__":
			p.object("metadata ", func(string) { p.text() })
			return
		case len(name) > maxName:
			refuse.With("the name %s is too long", graph.Quote(name))
		}
		refuse.Within("tensor "+graph.Quote(name), func() { entries = append(entries, p.entry(name)) })
	})
	if _, err := p.dec.Token(); err == nil {
		refuse.With("the header goes on after its object")
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
			refuse.With("tensor %s begins at byte %d of the data, where %d is expected: %s", graph.Quote(e.name), e.begin, at, kind)
		}
		at = e.end
	}
	if at != size {
		refuse.With("the tensors take %d bytes, but there are %d: the file is cut, or damaged", at, size)
	}
	return entries
}

// parser reads the JSON of a header a token at a time. It refuses the header at the first
// thing that is not part of the format.
type parser struct{ dec *json.Decoder }

// object reads an object. It calls f for each key, and f reads the value. It refuses an object that has a key twice; of is put in front of
// the key in that message.
func (p *parser) object(of string, f func(key string)) {
	seen := map[string]struct{}{}
	p.delim('{')
	for p.dec.More() {
		key := p.text()
		if _, ok := seen[key]; ok {
			refuse.With("%s%s is there twice", of, graph.Quote(key))
		}
		seen[key] = struct{}{}
		f(key)
	}
	p.delim('}')
}

func (p *parser) token() json.Token {
	t, err := p.dec.Token()
	if err != nil {
		refuse.With("its JSON: %w", err)
	}
	return t
}

// expected refuses the token t, where what is expected.
func (p *parser) expected(what string, t json.Token) {
	refuse.With("its JSON has %s where %s is expected", graph.Quote(fmt.Sprint(t)), what)
}

func (p *parser) delim(want json.Delim) {
	if t := p.token(); t != want {
		p.expected(fmt.Sprintf("%q", want.String()), t)
	}
}

func (p *parser) text() string {
	t := p.token()
	s, ok := t.(string)
	if !ok {
		p.expected("a string", t)
	}
	return s
}

// entry reads and checks the header's description of a tensor.
func (p *parser) entry(name string) entry {
	e := entry{name: name}
	fields := 0
	var offsets []int64
	p.object("", func(key string) {
		fields++
		switch key {
		case "dtype":
			e.dtype = p.text()
		case "shape":
			e.shape = must.Get(graph.CheckShape(p.list(graph.MaxRank)))
		case "data_offsets":
			offsets = p.list(2)
		default:
			refuse.With("%s is not of the format", graph.Quote(key))
		}
	})
	dt, ok := dtypes[e.dtype]
	switch {
	case fields != 3:
		refuse.With(`"dtype", "shape" and "data_offsets" are not all there`)
	case !ok:
		refuse.With("type %s is not one that is read: %s", graph.Quote(e.dtype), strings.Join(slices.Sorted(maps.Keys(dtypes)), ", "))
	case len(offsets) != 2:
		refuse.With("%d offsets", len(offsets))
	}
	length := graph.Size(e.shape) * dt.bytes
	if offsets[0] > offsets[1] || offsets[1]-offsets[0] != int64(length) {
		refuse.With("bytes %d to %d, but %s of shape %v takes %d", offsets[0], offsets[1], e.dtype, e.shape, length)
	}
	e.begin, e.end = int(offsets[0]), int(offsets[1])
	return e
}

// list reads a list of whole numbers from 0 on. It refuses one with more than most numbers.
func (p *parser) list(most int) (out []int64) {
	p.delim('[')
	for p.dec.More() {
		t := p.token()
		n, ok := t.(json.Number)
		if !ok {
			p.expected("a number", t)
		}
		v, err := n.Int64()
		if err != nil || v < 0 {
			refuse.With("%s is no size", graph.Quote(n.String()))
		}
		if len(out) == most {
			refuse.With("more than %d numbers", most)
		}
		out = append(out, v)
	}
	p.delim(']')
	return out
}
