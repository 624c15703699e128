package onnx

import (
	"math"
	"slices"
	"strings"

	"github.com/prove-model/prove-model/graph"
	"github.com/prove-model/prove-model/internal/parallel"
)

// sampling interpolates a tensor at places between its entries.
type sampling struct {
	mode    string // linear, nearest or cubic
	padding string // zeros, border or reflection
	corners bool   // reflection is at the outer entries, not half an entry beyond them
}

// maxSampled bounds the weights of a sampling at computed places: one for each place and
// entry.
const maxSampled = 1 << 24

// at interpolates x, of shape (N, C, …), at Q places for each sample. places has, for each
// spatial axis, the coordinates, of shape (N, Q), in units of entries, 0 being the first
// entry. The result has shape (N, C, Q).
func (s sampling) at(o *op, x graph.Value, places []graph.Value) graph.Value {
	if i := slices.IndexFunc(places, func(p graph.Value) bool { return o.Tensor(p) == nil }); i >= 0 {
		return s.computed(o, x, places, places[i])
	}
	return s.wired(o, x, places)
}

// wired is at for constant places: it gathers the entries around each place and adds them,
// times constant weights.
func (s sampling) wired(o *op, x graph.Value, places []graph.Value) graph.Value {
	in := o.shape(x)
	n, c, dims := in[0], in[1], in[2:]
	q := o.shape(places[0])[1]
	size := graph.Size(dims)
	strides := graph.Strides(dims)
	taps := 1
	for range dims {
		taps *= map[string]int{"nearest": 1, "linear": 2, "cubic": 4}[s.mode]
	}
	o.room(2, n, q, taps)
	index, weights := make([]int, n*q*taps), make([]float64, n*q*taps)
	parallel.For(n*q, 64, func(lo, hi int) {
		for i := lo; i < hi; i++ {
			row, w := index[i*taps:][:taps], weights[i*taps:][:taps]
			for k := range row {
				row[k], w[k] = i/q*size, 1
			}
			block := taps
			for a, p := range places {
				first, of := s.around(o.Tensor(p).At(i), dims[a])
				block /= len(of)
				for k := range row {
					j := k / block % len(of)
					w[k] *= of[j]
					if e := s.entry(first+j, dims[a]); e < 0 || row[k] < 0 {
						row[k] = -1
					} else {
						row[k] += e * strides[a]
					}
				}
			}
		}
	})
	x = o.Reshape(o.Transpose(o.Reshape(x, []int{n, c, size}), []int{1, 0, 2}), []int{c, n * size})
	y := o.Gather(x, 1, index)
	if taps > 1 {
		y = o.Mul(o.Reshape(y, []int{c, n * q, taps}), o.numbers([]int{n * q, taps}, weights))
		y = o.Reduce(graph.Sum, y, []int{2}, false)
	}
	return o.Transpose(o.Reshape(y, []int{c, n, q}), []int{1, 0, 2})
}

// around returns the weights of the entries around a place along an axis of n, and the
// index of the first of these entries.
func (s sampling) around(at float64, n int) (first int, weights []float64) {
	at = s.inside(at, n)
	switch s.mode {
	case "nearest":
		return int(math.RoundToEven(at)), []float64{1}
	case "linear":
		floor := math.Floor(at)
		return int(floor), []float64{1 - (at - floor), at - floor}
	}
	floor := math.Floor(at)
	return int(floor) - 1, filled(4, func(i int) float64 { return cubicKernel(-0.75, math.Abs(float64(i-1)-(at-floor))) })
}

// ends returns the coordinates at which an axis of n entries ends.
func (s sampling) ends(n int) (lo, hi float64) {
	if s.corners {
		return 0, float64(n - 1)
	}
	return -0.5, float64(n) - 0.5
}

// inside applies the padding to a coordinate along an axis of n entries, and limits it to
// what integers hold.
func (s sampling) inside(at float64, n int) float64 {
	lo, hi := s.ends(n)
	switch {
	case at >= lo && at <= hi || s.mode == "cubic": // for cubic, entry applies the padding to each entry
	case s.padding == "border":
		at = min(max(at, 0), float64(n-1))
	case s.padding == "reflection":
		at = reflect(at, lo, hi)
	}
	return min(max(at, -1e9), 1e9)
}

// entry maps an index that may be outside of an axis of n entries to an entry, or to −1
// for none.
func (s sampling) entry(i, n int) int {
	switch {
	case i >= 0 && i < n:
		return i
	case s.padding == "border":
		return min(max(i, 0), n-1)
	case s.padding == "reflection":
		lo, hi := s.ends(n)
		return min(max(int(reflect(float64(i), lo, hi)), 0), n-1)
	}
	return -1
}

