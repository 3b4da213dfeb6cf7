package catalog

var dnsRows = []*Tool{}
