#!/usr/bin/env bash
# Writes the Go code of proto/. Run by `make generate`, from anywhere.
set -euo pipefail
cd "$(dirname "$0")/.."
export GOTOOLCHAIN="${GOTOOLCHAIN:-go1.27.3}"

# The version stands in every generated file: another one would change all of
# them for nothing.
want="libprotoc 3.21.12"
have="$(protoc --version 2>/dev/null || true)"
if [ "$have" != "$want" ]; then
	echo "generate: needs $want (Debian 12: apt-get install protobuf-compiler); found ${have:-none}" >&2
	exit 1
fi

# The plugins are run through their built files: protoc takes a path to a
# program and no command line.
bin="$(mktemp -d)"
trap 'rm -rf "$bin"' EXIT
go build -modfile=deploy/tools.mod -o "$bin/" \
	google.golang.org/protobuf/cmd/protoc-gen-go \
	google.golang.org/grpc/cmd/protoc-gen-go-grpc

find proto -name '*.pb.go' -delete
protoc -I . \
	--plugin="$bin/protoc-gen-go" --plugin="$bin/protoc-gen-go-grpc" \
	--go_out=. --go_opt=paths=source_relative \
	--go-grpc_out=. --go-grpc_opt=paths=source_relative,require_unimplemented_servers=true \
	proto/*/v1/*.proto
