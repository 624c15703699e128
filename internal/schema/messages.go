// Package schema has the messages of keys and proofs as their schema has them
// (prover/proof/schema), and not as circuits: so that tests and tools can make files that no
// circuit gives.
package schema

// The values of enumerations.
const (
	Input Enum = iota // Tensor.Kind
	Fixed
	Witness
	Virtual
	ByFormula
	Empty
)

const (
	Affine Enum = iota // Group.Map
	Index
	Reshape
	PublicIndexes
)

const (
	Lookup Enum = iota // Step.Kind
	Exact
	Zero
	Divide
	Maximum
)

const (
	Range Enum = iota // Table.Kind
	Piecewise
	Func
)

// Progression is a Formula.Kind, the others are those of matrices.
const Progression Enum = 3

// Enum is the value of an enumeration, one that the schema names or another one.
type Enum int32

// Key is the body of a key file.
type Key struct {
	Graph    *Graph    `field:"1"`
	Security *Security `field:"3"`
	Source   *Source   `field:"5"`
	Texts    []*Text   `field:"6"`
	Trees    []*Tree   `field:"9"`
}

type Tree struct {
	Root    []byte `field:"1"`
	RowVars uint32 `field:"2"`
	TailLog uint32 `field:"4"`
}

type Text struct {
	Tokenizer  []byte   `field:"1"`
	Ends       []uint32 `field:"2"`
	Writes     Enum     `field:"3"`
	Template   []byte   `field:"4"`
	Vocabulary []byte   `field:"5"`
	Starts     []uint32 `field:"9"`
}

type Source struct {
	Files          []*File  `field:"1"`
	Quantiser      uint32   `field:"2"`
	Mode           Enum     `field:"3"`
	WeightBits     uint32   `field:"4"`
	ActivationBits uint32   `field:"5"`
	TableBits      uint32   `field:"6"`
	Headroom       uint64   `field:"7"`
	Ranges         []uint32 `field:"8"`
	Formats        []uint32 `field:"9"`
}

type File struct {
	SHA256 []byte `field:"1"`
}

type Security struct {
	TargetBits uint32 `field:"1"`
	GrindBits  uint32 `field:"2"`
	Soundness  Enum   `field:"3"`
	Hash       Enum   `field:"4"`
}

type Graph struct {
	Name    string    `field:"1"`
	Tensors []*Tensor `field:"2"`
	Tables  []*Table  `field:"3"`
	Steps   []*Step   `field:"4"`
	Inputs  []uint32  `field:"5"`
	Outputs []uint32  `field:"6"`
	Free    []*Free   `field:"7"`
	Base    []uint32  `field:"8"`
}

type Free struct {
	Name  string `field:"1"`
	Bound uint32 `field:"2"`
}

type Tensor struct {
	Name       string    `field:"1"`
	Shape      []uint64  `field:"2"`
	Kind       Enum      `field:"3"`
	Frac       int32     `field:"4"`
	Min        int64     `field:"5"`
	Max        int64     `field:"6"`
	Definition []*Linear `field:"7"`
	Scales     []uint32  `field:"8"`
	Fracs      []int32   `field:"9"`
	Formula    *Formula  `field:"10"`
	Numbers    Enum      `field:"11"`
	Product    *Product  `field:"12"`
}

type Formula struct {
	Kind   Enum  `field:"1"`
	Offset int64 `field:"2"`
	Step   int64 `field:"3"`
}

type Linear struct {
	Coefficient int64  `field:"1"`
	Source      uint32 `field:"2"`
	View        *View  `field:"3"`
}

type View struct {
	Groups []*Group `field:"1"`
	Fill   int64    `field:"2"`
}

type Group struct {
	Out       []uint32 `field:"1"`
	In        []uint32 `field:"2"`
	Map       Enum     `field:"3"`
	Base      int64    `field:"4"`
	Strides   []int64  `field:"5"`
	Sums      []*Sum   `field:"6"`
	Index     []uint64 `field:"7"`
	BaseScale uint32   `field:"8"`
	Ids       uint32   `field:"9"`
}

