package workspace

import "redline/workspace/text"

// Unsaved returns the absolute paths of the open files whose text is not what is
// on disk, sorted.
func (s *Snapshot) Unsaved() []string {
	var out []string
	for _, d := range s.Documents() {
		if d.Path == "" {
			continue
		}
		data, _, err := ReadBytes(d.Path)
		if err == nil {
			if t, _, err := text.Decode(data); err == nil && t == d.Text {
				continue
			}
		}
		out = append(out, d.Path)
	}
	return out
}

// ResolveRead is [Snapshot.Resolve] for a file that is only read, which may also be
// in one of the view's Readable folders.
func (v *View) ResolveRead(p string) (string, error) {
	abs, err := v.Resolve(p)
	if err == nil {
		return abs, nil
	}
	for _, dir := range v.Readable {
		real, cerr := Canonical(p)
		if cerr == nil && within(Key(dir), real) {
			return real, nil
		}
	}
	return "", err
}
