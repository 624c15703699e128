package transcript

import (
	"errors"
	"runtime"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/prove-model/prove-model/prover/math/field"
	"github.com/prove-model/prove-model/prover/math/hash"
	"pgregory.net/rapid"
)

// eachSuite runs a test for every hash suite.
func eachSuite(t *testing.T, test func(t *testing.T, suite hash.Suite)) {
	for _, suite := range hash.All() {
		t.Run(suite.String(), func(t *testing.T) { test(t, suite) })
	}
}

func genM31(t *rapid.T) field.M31 {
	return field.M31(rapid.OneOf(rapid.Uint32Range(0, field.P-1), rapid.SampledFrom([]uint32{0, 1, field.P - 1})).Draw(t, "m31"))
}

func genQM31(t *rapid.T) field.QM31 {
	return field.NewQM31(genM31(t), genM31(t), genM31(t), genM31(t))
}

// step is one operation of a protocol, done by both sides.
type step struct {
	write func(w *Writer) any
	read  func(r *Reader) any
}

// genStep draws an operation; both sides return what they saw.
func genStep(t *rapid.T) step {
	switch rapid.IntRange(0, 8).Draw(t, "op") {
	case 0:
		v := rapid.SliceOfN(rapid.Custom(genM31), 0, 20).Draw(t, "v")
		return step{func(w *Writer) any { w.SendM31(v...); return v },
			func(r *Reader) any { return r.M31s(len(v)) }}
	case 1:
		v := rapid.SliceOfN(rapid.Custom(genQM31), 0, 5).Draw(t, "v")
		return step{func(w *Writer) any { w.SendQM31(v...); return v },
			func(r *Reader) any { return r.QM31s(len(v)) }}
	case 2:
		v := genQM31(t)
		return step{func(w *Writer) any { w.SendQM31(v); return v },
			func(r *Reader) any { return r.QM31() }}
	case 3:
		d := hash.Digest{uint32(genM31(t)), 7: uint32(genM31(t))}
		return step{func(w *Writer) any { w.SendDigest(d); w.HintDigest(d); return []any{d, d} },
			func(r *Reader) any { a := r.Digest(); return []any{a, r.HintDigest()} }}
	case 4:
		v, q := []field.M31{genM31(t)}, []field.QM31{genQM31(t)}
		return step{func(w *Writer) any { w.HintM31(v...); w.HintQM31(q...); return []any{v, q} },
			func(r *Reader) any { a := r.HintM31s(1); return []any{a, r.HintQM31s(1)} }}
	case 5:
		n := rapid.IntRange(0, 9).Draw(t, "n")
		return step{func(w *Writer) any { return w.Challenges(n) },
			func(r *Reader) any { return r.Challenges(n) }}
	case 6:
		n, bits := rapid.IntRange(0, 9).Draw(t, "n"), rapid.IntRange(0, maxIndexBits).Draw(t, "bits")
		return step{func(w *Writer) any { return w.Indices(n, bits) },
			func(r *Reader) any { return r.Indices(n, bits) }}
	case 7:
		bits := rapid.IntRange(0, 6).Draw(t, "bits")
		return step{func(w *Writer) any { w.Grind(bits); return nil },
			func(r *Reader) any { r.CheckGrind(bits); return nil }}
	default:
		b := rapid.SliceOf(rapid.Byte()).Draw(t, "b")
		return step{func(w *Writer) any { w.AbsorbBytes(b); return nil },
			func(r *Reader) any { r.AbsorbBytes(b); return nil }}
	}
}

func TestReaderFollowsWriter(t *testing.T) { eachSuite(t, readerFollowsWriter) }

func readerFollowsWriter(t *testing.T, suite hash.Suite) {
	rapid.Check(t, func(t *rapid.T) {
		steps := rapid.SliceOfN(rapid.Custom(genStep), 0, 12).Draw(t, "steps")
		w := NewWriter(New(suite, "test"))
		var seen []any
		for _, s := range steps {
			seen = append(seen, s.write(w))
		}
		r := NewReader(New(suite, "test"), w.Bytes())
		for i, s := range steps {
			if d := cmp.Diff(seen[i], s.read(r)); d != "" {
				t.Fatalf("step %d (-writer +reader):\n%s", i, d)
			}
		}
		if err := r.Done(); err != nil {
			t.Fatal(err)
		}
		if w.Challenge() != r.Challenge() {
			t.Fatal("the sponges differ at the end")
		}
	})
}

