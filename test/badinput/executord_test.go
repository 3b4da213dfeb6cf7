package badinput

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"pfsensemcp/pkg/artifact/artifacttest"
	"pfsensemcp/pkg/keyfile"
	"pfsensemcp/test/programs"
)

// fault is one thing that is wrong when executord starts, and what it does about it.
type fault struct {
	row
	founded bool // the store is there, and nothing of it may change
	root    bool // only root can make this fault
	spoil   func(*site)
}

// put back the file that was made for the store: what every bad key file says.
const putBack = "put back the file that was made for this store"

func keyFiles() []fault {
	spoil := func(name string, f func([]byte) []byte) func(*site) {
		return func(s *site) { s.put("keys/"+name, f(s.read("keys/"+name))) }
	}
	return []fault{
		{
			row:   row{what: "a key file that its group can read", exit: 1, says: []string{"credentials.root_key", "permissions for other users"}, next: []string{"chmod 600"}},
			spoil: func(s *site) { s.ok(os.Chmod(s.path("keys/root"), 0o640)) },
		},
		{
			row:   row{what: "a key file of another user", exit: 1, says: []string{"credentials.attestation_key", "cannot be opened"}, next: []string{"this user may read it"}},
			root:  true,
			spoil: func(s *site) { s.ok(os.Chown(s.path("keys/attestation"), 0, 0)) },
		},
		{
			row:  row{what: "a key file of another user that all may read", exit: 1, says: []string{"credentials.nv_auth", "does not belong to the user"}, next: []string{"chown"}},
			root: true,
			spoil: func(s *site) {
				s.ok(errors.Join(os.Chown(s.path("keys/auth"), 0, 0), os.Chmod(s.path("keys/auth"), 0o644)))
			},
		},
		{
			row: row{what: "a link in a key file's place", exit: 1, says: []string{"credentials.root_key", "symbolic link"}, next: []string{"the path of the file itself"}},
			spoil: func(s *site) {
				s.ok(errors.Join(os.Rename(s.path("keys/root"), s.path("keys/real")), os.Symlink("real", s.path("keys/root"))))
			},
		},
		{
			row:   row{what: "a key file with a second name", exit: 1, says: []string{"credentials.api_key", "hard links"}, next: []string{"new file"}},
			spoil: func(s *site) { s.ok(os.Link(s.path("keys/api"), s.path("keys/api2"))) },
		},
		{
			row: row{what: "a pipe in a key file's place", exit: 1, says: []string{"credentials.api_key", "not a regular file"}, next: []string{"regular file"}},
			spoil: func(s *site) {
				s.ok(errors.Join(os.Remove(s.path("keys/api")), syscall.Mkfifo(s.path("keys/api"), 0o600)))
				s.mine(s.path("keys/api"))
			},
		},
		{
			row: row{what: "a directory in a key file's place", exit: 1, says: []string{"credentials.root_key", "not a regular file"}, next: []string{"regular file"}},
			spoil: func(s *site) {
				s.ok(errors.Join(os.Remove(s.path("keys/root")), os.Mkdir(s.path("keys/root"), 0o700)))
				s.mine(s.path("keys/root"))
			},
		},
		{
			row:   row{what: "a key file that is not there", exit: 1, says: []string{"credentials.root_key", "cannot be opened"}, next: []string{"exists"}},
			spoil: func(s *site) { s.ok(os.Remove(s.path("keys/root"))) },
		},
		{
			row:   row{what: "an empty root key file", exit: 1, says: []string{"credentials.root_key", "empty"}, next: []string{"put the key into"}},
			spoil: spoil("root", func([]byte) []byte { return nil }),
		},
		{
			row:   row{what: "a root key file of 5,000 bytes", exit: 1, says: []string{"credentials.root_key", "longer than 4096 bytes"}, next: []string{"the key alone"}},
			spoil: spoil("root", func(b []byte) []byte { return append(b, strings.Repeat(" ", 5000)...) }),
		},
		{
			row:   row{what: "a root key file of 20,000 bytes", exit: 1, says: []string{"credentials.root_key", "larger than 16384 bytes"}, next: []string{"the key alone"}},
			spoil: spoil("root", func(b []byte) []byte { return append(b, strings.Repeat(" ", 20000)...) }),
		},
		{
			row:   row{what: "bytes after the root key's line", exit: 1, says: []string{"root key file", "one line"}, next: []string{putBack}},
			spoil: spoil("root", func(b []byte) []byte { return append(b, canary+"\n"...) }),
		},
		{
			row:   row{what: "a field in the root key file that does not belong there", exit: 1, says: []string{"root key file", "a key that does not belong there"}, next: []string{putBack}},
			spoil: spoil("root", func(b []byte) []byte { return []byte(strings.Replace(string(b), "{", `{"`+canary+`":1,`, 1)) }),
		},
		{
			row:   row{what: "a root key that is a placeholder", exit: 1, says: []string{"root key file", "placeholder"}, next: []string{putBack}},
			spoil: spoil("root", func(b []byte) []byte { return hexes.ReplaceAll(b, []byte(strings.Repeat("0", 64))) }),
		},
		{
			row:   row{what: "half an attestation key", exit: 1, says: []string{"attestation key file", "one JSON object"}, next: []string{putBack}},
			spoil: spoil("attestation", func(b []byte) []byte { return b[:len(b)/2] }),
		},
		{
			row:   row{what: "the root key as attestation key", exit: 1, says: []string{"attestation key file", "seed_hex is missing"}, next: []string{putBack}},
			spoil: func(s *site) { s.put("keys/attestation", s.read("keys/root")) },
		},
		{
			row:   row{what: "a counter secret in capitals", exit: 1, says: []string{"counter secret file", "lower-case"}, next: []string{putBack}},
			spoil: spoil("auth", func([]byte) []byte { return []byte(strings.Repeat("AB", 32) + "\n") }),
		},
		{
			row:   row{what: "a write key with Windows line ends", exit: 1, says: []string{"credentials.api_key", "carriage return"}, next: []string{"sed -i"}},
			spoil: spoil("api", func(b []byte) []byte { return []byte(strings.TrimSpace(string(b)) + "\r\n") }),
		},
		{
			row:   row{what: "a credential where there are none", exit: 1, says: []string{"credentials.root_key", "without systemd"}, next: []string{"absolute path"}},
			spoil: func(s *site) { s.set(s.path("keys/root"), "root") },
		},
	}
}

