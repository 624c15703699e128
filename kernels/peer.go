package kernels

import (
	"errors"
	"fmt"
)

// Peer is a Device whose queue can wait for that of another device, and copy from its
// memory, without the host. Functions of the same names do it for any two devices.
type Peer interface {
	Device
	// After has all that is enqueued from now on done after what is in the queue of
	// another device now. It does not wait.
	After(other Device) error
	// CopyFrom copies bytes from src of another device to dst. What writes to src has been
	// done, or this queue comes after it (After); the memory at src stays until this queue
	// has been waited for.
	CopyFrom(dst Ptr, other Device, src Ptr, bytes int) error
}

// ErrNoPeer is what a method of Peer fails with, before it does anything, where there is
// no way but through the host.
var ErrNoPeer = errors.New("the devices do not reach each other")

// SourceError is an error of the other device in After and CopyFrom.
type SourceError struct{ Err error }

func (e *SourceError) Error() string { return fmt.Sprintf("the device that is read from: %v", e.Err) }

func (e *SourceError) Unwrap() error { return e.Err }

// Wrapper is a Device that stands for another one, whose memory and queue are its own.
type Wrapper interface {
	Device
	Beneath() Device
}

// Base returns the device that a device stands for, itself if it stands for none.
func Base(d Device) Device {
	if w, ok := d.(Wrapper); ok {
		return Base(w.Beneath())
	}
	return d
}

// PeerOf returns the first device that is a Peer of those that d stands for, nil if none is.
func PeerOf(d Device) Peer {
	switch d := d.(type) {
	case Peer:
		return d
	case Wrapper:
		return PeerOf(d.Beneath())
	}
	return nil
}

// After has all that is enqueued on d from now on done after what is in the queue of
// another device now, for which it waits if there is no other way. An error of the other
// device is a SourceError.
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

// CopyFrom copies bytes from src of another device to dst of d, as Peer does, or through
// the host if there is no other way. An error of the other device is a SourceError.
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
