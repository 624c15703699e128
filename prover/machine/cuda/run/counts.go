package run

import (
	"cmp"
	"encoding/binary"
	"maps"
	"slices"

	"github.com/prove-model/prove-model/kernels"
	"github.com/prove-model/prove-model/prover/circuit/forward"
	"github.com/prove-model/prove-model/prover/circuit/model"
	"github.com/prove-model/prove-model/prover/machine/cuda/device"
)

// After every run the caller asks how many keys of each look-up are in saturated rows of its table (Run.Count). If keys are dropped with a
// segment, the segment would have to be run again for the answer. So the run itself counts these keys before it leaves a segment.

// question asks for the number of a look-up's keys in a range. The keys lie in memory of the current segment.
type question struct {
	forward.KeyRange
	keys slot
}

// ask notes the questions about a look-up whose keys are dropped when the run leaves the segment.
func (c *compiler) ask(step int, keys slot) {
	t := &c.g.Tables[c.g.Steps[step].Table]
	for _, r := range t.Saturated {
		c.asked = append(c.asked, question{forward.KeyRange{Step: step, Min: t.Min + r.From, Max: t.Min + r.To - 1}, keys})
	}
}

// answer adds an operation that answers the questions asked about the current segment. Each answer is a word of 64 bits in the small
// memory, which the host downloads at the end of the run.
func (c *compiler) answer(p *part) {
	asked, at := c.asked, p.small
	if len(asked) == 0 {
		return
	}
	for i, q := range asked {
		p.answers[q.KeyRange] = at + 8*i
	}
	c.asked, p.small = nil, p.small+slotSize(len(asked), 8)
	c.then(p, func(r *Run) (err error) {
		defer device.Catch(&err)
		bases, list := r.bases(p), make([]kernels.KeyCount, len(asked))
		for i, q := range asked {
			list[i] = keyCount(q.keys.tensor(bases), q.Min, q.Max)
		}
		to := bases.Small.Offset(at, 1)
		device.Check(p.m.Dev.Clear(to, 8*len(list)))
		countKeys(p.m.Dev, to, list)
		return nil
	})
}

// keyCount returns the question how many keys are in [least, most].
func keyCount(keys *device.Tensor, least, most int64) kernels.KeyCount {
	return kernels.KeyCount{Keys: keys.Ptr, Width: uint64(keys.Width), N: uint64(keys.Len), Min: least, Max: most}
}

// mostQuestions is how many questions are answered in one launch.
const mostQuestions = 1 << 12

// countKeys adds the answers to questions to consecutive words of 64 bits from `at` on.
func countKeys(dev kernels.Device, at kernels.Ptr, questions []kernels.KeyCount) {
	a := device.NewScope(dev)
	defer a.Close()
	for some := range slices.Chunk(questions, mostQuestions) {
		most := uint64(1)
		for _, q := range some {
			most = max(most, q.N)
		}
		device.Check(kernels.CountKeys(a, at, device.NewCopy(a, some), len(some), int(most)))
		at = kernels.At[uint64](at, len(some))
	}
}

// Count implements forward.Kept. Keys that are kept are counted on the device, all of a part in one launch. For keys that are not kept
// most answers come from the run itself (answer) or from the multiplicities (counted); only for the rest are keys recomputed.
func (r *Run) Count(questions []forward.KeyRange) ([]int, error) {
	counts := make([]int, len(questions))
	type together struct { // identifies questions that are answered in one launch
		p    *part
		step int // the step whose keys are recomputed, or −1 for all keys that the part keeps
	}
	asked := map[together][]int{}
	rows := map[model.TensorID][]int32{}
	for i, q := range questions {
		p := r.part(r.Contexts[r.g.Steps[q.Step].Chunk])
		of := together{p, -1}
		if k := p.keys[q.Step]; !k.kept() {
			at, ok := p.answers[q]
			if ok {
				counts[i] = int(binary.LittleEndian.Uint64(r.memory[p].host[at:]))
				continue
			}
			n, ok, err := r.counted(q, rows)
			if err != nil {
				return nil, err
			}
			if ok {
				counts[i] = n
				continue
			}
			of.step = q.Step
		}
		asked[of] = append(asked[of], i)
	}
	byStep := func(x, y together) int { return cmp.Compare(x.step, y.step) }
	for _, of := range slices.SortedFunc(maps.Keys(asked), byStep) {
		err := r.through(of.p, func(s *Stream) {
			list := make([]kernels.KeyCount, len(asked[of]))
			for n, i := range asked[of] {
				k := s.column(questions[i].Step)
				list[n] = keyCount(k.Tensor, questions[i].Min-k.plus, questions[i].Max-k.plus)
			}
			sums := device.NewWords(s.Dev, len(list))
			countKeys(s.Dev, sums, list)
			for n, count := range device.Fetch[uint64](s.Dev, sums, len(list)) {
				counts[asked[of][n]] = int(count)
			}
		})
		if err != nil {
			return nil, err
		}
	}
	return counts, nil
}

// counted answers a question by the multiplicities of the step's table in its chunk, which count the
// keys of all steps that use the table there. That is an answer if this is the only such step, or if the count is zero; else ok is
// false. It caches multiplicities in rows.
func (r *Run) counted(q forward.KeyRange, rows map[model.TensorID][]int32) (n int, ok bool, err error) {
	s := &r.g.Steps[q.Step]
	id, ok := countsOf(r.g, s)
	if !ok {
		return 0, false, nil
	}
	if rows[id] == nil {
		if rows[id], err = r.Tensor(id); err != nil {
			return 0, false, err
		}
	}
	least := r.g.Tables[s.Table].Min
	for row := max(0, q.Min-least); row < int64(len(rows[id])) && row <= q.Max-least; row++ {
		n += int(rows[id][row])
	}
	users := 0
	for i := range r.g.Steps {
		if x := &r.g.Steps[i]; x.Kind == model.StepLookup && x.Chunk == s.Chunk && x.Table == s.Table {
			users++
		}
	}
	return n, n == 0 || users == 1, nil
}

// countsOf returns the multiplicities of the table of a look-up in its chunk.
func countsOf(g *model.Graph, s *model.Step) (id model.TensorID, ok bool) {
	for _, m := range g.Mults {
		if m.Chunk == s.Chunk && m.Table == s.Table {
			return m.Tensor, true
		}
	}
	return model.None, false
}