func settingsFiles() []fault {
	gone := []string{"store_dir", "store_id", "authorities_file"}
	return []fault{
		{
			row: row{what: "half a configuration", exit: 1, says: append([]string{"other keys of the write path are there", "credentials.api_key"}, gone...), next: []string{"give all of them or none"}},
			spoil: func(s *site) {
				var keep []string
				for line := range strings.Lines(s.text) {
					if !strings.HasPrefix(line, "store_") && !strings.HasPrefix(line, "authorities_") && !strings.HasPrefix(line, "api_key") {
						keep = append(keep, line)
					}
				}
				s.text = strings.Join(keep, "")
			},
		},
		{
			row:   row{what: "a key of the settings that nobody knows", exit: 1, says: []string{"stor_dir", ".toml:"}, next: []string{"store_dir"}},
			spoil: func(s *site) { s.set("store_dir", "stor_dir") },
		},
		{
			row:   row{what: "a key twice", exit: 1, says: []string{".toml:", "not valid TOML"}},
			spoil: func(s *site) { s.set("store_id", "store_id = \"lab-x\"\nstore_id") },
		},
		{
			row:   row{what: "settings that are no TOML", exit: 1, says: []string{".toml:"}},
			spoil: func(s *site) { s.set("lab = true", "lab = true "+canary) },
		},
		{
			row:   row{what: "a store id of production in a laboratory", exit: 1, says: []string{"store_id"}, next: []string{"begins with lab- exactly when lab is on"}},
			spoil: func(s *site) { s.set(`"lab-crash"`, `"prod-1"`) },
		},
		{
			row: row{what: "a laboratory's store and TPM without lab", exit: 1, says: []string{"store_id", "anchor.tpm", "for the lab alone"}, next: []string{"begins with lab- exactly when lab is on"}}, founded: true,
			spoil: func(s *site) { s.set("lab = true", "lab = false") },
		},
		{
			row: row{what: "a production's store id for a laboratory's store", exit: 1, says: []string{"this is a test build"}, next: []string{"a laboratory"}}, founded: true,
			spoil: func(s *site) { s.set("lab = true", "lab = false"); s.set(`"lab-crash"`, `"prod-1"`) },
		},
		{
			row:   row{what: "another backend's keys", exit: 1, says: []string{"anchor.tpm", "anchor.remote.url"}, next: []string{"goes with backend tpm-local"}},
			spoil: func(s *site) { s.set(`"tpm-local"`, `"tpm-remote"`) },
		},
		{
			row:   row{what: "a limit beyond the compiled one", exit: 1, says: []string{"limits"}, next: []string{"a limit may be tightened"}},
			spoil: func(s *site) { s.set("sends_per_hour = 20", "sends_per_hour = 100000") },
		},
		{
			row:   row{what: "a CA file that is not there", exit: 1, says: []string{"the CA file cannot be opened"}, next: []string{"check the path"}},
			spoil: func(s *site) { s.ok(os.Remove(s.path("ca.pem"))) },
		},
		{
			row:   row{what: "a CA file without a certificate", exit: 1, says: []string{"the CA file holds no certificate"}, next: []string{"PEM file"}},
			spoil: func(s *site) { s.put("ca.pem", []byte(canary)) },
		},
		{
			row:   row{what: "an operator whom the host does not know", exit: 1, says: []string{"user"}, next: []string{"operators"}},
			spoil: func(s *site) { s.set("operators = [", "operators = [\"nobody-of-that-name\", ") },
		},
		{
			row:   row{what: "a TPM in a directory that is not there", exit: 1, says: []string{"/nowhere", "does not exist"}, next: []string{"correct the setting that names it"}},
			spoil: func(s *site) { s.set(s.tpm.Address(), "unix:/nowhere/tpm") },
		},
		{
			row:   row{what: "a TPM path that is not absolute", exit: 1, says: []string{"anchor.tpm"}, next: []string{"absolute path"}},
			spoil: func(s *site) { s.set(s.tpm.Address(), "unix:tpm") },
		},
	}
}

