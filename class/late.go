package class

import "time"

// LateRule is what a deadline and an extension of it mean for one person.
type LateRule struct {
	// Due is the last moment that is in time; zero if there is no deadline.
	Due time.Time
	// Penalty is what a late result loses, in percent; at 100 it is not taken.
	Penalty int
}

// RuleFor joins a deadline with a person's extension. The later of the two counts, so that a deadline that is moved for
// all never takes time from somebody who was given more.
func RuleFor(d Deadline, extension time.Time) LateRule {
	rule := LateRule{Due: d.Due, Penalty: d.Penalty}
	if !rule.Due.IsZero() && extension.After(rule.Due) {
		rule.Due = extension
	}
	return rule
}

// Late says whether what was received then is late. The very moment of the deadline is in time.
func (l LateRule) Late(received time.Time) bool { return !l.Due.IsZero() && received.After(l.Due) }

// Taken says whether what was received then counts at all.
func (l LateRule) Taken(received time.Time) bool { return !l.Late(received) || l.Penalty < 100 }

// pointsLeft are the points of a late result after the penalty, rounded down.
func (l LateRule) pointsLeft(points int) int {
	return points * (100 - min(max(l.Penalty, 0), 100)) / 100
}

// Valid says what is wrong with a deadline that somebody sets, as an ErrInvalid.
func (d Deadline) Valid() error {
	switch {
	case d.Exercise == "":
		return invalid("exercise: there is none")
	case d.Penalty < 0 || d.Penalty > 100:
		return invalid("penalty: %d is not from 0 to 100", d.Penalty)
	case !d.Due.IsZero() && (d.Due.Year() < 1970 || d.Due.Year() > 9999):
		return invalid("due: the year %d is not from 1970 to 9999", d.Due.Year())
	}
	return nil
}
