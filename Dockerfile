# The command for the CPU, with its server, on nothing but a user and a folder for its cache.
#
#   docker build -t prove-model .
#   docker run --rm -v "$PWD:/work" prove-model --model x.onnx --input x.json
FROM golang:1.26-bookworm AS build
WORKDIR /src
COPY go.mod go.sum ./
RUN go mod download
COPY . .
RUN go generate ./internal/serve && mkdir /programs /cache /data \
 && CGO_ENABLED=0 go build -trimpath -ldflags '-s -w -buildid=' -o /programs ./cmd/prove-model ./cmd/prove-model-server

FROM gcr.io/distroless/static-debian12:nonroot
COPY --from=build /programs /usr/local/bin
COPY --from=build --chown=nonroot:nonroot /cache /cache
# Of servers (--data /data).
COPY --from=build --chown=nonroot:nonroot /data /data
ENV PROVE_MODEL_CACHE_DIR=/cache
WORKDIR /work
ENTRYPOINT ["/usr/local/bin/prove-model"]
