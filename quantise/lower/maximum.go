package lower

import (
	"github.com/prove-model/prove-model/graph"
)

func init() { register(lowerMaxPool, always[graph.MaxPool](Traits{})) }
