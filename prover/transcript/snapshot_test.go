package transcript

import (
	"bytes"
	"testing"

	"github.com/prove-model/prove-model/prover/field"
)

// TestRestore: what is written after a Restore is as if nothing had been
// written since the snapshot, wherever in a block the snapshot was taken.
func TestRestore(t *testing.T) {
	for lanes := range 20 {
		begin := func() *Writer {
			w := NewWriter(New("snapshot"))
			for i := range lanes {
				w.SendM31(field.M31(i))
			}
			if lanes%3 == 1 {
				w.Challenge()
			}
			return w
		}
		end := func(w *Writer) field.QM31 {
			w.SendM31(7, 8, 9)
			w.Grind(3)
			w.HintM31(1)
			return w.Challenge()
		}
		plain, restored := begin(), begin()
		want := end(plain)
		s := restored.Snapshot()
		restored.SendM31(1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11)
		restored.Challenges(3)
		restored.Restore(s)
		if got := end(restored); got != want || !bytes.Equal(plain.Bytes(), restored.Bytes()) {
			t.Errorf("after %d lanes: another transcript", lanes)
		}
	}
}