func owners() []fault {
	replace := func(old, to string) func(*site) {
		return func(s *site) {
			b := string(s.read("authorities.json"))
			if !strings.Contains(b, old) {
				s.t.Fatalf("the authorities do not hold %q: %s", old, b)
			}
			s.put("authorities.json", []byte(strings.Replace(b, old, to, 1)))
		}
	}
	a, c := keyText(artifacttest.KeyA()), keyText(artifacttest.KeyC())
	return []fault{
		{
			row:   row{what: "no authorities file", exit: 1, says: []string{"authorities file cannot be read"}, next: []string{"mcpsign keygen"}},
			spoil: func(s *site) { s.ok(os.Remove(s.path("authorities.json"))) },
		},
		{
			row:   row{what: "an empty authorities file", exit: 1, says: []string{"authorities file"}, next: []string{"mcpsign keygen"}},
			spoil: func(s *site) { s.put("authorities.json", nil) },
		},
		{
			row:   row{what: "one owner's key in two roles", exit: 1, says: []string{"authorities file"}, next: []string{"no key and no id may stand twice"}},
			spoil: replace(c, a),
		},
		{
			row:   row{what: "one owner's id in two roles", exit: 1, says: []string{"authorities file"}, next: []string{"no key and no id may stand twice"}},
			spoil: replace(artifacttest.ConfirmationID, artifacttest.AuthorizationID),
		},
		{
			row:   row{what: "a key of small order", exit: 1, says: []string{"authorities file"}, next: []string{"public keys that mcpsign keygen printed"}},
			spoil: replace(a, smallOrder),
		},
		{
			row:   row{what: "an unknown role", exit: 1, says: []string{"authorities file"}, next: []string{"the three lists"}},
			spoil: replace("{", `{"`+canary+`":[],`),
		},
		{
			row: row{what: "an authorities file of a megabyte", exit: 1, says: []string{"authorities file cannot be read"}, next: []string{"mcpsign keygen"}},
			spoil: func(s *site) {
				s.put("authorities.json", append(s.read("authorities.json"), strings.Repeat(" ", 1<<20)...))
			},
		},
		{
			row: row{what: "the attestation key as an owner's", exit: 1, says: []string{"authorities and the attestation key do not go together"}, next: []string{"a key and an id of its own"}},
			spoil: func(s *site) {
				k, err := keyfile.ParseAttestation(s.read("keys/attestation"))
				s.ok(err)
				replace(a, keyText(k.Key))(s)
			},
		},
	}
}

