package lsp_test

import (
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"redline/agent/model"
	"redline/lsp"
	"redline/lsp/lsptest"
)

// The model-based test: a random user, a random model and every editor. The user
// types, deletes, undoes, saves, closes, renames, lets other programs write, and
// decides; the model edits, creates and reads. What must hold is checked whenever
// everything is at rest:
//
//   - everything the user typed and did not take back is there (invariant 2);
//   - a decision changes the documents by exactly the accepted hunks, to the byte;
//   - what the model is told is what the documents say (invariant 6).
//
// It runs in a synctest bubble: deadlines pass at once, and "at rest" is exact.
// A failure names its seed:
//
//	go test ./lsp -run TestRandom -random.seed=SEED -random.editor=NAME
//	go test ./lsp -run TestRandom -random.runs=100000 -timeout 0
var (
	randomSeed   = flag.Uint64("random.seed", 0, "replay this seed of TestRandom")
	randomEditor = flag.String("random.editor", "", "of this editor only")
	randomRuns   = flag.Int("random.runs", 3, "runs of TestRandom with each editor")
	randomSteps  = flag.Int("random.steps", 60, "steps of a run")
)

// scenario is an editor with a way to review in it.
type scenario struct {
	name        string
	personality lsptest.Personality
	plain       bool
	review      string // redline.review
	// faithful says that the editor does what it is asked when nobody interferes:
	// an accepted hunk must land, and exactly.
	faithful bool
}

func scenarios() []scenario {
	out := []scenario{}
	for _, p := range []lsptest.Personality{
		lsptest.VSCode().OwnApply(), lsptest.Neovim010().OwnApply(), lsptest.Neovim012().OwnApply(), lsptest.Eglot().WithPlugin(),
	} {
		out = append(out, scenario{name: p.Name, personality: p, faithful: true})
	}
	for _, p := range lsptest.Personalities() {
		out = append(out,
			scenario{name: p.Name + " plain", personality: p, plain: true},
			scenario{name: p.Name + " plain, code actions", personality: p, plain: true, review: "codeAction", faithful: true})
	}
	for fault, name := range map[lsptest.Fault]string{lsptest.Silent: "silent", lsptest.Half: "half", lsptest.Formats: "formats"} {
		for _, p := range []lsptest.Personality{lsptest.VSCode().OwnApply(), lsptest.Neovim012().OwnApply()} {
			out = append(out, scenario{name: p.Name + " " + name, personality: p.WithFault(fault)})
		}
	}
	for i := range out {
		out[i].name = strings.ReplaceAll(out[i].name, " ", "_")
	}
	return out
}

func TestRandom(t *testing.T) {
	if os.Getenv("REDLINE_RANDOM") == "" {
		// In a process of its own: what earlier tests left in a sync.Pool, or put there
		// while they end, may not be used in a bubble.
		// The log of opened files, which go test caches by, is this process's.
		args := slices.DeleteFunc(slices.Clone(os.Args[1:]), func(a string) bool { return strings.HasPrefix(a, "-test.testlogfile") })
		cmd := exec.CommandContext(t.Context(), os.Args[0], append(args, "-test.run=^TestRandom$", "-test.v=false")...)
		cmd.Env = append(os.Environ(), "REDLINE_RANDOM=1")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("%v\n%s", err, out)
		}
		return
	}
	for _, sc := range scenarios() {
		if *randomEditor != "" && sc.name != *randomEditor {
			continue
		}
		t.Run(sc.name, func(t *testing.T) {
			runs, first := *randomRuns, uint64(1)
			if *randomSeed != 0 {
				runs, first = 1, *randomSeed
			} else if testing.Short() {
				runs = 2
			}
			for i := range runs {
				seed := first + uint64(i)
				if !t.Run(fmt.Sprint(seed), func(t *testing.T) { randomRun(t, sc, seed) }) {
					return
				}
			}
		})
	}
}

func randomRun(t *testing.T, sc scenario, seed uint64) {
	root := t.TempDir()
	emptyPools()
	defer emptyPools()
	synctest.Test(t, func(t *testing.T) {
		w := &world{
			t: t, sc: sc, rng: rand.New(rand.NewPCG(seed, 1)), live: map[string]string{},
			model:   &randomModel{asked: make(chan *model.Request), answer: make(chan []modelCall)},
			answers: rand.New(rand.NewPCG(seed, 2)),
		}
		defer func() {
			if t.Failed() {
				t.Logf("what was done:\n%s", strings.Join(w.log, "\n"))
				t.Logf("replay: go test ./lsp -run TestRandom -random.editor=%s -random.seed=%d -random.steps=%d", sc.name, seed, *randomSteps)
			}
		}()
		w.start(root)
		for range *randomSteps {
			w.rest()
			if t.Failed() {
				break
			}
			w.step()
		}
		w.end()
	})
}

// emptyPools empties every sync.Pool: jsonrpc2 keeps channels in one, and a channel
// may not be used outside of the bubble that made it. What lies in a pool goes with
// the second collection.
func emptyPools() {
	runtime.GC()
	runtime.GC()
}

