package sumcheck

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"testing"

	"github.com/prove-model/prove-model/prover/math/field"
	"github.com/prove-model/prove-model/prover/math/hash"
	"github.com/prove-model/prove-model/prover/math/poly"
	"github.com/prove-model/prove-model/prover/math/transcript"
	"pgregory.net/rapid"
)

func randomQM31(rng *rand.Rand) field.QM31 {
	limb := func() field.M31 { return field.M31(rng.Uint32N(field.P)) }
	return field.NewQM31(limb(), limb(), limb(), limb())
}

func randomVec(rng *rand.Rand, n int) []field.QM31 {
	v := make([]field.QM31, n)
	for i := range v {
		v[i] = randomQM31(rng)
	}
	return v
}

// A size is an instance's number of variables and of eq variables among them.
type size struct{ vars, eq int }

// An instance is a claim with its witness.
type instance struct {
	Instance
	Claim field.QM31
}

// randomInstance returns a true claim, computed by the definition. Some eq
// coordinates are Boolean: a point of a claim may select an index.
func randomInstance(rng *rand.Rand, s size) instance {
	in := instance{Instance: Instance{A: randomVec(rng, 1<<s.vars), B: randomVec(rng, 1<<s.vars), Eq: randomVec(rng, s.eq)}}
	for j := range in.Eq {
		switch rng.IntN(6) {
		case 0:
			in.Eq[j] = field.Zero
		case 1:
			in.Eq[j] = field.One
		}
	}
	for x := range in.A {
		eq := poly.EqIndex(in.Eq, uint64(x>>(s.vars-s.eq)))
		in.Claim = in.Claim.Add(eq.Mul(in.A[x]).Mul(in.B[x]))
	}
	return in
}

func clone(insts []instance) []Instance {
	c := make([]Instance, len(insts))
	for i, in := range insts {
		c[i].Eq = in.Eq
		c[i].A = append([]field.QM31(nil), in.A...)
		c[i].B = append([]field.QM31(nil), in.B...)
	}
	return c
}

func shapes(insts []instance) []Shape {
	s := make([]Shape, len(insts))
	for i, in := range insts {
		vars := 0
		for 1<<vars < len(in.A) {
			vars++
		}
		s[i] = Shape{Claim: transcript.Known(in.Claim), NumVars: vars, Eq: in.Eq}
	}
	return s
}

func sponge(claims []Shape) *transcript.Sponge {
	s := transcript.New(hash.Poseidon2, "sumcheck test")
	for _, c := range claims {
		s.AbsorbQM31(c.Claim.Plain())
		s.AbsorbQM31(c.Eq...)
	}
	return s
}

// prove leaves the instances as they are.
func prove(insts []instance) ([]byte, []Final) {
	w := transcript.NewWriter(sponge(shapes(insts)))
	finals, err := Prove(context.Background(), w, shapes(insts), NewTables(clone(insts)))
	if err != nil {
		panic(err) // tables in memory have no errors
	}
	return w.Bytes(), finals
}

// verify runs the verifier and the checks that are the caller's: every final
// value is the evaluation of its table.
func verify(proof []byte, claims []Shape, insts []instance) error {
	r := transcript.NewReader(sponge(claims), proof)
	finals := Verify(r, claims)
	if err := r.Done(); err != nil {
		return err
	}
	for i, f := range finals {
		if poly.Eval(insts[i].A, f.Point) != f.A.Plain() || poly.Eval(insts[i].B, f.Point) != f.B.Plain() {
			return fmt.Errorf("instance %d: wrong evaluation", i)
		}
	}
	return nil
}

var sizes = rapid.SliceOfN(rapid.Custom(func(t *rapid.T) size {
	vars := rapid.IntRange(0, 8).Draw(t, "vars")
	return size{vars, rapid.IntRange(0, vars).Draw(t, "eq")}
}), 0, 6)

