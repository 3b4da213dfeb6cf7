package catalog

var extendedLogRows = []*Tool{}
