package main

import (
	"bytes"
	"errors"
	"math/rand/v2"

	"github.com/prove-model/prove-model/internal/golden"
	"github.com/prove-model/prove-model/internal/must"
	"github.com/prove-model/prove-model/internal/schema"
	"github.com/prove-model/prove-model/prover/proof"
	"github.com/prove-model/prove-model/prover/verifier"
)

// link is a golden link of two keys, with its decoded message.
type link struct {
	*golden.Linked
	message *schema.Link
}

// parsedLinks decodes the messages of links.
func parsedLinks(all []*golden.Linked) (list []*link) {
	for _, l := range all {
		m := &schema.Link{}
		must.OK(schema.Decode(l.Link[len(proof.LinkMagic):], m))
		list = append(list, &link{l, m})
	}
	return list
}

// line is the unchanged link. Both verifiers must accept it, unless it is one of keys of different weights.
func (l *link) line() *line {
	m := &line{Name: l.Name, Former: l.Former, Key: l.Renewed, Proof: l.Link, Built: true, Want: !l.OfDifferentWeights}
	m.judgeLink()
	return m
}

// alteredLink alters a link or one of its keys. If it alters a key, it changes the link to name the altered one.
func alteredLink(all []*link, rng *rand.Rand) *line {
	l := all[rng.IntN(len(all))]
	m := &line{Former: l.Former, Key: l.Renewed, Proof: l.Link}
	message := schema.Clone(l.message)
	encode := func() { m.Proof = schema.Append([]byte(proof.LinkMagic), message) }
	switch what := rng.IntN(7); what {
	case 0:
		m.Name, m.Proof = "a byte", flipped(m.Proof, rng)
	case 1:
		m.Name = "a word"
		words := split(message.Body, false)
		words[rng.IntN(len(words))] ^= 1 << rng.IntN(32)
		message.Body = joined(words, false)
		encode()
	case 2:
		m.Name = "the end"
		if n := rng.IntN(9); rng.IntN(2) == 0 {
			message.Body = message.Body[:len(message.Body)-n]
		} else {
			message.Body = append(message.Body, make([]byte, n)...)
		}
		encode()
	case 3:
		m.Name = "the message"
		change := &mutation{rng: rng}
		change.field(message)
		encode()
	case 4:
		m.Name = "the keys exchanged"
		m.Former, m.Key = m.Key, m.Former
		if rng.IntN(2) == 0 {
			message.First, message.Second = message.Second, message.First
		}
		encode()
	case 5:
		m.Name = "another link's key"
		m.Key = all[rng.IntN(len(all))].Renewed
		message.Second = digest(m.Key)
		encode()
	default:
		m.Name = "a key's byte"
		of := []*[]byte{&m.Former, &m.Key}[rng.IntN(2)]
		*of = flipped(*of, rng)
		message.First, message.Second = digest(m.Former), digest(m.Key)
		encode()
	}
	m.Name = l.Name + ": " + m.Name
	m.judgeLink()
	return m
}

// judgeLink sets the verdicts of a link.
func (l *line) judgeLink() {
	var keys [2]*proof.Key
	l.judged(func() (err error) {
		for i, b := range [][]byte{l.Former, l.Key} {
			if keys[i], err = proof.ReadKey(bytes.NewReader(b), proof.MaxKeySize); err != nil {
				return err
			}
		}
		return nil
	}, func() error {
		_, err := verifier.CheckLink(keys[0], keys[1], bytes.NewReader(l.Proof), 1)
		if err != nil && !errors.Is(err, verifier.ErrInvalid) {
			panic(err)
		}
		return err
	})
}
