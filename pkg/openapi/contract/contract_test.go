package contract

import (
	"bytes"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"pfsensemcp/pkg/errs"
	"pfsensemcp/pkg/openapi"
	"pfsensemcp/test/fakedocs"
)

func of(t testing.TB, doc []byte) *Contract {
	t.Helper()
	ix, err := openapi.Parse(bytes.NewReader(doc))
	if err != nil {
		t.Fatal(err)
	}
	return Of(ix)
}

func encoded(t testing.TB, c *Contract) []byte {
	t.Helper()
	b, err := c.Encode()
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestAContractHoldsWhatAClientDependsOn(t *testing.T) {
	c := of(t, fakedocs.Encode(fakedocs.Small()))
	yes, no, plain := true, false, `"plain"`
	op := c.Operations[Key("PATCH", "/api/v2/firewall/alias")]
	if d := cmp.Diff(Operation{
		ID: "patchFirewallAliasEndpoint", Parameters: []Parameter{{"id", "body", true}},
		Privileges: []string{"api-v2-firewall-alias-patch", "page-all"}, Packages: []string{}, AuthModes: []string{"BasicAuth", "JWTAuth", "KeyAuth"},
		Auth: "yes", Applies: "no",
	}, op); d != "" {
		t.Error(d)
	}
	for where, want := range map[[2]string]Field{
		{"FirewallAlias", "type"}:         {Type: "string", Required: &yes, Enum: []string{"host", "network", "port"}},
		{"FirewallAlias", "detail"}:       {Type: "array of string", Required: &no},
		{"FirewallSchedule", "timerange"}: {Type: "array of object FirewallScheduleTimeRange", Required: &yes},
		{"Probe", "mode"}:                 {Type: "string", Enum: []string{"deep", "plain"}, Default: &plain},
		{"Probe", "self"}:                 {Type: "Probe"},
	} {
		if d := cmp.Diff(want, c.Models[where[0]].Fields[where[1]]); d != "" {
			t.Errorf("%v: %s", where, d)
		}
	}
}

func TestAContractIsCanonicalAndComesBack(t *testing.T) {
	c := of(t, fakedocs.Encode(fakedocs.Small()))
	b := encoded(t, c)
	other := of(t, fakedocs.Reordered(fakedocs.Small()))
	other.DocumentHash = c.DocumentHash
	if !bytes.Equal(b, encoded(t, other)) {
		t.Error("the order of members shows in the contract")
	}
	back, err := Decode(b)
	if err != nil || !Is(b) {
		t.Fatal(err)
	}
	if d := cmp.Diff(c, back); d != "" {
		t.Error(d)
	}
}

func TestNoSecretAndNoProseIsInAContract(t *testing.T) {
	b := string(encoded(t, of(t, fakedocs.Encode(fakedocs.Small()))))
	for _, s := range []string{"9f31c07be2d84a56", "What rules call it", "Reads what is", "only available when"} {
		if strings.Contains(b, s) {
			t.Errorf("%q is in the contract", s)
		}
	}
	if !strings.Contains(b, openapi.SecretPrefix) {
		t.Error("no hash stands for the secret default, so this shows nothing")
	}
}

func TestMalformedAndMissingListsAreToldApart(t *testing.T) {
	tree := fakedocs.Small()
	op := fakedocs.At(tree, "paths", "/api/v2/services/probe", "get")
	op["description"] = "<h3>Details:</h3>**Allowed privileges**: [ a, ]<br>**Required packages**: [ None ]"
	got := of(t, fakedocs.Encode(tree)).Operations["GET /api/v2/services/probe"]
	if got.Privileges != nil || got.Packages == nil || got.AuthModes != nil || !cmp.Equal(got.Malformed, []string{LabelPrivileges}) {
		t.Errorf("%+v", got)
	}
}

func TestWhatIsNoContractIsRefused(t *testing.T) {
	good := string(encoded(t, of(t, fakedocs.Encode(fakedocs.Small()))))
	for name, b := range map[string]string{
		"nothing":           "",
		"a document":        string(fakedocs.Encode(fakedocs.Small())),
		"half of one":       good[:len(good)/2],
		"another format":    strings.Replace(good, "contract 1", "contract 9", 1),
		"an unknown member": strings.Replace(good, `{"contract"`, `{"more":1,"contract"`, 1),
		"a member twice":    strings.Replace(good, `"title"`, `"title":"x","title"`, 1),
		"an empty one":      `{"contract":"` + Format + `"}`,
		"one too large":     good + strings.Repeat(" ", MaxSize),
	} {
		if _, err := Decode([]byte(b)); errs.CodeOf(err) != errs.Invalid {
			t.Errorf("%s: %v", name, err)
		}
	}
	big := of(t, fakedocs.Encode(fakedocs.Small()))
	big.Title = strings.Repeat("x", MaxSize)
	if _, err := big.Encode(); errs.CodeOf(err) != errs.Exhausted {
		t.Error(err)
	}
}

func FuzzDecode(f *testing.F) {
	f.Add(encoded(f, of(f, fakedocs.Encode(fakedocs.Small()))))
	f.Add([]byte(`{"contract":"` + Format + `","operations":{"GET /":{}},"models":{"A":{"fields":{"a":{"required":true}}}}}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		c, err := Decode(b)
		if err != nil {
			if errs.CodeOf(err) != errs.Invalid {
				t.Fatal(err)
			}
			return
		}
		again, err := Decode(encoded(t, c))
		if err != nil || !cmp.Equal(c, again) {
			t.Fatal(err, cmp.Diff(c, again))
		}
	})
}
