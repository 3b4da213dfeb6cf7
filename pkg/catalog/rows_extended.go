package catalog

var extendedRows = []*Tool{}
