package main

import (
	"bytes"
	"math/rand/v2"
	"reflect"

	"github.com/prove-model/prove-model/internal/must"
	"github.com/prove-model/prove-model/internal/schema"
	"github.com/prove-model/prove-model/prover/proof"
)

// A mutation is a key as a message of the schema, which can be changed to one that describes no valid circuit.
type mutation struct {
	rng  *rand.Rand
	head []byte // of the key's file: magic and version
	key  *schema.Key
	what []string // the changes so far
}

func newMutation(file []byte, rng *rand.Rand) *mutation {
	n := len(proof.KeyMagic) + 4
	m := &mutation{rng: rng, head: file[:n], key: &schema.Key{}}
	must.OK(schema.Decode(file[n:], m.key))
	// Proofs with few bits of security are short, and test a verifier as well.
	if rng.IntN(8) > 0 {
		m.key.Security.TargetBits, m.key.Security.GrindBits = uint32(20+rng.IntN(20)), uint32(8+rng.IntN(3))
	}
	return m
}

func (m *mutation) encode() []byte { return schema.Append(bytes.Clone(m.head), m.key) }

// change applies one of shapes, or changes any field of the key.
func (m *mutation) change() {
	if m.key.Graph != nil && m.rng.IntN(3) > 0 {
		for range 20 {
			if shape := pick(m, shapes); m.applied(shape.apply) {
				m.what = append(m.what, shape.name)
				return
			}
		}
	}
	m.field(m.key)
}

// A site is a field of some message.
type site struct {
	name  string
	value reflect.Value
}

// field changes a field of a message or of the messages in it. It first draws the kind of field and then one of that kind. So fields of
// messages in long lists are not drawn more often than others.
func (m *mutation) field(of any) {
	kinds := map[string][]site{}
	var names []string
	var walk func(v reflect.Value)
	walk = func(v reflect.Value) {
		v = v.Elem()
		for i := range v.NumField() {
			name := v.Type().Name() + "." + v.Type().Field(i).Name
			if kinds[name] == nil {
				names = append(names, name)
			}
			kinds[name] = append(kinds[name], site{name, v.Field(i)})
			switch at := v.Field(i); {
			case at.Kind() == reflect.Pointer && !at.IsNil():
				walk(at)
			case at.Kind() == reflect.Slice && at.Type().Elem().Kind() == reflect.Pointer:
				for j := range at.Len() {
					walk(at.Index(j))
				}
			}
		}
	}
	walk(reflect.ValueOf(of))
	sites := kinds[names[m.rng.IntN(len(names))]]
	s := sites[m.rng.IntN(len(sites))]
	m.what = append(m.what, s.name)
	m.value(s.value)
}

// names are names with characters that implementations may treat differently, such as those that are not in all versions of Unicode.
var names = []string{"", "a", "\n", "é", "\u00a0", "\u200b", "\u202e", "\ufeff", "\u0378", "\u1c89", "\U0001e6c0", "\U00016d40", "\U0001fadf", "\ue000", "\U000e0001",
	"\U000e0100", "\U0002ebf0", "\U00031350", "\U000323b0", "\u2fff", "\u31ef", "\U00040000", "\U0010ffff", "\u3000", "\u00ad", "\U00013430", "\U00013440",
	"\uffff", "\ufdd0", "\u2065", "\u115f", "\U000110bd", "\x7f", "\u0600", "a\u0301", "\u180e", "\U0001d173"}

// value changes a value: a number by a little or a lot, a list in one element, a message by adding or clearing it.
func (m *mutation) value(v reflect.Value) {
	r := m.rng
	switch v.Kind() {
	case reflect.String:
		v.SetString(v.String() + names[r.IntN(len(names))])
	case reflect.Pointer:
		if v.IsNil() || r.IntN(4) > 0 && !v.Elem().IsZero() {
			v.Set(reflect.New(v.Type().Elem()))
			return
		}
		v.SetZero()
	case reflect.Slice:
		n := v.Len()
		switch k := r.IntN(5); {
		case n == 0:
			e := reflect.New(v.Type().Elem()).Elem()
			if e.Kind() == reflect.Pointer {
				e.Set(reflect.New(e.Type().Elem()))
			}
			v.Set(reflect.Append(v, e))
		case k == 0:
			at := r.IntN(n)
			v.Set(reflect.AppendSlice(v.Slice3(0, at, at), v.Slice(at+1, n)))
		case k == 1:
			v.Set(reflect.Append(v.Slice3(0, n, n), v.Index(r.IntN(n))))
		case k == 2:
			reflect.Swapper(v.Interface())(r.IntN(n), r.IntN(n))
		default:
			if e := v.Index(r.IntN(n)); e.Kind() != reflect.Pointer {
				m.value(e)
			} else {
				reflect.Swapper(v.Interface())(r.IntN(n), r.IntN(n))
			}
		}
	case reflect.Uint8:
		v.SetUint(uint64(r.IntN(256)))
	case reflect.Uint32, reflect.Uint64:
		x := v.Uint()
		to := []uint64{x + 1, x - 1, 2 * x, x / 2, x + 3, 0, 1, 2, 1 << 20, 1<<30 - 1, 1 << 30, 1 << 24, 1<<24 + 1, 1 << 34, uint64(r.IntN(40)), uint64(r.IntN(8))}
		if y := to[r.IntN(len(to))]; !v.OverflowUint(y) {
			v.SetUint(y)
		}
	case reflect.Int32, reflect.Int64:
		x := v.Int()
		to := []int64{x + 1, x - 1, -x, 2 * x, x / 2, x + 3, 0, 1, -1, 2, 1 << 20, 1<<30 - 1, 1 << 30, -1 << 30, 1 << 24, 1<<24 + 1, 1 << 34, 1001, r.Int64N(40), r.Int64N(8)}
		if y := to[r.IntN(len(to))]; !v.OverflowInt(y) {
			v.SetInt(y)
		}
	}
}
