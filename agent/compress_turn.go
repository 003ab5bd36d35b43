package agent

import (
	"context"
	"errors"
	"fmt"
	"strings"
)

// isCompress reports whether a prompt is the command to compress the conversation.
func (m Message) isCompress() bool {
	return len(m.Context) == 0 && strings.TrimSpace(m.Text) == compressCommand
}

// compressTurn is a turn whose only work is to compress the conversation.
func (s *Session) compressTurn(ctx context.Context, t *turn) error {
	generator, err := s.opt.Generator(ctx)
	if err != nil {
		return err
	}
	t.generator = s.retrying(t, generator)
	out, err := s.compress(ctx, t, false)
	if errors.Is(err, errNothingToCompress) {
		s.emit(t.id, Notice{"info", "There is nothing to compress yet."})
		return nil
	}
	t.compressed = out
	if err != nil {
		return fmt.Errorf("the conversation was not compressed: %w", err)
	}
	return nil
}

// Compress compresses the conversation, in a turn of its own that ends with ctx, and
// waits for it. The zero Compression says that there was nothing to compress.
func (s *Session) Compress(ctx context.Context) (Compression, error) {
	t, err := s.start(ctx, Message{Text: compressCommand})
	if err != nil {
		return Compression{}, err
	}
	<-t.done
	if t.end.Status != Completed {
		return Compression{}, t.end.Err
	}
	return t.compressed, nil
}
