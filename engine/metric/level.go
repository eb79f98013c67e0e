package metric

// BackpressureLevel is Flink's name for a back-pressured time in ms/s (JobVertexBackPressureHandler): ok up to 10 % of
// the time, low up to 50 %, high above.
func BackpressureLevel(backPressuredMs float64) string {
	switch {
	case backPressuredMs <= 100:
		return "ok"
	case backPressuredMs <= 500:
		return "low"
	}
	return "high"
}
