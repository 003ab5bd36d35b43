// Package geminitest is a fake Gemini API for tests: real HTTP and server-sent
// events on loopback, answers from a script, requests checked as the real API
// checks them. Nothing in production imports it.
//
// # In Go
//
//	srv := geminitest.New(t,
//		geminitest.Do(geminitest.NewCall("read_file", map[string]any{"path": "a.go"})),
//		geminitest.Say("It is ", "fine."),
//	)
//	client, err := gemini.New(ctx, gemini.Options{APIKey: geminitest.DefaultKey, BaseURL: srv.URL})
//
// A [Chunk] or a [Step] with a Gate waits until the test calls [Server.Release]
// with that name; [Server.Await] waits for a request and [Server.Ended] for the
// end of its answer. So no test needs to sleep. [New] fails the test when steps
// are left over or a request found none; [NewServer] leaves that to the caller.
//
// # In JSON
//
// The program in cmd/fakegemini serves a script file to tests that are not
// written in Go: the editors' clients, with GOOGLE_GEMINI_BASE_URL set to the URL
// that the program prints first. The file holds a [Script]:
//
//	{
//	  "apiKey": "test-key",
//	  "models": ["gemini-2.5-pro", "gemini-test"],
//	  "steps": [
//	    {
//	      "when": "rename the function",
//	      "chunks": [
//	        {"thought": "**Looking** at the file first."},
//	        "I will ",
//	        {"text": "read it.", "delayMs": 20},
//	        {"call": {"name": "read_file", "args": {"path": "${ROOT}/a.go"}, "thoughtSignature": "c2ln"}}
//	      ]
//	    },
//	    {"error": {"status": 429, "message": "Too many requests.", "retryDelay": "0.05s"}},
//	    {"chunks": [{"text": "Done.", "gate": "done"}], "finish": "STOP", "usage": {"promptTokenCount": 1200, "candidatesTokenCount": 3}},
//	    {"chunks": ["Half of the ans"], "fault": "cut"},
//	    {"when": "and then", "chunks": ["The end."], "wire": {"crlf": true, "comments": true, "done": true}, "times": -1}
//	  ]
//	}
//
// A chunk that is a string is its text. An unknown member is an error. ${ROOT} in
// any string is replaced with the value of the flag -root. The fields of [Step],
// [Chunk], [Call], [Error], [Wire] and [Usage] say what else there is.
//
// Each request takes the first step that is not used up and whose When and Model
// fit. The finish reason (STOP unless the step says otherwise) is in the event of
// the last chunk, as with the real API.
//
// POST /fake/release?gate=NAME opens a gate from outside.
//
// # What is served
//
// POST …/models/NAME:streamGenerateContent?alt=sse and :generateContent (from the
// script), :countTokens (a token is four bytes of text), GET …/models and
// GET …/models/NAME. What stands before "models" is free, so that the paths of
// Vertex AI work too; there, a bearer token equal to the key will do.
//
// # What is refused
//
// With Google's error object: no key or a wrong one (400, API_KEY_INVALID); a
// model that is not known (404); JSON with members the API does not have; no
// contents; a content with no parts; a part with nothing in it (an empty text is
// something only beside a thought signature, and a signature alone is nothing);
// roles other than user and model, that do not alternate, or that do not begin and
// end with user; a function call that the next content does not answer with the
// same name and ID, in the same order; an answer without a call; an answer that is
// no object; a thought signature that this server gave with a function call and
// that did not come back with it; function declarations with a bad or repeated
// name, or a schema that the API refuses.
//
// The API itself is more lenient in two respects: it joins contents of one role,
// and it asks for signatures with its newer models only.
package geminitest
