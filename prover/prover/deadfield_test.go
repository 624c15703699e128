package prover

import (
	"bytes"
	"math/rand/v2"
	"reflect"
	"regexp"
	"slices"
	"testing"

	"github.com/prove-model/prove-model/prover/circuit/model"
	"github.com/prove-model/prove-model/prover/math/ints"
	"github.com/prove-model/prove-model/prover/proof"
	"github.com/prove-model/prove-model/prover/verifier"
)

// deadField is a field of a key that a verifier does not hold a proof against, with the
// reason why it may be. Whatever else is changed in a key is refused, or makes an
// honest proof fail, even where the key's digest is not looked at.
type deadField struct{ path, why string }

var (
	deadNames = deadField{`^Circuit\.Graph(\.\w+\[\d+\])?\.Name$`, "names are for messages"}
	deadFrac  = deadField{`^Circuit\.Graph\.Tensors\[\d+\]\.(Frac|Numbers)$`, "what the integers that a proof is about stand for: only people read it"}
	deadRange = deadField{`^Circuit\.Graph\.Tensors\[\d+\]\.(Min|Max)$`,
		"bounds that the issuer vouches for; the entries of inputs and outputs are held against theirs, and these lie within"}
)

// TestDeadFields changes every field of a key, in several ways, keeps its
// digest, and verifies an honest proof of the original. What is accepted must be
// listed, or say the same thing in another way.
func TestDeadFields(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(31, 32))
	b := everything(rng)
	if unread := b.virtual([]int{2, 10}, model.Linear{Coef: 3, Src: b.find("quotient"), View: &model.View{Groups: []model.Group{
		{Out: []int{0}, Strides: []int{0}}, axis(1, 0)}}}); unread != 30 {
		t.Fatalf("tensor %d is the one that nothing reads", unread)
	}
	b.g.Finish(100)
	p := b.prove(t, rng, proof.Security{TargetBits: 30, GrindBits: 2})
	deadFields(t, p, 1000, 300, deadNames, deadFrac, deadRange,
		deadField{`^Circuit\.Graph\.Tensors(\[30\]\.(Shape|Def)\b|$)`, "a virtual tensor that nothing reads; the quantiser may leave some"})
}

// TestDeadFieldsOfTemplates does so with a key that has a free dimension.
func TestDeadFieldsOfTemplates(t *testing.T) {
	t.Parallel()
	p := proveLayers(t, 3)
	deadFields(t, p, 600, 150, deadNames, deadFrac, deadRange,
		deadField{`^Circuit\.Graph\.Tensors$`, "a virtual tensor more that nothing reads"},
		deadField{`^Circuit\.Free\[0\]\.Name$`, "names are for messages"},
		deadField{`^Circuit\.Free\[0\]\.Bound$`, "up to where the issuer vouches; the size that a proof is about is held against it, and lies within"})
}

// deadFields changes the fields of a proof's key. If all changes are tried, at least so many must be
// refused, and so many make the proof fail.
func deadFields(t *testing.T, p proved, leastRefused, leastFailed int, dead ...deadField) {
	t.Helper()
	file, err := proof.EncodeKey(p.key)
	if err != nil {
		t.Fatal(err)
	}
	decode := func() *proof.Key {
		key, err := proof.DecodeKey(file)
		if err != nil {
			t.Fatal(err)
		}
		return key
	}
	used := make([]bool, len(dead))
	refused, failed, same := 0, 0, 0
	original, key := decode(), decode()
	all := fields(reflect.ValueOf(key).Elem(), "")
	undo := func() {}
	each := 1
	if !*full {
		each, leastRefused, leastFailed = 3, leastRefused/4, leastFailed/4
	}
	for i, f := range all {
		// One change in three of every field, another one than of its neighbours.
		for k := i % each; ; k += each {
			undo()
			if undo = vary(f.value, k); undo == nil {
				undo = func() {}
				break
			}
			path := f.path[1:]
			changed, err := proof.EncodeKey(key)
			if err != nil {
				refused++
				continue
			}
			if bytes.Equal(changed, file) {
				continue
			}
			altered, err := proof.DecodeKey(changed) // which forgets the plan of the key before
			if err != nil {
				refused++
				continue
			}
			altered.Digest = p.key.Digest
			if _, err = verifier.Verify(altered, bytes.NewReader(p.proof)); err != nil {
				failed++
				continue
			}
			at := slices.IndexFunc(dead, func(d deadField) bool { return regexp.MustCompile(d.path).MatchString(path) })
			switch {
			case at >= 0:
				used[at] = true
			case means(key.Circuit.Graph, original.Circuit.Graph) && sameRest(key, original):
				same++
			default:
				t.Errorf("%s: accepted with %v", path, f.value)
			}
		}
	}
	if back, err := proof.EncodeKey(key); err != nil || !bytes.Equal(back, file) {
		t.Fatalf("the key is not what it was: %v", err)
	}
	t.Logf("%d fields: %d changes refused, %d make the proof fail, %d change no meaning", len(all), refused, failed, same)
	if refused < leastRefused || failed < leastFailed {
		t.Error("too few changes were tried")
	}
	for i, d := range dead {
		if *full && !used[i] {
			t.Errorf("nothing that matches %s is accepted: the list is too long", d.path)
		}
	}
}

