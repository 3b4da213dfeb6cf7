package textsafe

import (
	"fmt"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"pgregory.net/rapid"
)

const pem = "-----BEGIN RSA PRIVATE KEY-----\nMIIEowIBAAKCAQEA7\nq2uw==\n-----END RSA PRIVATE KEY-----"

func TestWhatIsASecretIsTakenOut(t *testing.T) {
	for in, want := range map[string]string{
		// Key blocks.
		"a " + pem + " b":                         "a [scrubbed] b",
		pem + "\n" + pem:                          "[scrubbed]\n[scrubbed]",
		pem[:50]:                                  "[scrubbed]",
		"-----BEGIN password=hunter2":             "-----BEGIN password=[scrubbed]",
		"x\n" + pem[:31]:                          "x\n[scrubbed]",
		"-----BEGIN PRIVATE KEY":                  "[scrubbed]",
		pem[40:] + "\nrest":                       "[scrubbed]\nrest",
		strings.ReplaceAll(pem, "\n", `\n`) + `"`: `[scrubbed]"`,
		"-----BEGIN OpenVPN Static key V1-----\n0a\n-----END OpenVPN Static key V1-----": "[scrubbed]",
		"<tls-crypt>\nabc\n</tls-crypt> -----BEGIN ENCRYPTED PRIVATE KEY-----\nx":        "<tls-crypt>\nabc\n</tls-crypt> [scrubbed]",
		"key LS0tLS1CRUdJTiBQUklWQVRFIEtFWS0tLS0tCk1JSQ== end":                           "key [scrubbed] end",
		// Words that announce one.
		"password hunter2":                                 "password [scrubbed]",
		"Password: hunter2, then":                          "Password: [scrubbed] then",
		"the password is hunter2":                          "the password is [scrubbed]",
		"PASSWORD=hunter2":                                 "PASSWORD=[scrubbed]",
		"ldap_bindpw = hunter2":                            "ldap_bindpw = [scrubbed]",
		"radius_secret=abc;user=x y":                       "radius_secret=[scrubbed] y",
		"secret: a b":                                      "secret: [scrubbed] b",
		"psk abc":                                          "psk [scrubbed]",
		"wpa_psk=abc":                                      "wpa_psk=[scrubbed]",
		"pre-shared-key: abc":                              "pre-shared-key: [scrubbed]",
		`key "c2VjcmV0";`:                                  `key "[scrubbed]";`,
		`secret 'c2VjcmV0';`:                               `secret '[scrubbed]';`,
		`{"password": "a\"b", "user": "x"}`:                `{"password": "[scrubbed]", "user": "x"}`,
		`{\"password\":\"ab\",\"user\":\"x\"}`:             `{\"password\":\"[scrubbed]\",\"user\":\"x\"}`,
		"password=\"no end":                                "password=\"[scrubbed]",
		"password=\"no end\nnext":                          "password=\"[scrubbed]\nnext",
		"<password>a b</password>":                         "<password>[scrubbed]</password>",
		"<auth-user-pass>\nme\nhunter2\n</auth-user-pass>": "<auth-user-pass>\n[scrubbed]\n</auth-user-pass>",
		"<pre-shared-key>abc":                              "<pre-shared-key>[scrubbed]",
		"auth-user-pass /etc/pw":                           "auth-user-pass [scrubbed]",
		"cmd --password hunter2 --user x":                  "cmd --password [scrubbed] --user x",
		"cmd --password=hunter2 --user x":                  "cmd --password=[scrubbed] --user x",
		"cmd --token abc x":                                "cmd --token [scrubbed] x",
		"token => abc":                                     "token => [scrubbed]",
		"token := abc":                                     "token := [scrubbed]",
		"https://h/x?token=abc&a=b#c":                      "https://h/x?token=[scrubbed]&a=b#c",
		"client_secret=abc":                                "client_secret=[scrubbed]",
		"myApiKey: abc":                                    "myApiKey: [scrubbed]",
		"'password=a b' c":                                 "'password=[scrubbed]' c",
		// As people write it: what stands between is not the secret.
		"wifi password is: hunter2":        "wifi password is: [scrubbed]",
		"Passwort lautet hunter2":          "Passwort lautet [scrubbed]",
		"password - hunter2":               "password - [scrubbed]",
		"password – hunter2 (old)":         "password – [scrubbed] (old)",
		"password -> hunter2":              "password -> [scrubbed]",
		"password:: hunter2":               "password:: [scrubbed]",
		"password: - hunter2":              "password: - [scrubbed]",
		"password (admin): hunter2":        "password (admin): [scrubbed]",
		"password for the switch: hunter2": "password for the switch: [scrubbed]",
		"password\u00a0hunter2":            "password\u00a0[scrubbed]",
		"password\u200b: hunter2":          "password\u200b: [scrubbed]",
		"password： hunter2":                "password： [scrubbed]",
		"pre-shared key: hunter2":          "pre-shared key: [scrubbed]",
		"WPA2 key = hunter2":               "WPA2 key = [scrubbed]",
		"API key: hunter2":                 "API key: [scrubbed]",
		"Wi-Fi-Key: hunter2":               "Wi-Fi-Key: [scrubbed]",
		"password -":                       "password [scrubbed]",
		"password is":                      "password [scrubbed]",
		// Headers and tokens.
		"Authorization: Basic dXNlcjpwdw== x\ny":                 "Authorization: [scrubbed]\ny",
		`curl -H "X-API-Key: abc" https://h`:                     `curl -H "X-API-Key: [scrubbed]" https://h`,
		`-H 'Authorization: Bearer abc.def' https://h`:           `-H 'Authorization: [scrubbed]' https://h`,
		"Cookie: a=b; c=d":                                       "Cookie: [scrubbed]",
		"sent Bearer abcdef123456 to":                            "sent Bearer [scrubbed] to",
		"x eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2ln y":          "x [scrubbed] y",
		"admin:$2y$10$akKl/hJW7UBlbjecCWDRLOLkHO2So2dSeBrStQQ:x": "admin:[scrubbed]:x",
		"$argon2id$v=19$m=65536,t=3,p=4$c29tZXNhbHQ$aGFzaA":      "[scrubbed]",
		"a $6$rounds=5000$saltsalt$abcdefghijkl b":               "a [scrubbed] b",
		// URLs.
		"https://u:p@h/x":                     "https://[scrubbed]@h/x",
		"see ftp://u@h, http://v:w@i":         "see ftp://[scrubbed]@h, http://[scrubbed]@i",
		"https://u:p@ss@h/x":                  "https://[scrubbed]@h/x",
		"https://user:pa/ss@h/x":              "https://[scrubbed]@h/x",
		`"mysql://u:p@[2001:db8::1]:3306/db"`: `"mysql://[scrubbed]@[2001:db8::1]:3306/db"`,
		"x://://u:p@h":                        "x://[scrubbed]@h",
	} {
		for _, strict := range []bool{false, true} {
			got, changed := Scrub(in, strict)
			if !changed {
				t.Errorf("strict %v: %q is left", strict, in)
			}
			if !strict && got != want {
				t.Errorf("%q:\n got %q\nwant %q", in, got, want)
			}
			again, changed := Scrub(got, strict)
			if again != got || changed {
				t.Errorf("strict %v: %q became %q, then %q", strict, in, got, again)
			}
		}
	}
}

