package vocabulary

import (
	"encoding/binary"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/prove-model/prove-model/internal/quote"
)

// Count is TfIdfVectorizer without weights: how often each of a list of n-grams occurs in a text, which is a row of tokens.
type Count struct {
	Least int `json:"least"` // tokens of an n-gram that is counted
	Most  int `json:"most"`
	Skip  int `json:"skip,omitempty"` // most tokens between two of an n-gram, the same number between all
	// Pool are the tokens of the n-grams, shorter ones first: those of n tokens begin at Starts[n−1].
	Pool   []string `json:"pool"`
	Starts []int    `json:"starts"`
	// Index is the entry of the result in which an n-gram is counted.
	Index []int `json:"index"`
}

const maxGram = 1 << 6

func (o *Count) check(in, out int) error {
	if o.Least < 1 || o.Most < o.Least || o.Most > maxGram || o.Skip < 0 || o.Skip > 1<<16 || len(o.Starts) < o.Most || len(o.Starts) > maxGram {
		return fmt.Errorf("n-grams of %d to %d tokens in lists for %d lengths", o.Least, o.Most, len(o.Starts))
	}
	grams := 0
	ends := append(slices.Clone(o.Starts), len(o.Pool))[1:]
	for i, from := range o.Starts {
		to := ends[i]
		if from < 0 || to < from || to > len(o.Pool) || (to-from)%(i+1) != 0 || i == 0 && from != 0 {
			return fmt.Errorf("the list of n-grams of %d tokens begins at %d and ends at %d", i+1, from, to)
		}
		grams += (to - from) / (i + 1)
	}
	if grams != len(o.Index) || grams == 0 || slices.ContainsFunc(o.Index, func(at int) bool { return at < 0 || at >= 1<<22 }) {
		return fmt.Errorf("%d n-grams, and %d places of them", grams, len(o.Index))
	}
	return count(in, out, 1, 1)
}

// width is the number of entries of a result.
func (o *Count) width() int { return slices.Max(o.Index) + 1 }

func (o *Count) shapes(in [][]Dim) ([][]Dim, error) {
	switch len(in[0]) {
	case 1:
		return [][]Dim{{{N: o.width()}}}, nil
	case 2:
		return [][]Dim{{in[0][0], {N: o.width()}}}, nil
	}
	return nil, fmt.Errorf("it takes shape [n] or [m, n]")
}

// grams are n-grams by the numbers of their tokens.
type grams struct {
	token map[string]uint32
	at    map[string]int
}

func (o *Count) grams() *grams {
	g := &grams{map[string]uint32{}, map[string]int{}}
	for _, s := range o.Pool {
		if _, ok := g.token[s]; !ok {
			g.token[s] = uint32(len(g.token))
		}
	}
	gram, key := 0, []byte{}
	ends := append(slices.Clone(o.Starts), len(o.Pool))[1:]
	for i, from := range o.Starts {
		to := ends[i]
		for ; from < to; from += i + 1 {
			key = key[:0]
			for _, s := range o.Pool[from : from+i+1] {
				key = binary.LittleEndian.AppendUint32(key, g.token[s])
			}
			if n := i + 1; n >= o.Least && n <= o.Most {
				g.at[string(key)] = o.Index[gram]
			}
			gram++
		}
	}
	return g
}

func (o *Count) run(in []Array, b *budget) ([]Array, error) {
	a, width := in[0], o.width()
	shape := []int{width}
	rows, length := 1, len(a.Strings)
	switch len(a.Shape) {
	case 1:
	case 2:
		rows, length = a.Shape[0], a.Shape[1]
		shape = []int{rows, width}
	default:
		return nil, fmt.Errorf("it takes shape [n] or [m, n], not %v", a.Shape)
	}
	out, err := b.ofNumbers(shape)
	if err != nil {
		return nil, err
	}
	g := o.grams()
	for row := range rows {
		o.countIn(a.Strings[row*length:(row+1)*length], g, out.Numbers[row*width:(row+1)*width])
	}
	return []Array{out}, nil
}