// reflect maps a number into [lo, hi] by reflecting it at the ends, as often as needed.
func reflect(at, lo, hi float64) float64 {
	length := hi - lo
	if !(length > 0) {
		return lo
	}
	at = math.Mod(math.Abs(at-lo), 2*length)
	if at > length {
		at = 2*length - at
	}
	return lo + at
}

// computed is at for places of which first, and maybe others, are computed. Along each axis the weight of an entry is a
// function of its distance from the place. The weight of an entry of x is the product of its weights along all axes, and a
// matrix product sums all entries times their weights.
func (s sampling) computed(o *op, x graph.Value, places []graph.Value, first graph.Value) graph.Value {
	if s.mode == "cubic" || s.padding == "reflection" {
		o.failf("where it reads must be constant for mode %s and padding %s, but %s", s.mode, s.padding, o.Depends(first))
	}
	in := o.shape(x)
	n, c, dims := in[0], in[1], in[2:]
	q := o.shape(places[0])[1]
	o.failIf(graph.Size(in) == 0, "reads computed places of an input of shape %v, without elements", in)
	o.failIf(n*q > maxSampled/graph.Size(dims),
		"reads %d computed places of %d entries each: that is more than %d weights", n*q, graph.Size(dims), maxSampled)
	var all graph.Value
	known := 1
	for a, p := range places {
		if s.padding == "border" {
			p = o.Clip(p, 0, float64(dims[a]-1))
		}
		if s.mode == "nearest" {
			p = o.Apply(graph.Round, p)
		}
		far := o.Sub(o.Reshape(p, []int{n, q, 1}), o.numbers([]int{dims[a]}, converted[float64](upTo(0, dims[a]))))
		var w graph.Value
		if s.mode == "nearest" {
			w = o.Cast(o.Test(graph.IsZero, far), graph.Float)
		} else {
			w = o.Clip(o.Sub(o.Number(1), o.Apply(graph.Abs, far)), 0, 1)
		}
		if a == 0 {
			all = w
		} else {
			all = o.Mul(o.Reshape(all, []int{n, q, known, 1}), o.Reshape(w, []int{n, q, 1, dims[a]}))
		}
		known *= dims[a]
		all = o.Reshape(all, []int{n, q, known})
	}
	rows := o.Transpose(o.Reshape(x, []int{n, c, known}), []int{0, 2, 1})
	return o.Transpose(o.MatMul(all, rows), []int{0, 2, 1})
}

// lowerGridSample interpolates the input at the places in the grid. Coordinates are from
// −1 to 1, and those of the last axis come first.
func lowerGridSample(o *op) {
	x, grid := o.in(0), o.in(1)
	in, places := o.shape(x), o.shape(grid)
	r := len(in) - 2
	o.failIf(r < 1 || r > mostSpatial || len(places) != len(in) || places[0] != in[0] || places[r+1] != r,
		"an input of shape %v and a grid of shape %v", in, places)
	s := sampling{
		mode:    strings.TrimPrefix(o.wordAttr("mode", "linear", "nearest", "cubic", "bilinear", "bicubic"), "bi"), // bi: before set 20
		padding: o.wordAttr("padding_mode", "zeros", "border", "reflection"), corners: o.flagAttr("align_corners", false),
	}
	n, q := in[0], graph.Size(places[1:r+1])
	flat := o.Reshape(grid, []int{n, q, r})
	at := make([]graph.Value, r)
	for a := range at {
		from, size := r-1-a, float64(in[2+a])
		scale, offset := size/2, float64((size-1)/2)
		if s.corners {
			scale = (size - 1) / 2
		}
		if t := o.Tensor(flat); t != nil { // in float64, which is more precise than the graph's constants
			o.room(n, q)
			at[a] = o.numbers([]int{n, q}, filled(n*q, func(i int) float64 { return float64(t.At(i*r+from)*scale) + offset }))
			continue
		}
		at[a] = o.affine(o.Reshape(o.SliceAxis(flat, 2, from, 1, 1), []int{n, q}), scale, offset)
	}
	y := s.at(o, x, at)
	o.result(0, o.Reshape(y, slices.Concat(in[:2], places[1:r+1])))
}

