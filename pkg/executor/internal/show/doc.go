// Package show owns how a contract, a request and a step of provisioning look to an
// operator: the messages of executor.v1 that are made of stored rows, and the
// sentence that says what to do now.
//
// Only the executor imports it. It reads one state of the store and decides nothing.
// It must never show a text of a request, a reason of a denial or anything from
// outside: the alias name of a request, which an operator needs to choose by, is the
// one exception, and it has passed the rule for alias names.
//
// The attack it stops: an operator led by words that somebody else wrote. Every
// sentence is compiled here, and holds ids of ours alone.
package show
