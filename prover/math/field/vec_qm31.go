package field

import "unsafe"

// SubQM31Vec sets dst[i] = a[i] − b[i]. All three have one length.
func SubQM31Vec(dst, a, b []QM31) {
	mustMatch(len(dst), len(a))
	mustMatch(len(dst), len(b))
	// Subtraction is the same on every limb.
	SubVec(flat(dst), flat(a), flat(b))
}

// AddQM31Vec sets dst[i] = a[i] + b[i]. All three have one length.
func AddQM31Vec(dst, a, b []QM31) {
	mustMatch(len(dst), len(a))
	mustMatch(len(dst), len(b))
	AddVec(flat(dst), flat(a), flat(b))
}

// flat returns the limbs of v as one slice over the same memory.
func flat(v []QM31) []M31 {
	if len(v) == 0 {
		return nil
	}
	return unsafe.Slice(&v[0].C0.A0, 4*len(v))
}
