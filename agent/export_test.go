package agent

// SettleReviews waits for the reviews that go on beside the turns.
func (s *Session) SettleReviews() {
	s.mu.Lock()
	var all []*lateReview
	for r := range s.reviews {
		all = append(all, r)
	}
	s.mu.Unlock()
	for _, r := range all {
		<-r.gone
	}
}

// KeptKinds returns the kinds of events that can be saved.
func KeptKinds() (out []string) {
	for k := range bodies {
		out = append(out, k)
	}
	return out
}

// KindOf returns the name an event is saved under.
func KindOf(b Body) string { return kindOf(b) }
