package onnx

import (
	"github.com/prove-model/prove-model/prover/matmul"
	"github.com/prove-model/prove-model/prover/parallel"
)

// multiplyInto sets out = a·b for a of m×k and b of k×n, or n×k when
// transposed. Every output is one sum in the order of k, however the work is
// split.
func multiplyInto[W float32 | float64](out, a []float64, b []W, m, k, n int, transposed bool) {
	if m < 4 { // a vector or so: b is read once
		vectorTimes(out, a, b, m, k, n, transposed)
		return
	}
	columns := matmul.Operand[W]{Data: b, Batch: []int{0}, Free: index(n, 1), K: index(k, n), Out: index(n, 1)}
	if transposed {
		columns.Free, columns.K = index(n, k), index(k, 1)
	}
	clear(out)
	matmul.Float(out, []int{0}, matmul.Operand[float64]{
		Data: a, Batch: []int{0}, Free: index(m, k), K: index(k, 1), Out: index(m, n),
	}, columns)
}

// vectorTimes is multiplyInto for few rows.
func vectorTimes[W float32 | float64](out, a []float64, b []W, m, k, n int, transposed bool) {
	const block = 256 // columns at a time
	blocks := (n + block - 1) / block
	parallel.For(m*blocks, max(1, 1<<16/(block*max(k, 1))), func(lo, hi int) {
		for t := lo; t < hi; t++ {
			i, c := t/blocks, t%blocks*block
			row := a[i*k : (i+1)*k]
			dst := out[i*n+c : i*n+min(c+block, n)]
			if transposed {
				dotProducts(dst, row, b[c*k:])
				continue
			}
			clear(dst)
			for l, v := range row {
				axpy(dst, b[l*n+c:l*n+c+len(dst)], v)
			}
		}
	})
}

// dotProducts sets out[j] = Σ_i a[i]·b[j·len(a)+i].
func dotProducts[W float32 | float64](out, a []float64, b []W) {
	k, j := len(a), 0
	// Four sums at a time, as each waits for its last addition.
	for ; j+4 <= len(out); j += 4 {
		b0, b1, b2, b3 := b[j*k:][:k], b[(j+1)*k:][:k], b[(j+2)*k:][:k], b[(j+3)*k:][:k]
		var s0, s1, s2, s3 float64
		for i, v := range a {
			s0 += float64(v * float64(b0[i])) // the conversions forbid fused multiply-adds
			s1 += float64(v * float64(b1[i]))
			s2 += float64(v * float64(b2[i]))
			s3 += float64(v * float64(b3[i]))
		}
		out[j], out[j+1], out[j+2], out[j+3] = s0, s1, s2, s3
	}
	for ; j < len(out); j++ {
		out[j] = dotProduct(a, b[j*k:][:k])
	}
}

// dotProduct returns Σ a[i]·b[i].
func dotProduct[W float32 | float64](a []float64, b []W) float64 {
	b = b[:len(a)]
	sum := 0.0
	for i, v := range a {
		sum += float64(v * float64(b[i]))
	}
	return sum
}

// axpy adds s·x to dst.
func axpy[W float32 | float64](dst []float64, x []W, s float64) {
	x = x[:len(dst)]
	for i, v := range x {
		dst[i] += float64(s * float64(v))
	}
}

// multiply is matmul for an operand of either type.
func multiply(out, a []float64, b operand, from, m, k, n int, transposed bool) {
	if b.w != nil {
		multiplyInto(out, a, b.w[from:from+k*n], m, k, n, transposed)
	} else {
		multiplyInto(out, a, b.float64s()[from:from+k*n], m, k, n, transposed)
	}
}

