package slash

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// words splits a text at white space. Quotes hold a word together, and a backslash
// takes the sign behind it as it is.
func words(text string) ([]string, error) {
	var out []string
	var b strings.Builder
	in, quote := false, byte(0)
	for i := 0; i < len(text); i++ {
		c := text[i]
		switch {
		case c == '\\' && quote != '\'' && i+1 < len(text):
			i++
			b.WriteByte(text[i])
			in = true
		case quote != 0:
			if c == quote {
				quote = 0
			} else {
				b.WriteByte(c)
			}
		case c == '"' || c == '\'' && !in: // as in "don't"
			quote, in = c, true
		case strings.IndexByte(" \t\r\n", c) >= 0:
			if in {
				out = append(out, b.String())
				b.Reset()
			}
			in = false
		default:
			b.WriteByte(c)
			in = true
		}
	}
	if quote != 0 {
		return nil, fmt.Errorf("a quotation mark (%c) is not closed", quote)
	}
	if in {
		out = append(out, b.String())
	}
	return out, nil
}

// named returns the arguments of an MCP prompt: --name=value, or values in the
// order of the arguments. What is left over belongs to the last one.
func (c *Command) named(text string) (map[string]string, error) {
	list, err := words(text)
	if err != nil {
		return nil, c.usage(err)
	}
	out := map[string]string{}
	var rest []string
	for i := 0; i < len(list); i++ {
		name, value, has := strings.Cut(list[i], "=")
		name, ok := strings.CutPrefix(name, "--")
		if !ok || name == "" {
			rest = append(rest, list[i])
			continue
		}
		if !slices.ContainsFunc(c.Args, func(a Arg) bool { return a.Name == name }) {
			return nil, c.usage(fmt.Errorf("there is no argument --%s", name))
		}
		if !has {
			if i++; i == len(list) {
				return nil, c.usage(fmt.Errorf("--%s has no value", name))
			}
			value = list[i]
		}
		out[name] = value
	}
	open := slices.DeleteFunc(slices.Clone(c.Args), func(a Arg) bool { _, ok := out[a.Name]; return ok })
	for i, a := range open {
		switch {
		case len(rest) == 0:
			if a.Required {
				return nil, c.usage(fmt.Errorf("the argument %s is missing", a.Name))
			}
			continue
		case i == len(open)-1:
			out[a.Name], rest = strings.Join(rest, " "), nil
		default:
			out[a.Name], rest = rest[0], rest[1:]
		}
	}
	if len(rest) > 0 {
		return nil, c.usage(fmt.Errorf("there is no argument for %q", strings.Join(rest, " ")))
	}
	return out, nil
}

// usage adds to an error how the command is called.
func (c *Command) usage(err error) error {
	var b strings.Builder
	for _, a := range c.Args {
		if a.Required {
			fmt.Fprintf(&b, " --%s=…", a.Name)
		} else {
			fmt.Fprintf(&b, " [--%s=…]", a.Name)
		}
	}
	return errors.New(err.Error() + "; it is called as /" + c.Name + b.String())
}
