package contract

import (
	"bytes"
	"errors"
	"io"
	"testing"

	"google.golang.org/protobuf/proto"

	"pfsensemcp/pkg/errs"
	docspb "pfsensemcp/proto/docs/v1"
)

// pieces returns what Send hands out.
func pieces(t *testing.T, b []byte) []*docspb.ContractChunk {
	t.Helper()
	var out []*docspb.ContractChunk
	err := Send(b, &docspb.Source{Url: "here"}, func(c *docspb.ContractChunk) error {
		out = append(out, proto.CloneOf(c))
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func receive(list []*docspb.ContractChunk) ([]byte, *docspb.Source, error) {
	return Receive(func() (*docspb.ContractChunk, error) {
		if len(list) == 0 {
			return nil, io.EOF
		}
		c := list[0]
		list = list[1:]
		return c, nil
	})
}

func TestWhatIsSentComesBackWhole(t *testing.T) {
	for _, size := range []int{1, Chunk - 1, Chunk, Chunk + 1, 3*Chunk + 5} {
		want := bytes.Repeat([]byte("0123456789"), size/10+1)[:size]
		list := pieces(t, want)
		for i, c := range list {
			if len(c.GetData()) > Chunk || (c.GetHead() != nil) != (i == 0) {
				t.Errorf("piece %d has %d bytes, head %v", i, len(c.GetData()), c.GetHead())
			}
		}
		got, src, err := receive(list)
		if err != nil || !bytes.Equal(got, want) || src.GetUrl() != "here" {
			t.Errorf("%d bytes: %v", size, err)
		}
	}
}

func TestAStreamThatIsNotWholeIsRefused(t *testing.T) {
	whole := func() []*docspb.ContractChunk { return pieces(t, bytes.Repeat([]byte("x"), 3*Chunk)) }
	for name, change := range map[string]func([]*docspb.ContractChunk) []*docspb.ContractChunk{
		"nothing":              func([]*docspb.ContractChunk) []*docspb.ContractChunk { return nil },
		"cut short":            func(l []*docspb.ContractChunk) []*docspb.ContractChunk { return l[:2] },
		"one piece twice":      func(l []*docspb.ContractChunk) []*docspb.ContractChunk { return append(l, l[1]) },
		"no head":              func(l []*docspb.ContractChunk) []*docspb.ContractChunk { return l[1:] },
		"a second head":        func(l []*docspb.ContractChunk) []*docspb.ContractChunk { l[1].Head = l[0].Head; return l },
		"another byte":         func(l []*docspb.ContractChunk) []*docspb.ContractChunk { l[2].Data[5] = 'y'; return l },
		"an empty one":         func(l []*docspb.ContractChunk) []*docspb.ContractChunk { l[0].Head.Size = 0; return l[:1] },
		"one that is too much": func(l []*docspb.ContractChunk) []*docspb.ContractChunk { l[0].Head.Size = MaxSize + 1; return l },
		"a piece too large": func(l []*docspb.ContractChunk) []*docspb.ContractChunk {
			l[1].Data = append(l[1].Data, l[2].Data...)
			return l[:2]
		},
	} {
		if _, _, err := receive(change(whole())); errs.CodeOf(err) != errs.Unavailable {
			t.Errorf("%s: %v", name, err)
		}
	}
	mine := errors.New("gone")
	if _, _, err := Receive(func() (*docspb.ContractChunk, error) { return nil, mine }); err != mine {
		t.Error(err)
	}
	if err := Send([]byte("x"), nil, func(*docspb.ContractChunk) error { return mine }); err != mine {
		t.Error(err)
	}
}
