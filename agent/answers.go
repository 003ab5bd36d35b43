package agent

import (
	"crypto/sha256"
	"encoding/json"
	"sync"

	"redline/agent/model"
)

// maxAnswers is how many answers to requests beside the conversation are remembered.
const maxAnswers = 64

// answers remembers the answers to requests beside the conversation: the same question
// to the same model, with the same parameters, is not asked twice. Such requests hold
// all that they are about, and ask for what is most likely.
type answers struct {
	mu    sync.Mutex
	text  map[[sha256.Size]byte]string
	order [][sha256.Size]byte // oldest first
}

// keyOf names all of a request that its answer depends on; ok is false when it has no
// name.
func (a *answers) keyOf(req *model.Request) (key [sha256.Size]byte, ok bool) {
	data, err := json.Marshal([]any{req.Model, req.Contents, req.Config})
	if err != nil {
		return key, false
	}
	return sha256.Sum256(data), true
}

func (a *answers) get(key [sha256.Size]byte) (string, bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	text, ok := a.text[key]
	return text, ok
}

func (a *answers) put(key [sha256.Size]byte, text string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.text == nil {
		a.text = map[[sha256.Size]byte]string{}
	}
	if _, there := a.text[key]; !there {
		a.order = append(a.order, key)
	}
	a.text[key] = text
	if len(a.order) > maxAnswers {
		delete(a.text, a.order[0])
		a.order = append(a.order[:0], a.order[1:]...)
	}
}
