package workspace

// Trust says whether the user trusts a folder, so that what it holds may decide
// what runs: its settings, its MCP servers, its commands, and the shell in it.
// Reading and proposing edits need no trust.
type Trust uint8

// The states of trust. Whatever is not [Trusted] is treated as [Untrusted]; an
// unknown folder may be asked for.
const (
	TrustUnknown Trust = iota // nobody has said yet
	Trusted
	Untrusted
)

func (t Trust) String() string {
	switch t {
	case Trusted:
		return "trusted"
	case Untrusted:
		return "not trusted"
	}
	return "not yet trusted"
}
