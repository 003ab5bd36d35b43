package config

import (
	"fmt"
	"maps"
	"slices"

	"redline/agent/models"
)

// setModels takes in modelConfigs, over those of the files before.
func setModels(c *Config, v any) error {
	in, ok := v.(map[string]any)
	if !ok {
		return fmt.Errorf("must be an object, not %v", v)
	}
	all := maps.Clone(c.modelConfigs)
	if all == nil {
		all = map[string]any{}
	}
	for key, value := range in {
		switch more := value.(type) {
		case map[string]any: // aliases by name: the later file's win
			have, _ := all[key].(map[string]any)
			both := maps.Clone(have)
			if both == nil {
				both = map[string]any{}
			}
			maps.Copy(both, more)
			all[key] = both
		case []any:
			have, _ := all[key].([]any)
			all[key] = append(slices.Clone(have), more...)
		default:
			all[key] = value
		}
	}
	set, warnings, err := models.Parse(all)
	if err != nil {
		return err
	}
	for _, w := range warnings {
		if !slices.Contains(c.Warnings, w) {
			c.Warnings = append(c.Warnings, w)
		}
	}
	c.Models, c.modelConfigs = set, all
	return nil
}

// share sets dst to a number above 0; from 1 on it means never.
func share(dst *float64, v any) error {
	n, ok := v.(float64)
	if !ok || n <= 0 {
		return fmt.Errorf("must be a number above 0, such as 0.7, not %v", v)
	}
	*dst = n
	return nil
}
