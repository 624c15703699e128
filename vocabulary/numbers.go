package vocabulary

import (
	"encoding/binary"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/prove-model/prove-model/internal/quote"
	"github.com/prove-model/prove-model/internal/refuse"
)

// Count is TfIdfVectorizer without weights: it counts how often each n-gram of a list occurs in a text, which is a row of
// tokens.
type Count struct {
	Least int `json:"least"` // n-grams of Least to Most tokens are counted
	Most  int `json:"most"`
	Skip  int `json:"skip,omitempty"` // up to Skip tokens may be between the tokens of an n-gram, the same number between each two
	// Pool has the tokens of the n-grams, end to end, those of shorter n-grams first: n-grams of n
	// tokens begin at Starts[n−1].
	Pool   []string `json:"pool"`
	Starts []int    `json:"starts"`
	// Index has, for each n-gram, the index of the result's entry that counts it.
	Index []int `json:"index"`
}

const maxGram = 1 << 6

func (o *Count) check() {
	lengths := len(o.Starts)
	refuse.If(o.Least < 1 || o.Most < o.Least || o.Most > lengths || lengths > maxGram || o.Skip < 0 || o.Skip > 1<<16,
		"n-grams of %d to %d tokens in lists for %d lengths", o.Least, o.Most, lengths)
	grams := 0
	ends := append(slices.Clone(o.Starts), len(o.Pool))[1:]
	for i, from := range o.Starts {
		to := ends[i]
		refuse.If(from < 0 || to < from || to > len(o.Pool) || (to-from)%(i+1) != 0 || i == 0 && from != 0,
			"the list of n-grams of %d tokens begins at %d and ends at %d", i+1, from, to)
		grams += (to - from) / (i + 1)
	}
	refuse.If(grams != len(o.Index) || grams == 0 || slices.ContainsFunc(o.Index, func(at int) bool { return at < 0 || at >= 1<<22 }),
		"%d n-grams, and %d places of them", grams, len(o.Index))
}

func (o *Count) shapes(in [][]Dim) [][]Dim {
	n := len(in[0])
	refuse.If(n < 1 || n > 2, "it takes shape [n] or [m, n], not %v", lengths(in[0]))
	return [][]Dim{append(slices.Clone(in[0][:n-1]), Dim{N: slices.Max(o.Index) + 1})}
}

// grams finds n-grams by the numbers of their tokens.
type grams struct {
	token map[string]uint32 // number of each token in the pool
	at    map[string]int    // entry of the result, by the numbers of an n-gram's tokens, 4 bytes each
}

// grams returns the n-grams of Least to Most tokens.
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

func (o *Count) run(in []Array, shape []int, b *budget) []Array {
	out, g := b.ofNumbers(shape), o.grams()
	last := len(shape) - 1
	rows, length, width := size(shape[:last]), in[0].Shape[last], shape[last]
	for row := range rows {
		o.countIn(in[0].Strings[row*length:(row+1)*length], g, out.Numbers[row*width:(row+1)*width])
	}
	return []Array{out}
}

// countIn adds the numbers of occurrences of n-grams in a row of tokens to into. apart is
// the distance between neighbouring tokens of an n-gram in the row.
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
				if n == 1 && apart > 1 { // a single token is counted once, with apart = 1
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
	// Numbers or Strings has the value of each key. Default or DefaultString is the value of
	// all other strings.
	Numbers       []float64 `json:"numbers,omitempty"`
	Default       float64   `json:"default,omitempty"`
	Strings       []string  `json:"strings,omitempty"`
	DefaultString string    `json:"default_string,omitempty"`
}

func (o *Replace) check() {
	refuse.If(len(o.Keys) == 0 || len(o.Numbers)+len(o.Strings) != len(o.Keys) || len(o.Numbers) != 0 && len(o.Strings) != 0,
		"%d keys for %d values", len(o.Keys), len(o.Numbers)+len(o.Strings))
}

func (o *Replace) shapes(in [][]Dim) [][]Dim { return sameShapes(in) }
func (o *Replace) run(in []Array, shape []int, b *budget) []Array {
	at := make(map[string]int, len(o.Keys))
	for i, k := range o.Keys {
		if _, ok := at[k]; !ok { // the first one counts
			at[k] = i
		}
	}
	if o.Numbers != nil {
		return b.numbersOf(in[0], func(s string) float64 {
			if k, ok := at[s]; ok {
				return o.Numbers[k]
			}
			return o.Default
		})
	}
	out := b.ofStrings(shape)
	for i, s := range in[0].Strings {
		out.Strings[i] = o.DefaultString
		if k, ok := at[s]; ok {
			out.Strings[i] = o.Strings[k]
		}
	}
	return []Array{out}
}

// OneHot is OneHotEncoder: along a new last axis it has 1 at the index of the string among the categories, and 0
// elsewhere.
type OneHot struct {
	Categories []string `json:"categories"`
	Known      bool     `json:"known,omitempty"` // other strings are refused
}

func (o *OneHot) check() {
	refuse.If(len(o.Categories) == 0, "it has no categories")
}

func (o *OneHot) shapes(in [][]Dim) [][]Dim {
	return [][]Dim{append(slices.Clone(in[0]), Dim{N: len(o.Categories)})}
}

func (o *OneHot) run(in []Array, shape []int, b *budget) []Array {
	n, out := len(o.Categories), b.ofNumbers(shape)
	at := make(map[string]int, n)
	for i, c := range o.Categories {
		at[c] = i
	}
	for i, s := range in[0].Strings {
		if k, ok := at[s]; ok {
			out.Numbers[i*n+k] = 1
		} else if o.Known {
			refuse.With("%s is none of the model's %d categories", quote.Name(s), n)
		}
	}
	return []Array{out}
}

// Parse is Cast: the number that a string denotes, rounded to float32 unless it must be
// whole.
type Parse struct {
	Whole bool `json:"whole,omitempty"` // it must be an integer
}

func (o *Parse) shapes(in [][]Dim) [][]Dim { return sameShapes(in) }
func (o *Parse) run(in []Array, shape []int, b *budget) []Array {
	return b.numbersOf(in[0], func(s string) float64 {
		x, err := strconv.ParseFloat(strings.TrimSpace(s), 64)
		if err != nil || math.IsInf(x, 0) || math.IsNaN(x) || o.Whole && (x != math.Trunc(x) || math.Abs(x) > 1<<53) {
			refuse.With("%s is not a number", quote.Name(s))
		}
		if !o.Whole {
			x = float64(float32(x))
		}
		return x
	})
}