func stores() []fault {
	return []fault{
		{
			row:   row{what: "a store directory that is not there", exit: 1, says: []string{"store_dir does not exist"}, next: []string{"install -d -m 0700"}},
			spoil: func(s *site) { s.ok(os.Remove(s.path("store"))) },
		},
		{
			row:   row{what: "a store directory that its group can read", exit: 1, says: []string{"store_dir", "0700"}, next: []string{"chmod 700"}},
			spoil: func(s *site) { s.ok(os.Chmod(s.path("store"), 0o750)) },
		},
		{
			row:   row{what: "a store directory of another user", exit: 1, says: []string{"store_dir", "may not enter it"}, next: []string{"chown"}},
			root:  true,
			spoil: func(s *site) { s.ok(os.Chown(s.path("store"), programs.UIDNobody, programs.UIDNobody)) },
		},
		{
			row: row{what: "a link in the store directory's place", exit: 1, says: []string{"store_dir", "symbolic link"}, next: []string{"realpath"}},
			spoil: func(s *site) {
				s.ok(errors.Join(os.Rename(s.path("store"), s.path("elsewhere")), os.Symlink("elsewhere", s.path("store"))))
			},
		},
		{
			row: row{what: "a file in the store directory's place", exit: 1, says: []string{"store_dir", "no directory"}, next: []string{"realpath"}},
			spoil: func(s *site) {
				s.ok(os.Remove(s.path("store")))
				s.put("store", []byte(canary))
			},
		},
		{
			row:  row{what: "a directory above the store that others can change", exit: 1, says: []string{"a directory above it can be changed by another user"}, next: []string{"root own every directory"}},
			root: true,
			spoil: func(s *site) {
				s.ok(os.Mkdir(s.path("open"), 0o700))
				s.ok(os.Mkdir(s.path("open/store"), 0o700))
				s.mine(s.path("open/store"))
				s.ok(os.Chmod(s.path("open"), 0o777))
				s.set(`store_dir = "`+s.path("store"), `store_dir = "`+s.path("open/store"))
			},
		},
		{
			row: row{what: "a key in the store's directory", exit: 1, says: []string{"a key lies in the store's directory"}, next: []string{"keep keys elsewhere"}},
			spoil: func(s *site) {
				s.ok(os.Rename(s.path("keys/root"), s.path("store/root")))
				s.set(s.path("keys/root"), s.path("store/root"))
			},
		},
		{
			row: row{what: "a link in the lock's place", exit: 1, says: []string{"lock file"}, next: []string{"store.lock"}},
			spoil: func(s *site) {
				s.ok(os.Symlink("/etc/passwd", s.path("store/store.lock")))
			},
		},
		{
			row: row{what: "a root key of another store", exit: 1, says: []string{"another store_id or root key"}, next: []string{"give the store_id and root key"}}, founded: true,
			spoil: func(s *site) {
				b, err := keyfile.NewRoot("k1", 1)
				s.ok(err)
				s.put("keys/root", b)
			},
		},
		{
			row: row{what: "another store id", exit: 1, says: []string{"another store_id or root key"}, next: []string{"give the store_id and root key"}}, founded: true,
			spoil: func(s *site) { s.set(`"lab-crash"`, `"lab-other"`) },
		},
		{
			row: row{what: "a store file that its group can read", exit: 1, says: []string{"store.db", "0600"}, next: []string{"chmod 600"}}, founded: true,
			spoil: func(s *site) { s.ok(os.Chmod(s.path("store/store.db"), 0o640)) },
		},
		{
			row: row{what: "a store file with a second name", exit: 1, says: []string{"store.db", "hard links"}, next: []string{"remove the other name"}}, founded: true,
			spoil: func(s *site) { s.ok(os.Link(s.path("store/store.db"), s.path("store/copy"))) },
		},
		{
			row: row{what: "a store file of another user", exit: 1, says: []string{"store.db"}, next: []string{"executord's user"}}, founded: true, root: true,
			spoil: func(s *site) { s.ok(os.Chown(s.path("store/store.db"), 0, 0)) },
		},
		{
			row: row{what: "a store file of no bytes", exit: 1, says: []string{"the store is damaged"}, next: []string{"run executord verify, keep the file"}}, founded: true,
			spoil: func(s *site) { s.ok(os.Truncate(s.path("store/store.db"), 0)) },
		},
		{
			row: row{what: "another file in the store's place", exit: 1, says: []string{"the store is damaged"}, next: []string{"run executord verify, keep the file"}}, founded: true,
			spoil: func(s *site) { s.put("store/store.db", []byte(strings.Repeat(canary, 4096))) },
		},
		{
			row: row{what: "another index than the store's", exit: 1, says: []string{"anchor.nv_index is not the index"}, next: []string{"remove anchor.nv_index"}}, founded: true,
			spoil: func(s *site) { s.set("[credentials]", "nv_index = 0x01500007\n[credentials]") },
		},
	}
}

func TestExecutordRefusesABadStartAndLeavesNothingBehind(t *testing.T) {
	for name, group := range map[string][]fault{"keys": keyFiles(), "settings": settingsFiles(), "owners": owners(), "stores": stores()} {
		t.Run(name, func(t *testing.T) {
			for _, f := range group {
				t.Run(f.what, func(t *testing.T) {
					t.Parallel()
					f.try(t)
				})
			}
		})
	}
}

func (f fault) try(t *testing.T) {
	if f.root {
		needsRoot(t)
	}
	make := newSite
	if f.founded {
		make = founded
	}
	s := make(t)
	secrets := s.secrets()
	f.spoil(s)
	secrets = append(secrets, s.secrets()...)
	before := files(t, s.Dir)
	p := s.start()
	f.hold(t, p.Wait(), p.Output(), secrets)
	unchanged(t, before, files(t, s.Dir))
	for _, name := range []string{"exec", "exec-admin"} {
		if _, err := os.Lstat(filepath.Join(s.Dir, name, name+".sock")); err == nil {
			t.Errorf("the socket %s was left behind", name)
		}
	}
	if n := len(s.FW.Requests()); n != 0 && !f.founded {
		t.Errorf("the appliance was asked %d times by an executord that does not start", n)
	}
}
