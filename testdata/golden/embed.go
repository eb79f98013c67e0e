// Package golden has the golden files that exercises compare a learner's core with, as part of the binary.
package golden

import "embed"

// Files are those of state, of the debloater and of the local pool: see about in each.
//
//go:embed local_buffer_pool.json debloater.json keygroups.json keygroup_ranges.json composite_key.json operator_state_repartition.json
var Files embed.FS
