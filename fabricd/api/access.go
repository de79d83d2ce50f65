package api

import (
	"crypto/rand"
	"crypto/subtle"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/weft-fabric/weft/fabricd/auth"
)

// Sessions are for browsers, whose stream of events carries no token: a cookie instead, with which one may look. Chosen by us.
const (
	maxSessions = 256
	sessionTime = 12 * time.Hour
)

// Session is what a token lets its bearer do.
type Session struct {
	Role auth.Access `json:"role" jsonschema:"type=string,enum=view,enum=operate"`
}

// session is a browser that has shown a token.
type session struct {
	token string // its name; "" is that of this run
	until time.Time
}

// sessions are those that last, by the value of their cookie. The zero value has none.
type sessions struct {
	mu   sync.Mutex
	list map[string]session
}

func (s *sessions) open(token string) (cookie string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now, oldest := time.Now(), ""
	for c, one := range s.list {
		if now.After(one.until) {
			delete(s.list, c)
		} else if oldest == "" || one.until.Before(s.list[oldest].until) {
			oldest = c
		}
	}
	if len(s.list) >= maxSessions {
		delete(s.list, oldest)
	}
	if s.list == nil {
		s.list = map[string]session{}
	}
	cookie = rand.Text()
	s.list[cookie] = session{token, now.Add(sessionTime)}
	return cookie
}

func (s *sessions) find(cookie string) (session, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	one, ok := s.list[cookie]
	return one, ok && time.Now().Before(one.until)
}

// cookie is the name of ours: browsers do not tell the ports of a host apart.
func (w *Web) cookie() string {
	return fmt.Sprintf("weft-%d", w.listen.Addr().(*net.TCPAddr).Port)
}

// bearer is what the token of a request lets its bearer do, and the token's name.
func (w *Web) bearer(r *http.Request) (auth.Access, string) {
	token, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	switch {
	case !ok || len(token) > maxToken:
		return 0, ""
	case subtle.ConstantTimeCompare([]byte(token), []byte(w.token)) == 1:
		return auth.Operate, ""
	case w.Tokens != nil:
		return w.Tokens.Access(token)
	}
	return 0, ""
}

const maxToken = 1024 // bytes; ours have 26

// access is what a request may. Who reaches a server that only this machine can reach may look. A cookie lets nobody act: a page of
// somebody else can make a browser send it.
func (w *Web) access(r *http.Request) auth.Access {
	if a, _ := w.bearer(r); a != 0 {
		return a
	}
	if w.Loopback() {
		return auth.View
	}
	c, err := r.Cookie(w.cookie())
	if err != nil {
		return 0
	}
	s, ok := w.sessions.find(c.Value)
	if ok && (s.token == "" || w.Tokens != nil && w.Tokens.Named(s.token) != 0) { // its token may have been taken back
		return auth.View
	}
	return 0
}

// only lets those through who may as much as need be.
func (w *Web) only(need auth.Access, next http.HandlerFunc) http.HandlerFunc {
	return func(out http.ResponseWriter, r *http.Request) {
		switch has := w.access(r); {
		case has >= need:
			next(out, r)
		case r.Header.Get("Authorization") != "" && w.mayLook(r):
			refuse(out, http.StatusForbidden, errors.New("this token lets you look: an order needs one that may operate, of the run or made with fabricd auth token add --role operate"))
		case need == auth.View:
			w.tokenMissing(out, "this server can be reached from other machines, so that to look needs the token of this run")
		default:
			w.tokenMissing(out, "an order needs the token of this run")
		}
	}
}

func (w *Web) tokenMissing(out http.ResponseWriter, what string) {
	out.Header().Set("WWW-Authenticate", "Bearer")
	refuse(out, http.StatusUnauthorized, fmt.Errorf("%s, or one made with fabricd auth token: send Authorization: Bearer TOKEN, with what follows #token= in the address that fabricd up has printed", what))
}

func (w *Web) mayLook(r *http.Request) bool {
	a, _ := w.bearer(r)
	return a == auth.View
}

// session answers with what a token may, and gives a browser a cookie for it.
func (w *Web) session(out http.ResponseWriter, r *http.Request) {
	a, name := w.bearer(r)
	if a == 0 {
		w.tokenMissing(out, "a session needs the token of this run")
		return
	}
	http.SetCookie(out, &http.Cookie{
		Name: w.cookie(), Value: w.sessions.open(name), Path: root + "/", MaxAge: int(sessionTime / time.Second),
		HttpOnly: true, Secure: w.certificate != nil, SameSite: http.SameSiteStrictMode,
	})
	send(out, http.StatusOK, Session{a})
}
