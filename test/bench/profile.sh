#!/bin/sh
# A CPU profile of mcpd while figures are taken: profile.sh PATTERN [FILE]
#
# mcpd runs inside its test binary, because no shipped program has an endpoint
# for this, and with the profiler's timer calls let through its seccomp filter
# by an overlay of one source file, which no other build sees. Everything else
# is as shipped. Look at FILE (mcpd.cpu) with `go tool pprof`.
set -eu
export GOTOOLCHAIN=go1.27.3
cd "$(dirname "$0")/../.."
pattern=${1:?usage: profile.sh PATTERN [FILE]}
out=$(realpath -m "${2:-mcpd.cpu}")
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
chmod 711 "$dir"
sed 's/"getpid", "gettid",/"getpid", "gettid", "timer_create", "timer_settime", "timer_delete", "setitimer",/' \
	pkg/sandbox/syscalls.go >"$dir/syscalls.go"
cmp -s pkg/sandbox/syscalls.go "$dir/syscalls.go" && { echo "profile.sh: pkg/sandbox/syscalls.go has changed, adapt the overlay" >&2; exit 1; }
printf '{"Replace":{"%s/pkg/sandbox/syscalls.go":"%s/syscalls.go"}}' "$PWD" "$dir" >"$dir/overlay.json"
CGO_ENABLED=0 go test -c -tags grpcnotrace -overlay "$dir/overlay.json" -o "$dir/mcpd.test" ./cmd/mcpd
mkdir -m 777 "$dir/out"
chmod 777 "$dir/out"
go run -tags grpcnotrace ./test/bench -only "$pattern" \
	-mcpd "$dir/mcpd.test -test.run=^TestServeUnderAProfile\$ -test.cpuprofile=$dir/out/cpu"
cp "$dir/out/cpu" "$out"
cp "$dir/mcpd.test" "$out.test"
echo "go tool pprof -top $out.test $out"
