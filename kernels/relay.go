package kernels

import (
	"errors"
	"time"

	"github.com/prove-model/prove-model/prover/field"
)

// ErrLate says that a launch did nothing since the reply that it wanted came too late.
var ErrLate = errors.New("mailbox: the reply came too late")

// A Relay is a Mailbox through which the host gives challenges to launches that are in the queue
// already, so that there is no launch between an answer and what needs it: the device waits for a
// reply, in one thread and not for long.
type Relay interface {
	Mailbox
	// Ready says whether it is worth it now.
	Ready() bool
	// Await enqueues the wait for the next reply.
	Await() (Given, error)
	// Reply ends the wait with two challenges.
	Reply(r, s field.QM31)
	// Cancel ends it without any: launches that want them do nothing.
	Cancel()
	// WaitFor is Wait for the launch with a Post that may not be the latest one, and with what it
	// was given, if it was. If the reply came too late the error is ErrLate.
	WaitFor(p Post, g Given, dst []uint64) error
}

// Given stands for two challenges that are not known yet.
type Given struct {
	at     Ptr
	ticket uint64
}

// givenChallenges is what kernels take in place of the number of challenges.
const givenChallenges = 3

// GivenWords are the words of a reply, and of what is given: a ticket, and what entries are bound
// with.
const GivenWords = 7

func (g Given) challenges() []uint64 {
	return []uint64{givenChallenges, uint64(g.at), g.ticket, 0, 0, 0, 0}
}

// NewReply returns the words of a reply.
func NewReply(ticket uint64, r, s field.QM31) []uint64 {
	return append([]uint64{ticket}, boundWith([]field.QM31{r, s})...)
}

// AwaitReply enqueues the wait for a reply (NewReply) with a ticket, or a later one, which comes to
// an address that the host writes to. What is given with it is at another address. After the limit
// the word at late is the ticket.
func AwaitReply(d Device, at, reply, late Ptr, ticket uint64, limit time.Duration) (Given, error) {
	return Given{at, ticket}, d.Launch(Kernel{"sumcheck", "sumcheck_relay"}, Launch{GridX: 1, Block: 1}, uint64(at), uint64(reply), uint64(late), ticket, uint64(limit))
}
