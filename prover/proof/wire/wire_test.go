package wire

import (
	"bytes"
	"encoding/hex"
	"errors"
	"fmt"
	"math"
	"reflect"
	"strings"
	"testing"
)

// all has a field of every kind.
type all struct {
	Items  []item
	Count  int
	Signed int64
	Choice uint8
	On     bool
	Bits   uint64
	Name   string
	Data   []byte
	List   []int
	Pairs  []pair
	Place  int32
	Maybe  int32
	Even   int64
	Part   item
	Extra  *item
	A, B   []byte
}

type item struct{ Weights []int32 }

type pair struct{ From, To int64 }

const items Counter = 1

var itemMessage = New("Item", nil,
	Nums(1, "weights", Number{Kind: Sint32, Least: -9, Most: 9}, func(i *item) *[]int32 { return &i.Weights }),
)

var allMessage = New("All", func(a *all) { a.Maybe = -1 }, append([]Field[all]{
	Counted(1, "items", itemMessage, func(a *all) *[]item { return &a.Items }, items),
	Num(2, "count", Number{Kind: Uint32, Most: 1000}, func(a *all) *int { return &a.Count }),
	Num(3, "signed", Number{Kind: Sint64}, func(a *all) *int64 { return &a.Signed }),
	Num(4, "choice", EnumOf(3), func(a *all) *uint8 { return &a.Choice }),
	Flag(5, "on", func(a *all) *bool { return &a.On }),
	Bits64(6, "bits", func(a *all) uint64 { return a.Bits }, func(a *all, v uint64) { a.Bits = v }),
	Text(7, "name", func(a *all) *string { return &a.Name }),
	Raw(8, "data", func(a *all) *[]byte { return &a.Data }),
	Ints(9, "list", Number{Kind: Uint64, Least: -1, Most: 99, Plus: 1}, func(a *all) *[]int { return &a.List }),
	Pairs(10, "pairs", Number{Kind: Uint32}, func(a *all) *[]pair { return &a.Pairs }, func(p *pair) (from, to *int64) { return &p.From, &p.To }),
	Num(11, "place", Number{Kind: Uint32, Below: items}, func(a *all) *int32 { return &a.Place }),
	Num(12, "maybe", Number{Kind: Uint32, Below: items, Plus: 1}, func(a *all) *int32 { return &a.Maybe }),
	Value(13, "even", Number{Kind: Uint32}, func(a *all) int64 { return a.Even }, func(a *all, v int64) error {
		if v%2 != 0 {
			return errors.New("odd")
		}
		a.Even = v
		return nil
	}).Needed(),
	Part(14, "part", itemMessage, func(a *all) *item { return &a.Part }).Needed(),
	Optional(15, "extra", itemMessage, func(a *all) **item { return &a.Extra }),
}, OneOf("last",
	Member(16, "a", func(a *all) *[]byte { return &a.A }),
	Member(20, "b", func(a *all) *[]byte { return &a.B }),
)...)...)

// full is a value with all fields, but for one of the oneof.
func full() *all {
	return &all{
		Items: []item{{}, {Weights: []int32{-9, 0, 9}}}, Count: 1000, Signed: math.MinInt64, Choice: 2, On: true, Bits: math.MaxUint64,
		Name: "näme", Data: []byte{0, 1}, List: []int{-1, 99, 0}, Pairs: []pair{{1, 2}, {0, math.MaxUint32}}, Place: 1, Maybe: 0, Even: 6,
		Part: item{Weights: []int32{1}}, Extra: &item{}, B: []byte{},
	}
}

func TestRoundTrip(t *testing.T) {
	for _, want := range []*all{full(), {Items: []item{{}}, Maybe: -1}} {
		b := allMessage.Append(nil, want)
		var got all
		if err := allMessage.Decode(b, &got, 10); err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(&got, want) {
			t.Errorf("%x is decoded to %+v, not %+v", b, got, *want)
		}
	}
	// As any library of protobuf has it.
	const want = "0a00" + "0a050a03110012" + "10e807" + "18ffffffffffffffffff01" + "2002" + "2801" + "30ffffffffffffffffff01" + "3a056ec3a46d65" + "42020001" +
		"4a03006401" + "5208010200ffffffff0f" + "5801" + "6001" + "6806" + "72030a0102" + "7a00" + "a20100"
	if got := hex.EncodeToString(allMessage.Append(nil, full())); got != want {
		t.Errorf("encoded as\n%s, want\n%s", got, want)
	}
}

// Every change of a byte of an encoding is refused, or is the encoding of something else.
func TestEveryByteMatters(t *testing.T) {
	b := allMessage.Append(nil, full())
	check := func(c []byte) {
		t.Helper()
		var got all
		if err := allMessage.Decode(c, &got, 100); err == nil && !bytes.Equal(allMessage.Append(nil, &got), c) {
			t.Fatalf("%x is accepted, and encoded as %x", c, allMessage.Append(nil, &got))
		}
	}
	for i := range b {
		for x := 1; x < 256; x++ {
			c := bytes.Clone(b)
			c[i] ^= byte(x)
			check(c)
		}
		check(b[:i])
	}
}