// evalGemm computes alpha·A'·B' + beta·C.
func evalGemm(n *Node, in []operand, shape []int) []float64 {
	a := in[0].float64s()
	k := in[0].shape[1]
	if n.Int("transA") == 1 {
		k = in[0].shape[0]
		a = move(a, [][]int{index(shape[0], 1), index(k, shape[0])}, []int{shape[0], k}, 0)
	}
	out := make([]float64, size(shape))
	multiply(out, a, in[1], 0, shape[0], k, shape[1], n.Int("transB") == 1)
	if alpha := n.Floats["alpha"]; alpha != 1 {
		for i := range out {
			out[i] *= alpha
		}
	}
	if len(in) > 2 {
		c, beta := in[2].float64s(), n.Floats["beta"]
		t := broadcastTables(in[2].shape, shape)
		walk(shape, t, t, func(i, j, _ int) { out[i] += beta * c[j] })
	}
	return out
}

// index returns 0, step, 2·step, … of length n.
func index(n, step int) []int {
	out := make([]int, n)
	for i := range out {
		out[i] = i * step
	}
	return out
}

// evalMatMul multiplies the last two axes; the others broadcast.
func evalMatMul(in []operand, shape []int) []float64 {
	r := len(shape)
	batch := shape[:r-2]
	m, n := shape[r-2], shape[r-1]
	sa, sb := in[0].shape, in[1].shape
	k := sa[len(sa)-1]
	out := make([]float64, size(shape))
	a := in[0].float64s()
	if size(sb[:len(sb)-2]) == 1 { // one matrix for all rows of A
		multiply(out, a, in[1], 0, size(batch)*m, k, n, false)
		return out
	}
	b := in[1]
	if b.w == nil {
		b.f = b.float64s()
	}
	ta, tb := broadcastTables(sa[:len(sa)-2], batch), broadcastTables(sb[:len(sb)-2], batch)
	walk(batch, ta, tb, func(i, ja, jb int) {
		multiply(out[i*m*n:(i+1)*m*n], a[ja*m*k:(ja+1)*m*k], b, jb*k*n, m, k, n, false)
	})
	return out
}

// evalConv convolves over two spatial axes; one is taken as two.
func evalConv(n *Node, in []operand, shape []int) []float64 {
	if in[1].w != nil {
		return convolve(n, in, in[1].w, shape)
	}
	return convolve(n, in, in[1].float64s(), shape)
}

// convolve multiplies the weights of each group with the windows of its
// channels, which are read from the padded input.
func convolve[W float32 | float64](n *Node, in []operand, w []W, shape []int) []float64 {
	g := planeWindow(n)
	oh, ow := plane(shape)
	images, channels, outs := shape[0], in[0].shape[1], shape[1]
	group := n.Int("group")
	perGroup, outsPerGroup := channels/group, outs/group
	area, plane := g.kernel[0]*g.kernel[1], oh*ow
	x, ph, pw := g.padded(in[0], oh, ow)
	weights := matmul.Operand[W]{
		Data: w, Free: index(outsPerGroup, perGroup*area), K: index(perGroup*area, 1), Out: index(outsPerGroup, plane),
	}
	windows := matmul.Operand[float64]{Data: x, Out: index(plane, 1)}
	for oy := range oh {
		for ox := range ow {
			windows.Free = append(windows.Free, oy*g.strides[0]*pw+ox*g.strides[1])
		}
	}
	for c := range perGroup {
		for ky := range g.kernel[0] {
			for kx := range g.kernel[1] {
				windows.K = append(windows.K, (c*ph+ky*g.dilations[0])*pw+kx*g.dilations[1])
			}
		}
	}
	for b := range images {
		for i := range group {
			weights.Batch = append(weights.Batch, i*outsPerGroup*perGroup*area)
			windows.Batch = append(windows.Batch, (b*channels+i*perGroup)*ph*pw)
		}
	}
	out := make([]float64, size(shape))
	if len(in) > 2 {
		bias := in[2].float64s()
		for i := range out {
			out[i] = bias[i/plane%outs]
		}
	}
	matmul.Float(out, index(images*group, outsPerGroup*plane), weights, windows)
	return out
}

