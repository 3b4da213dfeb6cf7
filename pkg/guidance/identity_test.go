package guidance

import (
	"strings"
	"testing"
)

func TestTheEditionOfAVersion(t *testing.T) {
	for version, want := range map[string]string{
		"2.8.1": KnownCE, "1.0": KnownCE, "9.9": KnownCE, "2": KnownCE,
		"25.07": KnownPlus, "21.02": KnownPlus, "99.01": KnownPlus,
		"0.9": Unknown, "10.0": Unknown, "20.12": Unknown, "100.1": Unknown, "025.07": Unknown, "02.8": Unknown,
		"": Unknown, ".8": Unknown, "2a.8": Unknown, "-2.8": Unknown, "+2.8": Unknown, "2 .8": Unknown,
		"\u0662.8": Unknown, "\uff12.8": Unknown, "\u0968\u0965.07": Unknown, // digits of other scripts
	} {
		if got := EditionOf(version); got != want {
			t.Errorf("%q is %s, want %s", version, got, want)
		}
	}
}

func TestAPairIsObservedOrRefused(t *testing.T) {
	v := func(s string) *string { return &s }
	for name, c := range map[string]struct {
		edition string
		version *string
		ok      bool
	}{
		"CE with its version":            {KnownCE, v("2.8.1"), true},
		"Plus with its version":          {KnownPlus, v("25.07"), true},
		"nothing known":                  {Unknown, nil, true},
		"a version of no edition":        {Unknown, v("15.0-CURRENT"), true},
		"CE with a Plus version":         {KnownCE, v("25.07"), false},
		"Plus with a CE version":         {KnownPlus, v("2.8.1"), false},
		"unknown with a CE version":      {Unknown, v("2.8.1"), false},
		"CE without a version":           {KnownCE, nil, false},
		"CE with a version of no digits": {KnownCE, v("two.8"), false},
		"both":                           {"both", v("2.8.1"), false},
		"no edition":                     {"", nil, false},
		"an empty version":               {Unknown, v(""), false},
		"33 bytes":                       {KnownCE, v("2." + strings.Repeat("8", 31)), false},
		"a blank in the version":         {KnownCE, v("2.8 1"), false},
		"a line end in the version":      {KnownCE, v("2.8.1\n"), false},
		"a reordering mark":              {KnownCE, v("2.8\u202e"), false},
		"digits of another script":       {KnownCE, v("\u0662.8"), false},
	} {
		got, err := Observe(c.edition, c.version)
		if (err == nil) != c.ok {
			t.Errorf("%s: %v", name, err)
		}
		if err == nil && c.version != nil && got.Version != *c.version {
			t.Errorf("%s: version %q", name, got.Version)
		}
	}
}

func FuzzObserve(f *testing.F) {
	for _, s := range []string{"2.8.1", "25.07", "", "x", "\u0662.8"} {
		f.Add(KnownCE, s)
	}
	f.Fuzz(func(t *testing.T, edition, version string) {
		got, err := Observe(edition, &version)
		if err != nil {
			if strings.Contains(err.Error(), version) && len(version) > 24 {
				t.Errorf("the error repeats what was sent: %v", err)
			}
			return
		}
		if got.Edition != edition || got.Version != version || len(version) > maxVersion || EditionOf(version) != edition {
			t.Errorf("%q %q was taken as %v", edition, version, got)
		}
	})
}
