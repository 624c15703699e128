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

// LinkMagic starts every link file.
const LinkMagic = "PM.lnk\r\n"

// MaxLinkSize is the size of the largest link file that DecodeLink accepts.
const MaxLinkSize = 1 << 28

// Link is a proof that two keys that hide weights commit to the same weights (docs/protocol.md, "Links").
type Link struct {
	// Keys are the digests of the two keys.
	Keys [2][sha256.Size]byte
	// Levels are the parameters of the opening.
	Levels []soundness.Level
	// Body is the stream of transcript bytes that the prover sends, transcript.LimbBytes a limb.
	Body []byte
}

var linkMessage = wire.New("Link", nil,
	versionField[Link](),
	sha256Field(2, "first", func(l *Link) *[sha256.Size]byte { return &l.Keys[0] }),
	sha256Field(3, "second", func(l *Link) *[sha256.Size]byte { return &l.Keys[1] }),
	wire.List(4, "levels", levelMessage, func(l *Link) *[]soundness.Level { return &l.Levels }),
	wire.Raw(5, "body", func(l *Link) *[]byte { return &l.Body }),
)

// Encode returns the link file.
func (l *Link) Encode() []byte { return linkMessage.Append([]byte(LinkMagic), l) }

// DecodeLink reads a link file. It checks nothing but the encoding (verifier.VerifyLink does the rest). Its errors wrap ErrMalformed.
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

// Statement starts the link's transcript with the digests of both keys and the parameters, so that every challenge depends on them.
// first gives the hash suite.
func (l *Link) Statement(first *Key) *transcript.Sponge {
	s := transcript.New(first.Security.Hash, "prove-model link")
	s.AbsorbBytes(linkMessage.Append(nil, &Link{Keys: l.Keys, Levels: l.Levels}))
	return s
}

// LinkPlan plans a link of two keys that hide their weights. It refuses keys that differ in anything but the commitment: only equal
// circuits lay out their fixed tensors in equal blocks. levels are the parameters of the opening; if there are none, they are chosen.
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

// besideTrees returns an encoding of the key without its trees. Two keys that differ in nothing else have the same.
func (k *Key) besideTrees() []byte {
	c := Key{Circuit: k.Circuit, Security: k.Security, Source: k.Source, Texts: k.Texts}
	return keyMessage.Append(binary.LittleEndian.AppendUint32(nil, Version), &c)
}