// lowerAffineGrid computes the places to which affine maps take a regular grid.
func lowerAffineGrid(o *op) {
	theta := o.in(0)
	in, size := o.shape(theta), o.toShape(1, "the size")
	corners := o.flagAttr("align_corners", false)
	r := len(size) - 2
	o.failIf(r != 2 && r != 3 || !slices.Equal(in, []int{size[0], r, r + 1}),
		"maps of shape %v for a size of %v", in, size)
	dims := size[2:]
	q := graph.Size(dims)
	strides := graph.Strides(dims)
	o.room(q, r+1)
	base := make([]float64, q*(r+1))
	for i := range q {
		for a, n := range dims {
			j := float64(i / strides[a] % n)
			at := (float64(2*j)+1)/float64(n) - 1
			if corners {
				at = 0
				if n > 1 {
					at = 2*j/float64(n-1) - 1
				}
			}
			base[i*(r+1)+r-1-a] = at
		}
		base[i*(r+1)+r] = 1
	}
	y := o.MatMul(o.numbers([]int{q, r + 1}, base), o.Transpose(theta, []int{0, 2, 1}))
	o.result(0, o.Reshape(y, slices.Concat(size[:1], dims, []int{r})))
}

// lowerDeformConv is a convolution in which a given offset is added to the place that
// each tap reads.
func lowerDeformConv(o *op) {
	x, weights, offset := o.in(0), o.in(1), o.in(2)
	in, sw, so := o.shape(x), o.shape(weights), o.shape(offset)
	o.failIf(len(in) != 4 || len(sw) != 4 || len(so) != 4,
		"input, weights and offsets have shapes %v, %v and %v; two spatial axes are supported", in, sw, so)
	n, c, kernel := in[0], in[1], sw[2:]
	group, parts := int(o.intAttr("group", 1)), int(o.intAttr("offset_group", 1))
	o.ignore("kernel_shape")
	w, _ := o.window(in[2:], kernel)
	taps, outs := graph.Size(kernel), so[2:]
	o.failIf(group < 1 || parts < 1 || c%parts != 0 || sw[0]%group != 0 || sw[1]*group != c || so[0] != n || so[1] != parts*taps*2,
		"input, weights and offsets have shapes %v, %v and %v for %d groups and %d of offsets", in, sw, so, group, parts)
	for a := range outs {
		reach := in[2+a] + w.Begin[a] + w.End[a] - (kernel[a]-1)*w.Dilations[a] - 1
		o.failIf(reach < 0 || outs[a] != reach/w.Strides[a]+1, "offsets of shape %v do not fit the window", so)
	}
	q := graph.Size(outs)
	// Each part of the channels has offsets (tap, axis, place).
	offset = o.Reshape(offset, []int{n * parts, taps, 2, q})
	at := make([]graph.Value, 2)
	for a := range at {
		o.room(taps, q)
		regular := filled(taps*q, func(i int) float64 {
			tap, out := i/q, i%q
			j, k := out%outs[1], tap%kernel[1]
			if a == 0 {
				j, k = out/outs[1], tap/kernel[1]
			}
			return float64(j*w.Strides[a] - w.Begin[a] + k*w.Dilations[a])
		})
		moved := o.Add(o.Reshape(o.SliceAxis(offset, 2, a, 1, 1), []int{n * parts, taps, q}), o.numbers([]int{taps, q}, regular))
		at[a] = o.Reshape(moved, []int{n * parts, taps * q})
	}
	s := sampling{mode: "linear", padding: "zeros"}
	y := s.at(o, o.Reshape(x, []int{n * parts, c / parts, in[2], in[3]}), at) // (n·parts, c/parts, taps·q)
	if o.has(4) {
		y = o.Mul(y, o.Reshape(o.in(4), []int{n * parts, 1, taps * q}))
	}
	// (n, groups, channels·taps, places) times the weights of each group.
	y = o.Reshape(y, []int{n, group, c / group * taps, q})
	y = o.MatMul(o.Reshape(weights, []int{1, group, sw[0] / group, c / group * taps}), y)
	if o.has(3) {
		y = o.Add(y, o.Reshape(o.in(3), []int{group, sw[0] / group, 1}))
	}
	o.result(0, o.Reshape(y, []int{n, sw[0], outs[0], outs[1]}))
}

// roiAlign reads regions of pictures, each on a grid of cells.
type roiAlign struct {
	rows, columns int     // numbers of cells
	ratio         int     // number of places along each side of a cell; 0 means the cell's size, rounded up
	scale, half   float64 // a region's coordinate c is at c·scale − half in pixels
}

// region says where the cells of a region begin, how large they are, and how many places
// each has, along rows and columns.
type region struct {
	first, cell [2]float64
	count       [2]int
}

