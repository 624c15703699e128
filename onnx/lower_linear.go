package onnx

import "slices"

// scaled returns v times factor, which is 1 mostly.
func (o *op) scaled(v string, factor float64) string {
	if factor == 1 {
		return v
	}
	return o.mul(v, o.scalar("factor", factor))
}

// lowerGemm puts alpha and beta into the constants where there are such.
func lowerGemm(o *op) {
	o.arity(2, 3)
	a, b := o.in(0), o.in(1)
	alpha, beta := o.floatAttr("alpha", 1), o.floatAttr("beta", 1)
	transA, transB := o.flagAttr("transA", false), o.flagAttr("transB", false)
	sa, sb := o.shapes[a], o.shapes[b]
	if len(sa) != 2 || len(sb) != 2 {
		o.failf("its operands have shapes %v and %v, not two axes each", sa, sb)
	}
	m, k, kb, n := sa[0], sa[1], sb[0], sb[1]
	if transA {
		m, k = k, m
	}
	if transB {
		kb, n = n, kb
	}
	if k != kb {
		o.failf("shapes %v and %v do not multiply", sa, sb)
	}
	o.floatOperands(a, b)
	if o.isConst(b) {
		b, alpha = o.scaled(b, alpha), 1
	}
	in := []string{a, b}
	if o.has(2) && beta != 0 {
		c := o.in(2)
		if s, ok := broadcast(o.shapes[c], []int{m, n}); !ok || !slices.Equal(s, []int{m, n}) {
			o.failf("C of shape %v does not broadcast to %v", o.shapes[c], []int{m, n})
		}
		o.floatOperands(c)
		if o.isConst(c) {
			c, beta = o.scaled(c, beta), 1
		}
		in = append(in, c)
	} else {
		beta = 1
	}
	o.result(0, o.emit("Gemm", []int{m, n}, Float, in,
		flag("transA", transA), flag("transB", transB), float("alpha", alpha), float("beta", beta)))
}

// floatOperands fails unless all values are floats.
func (o *op) floatOperands(values ...string) {
	for _, v := range values {
		if !o.dtypes[v].IsFloat() {
			o.failf("its operand %s has type %v", quote(v), o.dtypes[v])
		}
	}
}

// lowerMatMul gives both operands two axes or more.
func lowerMatMul(o *op) {
	o.arity(2, 2)
	a, b := o.in(0), o.in(1)
	o.floatOperands(a, b)
	sa, sb := o.shapes[a], o.shapes[b]
	if len(sa) == 0 || len(sb) == 0 {
		o.failf("an operand is a scalar")
	}
	if len(sa) == 1 {
		a = o.reshape(a, []int{1, sa[0]})
	}
	if len(sb) == 1 {
		b = o.reshape(b, []int{sb[0], 1})
	}
	fa, fb := o.shapes[a], o.shapes[b]
	ra, rb := len(fa), len(fb)
	batch, ok := broadcast(fa[:ra-2], fb[:rb-2])
	if !ok || fa[ra-1] != fb[rb-2] {
		o.failf("shapes %v and %v do not multiply", sa, sb)
	}
	y := o.emit("MatMul", append(batch, fa[ra-2], fb[rb-1]), Float, []string{a, b})
	shape := slices.Clone(batch)
	if len(sa) > 1 {
		shape = append(shape, fa[ra-2])
	}
	if len(sb) > 1 {
		shape = append(shape, fb[rb-1])
	}
	o.result(0, o.reshape(y, shape))
}

// lowerConv takes one or two spatial axes.
func lowerConv(o *op) {
	o.arity(2, 3)
	x, w := o.in(0), o.in(1)
	o.floatOperands(x, w)
	sx, sw := o.shapes[x], o.shapes[w]
	if len(sx) < 3 || len(sx) > 4 || len(sw) != len(sx) {
		o.failf("input and weights have shapes %v and %v; one or two spatial axes are supported", sx, sw)
	}
	kernel := o.intsAttr("kernel_shape")
	for i, k := range kernel {
		if len(kernel) != len(sw)-2 || k != int64(sw[2+i]) {
			o.failf("kernel_shape %v, but the weights have shape %v", kernel, sw)
		}
	}
	group := o.intAttr("group", 1)
	if group < 1 || group > int64(sx[1]) || int64(sw[1])*group != int64(sx[1]) || int64(sw[0])%group != 0 {
		o.failf("weights of shape %v in %d groups do not fit an input of shape %v", sw, group, sx)
	}
	g := o.window(sx[2:], sw[2:])
	in := []string{x, w}
	if o.has(2) {
		bias := o.in(2)
		o.floatOperands(bias)
		if !slices.Equal(o.shapes[bias], sw[:1]) {
			o.failf("bias of shape %v for weights of shape %v", o.shapes[bias], sw)
		}
		in = append(in, bias)
	}
	shape := append([]int{sx[0], sw[0]}, g.out...)
	o.result(0, o.emit("Conv", shape, Float, in, append(g.attrs(), ints("group", group))...))
}
