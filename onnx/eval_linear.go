package onnx

import (
	"github.com/prove-model/prove-model/prover/parallel"
)

// matmul sets out = a·b for a of m×k and b of k×n, or n×k when transposed.
// Every output is one sum in the order of k, however the work is split.
func matmul[W float32 | float64](out, a []float64, b []W, m, k, n int, transposed bool) {
	const block = 256 // columns at a time
	blocks := (n + block - 1) / block
	parallel.For(m*blocks, max(1, 1<<16/(block*max(k, 1))), func(lo, hi int) {
		for t := lo; t < hi; t++ {
			i, c := t/blocks, t%blocks*block
			row := a[i*k : (i+1)*k]
			dst := out[i*n+c : i*n+min(c+block, n)]
			if transposed {
				for j := range dst {
					dst[j] = dotProduct(row, b[(c+j)*k:(c+j+1)*k])
				}
				continue
			}
			for j := range dst {
				dst[j] = 0
			}
			for l, v := range row {
				axpy(dst, b[l*n+c:l*n+c+len(dst)], v)
			}
		}
	})
}

// dotProduct returns Σ a[i]·b[i].
func dotProduct[W float32 | float64](a []float64, b []W) float64 {
	b = b[:len(a)]
	sum := 0.0
	for i, v := range a {
		sum += v * float64(b[i])
	}
	return sum
}

// axpy adds s·x to dst.
func axpy[W float32 | float64](dst []float64, x []W, s float64) {
	x = x[:len(dst)]
	for i, v := range x {
		dst[i] += s * float64(v)
	}
}

// multiply is matmul for an operand of either type.
func multiply(out, a []float64, b operand, from, m, k, n int, transposed bool) {
	if b.w != nil {
		matmul(out, a, b.w[from:from+k*n], m, k, n, transposed)
	} else {
		matmul(out, a, b.float64s()[from:from+k*n], m, k, n, transposed)
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

func convolve[W float32 | float64](n *Node, in []operand, w []W, shape []int) []float64 {
	x := in[0].float64s()
	g := planeWindow(n)
	ih, iw := plane(in[0].shape)
	oh, ow := plane(shape)
	channels, outs := in[0].shape[1], shape[1]
	group := n.Int("group")
	perGroup := channels / group
	area := g.kernel[0] * g.kernel[1]
	out := make([]float64, size(shape))
	var bias []float64
	if len(in) > 2 {
		bias = in[2].float64s()
	}
	work := perGroup * area * oh * ow
	parallel.For(shape[0]*outs, max(1, 1<<16/max(work, 1)), func(lo, hi int) {
		for t := lo; t < hi; t++ {
			batch, oc := t/outs, t%outs
			dst := out[t*oh*ow : (t+1)*oh*ow]
			if bias != nil {
				for i := range dst {
					dst[i] = bias[oc]
				}
			}
			first := oc / (outs / group) * perGroup
			for c := range perGroup {
				src := x[(batch*channels+first+c)*ih*iw:][:ih*iw]
				weights := w[(oc*perGroup+c)*area:][:area]
				g.eachTap(ih, iw, oh, ow, func(tap, oy, iy, ox, ix, count int) {
					v := float64(weights[tap])
					d, s := dst[oy*ow+ox:][:count], src[iy*iw:]
					if g.strides[1] == 1 {
						axpy(d, s[ix:ix+count], v)
						return
					}
					for j := range d {
						d[j] += v * s[ix+j*g.strides[1]]
					}
				})
			}
		}
	})
	return out
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
