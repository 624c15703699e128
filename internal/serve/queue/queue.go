// Package queue stores what a server has answered until it is proved: jobs, the records of their proofs, and the proofs. All of it is in
// NATS JetStream, on disk, so it survives the processes. JetStream runs in this process (Embedded), or in a server that several
// processes share (Connect); the code is the same.
//
//	Accept ── job ──► stream of jobs ──► Work ── result ──► stream of results ──► Check ──► record, proof
//
// A worker that finds several jobs waiting which may be proved together turns them into one joint job (joint.go), which takes the same
// way. A job stays in its stream until a worker has left a result, and a result stays in its stream until it was verified. So nothing is
// lost if a process dies: another one gets the job, and makes the same bytes.
package queue

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/nats-io/nuid"

	"github.com/prove-model/prove-model/internal/must"
	"github.com/prove-model/prove-model/internal/serve/traces"
)

// Names in JetStream.
const (
	prefix   = "prove-model"
	jobs     = prefix + ".jobs."     // followed by the commitment
	results  = prefix + ".results."  // followed by the id
	notices  = prefix + ".notices."  // followed by the id
	progress = prefix + ".progress." // followed by the id; these messages are not stored
)

// Queue is a connection to the store. Several goroutines may use it at once.
type Queue struct {
	nc      *nats.Conn
	js      jetstream.JetStream
	jobs    jetstream.Stream
	results jetstream.Stream
	notices jetstream.Stream
	records jetstream.KeyValue
	coins   jetstream.KeyValue // seeds of coins, by day; servers only
	files   files              // jobs as job.ID, proofs as proof.ID.SHA256
	keys    objects            // files of keys, by commitment
	own     *server.Server     // the JetStream server in this process; nil if it is elsewhere
	unlock  func()             // releases the folder's lock; nil if the server is elsewhere
	process string             // name of this process, unique in the store
	now     func() time.Time   // time.Now, for tests
	wait    time.Duration      // after which a job whose worker is silent is given to another worker
}

// Options say how a store works.
type Options struct {
	// Keep is how long jobs and proofs are kept; 0: for ever.
	Keep time.Duration
	// Replicas is the number of servers of a cluster on which everything is stored; 0 is one.
	Replicas int
	// Bucket is the address of a bucket of an S3-compatible store for jobs and proofs, http(s)://HOST/BUCKET[/PREFIX]; "": they are
	// stored in JetStream. All processes of a store must have the same.
	Bucket string
	// Join says that a server makes the store, or has made it: this process waits for it, and does not change its
	// settings.
	Join bool
	// Silence is the time after which a job whose worker is silent is given to another worker; 0 is half a minute.
	Silence time.Duration
}

// Embedded opens the store in a folder, which it creates if needed, with a JetStream server in this process that
// listens on no port. Only one process at a time can open a folder.
func Embedded(ctx context.Context, folder string, opts Options) (_ *Queue, err error) {
	defer must.Catch(&err)
	must.OK(os.MkdirAll(folder, 0o700))
	unlock := must.Get(lock(filepath.Join(folder, "lock")))
	s, err := server.NewServer(&server.Options{
		ServerName: prefix, DontListen: true, JetStream: true, StoreDir: folder, NoSigs: true, NoLog: true, SyncAlways: true,
		JetStreamMaxMemory: 64 << 20, JetStreamMaxStore: 1 << 50, // the disk is the limit
	})
	if err != nil {
		unlock()
		return nil, fmt.Errorf("the store in %s: %w", folder, err)
	}
	s.Start()
	if !s.ReadyForConnections(30 * time.Second) {
		s.Shutdown()
		unlock()
		return nil, fmt.Errorf("the store in %s does not open", folder)
	}
	nc, err := nats.Connect("", nats.InProcessServer(s), nats.MaxReconnects(-1))
	if err == nil {
		var q *Queue
		if q, err = open(ctx, nc, opts); err == nil {
			q.own, q.unlock = s, unlock
			return q, nil
		}
		nc.Close()
	}
	s.Shutdown()
	s.WaitForShutdown()
	unlock()
	return nil, fmt.Errorf("the store in %s: %w", folder, err)
}

// Connect opens the store in a NATS server or cluster. url has nats:// or tls:// addresses, separated by commas.
func Connect(ctx context.Context, url string, opts Options, how ...nats.Option) (_ *Queue, err error) {
	defer must.Catch(&err)
	how = append([]nats.Option{nats.Name(prefix), nats.MaxReconnects(-1), nats.ReconnectWait(time.Second)}, how...)
	nc := must.GetAs(nats.Connect(url, how...))("the cluster")
	q, err := open(ctx, nc, opts)
	if err != nil {
		nc.Close()
		return nil, fmt.Errorf("the cluster: %w", err)
	}
	return q, nil
}