func TestInStrictModeMoreIsTakenOut(t *testing.T) {
	for in, want := range map[string]string{
		"psk = my long phrase":                              "psk = [scrubbed]",
		"password my long phrase\nnext":                     "password [scrubbed]\nnext",
		"secret abc":                                        "secret [scrubbed]",
		"key = abc":                                         "key = [scrubbed]",
		"rocommunity public":                                "rocommunity [scrubbed]",
		"password reset":                                    "password [scrubbed]",
		"mysqldump -u root -phunter2 db > /x":               "mysqldump -u root -p[scrubbed] db > /x",
		"/usr/local/bin/sshpass -p hunter2 ssh h":           "/usr/local/bin/sshpass -p [scrubbed] ssh h",
		"sshpass -p 'a b' ssh -p 22 h":                      "sshpass -p '[scrubbed]' ssh -p [scrubbed] h",
		"curl -s -u me:hunter2 https://h; ls -u x":          "curl -s -u [scrubbed] https://h; ls -u x",
		"ldapsearch -x -w hunter2 | mysql -pabc":            "ldapsearch -x -w [scrubbed] | mysql -p[scrubbed]",
		"cmd --password hunter2 --user x":                   "cmd --password [scrubbed] --user x",
		"x 0123456789abcdef0123456789abcdef y":              "x [scrubbed] y",
		"wg yAnz5TF+lXXJte14tji3zlMNq+hd2rYUIgJBgB3fBmk= y": "wg [scrubbed] y",
		"https://u:p@ss/wd@h/x":                             "https://[scrubbed]@h/x",
	} {
		got, changed := Scrub(in, true)
		if got != want || !changed {
			t.Errorf("%q:\n got %q\nwant %q", in, got, want)
		}
		if again, changed := Scrub(got, true); again != got || changed {
			t.Errorf("%q became %q, then %q", in, got, again)
		}
	}
}

