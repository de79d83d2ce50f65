// Package web is the page of a fabric: a live map of it to look at and act on. Its source is in
// app, TypeScript built with Vite; what is built, in dist, is committed and embedded, so that Go is
// enough to build and run fabricd. `make web` builds it anew.
package web

import (
	"cmp"
	"embed"
	"io/fs"
	"net/http"
	"path"
	"strings"
)

//go:embed dist
var dist embed.FS

// policy lets the page load what this server gives, and nothing from anywhere else; nobody may put
// it into a frame.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; " +
	"base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

// types are the content types of what there is. Those of the system's table may be others.
var types = map[string]string{
	".html": "text/html; charset=utf-8",
	".js":   "text/javascript; charset=utf-8",
	".css":  "text/css; charset=utf-8",
	".svg":  "image/svg+xml",
}

// Handler serves the page at / and what it loads. All else is not found.
func Handler() http.Handler {
	files := load()
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodGet && r.Method != http.MethodHead {
			w.Header().Set("Allow", "GET, HEAD")
			http.Error(w, "the page can only be read", http.StatusMethodNotAllowed)
			return
		}
		name := strings.TrimPrefix(r.URL.Path, "/")
		name = cmp.Or(name, "index.html")
		body, ok := files[name]
		if !ok {
			http.NotFound(w, r)
			return
		}
		h := w.Header()
		h.Set("Content-Type", types[path.Ext(name)])
		h.Set("Content-Security-Policy", policy)
		h.Set("Cross-Origin-Opener-Policy", "same-origin")
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Referrer-Policy", "no-referrer")
		h.Set("Cache-Control", caching(name))
		_, _ = w.Write(body) // a viewer who has gone needs no answer
	})
}

// caching lets a browser keep what has a hash of its content in its name. The rest it asks for
// again each time: after an upgrade of fabricd at the same address the page must be the new one.
func caching(name string) string {
	if strings.HasPrefix(name, "assets/") {
		return "public, max-age=31536000, immutable"
	}
	return "no-cache"
}

// load reads all that is embedded, by path from the root of the page.
func load() map[string][]byte {
	files := map[string][]byte{}
	root, err := fs.Sub(dist, "dist")
	if err == nil {
		err = fs.WalkDir(root, ".", func(name string, e fs.DirEntry, err error) error {
			if err != nil || e.IsDir() {
				return err
			}
			files[name], err = fs.ReadFile(root, name)
			return err
		})
	}
	if err != nil {
		panic("web: BUG: what is embedded cannot be read: " + err.Error())
	}
	return files
}
