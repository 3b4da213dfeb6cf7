package main

// limit is the bound of a figure.
type limit struct {
	name    string
	unit    string
	bound   float64
	atLeast bool // the bound is the least; otherwise it is the most
}

// limits are the bounds; docs/figures.md says where each comes from.
var limits = map[string]limit{
	"read_small_added_ms":     {unit: "ms", bound: 0.40},
	"read_small_p99_added_ms": {unit: "ms", bound: 2.0},
	"read_10k_ratio":          {unit: "ratio", bound: 2.0},
	"read_peak_mib":           {unit: "MiB", bound: 8},
	"calls_per_s_ratio":       {unit: "ratio", bound: 0.2, atLeast: true},
	"start_ms":                {unit: "ms", bound: 60},
	"shim_first_list_ms":      {unit: "ms", bound: 40},
	"shim_rss_mib":            {unit: "MiB", bound: 12},
	"suite_rss_mib":           {unit: "MiB", bound: 80},
	"session_kib":             {unit: "KiB", bound: 96},
	"list_bytes":              {unit: "bytes", bound: 165_000},
	"list_bytes_no_output":    {unit: "bytes", bound: 52_000},
	"core_bytes":              {unit: "bytes", bound: 14_000},
	"guidance_added_ms":       {unit: "ms", bound: 0.30},
	"index_ms":                {unit: "ms", bound: 60},
	"index_peak_mib":          {unit: "MiB", bound: 24},
	"index_kept_mib":          {unit: "MiB", bound: 10},
	"ceremony_ms":             {unit: "ms", bound: 150},
	"store_10k_open_ms":       {unit: "ms", bound: 4000},
	"store_10k_mib":           {unit: "MiB", bound: 320},
	"binary_mib":              {unit: "MiB", bound: 16},
}

// groups are figures that are taken together, in the order in which they are.
var groups = []struct {
	names []string
	take  func(*bench) error
}{
	{[]string{"read_small_added_ms", "read_small_p99_added_ms"}, (*bench).small},
	{[]string{"read_10k_ratio"}, (*bench).walk10k},
	{[]string{"read_peak_mib"}, (*bench).peak},
	{[]string{"calls_per_s_ratio"}, (*bench).throughput},
	{[]string{"start_ms"}, (*bench).start},
	{[]string{"shim_first_list_ms", "shim_rss_mib", "suite_rss_mib", "guidance_added_ms"}, (*bench).suite},
	{[]string{"session_kib"}, (*bench).sessions},
	{[]string{"list_bytes", "list_bytes_no_output", "core_bytes"}, (*bench).lists},
	{[]string{"index_ms", "index_peak_mib", "index_kept_mib"}, (*bench).index},
	{[]string{"ceremony_ms"}, (*bench).ceremony},
	{[]string{"store_10k_open_ms", "store_10k_mib"}, (*bench).store},
	{[]string{"binary_mib"}, (*bench).binaries},
}
