package proof

import (
	"bytes"
	"math/rand/v2"
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/prove-model/prove-model/prover/proof/proofpb"
)

// TestLongMessages: a long message is judged in pieces as it is as a whole, and uses as much of
// the budget, whatever is damaged.
func TestLongMessages(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	long := &proofpb.Graph{Name: "long"}
	for range 4000 {
		tensor := &proofpb.Tensor{Name: "tensor", Min: -int64(rng.IntN(1 << 20)), Max: int64(rng.IntN(1 << 20))}
		for range rng.IntN(4) {
			tensor.Shape = append(tensor.Shape, uint64(1+rng.IntN(1<<rng.IntN(20))))
		}
		long.Tensors = append(long.Tensors, tensor)
	}
	whole, err := proto.MarshalOptions{Deterministic: true}.Marshal(long)
	if err != nil || len(whole) < 2*longMessage {
		t.Fatal(len(whole), err)
	}
	m := wireOf(long.ProtoReflect().Descriptor())
	if n := len(m.pieces(whole)); n < 4 {
		t.Fatalf("%d pieces", n)
	}
	const most = 5000
	refused := 0
	for i := range 1000 {
		b, budget := bytes.Clone(whole), most
		switch i % 4 {
		case 1:
			b[rng.IntN(len(b))] ^= 1 << rng.IntN(8)
		case 2:
			b = b[:len(b)-rng.IntN(100)]
		case 3:
			budget = 4000 + rng.IntN(3)
		}
		want := budget - 1 // for the message itself, which check takes
		wantErr := m.checkFields(b, nil, &want)
		gotErr := m.check(b, &budget)
		if (wantErr == nil) != (gotErr == nil) || wantErr == nil && want != budget {
			t.Fatalf("message %d: %v in pieces with %d left, %v as a whole with %d", i, gotErr, budget, wantErr, want)
		}
		if wantErr != nil {
			refused++
		}
	}
	if refused < 200 || refused > 800 {
		t.Errorf("%d of 1000 messages were refused", refused)
	}
}
