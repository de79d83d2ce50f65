package web_test

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft/fabricd/web"
)

func get(t *testing.T, method, path string) *httptest.ResponseRecorder {
	t.Helper()
	out := httptest.NewRecorder()
	web.Handler().ServeHTTP(out, httptest.NewRequest(method, path, nil))
	return out
}

func TestThePageAndAllItNamesIsServed(t *testing.T) {
	t.Parallel()
	page := get(t, http.MethodGet, "/")
	require.Equal(t, http.StatusOK, page.Code)
	assert.Equal(t, "text/html; charset=utf-8", page.Header().Get("Content-Type"))
	assert.Equal(t, "no-cache", page.Header().Get("Cache-Control"))

	named := regexp.MustCompile(`(?:src|href)="([^"]+)"`).FindAllStringSubmatch(page.Body.String(), -1)
	require.GreaterOrEqual(t, len(named), 3, "a script, a style sheet, an icon")
	want := map[string]string{
		".js": "text/javascript; charset=utf-8", ".css": "text/css; charset=utf-8",
		".svg": "image/svg+xml",
	}
	for _, n := range named {
		name := strings.TrimPrefix(n[1], ".")
		got := get(t, http.MethodGet, name)
		assert.Equal(t, http.StatusOK, got.Code, name)
		assert.NotEmpty(t, got.Body.String(), name)
		assert.Equal(t, want[name[strings.LastIndex(name, "."):]], got.Header().Get("Content-Type"), name)
		if strings.HasPrefix(name, "/assets/") {
			assert.Contains(t, got.Header().Get("Cache-Control"), "immutable", "%s has the hash of its content in its name",
				name)
		}
	}
}

func TestThePageMayLoadNothingFromElsewhere(t *testing.T) {
	t.Parallel()
	policy := get(t, http.MethodGet, "/").Header().Get("Content-Security-Policy")
	assert.Contains(t, policy, "default-src 'none'")
	assert.Contains(t, policy, "frame-ancestors 'none'")
	assert.NotContains(t, policy, "unsafe")
	assert.NotContains(t, policy, "http")

	// And it does not try to. Names of XML dialects look like addresses, and are none.
	elsewhere := regexp.MustCompile(`(?:https?:)?//[a-zA-Z0-9-]+\.[a-zA-Z]{2,}[^\s"'` + "`" + `)]*`)
	for name, text := range built(t) {
		for _, address := range elsewhere.FindAllString(text, -1) {
			assert.True(t, strings.HasPrefix(address, "http://www.w3.org/") || strings.HasPrefix(address, "https://lit.dev/"),
				"%s names %s", name, address)
		}
		assert.NotContains(t, text, "sourceMappingURL", name)
	}
}

func TestWhatIsNotThereIsNotFound(t *testing.T) {
	t.Parallel()
	for _, path := range []string{"/nothing", "/assets/", "/dist/index.html", "/app/package.json", "/../web.go"} {
		assert.Equal(t, http.StatusNotFound, get(t, http.MethodGet, path).Code, path)
	}
}

func TestThePageCanOnlyBeRead(t *testing.T) {
	t.Parallel()
	got := get(t, http.MethodPost, "/")
	assert.Equal(t, http.StatusMethodNotAllowed, got.Code)
	assert.Equal(t, "GET, HEAD", got.Header().Get("Allow"))
}

// A page that grows is slow to open, and each of its builds stays in the repository for ever.
func TestThePageStaysSmall(t *testing.T) {
	t.Parallel()
	const most = 400_000
	bytes := 0
	for _, text := range built(t) {
		bytes += len(text)
	}
	assert.Less(t, bytes, most)
}

func built(t *testing.T) map[string]string {
	t.Helper()
	files := map[string]string{}
	dist := os.DirFS("dist")
	require.NoError(t, fs.WalkDir(dist, ".", func(name string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		text, err := fs.ReadFile(dist, name)
		files[name] = string(text)
		return err
	}))
	require.NotEmpty(t, files)
	return files
}

// The build notes what it was made from. Whoever changes the page without building it is told so here, without Node.js.
func TestThePageIsBuiltFromItsSource(t *testing.T) {
	t.Parallel()
	app := os.DirFS("app")
	var files []string
	for _, name := range []string{
		"index.html", "package-lock.json", "package.json", "public", "src", "tsconfig.json",
		"vite.config.ts",
	} {
		require.NoError(t, fs.WalkDir(app, name, func(name string, e fs.DirEntry, err error) error {
			if err == nil && !e.IsDir() {
				files = append(files, name)
			}
			return err
		}))
	}
	slices.Sort(files)
	hash := sha256.New()
	for _, name := range files {
		text, err := fs.ReadFile(app, name)
		require.NoError(t, err)
		fmt.Fprintf(hash, "%s\n%s\n", name, text)
	}
	noted, err := os.ReadFile("dist/.sources")
	require.NoError(t, err)
	assert.Equal(t, strings.TrimSpace(string(noted)), hex.EncodeToString(hash.Sum(nil)),
		"fabricd/web/app has changed since dist was built: run make web")
}
