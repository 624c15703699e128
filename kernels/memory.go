package kernels

import (
	"fmt"
	"unsafe"

	"github.com/prove-model/prove-model/prover/field"
)

// Element is what lies in a device's memory as it does in the host's.
type Element interface {
	~int8 | ~int16 | ~int32 | ~int64 | ~uint32 | ~uint64 | field.QM31
}

// SizeOf returns the bytes of n elements.
func SizeOf[T Element](n int) int {
	var e T
	return n * int(unsafe.Sizeof(e))
}

// bytesOf returns the memory of s. Devices are little-endian, as are all hosts
// that drive them.
func bytesOf[T Element](s []T) []byte {
	if len(s) == 0 {
		return nil
	}
	return unsafe.Slice((*byte)(unsafe.Pointer(&s[0])), SizeOf[T](len(s)))
}

// Alloc returns memory for n elements, n ≥ 1.
func Alloc[T Element](d Device, n int) (Ptr, error) { return d.Alloc(SizeOf[T](n)) }

// Upload copies s into memory that it allocates. An empty s takes one element.
func Upload[T Element](d Device, s []T) (Ptr, error) {
	p, err := Alloc[T](d, max(len(s), 1))
	if err != nil || len(s) == 0 {
		return p, err
	}
	if err := d.Upload(p, bytesOf(s)); err != nil {
		d.Free(p)
		return 0, err
	}
	return p, nil
}

// Write copies s to dst.
func Write[T Element](d Device, dst Ptr, s []T) error { return d.Upload(dst, bytesOf(s)) }

// Download waits for the queue and fills dst from src.
func Download[T Element](d Device, dst []T, src Ptr) error { return d.Download(bytesOf(dst), src) }

// At returns the address of element i of an array of T at p.
func At[T Element](p Ptr, i int) Ptr { return p + Ptr(SizeOf[T](i)) }

// pack returns an element as a kernel takes it: two words.
func pack(v field.QM31) (low, high uint64) {
	l := v.Limbs()
	return uint64(l[0]) | uint64(l[1])<<32, uint64(l[2]) | uint64(l[3])<<32
}

// SumWords is the number of 64-bit words of a sum of elements of K as kernels
// accumulate it: an integer a limb, not reduced.
const SumWords = 4

// FromSum reduces words, SumWords of them, to the element they stand for.
func FromSum(words []uint64) field.QM31 {
	return field.NewQM31(field.Reduce64(words[0]), field.Reduce64(words[1]), field.Reduce64(words[2]), field.Reduce64(words[3]))
}

const blockSize = 256

// linear is a launch of at least n threads.
func linear(n int) Launch { return Launch{GridX: (n + blockSize - 1) / blockSize, Block: blockSize} }

// blocksPerMultiprocessor is enough to keep a processor busy with kernels that
// loop over their work with as many threads as there are.
const blocksPerMultiprocessor = 8

// looped is a launch of threads that share n items in a loop; there are rows
// such launches beside each other.
func looped(d Device, n, rows int) Launch {
	most := max(1, d.Multiprocessors()*blocksPerMultiprocessor/rows)
	return Launch{GridX: max(1, min((n+blockSize-1)/blockSize, most)), GridY: rows, Block: blockSize}
}

// checkSizes is the error of a launcher whose arguments do not fit.
func checkSizes(ok bool, kernel string, format string, args ...any) error {
	if ok {
		return nil
	}
	return fmt.Errorf("kernels: %s: %s", kernel, fmt.Sprintf(format, args...))
}
