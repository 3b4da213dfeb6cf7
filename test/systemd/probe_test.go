package systemd

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// probeWord as the first argument makes the test binary the small program that
// runs in the container.
const probeWord = "probe"

func probe(args []string) {
	switch args[0] {
	case "sockets": // what becomes of a connection to each
		for _, s := range sockets {
			fmt.Println(s.name, knock("/run/pfsense-mcp/"+s.name+"/"+s.name+".sock"))
		}
	case "files": // whether each can be read
		for _, path := range args[1:] {
			_, err := os.ReadFile(path)
			fmt.Println(path, word(err))
		}
	case "walls":
		walls()
	case "ask": // a GET of the URL over TLS, with or without a certificate of our own
		fmt.Println(ask(args[1], args[2], args[3:]...))
	case "eat": // more memory than any unit allows
		hog := make([][]byte, 0, 512)
		for range cap(hog) {
			b := make([]byte, 1<<20)
			for i := 0; i < len(b); i += 4096 {
				b[i] = 1
			}
			hog = append(hog, b)
		}
		fmt.Println("ATE", len(hog))
	case "agent":
		agent(args[1])
	}
}

// ask says what becomes of a GET: the number of its status, or refused when the server
// ends the connection because of who we are.
func ask(url, authority string, own ...string) string {
	pem, err := os.ReadFile(authority)
	if err != nil {
		return word(err)
	}
	c := &tls.Config{RootCAs: x509.NewCertPool()}
	c.RootCAs.AppendCertsFromPEM(pem)
	if len(own) == 2 {
		pair, err := tls.LoadX509KeyPair(own[0], own[1])
		if err != nil {
			return word(err)
		}
		c.Certificates = []tls.Certificate{pair}
	}
	// The kernel takes a connection, however busy the server is.
	dial := &net.Dialer{Timeout: 3 * time.Second}
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: c, DialContext: dial.DialContext}, Timeout: cmdWait}
	r, err := client.Get(url)
	if err != nil {
		if op, ok := errors.AsType[*net.OpError](err); ok && op.Op == "remote error" { // an alert of TLS
			return "refused"
		}
		return word(err)
	}
	_ = r.Body.Close() // the status is the answer
	return strconv.Itoa(r.StatusCode)
}

// order is a command for the agent, and answer what became of it.
type (
	order struct {
		Args   []string
		Stdin  []byte
		Within time.Duration
	}
	answer struct {
		Out    []byte
		Failed string // "" for exit 0
	}
)

// agent runs the commands that come over a serial line, one after the other, a
// line of JSON each way.
func agent(path string) {
	line, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		fmt.Println(err)
		return
	}
	in, out := json.NewDecoder(line), json.NewEncoder(line)
	if err := out.Encode(answer{}); err != nil { // it listens
		fmt.Println(err)
		return
	}
	for {
		var o order
		if err := in.Decode(&o); err != nil {
			fmt.Println(err)
			return
		}
		var a answer
		ctx, cancel := context.WithTimeout(context.Background(), o.Within)
		cmd := exec.CommandContext(ctx, o.Args[0], o.Args[1:]...)
		cmd.Stdin = bytes.NewReader(o.Stdin)
		cmd.Env = clean
		cmd.WaitDelay = time.Second
		if a.Out, err = cmd.CombinedOutput(); err != nil {
			a.Failed = err.Error()
		}
		cancel()
		if err := out.Encode(a); err != nil {
			fmt.Println(err)
			return
		}
	}
}

// word is an error as one word that tests compare.
func word(err error) string {
	if err == nil {
		return "ok"
	}
	if t, ok := errors.AsType[net.Error](err); ok && t.Timeout() {
		return "timeout"
	}
	if no, ok := errors.AsType[syscall.Errno](err); ok {
		for name, v := range map[string]syscall.Errno{
			"EPERM": syscall.EPERM, "EACCES": syscall.EACCES, "EROFS": syscall.EROFS, "ENOENT": syscall.ENOENT,
			"EAFNOSUPPORT": syscall.EAFNOSUPPORT, "ENXIO": syscall.ENXIO, "ENODEV": syscall.ENODEV,
			"ECONNREFUSED": syscall.ECONNREFUSED, "ENETUNREACH": syscall.ENETUNREACH,
		} {
			if no == v {
				return name
			}
		}
		return "errno-" + strconv.Itoa(int(no))
	}
	return strings.ReplaceAll(err.Error(), " ", "_")
}