func randomInstances(t *rapid.T) (*rand.Rand, []instance) {
	rng := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 0))
	var insts []instance
	for _, s := range sizes.Draw(t, "sizes") {
		insts = append(insts, randomInstance(rng, s))
	}
	return rng, insts
}

func TestHonest(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		_, insts := randomInstances(t)
		proof, finals := prove(insts)
		if err := verify(proof, shapes(insts), insts); err != nil {
			t.Fatal(err)
		}
		for i, f := range finals {
			if f.A.Plain() != poly.Eval(insts[i].A, f.Point) || f.B.Plain() != poly.Eval(insts[i].B, f.Point) {
				t.Fatalf("the prover's own final of instance %d is wrong", i)
			}
		}
	})
}

// TestLarge crosses the limits at which a round is cut into tasks and tiles.
func TestLarge(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	var insts []instance
	for _, s := range []size{{14, 14}, {13, 0}, {12, 3}, {13, 9}, {2, 1}, {0, 0}, {5, 5}, {5, 0}} {
		insts = append(insts, randomInstance(rng, s))
	}
	proof, _ := prove(insts)
	if err := verify(proof, shapes(insts), insts); err != nil {
		t.Fatal(err)
	}
}

// TestThreads: the bytes do not depend on the number of threads.
func TestThreads(t *testing.T) {
	rng := rand.New(rand.NewPCG(15, 16))
	var insts []instance
	for _, s := range []size{{13, 13}, {12, 0}, {12, 2}, {1, 1}} {
		insts = append(insts, randomInstance(rng, s))
	}
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	want, _ := prove(insts)
	for _, procs := range []int{2, 3, 7} {
		runtime.GOMAXPROCS(procs)
		if got, _ := prove(insts); !bytes.Equal(got, want) {
			t.Errorf("%d threads give another proof than one", procs)
		}
	}
}

// TestProofLength: two values a round while all is quadratic, three while an
// eq variable is unbound in some active instance, two finals an instance.
func TestProofLength(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	for _, c := range []struct {
		sizes  []size
		values int
	}{
		{[]size{{0, 0}}, 2},
		{[]size{{5, 0}}, 5*2 + 2},
		{[]size{{5, 5}}, 5*3 + 2},
		{[]size{{5, 2}}, 2*3 + 3*2 + 2},
		{[]size{{6, 0}, {4, 1}, {0, 0}}, 2*2 + 1*3 + 3*2 + 6},
	} {
		var insts []instance
		for _, s := range c.sizes {
			insts = append(insts, randomInstance(rng, s))
		}
		proof, _ := prove(insts)
		if len(proof) != 16*c.values {
			t.Errorf("%v: %d bytes, want %d values", c.sizes, len(proof), c.values)
		}
	}
}

// TestFalseClaim: the honest prover's algorithm on claims of which some are
// wrong, in ways meant to cancel.
func TestFalseClaim(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rng, insts := randomInstances(t)
		if len(insts) == 0 {
			return
		}
		i, k := rng.IntN(len(insts)), rng.IntN(len(insts))
		delta := randomQM31(rng)
		insts[i].Claim = insts[i].Claim.Add(delta)
		if k != i {
			insts[k].Claim = insts[k].Claim.Sub(delta)
		}
		proof, _ := prove(insts)
		if verify(proof, shapes(insts), insts) == nil {
			t.Fatal("a false claim was accepted")
		}
	})
}

