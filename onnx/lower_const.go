package onnx

import "github.com/prove-model/prove-model/onnx/onnxpb"

// tensorAttr decodes a tensor attribute, or returns nil.
func (o *op) tensorAttr(name string) *Tensor {
	a := o.attr(name, onnxpb.AttributeProto_TENSOR)
	if a == nil {
		return nil
	}
	if a.T == nil {
		o.failf("attribute %s is empty", name)
	}
	t, err := decode(a.T, o.file.source.external)
	if err != nil {
		o.failf("attribute %s: %v", name, err)
	}
	return t
}

func lowerConstant(o *op) {
	o.arity(0, 0)
	var t *Tensor
	switch {
	case o.attrs["value"] != nil:
		t = o.tensorAttr("value")
	case o.attrs["value_float"] != nil:
		t = &Tensor{Shape: []int{}, DType: Float, F32: []float32{float32(o.floatAttr("value_float", 0))}}
	case o.attrs["value_int"] != nil:
		t = &Tensor{Shape: []int{}, DType: Int64, I64: []int64{o.intAttr("value_int", 0)}}
	case o.attrs["value_ints"] != nil:
		v := o.intsAttr("value_ints")
		t = &Tensor{Shape: []int{len(v)}, DType: Int64, I64: v}
	case o.attrs["value_floats"] != nil:
		v := append([]float32{}, o.attr("value_floats", onnxpb.AttributeProto_FLOATS).Floats...)
		if i := firstNonFinite(v); i >= 0 {
			o.failf("element %d is %v", i, v[i])
		}
		t = &Tensor{Shape: []int{len(v)}, DType: Float, F32: v}
	default:
		o.failf("has no value that can be read")
	}
	name := o.unique(nodeName(o.proto) + "/value")
	o.constant(name, t)
	o.result(0, name)
}

// filled makes a constant with one value everywhere.
func (o *op) filled(shape []int, value *Tensor) string {
	n := size(shape)
	if n > o.foldBudget {
		o.failf("the constant of shape %v that it makes is too large", shape)
	}
	o.foldBudget -= n
	t := &Tensor{Shape: shape, DType: value.DType}
	if value.I64 != nil {
		t.I64 = make([]int64, n)
		for i := range t.I64 {
			t.I64[i] = value.I64[0]
		}
	} else {
		t.F32 = make([]float32, n)
		for i := range t.F32 {
			t.F32[i] = value.F32[0]
		}
	}
	name := o.unique(nodeName(o.proto) + "/value")
	o.constant(name, t)
	return name
}

func lowerConstantOfShape(o *op) {
	o.arity(1, 1)
	value := o.tensorAttr("value")
	if value == nil {
		value = &Tensor{DType: Float, F32: []float32{0}}
	}
	if value.Len() != 1 {
		o.failf("its value has %d elements", value.Len())
	}
	o.result(0, o.filled(o.toShape(0, "the shape"), value))
}

// lowerRange counts from start to limit by delta.
func lowerRange(o *op) {
	o.arity(3, 3)
	start, limit, delta := o.scalarInput(0, "the start"), o.scalarInput(1, "the limit"), o.scalarInput(2, "the delta")
	count := (limit - start) / delta
	if delta == 0 || count-count != 0 || count > float64(o.foldBudget) {
		o.failf("a range from %v to %v by %v", start, limit, delta)
	}
	n := 0
	for float64(n) < count {
		n++
	}
	dt := o.dtypes[o.in(0)]
	t := &Tensor{Shape: []int{n}, DType: dt}
	if dt.IsFloat() {
		t.DType = Float
		t.F32 = make([]float32, n)
		for i := range t.F32 {
			t.F32[i] = float32(start + float64(i)*delta)
		}
	} else {
		t.I64 = make([]int64, n)
		for i := range t.I64 {
			t.I64[i] = int64(start + float64(i)*delta)
		}
	}
	o.foldBudget -= n
	name := o.unique(nodeName(o.proto) + "/value")
	o.constant(name, t)
	o.result(0, name)
}

// integers makes a constant of type int64.
func (o *op) integers(shape []int, v []int64) string {
	name := o.unique(nodeName(o.proto) + "/value")
	o.constant(name, &Tensor{Shape: shape, DType: Int64, I64: v})
	return name
}

func lowerShape(o *op) {
	o.arity(1, 1)
	in := o.shapes[o.in(0)]
	rank := int64(len(in))
	bound := func(name string, def int64) int64 {
		v := o.intAttr(name, def)
		if v < 0 {
			v += rank
		}
		return min(max(v, 0), rank)
	}
	start, end := bound("start", 0), bound("end", rank)
	v := []int64{}
	for i := start; i < end; i++ {
		v = append(v, int64(in[i]))
	}
	o.result(0, o.integers([]int{len(v)}, v))
}

func lowerSize(o *op) {
	o.arity(1, 1)
	o.result(0, o.integers([]int{}, []int64{int64(size(o.shapes[o.in(0)]))}))
}
