package kernels

import "fmt"

// block is the number of threads in a block of the element-wise kernels. maxGrid is the
// greatest number of their blocks, enough to fill any device; beyond it a thread takes
// several elements.
const (
	block   = 256
	maxGrid = 1 << 16
)

// Cover returns a launch with at least n > 0 threads, or with as many as fill any
// device; the kernel then loops over the remaining elements.
func Cover(n int) Launch { return Launch{GridX: min((n-1)/block+1, maxGrid), Block: block} }

// elementwise launches a kernel of the group field on n ≥ 0 elements.
func elementwise(d Device, name string, n int, ptrs ...Ptr) error {
	if n < 0 {
		return fmt.Errorf("%s of %d elements", name, n)
	}
	if n == 0 {
		return nil
	}
	args := make([]uint64, 0, 4)
	for _, p := range ptrs {
		if p == 0 {
			return fmt.Errorf("%s without memory", name)
		}
		args = append(args, uint64(p))
	}
	return d.Launch(Kernel{"field", name}, Cover(n), append(args, uint64(n))...)
}

// FromInt32 sets dst[i] = a[i] mod p for n elements, a of int32.
func FromInt32(d Device, dst, a Ptr, n int) error {
	return elementwise(d, "m31_vec_from_i32", n, dst, a)
}

// AddQM31 sets dst[i] = a[i] + b[i] for n elements of QM31; dst may be a or b.
func AddQM31(d Device, dst, a, b Ptr, n int) error {
	return elementwise(d, "qm31_vec_add", n, dst, a, b)
}
