package workspace

import (
	"encoding/json"
	"errors"
	"fmt"
)

// SavedTexts keeps the texts that saved proposals refer to. A text is named by what
// Put returned for it.
type SavedTexts interface {
	// Put keeps t. path is of the file that it is, or was, a text of: texts of one
	// file are mostly alike.
	Put(path, t string) (name int)
	Get(name int) (string, error)
}

// savedProposal is a proposal as it is written to disk. Exported fields are written
// as they are, so that new ones are not forgotten; TestSaveKnowsEveryField watches
// over the others.
type savedProposal struct {
	Proposal *Proposal   `json:"p"` // without its files
	Files    []savedFile `json:"files"`
}

type savedFile struct {
	Change   *FileChange `json:"c"` // without Base and Hunks
	Base     *File       `json:"base,omitempty"`
	BaseText int         `json:"baseText,omitempty"`
	Now      int         `json:"now"`
	Version  *int32      `json:"version,omitempty"`
	Text     int         `json:"text"`
	Hunks    []savedHunk `json:"hunks"`
}

type savedHunk struct {
	Hunk *Hunk `json:"h"`
	From int   `json:"from"`
	To   int   `json:"to"`
}

// SaveProposal returns p for the disk, with its longer texts in texts.
func SaveProposal(p *Proposal, texts SavedTexts) (json.RawMessage, error) {
	bare := *p
	bare.Files = nil
	out := savedProposal{Proposal: &bare, Files: []savedFile{}}
	for _, f := range p.Files {
		c := *f
		c.Base, c.Hunks = nil, nil
		sf := savedFile{Change: &c, Version: f.version, Hunks: []savedHunk{}}
		if f.Base != nil {
			base := *f.Base
			base.Text = ""
			sf.Base, sf.BaseText = &base, texts.Put(f.Path, f.Base.Text)
		}
		sf.Text, sf.Now = texts.Put(f.Path, f.text), texts.Put(f.Path, f.now)
		for _, h := range f.Hunks {
			sf.Hunks = append(sf.Hunks, savedHunk{h, h.from, h.to})
		}
		out.Files = append(out.Files, sf)
	}
	raw, err := json.Marshal(out)
	if err != nil {
		return nil, fmt.Errorf("save the proposal %s: %w", p.ID, err)
	}
	return raw, nil
}

// RestoreProposal is the inverse of [SaveProposal].
func RestoreProposal(raw json.RawMessage, texts SavedTexts) (*Proposal, error) {
	var in savedProposal
	if err := json.Unmarshal(raw, &in); err != nil {
		return nil, fmt.Errorf("read a saved proposal: %w", err)
	}
	if in.Proposal == nil {
		return nil, errors.New("read a saved proposal: it is empty")
	}
	p := in.Proposal
	for _, sf := range in.Files {
		f := sf.Change
		if f == nil {
			return nil, fmt.Errorf("read the saved proposal %s: a file is missing", p.ID)
		}
		var err, err2, err3 error
		if f.Base = sf.Base; f.Base != nil {
			f.Base.Text, err3 = texts.Get(sf.BaseText)
		}
		f.version = sf.Version
		f.text, err = texts.Get(sf.Text)
		f.now, err2 = texts.Get(sf.Now)
		if err := errors.Join(err, err2, err3); err != nil {
			return nil, fmt.Errorf("read the saved proposal %s: %w", p.ID, err)
		}
		for _, sh := range sf.Hunks {
			h := sh.Hunk
			if h == nil || sh.From < 0 || sh.To < sh.From || sh.To > len(f.text) || h.Start < 0 || h.End < h.Start || h.End > len(f.now) {
				return nil, fmt.Errorf("read the saved proposal %s: a hunk does not fit its file", p.ID)
			}
			h.from, h.to = sh.From, sh.To
			f.Hunks = append(f.Hunks, h)
		}
		p.Files = append(p.Files, f)
	}
	return p, nil
}