// padded returns the planes of x with the zeros around them that the windows of
// oh·ow outputs reach, and their height and width.
func (g *window) padded(x operand, oh, ow int) (data []float64, ph, pw int) {
	ih, iw := plane(x.shape)
	reach := func(a, in, out int) int {
		return max(g.begin[a]+in, (out-1)*g.strides[a]+(g.kernel[a]-1)*g.dilations[a]+1)
	}
	ph, pw = reach(0, ih, oh), reach(1, iw, ow)
	src := x.float64s()
	if ph == ih && pw == iw {
		return src, ph, pw
	}
	data = make([]float64, size(x.shape[:2])*ph*pw)
	for r := range size(x.shape[:2]) * ih {
		at := (r/ih*ph+g.begin[0]+r%ih)*pw + g.begin[1]
		copy(data[at:at+iw], src[r*iw:])
	}
	return data, ph, pw
}

// plane returns the two spatial sizes of (N, C, [H,] W).
func plane(shape []int) (h, w int) {
	if len(shape) == 3 {
		return 1, shape[2]
	}
	return shape[2], shape[3]
}

// planeWindow is the node's window over two axes.
func planeWindow(n *Node) *window {
	two := func(key string, def int, from, to int) []int {
		v := n.Ints[key][from:to]
		if len(v) == 1 {
			return []int{def, int(v[0])}
		}
		return []int{int(v[0]), int(v[1])}
	}
	k := len(n.Ints["kernel"])
	return &window{
		kernel: two("kernel", 1, 0, k), strides: two("strides", 1, 0, k), dilations: two("dilations", 1, 0, k),
		begin: two("pads", 0, 0, k), end: two("pads", 0, k, 2*k),
	}
}

// span returns the outputs j of axis a, from ≤ j < to, whose kernel position
// tap falls into an input of length n.
func (g *window) span(a, tap, n, outs int) (from, to int) {
	off := tap*g.dilations[a] - g.begin[a] // input index is j·stride + off
	from = max(ceilDiv(-off, g.strides[a]), 0)
	to = min(ceilDiv(n-off, g.strides[a]), outs)
	return from, max(to, from)
}

// eachTap calls f for each kernel position and each output row that it reaches,
// with the run of outputs (oy, ox…ox+count) and the input (iy, ix) of the first.
func (g *window) eachTap(ih, iw, oh, ow int, f func(tap, oy, iy, ox, ix, count int)) {
	for ky := range g.kernel[0] {
		y0, y1 := g.span(0, ky, ih, oh)
		for kx := range g.kernel[1] {
			x0, x1 := g.span(1, kx, iw, ow)
			if x0 == x1 {
				continue
			}
			ix := x0*g.strides[1] + kx*g.dilations[1] - g.begin[1]
			for oy := y0; oy < y1; oy++ {
				iy := oy*g.strides[0] + ky*g.dilations[0] - g.begin[0]
				f(ky*g.kernel[1]+kx, oy, iy, x0, ix, x1-x0)
			}
		}
	}
}

// pool combines each window of each channel, from start on.
func pool(n *Node, x operand, shape []int, start float64, step func(a, b float64) float64) []float64 {
	in := x.float64s()
	g := planeWindow(n)
	ih, iw := plane(x.shape)
	oh, ow := plane(shape)
	out := make([]float64, size(shape))
	parallel.For(shape[0]*shape[1], 1, func(lo, hi int) {
		for c := lo; c < hi; c++ {
			dst, src := out[c*oh*ow:(c+1)*oh*ow], in[c*ih*iw:(c+1)*ih*iw]
			for i := range dst {
				dst[i] = start
			}
			g.eachTap(ih, iw, oh, ow, func(_, oy, iy, ox, ix, count int) {
				for j := range count {
					d := &dst[oy*ow+ox+j]
					*d = step(*d, src[iy*iw+ix+j*g.strides[1]])
				}
			})
		}
	})
	return out
}
