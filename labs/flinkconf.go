package labs

import (
	"fmt"
	"strings"
)

// FlinkYAML returns the knobs as a configuration of Flink 2.3. What 2.3 has as a constant stands in a comment with the
// constant's value, as does what Flink has no option for.
func (l *Lab) FlinkYAML(v Values) string {
	var options, constants, none strings.Builder
	for i := range l.Knobs {
		k := &l.Knobs[i]
		value, ok := v[k.Name]
		switch {
		case !ok:
		case k.FlinkOption == "":
			fmt.Fprintf(&none, "#   %s: %v\n", k.Name, value)
		case k.ConstantInFlink:
			r, _ := knobByName(k.Name)
			fmt.Fprintf(&constants, "#   %s: %v", k.FlinkOption, r.Default)
			if value != r.Default {
				fmt.Fprintf(&constants, "   (this lab runs with %v; Flink 2.3 cannot)", value)
			}
			constants.WriteString("\n")
		default:
			options.WriteString(flinkOption(k, value))
		}
	}
	var b strings.Builder
	fmt.Fprintf(&b, "# Lab %s as a configuration of Flink 2.3\n%s", l.ID, options.String())
	if constants.Len() > 0 {
		b.WriteString("\n# Constants in Flink 2.3 (NettyShuffleEnvironmentConfiguration); these options of 1.x are gone:\n" + constants.String())
	}
	if none.Len() > 0 {
		b.WriteString("\n# Not options of Flink: the load of this lab and how Weir runs it:\n" + none.String())
	}
	return b.String()
}

// flinkOption writes one knob the way Flink's option wants it: durations and sizes with their unit.
func flinkOption(k *Knob, value any) string {
	line := func(option string, v any) string { return fmt.Sprintf("%s: %v\n", option, v) }
	n, _ := value.(int64)
	switch k.Name {
	case "bufferTimeoutMs":
		if n < 0 {
			return line("execution.buffer-timeout.enabled", false)
		}
	case "maxParallelism":
		if n == 0 {
			return line(k.FlinkOption, -1)
		}
	case "checkpointMode":
		return line(k.FlinkOption, value == "unaligned")
	case "twoStage":
		if value != true {
			return line(k.FlinkOption, "ONE_PHASE")
		}
		return line(k.FlinkOption, "TWO_PHASE")
	case "restartDelayMs":
		ms := fmt.Sprintf("%d ms", n)
		return line(k.FlinkOption, ms) + line("restart-strategy.exponential-delay.initial-backoff", ms)
	case "checkpointIntervalMs":
		if n == 0 {
			return "# periodic checkpoints are off: " + k.FlinkOption + " is not set\n"
		}
	case "checkpointStorage":
		storage := "filesystem"
		if value == "memory" {
			storage = "jobmanager"
		}
		return line(k.FlinkOption, storage)
	case "networkMemoryBytes":
		return line("taskmanager.memory.network.min", fmt.Sprintf("%d b", n)) + line(k.FlinkOption, fmt.Sprintf("%d b", n))
	}
	switch k.Unit {
	case "ms":
		return line(k.FlinkOption, fmt.Sprintf("%d ms", n))
	case "bytes":
		return line(k.FlinkOption, fmt.Sprintf("%d b", n))
	}
	return line(k.FlinkOption, value)
}
