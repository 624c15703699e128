package proof

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"testing"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/dynamicpb"

	"github.com/prove-model/prove-model/prover/circuit/model"
	"github.com/prove-model/prove-model/prover/proof/wire"
)

// fill sets fields of a message at random: numbers from 0 to 3, so that identifiers
// exist where there are four of what they are of. Steps are so many; the last member of a oneof
// that is set stays.
func fill(rng *rand.Rand, m protoreflect.Message, steps int) {
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
				fill(rng, v.Message(), steps)
				return v
			case protoreflect.EnumKind:
				return protoreflect.ValueOfEnum(protoreflect.EnumNumber(rng.IntN(fd.Enum().Values().Len())))
			case protoreflect.StringKind:
				return protoreflect.ValueOfString("äbc"[:[]int{0, 2, 3, 4}[n]])
			case protoreflect.BytesKind:
				return protoreflect.ValueOfBytes(make([]byte, []int{0, 1, 32, 200}[n]))
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
			n = steps
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
	marshal := func(m *dynamicpb.Message) []byte {
		b, err := proto.MarshalOptions{Deterministic: true}.Marshal(m)
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	md := schemaMessage(t, "Graph")
	list := func(m *dynamicpb.Message, name protoreflect.Name) protoreflect.List {
		return m.Get(md.Fields().ByName(name)).List()
	}
	graphs := 6
	if *full {
		graphs = 20
	}
	for n := 0; n < graphs; {
		p := dynamicpb.NewMessage(md)
		fill(rng, p, 2000)
		if list(p, "tensors").Len() == 0 || list(p, "tables").Len() == 0 {
			continue // identifiers of which there are none
		}
		n++
		want := marshal(p)
		var graph model.Template
		if err := graphMessage.Decode(want, &graph, maxKeyMessages); err != nil {
			t.Fatal(err)
		}
		if got := graphMessage.Append(nil, &graph); !bytes.Equal(got, want) {
			t.Fatalf("graph %d: %d bytes, not the %d that it was made of", n, len(got), len(want))
		}
		// The first of the errors, wherever the others are.
		if steps := list(p, "steps"); steps.Len() > 2 {
			out := steps.Get(0).Message().Descriptor().Fields().ByName("out")
			steps.Get(steps.Len()-1).Message().Set(out, protoreflect.ValueOfUint32(9))
			steps.Get(600).Message().Set(out, protoreflect.ValueOfUint32(8))
			var graph model.Template
			err := graphMessage.Decode(marshal(p), &graph, maxKeyMessages)
			if want := "Graph.steps[600].out: identifier 7 of 4"; err == nil || err.Error() != want {
				t.Errorf("identifiers that there are not: %v, want %s", err, want)
			}
		}
	}
}

// TestLongLists: a long list, which is decoded on all cores, is judged as on one, and all its
// messages count.
func TestLongLists(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	rng := rand.New(rand.NewPCG(1, 2))
	g := &model.Graph{Name: "long"}
	messages := 1
	for range 4000 {
		tensor := model.Tensor{Name: "tensor", Min: -rng.Int64N(1 << 20), Max: rng.Int64N(1 << 20)}
		for range rng.IntN(4) {
			tensor.Shape = append(tensor.Shape, 1+rng.IntN(1<<rng.IntN(20)))
		}
		tensor.Def = make([]model.Linear, rng.IntN(3))
		messages += 1 + len(tensor.Def)
		g.Tensors = append(g.Tensors, tensor)
	}
	whole := graphMessage.Append(nil, &model.Template{Graph: g})
	decode := func(b []byte, procs, most int) error {
		runtime.GOMAXPROCS(procs)
		var got model.Template
		err := graphMessage.Decode(b, &got, most)
		if err == nil && !bytes.Equal(graphMessage.Append(nil, &got), b) {
			t.Fatal("another graph")
		}
		return err
	}
	for _, procs := range []int{1, 4} {
		if err := decode(whole, procs, messages); err != nil {
			t.Fatalf("%d messages: %v", messages, err)
		}
		if err := decode(whole, procs, messages-1); !errors.Is(err, wire.ErrTooMany) {
			t.Fatalf("%d messages, one too many: %v", messages, err)
		}
	}
	refused := 0
	for i := range 300 {
		b := bytes.Clone(whole)
		for range 1 + i%3 {
			b[rng.IntN(len(b))] ^= 1 << rng.IntN(8)
		}
		if i%10 == 0 {
			b = b[:len(b)-rng.IntN(100)]
		}
		one, four := decode(b, 1, messages+9), decode(b, 4, messages+9)
		if fmt.Sprint(one) != fmt.Sprint(four) {
			t.Fatalf("%v on one core, %v on four", one, four)
		}
		if one != nil {
			refused++
		}
	}
	if refused < 60 || refused > 299 {
		t.Errorf("%d of 300 were refused", refused)
	}
}

// FuzzDecodeGraph: no bytes make the decoder panic, and what it accepts is the one encoding of what it returns.
func FuzzDecodeGraph(f *testing.F) {
	f.Add([]byte{0x0a, 0x01, 'x', 0x12, 0x02, 0x18, 0x01})
	f.Add([]byte{0x22, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f})
	f.Fuzz(func(t *testing.T, b []byte) {
		var g model.Template
		if err := graphMessage.Decode(b, &g, 1<<12); err == nil && !bytes.Equal(graphMessage.Append(nil, &g), b) {
			t.Fatal("not canonical")
		}
	})
}
