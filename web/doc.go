// Package web serves the lab: its pages, its JSON API, the live stream of a running job and the trace of its events.
//
// A session is one running job (labs.Run) with an id. It belongs to nobody: it runs on when its last viewer goes and ends
// when it is deleted or the server stops. Every viewer reads the same metric.Snapshot; the stream sends it whole once and
// then only what changed (delta.go), always the newest, never a backlog (stream.go).
//
// The files: serve.go and server.go wire it, guard.go refuses what comes from another site, sessions.go and inputs.go hold
// what lives longer than a request, api*.go is the JSON API, pages.go the pages, assets.go what is built from web/ts and
// web/css. Texts are in web/i18n, pages in web/templates.
package web
