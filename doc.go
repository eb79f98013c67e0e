// Package weir is a teaching lab for the inside of a stream processor: see README.md, and docs/architecture.md for the
// house. The packages are engine, labs, exercises, web and cmd/labserver.
package weir
