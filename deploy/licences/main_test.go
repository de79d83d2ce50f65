package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestALicenceIsKnownByItsWords(t *testing.T) {
	t.Parallel()
	const three = bsd + "\n * that ...\nNeither the name of X nor the\nnames of its contributors may be used to endorse " +
		"or promote products"
	for text, want := range map[string][]string{
		"MIT License\n\nPermission is hereby granted,\n free of charge, to any person\nobtaining a copy": {"MIT"},
		"  Apache License\n  Version 2.0, January 2004\n":                                                {"Apache-2.0"},
		bsd: {"BSD-2-Clause"}, three: {"BSD-3-Clause"},
		"> GNU GENERAL PUBLIC LICENSE\n>   Version 3, 29 June 2007": {"GPL"},
		"GNU LESSER GENERAL PUBLIC LICENSE\nVersion 3\n" +
			"Apache License\n\nVersion 2.0, January 2004": {"Apache-2.0", "LGPL"},
		"All rights reserved.": nil, "": nil,
	} {
		require.Equal(t, want, licencesIn(text), text)
	}
}

// A licence that is not known, or is one that forbids, is an error that names the dependency.
func TestWhatMustNotBeUsedIsRefused(t *testing.T) {
	t.Parallel()
	bad := refused([]dependency{
		{name: "example.org/a", version: "v1", licences: []string{"MIT"}},
		{name: "example.org/b", version: "v2", texts: []string{"/x/LICENSE"}},
		{name: "example.org/c", version: "v3", licences: []string{"MIT", "GPL"}},
	})
	require.Len(t, bad, 2)
	require.Contains(t, bad[0], "example.org/b v2 has no licence that is known: read [/x/LICENSE]")
	require.Equal(t, "example.org/c v3 is under GPL, which does not allow use under Apache-2.0", bad[1])
}

// The texts of all that is linked in go with the programs, and nothing that only tests need does.
func TestEveryDependencyMayBeUsedAndItsTextIsWritten(t *testing.T) {
	t.Chdir("../..")
	all, err := modules()
	require.NoError(t, err)
	require.Empty(t, refused(all))
	of := func(name string) dependency {
		i := slices.IndexFunc(all, func(d dependency) bool { return d.name == name })
		require.GreaterOrEqual(t, i, 0, name)
		return all[i]
	}
	require.True(t, of("github.com/nats-io/nats-server/v2").linked)
	require.True(t, of("github.com/inconshreveable/mousetrap").linked, "by Windows alone")
	require.False(t, of("go.uber.org/goleak").linked)
	page, err := packages("fabricd/web/app")
	require.NoError(t, err)
	require.Empty(t, refused(page))
	require.NotEmpty(t, page)

	file := filepath.Join(t.TempDir(), "licences.txt")
	require.NoError(t, write(file, append(all, page...)))
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	for name, written := range map[string]bool{
		"\ngithub.com/nats-io/nats-server/v2 v": true, "The FreeType Project LICENSE": true, "\nnpm sigma ": true,
		"go.uber.org/goleak": false,
	} {
		require.Equal(t, written, strings.Contains(string(text), name), name)
	}
}