// vary changes v in the k-th way and returns what undoes it, nil if there are not as
// many.
func vary(v reflect.Value, k int) (undo func()) {
	var ways []func()
	set := func(f func()) { ways = append(ways, f) }
	before := reflect.New(v.Type()).Elem()
	before.Set(v)
	undo = func() { v.Set(before) }
	switch v.Kind() {
	case reflect.Slice:
		n := v.Len()
		set(func() { v.Set(reflect.Append(v.Slice3(0, n, n), reflect.Zero(v.Type().Elem()))) })
		if n > 0 {
			set(func() { v.Set(v.Slice(0, n-1)) })
			set(func() { v.Set(v.Slice(1, n)) })
			set(func() { v.Set(reflect.Append(v.Slice3(0, n, n), v.Index(n-1))) })
			set(func() {
				swap := reflect.Swapper(v.Interface())
				swap(0, n-1)
				undo = func() { swap(0, n-1) }
			})
		}
	case reflect.Ptr:
		set(func() {
			if v.IsNil() {
				v.Set(reflect.New(v.Type().Elem()))
			} else {
				v.SetZero()
			}
		})
	case reflect.String:
		set(func() { v.SetString(v.String() + "'") })
	case reflect.Bool:
		set(func() { v.SetBool(!v.Bool()) })
	case reflect.Uint8, reflect.Uint32:
		x := v.Uint()
		for _, y := range []uint64{x + 1, x + 2, x - 1} {
			set(func() { v.SetUint(y) })
		}
	default:
		x := v.Int()
		for _, y := range []int64{x + 1, x - 1, 0, -x, 2*x + 5} {
			set(func() { v.SetInt(y) })
		}
	}
	if k >= len(ways) {
		return nil
	}
	ways[k]()
	return undo
}

// means reports whether two graphs of the same tensors say the same: their sums
// of views agree on random tensors and on zeros, their tables on all keys, and
// the rest is equal. So summands and groups may change places, a sum may run
// beyond its axis, pieces may meet elsewhere, and what fills no entry may be
// anything.
func means(a, b *model.Graph) bool {
	if len(a.Tensors) != len(b.Tensors) || len(a.Tables) != len(b.Tables) || len(a.Steps) != len(b.Steps) {
		return false
	}
	a, b = withRandomIds(a), withRandomIds(b)
	x, y := *a, *b
	for _, g := range []*model.Graph{&x, &y} {
		g.Tensors, g.Tables, g.Steps = slices.Clone(g.Tensors), slices.Clone(g.Tables), slices.Clone(g.Steps)
		for i := range g.Tensors {
			g.Tensors[i].Def = nil
		}
		for i := range g.Tables {
			g.Tables[i].Pieces = nil
		}
		for i := range g.Steps {
			g.Steps[i].Acc.Linear = nil
		}
	}
	if !reflect.DeepEqual(x, y) {
		return false
	}
	for i := range a.Tensors {
		if !slices.Equal(sums(a, a.Tensors[i].Def, a.Tensors[i].Shape), sums(b, b.Tensors[i].Def, b.Tensors[i].Shape)) {
			return false
		}
	}
	for i := range a.Steps {
		if !slices.Equal(sums(a, a.Steps[i].Acc.Linear, a.Steps[i].Shape), sums(b, b.Steps[i].Acc.Linear, b.Steps[i].Shape)) {
			return false
		}
	}
	for i := range a.Tables {
		for row := range int64(1) << a.Tables[i].Bits {
			if t := &a.Tables[i]; t.Kind == model.TablePiecewise && t.Value(t.Min+row, nil) != b.Tables[i].Value(t.Min+row, nil) {
				return false
			}
		}
	}
	return true
}

// withRandomIds puts indexes in the place of public ones.
func withRandomIds(g *model.Graph) *model.Graph {
	in := make([][]int32, len(g.Inputs))
	for i, id := range g.Inputs {
		t, rng := &g.Tensors[id], rand.New(rand.NewPCG(uint64(id), 2))
		in[i] = make([]int32, model.Size(t.Shape))
		for j := range in[i] {
			in[i][j] = int32(t.Min + rng.Int64N(t.Max-t.Min+1))
		}
	}
	return g.WithIds(in)
}

// sums evaluates summands on random sources, then on zeros.
func sums(g *model.Graph, terms []model.Linear, shape []int) []int64 {
	acc := make([]int64, 2*model.Size(shape))
	for _, l := range terms {
		in := g.Tensors[l.Src].Shape
		src := make([]int32, model.Size(in))
		l.View.Accumulate(acc[len(acc)/2:], l.Coef, ints.Int32s(src), in, shape)
		rng := rand.New(rand.NewPCG(uint64(l.Src), 1))
		for i := range src {
			src[i] = rng.Int32N(1 << 20)
		}
		l.View.Accumulate(acc[:len(acc)/2], l.Coef, ints.Int32s(src), in, shape)
	}
	return acc
}

// sameRest reports whether two keys differ in nothing but the graphs of their
// circuits.
func sameRest(a, b *proof.Key) bool {
	rest := func(k *proof.Key) any {
		return proof.Key{Circuit: &model.Template{Free: k.Circuit.Free}, Trees: k.Trees, Security: k.Security}
	}
	return reflect.DeepEqual(rest(a), rest(b))
}
