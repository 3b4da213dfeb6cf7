package fakepf

import (
	"crypto/tls"
	"crypto/x509"
	"strconv"
	"strings"
	"testing"
	"time"
)

// Whoever has an answer finds its request in the log: the client looks before it has read
// the last byte.
func TestARequestIsInTheLogBeforeItsAnswerIsOut(t *testing.T) {
	for _, f := range []Fault{{Kind: Delay}, {Kind: Drip, Bytes: 600, Delay: time.Millisecond}, {Kind: Reset, Bytes: 20}, {Kind: Truncate, Bytes: 40}, {Kind: Huge, Bytes: 1 << 20}} {
		s := Start(t, Options{})
		c := client(t, s)
		for range 20 {
			s.Fault(f)
			before := s.Counters().Requests
			resp, err := c.Get(s.URL() + "/api/v2/system/version")
			if err == nil {
				resp.Body.Close()
			}
			if n := s.Counters(); n.Requests != before+1 || n.InFlight != 0 {
				t.Fatalf("%s: %d requests, %d more on their way", f.Kind, n.Requests-before, n.InFlight)
			}
		}
	}
}

func TestAHeldRequestWaitsUntilItMayGoOn(t *testing.T) {
	s := Start(t, Options{})
	held := s.Hold("PATCH", alias)
	if r := do(t, client(t, s), s, "GET", "/api/v2/system/version", ""); r.status != 200 {
		t.Error("another request was held:", r.status)
	}
	done := make(chan reply)
	go func() { done <- patch(t, s, `{"id":1,"descr":"held"}`) }()
	<-held.Reached
	if n := s.Counters(); n.InFlight != 1 || descr(s, 1) == "held" || s.Settled() {
		t.Errorf("%+v, %q", n, descr(s, 1))
	}
	held.Go()
	held.Go() // twice is once
	if r := <-done; r.status != 200 || descr(s, 1) != "held" {
		t.Error(r.status, descr(s, 1))
	}
	s.Hold("PATCH", alias).Go()
	if r := patch(t, s, `{"id":1,"descr":"not held"}`); r.status != 200 {
		t.Error(r.status)
	}
	eventually(t, s.Settled)
}

// A client that died has sent what it has sent: it is done before the server is settled.
func TestWhatADeadClientHadSentIsDoneWhenTheServerIsSettled(t *testing.T) {
	for range 20 {
		s := Start(t, Options{})
		pool := x509.NewCertPool()
		pool.AppendCertsFromPEM(s.CAPEM())
		conn, err := tls.Dial("tcp", s.ln.Addr().String(), &tls.Config{RootCAs: pool})
		if err != nil {
			t.Fatal(err)
		}
		body := `{"id":1,"name":"Bad_Senders","descr":"last words"}`
		head := "PATCH " + alias + " HTTP/1.1\r\nHost: x\r\nX-API-Key: " + WriteKey + "\r\nContent-Type: application/json\r\nContent-Length: "
		if _, err := conn.Write([]byte(head + strconv.Itoa(len(body)) + "\r\n\r\n" + body)); err != nil {
			t.Fatal(err)
		}
		reset(conn)
		eventually(t, s.Settled)
		if descr(s, 1) != "last words" || len(s.RequestsTo(alias)) != 1 {
			t.Fatalf("%q, %d requests", descr(s, 1), len(s.RequestsTo(alias)))
		}
	}
}

func TestAnAnswerIsLoggedAsItWasSent(t *testing.T) {
	s := Start(t, Options{})
	s.Fault(Fault{Kind: WholeBody, Value: "[]"})
	r := do(t, client(t, s), s, "GET", "/api/v2/system/version", "")
	if got := s.Requests(); len(got) != 1 || got[0].Bytes != 2 || r.body != "[]" || !strings.Contains(got[0].Fault, "whole") {
		t.Errorf("%+v, %q", got, r.body)
	}
}
