package onnx

import (
	"cmp"
	"slices"
)

// lowerSuppression is NonMaxSuppression of constants: for computed boxes, the number of chosen ones would depend on the input. In
// the order of descending scores, a box is chosen if its score is above a threshold, and its intersection over union with every box
// chosen before is at most the given overlap.
func lowerSuppression(o *op) {
	boxes, scores := o.constantInput(0, "its boxes"), o.constantInput(1, "its scores")
	b, s := boxes.Shape, scores.Shape
	o.failIf(len(b) != 3 || len(s) != 3 || b[0] != s[0] || b[1] != s[2] || b[2] != 4,
		"boxes of shape %v and scores of shape %v", b, s)
	most, overlap := o.scalarOr(2, "how many boxes it chooses", 0), o.scalarOr(3, "the overlap", 0)
	least := o.boundOr(4, "the least score", 0)
	centred := o.flagAttr("center_point_box", false)
	const steps = 1 << 24 // bounds the number of comparisons of two boxes
	if n := b[1]; float64(s[0]*s[1])*float64(n)*min(float64(n), max(most, 1)) > steps {
		o.failf("%v choices among %d boxes are too many to compare", most, n)
	}
	list := make([][4]float32, b[0]*b[1]) // corners
	for i := range list {
		var v [4]float32
		copy(v[:], boxes.Floats()[4*i:])
		if centred { // x, y, width, height
			v = [4]float32{v[1] - v[3]/2, v[0] - v[2]/2, v[1] + v[3]/2, v[0] + v[2]/2}
		}
		list[i] = [4]float32{min(v[0], v[2]), min(v[1], v[3]), max(v[0], v[2]), max(v[1], v[3])}
	}
	out := []int64{}
	for batch := range s[0] {
		for class := range s[1] {
			row := scores.Floats()[(batch*s[1]+class)*s[2]:][:s[2]]
			for _, i := range suppressed(list[batch*b[1]:][:b[1]], row, most, float32(overlap), least, o.has(4)) {
				out = append(out, int64(batch), int64(class), int64(i))
			}
		}
	}
	o.result(0, o.Reshape(o.Integers([]int{len(out)}, out), []int{len(out) / 3, 3}))
}

// suppressed returns the indices of the boxes that are chosen for a class, by descending scores; boxes of equal
// scores keep their order. least counts only if above is set.
func suppressed(boxes [][4]float32, scores []float32, most float64, overlap float32, least float64, above bool) []int {
	order := upTo(0, len(scores))
	if above {
		order = slices.DeleteFunc(order, func(i int) bool { return float64(scores[i]) <= least })
	}
	slices.SortStableFunc(order, func(i, j int) int { return cmp.Compare(scores[j], scores[i]) })
	var chosen []int
	for _, i := range order {
		if float64(len(chosen)) >= most {
			break
		}
		if !slices.ContainsFunc(chosen, func(j int) bool { return overlaps(boxes[i], boxes[j], overlap) }) {
			chosen = append(chosen, i)
		}
	}
	return chosen
}

// overlaps says whether the intersection over union of two boxes is more than part.
func overlaps(a, b [4]float32, part float32) bool {
	size := func(b [4]float32) float32 { return (b[2] - b[0]) * (b[3] - b[1]) }
	both := [4]float32{max(a[0], b[0]), max(a[1], b[1]), min(a[2], b[2]), min(a[3], b[3])}
	if both[0] >= both[2] || both[1] >= both[3] || size(a) <= 0 || size(b) <= 0 {
		return false
	}
	return size(both)/(size(a)+size(b)-size(both)) > part
}
