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

// An entry is what Go calls of a kernel that there is for both instruction sets: it jumps to the one of
// the package's variable level (internal/simd), which is one of the two.
type entry struct {
	name, signature, doc string
	kernels              int
}

// entries are those of all kernels so far.
var entries []*entry

// note counts a kernel of this name.
func note(name, signature, doc string) {
	i := slices.IndexFunc(entries, func(e *entry) bool { return e.name == name })
	if i < 0 {
		i, entries = len(entries), append(entries, &entry{name, signature, doc, 0})
	}
	entries[i].kernels++
}

// Write writes the files, in which kernels with an entry are known to the assembly alone. Those called
// apart have none: Go chooses between them by more than the level.
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

// jump goes on in another function with the same arguments.
func jump(name string) {
	Instruction(&ir.Instruction{Opcode: "JMP", Operands: []Op{LabelRef("·" + name + "(SB)")}, IsTerminal: true})
}

// rewrite replaces what matches in the file that a flag names.
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
