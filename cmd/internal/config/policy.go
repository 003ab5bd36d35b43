package config

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"redline/tools/policy"
)

// rules reads redline.policy into the rules of the file that is being read.
func (c *Config) rules(v any) error {
	list, ok := v.([]any)
	if !ok {
		return fmt.Errorf("must be a list of rules, not %v", v)
	}
	dst := &c.Policy.User
	if c.project {
		dst = &c.Policy.Project
	}
	for i, x := range list {
		r, err := rule(x)
		if err != nil {
			return fmt.Errorf("rule %d: %w", i+1, err)
		}
		*dst = append(*dst, r)
	}
	return nil
}

func rule(x any) (policy.Rule, error) {
	var r policy.Rule
	fields := map[string]*string{
		"tool": &r.Tool, "command": &r.Command, "path": &r.Path, "decision": (*string)(&r.Decision), "reason": &r.Reason,
	}
	m, ok := x.(map[string]any)
	if !ok {
		return r, fmt.Errorf("must be an object, not %v", x)
	}
	for _, k := range slices.Sorted(maps.Keys(m)) {
		dst := fields[k]
		if dst == nil {
			return r, fmt.Errorf("there is no field %q; the fields are %s", k, strings.Join(slices.Sorted(maps.Keys(fields)), ", "))
		}
		if err := text(dst, m[k]); err != nil {
			return r, fmt.Errorf("%s %w", k, err)
		}
	}
	return r, r.Check()
}

// sensitive reads redline.sensitiveFiles.
func (c *Config) sensitive(v any) error {
	var more []string
	if err := texts(&more, v); err != nil {
		return err
	}
	list, err := c.Policy.Sensitive.With(more, c.strict)
	if err != nil {
		return err
	}
	c.Policy.Sensitive = list
	return nil
}