func TestDecodeRefuses(t *testing.T) {
	const part = "7200" // which must be there
	for _, c := range []struct{ hex, want string }{
		{"0a00" + "10e907" + part, "All.count: 1001 is too large"},
		{"0a00" + "1000" + part, "All.count: default value is spelt out"},
		{"0a00" + "10808080808001" + part, "All.count: 34359738368 does not fit 32 bits"},
		{"0a00" + "108000" + part, "All.count: varint is not minimal"},
		{"0a00" + "10ffffffffffffffffffff01" + part, "All.count: varint of more than 64 bits"},
		{"0a00" + "10", "All.count: ends early"},
		{"0a00" + "1201" + part, "All.count: wire type 2"},
		{"0a00" + "10011001" + part, "All: field 2 twice"},
		{"0a00" + "18021001" + part, "All: field 2 after field 3"},
		{"0a00" + "18020a00" + part, "All: field 1 after field 3"},
		{"0a00" + part + "820100a20100", "All: fields 16 and 20 exclude each other"},
		{"0a00" + "8a0100", "All: unknown field 17"},
		{"0a00" + "8002", "All: unknown field 32"},
		{"0000", "All: unknown field 0"},
		{"9000", "All: tag: varint is not minimal"},
		{"80", "All: tag: ends early"},
		{"0a00" + "2003" + part, "All.choice: unknown value 3"},
		{"0a00" + "2802" + part, "All.on: unknown value 2"},
		{"0a00" + "3a01ff" + part, "All.name: not UTF-8"},
		{"0a00" + "3a05ff", "All.name: ends early"},
		{"0a00" + "4a0165" + part, "All.list: 100 is too large"},
		{"0a00" + "4a0180" + part, "All.list: ends early"},
		{"0a00" + "4a028000" + part, "All.list: varint is not minimal"},
		{"0a00" + "520101" + part, "All.pairs: an odd number of numbers"},
		{"0a00" + "5801" + part, "All.place: identifier 1 of 1"},
		{part, "All.place: identifier 0 of 0"},
		{"0a00" + "6002" + part, "All.maybe: identifier 1 of 1"},
		{"0a00" + "6801" + part, "All.even: odd"},
		{"0a00", "All.part: is missing"},
		{"0a00" + "0a030a0114" + part, "All.items[1].weights: 10 is too large"},
		{"0a00" + "0a030a0115" + part, "All.items[1].weights: -11 is too large"},
		{"0a00" + "0a030a", "All.items[1]: ends early"},
		{"0a00" + "0a021400" + part, "All.items[1]: unknown field 2"},
		{"0a00" + part + "7a021001", "All.extra: unknown field 2"},
		{strings.Repeat("0a00", 4) + part, "All: too many messages"},
		{strings.Repeat("0a00", 5) + part, "All: too many messages"},
	} {
		b, err := hex.DecodeString(c.hex)
		if err != nil {
			t.Fatal(err)
		}
		var got all
		if err := allMessage.Decode(b, &got, 5); err == nil || !strings.HasPrefix(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", c.hex, err, c.want)
		}
	}
}

// Long lists are decoded on all cores: so many messages there may be, and not one more.
func TestBudget(t *testing.T) {
	const n = 5000
	a := &all{Items: make([]item, n)}
	a.Items[n-1].Weights = []int32{1}
	b := allMessage.Append(nil, a)
	var got all
	if err := allMessage.Decode(b, &got, n+2); err != nil || len(got.Items) != n || got.Items[n-1].Weights == nil {
		t.Errorf("%d messages, as many as there may be: %v", n+2, err)
	}
	if err := allMessage.Decode(b, new(all), n+1); !errors.Is(err, ErrTooMany) {
		t.Errorf("%d messages, one too many: %v", n+2, err)
	}
	a.Items[600].Weights, a.Items[4000].Weights = []int32{10}, []int32{11}
	err := allMessage.Decode(allMessage.Append(nil, a), new(all), n+2)
	if want := "All.items[600].weights: 10 is too large"; fmt.Sprint(err) != want {
		t.Errorf("%v, want %s", err, want)
	}
}

// Fields of bytes are parts of what is decoded, and strings are not.
func TestAliasing(t *testing.T) {
	b := allMessage.Append(nil, full())
	var got all
	if err := allMessage.Decode(b, &got, 10); err != nil {
		t.Fatal(err)
	}
	clear(b)
	if got.Name != "näme" || got.Data[1] != 0 || cap(got.Data) != 2 {
		t.Errorf("name %q, data %x with room for %d", got.Name, got.Data, cap(got.Data))
	}
}

func TestNewRefuses(t *testing.T) {
	count := func(number int, name string) Field[all] {
		return Num(number, name, Number{Kind: Uint32}, func(a *all) *int { return &a.Count })
	}
	for what, fields := range map[string][]Field[all]{
		"order": {count(2, "b"), count(1, "a")}, "twice": {count(1, "a"), count(1, "b")},
		"zero": {count(0, "a")}, "large": {count(64, "a")}, "nameless": {count(1, "")},
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s: accepted", what)
				}
			}()
			New("Wrong", nil, fields...)
		}()
	}
}
