//go:build !pfsense_demo

package main

import (
	"pfsensemcp/pkg/docfetch"
	"pfsensemcp/pkg/sandbox"
)

const testBuild = false

// place is where the documentation is: there is one, and no setting for it.
type place struct{}

func (place) read() error { return nil }

func (place) profile(p sandbox.Profile) sandbox.Profile { return p }

func (place) config(c docfetch.Config) (docfetch.Config, error) { return c, nil }
