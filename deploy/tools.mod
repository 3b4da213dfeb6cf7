// Build tools, pinned apart from go.mod so that go.mod lists what ships.
// From the root: go tool -modfile=deploy/tools.mod NAME
module pfsensemcp

go 1.27.0

toolchain go1.27.3

tool (
	google.golang.org/grpc/cmd/protoc-gen-go-grpc
	google.golang.org/protobuf/cmd/protoc-gen-go
)

require (
	google.golang.org/grpc/cmd/protoc-gen-go-grpc v1.6.2 // indirect
	google.golang.org/protobuf v1.36.12 // indirect
)
