package rig

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// Appliance is a running pretend appliance.
type Appliance struct {
	URL, Key string
	CA       []byte
	Proc     *Proc
	control  http.Client
}

// appliance starts bin/fakepf and waits until it listens.
func (r *Rig) appliance(rows int) (*Appliance, error) {
	sock, key := r.path("control"), r.path("appliance-key")
	p := &Proc{Name: "fakepf", argv: []string{
		filepath.Join(r.Bin, "fakepf"), "--rows", strconv.Itoa(rows),
		"--cert-dir", r.path("cert"), "--key-file", key, "--control", sock,
	}}
	if err := r.run(p); err != nil {
		return nil, err
	}
	a := &Appliance{Proc: p}
	for end := time.Now().Add(patience); ; time.Sleep(2 * time.Millisecond) {
		if _, rest, ok := strings.Cut(p.said(), "ready url="); ok && strings.Contains(rest, "\n") {
			a.URL, _, _ = strings.Cut(rest, " ")
			break
		}
		if p.ended() || time.Now().After(end) {
			return nil, fmt.Errorf("the pretend appliance is not ready:\n%s", p.said())
		}
	}
	secret, err := os.ReadFile(key)
	ca, err2 := os.ReadFile(filepath.Join(r.path("cert"), "ca.pem"))
	if err := errors.Join(err, err2); err != nil {
		return nil, err
	}
	a.Key, a.CA = string(bytes.TrimSpace(secret)), ca
	a.control.Transport = &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "unix", sock)
	}}
	return a, nil
}

// Forget empties the list of requests and sets the counter to 0.
func (a *Appliance) Forget() error { return a.ask(http.MethodDelete, "/requests", nil) }

// Asked returns the path and query of every GET since Forget, oldest first.
func (a *Appliance) Asked() ([]string, error) {
	var all []struct{ Path, Query string }
	if err := a.ask(http.MethodGet, "/requests", &all); err != nil {
		return nil, err
	}
	out := make([]string, len(all))
	for i, q := range all {
		if out[i] = q.Path; q.Query != "" {
			out[i] += "?" + q.Query
		}
	}
	return out, nil
}

// Count returns how many requests came since Forget.
func (a *Appliance) Count() (int, error) {
	var c struct{ Requests int }
	err := a.ask(http.MethodGet, "/counters", &c)
	return c.Requests, err
}

func (a *Appliance) ask(method, path string, into any) error {
	req, err := http.NewRequestWithContext(context.Background(), method, "http://control"+path, nil)
	if err != nil {
		return err
	}
	resp, err := a.control.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return errors.New("the pretend appliance's control answers " + resp.Status)
	}
	if into == nil {
		return nil
	}
	return json.NewDecoder(resp.Body).Decode(into)
}
