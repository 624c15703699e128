package peers

import (
	"context"
	"errors"
	"iter"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/prove-model/prove-model/kernels"
	"github.com/prove-model/prove-model/prover/circuit/model"
	"github.com/prove-model/prove-model/prover/machine/cuda/device"
	"github.com/prove-model/prove-model/prover/machine/cuda/run"
	"github.com/prove-model/prove-model/prover/math/ints"
	"github.com/prove-model/prove-model/prover/protocol/backend"
)

// The fixed tensors of a commitment come to the machines that share it through queues of their own,
// in the order in which groups read them, while groups are hashed: in pieces, so that a group waits
// for no more of a tensor than it reads, and each piece goes up to one machine, from which the others
// that want the tensor copy it, so that all buses are in use.

// transfers are the tensors on their way to a team.
type transfers struct {
	cancel context.CancelFunc
	all    []*arrivals // by machine
	ended  sync.WaitGroup
}

// transfer is a tensor on its way to the machines that want it.
type transfer struct {
	values  ints.Ints
	width   int
	entries int        // of a piece, but for the last
	number  int        // of all, in the order in which groups read them; it says who takes the first piece
	to      []*arrival // by machine that wants it
	sent    []sentChunk
}

// sentChunk is a piece that one machine takes.
type sentChunk struct {
	done chan struct{} // closed when its upload is enqueued, or will not be
	lost bool          // it will not be
}

// arrival is a tensor on its way to one machine.
type arrival struct {
	*transfer
	on     *arrivals
	tensor *device.Tensor
	room   chan struct{}   // closed when there is memory, or none can be had
	taken  chan struct{}   // closed when the machine's pieces are enqueued, or will not be
	there  []chan struct{} // by piece, closed when it is enqueued, or will not be
	failed atomic.Bool
}

// arrivals are the tensors on their way to one machine.
type arrivals struct {
	b          *run.Stream
	up, across kernels.Device // queues: of uploads, and of copies from other machines
	list       []*arrival     // as they come
	of         map[model.TensorID]*arrival
	pieces     map[int][]chan struct{} // by group, for who hashes
	spoiled    *device.Error           // of a machine that chunks were copied from before they were written there
	left       []*device.Tensor        // of failed arrivals, which others may be reading
}

// transferBytes is how many bytes of a tensor come at a time. Each upload ends with a wait for its slowest core, so they are long.
const transferBytes = 256 << 20

// transferTo has the fixed tensors come that the groups of a commitment read and that none of the
// machines has, in pieces of so many bytes. Those are given by backends, and the groups by the number
// of the backend. What cannot come this way is left to who wants it. The caller ends it.
func transferTo(ctx context.Context, c *backend.Commitment, machines []*run.Stream, of []int, piece int) *transfers {
	s := &transfers{}
	ctx, s.cancel = context.WithCancel(ctx)
	for _, b := range machines {
		s.all = append(s.all, newArrivals(b))
	}
	if len(of) > 1 { // of one group nothing comes while others are hashed
		s.list(c, of, piece)
	}
	for _, a := range s.all {
		if len(a.list) > 0 {
			s.ended.Go(a.makeRoom)
			s.ended.Go(func() { a.send(ctx) })
			s.ended.Go(func() { a.receive(ctx) })
		}
	}
	return s
}

// newArrivals returns those of a machine, nothing so far, without queues if it has none beside those that
// its streams use.
func newArrivals(b *run.Stream) *arrivals {
	a := &arrivals{b: b, of: map[model.TensorID]*arrival{}, pieces: map[int][]chan struct{}{}}
	up, err := kernels.StreamOf(b.Context.Dev, b.Context.Streams)
	if err != nil || kernels.Base(up) == kernels.Base(b.Context.Dev) {
		return a
	}
	if across, err := kernels.StreamOf(b.Context.Dev, b.Context.Streams+1); err == nil {
		a.up, a.across = up, across
	}
	return a
}

// list lists what comes, in pieces of so many bytes.
func (s *transfers) list(c *backend.Commitment, of []int, piece int) {
	on := map[model.TensorID]*transfer{} // nil where some machine has the tensor
	count := 0
	for i := range c.Groups {
		a := s.all[of[i]]
		for id := range fixedOf(a.b.Graph, c, i) {
			x, listed := on[id]
			if !listed {
				if values := a.b.Witness.Fixed(id); !s.somewhere(values) {
					w := device.Width(values)
					x = &transfer{values: values, width: w, entries: max(1, piece/w), number: count}
					x.sent = make([]sentChunk, (values.Len()+x.entries-1)/x.entries)
					for k := range x.sent {
						x.sent[k].done = make(chan struct{})
					}
					count++
				}
				on[id] = x
			}
			if x == nil || a.of[id] != nil || a.up == nil {
				continue
			}
			if over, err := a.b.Context.Reserve(x.values, x.bytes()); over == nil && err == nil {
				a.add(id, x)
			}
		}
	}
	for _, a := range s.all { // all machines take what they take in one order
		slices.SortFunc(a.list, func(x, y *arrival) int { return x.number - y.number })
	}
}