// TestWaitingInstance is the attack on late joining: two instances with wrong
// claims, the first of which sends constant round polynomials so that its
// error shrinks by a half each round, meant to cancel the other's when that
// joins. It works for γ known beforehand; γ is drawn after the claims.
func TestWaitingInstance(t *testing.T) {
	zero := func(n int) []field.QM31 { return make([]field.QM31, n) }
	insts := []instance{{Instance: Instance{A: zero(8), B: zero(8)}}, {Instance: Instance{A: zero(1), B: zero(1)}}}
	attack := func(gamma field.QM31) ([]byte, []Shape) {
		// γ⁰·8 + γ·c = 0 after three halvings: 1 + γ·c = 0.
		insts[0].Claim = field.FromM31(8)
		insts[1].Claim = gamma.Inv().Neg()
		claims := shapes(insts)
		w := transcript.NewWriter(sponge(claims))
		w.Challenge()
		for _, constant := range []field.M31{4, 2, 1} {
			w.SendQM31(field.FromM31(constant), field.Zero)
			w.Challenge()
		}
		w.SendQM31(field.Zero, field.Zero, field.Zero, field.Zero)
		return w.Bytes(), claims
	}
	gamma := field.NewQM31(1, 2, 3, 4)
	for range 3 {
		proof, claims := attack(gamma)
		r := transcript.NewReader(sponge(claims), proof)
		Verify(r, claims)
		if !errors.Is(r.Done(), ErrFinal) {
			t.Fatalf("got %v, want %v", r.Done(), ErrFinal)
		}
		gamma = sponge(claims).Challenge() // the γ of the attempt before
	}
}

func TestSwappedClaims(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	insts := []instance{randomInstance(rng, size{4, 2}), randomInstance(rng, size{4, 2})}
	insts[0].Claim, insts[1].Claim = insts[1].Claim, insts[0].Claim
	proof, _ := prove(insts)
	if verify(proof, shapes(insts), insts) == nil {
		t.Fatal("exchanged claims were accepted")
	}
}

// TestAlteredProof changes every value of a proof in turn. A change of a final
// value that keeps the product is caught by the evaluation check.
func TestAlteredProof(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 8))
	var insts []instance
	for _, s := range []size{{5, 5}, {4, 0}, {3, 1}, {0, 0}} {
		insts = append(insts, randomInstance(rng, s))
	}
	proof, _ := prove(insts)
	claims := shapes(insts)
	for i := range proof {
		altered := append([]byte(nil), proof...)
		altered[i] ^= 1 << rng.IntN(7)
		if verify(altered, claims, insts) == nil {
			t.Errorf("byte %d altered: accepted", i)
		}
	}
	for n := range proof {
		if verify(proof[:n], claims, insts) == nil {
			t.Errorf("the first %d of %d bytes were accepted", n, len(proof))
		}
	}
	if verify(append(proof[:len(proof):len(proof)], 0, 0, 0, 0), claims, insts) == nil {
		t.Error("a longer proof was accepted")
	}
}

// TestScaledFinals: A·s and B/s satisfy the sum; only the caller's check of
// the evaluations can tell, and does.
func TestScaledFinals(t *testing.T) {
	rng := rand.New(rand.NewPCG(9, 10))
	insts := []instance{randomInstance(rng, size{3, 2})}
	claims := shapes(insts)
	proof, finals := prove(insts)
	w := transcript.NewWriter(transcript.New(hash.Poseidon2, "scratch"))
	s := randomQM31(rng)
	w.SendQM31(finals[0].A.Plain().Mul(s), finals[0].B.Plain().Mul(s.Inv()))
	forged := append(proof[:len(proof)-32:len(proof)-32], w.Bytes()...)
	r := transcript.NewReader(sponge(claims), forged)
	Verify(r, claims)
	if err := r.Done(); err != nil {
		t.Fatalf("the sum itself should hold: %v", err)
	}
	if verify(forged, claims, insts) == nil {
		t.Fatal("scaled evaluations were accepted")
	}
}

// TestChallengesBind: another claim, eq point or earlier message gives other
// challenges.
func TestChallengesBind(t *testing.T) {
	rng := rand.New(rand.NewPCG(11, 12))
	a := []instance{randomInstance(rng, size{4, 2})}
	_, first := prove(a)
	a[0].Claim = a[0].Claim.AddM31(1)
	_, second := prove(a)
	for j := range first[0].Point {
		if first[0].Point[j] == second[0].Point[j] {
			t.Errorf("challenge %d does not depend on the claim", j)
		}
	}
}

// cancels ends a context in a pass.
type cancels struct {
	Tables
	cancel func()
	passes int // until then
}

