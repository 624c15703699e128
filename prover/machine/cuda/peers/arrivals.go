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

// While the machines hash the groups of a commitment, the fixed tensors that the groups read are
// transferred to them, through queues of their own, in the order in which groups read them. A tensor
// comes in pieces, so that a group waits only for the pieces that it reads. Each piece is uploaded
// from the host to one machine, its owner, and the other machines that want the tensor copy the
// piece from there. Owners alternate, so that all buses are in use.

// transfers are the tensors on their way to the machines of a team.
type transfers struct {
	cancel context.CancelFunc
	all    []*arrivals // by machine
	ended  sync.WaitGroup
}

// transfer is a tensor on its way to the machines that want it.
type transfer struct {
	values  ints.Ints
	width   int        // bytes of an entry on the device
	entries int        // in each piece but the last
	number  int        // of the transfer, in the order in which groups read tensors; the owners of its pieces follow from it (owner)
	to      []*arrival // by machine that wants it
	sent    []sentChunk
}

// sentChunk is the state of one piece of a transfer on its owner.
type sentChunk struct {
	done chan struct{} // closed by the owner's send when the upload is enqueued, or is given up
	lost bool          // the upload was given up; set before done is closed
}

// arrival is a tensor on its way to one machine.
type arrival struct {
	*transfer
	on     *arrivals
	tensor *device.Tensor
	room   chan struct{}   // closed by makeRoom when memory is allocated, or could not be
	taken  chan struct{}   // closed by send when the uploads of the machine's own pieces are enqueued, or given up
	there  []chan struct{} // by piece, closed by receive when its upload or copy is enqueued here, or given up
	failed atomic.Bool     // the tensor does not come: no memory, an error, or the context has ended
}

// arrivals are the tensors on their way to one machine.
type arrivals struct {
	b          *run.Stream
	up, across kernels.Device              // queues: for uploads, and for copies from other machines; nil if the machine has none to spare
	list       []*arrival                  // in the order of transfer.number
	of         map[model.TensorID]*arrival // the same, by tensor
	pieces     map[int][]chan struct{}     // by group: results of awaited
	spoiled    *device.Error               // of a machine that failed, so that pieces copied from it may not have been written there
	left       []*device.Tensor            // of failed arrivals; freed at the end, as other machines may still read them
}

// transferBytes is how many bytes of a tensor a piece has. Each upload ends with a wait for its slowest core, so pieces are large.
const transferBytes = 256 << 20

