package lsm

// Scan goes through the keys of the DB as they lie in it, with their values, in the order of their bytes: from lower to
// before upper, each of which may be nil, until f returns false. What f is given lives until it returns.
func (b *Backend) Scan(lower, upper []byte, f func(key, value []byte) bool) error {
	if b.closed {
		return errClosed
	}
	it, err := b.db.iter(lower, upper)
	if err != nil {
		return err
	}
	for ok := it.First(); ok && f(it.Key(), it.Value()); ok = it.Next() {
	}
	if err := it.Close(); err != nil {
		return b.db.why(err)
	}
	return nil
}
