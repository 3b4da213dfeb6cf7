// Package docs holds the pages for people to the programs: that what they link to is
// there, that the commands they show exist with the flags they show, that the tests
// they name are tests, and that the example for developers still works.
//
// Only tests are here. They read the pages as text and the programs by what they
// print; no page is written by them.
//
// What it stops: a page that says of a wall "this is tested" when the test is gone,
// and a person at 3 am who types a command that no longer exists.
package docs
