#!/usr/bin/env bash
# Writes the Go code of proto/ and the reference page of the tools; with --check
# compares them instead and changes nothing. Run by `make generate` and
# `make check`, from anywhere.
set -euo pipefail
cd "$(dirname "$0")/.."
export GOTOOLCHAIN="${GOTOOLCHAIN:-go1.27.3}"

tmp="$(mktemp -d)"
trap 'rm -rf "$tmp"' EXIT

go run ./deploy/gendocs >"$tmp/tools.md"
if [ "${1:-}" != --check ]; then
	cp "$tmp/tools.md" docs/tools.md
elif ! cmp -s "$tmp/tools.md" docs/tools.md; then
	echo "generate: docs/tools.md is not that of the table: run make generate" >&2
	exit 1
fi

# The version stands in every generated file: another one would change all of
# them for nothing.
want="libprotoc 3.21.12"
have="$(protoc --version 2>/dev/null || true)"
if [ "$have" != "$want" ]; then
	echo "generate: needs $want (Debian 12: apt-get install protobuf-compiler); found ${have:-none}" >&2
	exit 1
fi

# protoc runs a plugin by the path of a program, so the pinned ones are built.
mkdir "$tmp/bin" "$tmp/out"
go build -modfile=deploy/tools.mod -o "$tmp/bin/" \
	google.golang.org/protobuf/cmd/protoc-gen-go \
	google.golang.org/grpc/cmd/protoc-gen-go-grpc
protoc -I . \
	--plugin="$tmp/bin/protoc-gen-go" --plugin="$tmp/bin/protoc-gen-go-grpc" \
	--go_out="$tmp/out" --go_opt=paths=source_relative \
	--go-grpc_out="$tmp/out" --go-grpc_opt=paths=source_relative,require_unimplemented_servers=true \
	proto/*/v1/*.proto

if [ "${1:-}" = --check ]; then
	if ! diff -rq -x '*.proto' -x '*_test.go' "$tmp/out/proto" proto; then
		echo "generate: the generated code is not that of the protos: run make generate" >&2
		exit 1
	fi
	exit 0
fi
find proto -name '*.pb.go' -delete
cp -R "$tmp/out/proto" .