// open opens the store over a connection.
func open(ctx context.Context, nc *nats.Conn, opts Options) (_ *Queue, err error) {
	defer must.Catch(&err)
	q := &Queue{nc: nc, process: nuid.Next(), now: time.Now, wait: cmp.Or(opts.Silence, 30*time.Second)}
	q.js = must.Get(jetstream.New(nc, jetstream.WithDefaultTimeout(30*time.Second)))
	if opts.Bucket != "" {
		q.files = must.GetAs(openBucket(ctx, opts.Bucket))("the bucket")
	}
	if opts.Join {
		return q, q.attach(ctx)
	}
	return q, q.create(ctx, opts)
}

// Names of what the store consists of.
const (
	jobsName, resultsName, noticesName = prefix + "-jobs", prefix + "-results", prefix + "-notices"
	recordsName, filesName, keysName   = prefix + "-proofs", prefix + "-files", prefix + "-keys"
)

// create makes the streams, buckets and stores that do not exist yet, and updates those whose options differ.
func (q *Queue) create(ctx context.Context, opts Options) (err error) {
	defer must.Catch(&err)
	replicas := max(opts.Replicas, 1)
	stream := func(name, subject string) (jetstream.Stream, error) {
		return q.js.CreateOrUpdateStream(ctx, jetstream.StreamConfig{
			Name: name, Subjects: []string{subject + "*"}, Retention: jetstream.WorkQueuePolicy, Storage: jetstream.FileStorage, Replicas: replicas,
		})
	}
	store := func(name string, keep time.Duration) (objects, error) {
		o, err := q.js.CreateOrUpdateObjectStore(ctx, jetstream.ObjectStoreConfig{Bucket: name, TTL: keep, Storage: jetstream.FileStorage, Replicas: replicas})
		return objects{o}, err
	}
	q.jobs = must.Get(stream(jobsName, jobs))
	q.results = must.Get(stream(resultsName, results))
	q.notices = must.Get(stream(noticesName, notices))
	q.records = must.Get(q.js.CreateOrUpdateKeyValue(ctx, jetstream.KeyValueConfig{Bucket: recordsName, TTL: opts.Keep, Storage: jetstream.FileStorage, Replicas: replicas}))
	q.coins = must.Get(q.js.CreateOrUpdateKeyValue(ctx, jetstream.KeyValueConfig{Bucket: coinsName, Storage: jetstream.FileStorage, Replicas: replicas}))
	if q.files == nil {
		q.files = must.Get(store(filesName, opts.Keep))
	}
	q.keys, err = store(keysName, 0) // made last, since attach waits for it
	return err
}

// attach opens the store that a server has made, and waits until there is one.
func (q *Queue) attach(ctx context.Context) (err error) {
	defer must.Catch(&err)
	for {
		q.keys.ObjectStore, err = q.js.ObjectStore(ctx, keysName)
		if err == nil || ctx.Err() != nil {
			break
		}
		select { // no server has made the store yet, or the cluster has no leader
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(time.Second):
		}
	}
	q.jobs = must.Get(q.js.Stream(ctx, jobsName))
	q.results = must.Get(q.js.Stream(ctx, resultsName))
	q.notices = must.Get(q.js.Stream(ctx, noticesName))
	q.records = must.Get(q.js.KeyValue(ctx, recordsName))
	if q.files == nil {
		var o jetstream.ObjectStore
		o, err = q.js.ObjectStore(ctx, filesName)
		q.files = objects{o}
	}
	return err
}

// Close ends the connection, and the JetStream server if it runs in this process.
func (q *Queue) Close() {
	q.nc.Close()
	if q.own != nil {
		q.own.Shutdown()
		q.own.WaitForShutdown()
		q.unlock()
	}
}

// Alive says whether the store can be reached.
func (q *Queue) Alive() bool { return q.nc.Status() == nats.CONNECTED }

// Waiting returns the number of jobs in the queue.
func (q *Queue) Waiting(ctx context.Context) (_ int, err error) {
	defer must.Catch(&err)
	info := must.GetAs(q.jobs.Info(ctx))("the store of proofs")
	return int(info.State.Msgs), nil
}

