package main

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"time"
)

// The part of CycloneDX 1.6 that is written.
type (
	bom struct {
		Format       string       `json:"bomFormat"`
		Spec         string       `json:"specVersion"`
		Serial       string       `json:"serialNumber,omitempty"`
		Version      int          `json:"version"`
		Metadata     metadata     `json:"metadata"`
		Components   []component  `json:"components"`
		Dependencies []dependency `json:"dependencies"`
	}
	metadata struct {
		Timestamp string    `json:"timestamp"`
		Component component `json:"component"`
	}
	component struct {
		Type       string        `json:"type"`
		Ref        string        `json:"bom-ref"`
		Name       string        `json:"name"`
		Version    string        `json:"version,omitempty"`
		Hashes     []hash        `json:"hashes,omitempty"`
		Licences   []licenceNode `json:"licenses,omitempty"`
		Purl       string        `json:"purl,omitempty"`
		Properties []property    `json:"properties,omitempty"`
	}
	hash struct {
		Algorithm string `json:"alg"`
		Content   string `json:"content"`
	}
	licenceNode struct {
		Expression string `json:"expression"`
	}
	property struct {
		Name  string `json:"name"`
		Value string `json:"value"`
	}
	dependency struct {
		Ref       string   `json:"ref"`
		DependsOn []string `json:"dependsOn"`
	}
)

// sbom lists what is in the package: each program with its digest and how it was
// built, each module with its version, checksum and licence, and which program
// links which. All of it is read from the programs themselves. The bytes depend
// on nothing else: the serial number is drawn from the content.
func sbom(version string, b *builds, licences licenceTable, when time.Time) ([]byte, error) {
	const own = "pfsense-mcp"
	doc := bom{
		Format: "CycloneDX", Spec: "1.6", Version: 1,
		Metadata: metadata{
			Timestamp: when.Format(time.RFC3339),
			Component: component{Type: "application", Ref: own, Name: own, Version: version, Licences: []licenceNode{{ownLicence}}},
		},
	}
	suite := dependency{Ref: own, DependsOn: []string{}}
	ref := func(m module) string { return "pkg:golang/" + m.path + "@" + m.version }
	for _, p := range b.programs {
		c := component{
			Type: "application", Ref: own + "/" + p.name, Name: p.name, Version: version,
			Hashes: []hash{{"SHA-256", p.sha256}}, Licences: []licenceNode{{ownLicence}},
		}
		for _, s := range p.settings {
			c.Properties = append(c.Properties, property{"go:build:" + s[0], s[1]})
		}
		links := dependency{Ref: c.Ref, DependsOn: []string{}}
		for _, m := range p.modules {
			links.DependsOn = append(links.DependsOn, ref(m))
		}
		suite.DependsOn = append(suite.DependsOn, c.Ref)
		doc.Components = append(doc.Components, c)
		doc.Dependencies = append(doc.Dependencies, links)
	}
	for _, m := range b.modules {
		c := component{
			Type: "library", Ref: ref(m), Name: m.path, Version: m.version, Purl: ref(m),
			Licences: []licenceNode{{licences[m.path].spdx}},
		}
		if m.sum != "" {
			c.Properties = []property{{"go:sum", m.sum}}
		}
		doc.Components = append(doc.Components, c)
	}
	doc.Dependencies = append([]dependency{suite}, doc.Dependencies...)

	text, err := json.Marshal(doc)
	if err != nil {
		return nil, err
	}
	sum := sha256.Sum256(text)
	sum[6], sum[8] = sum[6]&0x0f|0x80, sum[8]&0x3f|0x80 // a UUID of version 8, as RFC 9562 wants it of one made this way
	doc.Serial = fmt.Sprintf("urn:uuid:%x-%x-%x-%x-%x", sum[:4], sum[4:6], sum[6:8], sum[8:10], sum[10:16])
	out, err := json.MarshalIndent(doc, "", "  ")
	return append(out, '\n'), err
}
