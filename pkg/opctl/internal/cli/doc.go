// Package cli owns the frame of mcpctl's commands: the table and its help, flags,
// exit codes, how an error is shown, and how a person is asked.
//
// Only pkg/opctl and its inner packages import it. It opens no connection and no
// file. It must never write a text that it did not make without textsafe, and never
// take an answer that was typed before its question stood on the screen.
//
// The attacks it stops: a daemon that was subverted driving the operator's terminal
// through an error message; and a program under an operator's uid that pipes a yes
// into an act which needs a person (security-review 27).
package cli
