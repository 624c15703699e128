package fixed

import (
	"encoding/binary"
	"errors"
	"math"

	"github.com/prove-model/prove-model/prover/circuit/model"
)

// Block records where in a circuit the steps of a norm, a mean, a Softmax or the logarithm of a
// power begin, and every parameter that these steps depend on, so that Replay can make the same
// steps once more. The bounds of what these steps compute do not follow from the intervals of
// single tensors: they rest on relations between the results of several steps. One block is valid
// for every size of the free dimensions.
type Block struct {
	Kind BlockKind
	// Tensors, Tables and Steps are how many the circuit has before the block.
	Tensors, Tables, Steps int
	TableBits, ActBits     int            // TableBits and Bits of the circuit's Plan
	Of                     model.TensorID // the operand
	Axes                   []int          // the axes of Of that a row extends along; empty for a Softmax, whose rows are its last axis

	Sum     bool    // norm: divide by the root of the sum of the squares, not of their mean
	Epsilon float64 // norm, logarithm: what is added to the mean or sum of the squares
	Times   int     // norm: Of is that many times the values that the epsilon is meant for

	Mask         model.TensorID // Softmax: a mask of 0 and 1; None if there is none
	Labels       []int          // by axis of the mask: the axis of the scores that it belongs to
	Summed, Bits int            // Softmax: the exponentials that are summed have 2^Summed for 1, the shares 2^Bits; Bits = 0: LogSoftmax

	// For a Softmax in a circuit with a free length. Width is the most entries that a row may
	// have, if the length of rows is the free one, and else 0. Entries is the number of scores at
	// the usual length (Builder.Entries).
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
	LoweredSoftmaxBlock // as TextSoftmaxBlock, with masked scores lowered (Gap)
)

// ofSoftmax reports whether a block is a Softmax, or its logarithm.
func (b *Block) ofSoftmax() bool { return b.Kind == SoftmaxBlock || b.ofText() }

// ofText reports whether a block is a Softmax in a circuit with a free length.
func (b *Block) ofText() bool { return b.Kind == TextSoftmaxBlock || b.Kind == LoweredSoftmaxBlock }

// Begin records that a block begins at the present end of the circuit.
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

// ParseBlocks reads what AppendBlocks wrote. It takes no bytes after that.
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