// TestOperationsAreInjective lists sequences that a careless sponge confuses.
func TestOperationsAreInjective(t *testing.T) { eachSuite(t, operationsAreInjective) }

func operationsAreInjective(t *testing.T, suite hash.Suite) {
	sequences := map[string]func(s *Sponge){
		"nothing":      func(s *Sponge) {},
		"0":            func(s *Sponge) { s.Absorb(0) },
		"0 0":          func(s *Sponge) { s.Absorb(0, 0) },
		"eight zeros":  func(s *Sponge) { s.Absorb(make([]field.M31, 8)...) },
		"nine zeros":   func(s *Sponge) { s.Absorb(make([]field.M31, 9)...) },
		"challenge":    func(s *Sponge) { s.Challenges(2) },
		"challenge, 0": func(s *Sponge) { s.Challenge(); s.Absorb(0) },
		"0, challenge": func(s *Sponge) { s.Absorb(0); s.Challenges(2) },
		"empty bytes":  func(s *Sponge) { s.AbsorbBytes(nil) },
		"byte 0":       func(s *Sponge) { s.AbsorbBytes([]byte{0}) },
		"bytes 0 0":    func(s *Sponge) { s.AbsorbBytes([]byte{0, 0}) },
		"fork 0":       func(s *Sponge) { *s = *s.Fork(0) },
		"fork 1":       func(s *Sponge) { *s = *s.Fork(1) },
		"fork 2^48":    func(s *Sponge) { *s = *s.Fork(1 << 48) },
		"fork of fork": func(s *Sponge) { *s = *s.Fork(0).Fork(0) },
		"join fork 0":  func(s *Sponge) { s.Join(s.Fork(0)) },
		"join 0 1":     func(s *Sponge) { s.Join(s.Fork(0), s.Fork(1)) },
		"join 1 0":     func(s *Sponge) { s.Join(s.Fork(1), s.Fork(0)) },
		"nonce 0":      func(s *Sponge) { s.of.EndWork(0, 0) },
		"nonce 1":      func(s *Sponge) { s.of.EndWork(1, 0) },
		"last output again": func(s *Sponge) { // overwriting with the same value must count
			var last [1]field.M31
			s.Clone().of.Draw(last[:])
			s.Absorb(last[:]...)
		},
	}
	seen := map[field.QM31]string{}
	for name, f := range sequences {
		s := New(suite, "test")
		f(s)
		c := s.Challenge()
		if other, ok := seen[c]; ok {
			t.Errorf("%q and %q give the same challenge", name, other)
		}
		seen[c] = name
	}
	if New(suite, "test").Challenge() == New(suite, "test2").Challenge() {
		t.Error("the label does not matter")
	}
}

// TestEveryMessageIsBound flips each limb of a proof and expects another
// challenge or an error.
func TestEveryMessageIsBound(t *testing.T) { eachSuite(t, everyMessageIsBound) }

func everyMessageIsBound(t *testing.T, suite hash.Suite) {
	w := NewWriter(New(suite, "test"))
	w.SendM31(1, 2, 3)
	w.SendQM31(field.NewQM31(4, 5, 6, 7), field.One)
	w.SendDigest(hash.Digest{8, 9})
	want := w.Challenge()
	read := func(b []byte) (field.QM31, error) {
		r := NewReader(New(suite, "test"), b)
		r.M31s(3)
		r.QM31s(2)
		r.Digest()
		return r.Challenge(), r.Done()
	}
	if got, err := read(w.Bytes()); got != want || err != nil {
		t.Fatalf("got %v, %v", got, err)
	}
	for i := range w.Bytes() {
		b := append([]byte(nil), w.Bytes()...)
		b[i] ^= 1
		if got, err := read(b); got == want && err == nil {
			t.Errorf("byte %d is not bound", i)
		}
	}
}

func TestForkLeavesParentAlone(t *testing.T) { eachSuite(t, forkLeavesParentAlone) }

func forkLeavesParentAlone(t *testing.T, suite hash.Suite) {
	a, b := New(suite, "test"), New(suite, "test")
	a.Absorb(5)
	b.Absorb(5)
	c := a.Fork(3)
	c.Absorb(1)
	c.Challenge()
	a.Fork(4)
	if a.Challenge() != b.Challenge() {
		t.Fatal("forking changed the parent")
	}
}

func TestForkJoin(t *testing.T) { eachSuite(t, forkJoin) }

