// Package web is the page of a fabric: a map to look at and act on, embedded.
package web

import (
	"embed"
	"io/fs"
	"net/http"
)

//go:embed dist
var dist embed.FS

// Handler serves the page and what it loads.
func Handler() http.Handler {
	files, err := fs.Sub(dist, "dist")
	if err != nil {
		panic("web: BUG: " + err.Error())
	}
	return http.FileServerFS(files)
}
