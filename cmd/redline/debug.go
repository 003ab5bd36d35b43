package main

import (
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/pprof"
	"runtime"
	"strings"
	"text/tabwriter"
	"time"

	"redline/lsp"
)

// debugPage is the page of --debug while it is served.
type debugPage struct {
	URL    string
	server *http.Server
	done   chan struct{}
}

// serveDebug serves what d knows, and Go's profiles, on a loopback address.
func serveDebug(addr string, d *lsp.Debug) (*debugPage, error) {
	host, _, err := net.SplitHostPort(addr)
	if ip := net.ParseIP(host); err != nil || host != "localhost" && (ip == nil || !ip.IsLoopback()) {
		return nil, fmt.Errorf("--debug %q: use an address of this machine, such as 127.0.0.1:0", addr)
	}
	l, err := net.Listen("tcp", addr)
	if err != nil {
		return nil, fmt.Errorf("--debug: %w", err)
	}
	mux := http.NewServeMux()
	start := time.Now()
	mux.HandleFunc("GET /{$}", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		writeDebug(w, d, time.Since(start))
	})
	mux.HandleFunc("GET /debug/pprof/", pprof.Index)
	mux.HandleFunc("GET /debug/pprof/profile", pprof.Profile)
	mux.HandleFunc("GET /debug/pprof/symbol", pprof.Symbol)
	mux.HandleFunc("GET /debug/pprof/trace", pprof.Trace)
	p := &debugPage{URL: "http://" + l.Addr().String(), done: make(chan struct{})}
	p.server = &http.Server{Handler: localOnly(mux), ReadHeaderTimeout: 5 * time.Second}
	go func() {
		defer close(p.done)
		if err := p.server.Serve(l); !errors.Is(err, http.ErrServerClosed) {
			l.Close()
		}
	}()
	return p, nil
}

// localOnly answers requests that name this machine: a page of the web must not reach the
// server by a name of its own that it lets point here.
func localOnly(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		host, _, err := net.SplitHostPort(r.Host)
		if ip := net.ParseIP(host); err != nil || host != "localhost" && (ip == nil || !ip.IsLoopback()) {
			http.Error(w, "only for this machine", http.StatusForbidden)
			return
		}
		h.ServeHTTP(w, r)
	})
}

// Close ends the page and waits for it.
func (p *debugPage) Close() {
	_ = p.server.Close() // the process ends
	<-p.done
}

func writeDebug(w io.Writer, d *lsp.Debug, up time.Duration) {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	fmt.Fprintf(w, "redline %s, up %s, %d goroutines, heap %.1f MB of %.1f MB, %d collections\nprofiles: /debug/pprof/\n",
		versionString(), up.Round(time.Second), runtime.NumGoroutine(), mb(m.HeapAlloc), mb(m.Sys), m.NumGC)
	for i, win := range d.Windows() {
		fmt.Fprintf(w, "\nwindow %d %s %s\n", i+1, win.Client, strings.Join(win.Folders, ", "))
		t := tabwriter.NewWriter(w, 0, 4, 2, ' ', 0)
		for _, s := range win.Sessions {
			state := "idle"
			if s.Running {
				state = "running"
			}
			fmt.Fprintf(t, "  session\t%s\t%s\t%s\t%s\t%d turns\tseq %d\t%d followers\n", s.ID, state, s.Mode, s.Model, s.Turns, s.LastSeq, s.Followers)
		}
		for _, p := range win.Open {
			fmt.Fprintf(t, "  proposal\t%s\t%s\trev %d\t%d of %d hunks undecided\t%s\n", p.ID, p.State, p.Rev, p.Pending, p.Hunks, p.Title)
		}
		for _, doc := range win.Documents {
			fmt.Fprintf(t, "  document\t%s\tversion %d\t%d bytes\n", doc.URI, doc.Version, doc.Bytes)
		}
		t.Flush()
	}
	fmt.Fprintln(w, "\nrequests, those included that wait for a person")
	t := tabwriter.NewWriter(w, 0, 4, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(t, "count\tmean\tlongest\t  method\t")
	for _, l := range d.Latencies() {
		fmt.Fprintf(t, "%d\t%s\t%s\t  %s\t\n", l.Count, (l.Total / time.Duration(l.Count)).Round(time.Microsecond), l.Max.Round(time.Microsecond), l.Method)
	}
	t.Flush()
}

func mb(n uint64) float64 { return float64(n) / (1 << 20) }