// region computes the cells of region i, whose corners are given as x, y, x and y.
func (r roiAlign) region(o *op, i int, corners []float64) region {
	g := region{count: [2]int{r.ratio, r.ratio}}
	for a, cells := range []int{r.rows, r.columns} {
		lo, hi := float64(corners[1-a]*r.scale)-r.half, float64(corners[3-a]*r.scale)-r.half
		extent := hi - lo
		if r.half == 0 {
			extent = max(extent, 1)
		}
		g.first[a], g.cell[a] = lo, extent/float64(cells)
		if r.ratio == 0 {
			g.count[a] = int(math.Ceil(g.cell[a]))
		}
		o.failIf(g.count[a] < 1 || g.count[a] > 1<<10, "region %d has cells of size %g", i, g.cell[a])
	}
	return g
}

// place returns the coordinate of place k of a cell along an axis.
func (g region) place(axis, cell, k int) float64 {
	return g.first[axis] + float64(g.cell[axis]*(float64(cell)+(float64(k)+0.5)/float64(g.count[axis])))
}

// taps returns, for every cell and place, the indices of the four pixels around it in a
// picture of the given height and width, and their weights. The indices are −1 if the
// place is outside of the picture.
func (r roiAlign) taps(g region, height, width int) (index []int, weights []float64) {
	for j := range r.rows * r.columns {
		for k := range g.count[0] * g.count[1] {
			y, x := g.place(0, j/r.columns, k/g.count[1]), g.place(1, j%r.columns, k%g.count[1])
			if y < -1 || y > float64(height) || x < -1 || x > float64(width) {
				index, weights = append(index, -1, -1, -1, -1), append(weights, 0, 0, 0, 0)
				continue
			}
			y0, y1, wy := between(y, height)
			x0, x1, wx := between(x, width)
			index = append(index, y0*width+x0, y0*width+x1, y1*width+x0, y1*width+x1)
			weights = append(weights, (1-wy)*(1-wx), (1-wy)*wx, wy*(1-wx), wy*wx)
		}
	}
	return index, weights
}

// lowerRoiAlign reads constant regions of pictures on a grid. Each result is the mean
// over the places of a cell, or the greatest weighted pixel around one of them.
func lowerRoiAlign(o *op) {
	x, in := o.tensor(0)
	regions, pictures := o.floatsInput(1, "the regions"), o.intsInput(2, "the pictures")
	r := roiAlign{rows: int(o.intAttr("output_height", 1)), columns: int(o.intAttr("output_width", 1)),
		ratio: int(o.intAttr("sampling_ratio", 0)), scale: o.floatAttr("spatial_scale", 1), half: 0.5}
	mode := o.strAttr("mode", "avg")
	switch c := o.strAttr("coordinate_transformation_mode", "half_pixel"); {
	case o.opset < 16 || c == "output_half_pixel":
		r.half = 0
	case c != "half_pixel":
		o.failf("coordinate_transformation_mode %s is not known", graph.Quote(c))
	}
	o.failIf(len(in) != 4 || len(regions) != 4*len(pictures) || min(r.rows, r.columns) < 1 || r.ratio < 0 || mode != "avg" && mode != "max",
		"%d regions of %d pictures of an input of shape %v, mode %s", len(regions)/4, len(pictures), in, graph.Quote(mode))
	c, size, cells := in[1], in[2]*in[3], r.rows*r.columns
	pixels := o.Reshape(o.Transpose(o.Reshape(x, []int{in[0], c, size}), []int{1, 0, 2}), []int{c, in[0] * size})
	parts := make([]graph.Value, len(pictures))
	for i, picture := range pictures {
		o.failIf(picture < 0 || picture >= int64(in[0]), "picture %d of %d", picture, in[0])
		g := r.region(o, i, regions[4*i:])
		taps := 4 * g.count[0] * g.count[1]
		o.room(2, r.rows, r.columns, taps)
		index, weights := r.taps(g, in[2], in[3])
		for k, at := range index {
			if at >= 0 {
				index[k] = int(picture)*size + at
			}
			if mode == "avg" {
				weights[k] *= 4 / float64(taps)
			}
		}
		y := o.Reshape(o.Gather(pixels, 1, index), []int{c, cells, taps})
		y = o.Mul(y, o.numbers([]int{cells, taps}, weights))
		if mode == "avg" {
			y = o.Reduce(graph.Sum, y, []int{2}, false)
		} else {
			y = o.ReduceMax(y, []int{2}, false)
		}
		parts[i] = o.Reshape(y, []int{1, c, r.rows, r.columns})
	}
	o.result(0, o.Concat(0, parts...))
}

// between returns the two entries next to a place along an axis of n, and the weight of
// the second. A place beyond an end is moved to the end.
func between(at float64, n int) (low, high int, weight float64) {
	at = min(max(at, 0), float64(n-1))
	low = int(at)
	return low, min(low+1, n-1), at - float64(low)
}
