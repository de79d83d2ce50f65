package main

import (
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
)

// allowed are the licences, by SPDX, of which something may be linked into a program under
// Apache-2.0. MPL-2.0 binds only changes to its own files; CC-BY-4.0 asks for the names of authors,
// which the texts have that go with the programs.
var allowed = []string{
	"0BSD", "Apache-2.0", "BSD-2-Clause", "BSD-3-Clause", "CC-BY-4.0", "CC0-1.0", "FTL", "ISC", "MIT", "MPL-2.0",
	"OFL-1.1", "Unlicense", "Zlib",
}

// known are the licences that a text is searched for, each with words that no other has, in lower
// case and with single spaces. Those that are not allowed are here to be named.
var known = []struct{ licence, words string }{
	{"AGPL", "gnu affero general public license version"},
	{"Apache-2.0", "apache license version 2.0, january 2004"},
	{"Apache-2.0", "licensed under the apache license, version 2.0"},
	{"BUSL", "business source license"},
	{"CC-BY-4.0", "creative commons attribution 4.0 international public license"},
	{"CC-BY-NC", "creative commons attribution-noncommercial"},
	{"CC-BY-SA", "creative commons attribution-sharealike"},
	{"CC0-1.0", "cc0 1.0 universal"},
	{"FTL", "the freetype project license"},
	{"GPL", "gnu general public license version"},
	{"ISC", "permission to use, copy, modify, and/or distribute this software for any purpose with or without fee is " +
		"hereby granted, provided"},
	{"ISC", "permission to use, copy, modify, and distribute this software for any purpose with or without fee is " +
		"hereby granted, provided"},
	{"LGPL", "gnu lesser general public license version"},
	{"MIT", "permission is hereby granted, free of charge, to any person obtaining a copy"},
	{"MPL-2.0", "mozilla public license, version 2.0"},
	{"MPL-2.0", "mozilla public license version 2.0"},
	{"OFL-1.1", "sil open font license version 1.1"},
	{"SSPL", "server side public license"},
	{"Unlicense", "this is free and unencumbered software released into the public domain"},
	{"Zlib", "this software is provided 'as-is', without any express or implied warranty"},
}

// chosen are the files of those that a dependency offers a choice of.
var chosen = map[string]string{"github.com/golang/freetype": "licenses/ftl.txt"} // or the GPL

const (
	bsd      = "redistribution and use in source and binary forms, with or without modification, are permitted provided"
	bsdNames = "names? of .{0,200}may (not )?be used to endorse or promote products"
)

var (
	spaces   = regexp.MustCompile(`[\s#*/>]+`)
	bsdThree = regexp.MustCompile(bsdNames)
)

// licencesOf are the licences that files have the text of, each once.
func licencesOf(files []string) (found []string, err error) {
	for _, name := range files {
		text, err := os.ReadFile(name)
		if err != nil {
			return nil, fmt.Errorf("licence: %w", err)
		}
		found = append(found, licencesIn(string(text))...)
	}
	slices.Sort(found)
	return slices.Compact(found), nil
}

// licencesIn are the licences that a text holds or names.
func licencesIn(text string) (found []string) {
	text = spaces.ReplaceAllString(strings.ToLower(text), " ")
	for _, k := range known {
		if strings.Contains(text, k.words) && !slices.Contains(found, k.licence) {
			found = append(found, k.licence)
		}
	}
	if strings.Contains(text, bsd) {
		if bsdThree.MatchString(text) {
			return append(found, "BSD-3-Clause")
		}
		return append(found, "BSD-2-Clause")
	}
	return found
}
