package certify

import (
	"encoding/binary"
	"errors"
	"fmt"
	"slices"

	"github.com/prove-model/prove-model/prover/circuit/bounds"
	"github.com/prove-model/prove-model/prover/circuit/model"
	"github.com/prove-model/prove-model/prover/math/ints"
	"github.com/prove-model/prove-model/prover/proof"
	"github.com/prove-model/prove-model/quantise/fixed"
)

// extras are what a certificate has besides its proof: the blocks of the certified circuit, whose bounds
// do not follow from intervals (fixed.Block), and the fixed tensors whose values these blocks
// depend on. Those are columns of function tables, and the proof states their values.
type extras struct {
	blocks []fixed.Block
	stated []model.TensorID // ascending
}

// maxExtras bounds the size of encoded extras in bytes.
const maxExtras = 1 << 20

// maxReplay bounds the work of replaying blocks: for each block, all tensors of the circuit count.
const maxReplay = 1 << 24

// encode returns the extras as a certificate file has them (docs/proof-format.md, "The certificate file").
func (e *extras) encode() []byte {
	b := binary.AppendUvarint(nil, uint64(len(e.stated)))
	for _, id := range e.stated {
		b = binary.AppendUvarint(b, uint64(id))
	}
	return fixed.AppendBlocks(b, e.blocks)
}

// decodeExtras reads extras for a circuit g, and refuses those that cannot be of it.
func decodeExtras(b []byte, g *model.Graph) (*extras, error) {
	e := &extras{}
	next := func() uint64 {
		n, size := binary.Uvarint(b)
		if size <= 0 {
			n, size = 1<<63, len(b)
		}
		b = b[size:]
		return n
	}
	n := next()
	for range min(n, uint64(len(g.Tensors))+1) {
		id := next()
		if id >= uint64(len(g.Tensors)) || g.Tensors[id].Kind != model.Fixed || len(e.stated) > 0 && model.TensorID(id) <= e.stated[len(e.stated)-1] {
			return nil, fmt.Errorf("%w certificate: malformed list of tensors", proof.ErrMalformed)
		}
		e.stated = append(e.stated, model.TensorID(id))
	}
	var err error
	if uint64(len(e.stated)) != n {
		err = errors.New("malformed list of tensors")
	} else {
		e.blocks, err = fixed.ParseBlocks(b)
	}
	for i := range e.blocks {
		// Blocks do not overlap, so a replay of all of them makes nothing twice. Each block makes at least one tensor, but
		// it may have no steps.
		if i > 0 && (e.blocks[i].Steps < e.blocks[i-1].Steps || e.blocks[i].Tensors <= e.blocks[i-1].Tensors) {
			err = errors.New("blocks that are not in order")
		}
	}
	if err == nil && len(e.blocks)*len(g.Tensors) > maxReplay {
		err = errors.New("too many blocks")
	}
	if err != nil {
		return nil, fmt.Errorf("%w certificate: %w", proof.ErrMalformed, err)
	}
	return e, nil
}

// arguments replays the blocks in an instance g of the circuit t, and returns the bounds that they
// give. used are the fixed tensors whose values the replays compared with columns.
func (e *extras) arguments(t *model.Template, g *model.Graph, columns *fixed.Columns) (list []*bounds.Argument, used []model.TensorID, err error) {
	if len(e.blocks) == 0 {
		return nil, nil, nil
	}
	graphs, err := made(t, g)
	if err != nil {
		return nil, nil, err
	}
	for _, g := range graphs {
		batch := 1
		if len(g.Instance.Sizes) > 0 {
			batch = g.Instance.Sizes[0]
		}
		list, used = nil, nil // the graphs differ in sizes alone, and give the same
		for i := range e.blocks {
			a, u, err := e.blocks[i].Replay(g, batch, columns)
			if err == nil && len(list) > 0 && a.From < list[len(list)-1].To {
				err = errors.New("it overlaps the one before")
			}
			if err != nil {
				return nil, nil, fmt.Errorf("block %d: %w", i, err)
			}
			list, used = append(list, a), append(used, u...)
		}
	}
	slices.Sort(used)
	return list, slices.Compact(used), nil
}

// made returns the instances in which blocks have to be replayed for their bounds to hold in g: g itself,
// if no free dimension has the size 1. In an instance with that size, axes along the dimension cannot be
// told from axes that are 1 for another reason, so it is replaced by instances with the sizes 2 and 3.
// Each number of the circuit is a constant or a multiple of a size: if it is right for both sizes, it
// is right for all.
func made(t *model.Template, g *model.Graph) ([]*model.Graph, error) {
	if !slices.Contains(g.Instance.Sizes, 1) {
		return []*model.Graph{g}, nil
	}
	var graphs []*model.Graph
	for _, n := range []int{2, 3} {
		in := model.Instance{Sizes: slices.Clone(g.Instance.Sizes)}
		for i, size := range in.Sizes {
			if size == 1 {
				in.Sizes[i] = n
			}
		}
		g, err := t.At(in)
		if err != nil {
			return nil, err
		}
		graphs = append(graphs, g)
	}
	return graphs, nil
}

// columnsOf returns the columns of all function tables of a circuit.
func columnsOf(g *model.Graph, w model.Weights) *fixed.Columns {
	c := map[model.TensorID][]int32{}
	for i := range g.Tables {
		if t := &g.Tables[i]; t.Kind == model.TableFunc && c[t.Values] == nil {
			c[t.Values] = ints.All(w[t.Values])
		}
	}
	return fixed.NewColumns(c)
}
