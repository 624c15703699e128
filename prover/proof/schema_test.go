package proof

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"regexp"
	"slices"
	"sync"
	"testing"

	"github.com/bufbuild/protocompile"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/dynamicpb"

	"github.com/prove-model/prove-model/prover/proof/wire"
)

// schemaMessages are the messages of the schema by name.
var schemaMessages = sync.OnceValues(func() (map[string]protoreflect.MessageDescriptor, error) {
	c := protocompile.Compiler{Resolver: &protocompile.SourceResolver{ImportPaths: []string{"schema"}}}
	files, err := c.Compile(context.Background(), "key.proto", "proof.proto")
	if err != nil {
		return nil, err
	}
	all := map[string]protoreflect.MessageDescriptor{}
	for _, f := range files {
		for i := range f.Messages().Len() {
			m := f.Messages().Get(i)
			all[string(m.Name())] = m
		}
	}
	return all, nil
})

func schemaMessage(t testing.TB, name string) protoreflect.MessageDescriptor {
	t.Helper()
	all, err := schemaMessages()
	if err != nil {
		t.Fatal(err)
	}
	if all[name] == nil {
		t.Fatalf("the schema has no message %s", name)
	}
	return all[name]
}

// specs returns what tables say of messages, by name.
func specs(into map[string]*wire.MessageSpec, m *wire.MessageSpec) map[string]*wire.MessageSpec {
	into[m.Name] = m
	for _, f := range m.Fields {
		if f.Message != nil {
			specs(into, f.Message())
		}
	}
	return into
}

// TestSchema: the schema, which is what others read, and the tables, which is what is done, say
// the same: the same messages, with the same fields, enumerations and oneofs.
func TestSchema(t *testing.T) {
	all, err := schemaMessages()
	if err != nil {
		t.Fatal(err)
	}
	tables := specs(specs(specs(map[string]*wire.MessageSpec{}, keyMessage.Spec()), frameMessage.Spec()), linkMessage.Spec())
	tables = specs(tables, inputMessage.Spec())
	if got, want := slices.Sorted(maps.Keys(tables)), slices.Sorted(maps.Keys(all)); !slices.Equal(got, want) {
		t.Fatalf("tables of %v, the schema has %v", got, want)
	}
	for name, md := range all {
		var got, want []string
		for _, f := range tables[name].Fields {
			got = append(got, describe(f))
		}
		for i := range md.ReservedNames().Len() { // as many numbers, in the same order
			number := md.ReservedRanges().Get(i)
			if number[1] != number[0]+1 {
				t.Errorf("%s: a range of reserved numbers", name)
			}
			want = append(want, describe(wire.FieldSpec{Number: int(number[0]), Name: string(md.ReservedNames().Get(i)), Reserved: true}))
		}
		for i := range md.Fields().Len() {
			fd := md.Fields().Get(i)
			f := wire.FieldSpec{
				Number: int(fd.Number()), Name: string(fd.Name()), Kind: kinds[fd.Kind()], Repeated: fd.IsList(),
				Presence: fd.HasPresence() || fd.IsList() && fd.Message() != nil,
			}
			if _, ok := kinds[fd.Kind()]; !ok {
				t.Errorf("%s: no table has a field of kind %s", fd.FullName(), fd.Kind())
			}
			if fd.IsList() && fd.Message() == nil && !fd.IsPacked() {
				t.Errorf("%s is not packed", fd.FullName())
			}
			if o := fd.ContainingOneof(); o != nil {
				f.Oneof = string(o.Name())
			}
			if e := fd.Enum(); e != nil {
				f.Values = e.Values().Len()
				for v := range f.Values {
					if e.Values().ByNumber(protoreflect.EnumNumber(v)) == nil {
						t.Errorf("%s has no value %d", e.FullName(), v)
					}
				}
			}
			if m := fd.Message(); m != nil {
				f.Message = func() *wire.MessageSpec { return &wire.MessageSpec{Name: string(m.Name())} }
			}
			want = append(want, describe(f))
		}
		slices.Sort(got)
		slices.Sort(want)
		if !slices.Equal(got, want) {
			t.Errorf("%s: the table has\n%q, the schema\n%q", name, got, want)
		}
	}
}

func describe(f wire.FieldSpec) string {
	of := ""
	if f.Message != nil {
		of = f.Message().Name
	}
	if f.Reserved {
		return fmt.Sprintf("%d %s: reserved", f.Number, f.Name)
	}
	return fmt.Sprintf("%d %s: kind %d, repeated %t, presence %t, oneof %q, %d values, message %q", f.Number, f.Name, f.Kind, f.Repeated, f.Presence, f.Oneof, f.Values, of)
}

var kinds = map[protoreflect.Kind]wire.Kind{
	protoreflect.Uint32Kind: wire.Uint32, protoreflect.Uint64Kind: wire.Uint64, protoreflect.Sint32Kind: wire.Sint32,
	protoreflect.Sint64Kind: wire.Sint64, protoreflect.EnumKind: wire.Enum, protoreflect.StringKind: wire.String,
	protoreflect.BytesKind: wire.Bytes, protoreflect.MessageKind: wire.Submessage,
}

// canonicalBySchema says whether b is the one encoding of a message, by the schema and a library of
// protobuf alone: it decodes to something without unknown fields and values, of which b is the
// encoding with fields in order.
func canonicalBySchema(md protoreflect.MessageDescriptor, b []byte) error {
	m := dynamicpb.NewMessage(md)
	if err := proto.Unmarshal(b, m); err != nil {
		return err
	}
	if err := knownOnly(m); err != nil {
		return err
	}
	again, err := proto.MarshalOptions{Deterministic: true}.Marshal(m)
	if err != nil {
		return err
	}
	if !bytes.Equal(b, again) {
		return fmt.Errorf("encoded again: %x", again)
	}
	return nil
}

