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

// Sessions are for browsers, whose stream of events carries no token: a cookie instead, with which
// one may look. Chosen by us.
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
	by    bearer
	until time.Time
}

// sessions are those that last, by the value of their cookie. The zero value has none.
type sessions struct {
	mu   sync.Mutex
	list map[string]session
}

func (s *sessions) open(by bearer) (cookie string) {
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
	s.list[cookie] = session{by, now.Add(sessionTime)}
	return cookie
}

func (s *sessions) find(cookie string) (session, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	one, ok := s.list[cookie]
	return one, ok && time.Now().Before(one.until)
}

// drop ends the sessions of which holds is false, or whose time is over, and returns how many the
// former are.
func (s *sessions) drop(holds func(session) bool) (n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for c, one := range s.list {
		if lasts := time.Now().Before(one.until); !lasts || !holds(one) {
			delete(s.list, c)
			if lasts {
				n++
			}
		}
	}
	return n
}

// cookie is the name of ours: browsers do not tell the ports of a host apart.
func (w *Web) cookie() string {
	return fmt.Sprintf("weft-%d", w.listen.Addr().(*net.TCPAddr).Port)
}

// bearer is somebody who has shown a token. The zero value has not.
type bearer struct {
	role  auth.Access
	token auth.Token // the zero value is that of this run
}

// bearer is who a request comes from, by its token.
func (w *Web) bearer(r *http.Request) bearer {
	token, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	switch {
	case !ok || len(token) > maxToken:
		return bearer{}
	case subtle.ConstantTimeCompare([]byte(token), []byte(w.token)) == 1:
		return bearer{role: auth.Operate}
	case w.Tokens != nil:
		if t, ok := w.Tokens.Find(token); ok {
			return bearer{t.Role, t}
		}
	}
	return bearer{}
}

// holds reports whether the token that somebody has shown has not been taken back.
func (w *Web) holds(b bearer) bool {
	return b.token == auth.Token{} || w.Tokens != nil && w.Tokens.Holds(b.token)
}

const maxToken = 1024 // bytes; ours have 26

// access is what a request may. Who reaches a server that only this machine can reach may look. A
// cookie lets nobody act: a page of somebody else can make a browser send it.
func (w *Web) access(r *http.Request) auth.Access {
	if b := w.bearer(r); b.role != 0 {
		return b.role
	}
	if w.Loopback() {
		return auth.View
	}
	c, err := r.Cookie(w.cookie())
	if err != nil {
		return 0
	}
	if s, ok := w.sessions.find(c.Value); ok && w.holds(s.by) {
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
			refuse(out, http.StatusForbidden, errors.New("this token lets you look: an order needs one that may operate, of "+
				"the run or made with fabricd auth token add --role operate"))
		case need == auth.View:
			w.tokenMissing(out, "this server can be reached from other machines, so that to look needs the token of this run")
		default:
			w.tokenMissing(out, "an order needs the token of this run")
		}
	}
}

func (w *Web) tokenMissing(out http.ResponseWriter, what string) {
	out.Header().Set("WWW-Authenticate", "Bearer")
	refuse(out, http.StatusUnauthorized, fmt.Errorf("%s, or one made with fabricd auth token: send Authorization: "+
		"Bearer TOKEN, with what follows #token= in the address that fabricd up has printed", what))
}

func (w *Web) mayLook(r *http.Request) bool {
	return w.bearer(r).role == auth.View
}

// session answers with what a token may, and gives a browser a cookie for it.
func (w *Web) session(out http.ResponseWriter, r *http.Request) {
	by := w.bearer(r)
	if by.role == 0 {
		w.tokenMissing(out, "a session needs the token of this run")
		return
	}
	http.SetCookie(out, &http.Cookie{
		Name: w.cookie(), Value: w.sessions.open(by), Path: root + "/", MaxAge: int(sessionTime / time.Second),
		HttpOnly: true, Secure: w.certificate != nil, SameSite: http.SameSiteStrictMode,
	})
	send(out, http.StatusOK, Session{by.role})
}
