package guidance

import (
	"strings"
	"testing"
)

func TestAnAnchorIsFoundHoweverThePageIsTypeset(t *testing.T) {
	words, hash := Anchor("System > Routing, on the Gateways tab")
	if words != 6 || len(hash) != 64 {
		t.Fatalf("%d words, %q", words, hash)
	}
	for _, page := range []string{
		"See system routing on the gateways tab.",
		"SYSTEM \u203a ROUTING \u2014 on\n the \u201cGateways\u201d   tab",
		"system routing on the gateways tab",
	} {
		if !Holds(Words(page), words, hash) {
			t.Errorf("not found in %q", page)
		}
	}
	for _, page := range []string{"", "system routing", "System > Routing, on the new Gateways tab", "ssystem routing on the gateways tab"} {
		if Holds(Words(page), words, hash) {
			t.Errorf("found in %q", page)
		}
	}
}

func TestAnAnchorOfNoWordsHoldsNowhere(t *testing.T) {
	words, hash := Anchor("> ,")
	if words != 0 || Holds(Words("a b"), words, hash) {
		t.Error("it holds")
	}
}

func FuzzWords(f *testing.F) {
	f.Add("System > Routing")
	f.Fuzz(func(t *testing.T, text string) {
		w := Words(text)
		words, hash := Anchor(text)
		if words != len(w) || words > 0 && !Holds(w, words, hash) {
			t.Errorf("%q does not hold itself", text)
		}
		for _, x := range w {
			if x == "" || strings.ContainsAny(x, " >,") {
				t.Errorf("%q is no word", x)
			}
		}
	})
}