func knownOnly(m protoreflect.Message) (err error) {
	if len(m.GetUnknown()) > 0 {
		return fmt.Errorf("unknown fields in %s", m.Descriptor().Name())
	}
	m.Range(func(fd protoreflect.FieldDescriptor, v protoreflect.Value) bool {
		each := []protoreflect.Value{v}
		if fd.IsList() {
			each = nil
			for i := range v.List().Len() {
				each = append(each, v.List().Get(i))
			}
		}
		for _, v := range each {
			if fd.Message() != nil && err == nil {
				err = knownOnly(v.Message())
			}
			if fd.Enum() != nil && fd.Enum().Values().ByNumber(v.Enum()) == nil {
				err = fmt.Errorf("unknown value %d", v.Enum())
			}
		}
		return err == nil
	})
	return err
}

// notCanonical are errors of the encoding; all others are of what it says.
var notCanonical = regexp.MustCompile(`tag: |unknown field|field \d+ after|field \d+ twice|exclude each other|wire type|minimal|64 bits|fit 32 bits|spelt out|ends early|not UTF-8|unknown value`)

// sameVerdict decodes b by a table and by the schema. It reports whether both accept it.
func sameVerdict[T any](t testing.TB, m *wire.Message[T], b []byte) bool {
	t.Helper()
	var v T
	got, want := m.Decode(b, &v, 1<<12), canonicalBySchema(schemaMessage(t, m.Spec().Name), b)
	switch {
	case got == nil && want != nil:
		t.Fatalf("%s %x is accepted, but %v", m.Spec().Name, b, want)
	case got == nil && !bytes.Equal(m.Append(nil, &v), b):
		t.Fatalf("%s %x is encoded again as %x", m.Spec().Name, b, m.Append(nil, &v))
	case got != nil && want == nil && notCanonical.MatchString(got.Error()):
		t.Fatalf("%s %x is canonical, but %v", m.Spec().Name, b, got)
	}
	return got == nil
}

// TestDecodeAsSchema compares the verdicts on random messages and on damaged ones.
func TestDecodeAsSchema(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	var accepted, refused int
	tries := 100
	if *full {
		tries = 400
	}
	check := func(ok bool) {
		if ok {
			accepted++
		} else {
			refused++
		}
	}
	each := func(verdict func([]byte) bool, name string) {
		for range tries {
			m := dynamicpb.NewMessage(schemaMessage(t, name))
			fill(rng, m, 2)
			b, err := proto.MarshalOptions{Deterministic: true}.Marshal(m)
			if err != nil {
				t.Fatal(err)
			}
			check(verdict(b))
			for range 20 {
				check(verdict(damaged(rng, b)))
			}
		}
	}
	each(func(b []byte) bool { return sameVerdict(t, graphMessage, b) }, "Graph")
	each(func(b []byte) bool { return sameVerdict(t, keyMessage, b) }, "Key")
	each(func(b []byte) bool { return sameVerdict(t, frameMessage, b) }, "Frame")
	each(func(b []byte) bool { return sameVerdict(t, sourceMessage, b) }, "Source")
	each(func(b []byte) bool { return sameVerdict(t, textMessage, b) }, "Text")
	each(func(b []byte) bool { return sameVerdict(t, levelMessage, b) }, "Level")
	each(func(b []byte) bool { return sameVerdict(t, treeMessage, b) }, "Tree")
	each(func(b []byte) bool { return sameVerdict(t, headerMessage, b) }, "Header")
	if accepted < 10*tries || refused < 10*tries {
		t.Errorf("%d accepted, %d refused", accepted, refused)
	}
}

// damaged changes a byte or two.
func damaged(rng *rand.Rand, b []byte) []byte {
	b = bytes.Clone(b)
	for range 1 + rng.IntN(2) {
		if len(b) == 0 {
			return []byte{byte(rng.IntN(256))}
		}
		switch i := rng.IntN(len(b)); rng.IntN(3) {
		case 0:
			b[i] ^= 1 << rng.IntN(8)
		case 1:
			b = slices.Delete(b, i, i+1)
		default:
			b = slices.Insert(b, i, byte(rng.IntN(256)))
		}
	}
	return b
}

// FuzzDecodeAsSchema compares the verdicts on any bytes, as a graph, as the rest of a key and as a
// frame.
func FuzzDecodeAsSchema(f *testing.F) {
	k := sampleKey()
	k.Source = sampleSource()
	k.Texts = []Text{{Tokenizer: [32]byte{1}, Ends: []int{2, 300}, Generates: true, Template: [32]byte{2}}}
	h := sampleHeader()
	f.Add(graphMessage.Append(nil, k.Circuit))
	f.Add(frameMessage.Append(nil, &frame{header: &h}))
	f.Add(frameMessage.Append(nil, &frame{chunk: &chunk{index: 300, body: []byte{1}}}))
	f.Add(frameMessage.Append(nil, &frame{public: &public{inputs: [][]byte{{1}, {}}, outputs: [][]byte{{2}}}}))
	k.Circuit.Graph = sampleGraph(1, 1, 1, 1, "")
	f.Add(keyMessage.Append(nil, k))
	f.Fuzz(func(t *testing.T, b []byte) {
		sameVerdict(t, graphMessage, b)
		sameVerdict(t, keyMessage, b)
		sameVerdict(t, frameMessage, b)
	})
}
