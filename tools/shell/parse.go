package shell

import (
	"errors"
	"fmt"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// Limits on what is parsed: the parser recurses, and a stack overflow cannot be recovered from.
const (
	maxLine    = 32 << 10 // bytes
	maxNesting = 200      // brackets or compound commands in one another
)

// script is a parsed command line.
type script struct {
	commands []command
	unsafe   string // why nothing in the line can be allowed, if so
}

// parse splits a command line into its commands at every nesting level. Its errors are fit to be shown to the user.
func parse(line string) (s script, err error) {
	switch {
	case len(line) > maxLine:
		return s, fmt.Errorf("the command is longer than %d KB", maxLine>>10)
	case strings.IndexByte(line, 0) >= 0:
		return s, errors.New("the command contains a null character")
	case strings.IndexByte(line, '\r') >= 0:
		// The parser takes \r\n for a line end, bash takes the \r for text: they part after "ls \<CR><LF>".
		return s, errors.New("the command contains a carriage return, which bash takes for text; end lines with a line feed alone")
	case oddlyJoined(line):
		return s, errors.New("the command joins lines with a backslash in an odd place; put a space before it, and no # in the line")
	case nesting(line) > maxNesting:
		return s, fmt.Errorf("the command is nested more than %d deep", maxNesting)
	}
	defer func() {
		// A parser of somebody else's must not bring the program down for an odd line.
		if r := recover(); r != nil {
			s, err = script{}, fmt.Errorf("the command cannot be parsed: %v", r)
		}
	}()
	file, err := syntax.NewParser(syntax.Variant(syntax.LangBash)).Parse(strings.NewReader(line), "")
	if err != nil {
		return s, fmt.Errorf("the command cannot be parsed: %w", err)
	}
	syntax.Walk(file, s.visit)
	return s, nil
}

// oddlyJoined reports whether a line has a backslash before a line feed, or as its last character, where bash and the
// parser part: in a comment, which ends at the line feed for bash, between $ and ( in quotes, after another backslash.
// With a blank before it and no # anywhere they agree.
func oddlyJoined(line string) bool {
	if strings.HasSuffix(line, `\`) {
		return true
	}
	comment := strings.Contains(line, "#")
	for rest := line; ; {
		i := strings.Index(rest, "\\\n")
		if i < 0 {
			return false
		}
		if comment || i == 0 || rest[i-1] != ' ' && rest[i-1] != '\t' {
			return true
		}
		rest = rest[i+2:]
	}
}

// nesting is an upper bound of how deep anything in the line nests: quotes are not looked at, and what is not closed
// counts to the end.
func nesting(line string) int {
	depth, deepest, ticks, ops := 0, 0, 0, 0
	start := -1
	for i := 0; i <= len(line); i++ {
		var c byte
		if i < len(line) {
			c = line[i]
		}
		if c >= 'a' && c <= 'z' {
			if start < 0 {
				start = i
			}
			continue
		}
		if start >= 0 {
			switch line[start:i] {
			case "if", "for", "while", "until", "case", "select", "function", "time", "coproc":
				depth++
			case "fi", "done", "esac":
				depth--
			}
			start = -1
		}
		switch c {
		case '(', '{', '[':
			depth++
		case ')', '}', ']':
			depth--
		case '`':
			ticks++
		}
		// Each of these in a row is one more level of an arithmetic or test expression.
		if c == '!' || c == '~' || c == '-' || c == '+' || c == '?' || c == '=' || c == '*' {
			ops++
		} else if c != ' ' && c != '\t' {
			ops = 0
		}
		depth = max(depth, 0)
		deepest = max(deepest, depth, ops)
	}
	return deepest + ticks/2
}

