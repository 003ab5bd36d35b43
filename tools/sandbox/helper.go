package sandbox

import (
	"encoding/json"
	"fmt"
	"os"
)

// helperArg is the first argument of this program when it is to confine itself and
// become a command.
const helperArg = "__redline_landlock"

// confinement is what the helper is told.
type confinement struct {
	Writable []string `json:"writable"`
	Network  bool     `json:"network"`
}

// landlock returns the call of the helper.
func (b *Box) landlock(u Use) []string {
	c := confinement{Writable: append(append([]string{u.Temp}, u.Folders...), b.set.Writable...), Network: b.set.Network}
	raw, err := json.Marshal(c)
	if err != nil {
		panic(err) // strings and a bool
	}
	return []string{b.bin, helperArg, string(raw), "--"}
}

// Helper must be called first of all by every program that opens sandboxes: when it was
// started as the helper of one, it confines itself, becomes the command, and does not
// return.
func Helper() {
	if len(os.Args) < 5 || os.Args[1] != helperArg || os.Args[3] != "--" {
		return
	}
	var c confinement
	err := json.Unmarshal([]byte(os.Args[2]), &c)
	if err == nil {
		err = become(c, os.Args[4:])
	}
	fmt.Fprintf(os.Stderr, "redline: the sandbox cannot be set up: %v\n", err)
	os.Exit(126)
}