// somewhere says whether one of the machines has a tensor.
func (s *transfers) somewhere(values ints.Ints) bool {
	for _, a := range s.all {
		if a.b.Context.Known(values) != nil {
			return true
		}
	}
	return false
}

// add has a tensor come to the machine too.
func (a *arrivals) add(id model.TensorID, s *transfer) {
	x := &arrival{transfer: s, on: a, tensor: &device.Tensor{Len: s.values.Len(), Width: s.width}, room: make(chan struct{}), taken: make(chan struct{})}
	for range s.sent {
		x.there = append(x.there, make(chan struct{}))
	}
	s.to = append(s.to, x)
	a.list, a.of[id] = append(a.list, x), x
}

// bytes returns the size of the tensor on a device.
func (s *transfer) bytes() int { return s.values.Len() * s.width }

// owner returns the arrival that takes a piece.
func (s *transfer) owner(piece int) *arrival { return s.to[(s.number+piece)%len(s.to)] }

// upload uploads a piece through a queue of its machine.
func (x *arrival) upload(dev kernels.Device, piece int) error {
	from := piece * x.entries
	to := min(from+x.entries, x.values.Len())
	return device.UploadAs(dev, x.tensor.Ptr.Offset(from, x.width), x.values.Slice(from, to), x.width)
}

// Deadlock freedom: the allocation of tensor i waits until this machine has sent its pieces of tensor i−2; sending them
// waits for the allocation alone; receiving waits for allocations and senders. No sender waits for another machine.

// makeRoom makes room for some tensors ahead, which takes the driver as long as a part of the transfer.
func (a *arrivals) makeRoom() {
	const ahead = 2 // more would keep the hashing from its memory, while the driver is at this
	for i, x := range a.list {
		if i >= ahead {
			<-a.list[i-ahead].taken
		}
		var err error
		if x.tensor.Ptr, err = a.up.Alloc(x.bytes()); err != nil {
			x.failed.Store(true)
		}
		close(x.room)
	}
}

// send uploads the pieces that the machine takes.
func (a *arrivals) send(ctx context.Context) {
	for _, x := range a.list {
		<-x.room
		for k := range x.sent {
			if x.owner(k) == x {
				ok := ctx.Err() == nil && !x.failed.Load()
				x.sent[k].lost = !ok || x.upload(a.up, k) != nil
				close(x.sent[k].done)
			}
		}
		close(x.taken)
	}
}

// receive copies the other pieces from those that take them, and gives the tensors to the machine,
// some at a time as it waits for the queues before.
func (a *arrivals) receive(ctx context.Context) {
	var whole []*arrival
	bytes := 0
	for i, x := range a.list {
		<-x.room
		for k := range x.there {
			if err := x.fetch(ctx, k); err != nil {
				x.failed.Store(true)
			}
			close(x.there[k])
		}
		whole, bytes = append(whole, x), bytes+x.bytes()
		if bytes >= deliverTogether || i+1 == len(a.list) {
			a.arrived(whole)
			whole, bytes = nil, 0
		}
	}
}

// deliverTogether is how many bytes of tensors are given to a machine at a time.
const deliverTogether = 1 << 28

// fetch has a piece enqueued on one of the machine's queues.
func (x *arrival) fetch(ctx context.Context, piece int) error {
	sent := &x.sent[piece]
	<-sent.done
	a, from := x.on, x.owner(piece)
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case x.failed.Load():
		return errNotSent
	case from == x && sent.lost:
		return errNotSent
	case from == x:
		return nil
	}
	if piece == 0 || x.owner(piece-1) == x { // the memory is the other queue's
		if err := kernels.After(a.across, a.up); err != nil {
			return err
		}
	}
	if !sent.lost {
		err := kernels.After(a.across, from.on.up)
		if err == nil {
			at, n := piece*x.entries, min(x.entries, x.values.Len()-piece*x.entries)
			err = kernels.CopyFrom(a.across, x.tensor.Ptr.Offset(at, x.width), from.on.up, from.tensor.Ptr.Offset(at, x.width), n*x.width)
		}
		if err == nil || !errors.As(err, new(*kernels.SourceError)) {
			return err
		}
	}
	return x.upload(a.across, piece) // as the other machine fails
}

var errNotSent = errors.New("a piece of a tensor was not sent")

