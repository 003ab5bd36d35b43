package agent_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"redline/agent"
	"redline/agent/geminitest"
)

// Whatever the service does, and whenever the user cancels, every request is one that
// the service takes: it checks that roles alternate, that every call is answered by
// name and number, and that the signatures it gave come back. Compression and what is
// told of loops and refusals happen on the way.
func TestHistoryOverHTTP(t *testing.T) {
	seeds := uint64(40)
	if testing.Short() {
		seeds = 10
	}
	happened := map[string]int{}
	for seed := range seeds {
		r := rand.New(rand.NewPCG(seed, 11))
		summary := geminitest.Step{When: "Write the snapshot", Chunks: []geminitest.Chunk{{Text: snapshot}}, Times: -1, Optional: true}
		if seed%3 == 0 {
			summary.Fault, summary.Chunks = geminitest.Cut, nil
		}
		steps := []geminitest.Step{summary}
		for range 40 {
			steps = append(steps, randomAnswer(r))
		}
		last := geminitest.Say("the end")
		last.Times, last.Optional = -1, true
		o := newOver(t, func(opt *agent.Options) {
			opt.Window = 9000
			opt.Retry.MaxAttempts = 2
		}, append(steps, last)...)
		o.write("big.txt", long("BIG", 8))
		cancelAt := make(chan int, 1)
		n := 0
		o.watch(func(agent.Event) {
			select {
			case n = <-cancelAt:
			default:
			}
			if n--; n == 0 {
				o.Cancel("")
			}
		})
		for turn := range 5 {
			cancelAt <- 1 + r.IntN(40)
			o.turn(fmt.Sprint("turn ", turn, " ", long("", r.IntN(3))))
			select {
			case <-cancelAt:
			default:
			}
		}
		for i, req := range o.srv.Requests() {
			if req.Refused != "" {
				t.Fatalf("seed %d: request %d is refused: %s\n%.2000s", seed, i, req.Refused, req.Raw)
			}
		}
		o.Close()
		for _, ev := range o.seen() {
			switch b := ev.Body.(type) {
			case agent.Compressed:
				happened["compressed"]++
			case agent.Retry:
				happened["retried"]++
			case agent.TurnEnded:
				happened[string(b.Status)]++
			}
		}
	}
	for _, what := range []string{"compressed", "retried", "completed", "cancelled", "failed"} {
		if happened[what] == 0 {
			t.Errorf("nothing was %s in all of it: %v", what, happened)
		}
	}
}

func randomAnswer(r *rand.Rand) geminitest.Step {
	s := geminitest.Step{Optional: true}
	for range r.IntN(5) {
		c := geminitest.Chunk{}
		switch r.IntN(6) {
		case 0:
			c.Thought = "**Hm** well"
		case 1:
			c.Signature = "c2ln"
			c.Text = [2]string{"", "signed"}[r.IntN(2)]
		case 2, 3:
			c.Text = "some words "
		default:
			for range 1 + r.IntN(3) {
				n := r.IntN(1 << 20) // the service knows a call by its name and arguments
				call := []geminitest.Call{
					geminitest.NewCall("read_file", map[string]any{"path": "big.txt", "limit": 1000 + n}),
					geminitest.NewCall("list_directory", map[string]any{"path": ".", "ignore": []string{fmt.Sprint(n)}}),
					geminitest.NewCall("no_such_tool", map[string]any{"n": n}),
					geminitest.NewCall("write_file", map[string]any{"file_path": "a.txt", "content": fmt.Sprint(n)}),
				}[r.IntN(4)]
				if r.IntN(2) == 0 {
					call.Signature = "b3RoZXI="
				}
				if r.IntN(2) == 0 {
					call.ID = fmt.Sprint("id", r.Uint32())
				}
				c.Calls = append(c.Calls, call)
			}
		}
		s.Chunks = append(s.Chunks, c)
	}
	switch r.IntN(12) {
	case 0:
		s.Fault = geminitest.Cut
	case 1:
		s.Fault = geminitest.NoFinish
	case 2:
		s.Finish = "MALFORMED_FUNCTION_CALL"
	case 3:
		s.Finish = "SAFETY"
	case 4:
		s.Block = "PROHIBITED_CONTENT"
		s.Chunks = nil
	case 5:
		s.Error = &geminitest.Error{Status: 503}
	case 6:
		s.Finish = "MAX_TOKENS"
	}
	return s
}
