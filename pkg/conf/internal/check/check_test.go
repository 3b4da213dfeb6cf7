package check

import (
	"strings"
	"testing"
)

func TestAnApplianceURLHasOneSpelling(t *testing.T) {
	for in, want := range map[string]string{
		"https://fw.example":             "https://fw.example",
		"HTTPS://FW.Example/":            "https://fw.example",
		"https://fw.example:443":         "https://fw.example",
		"https://fw.example:08443":       "https://fw.example:8443",
		"https://192.0.2.1:8443/":        "https://192.0.2.1:8443",
		"https://[2001:DB8:0::1]":        "https://[2001:db8::1]",
		"https://[fe80::1%25igb0]:444":   "https://[fe80::1%25igb0]:444",
		"https://[::ffff:192.0.2.1]":     "https://[::ffff:192.0.2.1]",
		"https://fw":                     "https://fw",
		"https://xn--bcher-kva.example.": "https://xn--bcher-kva.example.",
	} {
		got, err := HTTPSURL(in)
		if err != nil || got != want {
			t.Errorf("%s: %q %v", in, got, err)
		}
		if again, err := HTTPSURL(got); err != nil || again != got {
			t.Errorf("%s: not stable: %q %v", in, again, err)
		}
	}
}

func TestAnyOtherApplianceURLIsRefused(t *testing.T) {
	for _, in := range []string{
		"", "fw.example", "//fw.example", "http://fw.example", "https:fw.example", "https:///", "https://", "https://:443",
		"https://u@fw.example", "https://u:p@fw.example", "https://@fw.example", "https://fw.example?", "https://fw.example/?a=b",
		"https://fw.example#", "https://fw.example/api", "https://fw.example//", "https://fw.example/%2e", " https://fw.example",
		"https://fw.example ", "https://fw.example\n", "https://fw%0a.example", "https://fw%2eexample", "https://fw.exa\tmple",
		"https://fw.example:", "https://fw.example:0", "https://fw.example:65536", "https://fw.example:x", "https://fw.example:-1",
		"https://bücher.example", "https://127.1", "https://0x7f000001", "https://2130706433", "https://1.2.3.4.5", "https://fw..example",
		"https://fw.example\\@evil.example", "https://2001:db8::1", "https://[192.0.2.1]", "https://[fw.example]", "https://[::1%25a%0ab]",
		"https://[::1", "https://a b", "https://" + strings.Repeat("a", 64) + ".example", "https://" + strings.Repeat("a.", 130) + "example",
		"https://fw.example\u202e", "https://fw,example", "https://*.example",
	} {
		if got, err := HTTPSURL(in); err == nil {
			t.Errorf("%q was taken as %q", in, got)
		}
	}
}

func TestAnIdentityIsShortPlainText(t *testing.T) {
	for in, want := range map[string]string{" Büro fw ": "Büro fw", strings.Repeat("ü", 128): strings.Repeat("ü", 128)} {
		if got, err := Identity(in); err != nil || got != want {
			t.Errorf("%q: %q %v", in, got, err)
		}
	}
	for _, in := range []string{"", "  ", "a\nb", "a\u202eb", "a\u200bb", "a\u2028b", "a\u2029b", "a\xffb", strings.Repeat("x", 129), "a\x00"} {
		if _, err := Identity(in); err == nil {
			t.Errorf("%q was taken", in)
		}
	}
}

func TestPathsAreAbsoluteAndPlain(t *testing.T) {
	for in, want := range map[string]string{"/a//b/": "/a/b", "~/k": "/home/u/k", "/a/..b": "/a/..b", "/": "/"} {
		if got, err := AbsPath(in, "/home/u"); err != nil || got != want {
			t.Errorf("%q: %q %v", in, got, err)
		}
	}
	for _, in := range []string{"", "a", "./a", "~", "~u/k", "/a/../b", "/a/..", "/a\nb", "/a\x00", "/\xff", "/" + strings.Repeat("a", 5000)} {
		if got, err := AbsPath(in, "/home/u"); err == nil {
			t.Errorf("%q was taken as %q", in, got)
		}
	}
	if _, err := AbsPath("~/k", ""); err == nil {
		t.Error("~ was expanded without HOME")
	}
}

func TestSocketPathsFitTheKernel(t *testing.T) {
	if _, err := SocketPath("/" + strings.Repeat("a", 99)); err != nil {
		t.Error(err)
	}
	for _, in := range []string{"/" + strings.Repeat("a", 100), "/", "a.sock", "@abstract", "/a/", "~/s"} {
		if got, err := SocketPath(in); err == nil {
			t.Errorf("%q was taken as %q", in, got)
		}
	}
	dir, err := SocketDir("/" + strings.Repeat("a", MaxSocketPath-longestSocket-1))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := SocketPath(dir + "/exec-admin/exec-admin.sock"); err != nil {
		t.Error(err)
	}
	if _, err := SocketDir(dir + "a"); err == nil {
		t.Error("a directory was taken below which a socket path is too long")
	}
}

func FuzzHTTPSURL(f *testing.F) {
	f.Add("https://fw.example:8443/")
	f.Add("https://[fe80::1%25a]")
	f.Add("https://u:p@h?x#y")
	f.Fuzz(func(t *testing.T, s string) {
		got, err := HTTPSURL(s)
		if err != nil {
			return
		}
		if again, err := HTTPSURL(got); err != nil || again != got {
			t.Fatalf("%q -> %q -> %q %v", s, got, again, err)
		}
		if strings.ContainsAny(got[len("https://"):], "/@?# \\") {
			t.Fatalf("%q -> %q", s, got)
		}
	})
}
