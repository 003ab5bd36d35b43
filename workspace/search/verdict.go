package search

import (
	"context"

	"redline/workspace/ignore"
)

// Verdict says what the rules, unsaved ones included, make of the place that a scope names: whether a search from above
// it leaves it out, and by which rule.
func Verdict(ctx context.Context, scope Scope) (ignore.Verdict, error) {
	t, err := scope.resolve(ctx)
	if err != nil {
		return ignore.Verdict{}, err
	}
	return t.rules.Match(t.dir, !t.file), nil
}
