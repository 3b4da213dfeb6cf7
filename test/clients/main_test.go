package clients

import (
	"os"
	"testing"

	"pfsensemcp/test/suite"
)

func TestMain(m *testing.M) {
	code := m.Run()
	suite.Cleanup()
	os.Exit(code)
}
