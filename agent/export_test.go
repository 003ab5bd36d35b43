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