// arrived gives tensors to the machine when its queues have all of them, or none of them.
func (a *arrivals) arrived(whole []*arrival) {
	err := errors.Join(quiesce(a.up), quiesce(a.across))
	if err == nil {
		err = a.sourcesHeld(whole)
	}
	for _, x := range whole {
		if err != nil || x.failed.Load() {
			x.failed.Store(true)
			if x.tensor.Ptr != 0 {
				a.left = append(a.left, x.tensor)
			}
			a.b.Context.Arrived(x.values, x.bytes(), nil)
			continue
		}
		a.b.Context.Arrived(x.values, x.bytes(), x.tensor)
	}
}

// sourcesHeld asks the machines that chunks were copied from whether these had been written there: a machine that fails
// may leave its uploads undone, and what was copied is not the tensor. Then it uploads the chunks, and notes that what was
// made of them is spoiled.
func (a *arrivals) sourcesHeld(whole []*arrival) error {
	errs := map[*arrivals]error{}
	for _, x := range whole {
		for k := range x.sent {
			from := x.owner(k).on
			if from == a || x.sent[k].lost || x.failed.Load() {
				continue
			}
			if _, asked := errs[from]; !asked {
				errs[from] = quiesce(from.up)
			}
			if errs[from] == nil {
				continue
			}
			a.spoiled = &device.Error{On: from.b.Context, Err: errs[from]}
			if err := x.upload(a.across, k); err != nil {
				return errors.Join(err, quiesce(a.across)) // earlier ones may still write to what is freed
			}
		}
	}
	if a.spoiled == nil {
		return nil
	}
	return quiesce(a.across)
}

// check gives up if a machine may have hashed what another one had not written. Everything has come (end).
func (s *transfers) check() {
	for _, a := range s.all {
		if a.spoiled != nil {
			device.Check(a.spoiled)
		}
	}
}

// end waits until all has come, or gives up what has not.
func (s *transfers) end(give bool) {
	if give {
		s.cancel()
	}
	s.ended.Wait()
	s.cancel()
	for _, a := range s.all { // no queue reads what is left
		for _, t := range a.left {
			t.Free(a.b.Context.Dev)
		}
		a.left = nil
	}
}

// Wait makes the machine's own queue wait until the tensors that a group reads have arrived:
// whatever is enqueued from now on runs after that.
func (a *arrivals) Wait(c *backend.Commitment, group int) {
	if a.waited(c, group) {
		device.Check(kernels.After(a.b.Dev, a.up))
		device.Check(kernels.After(a.b.Dev, a.across))
	}
}

// waited waits until what a group reads is enqueued, and reports whether there was anything.
func (a *arrivals) waited(c *backend.Commitment, group int) bool {
	pieces := a.awaited(c, group)
	for _, there := range pieces {
		<-there
	}
	return len(pieces) > 0
}

// Have says whether what a group reads need not be waited for.
func (a *arrivals) Have(c *backend.Commitment, group int) bool {
	for _, there := range a.awaited(c, group) {
		select {
		case <-there:
		default:
			return false
		}
	}
	return true
}

// awaited returns what says that the last pieces are enqueued that a group reads: they come in order.
func (a *arrivals) awaited(c *backend.Commitment, group int) []chan struct{} {
	pieces, ok := a.pieces[group]
	if !ok {
		for id, entries := range fixedOf(a.b.Graph, c, group) {
			if x := a.of[id]; x != nil {
				pieces = append(pieces, x.there[(entries-1)/x.entries])
			}
		}
		a.pieces[group] = pieces
	}
	return pieces
}

// Find returns a tensor that is on its way, as far as has been waited for, or one that is there.
func (a *arrivals) Find(id model.TensorID) (*device.Tensor, error) {
	if x := a.of[id]; x != nil && !x.failed.Load() {
		return x.tensor, nil
	}
	return a.b.Find(id)
}

// fixedOf yields the fixed tensors that a group of a commitment reads, block by block, and how many of a tensor's first entries have
// all of those.
func fixedOf(g *model.Graph, c *backend.Commitment, group int) iter.Seq2[model.TensorID, int] {
	return func(yield func(model.TensorID, int) bool) {
		for b, n := range c.Blocks(group) {
			if t := &g.Tensors[b.Tensor]; t.Kind == model.Fixed && !yield(b.Tensor, entriesTo(b, t.Shape, n)) {
				return
			}
		}
	}
}

// entriesTo returns how many of a tensor's first entries have the first n of a block, at least one.
func entriesTo(b *model.Block, shape []int, n int) int {
	inner := b.Bits // of the axes behind
	before := 0
	for a, p := range b.Parts {
		stride := model.Size(shape[a+1:])
		inner -= p.Bits
		if p.Bits > 0 { // of the axes behind that all may be
			return before + (p.Start+(n-1)>>inner+1)*stride
		}
		before += p.Start * stride
	}
	return before + 1
}