// visit is called for each node of the syntax tree. What it does not know is unsafe.
func (s *script) visit(node syntax.Node) bool {
	switch n := node.(type) {
	case *syntax.Stmt:
		if n.Coprocess || n.Disown {
			s.reject("it starts a coprocess")
		}
		s.checkKind(n.Cmd)
	case *syntax.CallExpr:
		if len(n.Assigns) > 0 {
			s.reject("it sets variables")
		}
		if len(n.Args) > 0 {
			s.add(n)
		}
	case *syntax.DeclClause:
		c := command{name: n.Variant.Value, words: []word{{n.Variant.Value, true}}}
		c.classify(true)
		s.commands = append(s.commands, c)
		s.reject("it sets variables")
	case *syntax.Redirect:
		if !duplicates(n) {
			s.reject("it redirects input or output")
		}
	case *syntax.ForClause:
		s.checkLoop(n)
	case *syntax.ParamExp:
		s.checkParam(n)
	case *syntax.ArithmExp:
		if !numeric(n.X) {
			s.reject("it computes with variables")
		}
	case *syntax.ExtGlob:
		s.reject("it has an extended glob")
	}
	return true
}

func (s *script) reject(why string) {
	if s.unsafe == "" {
		s.unsafe = why
	}
}

// checkKind rejects the kinds of commands that are more than ways to combine others.
func (s *script) checkKind(cmd syntax.Command) {
	if t, ok := cmd.(*syntax.TimeClause); ok && t.Stmt == nil {
		s.reject("time is a command of its own here") // after a | it is no word of the shell's
	}
	switch cmd.(type) {
	case nil, *syntax.CallExpr, *syntax.IfClause, *syntax.WhileClause, *syntax.ForClause, *syntax.CaseClause,
		*syntax.Block, *syntax.Subshell, *syntax.BinaryCmd, *syntax.TimeClause, *syntax.DeclClause:
	case *syntax.FuncDecl:
		s.reject("it defines a function")
	case *syntax.TestClause, *syntax.ArithmCmd, *syntax.LetClause:
		s.reject("it evaluates an expression")
	default:
		s.reject("it has a command of an unusual kind")
	}
}

// checkLoop rejects loops that could set a variable other commands heed.
func (s *script) checkLoop(n *syntax.ForClause) {
	iter, ok := n.Loop.(*syntax.WordIter)
	if !ok || n.Select {
		s.reject("it has a loop of an unusual kind")
		return
	}
	if name := iter.Name.Value; name != strings.ToLower(name) {
		s.reject("it sets the variable " + name)
	}
}

// checkParam rejects expansions that assign, evaluate or look up what cannot be seen.
func (s *script) checkParam(n *syntax.ParamExp) {
	switch {
	case n.Excl, n.Index != nil, n.Slice != nil, n.Names != 0:
		s.reject("it has an expansion that is evaluated")
	case n.Exp != nil && (n.Exp.Op == syntax.OtherParamOps || n.Exp.Op == syntax.AssignUnset || n.Exp.Op == syntax.AssignUnsetOrNull):
		s.reject("it has an expansion that is evaluated")
	}
}

// duplicates reports whether the redirection joins open descriptors only, as 2>&1 does.
func duplicates(n *syntax.Redirect) bool {
	if n.Op != syntax.DplOut && n.Op != syntax.DplIn || n.N != nil && !digits(n.N.Value) {
		return false
	}
	to := value(n.Word)
	return to.static && (digits(to.text) || to.text == "-")
}

func digits(s string) bool {
	return s != "" && strings.Trim(s, "0123456789") == ""
}

// numeric reports whether an arithmetic expression has numbers only: bash evaluates the text of variables in it, and
// with that any command substitution in them.
func numeric(x syntax.ArithmExpr) bool {
	ok := true
	if x != nil {
		syntax.Walk(x, func(n syntax.Node) bool {
			switch n := n.(type) {
			case *syntax.Word:
				if w := value(n); !w.static || !digits(w.text) {
					ok = false
				}
				return false
			case *syntax.FlagsArithm:
				ok = false
			}
			return ok
		})
	}
	return ok
}

// add takes a simple command into the list.
func (s *script) add(n *syntax.CallExpr) {
	c := command{words: make([]word, len(n.Args))}
	for i, a := range n.Args {
		c.words[i] = value(a)
	}
	c.name = c.words[0].text
	c.classify(n.Args[0].Lit() == c.name)
	s.commands = append(s.commands, c)
}
