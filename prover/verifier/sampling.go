package verifier

import (
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"math/bits"
	"slices"

	"github.com/prove-model/prove-model/internal/elementary"
)

// Sampling is a rule that draws the tokens of a text from logits. The logits before a
// token, its place in the text and the numbers below determine the token, in integers and
// on every machine alike (docs/models.md, "Drawing tokens"). The rule is part neither of
// a key nor of a proof: the proof is about the logits, and the verifier draws again.
type Sampling struct {
	Seed        int64   `json:"seed"`
	Temperature float64 `json:"temperature"` // what logits are divided by, 0.01 to 100
	TopK        int     `json:"top_k"`       // draw among the TopK likeliest tokens; 0: among all
	TopP        float64 `json:"top_p"`       // of these, among the fewest likeliest whose weights add up to this share, in (0, 1]
}

// Limits of the temperature.
const (
	minTemperature = 0.01
	maxTemperature = 100
)

// Validate reports numbers that are out of range.
func (s *Sampling) Validate() error {
	switch {
	case !(s.Temperature >= minTemperature && s.Temperature <= maxTemperature):
		return fmt.Errorf("a temperature of %v, want %v to %v", s.Temperature, minTemperature, maxTemperature)
	case s.TopK < 0:
		return errors.New("top-k is negative")
	case !(s.TopP > 0 && s.TopP <= 1):
		return fmt.Errorf("a top-p of %v, want a number above 0, up to 1", s.TopP)
	}
	return nil
}

// weightBits is the log2 of the weight of the likeliest token. Weights are rounded down,
// so a token that is less likely by a factor of more than 2^weightBits has weight 0.
const weightBits = 40

// candidate is a token that may be drawn.
type candidate struct {
	token  int
	logit  int32
	weight uint64
}

// Draw returns the token at a place of a text, counted from 0. logits are those before
// the token, at most 2^23 of them, in units of 2^(−frac). The rule must be valid
// (Validate).
func (s *Sampling) Draw(logits []int32, frac, place int) int {
	most := logits[Greatest(logits)] // the greatest logit, whose token has weight 2^weightBits
	var list []candidate
	for i, l := range logits {
		x := math.Ldexp(float64(int64(l)-int64(most)), -frac) / s.Temperature
		if x < -(weightBits+1)*math.Ln2 {
			continue // a weight of 0
		}
		if w := uint64(math.Ldexp(elementary.Exp(x), weightBits)); w > 0 {
			list = append(list, candidate{i, l, w})
		}
	}
	slices.SortFunc(list, func(a, b candidate) int {
		return cmp.Or(cmp.Compare(b.logit, a.logit), cmp.Compare(a.token, b.token))
	})
	if s.TopK > 0 {
		list = list[:min(s.TopK, len(list))]
	}
	total := sum(list)
	if s.TopP < 1 {
		share := uint64(math.Ceil(s.TopP * float64(total)))
		kept := uint64(0)
		for i := range list {
			if kept += list[i].weight; kept >= share {
				list, total = list[:i+1], kept
				break
			}
		}
	}
	// The high word of random·total is floor(random·total/2^64): a number below total. Each value in [0, total) is taken by
	// 2^64/total of the random numbers, rounded up or down.
	at, _ := bits.Mul64(s.random(place), total)
	for _, c := range list {
		if at < c.weight {
			return c.token
		}
		at -= c.weight
	}
	panic("verifier: a number beyond all weights")
}

func sum(list []candidate) uint64 {
	total := uint64(0)
	for i := range list {
		total += list[i].weight
	}
	return total
}

// random returns the pseudo-random number for a place of a text, from the seed.
func (s *Sampling) random(place int) uint64 {
	b := []byte("prove-model token\n")
	b = binary.LittleEndian.AppendUint64(b, uint64(s.Seed))
	b = binary.LittleEndian.AppendUint64(b, uint64(place))
	digest := sha256.Sum256(b)
	return binary.LittleEndian.Uint64(digest[:])
}

// Choose returns the token that the rule draws or, if s is nil, the first one with the
// greatest logit.
func (s *Sampling) Choose(logits []int32, frac, place int) int {
	if s == nil {
		return Greatest(logits)
	}
	return s.Draw(logits, frac, place)
}
