package vec

import (
	"flag"
	"os"
	"regexp"
	"slices"

	. "github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/ir"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// An entry is the function that Go calls for a kernel that exists for both instruction sets. It jumps to the
// kernel for the instruction set that the package's variable level names (internal/simd).
type entry struct {
	name, signature, doc string
	kernels              int // how many instruction sets the kernel exists for
}

// entries has an entry for each name of a kernel that was emitted so far.
var entries []*entry

// note counts a kernel of this name, without the suffix of the instruction set.
func note(name, signature, doc string) {
	i := slices.IndexFunc(entries, func(e *entry) bool { return e.name == name })
	if i < 0 {
		i, entries = len(entries), append(entries, &entry{name, signature, doc, 0})
	}
	entries[i].kernels++
}

// Write emits the entries and writes the files. A kernel with an entry is local to the assembly file. The kernels in apart get no
// entry: Go code chooses between them, by more than the level.
func Write(apart ...string) {
	entries = slices.DeleteFunc(entries, func(e *entry) bool { return e.kernels < 2 || slices.Contains(apart, e.name) })
	for _, e := range entries {
		TEXT(e.name, NOSPLIT, e.signature)
		Pragma("noescape")
		Doc(e.name + " " + e.doc)
		const avx512 = 2 // simd.AVX512
		CMPQ(Mem{Symbol: Symbol{Name: "·level"}, Base: reg.StaticBase}, Imm(avx512))
		JEQ(LabelRef("wide"))
		jump(e.name + Suffix(8))
		Label("wide")
		jump(e.name + Suffix(16))
	}
	ConstraintExpr("!purego")
	Generate()
	for _, e := range entries {
		kernel := regexp.QuoteMeta(e.name) + `AVX(2|512)`
		rewrite("out", regexp.MustCompile(`(·`+kernel+`)\(SB\)`), "$1<>(SB)")
		rewrite("stubs", regexp.MustCompile(`(?m)^// `+kernel+` (.|\n)*?\nfunc .*\n\n?`), "")
	}
}

// jump emits a tail call of another function with the same arguments.
func jump(name string) {
	Instruction(&ir.Instruction{Opcode: "JMP", Operands: []Op{LabelRef("·" + name + "(SB)")}, IsTerminal: true})
}

// rewrite replaces the matches of what in the file that avo's flag option names.
func rewrite(option string, what *regexp.Regexp, by string) {
	name := flag.Lookup(option).Value.String()
	text, err := os.ReadFile(name)
	if err == nil {
		err = os.WriteFile(name, what.ReplaceAll(text, []byte(by)), 0o644)
	}
	if err != nil {
		panic(err)
	}
}
