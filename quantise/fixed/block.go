package fixed

import (
	"encoding/binary"
	"errors"
	"math"

	"github.com/prove-model/prove-model/prover/circuit/model"
)

// Block says where in a circuit the steps of a norm, a mean, a Softmax or the logarithm of a
// power begin. Their bounds do not follow from intervals, as they are relations between what
// the steps compute. A block has all that decides on the steps, so that Replay can make them
// once more. It holds for every size of the free dimensions.
type Block struct {
	Kind BlockKind
	// Tensors, Tables and Steps are how many there are in the circuit before it.
	Tensors, Tables, Steps int
	TableBits, ActBits     int            // of the circuit's plan
	Of                     model.TensorID // what the steps are of
	Axes                   []int          // of the rows, but for a Softmax

	Sum     bool    // norm: the sum of the squares is meant, not their mean
	Epsilon float64 // norm, logarithm: what is added to it
	Times   int     // norm: how often the entries have been multiplied by what the epsilon goes with

	Mask         model.TensorID // Softmax; None: it has none
	Labels       []int          // the axes of the scores that the mask has
	Summed, Bits int            // Softmax: bits of what is summed, and of the result; 0: its logarithm

	// Softmax in a circuit with a free length: the bound of the length if its rows have
	// that, else 0, and the usual number of entries.
	Width, Entries int
}

// BlockKind tells which steps a Block has.
type BlockKind uint8

const (
	NormBlock BlockKind = iota
	CentredBlock
	SoftmaxBlock
	TextSoftmaxBlock
	LogPowerBlock
	LoweredSoftmaxBlock // of texts, with masked scores lowered
)

// ofSoftmax reports whether a block is a Softmax, or its logarithm.
func (b *Block) ofSoftmax() bool { return b.Kind == SoftmaxBlock || b.ofText() }

// ofText reports whether a block is a Softmax in a circuit with a free length.
func (b *Block) ofText() bool { return b.Kind == TextSoftmaxBlock || b.Kind == LoweredSoftmaxBlock }

// Begin notes that a block begins here.
func (b *Builder) Begin(block Block) {
	block.Tensors, block.Tables, block.Steps = len(b.Circuit.Tensors), len(b.Circuit.Tables), len(b.Circuit.Steps)
	block.TableBits, block.ActBits = b.Plan.TableBits, b.Plan.Bits
	b.Blocks = append(b.Blocks, block)
}

// AppendBlocks appends an encoding of blocks (docs/proof-format.md, "The certificate file").
func AppendBlocks(to []byte, blocks []Block) []byte {
	number := func(n int) { to = binary.AppendUvarint(to, uint64(n)) }
	list := func(l []int) {
		number(len(l))
		for _, n := range l {
			number(n)
		}
	}
	number(len(blocks))
	for i := range blocks {
		b := &blocks[i]
		sum := 0
		if b.Sum {
			sum = 1
		}
		for _, n := range []int{int(b.Kind), b.Tensors, b.Tables, b.Steps, b.TableBits, b.ActBits, int(b.Of)} {
			number(n)
		}
		list(b.Axes)
		number(sum)
		to = binary.AppendUvarint(to, math.Float64bits(b.Epsilon))
		number(b.Times)
		number(int(b.Mask + 1))
		list(b.Labels)
		number(b.Summed)
		number(b.Bits)
		if b.ofText() {
			number(b.Width)
			number(b.Entries)
		}
	}
	return to
}

// maxBlocks bounds the blocks of a circuit.
const maxBlocks = 1 << 14

var errBlocks = errors.New("malformed blocks")

// ParseBlocks reads what AppendBlocks wrote, all of b.
func ParseBlocks(b []byte) ([]Block, error) {
	failed := false
	next := func(most uint64) uint64 {
		n, size := binary.Uvarint(b)
		if size <= 0 || n > most {
			failed, b = true, nil
			return 0
		}
		b = b[size:]
		return n
	}
	number := func() int { return int(next(math.MaxInt32)) }
	list := func() (l []int) {
		for range next(model.MaxRank) {
			l = append(l, number())
		}
		return l
	}
	var blocks []Block
	for range next(maxBlocks) {
		if failed {
			break
		}
		blocks = append(blocks, Block{
			Kind: BlockKind(next(math.MaxUint8)), Tensors: number(), Tables: number(), Steps: number(),
			TableBits: number(), ActBits: number(), Of: model.TensorID(number()),
			Axes: list(), Sum: next(1) == 1, Epsilon: math.Float64frombits(next(math.MaxUint64)), Times: number(),
			Mask: model.TensorID(number()) - 1, Labels: list(), Summed: number(), Bits: number(),
		})
		if b := &blocks[len(blocks)-1]; b.ofText() {
			b.Width, b.Entries = number(), number()
		}
	}
	if failed || len(b) > 0 {
		return nil, errBlocks
	}
	return blocks, nil
}
