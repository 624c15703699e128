package proof

import (
	"bytes"
	"math/rand/v2"
	"testing"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/prove-model/prove-model/prover/proof/proofpb"
)

// fill sets fields of a message at random: numbers from 0 to 3, so that identifiers
// exist where there are four of what they are of.
func fill(rng *rand.Rand, m protoreflect.Message) {
	for i := range m.Descriptor().Fields().Len() {
		fd := m.Descriptor().Fields().Get(i)
		if rng.IntN(4) == 0 && fd.Name() != "accumulator" {
			continue
		}
		value := func(list protoreflect.List) protoreflect.Value {
			switch n := rng.IntN(4); fd.Kind() {
			case protoreflect.MessageKind:
				var v protoreflect.Value
				if list != nil {
					v = list.NewElement()
				} else {
					v = m.NewField(fd)
				}
				fill(rng, v.Message())
				return v
			case protoreflect.EnumKind:
				return protoreflect.ValueOfEnum(protoreflect.EnumNumber(rng.IntN(fd.Enum().Values().Len())))
			case protoreflect.StringKind:
				return protoreflect.ValueOfString("äbc"[:[]int{0, 2, 3, 4}[n]])
			case protoreflect.Uint32Kind:
				return protoreflect.ValueOfUint32(uint32(n))
			case protoreflect.Uint64Kind:
				return protoreflect.ValueOfUint64(uint64(n) << rng.IntN(20))
			case protoreflect.Sint32Kind:
				return protoreflect.ValueOfInt32(int32(n-2) << rng.IntN(30))
			case protoreflect.Sint64Kind:
				return protoreflect.ValueOfInt64(int64(n-2) << rng.IntN(27))
			default:
				panic(fd.Kind())
			}
		}
		if !fd.IsList() {
			m.Set(fd, value(nil))
			continue
		}
		list := m.NewField(fd).List()
		n := rng.IntN(4)
		switch fd.Name() {
		case "saturated":
			n &^= 1
		case "tensors", "tables":
			n = 4
		case "steps":
			n = 2 * decodeGrain
		}
		for range n {
			list.Append(value(list))
		}
		m.Set(fd, protoreflect.ValueOfList(list))
	}
}

// TestDecodeGraph: what a graph is decoded to is encoded as it was, all of its schema.
func TestDecodeGraph(t *testing.T) {
	rng := rand.New(rand.NewPCG(9, 9))
	for n := 0; n < 20; {
		p := &proofpb.Graph{}
		fill(rng, p.ProtoReflect())
		if len(p.Tensors) == 0 || len(p.Tables) == 0 {
			continue // identifiers of which there are none
		}
		n++
		want, err := proto.MarshalOptions{Deterministic: true}.Marshal(p)
		if err != nil {
			t.Fatal(err)
		}
		budget := maxKeyMessages
		if err := checkCanonical(want, p.ProtoReflect().Descriptor(), &budget); err != nil {
			t.Fatal(err)
		}
		graph, err := decodeGraph(string(want))
		if err != nil {
			t.Fatal(err)
		}
		got, err := proto.MarshalOptions{Deterministic: true}.Marshal(encodeGraph(graph))
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(got, want) {
			t.Fatalf("graph %d: %d bytes, not the %d that it was made of", n, len(got), len(want))
		}
		// The first of the errors, wherever the others are.
		if len(p.Steps) > 2 {
			p.Steps[len(p.Steps)-1].Out = 9
			p.Steps[1].Out = 8
			if want, err = (proto.MarshalOptions{Deterministic: true}).Marshal(p); err != nil {
				t.Fatal(err)
			}
			if _, err := decodeGraph(string(want)); err == nil || err.Error() != "identifier 7 of 4" {
				t.Errorf("identifiers that there are not: %v", err)
			}
		}
	}
}

// Bytes that checkCanonical refuses do not make the decoder fail either.
func FuzzDecodeGraph(f *testing.F) {
	f.Add([]byte{0x0a, 0x01, 'x', 0x12, 0x02, 0x18, 0x01})
	f.Add([]byte{0x22, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f})
	f.Fuzz(func(_ *testing.T, b []byte) { _, _ = decodeGraph(string(b)) })
}