// knock says how far a peer gets: no-entry (files), refused (by the server) or
// served.
func knock(path string) string {
	c, err := net.DialTimeout("unix", path, time.Minute)
	if err != nil {
		if errors.Is(err, syscall.EACCES) {
			return "no-entry"
		}
		return word(err)
	}
	defer c.Close()
	_ = c.SetDeadline(time.Now().Add(time.Minute)) // a daemon may have to be started first
	hello := "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\x00\x00\x00\x04\x00\x00\x00\x00\x00"
	if filepath.Base(path) == "mcp.sock" {
		hello = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"probe","version":"1"}}}` + "\n"
	}
	_, _ = c.Write([]byte(hello)) // a server that refuses has closed already
	b := make([]byte, 4096)
	n, err := c.Read(b)
	switch {
	case n == 0 && errors.Is(err, os.ErrDeadlineExceeded):
		return "silence"
	case n == 0:
		return "refused"
	case strings.Contains(string(b[:n]), `"error"`):
		return "refused"
	}
	return "served"
}

// walls tries, from inside a unit, what its daemon has no need for, and prints
// what became of it as JSON.
func walls() {
	got := map[string]string{}
	pids, err := filepath.Glob("/proc/[0-9]*")
	got["processes"] = fmt.Sprintf("%d %s", len(pids), word(err))
	dial := func(network, addr string) string {
		c, err := net.DialTimeout(network, addr, 3*time.Second) // a wall drops it, else the kernel takes it
		if err == nil {
			_ = c.Close() // it should not be there
		}
		return word(err)
	}
	got["appliance"] = dial("tcp", "127.0.0.1:8443")
	got["elsewhere"] = dial("tcp", "127.0.0.2:8443")
	sock := func(family int) string {
		fd, err := syscall.Socket(family, syscall.SOCK_RAW, 0)
		if err == nil {
			_ = syscall.Close(fd) // it should not be there
		}
		return word(err)
	}
	got["netlink"], got["packet"] = sock(syscall.AF_NETLINK), sock(syscall.AF_PACKET)
	got["exec"] = word(exec.Command("/bin/true").Run())
	got["unshare"] = word(syscall.Unshare(syscall.CLONE_NEWUSER))
	open := func(path string, flags int) string {
		f, err := os.OpenFile(path, flags|syscall.O_NONBLOCK, 0o600)
		if err == nil {
			_ = f.Close() // only the opening counts
		}
		return word(err)
	}
	got["write-etc"] = open("/etc/pfsense-mcp/walls", os.O_CREATE|os.O_WRONLY)
	got["write-var-tmp-of-others"] = open("/var/tmp/walls-target", os.O_WRONLY)
	got["write-program"] = open("/usr/bin/mcpd", os.O_WRONLY)
	got["key-source"] = open("/etc/pfsense-mcp/credentials/read-api-key", os.O_RDONLY)
	got["key-of-mcpd"] = open("/run/credentials/pfsense-mcpd.service/read-api-key", os.O_RDONLY)
	got["home"] = open("/home/walls-target", os.O_RDONLY)
	got["tpm"] = open("/dev/tpmrm0", os.O_RDWR)
	got["device"] = open("/dev/walls-other", os.O_RDWR)
	_, err = syscall.Mmap(-1, 0, 4096, syscall.PROT_READ|syscall.PROT_WRITE|syscall.PROT_EXEC, syscall.MAP_ANON|syscall.MAP_PRIVATE)
	got["writable-code"] = word(err)
	for _, name := range []string{"exec", "guidance", "exec-admin", "mcp"} {
		got["socket-"+name] = knock("/run/pfsense-mcp/" + name + "/" + name + ".sock")
	}
	if faces, err := os.ReadFile("/proc/self/net/dev"); err == nil {
		got["interfaces"] = fmt.Sprint(strings.Count(string(faces), ":"))
	}
	b, err := json.Marshal(got)
	fmt.Println("WALLS", string(b), word(err))
}
