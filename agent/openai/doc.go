// Package openai talks to servers that speak OpenAI's chat completions: Ollama,
// llama.cpp, vLLM and others, mostly on the user's own machine.
//
// The conversation stays in Gemini's shapes (package model); it is converted on its
// way out (request.go) and the answer on its way back (answer.go, stream.go). The
// servers agree on the protocol in general and differ in detail:
//
//   - Ollama sends each tool call whole, numbers all of them 0 in some versions, and
//     may finish with "stop"; it reads tools into fixed types, so that a schema
//     beyond them fails the request.
//   - llama.cpp sends arguments in fragments, thoughts as reasoning_content, answers
//     503 while the model loads, wants --jinja for tools, and breaks a stream off with
//     an "error:" line.
//   - vLLM sends thoughts as reasoning_content or reasoning, its errors flat or nested,
//     in a stream as an event, and wants --enable-auto-tool-choice for tools.
//   - Chat templates of models often demand that the system message comes first and
//     that user and assistant alternate.
//
// What is needed for all of them is done always; nothing asks which server it is.
package openai
