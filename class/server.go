package class

import "time"

// Server is one of the servers on a store.
type Server struct {
	ID   string
	URL  string // where the other servers reach it
	Pin  string // SHA-256 of its certificate in hex; empty where it speaks plain HTTP or a proxy has the certificate
	Seen time.Time
}
