package cache

import (
	"bytes"
	"crypto/sha256"
	"reflect"
	"testing"

	"github.com/prove-model/prove-model/prover/math/hash"
)

// FuzzEntry reads files of a cache, receipts of an interrupted proof among them, that anything
// may have written: what is read is what would be written. The checksum is put right, so that it
// is not what refuses them all.
func FuzzEntry(f *testing.F) {
	id := ID{1, 2, 3}
	for _, e := range []*Entry{
		{}, {Key: []byte("key")}, {Extra: []byte{1, 2, 3, 4}},
		{Key: []byte("key"), Extra: []byte("extra"), Layers: [][]hash.Digest{{{1}, {2}}, {{3}}}},
	} {
		var b bytes.Buffer
		if err := writeEntry(&b, id, e); err != nil {
			f.Fatal(err)
		}
		f.Add(b.Bytes())
		f.Add(b.Bytes()[:b.Len()/2])
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		if n := len(data) - sha256.Size; n >= 0 {
			sum := newChecksum()
			sum.Write(data[:n])
			last := sum.sum()
			copy(data[n:], last[:])
		}
		e, err := readEntry(bytes.NewReader(data), int64(len(data)), id, nil)
		mapped, again := readEntry(bytes.NewReader(data), int64(len(data)), id, data)
		if (err == nil) != (again == nil) {
			t.Fatalf("%v, and in place %v", err, again)
		}
		if err != nil {
			return
		}
		if !bytes.Equal(e.Key, mapped.Key) || !bytes.Equal(e.Extra, mapped.Extra) || !reflect.DeepEqual(e.Layers, mapped.Layers) {
			t.Fatal("in place there is something else")
		}
		var b bytes.Buffer
		if err := writeEntry(&b, id, e); err != nil || !bytes.Equal(b.Bytes(), data) {
			t.Fatalf("what is read is not what is written: %v", err)
		}
	})
}
