package serde

// IsUnaligned tells if the barrier overtakes data in flight, which then belongs to the checkpoint.
func (o CheckpointOptions) IsUnaligned() bool { return o.Alignment == Unaligned }

// UnalignedOptions are the options of an unaligned checkpoint at the default location.
func UnalignedOptions() CheckpointOptions {
	return CheckpointOptions{Alignment: Unaligned, AlignedTimeoutMs: NoAlignedTimeout}
}

// TimeoutableOptions are those of a checkpoint that begins aligned and turns unaligned after so many ms.
func TimeoutableOptions(timeoutMs int64) CheckpointOptions {
	return CheckpointOptions{Alignment: Aligned, AlignedTimeoutMs: timeoutMs}
}

// ToUnaligned are the options after the time to stay aligned is over.
func (o CheckpointOptions) ToUnaligned() CheckpointOptions {
	o.Alignment, o.AlignedTimeoutMs = Unaligned, NoAlignedTimeout
	return o
}

// WithUnalignedUnsupported are the options on an exchange whose data in flight cannot be restored: the barrier is aligned
// there whatever it was. Its timeout stays, for those who revert it.
func (o CheckpointOptions) WithUnalignedUnsupported() CheckpointOptions {
	if o.IsUnaligned() || o.IsTimeoutable() {
		o.Alignment = ForcedAligned
	}
	return o
}

// WithUnalignedSupported reverts WithUnalignedUnsupported, behind such an exchange.
func (o CheckpointOptions) WithUnalignedSupported() CheckpointOptions {
	switch {
	case o.Alignment != ForcedAligned:
	case o.AlignedTimeoutMs == NoAlignedTimeout:
		o.Alignment = Unaligned
	default:
		o.Alignment = Aligned
	}
	return o
}

// AsUnaligned is the barrier after the time to stay aligned is over.
func (b CheckpointBarrier) AsUnaligned() CheckpointBarrier {
	b.Options = b.Options.ToUnaligned()
	return b
}
