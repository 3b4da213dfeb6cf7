// Package obligations holds what must be proven of the write path against the tests
// that prove it. The list of tags is closed: a tag without a test, a test that the
// table names and that is gone, or a tag that nobody knows fails. Its one line of
// output counts them.
//
// obligations.txt is the table: for each clause the tests that exercise it. A tag in a
// test's name stands behind Test, alone or with others (TestX9X5…, TestReview18And25…).
//
// Nothing imports this package.
package obligations
