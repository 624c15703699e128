package open

import (
	"bytes"
	"math/rand/v2"
	"testing"

	"github.com/prove-model/prove-model/kernels/devicetest"
	"github.com/prove-model/prove-model/prover/circuit/model"
	"github.com/prove-model/prove-model/prover/machine/cuda/cudatest"
	"github.com/prove-model/prove-model/prover/machine/cuda/device"
	"github.com/prove-model/prove-model/prover/machine/cuda/run"
	"github.com/prove-model/prove-model/prover/math/hash"
	"github.com/prove-model/prove-model/prover/protocol/backend"
	"github.com/prove-model/prove-model/prover/protocol/soundness"
)

// TestRowPieces: rows that are packed in pieces, by places of long rows and one behind the other,
// are those that are packed at once, and a piece takes no more than it may; from tensors on the
// device, and from the host's where there is no room for these.
func TestRowPieces(t *testing.T) {
	d := devicetest.NewFaulty(devicetest.Open(t), -1)
	w := cudatest.NewFixed(rand.New(rand.NewPCG(17, 18)), []int{64, 64}, []int{40, 50}, []int{900}, []int{64, 64}, []int{1 << 11}, []int{1 << 11})
	ids := make([]model.TensorID, len(w.Weights))
	for i := range ids {
		ids[i] = model.TensorID(i)
	}
	c := backend.SingleStack(hash.Poseidon2, model.NewStack(w.Graph, ids), 6, 2)
	params, err := soundness.Derive(soundness.Config{TargetBits: 20, GrindBits: 4, LogBlowup: 2}, 6, c.Slots())
	if err != nil {
		t.Fatal(err)
	}
	o := backend.Opening{Commitments: []backend.Commitment{c}, RowOffsets: []uint64{0}, Params: params}
	const piece = 1 << 11
	for name, limit := range map[string]int{"on the device": 0, "on the host": 4} {
		var want [][]byte  // by row
		inPlace := 1 << 20 // bytes of rows that are in their tensors as they are, once they are known
		const stay = 5 << 10
		for _, mode := range []device.Mode{{}, {Rows: true}, {Rows: true, Stay: stay}} {
			m := device.New(d)
			m.MaxResident, m.Piece = limit, piece
			m.SetMode(mode)
			b := run.NewStream(m, w.Graph, w)
			r := NewRows(b, device.NewScope(b.Dev), &o)
			r.Load(&o, nil)
			bytesOf := func(x ByteRow) []byte {
				if x.Width == 0 {
					return nil
				}
				return device.Fetch[byte](b.Dev, x.At, x.Width*r.Pitch)
			}
			if !mode.Rows {
				for _, x := range r.At {
					want = append(want, bytesOf(x))
				}
				b.Close()
				m.Close()
				continue
			}
			pending, all := 0, 0
			for i, x := range r.At {
				if all += len(want[i]); x.Pending() {
					pending += len(want[i])
				}
			}
			if stays := all - pending; limit == 0 && (stays < int(mode.Stay)-4*r.Pitch || stays > int(mode.Stay)+inPlace) || limit > 0 && stays > 0 {
				t.Errorf("%s: %d bytes of rows stay, of %d, and %d of them may", name, stays, all, mode.Stay)
			}
			if mode.Stay == 0 {
				inPlace = all - pending
			}
			for _, n := range []int{len(r.At), len(r.At) / 4, len(r.At) / 32} {
				calls, next := 0, 0
				before := m.Traffic().Live
				r.byPieces(n, UpTo(n), func(from, to int) {
					if from != next || to <= from || to > n {
						t.Fatalf("%s: places %d to %d of %d after %d", name, from, to, n, next)
					}
					calls, next = calls+1, to
					if took := m.Traffic().Live - before; took > max(piece, int64(len(r.At)/n*4*r.Pitch)) {
						t.Errorf("%s: a piece takes %d bytes", name, took)
					}
					for i := range r.At {
						if l := i % n; l < from || l >= to {
							continue
						}
						if r.At[i].Pending() {
							t.Errorf("%s: row %d is not there", name, i)
						} else if got := bytesOf(r.At[i]); !bytes.Equal(got, want[i]) {
							t.Errorf("%s: row %d is %v, want %v", name, i, got, want[i])
						}
					}
				})
				if next != n || calls < 4 && n >= 32 && mode.Stay == 0 {
					t.Errorf("%s: %d pieces to place %d of %d", name, calls, next, n)
				}
			}
			tree, seen, calls := &r.Trees[0], 0, 0
			tree.eachRows(r, func(rows []ByteRow, _ int) {
				calls++
				for _, x := range rows {
					if got := bytesOf(x); !bytes.Equal(got, want[tree.sources[0].slots[seen]]) {
						t.Errorf("%s: row %d is %v, want %v", name, seen, got, want[tree.sources[0].slots[seen]])
					}
					seen++
				}
			})
			if seen != len(tree.sources[0].slots) || calls < 4 && mode.Stay == 0 {
				t.Errorf("%s: %d of %d rows in %d pieces", name, seen, len(tree.sources[0].slots), calls)
			}
			b.Close()
			m.Close()
			if d.Live() != 0 {
				t.Errorf("%s: %d bytes are left", name, d.Live())
			}
		}
	}
}