func (c *cancels) Round(ctx context.Context, round int, r field.QM31) ([]Sums, error) {
	if c.passes--; c.passes < 0 {
		c.cancel()
	}
	return c.Tables.Round(ctx, round, r)
}

// TestCancelled: a context that ends stops the prover at its next pass.
func TestCancelled(t *testing.T) {
	insts := []instance{randomInstance(rand.New(rand.NewPCG(19, 20)), size{5, 2})}
	for passes := range 6 {
		ctx, cancel := context.WithCancel(context.Background())
		tables := &cancels{NewTables(clone(insts)), cancel, passes}
		_, err := Prove(ctx, transcript.NewWriter(sponge(shapes(insts))), shapes(insts), tables)
		if ended := passes < 5; errors.Is(err, context.Canceled) != ended {
			t.Errorf("cancelled in pass %d of 5: %v", passes, err)
		}
		cancel()
	}
}

func TestPanics(t *testing.T) {
	vec := func(n int) []field.QM31 { return make([]field.QM31, n) }
	for name, f := range map[string]func(){
		"lengths":  func() { NewTables([]Instance{{A: vec(4), B: vec(2)}}) },
		"no power": func() { NewTables([]Instance{{A: vec(3), B: vec(3)}}) },
		"empty":    func() { NewTables([]Instance{{}}) },
		"eq":       func() { NewTables([]Instance{{A: vec(2), B: vec(2), Eq: vec(2)}}) },
		"prover": func() {
			_, _ = Prove(context.Background(), transcript.NewWriter(transcript.New(hash.Poseidon2, "")), []Shape{{NumVars: 1, Eq: vec(2)}}, nil)
		},
		"verifier": func() {
			Verify(transcript.NewReader(transcript.New(hash.Poseidon2, ""), nil), []Shape{{NumVars: 1, Eq: vec(2)}})
		},
	} {
		t.Run(name, func(t *testing.T) {
			defer func() {
				if recover() == nil {
					t.Error("accepted")
				}
			}()
			f()
		})
	}
}

func benchmark(b *testing.B, sizes ...size) {
	rng := rand.New(rand.NewPCG(13, 14))
	insts := make([]instance, len(sizes))
	for i, s := range sizes {
		insts[i].Instance = Instance{A: randomVec(rng, 1<<s.vars), B: randomVec(rng, 1<<s.vars), Eq: randomVec(rng, s.eq)}
	}
	for b.Loop() {
		b.StopTimer()
		work := clone(insts)
		b.StartTimer()
		if _, err := Prove(context.Background(), transcript.NewWriter(transcript.New(hash.Poseidon2, "bench")), shapes(insts), NewTables(work)); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkProveEq(b *testing.B)    { benchmark(b, size{18, 18}) }
func BenchmarkProvePlain(b *testing.B) { benchmark(b, size{18, 0}) }

// BenchmarkProveMany is a large network's worth of small sites.
func BenchmarkProveMany(b *testing.B) {
	var s []size
	for i := range 400 {
		s = append(s, size{2 + i%11, i % 3})
	}
	benchmark(b, s...)
}

// FuzzVerify: arbitrary bytes never prove a false claim and never panic.
func FuzzVerify(f *testing.F) {
	rng := rand.New(rand.NewPCG(17, 18))
	insts := []instance{randomInstance(rng, size{3, 2}), randomInstance(rng, size{1, 0}), randomInstance(rng, size{0, 0})}
	proof, _ := prove(insts)
	f.Add(proof)
	insts[0].Claim = insts[0].Claim.AddM31(1)
	proof, _ = prove(insts)
	f.Add(proof)
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, proof []byte) {
		if verify(proof, shapes(insts), insts) == nil {
			t.Error("accepted")
		}
	})
}

// BenchmarkProveTail is what is left of a sumcheck on a GPU when the host takes over.
func BenchmarkProveTail(b *testing.B) { benchmark(b, size{7, 0}) }
