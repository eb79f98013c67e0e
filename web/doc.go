// Package web serves the lab: its pages, its JSON API, the live stream of a running job and the trace of its events.
//
// A session is one running job (labs.Run) with an id. It runs on when its last viewer goes, and ends when it is deleted or
// the server stops. Every viewer reads the same metric.Snapshot; the stream sends it whole once and then only what changed
// (package delta), always the newest, never a backlog (stream.go).
//
// A Server is that of one person, of classes (course is set), or of one person who is in a class (joined is set). With
// classes a session belongs to a learner or an instructor, and comes back with the next server.
//
// The files, by the beginning of their names:
//
//	serve, server, tls          wiring, start and stop
//	guard, access, caller       who may call: pages of other sites may not, and each route names its kinds of callers
//	sessions, inputs, progress  what lives longer than a request
//	api                         the JSON API of labs, sessions and exercises
//	pages, assets               the pages, and what is built from web/ts and web/css; texts are in i18n
//	stream, fanout, frames      the pictures of a session on their way to its viewers
//	class                       the API and the pages of a class, for its learners and its instructor
//	course                      what a server of classes has for that: its store, who is who, who may use how much, and the
//	                            other servers on the store (servers, trust, forward, follow)
//	joined                      a learner's own machine that is in a class of another server
package web
