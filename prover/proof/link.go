package proof

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/prove-model/prove-model/prover/math/transcript"
	"github.com/prove-model/prove-model/prover/proof/wire"
	"github.com/prove-model/prove-model/prover/protocol/plan"
	"github.com/prove-model/prove-model/prover/protocol/soundness"
)

// LinkMagic starts every file of a link.
const LinkMagic = "PM.lnk\r\n"

// MaxLinkSize is the size of the largest file of a link that is accepted.
const MaxLinkSize = 1 << 28

// Link is a proof that two keys that hide weights have the same ones.
type Link struct {
	// Keys are the digests of the two.
	Keys [2][sha256.Size]byte
	// Levels are the parameters of the opening.
	Levels []soundness.Level
	// Body is what the prover sends.
	Body []byte
}

var linkMessage = wire.New("Link", nil,
	versionField[Link](),
	sha256Field(2, "first", func(l *Link) *[sha256.Size]byte { return &l.Keys[0] }),
	sha256Field(3, "second", func(l *Link) *[sha256.Size]byte { return &l.Keys[1] }),
	wire.List(4, "levels", levelMessage, func(l *Link) *[]soundness.Level { return &l.Levels }),
	wire.Raw(5, "body", func(l *Link) *[]byte { return &l.Body }),
)

// Encode returns the file of the link.
func (l *Link) Encode() []byte { return linkMessage.Append([]byte(LinkMagic), l) }

// DecodeLink reads the file of a link. Its errors wrap ErrMalformed.
func DecodeLink(b []byte) (*Link, error) {
	l := &Link{}
	err := errors.New("it is none")
	if body, ok := bytes.CutPrefix(b, []byte(LinkMagic)); ok && len(b) <= MaxLinkSize {
		err = linkMessage.Decode(body, l, maxHeaderLevels+1)
	}
	if err != nil {
		return nil, fmt.Errorf("%w link: %w", ErrMalformed, err)
	}
	return l, nil
}

// Statement starts the transcript of the link: all of it depends on the keys and the parameters.
func (l *Link) Statement(first *Key) *transcript.Sponge {
	s := transcript.New(first.Security.Hash, "prove-model link")
	s.AbsorbBytes(linkMessage.Append(nil, &Link{Keys: l.Keys, Levels: l.Levels}))
	return s
}

// LinkPlan plans a link of two keys, which must be of one circuit and differ in nothing but the commitment. With no levels they
// are chosen.
func LinkPlan(first, second *Key, levels []soundness.Level) (*plan.Link, error) {
	if !first.Hides() || !second.Hides() {
		return nil, errors.New("a link is of two keys that hide weights")
	}
	if len(first.Trees) != 1 || len(second.Trees) != 1 {
		return nil, errors.New("a link is of keys whose weights are under one root, and not of ones with a base")
	}
	if first.Digest == second.Digest {
		return nil, errors.New("a link is of two keys, and this is one")
	}
	if !bytes.Equal(first.besideTrees(), second.besideTrees()) {
		return nil, errors.New("the keys are of two circuits, or of one in two ways, and not of the same weights")
	}
	if err := first.checkOnce(); err != nil {
		return nil, err
	}
	g, err := first.at(first.Circuit.Unit())
	if err != nil {
		return nil, err
	}
	var rows [2]plan.LinkedRows
	for i, k := range []*Key{first, second} {
		t := k.FixedTree()
		rows[i] = plan.LinkedRows{RowVars: t.RowVars, TailLog: t.TailLog}
	}
	return plan.NewLink(g, first.Security.Config(), rows, levels)
}

// besideTrees is what the key says but for the commitments.
func (k *Key) besideTrees() []byte {
	c := Key{Circuit: k.Circuit, Security: k.Security, Source: k.Source, Texts: k.Texts}
	return keyMessage.Append(binary.LittleEndian.AppendUint32(nil, Version), &c)
}
