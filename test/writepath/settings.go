package writepath

// Settings are the settings that Start would write, with more at the end of the table
// [test]: for tests that start the process themselves, with something wrong in them.
func (r *Rig) Settings(more string) string { return r.settings(more) }
