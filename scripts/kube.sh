#!/usr/bin/env bash
# Holds deploy/kubernetes against the schemas beside it, which scripts/kubeschemas makes, with kubeconform.
set -euo pipefail
cd "$(dirname "$0")/../deploy/kubernetes"
GOFLAGS='' go run github.com/yannh/kubeconform/cmd/kubeconform@v0.8.0 -strict -summary \
	-schema-location 'schemas/{{.ResourceKind}}{{.KindSuffix}}.json' *.yaml
