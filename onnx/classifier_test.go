package onnx

import (
	"strings"
	"testing"

	"github.com/prove-model/prove-model/onnx/onnxpb"
)

// classifier is a model of one classifier of ai.onnx.ml, whose outputs are labels l and scores y. Of these the
// model gives those that are named.
func classifier(op string, outputs []string, attrs ...any) *onnxpb.ModelProto {
	m := testModel(17, domainNode("ai.onnx.ml", op, []string{"x"}, []string{"l", "y"}, attrs...))
	m.Graph.Output = nil
	for _, name := range outputs {
		m.Graph.Output = append(m.Graph.Output, &onnxpb.ValueInfoProto{Name: name})
	}
	return m
}

// refusedAsUnclear fails unless a model is refused exactly if want says so, because ONNX Runtime and the reference differ.
func refusedAsUnclear(t *testing.T, what string, m *onnxpb.ModelProto, want bool) {
	t.Helper()
	_, err := Parse(marshal(t, m), Options{})
	if got := err != nil && strings.Contains(err.Error(), "ONNX Runtime and the ONNX reference differ"); got != want || err != nil && !got {
		t.Errorf("%s: refused is %v, want %v: %v", what, got, want, err)
	}
}

// For one score of two classes ONNX Runtime gives 1 − s and s, without the transform, and the reference −s and s.
// The labels are the same, and so is what LOGISTIC makes of the scores.
func TestOneScoreOfTwoClasses(t *testing.T) {
	linear := []any{"coefficients", []float32{1, 2, 3}, "intercepts", []float32{0.5}, "classlabels_ints", []int64{0, 1}}
	for transform, want := range map[string]bool{"NONE": true, "SOFTMAX": true, "LOGISTIC": false} {
		attrs := append(linear, "post_transform", transform)
		refusedAsUnclear(t, transform+" of scores", classifier("LinearClassifier", []string{"l", "y"}, attrs...), want)
		refusedAsUnclear(t, transform+" of labels", classifier("LinearClassifier", []string{"l"}, attrs...), false)
	}
}

// So it is for the score of an SVM, but that both leave it as it is without a transform.
func TestOneScoreOfVectors(t *testing.T) {
	svm := []any{"coefficients", []float32{1, -1}, "rho", []float32{0.5}, "classlabels_ints", []int64{0, 1}, "kernel_type", "LINEAR",
		"support_vectors", []float32{1, 2, 3, 3, 2, 1}, "vectors_per_class", []int64{1, 1}}
	for transform, want := range map[string]bool{"NONE": false, "SOFTMAX": true, "LOGISTIC": false} {
		attrs := append(svm, "post_transform", transform)
		refusedAsUnclear(t, transform+" of scores", classifier("SVMClassifier", []string{"l", "y"}, attrs...), want)
		refusedAsUnclear(t, transform+" of labels", classifier("SVMClassifier", []string{"l"}, attrs...), false)
		attrs = append(attrs, "prob_a", []float32{-1}, "prob_b", []float32{0})
		refusedAsUnclear(t, transform+" of probabilities", classifier("SVMClassifier", []string{"l", "y"}, attrs...), false)
	}
}

// A class for which no leaf that a row ends in has a weight is the best of negative scores for the reference, and never for
// ONNX Runtime.
func TestClassWithoutScore(t *testing.T) {
	for name, c := range map[string]struct {
		classes []int64   // for each of the four leaves, two of a tree
		weights []float32 // the same
		base    []float32
		want    bool
	}{
		"of three, one always":      {[]int64{0, 1, 2, 2}, []float32{-1, -2, -3, -4}, nil, true},
		"not above 0":               {[]int64{0, 1, 2, 1}, []float32{0, 0, 0, 1}, nil, true},
		"above 0 in the first":      {[]int64{0, 1, 2, 1}, []float32{1, 2, 0, 0}, nil, false},
		"above 0, and one below":    {[]int64{0, 1, 2, 1}, []float32{1, 2, 0, -3}, nil, true},
		"negative with base values": {[]int64{0, 1, 2, 2}, []float32{-1, -2, -3, -4}, []float32{1, 2, 3}, false},
	} {
		attrs := []any{"nodes_treeids", []int64{0, 0, 0, 1, 1, 1}, "nodes_nodeids", []int64{0, 1, 2, 0, 1, 2}, "nodes_featureids", []int64{0, 0, 0, 1, 0, 0},
			"nodes_modes", []string{"BRANCH_LEQ", "LEAF", "LEAF", "BRANCH_LEQ", "LEAF", "LEAF"}, "nodes_values", []float32{1, 0, 0, 2, 0, 0},
			"nodes_truenodeids", []int64{1, 0, 0, 1, 0, 0}, "nodes_falsenodeids", []int64{2, 0, 0, 2, 0, 0}, "classlabels_int64s", []int64{0, 1, 2},
			"class_treeids", []int64{0, 0, 1, 1}, "class_nodeids", []int64{1, 2, 1, 2}, "class_ids", c.classes, "class_weights", c.weights}
		if c.base != nil {
			attrs = append(attrs, "base_values", c.base)
		}
		refusedAsUnclear(t, name, classifier("TreeEnsembleClassifier", []string{"l", "y"}, attrs...), c.want)
		refusedAsUnclear(t, name+", scores", classifier("TreeEnsembleClassifier", []string{"y"}, attrs...), false)
	}
}
