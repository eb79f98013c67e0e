package keygroup

// BoundsError refuses a number out of bounds, where Flink throws an IllegalArgumentException.
type BoundsError struct {
	// Message is Flink's own; empty where Flink's exception has none.
	Message string
	// Detail names the values at fault and what was expected, where Message does not.
	Detail string
}

// Error gives Flink's message and the detail.
func (e *BoundsError) Error() string {
	switch {
	case e.Message == "":
		return e.Detail
	case e.Detail == "":
		return e.Message
	}
	return e.Message + " " + e.Detail
}
