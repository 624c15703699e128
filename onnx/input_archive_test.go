package onnx

import (
	"archive/zip"
	"bytes"
	"encoding/binary"
	"io"
	"strings"
	"testing"
)

// TestArchiveSize: an archive is refused before it is unpacked if it says that it grows beyond what
// inputs may have, and where it does if it says less.
func TestArchiveSize(t *testing.T) {
	data := zipped("x.npy", npy("<f4", false, "(2, 1)", float32Bytes(1, 2)))
	if in, err := refusal(parseNPZ, data); err != nil || len(in) != 1 {
		t.Fatal(in, err)
	}
	// The size without compression stands in the central directory, 24 bytes into its entry.
	at := bytes.Index(data, []byte("PK\x01\x02")) + 24
	for size, why := range map[uint32]string{
		1 << 31: "unpacks to more than 268435456 bytes",
		3:       zip.ErrFormat.Error(),
		1 << 20: io.ErrUnexpectedEOF.Error(),
	} {
		changed := bytes.Clone(data)
		binary.LittleEndian.PutUint32(changed[at:], size)
		if _, err := refusal(parseNPZ, changed); err == nil || !strings.Contains(err.Error(), why) {
			t.Errorf("%d bytes: %v", size, err)
		}
	}
}