// countIn counts the n-grams of a row of tokens.
func (o *Count) countIn(row []string, g *grams, into []float64) {
	const unknown = math.MaxUint32
	ids := make([]uint32, len(row))
	for i, s := range row {
		id, ok := g.token[s]
		if !ok {
			id = unknown
		}
		ids[i] = id
	}
	key := make([]byte, 0, 4*o.Most)
	for apart := 1; apart <= o.Skip+1 && apart <= max(1, len(ids)); apart++ {
		for from := range ids {
			key = key[:0]
			for n := 1; n <= o.Most; n++ {
				at := from + (n-1)*apart
				if at >= len(ids) || ids[at] == unknown {
					break
				}
				key = binary.LittleEndian.AppendUint32(key, ids[at])
				if n == 1 && apart > 1 { // which nothing is between
					continue
				}
				if place, ok := g.at[string(key)]; ok && n >= o.Least {
					into[place]++
				}
			}
		}
	}
}

// Replace is LabelEncoder: every string becomes a number, or another string.
type Replace struct {
	Keys []string `json:"keys"`
	// Numbers, or else Strings, are what the keys become; the default what all others do.
	Numbers       []float64 `json:"numbers,omitempty"`
	Default       float64   `json:"default,omitempty"`
	Strings       []string  `json:"strings,omitempty"`
	DefaultString string    `json:"default_string,omitempty"`
}

func (o *Replace) check(in, out int) error {
	if len(o.Keys) == 0 || len(o.Numbers)+len(o.Strings) != len(o.Keys) || len(o.Numbers) != 0 && len(o.Strings) != 0 {
		return fmt.Errorf("%d keys for %d values", len(o.Keys), len(o.Numbers)+len(o.Strings))
	}
	return count(in, out, 1, 1)
}

func (o *Replace) shapes(in [][]Dim) ([][]Dim, error) { return sameShapes(in) }
func (o *Replace) run(in []Array, b *budget) ([]Array, error) {
	at := make(map[string]int, len(o.Keys))
	for i, k := range o.Keys {
		if _, ok := at[k]; !ok { // the first one counts
			at[k] = i
		}
	}
	if o.Numbers != nil {
		return b.numbersOf(in[0], func(s string) (float64, error) {
			if k, ok := at[s]; ok {
				return o.Numbers[k], nil
			}
			return o.Default, nil
		})
	}
	out, err := b.ofStrings(in[0].Shape)
	if err != nil {
		return nil, err
	}
	for i, s := range in[0].Strings {
		out.Strings[i] = o.DefaultString
		if k, ok := at[s]; ok {
			out.Strings[i] = o.Strings[k]
		}
	}
	return []Array{out}, nil
}

// OneHot is OneHotEncoder: along a new last axis 1 at the place of the string among the categories, and 0 elsewhere.
type OneHot struct {
	Categories []string `json:"categories"`
	Known      bool     `json:"known,omitempty"` // other strings are refused
}

func (o *OneHot) check(in, out int) error {
	if len(o.Categories) == 0 {
		return fmt.Errorf("it has no categories")
	}
	return count(in, out, 1, 1)
}

func (o *OneHot) shapes(in [][]Dim) ([][]Dim, error) {
	return [][]Dim{append(slices.Clone(in[0]), Dim{N: len(o.Categories)})}, nil
}

func (o *OneHot) run(in []Array, b *budget) ([]Array, error) {
	n := len(o.Categories)
	out, err := b.ofNumbers(append(slices.Clone(in[0].Shape), n))
	if err != nil {
		return nil, err
	}
	at := make(map[string]int, n)
	for i, c := range o.Categories {
		at[c] = i
	}
	for i, s := range in[0].Strings {
		if k, ok := at[s]; ok {
			out.Numbers[i*n+k] = 1
		} else if o.Known {
			return nil, fmt.Errorf("%s is none of the model's %d categories", quote.Name(s), n)
		}
	}
	return []Array{out}, nil
}

// Parse is Cast: the number that a string is.
type Parse struct {
	Whole bool `json:"whole,omitempty"` // an integer
}

func (o *Parse) check(in, out int) error            { return count(in, out, 1, 1) }
func (o *Parse) shapes(in [][]Dim) ([][]Dim, error) { return sameShapes(in) }
func (o *Parse) run(in []Array, b *budget) ([]Array, error) {
	return b.numbersOf(in[0], func(s string) (float64, error) {
		x, err := strconv.ParseFloat(strings.TrimSpace(s), 64)
		if err != nil || math.IsInf(x, 0) || math.IsNaN(x) || o.Whole && (x != math.Trunc(x) || math.Abs(x) > 1<<53) {
			return 0, fmt.Errorf("%s is not a number", quote.Name(s))
		}
		if !o.Whole {
			x = float64(float32(x))
		}
		return x, nil
	})
}
