package main

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	provemodel "github.com/prove-model/prove-model"
	"github.com/prove-model/prove-model/internal/job"
	"github.com/prove-model/prove-model/kernels"
)

// Errors that the user can do something about say what, and stay what they are.
func TestHints(t *testing.T) {
	s := &session{}
	for _, c := range []struct {
		err  error
		says string
	}{
		{kernels.ErrMemory, "--chunk-budget-gb"},
		{provemodel.ErrSelfCheck, "report it"},
		{errors.New("another"), ""},
	} {
		err := s.hint(fmt.Errorf("proving: %w", c.err))
		if hint := job.Hint(err); !errors.Is(err, c.err) || !strings.Contains(hint, c.says) || c.says == "" && hint != "" {
			t.Errorf("%v: %q", err, hint)
		}
	}
}