func forkJoin(t *testing.T, suite hash.Suite) {
	w := NewWriter(New(suite, "test"))
	w.SendM31(1)
	var parts [][]byte
	children := make([]*Writer, 3)
	for _, i := range []int{2, 0, 1} { // the order of the work does not matter
		children[i] = w.fork(uint64(i))
		children[i].SendM31(field.M31(i))
		children[i].Challenge()
	}
	for _, c := range children {
		parts = append(parts, c.Bytes())
	}
	w.join(children...)
	want := w.Challenge()

	read := func(parts [][]byte) (field.QM31, error) {
		r := NewReader(New(suite, "test"), w.Bytes())
		r.M31s(1)
		children := make([]*Reader, len(parts))
		for i, p := range parts {
			children[i] = r.fork(uint64(i), p)
			children[i].M31s(1)
			children[i].Challenge()
		}
		r.join(children...)
		return r.Challenge(), r.Done()
	}
	if got, err := read(parts); got != want || err != nil {
		t.Fatalf("got %v, %v; want %v", got, err, want)
	}
	if got, err := read([][]byte{parts[1], parts[0], parts[2]}); got == want && err == nil {
		t.Error("swapped children are accepted")
	}
	if _, err := read([][]byte{parts[0], append(parts[1], 0), parts[2]}); !errors.Is(err, ErrTrailing) {
		t.Errorf("trailing bytes in a child: %v", err)
	}
	if _, err := read([][]byte{parts[0], parts[1], nil}); !errors.Is(err, ErrTruncated) {
		t.Errorf("empty child: %v", err)
	}
}

func TestReaderErrors(t *testing.T) { eachSuite(t, readerErrors) }

func readerErrors(t *testing.T, suite hash.Suite) {
	canonical := []byte{0xfe, 0xff, 0xff, 0x7f} // p − 1
	for name, c := range map[string]struct {
		proof []byte
		read  func(r *Reader)
		want  error
	}{
		"truncated limb":    {canonical[:3], func(r *Reader) { r.M31s(1) }, ErrTruncated},
		"truncated QM31":    {make([]byte, 12), func(r *Reader) { r.QM31() }, ErrTruncated},
		"truncated QM31s":   {make([]byte, 31), func(r *Reader) { r.QM31s(2) }, ErrTruncated},
		"truncated digest":  {make([]byte, 31), func(r *Reader) { r.Digest() }, ErrTruncated},
		"truncated hint":    {nil, func(r *Reader) { r.HintM31s(1) }, ErrTruncated},
		"truncated nonce":   {nil, func(r *Reader) { r.CheckGrind(1) }, ErrTruncated},
		"p":                 {[]byte{0xff, 0xff, 0xff, 0x7f}, func(r *Reader) { r.M31s(1) }, ErrNonCanonical},
		"p in a hint":       {[]byte{0xff, 0xff, 0xff, 0x7f}, func(r *Reader) { r.HintM31s(1) }, ErrNonCanonical},
		"2^31":              {[]byte{0, 0, 0, 0x80}, func(r *Reader) { r.M31s(1) }, ErrNonCanonical},
		"trailing":          {make([]byte, 5), func(r *Reader) { r.M31s(1) }, ErrTrailing},
		"first error stays": {canonical[:3], func(r *Reader) { r.M31s(1); r.Fail(ErrNonce) }, ErrTruncated},
		"caller's error":    {canonical, func(r *Reader) { r.Fail(nil); r.Fail(ErrNonce); r.M31s(9) }, ErrNonce},
		"none":              {canonical, func(r *Reader) { r.M31s(1) }, nil},
	} {
		r := NewReader(New(suite, "test"), c.proof)
		c.read(r)
		if err := r.Done(); !errors.Is(err, c.want) {
			t.Errorf("%s: got %v, want %v", name, err, c.want)
		}
		if c.want != nil && c.want != ErrTrailing {
			if v := r.HintM31s(2); v[0] != 0 || v[1] != 0 {
				t.Errorf("%s: a read after the error gave %v", name, v)
			}
		}
	}
}

func TestGrind(t *testing.T) { eachSuite(t, grind) }

