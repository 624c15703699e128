package quantise

import (
	"fmt"

	"github.com/prove-model/prove-model/prover/circuit/model"
)

// builder makes a circuit: tensors, tables and steps, each after what it is made of.
type builder struct {
	g    *model.Graph
	name string // of the steps that follow
	plan plan
	// batch is the size that a free batch has in the circuit; 1 if it is not free.
	batch int
	// usual is the number of entries of a shape where that is not what the batch says: of
	// texts, of usual length.
	usual func(shape []int) int
	// ownTables says that tensors may be rounded with tables that no other has.
	ownTables bool
	draft     bool // the first pass, which nobody executes

	tables  map[string]model.TableID
	columns *madeColumns
	past    *past // of a block that is made again; nil otherwise
	fixeds  []fixed
	// rowSums bounds the sum of the magnitudes along the last axis of tensors
	// for which that is known to be less than the entries' bounds say.
	rowSums map[model.TensorID]int64
	// rowNorms bounds the Euclidean norm of the rows along the last axis of tensors
	// for which that is known to be less than the entries' bounds say.
	rowNorms map[model.TensorID]float64
	parts    map[model.TensorID]parts // limbs of wide tensors

	uses   tableUses
	blocks []Block
	steps  []stepReport
	clamps []clamp
}

func newBuilder(name string, columns *madeColumns) *builder {
	return &builder{
		g: &model.Graph{Name: name}, batch: 1, columns: columns,
		tables: map[string]model.TableID{}, uses: newTableUses(), rowSums: map[model.TensorID]int64{}, rowNorms: map[model.TensorID]float64{},
		parts: map[model.TensorID]parts{},
	}
}

// entries is the size of a shape for one element of the batch, and a text of usual
// length: what decides on formats must not depend on the size that a free dimension is
// tried with.
func (l *builder) entries(shape []int) int {
	if l.usual != nil {
		return l.usual(shape)
	}
	n := model.Size(shape)
	if n%l.batch == 0 {
		n /= l.batch
	}
	return n
}

// refusal carries the reason why steps cannot be made from where it is found to try.
type refusal struct{ err error }

// refuse ends the function that try has called, which returns the reason.
func refuse(format string, args ...any) { panic(refusal{fmt.Errorf(format, args...)}) }

// try calls a function that makes steps, and returns the reason if it refuses.
func try(f func()) (err error) {
	defer func() {
		if r := recover(); r != nil {
			why, is := r.(refusal)
			if !is {
				panic(r)
			}
			err = why.err
		}
	}()
	f()
	return nil
}

// stepReport is a StepReport with the table size the step would need for its
// wanted bits.
type stepReport struct {
	StepReport
	needTable int
}