type Sum struct {
	Dimension uint64 `field:"1"`
	Stride    int64  `field:"2"`
	Scale     uint32 `field:"3"`
}

type Product struct {
	Coefficient int64    `field:"1"`
	A           uint32   `field:"2"`
	B           uint32   `field:"3"`
	LabelsA     []uint32 `field:"4"`
	LabelsB     []uint32 `field:"5"`
}

type Accumulator struct {
	Constant int64      `field:"1"`
	Linear   []*Linear  `field:"2"`
	Products []*Product `field:"3"`
}

type Step struct {
	Kind        Enum         `field:"1"`
	Name        string       `field:"2"`
	Shape       []uint64     `field:"3"`
	Accumulator *Accumulator `field:"4"`
	Shift       uint32       `field:"5"`
	Remainder   uint32       `field:"6"`
	Table       uint32       `field:"7"`
	Out         uint32       `field:"8"`
	Divisor     uint32       `field:"9"`
	Scales      []uint32     `field:"10"`
}

type Table struct {
	Name      string   `field:"1"`
	Kind      Enum     `field:"2"`
	Bits      uint32   `field:"3"`
	Min       int64    `field:"4"`
	Pieces    []*Piece `field:"5"`
	Values    uint32   `field:"6"`
	Saturated []uint32 `field:"7"`
	Drop      uint32   `field:"8"`
}

type Piece struct {
	End    int64 `field:"1"`
	Slope  int64 `field:"2"`
	Offset int64 `field:"3"`
}

// Frame is a message of a proof's file, of which one field is there. Commitments, Io and Opening
// are there if they are not nil.
type Frame struct {
	Header      *Header `field:"1"`
	Public      *Public `field:"2"`
	Commitments []byte  `field:"3"`
	Chunk       *Chunk  `field:"4"`
	Io          []byte  `field:"5"`
	Opening     []byte  `field:"6"`
	End         []byte  `field:"7"`
}

type Header struct {
	Version       uint32       `field:"1"`
	Key           []byte       `field:"2"`
	Sizes         []uint64     `field:"3"`
	ChunkEntries  uint64       `field:"4"`
	RowVars       uint32       `field:"5"`
	Levels        []*Level     `field:"6"`
	Hash          Enum         `field:"7"`
	Trees         []*FirstTree `field:"8"`
	TailLog       uint32       `field:"9"`
	HiddenInputs  []uint32     `field:"10"`
	HiddenOutputs []uint32     `field:"11"`
	Reveals       []*Reveal    `field:"12"`
	Texts         uint32       `field:"13"`
	Segment       *Segment     `field:"14"`
}

type Reveal struct {
	Kind   Enum   `field:"1"`
	Output uint32 `field:"2"`
	Top    uint32 `field:"3"`
}

type Level struct {
	FoldVars     uint32 `field:"1"`
	RowVars      uint32 `field:"2"`
	LogBlowup    uint32 `field:"3"`
	Multiplicity uint32 `field:"4"`
	Queries      uint32 `field:"5"`
	OutOfDomain  uint32 `field:"6"`
	QueryGrind   uint32 `field:"7"`
	FoldGrind    uint32 `field:"8"`
}

type FirstTree struct {
	Root      []byte `field:"1"`
	RowVars   uint32 `field:"2"`
	LogBlowup uint32 `field:"3"`
	Rows      uint32 `field:"4"`
	Tokens    uint32 `field:"5"`
	TailLog   uint32 `field:"6"`
	Input     uint32 `field:"7"`
	Frac      int32  `field:"8"`
}

type Segment struct {
	Predecessor []byte `field:"1"`
	FirstToken  Enum   `field:"2"`
}

type Link struct {
	Version uint32   `field:"1"`
	First   []byte   `field:"2"`
	Second  []byte   `field:"3"`
	Levels  []*Level `field:"4"`
	Body    []byte   `field:"5"`
}

type Public struct {
	Inputs  []*Values `field:"1"`
	Outputs []*Values `field:"2"`
}

type Values struct {
	Packed []byte `field:"1"`
}

type Chunk struct {
	Index uint32 `field:"1"`
	Body  []byte `field:"2"`
}
