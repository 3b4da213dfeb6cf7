package main

import (
	"os"
	"path/filepath"
	"testing"
)

// Review 9: whoever can write one of the files that say whom executord believes can be
// the owners, the appliance or the counter.
func TestReview09EveryFileThatSaysWhomToBelieveIsRootsAlone(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("the owners of files are root's to set")
	}
	const sound = "/etc/hostname"
	if err := rooted(sound); err != nil {
		t.Skipf("there is no file here that is root's alone: %v", err)
	}
	open := filepath.Join(t.TempDir(), "file") // below a directory that everybody may write to
	if err := os.WriteFile(open, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if rooted(open) == nil {
		t.Skip("the test's directory is root's alone here")
	}
	all := func() *settings {
		s := &settings{Authorities: sound}
		s.Appliance.CAFile, s.Anchor.Remote.ServerCA = sound, sound
		return s
	}
	if err := all().believed(sound); err != nil {
		t.Fatal(err)
	}
	for name, put := range map[string]func(*settings){
		"the owners' keys": func(s *settings) { s.Authorities = open }, "the appliance's authority": func(s *settings) { s.Appliance.CAFile = open },
		"the witness host's authority": func(s *settings) { s.Anchor.Remote.ServerCA = open },
	} {
		s := all()
		if put(s); s.believed(sound) == nil {
			t.Errorf("%s: anybody's file was taken", name)
		}
	}
	if all().believed(open) == nil {
		t.Error("anybody's settings were taken")
	}
}
