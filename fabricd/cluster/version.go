package cluster

import (
	"fmt"
	"strconv"
	"strings"
)

// Protocol is the version of what agents and leaders say to each other, the parts included. It changes with every change that one of before would
// misunderstand.
const Protocol = 1

// Version is that of a program that takes part in a cluster.
type Version struct {
	Protocol int    `json:"protocol"`
	Revision string `json:"revision,omitempty"` // of the source; empty if that is not known
}

// String is a semantic version, as 1.0.0+0123456789ab.
func (v Version) String() string {
	s := strconv.Itoa(v.Protocol) + ".0.0"
	if v.Revision != "" {
		// The build part of a semantic version has no '+' of its own, which a revision with changes has.
		s += "+" + strings.Map(func(r rune) rune {
			if r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r == '-' || r == '.' {
				return r
			}
			return '-'
		}, v.Revision)
	}
	return s
}

// Fits gives an error, with both versions, when a program of another version must not take part in the same fabric. Two revisions may forward
// differently, and then nobody could say what the fabric has shown; where one is not known there is nothing to compare.
func (v Version) Fits(who string, other Version) error {
	if v.Protocol == other.Protocol && (v.Revision == other.Revision || v.Revision == "" || other.Revision == "") {
		return nil
	}
	return fmt.Errorf("%s is of version %v, and this fabricd of %v: run the same version on all hosts", who, other, v)
}
