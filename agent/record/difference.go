package record

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// difference returns where two requests differ first, for a person to read; empty when
// they do not.
func difference(recorded, actual []byte) string {
	a, errA := decode(recorded)
	b, errB := decode(actual)
	if errA != nil || errB != nil {
		return fmt.Sprintf("a request is no JSON: %v %v", errA, errB)
	}
	return differ("", a, b)
}

func decode(raw []byte) (any, error) {
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	var v any
	err := dec.Decode(&v)
	return v, err
}

func differ(path string, a, b any) string {
	switch x := a.(type) {
	case map[string]any:
		y, ok := b.(map[string]any)
		if !ok {
			break
		}
		keys := slices.Sorted(maps.Keys(x))
		for k := range y {
			if _, ok := x[k]; !ok {
				keys = append(keys, k)
			}
		}
		slices.Sort(keys)
		for _, k := range keys {
			p := strings.TrimPrefix(path+"."+k, ".")
			vx, inX := x[k]
			vy, inY := y[k]
			switch {
			case !inX:
				return report(p, "(nothing)", show(vy))
			case !inY:
				return report(p, show(vx), "(nothing)")
			}
			if d := differ(p, vx, vy); d != "" {
				return d
			}
		}
		return ""
	case []any:
		y, ok := b.([]any)
		if !ok {
			break
		}
		for i := range min(len(x), len(y)) {
			if d := differ(fmt.Sprintf("%s[%d]", path, i), x[i], y[i]); d != "" {
				return d
			}
		}
		switch {
		case len(x) < len(y):
			return report(fmt.Sprintf("%s[%d]", path, len(x)), "(nothing)", show(y[len(x)]))
		case len(x) > len(y):
			return report(fmt.Sprintf("%s[%d]", path, len(y)), show(x[len(y)]), "(nothing)")
		}
		return ""
	case string:
		if y, ok := b.(string); ok {
			return texts(path, settle(x), settle(y))
		}
	default:
		if a == b {
			return ""
		}
	}
	return report(path, show(a), show(b))
}

// texts compares line by line.
func texts(path, a, b string) string {
	if a == b {
		return ""
	}
	la, lb := strings.Split(a, "\n"), strings.Split(b, "\n")
	i := 0
	for i < len(la) && i < len(lb) && la[i] == lb[i] {
		i++
	}
	line := func(l []string) string {
		if i >= len(l) {
			return "(the end)"
		}
		return cut(l[i])
	}
	if len(la) > 1 || len(lb) > 1 {
		path += fmt.Sprintf(", line %d", i+1)
	}
	return report(path, line(la), line(lb))
}

func report(path, recorded, actual string) string {
	return fmt.Sprintf("at %s\n  - recorded: %s\n  + now:      %s", path, recorded, actual)
}

func show(v any) string {
	if s, ok := v.(string); ok {
		return cut(s)
	}
	raw, err := json.Marshal(v)
	if err != nil {
		return fmt.Sprint(v)
	}
	return cut(string(raw))
}

func cut(s string) string {
	const most = 300
	if len(s) <= most {
		return s
	}
	return strings.ToValidUTF8(s[:most], "") + "…"
}