func grind(t *testing.T, suite hash.Suite) {
	const bits = 10
	var nonces [][]byte
	for _, procs := range []int{1, 4} {
		old := runtime.GOMAXPROCS(procs)
		w := NewWriter(New(suite, "test"))
		w.SendM31(7)
		w.Grind(bits)
		runtime.GOMAXPROCS(old)
		nonces = append(nonces, w.Bytes()[LimbBytes:])
	}
	if d := cmp.Diff(nonces[0], nonces[1]); d != "" {
		t.Fatalf("the nonce depends on the number of threads:\n%s", d)
	}
	// The transcript agrees that this nonce works and none before it does.
	fresh := New(suite, "test")
	fresh.Absorb(7)
	nonce := NewReader(New(suite, ""), nonces[0]).HintM31s(1)[0]
	for n := field.M31(0); n <= nonce; n++ {
		if ok := fresh.Clone().of.EndWork(n, bits); ok != (n == nonce) {
			t.Fatalf("nonce %d: accepted %v, sent %d", n, ok, nonce)
		}
	}
	w := NewWriter(New(suite, "test"))
	w.SendM31(7)
	w.HintM31(nonce + 1) // not the smallest; wrong except with probability 2^−10
	r := NewReader(New(suite, "test"), w.Bytes())
	r.M31s(1)
	r.CheckGrind(bits)
	if !errors.Is(r.Done(), ErrNonce) {
		t.Errorf("wrong nonce: %v", r.Done())
	}
}

// TestIndicesAreUniform draws from a small range; each of 8 values is hit
// about 1,000 times with a standard deviation of about 30.
func TestIndicesAreUniform(t *testing.T) { eachSuite(t, indicesAreUniform) }

func indicesAreUniform(t *testing.T, suite hash.Suite) {
	s := New(suite, "test")
	var count [8]int
	for _, i := range s.Indices(8000, 3) {
		count[i]++
	}
	for v, c := range count {
		if c < 850 || c > 1150 {
			t.Errorf("value %d drawn %d times of 8000", v, c)
		}
	}
	var or, and uint64 = 0, 1<<maxIndexBits - 1
	for _, i := range s.Indices(200, maxIndexBits) {
		or, and = or|i, and&i
	}
	if or != 1<<maxIndexBits-1 || and != 0 {
		t.Errorf("bits that are never 0 or never 1: or %#x and %#x", or, and)
	}
}

func FuzzReader(f *testing.F) {
	w := NewWriter(New(hash.Poseidon2, "fuzz"))
	w.SendQM31(field.One)
	w.Grind(2)
	w.HintM31(1, 2)
	f.Add([]byte{}, w.Bytes())
	f.Add([]byte{0, 1, 2, 3, 4, 5, 6}, w.Bytes())
	b := NewWriter(New(hash.Blake3, "fuzz"))
	b.SendQM31(field.One)
	b.Grind(2)
	b.HintDigest(hash.Digest{1<<32 - 1, field.P})
	f.Add([]byte{15, 20, 2}, b.Bytes())
	f.Fuzz(func(t *testing.T, ops, proof []byte) {
		for _, suite := range hash.All() {
			fuzzReader(t, suite, ops, proof)
		}
	})
}

func fuzzReader(t *testing.T, suite hash.Suite, ops, proof []byte) {
	r := NewReader(New(suite, "fuzz"), proof)
	for _, op := range ops {
		n := int(op >> 3)
		var all []field.M31
		switch op & 7 {
		case 0:
			all = r.M31s(n)
		case 1:
			for _, q := range r.QM31s(n) {
				l := q.Limbs()
				all = append(all, l[:]...)
			}
		case 2:
			d := r.Digest()
			if suite.ElementDigests() {
				for _, w := range d {
					all = append(all, field.M31(w))
				}
			}
		case 3:
			all = r.HintM31s(n)
		case 4:
			r.CheckGrind(n % (MaxGrindBits + 1))
		case 5:
			r.Indices(n, n)
		case 6:
			c := r.fork(uint64(n), proof[:len(proof)/2])
			c.M31s(n)
			r.join(c)
		case 7:
			r.QM31()
		}
		for _, v := range all {
			if v >= field.P {
				t.Fatalf("limb %d is not canonical", v)
			}
		}
	}
	if err := r.Done(); err == nil && r.Remaining() != 0 {
		t.Fatal("Done accepts bytes left over")
	}
}

// TestRoom has proofs go on in other memory, more than they have and less.
func TestRoom(t *testing.T) { eachSuite(t, room) }

