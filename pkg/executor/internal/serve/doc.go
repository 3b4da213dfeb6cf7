// Package serve owns the two services of executor.v1 over the ceremony: Front for
// mcpd, Admin for operators.
//
// Only the executor imports it. It checks the form of what was sent, names who sent
// it, hands it to the ceremony and shows what came of it. It decides nothing, holds no
// lock while the ceremony works, and must never let an error say more than the page of
// its call allows: one word of six to mcpd, one sentence to whoever submits a file.
//
// The attacks it stops: a socket used as an oracle for what the gates dislike, a
// request that is large or odd enough to matter before it is judged, and a step of
// people taken by a program that left the question out.
package serve
