package guidance

import "testing"

func TestX(t *testing.T) { _, err := Bundled(); if err != nil { t.Fatal(err) } }
