package class

import (
	"time"
	_ "time/tzdata" // zones are known on machines that have none installed
)

// Zone finds a time zone by its IANA name, such as Europe/Berlin. It is an ErrInvalid if there is none; "Local" is none,
// for it differs from machine to machine.
func Zone(name string) (*time.Location, error) {
	if name == "" || name == "Local" {
		return nil, invalid("zone: %q, expected a name such as Europe/Berlin or UTC", name)
	}
	loc, err := time.LoadLocation(name)
	if err != nil {
		return nil, invalid("zone: there is no %q, expected a name such as Europe/Berlin or UTC", name)
	}
	return loc, nil
}

// ShowTime writes a moment in a zone with the zone's abbreviation and distance from UTC, so that it cannot be read
// otherwise: "Fri 2026-03-27 23:59 CET (UTC+01:00)". An unknown zone gives UTC.
func ShowTime(t time.Time, zone string) string {
	loc, err := Zone(zone)
	if err != nil {
		loc = time.UTC
	}
	t = t.In(loc)
	abbreviation, offset := t.Zone()
	switch {
	case offset == 0 && abbreviation == "UTC":
		return t.Format("Mon 2006-01-02 15:04 UTC")
	case abbreviation == "" || abbreviation[0] == '+' || abbreviation[0] == '-':
		return t.Format("Mon 2006-01-02 15:04 (UTC-07:00)")
	}
	return t.Format("Mon 2006-01-02 15:04 MST (UTC-07:00)")
}