// world is one run.
type world struct {
	t     *testing.T
	sc    scenario
	rng   *rand.Rand
	e     *lsptest.Editor
	model *randomModel

	session string
	turn    string // the running one; "" when idle
	asked   *model.Request
	calls   []modelCall // of the last step
	staged  []modelCall // of the turn, whose edits wait for its end
	files   []string
	tokens  int
	live    map[string]string // what the user typed and did not take back: the file by token
	// interfered says that a file changed without the editor since the model asked for
	// the edits that are under review.
	interfered bool
	decided    *lsptest.Pending // a decision that is not answered yet
	log        []string

	mu      sync.Mutex // of answers, which the editor's goroutines use
	answers *rand.Rand
}

func (w *world) note(format string, args ...any) {
	w.log = append(w.log, fmt.Sprintf("%3d ", len(w.log))+fmt.Sprintf(format, args...))
}

func (w *world) chance(percent int) bool { return w.rng.IntN(100) < percent }

// luck is chance for the editor's goroutines.
func (w *world) luck(percent int) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.answers.IntN(100) < percent
}

func (w *world) token(mark, end string) string {
	w.tokens++
	return fmt.Sprintf("%s%d%s", mark, w.tokens, end)
}

func (w *world) start(root string) {
	opt := lsptest.Options{
		Root: root, Personality: &w.sc.personality, Plain: w.sc.plain, Timeout: time.Hour, Files: map[string]string{},
		Format: func(_, text string) string { return strings.ReplaceAll(text, "  ", " ") },
		Message: func(_ context.Context, _ string, actions []string) (string, bool) {
			if w.luck(20) {
				return "", false
			}
			if w.luck(60) {
				return actions[0], true
			}
			return actions[1], true
		},
		Confirm: func(lsptest.Change) bool { return w.sc.faithful || w.luck(70) },
	}
	if w.sc.plain {
		opt.Preview = func(changes []lsptest.Change) (ticked []int, ok bool) {
			for i := range changes {
				if w.luck(60) {
					ticked = append(ticked, i)
				}
			}
			return ticked, w.luck(90)
		}
	}
	eols := []string{"\n", "\n", "\r\n"}
	for i := range 3 {
		name := fmt.Sprintf("dir%d/f%d.txt", i%2, i)
		eol := eols[w.rng.IntN(len(eols))]
		mixed := w.chance(15)
		var b strings.Builder
		if w.chance(15) {
			b.WriteString("\ufeff")
		}
		n := 4 + w.rng.IntN(20)
		for j := range n {
			if mixed {
				eol = eols[w.rng.IntN(len(eols))]
			}
			fmt.Fprintf(&b, "%s%s word  é\u0301 \U0001F600\t%d", strings.Repeat("\t", j%3), w.token("⟦", "⟧"), j)
			if j < n-1 || w.chance(75) {
				b.WriteString(eol)
			}
			if w.chance(15) {
				b.WriteString(eol)
			}
		}
		opt.Files[name] = b.String()
		w.files = append(w.files, name)
	}
	srv := server(w.model, func(o *lsp.Options) { o.Review = w.sc.review })
	w.e = lsptest.NewEditor(w.t, srv, opt)
	for _, f := range w.files {
		// What an editor that lies does to a file it has not opened, nobody can see.
		if w.chance(70) || w.sc.personality.Fault != lsptest.NoFault {
			w.e.Open(f)
		}
	}
}

// rest waits until nothing moves, and checks what must hold then.
func (w *world) rest() {
	synctest.Wait()
	if w.decided != nil && w.decided.Answered() {
		w.decided = nil
	}
	if w.asked == nil {
		select {
		case w.asked = <-w.model.asked:
			w.note("model asks")
			w.checkAccount()
		default:
		}
	}
	if w.turn != "" && w.turnEnded() {
		w.note("turn ended")
		w.turn, w.asked = "", nil
	}
	w.checkTyped()
}

func (w *world) turnEnded() bool {
	if !w.sc.plain {
		for _, ev := range w.e.Events(w.session) {
			if ev.Type == "turn/ended" && ev.TurnID == w.turn {
				return true
			}
		}
		return false
	}
	// A plain client has no events; the session takes a steering message while it runs.
	var info struct{ Sessions []struct{ Running bool } }
	w.e.MustCall("agent/session/list", map[string]any{}, &info)
	return len(info.Sessions) > 0 && !info.Sessions[0].Running
}

// checkTyped: what the user typed and did not take back is where it was typed.
func (w *world) checkTyped() {
	for token, file := range w.live {
		if text := w.e.Text(file); strings.Count(text, token) != 1 {
			w.t.Errorf("the user's %s is %d times in %s:\n%s", token, strings.Count(text, token), file, text)
		}
	}
}

// relive forgets what the user took back from a file, and knows what came again.
func (w *world) relive(file string) {
	for token, f := range w.live {
		if f == file {
			delete(w.live, token)
		}
	}
	text := w.e.Text(file)
	for rest := text; ; {
		_, after, ok := strings.Cut(rest, "«")
		if !ok {
			return
		}
		id, tail, _ := strings.Cut(after, "»")
		w.live["«"+id+"»"] = file
		rest = tail
	}
}

// end lets what is at work finish and checks a last time.
func (w *world) end() {
	w.rest()
	if w.turn != "" {
		w.e.MustCall("agent/cancel", map[string]any{"sessionId": w.session}, nil)
		for range 50 {
			if w.rest(); w.turn == "" {
				break
			}
			time.Sleep(10 * time.Second) // of the bubble's clock
		}
		if w.turn != "" {
			w.t.Errorf("the turn did not end after agent/cancel")
		}
	}
	w.rest()
}