func TestOrdinaryTextStays(t *testing.T) {
	for _, s := range []string{
		"", "a", "Allow LAN to any rule", "Default allow LAN IPv6 to any rule", "Password reset portal", "password manager (Bitwarden)",
		"Passwords", "password", "password:", "token ring", "Secret Santa VLAN", "Key exchange for IPsec", "IKE keying", "monkey: 5",
		"public_key=AAAA", "host key: x", "compass=3", "passive: yes", "pass in quick on igb0 from any", "bypass: yes", "access: all",
		"pwd /tmp", "the bearer of news", "Bearer channel", "https://h/x@y", "https://h:8443/x@y", "http://[2001:db8::1]:80/@", "a@b.example",
		"-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----", "--- a ---", "-----", "-----BEGIN", "------BEGIN x",
		"LS0tLS1CRUdJTiBDRVJUSUZJQ0FURS0tLS0t", "password [scrubbed]", "https://[scrubbed]@h", "password_policy: strong", "api_key_id=3",
		"secret_file=/etc/x", "disk: da0", "task = 5", "community: Freifunk", "0123456789abcdef0123456789abcdef", "-p 22", "credits: 5",
		"tls-auth ta.key 1", "password - reset by mail", "password for guests", "password for guests, see https://h/x", "public key: AAAA", "API key rotation", "echo $1 $2", "$1$", "costs $20", "awk '{print $1$2}'", "$a$b$c", "cookie banner", "authorization by RADIUS",
	} {
		if got, changed := Scrub(s, false); got != s || changed {
			t.Errorf("%q became %q", s, got)
		}
	}
	for _, s := range []string{
		"/usr/local/sbin/pfSsh.php playback svc restart Service1Name2", "ssh -p 22 host", "server.example.com/path/to/Some/Long/Place/42",
		"*/5 * * * * /usr/bin/nice -n20 /etc/rc.update_urltables", "10.0.0.0/8 192.168.1.1 2001:db8::1/64", "option 43 hex 01:04:0a",
	} {
		if got, changed := Scrub(s, true); got != s || changed {
			t.Errorf("strict: %q became %q", s, got)
		}
	}
}

func TestATextThatChangesByOneRunIsScrubbedUntilItStays(t *testing.T) {
	// Without the first part the word before "curl" reads differently.
	checkScrub(t, "passwordLS0tLS1CRUdJTieyJabcdefghijklmnop.qrsecretcurl -u ", true)
}

func TestPartsThatTouchBecomeOneMark(t *testing.T) {
	sc := scan{s: "abcdef", found: []span{{3, 5}, {1, 3}, {1, 2}}}
	if got := sc.result(); got != "a"+Mark+"f" {
		t.Error(got)
	}
}

func TestEveryWordLookedForHoldsATrigger(t *testing.T) {
	for _, w := range []string{
		"password", "passphrase", "passwort", "passcode", "passwd", "pass", "pw", "pwd", "bindpw", "secret", "credential", "psk", "token", "cookie",
		"apikey", "key", "keys", "authorization", "bearer", "community", "eyJ", "://", "-----BEGIN ", "-----END ", "LS0tLS1CRUdJTi",
	} {
		for _, v := range []string{w, strings.ToUpper(w)} {
			hit := false
			for i := 1; i < len(v); i++ {
				hit = hit || pairs[uint(v[i-1]&31)<<5|uint(v[i]&31)] != none
			}
			if !hit {
				t.Errorf("%s has no trigger", v)
			}
		}
	}
}

// checkScrub holds one result to what Scrub promises.
func checkScrub(t interface{ Fatalf(string, ...any) }, s string, strict bool) {
	got, changed := Scrub(s, strict)
	if changed != (got != s) {
		t.Fatalf("%q -> %q: changed is %v", s, got, changed)
	}
	if again, changed := Scrub(got, strict); again != got || changed {
		t.Fatalf("not stable (strict %v):\n%q\n%q\n%q", strict, s, got, again)
	}
	// What is left is a part of s, in order.
	rest := s
	for part := range strings.SplitSeq(got, Mark) {
		i := strings.Index(rest, part)
		if i < 0 {
			t.Fatalf("%q -> %q holds text of its own", s, got)
		}
		rest = rest[i+len(part):]
	}
}

