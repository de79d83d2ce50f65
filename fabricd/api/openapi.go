package api

import (
	"net/http"
)

// openAPI describes all this.
func (w *Web) openAPI(out http.ResponseWriter, _ *http.Request) {
	send(out, http.StatusOK, map[string]any{})
}
