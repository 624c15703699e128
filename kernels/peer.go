package kernels

import (
	"errors"
	"fmt"
)

// Peer is a Device whose queue can wait for the queue of another device, and copy from
// its memory, without the host. The functions After and CopyFrom do the same for any
// two devices.
type Peer interface {
	Device
	// After makes all that is enqueued from now on wait for what is in the queue of
	// another device now. After itself does not wait.
	After(other Device) error
	// CopyFrom copies bytes from src on another device to dst. The operations that write
	// to src must be done already, or this queue must have been told to wait for them
	// (After). The memory at src must not be freed before this queue has been waited for.
	CopyFrom(dst Ptr, other Device, src Ptr, bytes int) error
}

// ErrNoPeer is the error of the methods of Peer if the two devices can reach each other
// only through the host. Nothing has been done then.
var ErrNoPeer = errors.New("the devices do not reach each other")

// SourceError is an error of the other device, the one that is waited for or read from, in After and CopyFrom.
type SourceError struct{ Err error }

func (e *SourceError) Error() string { return fmt.Sprintf("the device that is read from: %v", e.Err) }

func (e *SourceError) Unwrap() error { return e.Err }

// Wrapper is a Device that passes operations on to another one, and uses its memory and queue.
type Wrapper interface {
	Device
	Beneath() Device
}

// Base returns the device beneath all wrappers of a device, which is the device itself if it is no Wrapper.
func Base(d Device) Device {
	if w, ok := d.(Wrapper); ok {
		return Base(w.Beneath())
	}
	return d
}

// PeerOf returns the first Peer among d and the devices beneath it, nil if there is none.
func PeerOf(d Device) Peer {
	switch d := d.(type) {
	case Peer:
		return d
	case Wrapper:
		return PeerOf(d.Beneath())
	}
	return nil
}

// After makes all that is enqueued on d from now on wait for what is in the queue of
// another device now. If there is no other way, After waits for the other device itself.
// An error of the other device is a SourceError.
func After(d, other Device) error {
	if Base(d) == Base(other) {
		return nil
	}
	if p := PeerOf(d); p != nil {
		if err := p.After(other); !errors.Is(err, ErrNoPeer) {
			return err
		}
	}
	if err := other.Sync(); err != nil {
		return &SourceError{err}
	}
	return nil
}

// CopyFrom copies bytes from src on another device to dst on d, as Peer.CopyFrom does,
// or through the host if there is no other way. An error of the other device is a
// SourceError.
func CopyFrom(d Device, dst Ptr, other Device, src Ptr, bytes int) error {
	if Base(d) == Base(other) {
		return d.Copy(dst, src, bytes)
	}
	if p := PeerOf(d); p != nil {
		if err := p.CopyFrom(dst, other, src, bytes); !errors.Is(err, ErrNoPeer) {
			return err
		}
	}
	const most = 16 << 20
	piece := make([]byte, min(max(bytes, 0), most))
	for at := 0; at < bytes; at += most {
		n := min(most, bytes-at)
		if err := other.Download(piece[:n], src.Offset(at, 1)); err != nil {
			return &SourceError{err}
		}
		if err := d.Upload(dst.Offset(at, 1), piece[:n]); err != nil {
			return err
		}
	}
	return nil
}
