package proof

import (
	"errors"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	"github.com/prove-model/prove-model/prover/parallel"
	"github.com/prove-model/prove-model/prover/proof/proofpb"
)

// graphField is the number of a key's graph, its first field.
const graphField = 1

// pieceBytes is how much of a graph is worth a goroutine.
const pieceBytes = 1 << 15

// unmarshalKey decodes a key that has passed checkCanonical. Nearly all of it is the
// graph, and nearly all of that are lists of messages, so it is cut between fields, and
// the pieces, which are graphs as well, are decoded beside each other.
func unmarshalKey(b []byte) (*proofpb.Key, error) {
	key := &proofpb.Key{}
	num, typ, n := protowire.ConsumeTag(b)
	if n < 0 || num != graphField || typ != protowire.BytesType {
		return key, proto.Unmarshal(b, key) // without a graph
	}
	graph, m := protowire.ConsumeBytes(b[n:])
	if m < 0 {
		return nil, protowire.ParseError(m)
	}
	if err := proto.Unmarshal(b[n+m:], key); err != nil {
		return nil, err
	}
	pieces, err := cutFields(graph, pieceBytes)
	if err != nil {
		return nil, err
	}
	parts, errs := make([]*proofpb.Graph, len(pieces)), make([]error, len(pieces))
	parallel.For(len(pieces), 1, func(lo, hi int) {
		for i := lo; i < hi; i++ {
			parts[i] = &proofpb.Graph{}
			errs[i] = proto.Unmarshal(pieces[i], parts[i])
		}
	})
	if len(parts) == 1 {
		key.Graph = parts[0]
		return key, errs[0]
	}
	key.Graph = &proofpb.Graph{}
	for _, p := range parts {
		g := key.Graph
		g.Name += p.Name // which one of them has, at most
		g.Tensors = append(g.Tensors, p.Tensors...)
		g.Tables = append(g.Tables, p.Tables...)
		g.Steps = append(g.Steps, p.Steps...)
		g.Inputs = append(g.Inputs, p.Inputs...)
		g.Outputs = append(g.Outputs, p.Outputs...)
		g.Free = append(g.Free, p.Free...)
	}
	return key, errors.Join(errs...)
}

// cutFields cuts the encoding of a message between fields, into pieces of at least size
// bytes but for the last.
func cutFields(b []byte, size int) (pieces [][]byte, err error) {
	at := 0
	for end := 0; end < len(b); {
		_, _, n := protowire.ConsumeField(b[end:])
		if n < 0 {
			return nil, protowire.ParseError(n)
		}
		if end += n; end-at >= size || end == len(b) {
			pieces = append(pieces, b[at:end])
			at = end
		}
	}
	return pieces, nil
}
