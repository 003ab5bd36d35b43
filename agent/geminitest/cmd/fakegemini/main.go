// Fakegemini serves a script of package geminitest to tests that are not written
// in Go. It prints its URL as the first line of stdout, then serves until it gets
// SIGINT or SIGTERM, or, with -until-eof, until its stdin ends. It exits with 1
// when steps were left over or a request found none, and says so on stderr.
//
//	fakegemini -script FILE [-root DIR] [-log FILE] [-until-eof]
package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"redline/agent/geminitest"
)

func main() {
	if err := run(os.Args[1:], os.Stdin, os.Stdout, os.Stderr); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			return
		}
		fmt.Fprintln(os.Stderr, "fakegemini:", err)
		os.Exit(1)
	}
}

func run(args []string, stdin io.Reader, stdout, stderr io.Writer) (err error) {
	flags := flag.NewFlagSet("fakegemini", flag.ContinueOnError)
	flags.SetOutput(stderr)
	scriptFile := flags.String("script", "", "`file` with the script in JSON")
	root := flags.String("root", "", "`folder` that ${ROOT} in the script stands for")
	logFile := flags.String("log", "", "`file` to append the body of each request to, a line each")
	untilEOF := flags.Bool("until-eof", false, "end with stdin: no process is left behind when a test is killed")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if *scriptFile == "" || flags.NArg() > 0 {
		return errors.New("usage: fakegemini -script FILE [-root DIR] [-log FILE] [-until-eof]")
	}
	f, err := os.Open(*scriptFile)
	if err != nil {
		return fmt.Errorf("open the script: %w", err)
	}
	script, err := geminitest.Load(f, *root)
	_ = f.Close() // only read
	if err != nil {
		return fmt.Errorf("%s: %w", *scriptFile, err)
	}
	var bodies *os.File
	if *logFile != "" {
		if bodies, err = os.OpenFile(*logFile, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600); err != nil {
			return fmt.Errorf("open the log: %w", err)
		}
		defer func() { err = errors.Join(err, bodies.Close()) }()
	}

	// Before the URL is out: whoever reads it may send a signal at once.
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()

	var logErr error // of the log file; read after Close
	script.Log = func(r geminitest.Request) {
		switch {
		case r.Refused != "":
			fmt.Fprintf(stderr, "%s %s: refused: %s\n", r.Method, r.Model, r.Refused)
		case r.Method == "countTokens":
			fmt.Fprintf(stderr, "%s %s\n", r.Method, r.Model)
		case r.Step < 0:
			fmt.Fprintf(stderr, "%s %s: no step\n", r.Method, r.Model)
		default:
			fmt.Fprintf(stderr, "%s %s: step %d\n", r.Method, r.Model, r.Step)
		}
		if bodies != nil {
			if _, err := bodies.Write(line(r.Raw)); err != nil {
				logErr = errors.Join(logErr, fmt.Errorf("write the log: %w", err))
			}
		}
	}
	server := geminitest.NewServer(script)
	defer server.Close()
	if _, err := fmt.Fprintln(stdout, server.URL); err != nil {
		return fmt.Errorf("print the URL: %w", err)
	}

	if *untilEOF {
		// Not waited for: there is no way to end a read of stdin, and the process ends
		// right after this function.
		go func() {
			_, _ = io.Copy(io.Discard, stdin) // its end is the news, however it comes
			stop()
		}()
	}
	<-ctx.Done()
	server.Close()
	for i, r := range server.Requests() {
		if r.Refused == "" && r.Step < 0 {
			err = errors.Join(err, fmt.Errorf("request %d found no step", i))
		}
	}
	for _, i := range server.Unused() {
		err = errors.Join(err, fmt.Errorf("step %d was not used up", i))
	}
	return errors.Join(err, logErr)
}

// line returns body as one line; what is no JSON becomes a JSON string.
func line(body []byte) []byte {
	var b bytes.Buffer
	if json.Compact(&b, body) != nil {
		b.Reset()
		quoted, err := json.Marshal(string(body))
		if err != nil {
			quoted = []byte("null") // a string can always be encoded
		}
		b.Write(quoted)
	}
	b.WriteByte('\n')
	return b.Bytes()
}
