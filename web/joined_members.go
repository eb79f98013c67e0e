package web

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"sync"

	"weir/class"
	"weir/class/remote"
	"weir/whole"
)

// membership is who the learner of this machine is in one class. The token in it lets one in as that learner: the file is
// for its owner alone.
type membership struct {
	ID     string `json:"id"` // of this machine: results wait under it, also when the token is renewed
	Server string `json:"server"`
	Code   string `json:"code,omitempty"`
	Asked  string `json:"asked,omitempty"` // the name given; another may have had it
	Token  string `json:"token"`
	// Me is what the class said last, for pages while it cannot be reached.
	Me classMe `json:"me"`
}

// mostMembers bounds the classes that a machine remembers; the oldest are forgotten.
const mostMembers = 20

// membersFile keeps the memberships of this machine, the last used first.
type membersFile struct {
	path string
	mu   sync.Mutex
	all  []*membership
}

func openMembers(path string) (*membersFile, error) {
	f := &membersFile{path: path}
	b, err := os.ReadFile(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return f, nil
	case err != nil:
		return nil, err
	}
	if err := json.Unmarshal(b, &f.all); err != nil {
		return nil, fmt.Errorf("%s is damaged: %w: move it away to join anew", path, err)
	}
	f.all = slices.DeleteFunc(f.all, func(m *membership) bool { return m == nil || m.Token == "" || m.ID == "" })
	return f, nil
}

// find gives who was in the class of an address before; nil for nobody. A name given has to be theirs.
func (f *membersFile) find(a *remote.Address, name string) *membership {
	f.mu.Lock()
	defer f.mu.Unlock()
	key := class.NameKey(name)
	for _, m := range f.all {
		switch {
		case m.Server != a.Server:
		case a.Token != "":
			if m.Token == a.Token {
				return clone(m)
			}
		case a.Code != "" && m.Code != "" && m.Code != a.Code:
		case name != "" && key != class.NameKey(m.Asked) && key != class.NameKey(m.Me.Name):
		default:
			return clone(m)
		}
	}
	return nil
}

// person gives the membership of somebody whose link is new, or one for somebody new.
func (f *membersFile) person(server, id string) *membership {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, m := range f.all {
		if m.Server == server && m.Me.ID == id {
			return clone(m)
		}
	}
	return &membership{ID: class.NewID(), Server: server}
}

func clone(m *membership) *membership {
	c := *m
	return &c
}

// keep writes a membership down as the one used last.
func (f *membersFile) keep(m *membership) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	rest := slices.DeleteFunc(slices.Clone(f.all), func(o *membership) bool { return o.ID == m.ID })
	all := append([]*membership{clone(m)}, rest...)
	return f.write(all[:min(len(all), mostMembers)])
}

// drop forgets a membership.
func (f *membersFile) drop(id string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.write(slices.DeleteFunc(slices.Clone(f.all), func(o *membership) bool { return o.ID == id }))
}

func (f *membersFile) write(all []*membership) error {
	b, err := json.MarshalIndent(all, "", " ")
	if err != nil {
		return err
	}
	if err := whole.Write(f.path, b); err != nil {
		return fmt.Errorf("who you are in the class is not kept: %w", err)
	}
	f.all = all
	return nil
}