func room(t *testing.T, suite hash.Suite) {
	for _, bytes := range []int{0, 1 << 20, 3<<20 + 1} {
		plain, moved := NewWriter(New(suite, "room")), NewWriter(New(suite, "room"))
		for _, w := range []*Writer{plain, moved} {
			w.SendM31(1, 2, 3)
		}
		moved.MoveTo(NewRoom(bytes))
		if bytes > 0 && cap(moved.Bytes()) < bytes {
			t.Errorf("room for %d bytes of %d", cap(moved.Bytes()), bytes)
		}
		long := make([]field.M31, 400_000)
		for i := range long {
			long[i] = field.M31(i)
		}
		for _, w := range []*Writer{plain, moved} {
			w.HintLeaves([][]field.M31{long, long})
		}
		moved.MoveTo(NewRoom(1 << 20)) // which is less
		for _, w := range []*Writer{plain, moved} {
			w.SendM31(4)
		}
		if !slices.Equal(plain.Bytes(), moved.Bytes()) || plain.Challenge() != moved.Challenge() {
			t.Errorf("another proof in room for %d bytes", bytes)
		}
	}
}

// TestLastMessageCounts: what was sent last before a proof of work, a fork and a join is bound by them, and so is what a child
// sends after its last challenge. Else a prover could send another message there and keep its work, or its children.
func TestLastMessageCounts(t *testing.T) { eachSuite(t, lastMessageCounts) }

func lastMessageCounts(t *testing.T, suite hash.Suite) {
	sent := func(last field.M31) *Sponge {
		s := New(suite, "test")
		s.Challenge()
		s.Absorb(last)
		return s
	}
	const bits = 8
	a, b := sent(1), sent(2)
	nonce := field.M31(SearchNonce(a.of.Work(bits)))
	if !a.Clone().of.EndWork(nonce, bits) {
		t.Fatal("a nonce that was found does not do the work")
	}
	served := 0
	for last := field.M31(2); last < 102; last++ {
		if sent(last).of.EndWork(nonce, bits) {
			served++
		}
	}
	if served > 6 { // 0.4 on average
		t.Errorf("the nonce for one message does the work for %d of 100 others", served)
	}
	if a.of.Work(bits) == b.of.Work(bits) {
		t.Error("work: the last message does not matter")
	}
	if sent(1).Fork(0).Challenge() == sent(2).Fork(0).Challenge() {
		t.Error("fork: the parent's last message does not matter")
	}
	joined := func(parent, end field.M31) field.QM31 {
		s := sent(parent)
		child := sent(7).Fork(0) // of the same parent, so that its end alone counts
		child.Challenge()
		child.Absorb(end)
		s.Join(child)
		return s.Challenge()
	}
	if joined(1, 3) == joined(2, 3) {
		t.Error("join: the parent's last message does not matter")
	}
	if joined(1, 3) == joined(1, 4) {
		t.Error("join: what a child sends after its last challenge does not matter")
	}
}

// TestDrawsMoveOn: a draw that follows a draw gives something else, and what was not read of one is gone once something is
// absorbed.
func TestDrawsMoveOn(t *testing.T) { eachSuite(t, drawsMoveOn) }

func drawsMoveOn(t *testing.T, suite hash.Suite) {
	s := New(suite, "test")
	first := s.Clone().Challenge()
	if one, two := s.Challenge(), s.Challenge(); one == two {
		t.Error("two draws are the same")
	}
	s = New(suite, "test")
	s.Challenge()
	s.Absorb(1)
	rest := s.Challenge()
	if two := New(suite, "test").Challenges(2); two[0] != first || two[1] == rest {
		t.Errorf("challenges %v and %v in one draw; %v, and %v behind a message, in two", two[0], two[1], first, rest)
	}
	if s := New(suite, "test"); len(s.Challenges(0)) > 0 || s.Challenge() != first {
		t.Error("no challenges are a draw")
	}
}

// fork returns a child with an empty proof of its own.
func (w *Writer) fork(index uint64) *Writer { return NewWriter(w.Sponge.Fork(index)) }

// join absorbs the children's states in the order given. Their proofs stay their own.
func (w *Writer) join(children ...*Writer) {
	sponges := make([]*Sponge, len(children))
	for i, c := range children {
		sponges[i] = c.Sponge
	}
	w.Sponge.Join(sponges...)
}

// fork returns a child that reads a proof of its own. It starts with the parent's error.
func (r *Reader) fork(index uint64, proof []byte) *Reader {
	c := NewReader(r.Sponge.Fork(index), proof)
	c.err = r.err
	return c
}

// join absorbs the children's states in the order given. It fails if a child has failed or has bytes left over.
func (r *Reader) join(children ...*Reader) {
	sponges := make([]*Sponge, len(children))
	for i, c := range children {
		r.Fail(c.Done())
		sponges[i] = c.Sponge
	}
	r.Sponge.Join(sponges...)
}