// transferTo starts the transfer of the fixed tensors that the groups of a commitment read and that no
// machine has yet, in pieces of so many bytes. of[i] is the index in machines of the one that hashes
// group i. Tensors that cannot come this way are loaded by the machine that hashes, when it wants them (Find). The caller must call
// end.
func transferTo(ctx context.Context, c *backend.Commitment, machines []*run.Stream, of []int, piece int) *transfers {
	s := &transfers{}
	ctx, s.cancel = context.WithCancel(ctx)
	for _, b := range machines {
		s.all = append(s.all, newArrivals(b))
	}
	if len(of) > 1 { // with a single group there is no other group to hash while its tensors come
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

// Numbers of queues, counted from Context.Streams. Number 0 is that of run.Rows, which others must not use: it may be recording
// (kernels.Recorder), and does not do then what is enqueued. aheadQueue is the queue that hashes while a run goes on (Ahead).
const (
	upQueue = 1 + iota
	acrossQueue
	aheadQueue
)

// newArrivals returns the arrivals of a machine, empty so far. Their queues are nil if the machine has no queues beside those of its
// streams.
func newArrivals(b *run.Stream) *arrivals {
	a := &arrivals{b: b, of: map[model.TensorID]*arrival{}, pieces: map[int][]chan struct{}{}}
	up, err := kernels.StreamOf(b.Context.Dev, b.Context.Streams+upQueue)
	if err != nil || kernels.Base(up) == kernels.Base(b.Context.Dev) {
		return a
	}
	if across, err := kernels.StreamOf(b.Context.Dev, b.Context.Streams+acrossQueue); err == nil {
		a.up, a.across = up, across
	}
	return a
}

// list plans the transfers, in pieces of so many bytes, and reserves the tensors on the machines that want them. It leaves out tensors
// that some machine has already: the others copy them from there when they want them (device.Context.Resident).
func (s *transfers) list(c *backend.Commitment, of []int, piece int) {
	on := map[model.TensorID]*transfer{} // nil for a tensor that some machine has already
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
	for _, a := range s.all { // all machines transfer their tensors in the same order
		slices.SortFunc(a.list, func(x, y *arrival) int { return x.number - y.number })
	}
}

// somewhere says whether any machine has a tensor.
func (s *transfers) somewhere(values ints.Ints) bool {
	for _, a := range s.all {
		if a.b.Context.Known(values) != nil {
			return true
		}
	}
	return false
}

// add adds the machine to those to which a tensor comes.
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

// owner returns the arrival on the machine that uploads a piece from the host.
func (s *transfer) owner(piece int) *arrival { return s.to[(s.number+piece)%len(s.to)] }

// upload uploads a piece to the machine of x, through its queue dev.
func (x *arrival) upload(dev kernels.Device, piece int) error {
	from := piece * x.entries
	to := min(from+x.entries, x.values.Len())
	return device.UploadAs(dev, x.tensor.Ptr.Offset(from, x.width), x.values.Slice(from, to), x.width)
}

// Each machine has three goroutines: makeRoom, send and receive. They do not deadlock:
//
//   - makeRoom allocates tensor i after send on the same machine has finished with tensor i−2 (taken).
//   - send waits for the allocations of its own machine only (room). So makeRoom and send wait for no other machine, and end.
//   - receive waits for allocations of its own machine, and for senders of all machines (sentChunk.done).
//   - The goroutine that hashes waits for receive (there).
//
// Each of them closes all its channels also after an error, or when the context has ended.

// makeRoom allocates memory for up to two tensors ahead of send, so that the transfer does not wait for the driver.
func (a *arrivals) makeRoom() {
	const ahead = 2 // with more, the hashing would wait for its own memory while the driver allocates these
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

// send uploads the pieces that the machine owns.
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

// receive copies the other pieces from their owners, and hands finished tensors to the machine's
// Context. It does that for several tensors at a time, as it has to wait for the queues before.
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

// deliverTogether is from how many bytes of tensors on receive hands them over.
const deliverTogether = 1 << 28

// fetch returns when a piece is enqueued on one of the machine's queues. If send has not uploaded it here, fetch enqueues a copy from
// the owner, or an upload if the owner has failed. The copy comes after the owner's queue `up` (kernels.After), which writes the piece.
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
	// The memory was allocated through the queue up, so the first copy through across must come after that. The first copy is of
	// piece 0, or of piece 1 if piece 0 was uploaded here.
	if piece == 0 || x.owner(piece-1) == x {
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
	return x.upload(a.across, piece) // the owner has failed
}

// errNotSent is the error of a piece that was given up.
var errNotSent = errors.New("a piece of a tensor was not sent")

// arrived waits for the machine's two queues and hands the tensors to its Context, which owns them from then on. If a queue or a source
// fails, none of them is handed over. The memory of tensors that do not arrive is kept in left until the end: other machines may be
// reading it.
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

// sourcesHeld checks the machines that pieces were copied from. A machine that fails may not have done its uploads, and then the copies
// are not of the tensor. In that case sourcesHeld uploads the pieces from the host, so that the tensor here is right, and notes in
// spoiled that digests already made from it may be wrong (check).
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

// check gives up, with the error of the machine that failed, if another machine may have hashed data that the failed one had not written.
// It is called after end.
func (s *transfers) check() {
	for _, a := range s.all {
		if a.spoiled != nil {
			device.Check(a.spoiled)
		}
	}
}

// end waits until all transfers have ended, and frees the memory of those that failed. With give, transfers that are not done are given
// up first.
func (s *transfers) end(give bool) {
	if give {
		s.cancel()
	}
	s.ended.Wait()
	s.cancel()
	for _, a := range s.all { // every receive has waited for its copies (arrived), so no queue reads these any more
		for _, t := range a.left {
			t.Free(a.b.Context.Dev)
		}
		a.left = nil
	}
}

// Wait implements open.Arrivals. The host waits until all pieces that the group reads are enqueued, and
// makes the queue that hashes wait for the two queues that bring them.
func (a *arrivals) Wait(c *backend.Commitment, group int) {
	if a.waited(c, group) {
		device.Check(kernels.After(a.b.Dev, a.up))
		device.Check(kernels.After(a.b.Dev, a.across))
	}
}

// waited waits until all pieces that a group reads are enqueued, and reports whether there are any.
func (a *arrivals) waited(c *backend.Commitment, group int) bool {
	pieces := a.awaited(c, group)
	for _, there := range pieces {
		<-there
	}
	return len(pieces) > 0
}

// Have implements open.Arrivals: it says whether Wait would return at once.
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

// awaited returns, for each tensor that a group reads and that is on its way, the channel of the last piece that the group reads. Pieces
// come in order, so the ones before are enqueued then too.
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

// Find implements open.Arrivals. Of a tensor that is on its way, only the pieces that were waited for may be read.
func (a *arrivals) Find(id model.TensorID) (*device.Tensor, error) {
	if x := a.of[id]; x != nil && !x.failed.Load() {
		return x.tensor, nil
	}
	return a.b.Find(id)
}

// fixedOf yields the fixed tensors that a group of a commitment reads, block by block, each with a number n such that all entries that
// the group reads are among the tensor's first n.
func fixedOf(g *model.Graph, c *backend.Commitment, group int) iter.Seq2[model.TensorID, int] {
	return func(yield func(model.TensorID, int) bool) {
		for b, n := range c.Blocks(group) {
			if t := &g.Tensors[b.Tensor]; t.Kind == model.Fixed && !yield(b.Tensor, entriesTo(b, t.Shape, n)) {
				return
			}
		}
	}
}

// entriesTo returns a number m, at least 1, for which the first n ≥ 1 entries of a block are among the first m of its tensor. It goes by
// the first axis along which the block has more than one index, and counts the axes after it as whole.
func entriesTo(b *model.Block, shape []int, n int) int {
	inner := b.Bits // bits of the block's index along the axes after a
	before := 0     // offset by the starts along the axes before a
	for a, p := range b.Parts {
		stride := model.Size(shape[a+1:])
		inner -= p.Bits
		if p.Bits > 0 { // (n−1)>>inner is the last index along a, relative to Start
			return before + (p.Start+(n-1)>>inner+1)*stride
		}
		before += p.Start * stride
	}
	return before + 1
}
