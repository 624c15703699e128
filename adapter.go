package provemodel

import (
	"encoding/hex"
	"errors"
	"fmt"
	"slices"

	"github.com/prove-model/prove-model/prover/math/hash"
)

// ErrOtherBase is wrapped, beside ErrInvalid, by the error of Verify for a key that is an adapter to another model than the one asked
// for (VerifyOptions.ExpectBase), or to none.
var ErrOtherBase = errors.New("the key is not that of an adapter to this model")

// Root is the root of a tree of weights, as keys have it. Keys of adapters (OpenOptions.Adapter) have two: that of the base, the same
// for all its adapters and in the base's own key, and that of the adapter.
type Root [hash.DigestBytes]byte

// String returns the root in hexadecimal.
func (r Root) String() string { return hex.EncodeToString(r[:]) }

// ParseRoot is the inverse of Root.String.
func ParseRoot(s string) (Root, error) {
	var r Root
	b, err := hex.DecodeString(s)
	if err != nil || len(b) != len(r) {
		return r, fmt.Errorf("root %q: want %d hexadecimal digits", s, 2*len(r))
	}
	copy(r[:], b)
	return r, nil
}

// Roots returns the roots of a key's trees of weights: of an adapter that of the base and that of the adapter; of other keys the
// one that there is, if any.
func Roots(key *Key) []Root {
	var list []Root
	for i := range key.Trees {
		list = append(list, key.Trees[i].RootBytes())
	}
	return list
}

// state says which roots a key of an adapter has, if it is one, and whether they are those asked for.
func (o *VerifyOptions) state(key *Key, s *Statement) error {
	roots := Roots(key)
	if len(roots) == 2 {
		s.Base, s.Adapter = &roots[0], &roots[1]
	}
	switch {
	case o.ExpectBase == nil && o.ExpectBaseKey == nil:
		return nil
	case s.Base == nil:
		return fmt.Errorf("%w: %w: it is no adapter's", ErrInvalid, ErrOtherBase)
	case o.ExpectBase != nil && *o.ExpectBase != *s.Base:
		return fmt.Errorf("%w: %w: the root of its base is %s, not %s", ErrInvalid, ErrOtherBase, s.Base, o.ExpectBase)
	}
	if o.ExpectBaseKey != nil {
		return checkBase(key, o.ExpectBaseKey)
	}
	return nil
}

// checkBase checks that an adapter's key has the tensors of the base's key under the same root: each of the same shape, on the same
// scale, in the same place.
func checkBase(key, base *Key) error {
	if len(base.Trees) != 1 || base.Trees[0] != key.Trees[0] || base.Security.Hash != key.Security.Hash {
		return fmt.Errorf("%w: %w: it has another commitment to the weights of its base", ErrInvalid, ErrOtherBase)
	}
	g, of := key.Circuit.Graph, base.Circuit.Graph
	ids := of.FixedIDs()
	if len(ids) != len(g.Base) {
		return fmt.Errorf("%w: %w: its base has %d tensors, not %d", ErrInvalid, ErrOtherBase, len(g.Base), len(ids))
	}
	for i, id := range ids {
		t, own := &of.Tensors[id], &g.Tensors[g.Base[i]]
		if t.Name != own.Name || !slices.Equal(t.Shape, own.Shape) || t.Frac != own.Frac || !slices.Equal(t.Fracs, own.Fracs) {
			return fmt.Errorf("%w: %w: tensor %q of it has another shape or scale, or is not in its place", ErrInvalid, ErrOtherBase, t.Name)
		}
	}
	return nil
}
