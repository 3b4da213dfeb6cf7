// Package row turns the appliance's JSON rows into rows of a closed model: one
// streaming pass that keeps what the model names and drops the rest, the
// disclosure gate, the scrubber, the escaping, and the text that is shown.
//
// It owns what a value looks like outside. The order is fixed: decode, gate,
// scrub, escape; a filter and a renderer both get the result through the same
// methods, so a filter can see nothing that would not be printed. Only readtool
// and its where package import it. It must never keep a row beyond the next
// Decode, coerce a value into another type, quote a value or an unmodelled name
// in a count, or look at a hidden value further than its extent.
//
// The attack it stops: data of an outsider (a host name, a log line, a field
// that a later package version adds) reaching a model unreviewed, unescaped, or
// piece by piece through the answers of a filter.
//
// What is defined about odd input: an object that is not valid JSON or UTF-8, is
// nested beyond jsontext's bound, or holds objects without end is unusable as a
// whole; a modelled name that stands twice makes that field null and counts as
// drift; a value of the wrong type likewise; an entry of the wrong type inside a
// list is null in its place, so that parallel lists stay parallel; absent, null
// and empty stay apart.
package row
