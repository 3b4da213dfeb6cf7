package alias_test

import (
	"context"
	"encoding/json/jsontext"
	"encoding/json/v2"
	"io"
	"os"
	"path/filepath"
	"testing"

	"pfsensemcp/pkg/executor/internal/alias"
	"pfsensemcp/pkg/executor/internal/alias/aliastest"
	"pfsensemcp/pkg/pfrest"
)

// captured answers with what the real package was seen to answer.
type captured struct{ dir string }

func (c captured) Get(_ context.Context, _ pfrest.Caller, ep pfrest.Endpoint, _ pfrest.Page) (pfrest.Answer, error) {
	name := map[pfrest.Endpoint]string{
		aliases: "GET_api_v2_firewall_aliases", status: "GET_api_v2_status_system", hasync: "GET_api_v2_system_hasync", apply: "WRITE_8_apply_status",
		settings: "GET_api_v2_system_restapi_settings", history: "GET_api_v2_diagnostics_config_history_revisions__limit5",
	}[ep]
	b, err := os.ReadFile(filepath.Join(c.dir, "responses", name+".json"))
	if err != nil {
		return pfrest.Answer{}, err
	}
	var file struct {
		Body struct {
			Data jsontext.Value `json:"data"`
		} `json:"body"`
	}
	err = json.Unmarshal(b, &file)
	return pfrest.Answer{Data: file.Body.Data}, err
}

func (c captured) Schema(context.Context, pfrest.Caller) (io.ReadCloser, error) {
	return os.Open(filepath.Join(c.dir, "openapi.json"))
}

func TestTheRealAnswersAreRead(t *testing.T) {
	dir := filepath.Join("..", "..", "..", "..", "..", "shared", "appliance")
	if _, err := os.Stat(dir); err != nil {
		t.Skip("the captured answers are not beside the repository")
	}
	r, err := alias.New(alias.Config{Client: captured{dir}, BaseURL: aliastest.BaseURL, TLSMode: "auto", CADigest: aliastest.CADigest})
	if err != nil {
		t.Fatal(err)
	}
	s, err := r.Survey(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if s.Version != "2.10.0" || s.InterfaceNames != "id" || !s.Pending || s.NewestChange.Unix() < 1796000000 {
		t.Errorf("%+v", s)
	}
	if s.Appliance.IdentityKind != "netgate_id" || s.Appliance.Identity != "4f1c2d9a7b3e5f60718a" {
		t.Errorf("%+v", s.Appliance)
	}
	f, err := s.Find("Mgmt_Hosts")
	if err != nil || f.Locator != 3 || f.State.Descr != `Admin workstations "quoted" & <angled> äöü 漢字` || len(f.State.Address) != 3 {
		t.Errorf("%+v, %v", f, err)
	}
}
