package run

import (
	"encoding/binary"

	"github.com/prove-model/prove-model/kernels"
	"github.com/prove-model/prove-model/prover/circuit/forward"
	"github.com/prove-model/prove-model/prover/circuit/model"
	"github.com/prove-model/prove-model/prover/machine/cuda/device"
)

// How many keys of a look-up are in saturated rows of its table is asked of every run. Keys of segments are dropped, and a segment would
// have to be run again for the answer: so the run itself answers these questions before it leaves a segment.

// question is one about keys that lie in memory of the segment in hand.
type question struct {
	forward.KeyRange
	keys kernels.Integers
	n    int
}

// questions are those about a look-up step whose keys are not kept.
func (c *compiler) questions(step int) []forward.KeyRange {
	s := &c.g.Steps[step]
	if s.Kind != model.StepLookup || model.Size(s.Shape) < c.host {
		return nil
	}
	if _, _, ok := keyTensor(c.g, step); ok {
		return nil
	}
	t := &c.g.Tables[s.Table]
	var all []forward.KeyRange
	for _, r := range t.Saturated {
		all = append(all, forward.KeyRange{Step: step, Min: t.Min + r.From, Max: t.Min + r.To - 1})
	}
	return all
}

// placeAnswers gives the answers to all questions, of 64 bits, their places, in the order of steps, in memory that is cleared and that the
// host gets.
func (c *compiler) placeAnswers(p *part) {
	p.answers = map[forward.KeyRange]int{}
	from := p.small
	for i := range c.g.Steps {
		for _, q := range c.questions(i) {
			p.answers[q] = from + 8*len(p.answers)
		}
	}
	p.small += slotSize(len(p.answers), 8)
}

// ask notes the questions about a look-up whose keys have a place.
func (c *compiler) ask(step int, x *kernels.Step) {
	for _, q := range c.questions(step) {
		c.asked = append(c.asked, question{q, x.Keys.Integers, x.N})
	}
}

// answer adds what answers the questions about the segment in hand.
func (c *compiler) answer(p *part) {
	for len(c.asked) > 0 {
		some := c.asked[:min(len(c.asked), mostQuestions)]
		c.asked = c.asked[len(some):]
		at := kernels.InSmall | kernels.Ptr(p.answers[some[0].KeyRange])
		c.then(p, func(r *Run) (err error) {
			defer device.Catch(&err)
			a, bases := device.NewScope(p.m.Dev), r.bases(p)
			defer a.Close()
			list, most := make([]kernels.KeyCount, len(some)), 1
			for i, q := range some {
				list[i] = kernels.KeyCount{Keys: bases.Resolve(q.keys.At), Width: uint64(q.keys.Width), N: uint64(q.n), Min: q.Min, Max: q.Max}
				most = max(most, q.n)
			}
			return kernels.CountKeys(a, bases.Resolve(at), device.NewCopy(a, list), len(list), most)
		})
	}
}

// answered returns the answer that a run has given to a question, if it has.
func (r *Run) answered(p *part, q forward.KeyRange) (n int, ok bool) {
	at, ok := p.answers[q]
	if !ok {
		return 0, false
	}
	return int(binary.LittleEndian.Uint64(r.of(p).host[at:])), true
}
