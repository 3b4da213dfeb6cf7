// Package replay holds the tests that put recorded answers of a real pfREST
// 2.10.0 through the real client, decoder and tools, and compare what is shown
// with what was recorded, by a second, independent reading of the record.
//
// The record is not part of the project. Where it is absent the tests skip and
// say so. Other tests import the recorded appliance; nothing else does.
package replay