// Accept stores a job, and queues it if `now` is set. When it returns without an error the job is on disk.
func (q *Queue) Accept(ctx context.Context, j *Job, now bool) (_ *Record, err error) {
	defer must.Catch(&err)
	id := must.Get(j.ID())
	// The same answer was given before, and its proof needs nothing more.
	if r, err := q.Record(ctx, id); err == nil && (r.State != Kept || !now) && r.State != Failed {
		return r, nil
	}
	data := must.Get(j.encode())
	must.OKAs(q.files.put(ctx, jobFile(id), data), "the store of proofs")
	r, err := q.enter(ctx, &Record{ID: id, State: Kept, Model: j.Model, Commitment: j.Commitment, Owner: j.Owner})
	if err != nil || !now {
		return r, err
	}
	return q.prove(ctx, id, j.class())
}

// Prove queues a job that is kept, or whose proof failed.
func (q *Queue) Prove(ctx context.Context, id string) (_ *Record, err error) {
	defer must.Catch(&err)
	r, err := q.Record(ctx, id)
	if err != nil || !r.open() {
		return r, err
	}
	j := must.Get(q.job(ctx, id))
	return q.prove(ctx, id, j.class())
}

// prove queues a job of the given class unless it is waiting or proved.
func (q *Queue) prove(ctx context.Context, id, class string) (*Record, error) {
	r, err := q.Record(ctx, id)
	if err != nil || !r.open() {
		return r, err
	}
	// The message is sent before the record is changed. If the process dies in between, the job is proved although its
	// record does not say that it is queued; the other way round it would never be proved.
	if err := q.publish(ctx, r, class); err != nil {
		return nil, err
	}
	return q.change(ctx, id, func(r *Record) bool {
		if !r.open() {
			return false
		}
		r.State, r.Error, r.Tries = Queued, "", 0
		return true
	})
}

// publish puts a job into the queue. If several processes that know the same state of the record call it, the queue gets one message.
// Jobs of the same class may be proved together; with class "" the job is proved by itself.
func (q *Queue) publish(ctx context.Context, r *Record, class string) error {
	return q.publishOnce(ctx, r, class, fmt.Sprintf("%s.%d", r.ID, r.Updated.UnixNano()))
}

// publishOnce puts a job into the queue unless a message with the id `once` is there already.
func (q *Queue) publishOnce(ctx context.Context, r *Record, class, once string) error {
	m := message(ctx, jobs+r.Commitment, []byte(r.ID))
	if class != "" {
		m.Header.Set(headClass, class)
	}
	if _, err := q.js.PublishMsg(ctx, m, jetstream.WithMsgID(once)); err != nil {
		return fmt.Errorf("the store of proofs: %w", err)
	}
	return nil
}

// message makes a message that names the span of the context.
func message(ctx context.Context, subject string, data []byte) *nats.Msg {
	m := nats.NewMsg(subject)
	m.Data = data
	traces.Send(ctx, m.Header)
	return m
}

// job reads a stored job, and checks that its content has the given id.
func (q *Queue) job(ctx context.Context, id string) (_ *Job, err error) {
	defer must.Catch(&err)
	data := must.GetAs(whole(ctx, q.files, jobFile(id)))("the store of proofs: job %s", id)
	j := &Job{}
	must.OKAs(json.Unmarshal(data, j), "the store of proofs: job %s", id)
	if was, err := j.ID(); err != nil || was != id {
		return nil, fmt.Errorf("the store of proofs: job %s has another content", id)
	}
	return j, nil
}

// Proof opens the file of a proof that was made. The caller closes it. The error is ErrUnknown if the file is no longer kept: it was
// stored before the record said so, and expires before that.
func (q *Queue) Proof(ctx context.Context, r *Record) (io.ReadCloser, error) {
	if r.State != Proved {
		return nil, errors.New("the proof has not been made")
	}
	f, err := q.files.get(ctx, proofFile(r.File(), r.SHA256))
	if errors.Is(err, errNoFile) {
		return nil, ErrUnknown
	}
	return f, err
}

// Announce stores the key of a model, for as long as the store exists, since the model's proofs are useless without it. It also creates
// the consumer that the model's workers read from, so that the number of waiting jobs can be seen before there is a worker.
func (q *Queue) Announce(ctx context.Context, commitment string, key []byte) (err error) {
	defer must.Catch(&err)
	must.GetAs(q.jobs.CreateOrUpdateConsumer(ctx, q.workers(commitment)))("the queue of jobs")
	if _, err := q.keys.GetInfo(ctx, commitment); err == nil {
		return nil
	}
	must.OKAs(q.keys.put(ctx, commitment, key), "the store of keys")
	return nil
}

// Key returns the file of the key with a commitment.
func (q *Queue) Key(ctx context.Context, commitment string) ([]byte, error) {
	if !IsID(commitment) {
		return nil, ErrUnknown
	}
	file, err := q.keys.GetBytes(ctx, commitment)
	if errors.Is(err, jetstream.ErrObjectNotFound) {
		return nil, ErrUnknown
	}
	return file, err
}