func TestScrubIsStable(t *testing.T) {
	pieces := []string{
		"password", "psk", "key", "secret", "token", "bearer", "Authorization", "auth-user-pass", "--password", "-p", "mysql", "curl -u ", "is", "=", ":", "://", "//",
		" ", "\n", "\t", "\"", "'", "\\", "`", "<", ">", "</", "@", "?", "&", ";", ",", "a", "1", "xyz", "hunter2", "[", "]", Mark, "-----BEGIN ", "-----END ",
		"PRIVATE KEY", "-----", "eyJabcdefghijklmnop.qr", "LS0tLS1CRUdJTi", "0123456789abcdef0123456789abcdef", "abcABC123abcABC123abcABC123abcABC123", "$2y$", "/", ".", "-", "_", "reset",
	}
	rapid.Check(t, func(rt *rapid.T) {
		s := strings.Join(rapid.SliceOfN(rapid.SampledFrom(pieces), 0, 14).Draw(rt, "s"), "")
		checkScrub(rt, s, rapid.Bool().Draw(rt, "strict"))
	})
}

func FuzzScrub(f *testing.F) {
	for _, s := range []string{pem, "password \"a", "https://u:p@h", "curl -u a:b", "'psk=a psk=b'", "<key>x</key>"} {
		f.Add(s, true)
		f.Add(s, false)
	}
	f.Fuzz(func(t *testing.T, s string, strict bool) { checkScrub(t, s, strict) })
}

// threadTime returns the processor time of this thread, which other processes on
// the machine do not stretch.
func threadTime(t *testing.T) time.Duration {
	const thread = 1 // RUSAGE_THREAD
	var u syscall.Rusage
	if err := syscall.Getrusage(thread, &u); err != nil {
		t.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

func TestScrubTakesLinearTime(t *testing.T) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	for _, unit := range []string{
		"password=", "password ", "'password=", "\"password: \"", "://", "://u:", "x://a@", "s", "ss.", "-----BEGIN ", "-----END ", "-----BEGIN A-----", "<password>",
		"<psk></", "-", "eyJ.", "LS0tLS1CRUdJTi", "bearer ", "mysql -p ", "$1$a", "$2", "$6$$", "0a", "aA1/", "\\\"", "password\\\":\\\"", "key \"", "authorization:", "\npsk=\"",
		"-----END PRIVATE KEY-----", "-----BEGIN PRIVATE KEY-----", "psk \t", "curl -u '",
	} {
		for _, strict := range []bool{false, true} {
			took := func(n, times int) time.Duration {
				text := strings.Repeat(unit, n/len(unit))
				start := threadTime(t)
				for range times {
					Scrub(text, strict)
				}
				return threadTime(t) - start
			}
			// The same bytes, in sixteen texts or in one: quadratic would take
			// sixteen times as long. Whatever else the machine does can only make
			// a measurement longer, so the smallest of each are compared, and
			// measured again while they do not fit.
			many, one := took(1<<14, 16), took(1<<18, 1)
			fits := func() bool { return one <= 4*many+15*time.Millisecond }
			for tries, spent := 0, one; !fits() && tries < 30 && (tries < 3 || spent < 10*time.Second); tries++ {
				again := took(1<<18, 1)
				many, one, spent = min(many, took(1<<14, 16)), min(one, again), spent+again
			}
			if !fits() {
				t.Errorf("%q, strict %v: %v for 16 texts of 16 KiB, %v for one of 256 KiB", unit, strict, many, one)
			}
		}
	}
}

func TestTextWithoutATriggerIsNotCopied(t *testing.T) {
	for _, s := range []string{"LAN net to any, default rule (v4)", "Access to the printer on host disk01"} {
		if n := testing.AllocsPerRun(100, func() { _, _ = Scrub(s, false) }); n != 0 {
			t.Errorf("%q: %v allocations", s, n)
		}
	}
}

func BenchmarkScrub(b *testing.B) {
	for _, s := range []string{
		"Allow LAN to any rule, added by admin   "[:40], "Access from host disk01: monkey tokens ok", "password hunter2", strings.Repeat("Allow LAN to any rule ", 50000),
	} {
		for _, strict := range []bool{false, true} {
			b.Run(fmt.Sprintf("%.12s/%d/strict=%v", s, len(s), strict), func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					_, _ = Scrub(s, strict)
				}
			})
		}
	}
}
