package shell_test

import (
	"strings"
	"testing"

	"redline/tools/shell"
)

// TestArguments has commands whose name is allowed; the arguments decide.
func TestArguments(t *testing.T) {
	allow := strings.Fields("git sort find sed awk tar rg fd go make rsync split man printf jobs cat python3")
	for want, lines := range map[string][]string{
		"run": {
			"git log --oneline -n 3", "git -C sub status", "git push -u origin main", "git config --get user.name", "git config -l", "git commit -m \"x -c y\"",
			"git log -- src/*.go", "git diff --stat HEAD~1", "git add .", "git rebase main", "git submodule status", "git log -c",
			"sort -k1,2 -n x", "sort -- -o", "rg --files -g '*.go' x", "sed -n '1,5p' x", "sed -n 5p x", "sed 's/a/b/g' x", "sed -E 's|a;b|c|' x", "sed '/^$/d' src/*.go", "sed -n '/a/,/b/p;$=' x",
			"awk '{print $1}' x", "awk -F: '{ n += $2 } END { print n }' x y", "awk -v n=1 'NR==n' x", "tar tf x.tar", "go test ./... -run X -count=1", "make test -j4", "find . -name '*.go' -newer x", "printf '%s' x", "split -l 5 x", "cat -A x", "python3 -c 'print(1)'",
		},
		"ask": {
			"git -c core.pager='rm x' log", "git -ccore.pager=x log", "git --config-env=core.pager=X log", "git --exec-path=/tmp status", "git log --output=x", "git log --outp=x", "git diff --output x", "git fetch --upload-pack='rm x' .", "git fetch --upl=x .",
			"git push --receive-pack=x .", "git clone -u x y", "git clone -c core.x=y z", "git clone --template=x y", "git grep -Orm x", "git grep --open-files-in-pager=rm x", "git grep -nO x", "git rebase -x 'rm y' main", "git rebase --exec 'rm y' main", "git bisect run rm x", "git submodule foreach 'rm x'",
			"git filter-branch --tree-filter 'rm x'", "git difftool -x rm", "git archive -o x HEAD", "git config core.pager 'rm x'", "git config alias.x '!rm x'", "git config --global a b", "git log $x", "git log *", "git log \"$x\"", "git init --template=x", "git ls-remote --upload-pack=rm x", "git diff --ext-diff",
			"sort -o x y", "sort -uo x y", "sort -ox y", "sort --output=x y", "sort --compress-program=rm x", "sort --comp=rm x", "find . -exec rm {} ';'", "find . -fprintf x y", "find . $'-delete'", "rg --pre rm x", "rg --pre=rm x", "fd -x rm", "fd x --exec rm", "man -P rm ls", "man --pager=rm ls",
			"sed -i s/a/b/ x", "sed -i.bak s/a/b/ x", "sed --in-place s/a/b/ x", "sed -n 'w y' x", "sed 's/a/b/w y' x", "sed 's/a/b/e' x", "sed 1e x", "sed -e '1e rm x' y", "sed -f x y", "sed -n '1p;1w y' x", "sed \"$x\" y", "sed -ni 1p x", "sed 's/a/b/;1e' x", "sed '1{w y\n}' x",
			"awk 'BEGIN{system(\"rm x\")}'", "awk '{print > \"x\"}' y", "awk '{print | \"rm\"}' y", "awk -f x y", "awk \"$x\" y", "awk 'BEGIN{\"rm\" | getline}'", "gawk 'x'", "awk '@load \"x\"' y", "awk --file=x y", "awk 'x' -f y", "awk",
			"tar xf x --to-command=rm", "tar cf x --checkpoint=1 --checkpoint-action=exec=rm y", "tar -I rm -xf x", "go test -exec rm ./...", "go vet -vettool=x", "go build -toolexec=x", "go build -o x", "make -f x", "make --eval=x", "rsync -e rm a b", "split --filter=rm x", "printf -v x y", "jobs -x rm x",
			"env -S 'ls -l'", "xargs cat", "compgen -W '$(rm x)'", "read x", "cat x\r\n", "cat \\\r\nx", "cat # \\\nx", "cat x \\", "cat \"$\\\n(x)\"", "systemd-run cat x",
		},
	} {
		for _, line := range lines {
			if d := (shell.Policy{Allow: allow}).Decide(line); d.Confirm != (want == "ask") || d.Blocked {
				t.Errorf("%q: %+v, want %s", line, d, want)
			}
		}
	}
}

// TestOfferedPrefixes: what is offered to be allowed never lets an interpreter run just anything.
func TestOfferedPrefixes(t *testing.T) {
	for line, want := range map[string]string{
		"python3 build.py now": "python3 build.py", "python3 -c 'x'": "", "python3 -m pytest": "", "python3": "", "cat x | python3 -": "", "cat x && node -e y": "",
		"node server.js": "node server.js", "npx eslint .": "npx eslint", "sed -i s/a/b/ x": "", "git -c x=y log": "", "git log": "git log",
	} {
		if d := (shell.Policy{}).Decide(line); strings.Join(d.Prefixes, ",") != want || !d.Confirm {
			t.Errorf("%q: %+v, want %q", line, d, want)
		}
	}
}

// TestSuspected: where something is denied, what might hide it is asked for in every mode.
func TestSuspected(t *testing.T) {
	for line, want := range map[string]bool{
		"ls": false, "make test": false, "sudo ls": false, "sh build.sh": false, "sh -c 'ls; cat x'": false,
		"$x y": true, "git -C x push": true, "eval \"$x\"": true, "echo x | sh": true, "bash <<< x": true, "xargs $x": true, "ls (": true, "git -c alias.p=push p": true,
	} {
		if d := (shell.Policy{Deny: []string{"git push", "rm"}}).Decide(line); d.Suspected != want || d.Blocked {
			t.Errorf("%q: %+v, want suspected %v", line, d, want)
		}
	}
	if d := (shell.Policy{}).Decide("$x y"); d.Suspected {
		t.Errorf("nothing is denied: %+v", d)
	}
}
