// Requests to fabricd. Acting needs a token, which the URL that `fabricd up` prints carries behind the #, where no server sees it. Looking
// needs one, too, where others than this machine can reach fabricd: then a cookie is taken for it, since the stream carries no header.

import type { SwitchDetail } from './switch'
import type { FabricEntry, Job, Programs, Status, Topology } from './types'

// ApiError is an answer that is not what was asked for, in fabricd's own words.
export class ApiError extends Error {
  constructor(readonly status: number, message: string) {
    super(message)
  }
}

const tokenKey = (run: string) => `weft.token.${run}`
const latestKey = 'weft.token' // for when the run is not known yet

export class Client {
  private offered = '' // from the URL, of a run not known yet
  private run = ''
  private refused = false
  viewOnly = false // the token there is a cookie for lets one look alone
  private opened = '' // the token there is a cookie for

  // takeToken reads the token behind the # and removes it from what is shown and bookmarked.
  takeToken(): boolean {
    const token = new URLSearchParams(location.hash.slice(1)).get('token')
    if (!token) return false
    this.offered = token
    this.refused = this.viewOnly = false
    window.history.replaceState(null, '', location.pathname + location.search)
    if (this.run) this.keep()
    return true
  }

  // open takes a cookie to look with for the token; null when there is none, or one was taken. Where looking needs none it does no harm.
  open(): Promise<void> | null {
    const token = this.offered || sessionStorage.getItem(latestKey)
    if (!token || token === this.opened) return null
    return this.request<{ role: string }>('session', { method: 'POST', headers: { Authorization: `Bearer ${token}` } }).then(
      (got) => {
        this.opened = token
        this.viewOnly = got.role !== 'operate'
      },
      () => {}, // the stream says whether one may look
    )
  }

  // forget has open take a cookie again: fabricd may be another by now.
  forget(): void {
    this.opened = ''
  }

  // setRun says which run the tokens are of from now on.
  setRun(run: string): void {
    if (run === this.run) return
    if (this.run) this.refused = false
    this.run = run
    this.keep()
  }

  // mayAct says whether there is a token that has not been refused.
  get mayAct(): boolean {
    return !this.refused && !this.viewOnly && this.token() !== null
  }

  get<T>(path: string): Promise<T> {
    return this.request<T>(path, {})
  }

  async post<T>(path: string, body: unknown): Promise<T> {
    const token = this.token()
    if (!token) throw new ApiError(401, 'this page may only look: open the URL that `fabricd up` printed for this run')
    if (this.viewOnly) throw new ApiError(403, 'this token may look and not act: take one that may operate')
    try {
      return await this.request<T>(path, {
        method: 'POST',
        headers: { Authorization: `Bearer ${token}`, 'Content-Type': 'application/json' },
        body: JSON.stringify(body),
      })
    } catch (e) {
      if (e instanceof ApiError && (e.status === 401 || e.status === 403)) this.refused = true
      throw e
    }
  }

  topology(): Promise<Topology> { return this.get('topology') }
  status(): Promise<Status> { return this.get('status') }
  async fabrics(): Promise<FabricEntry[]> {
    const got = await this.get<FabricEntry[] | { fabrics?: FabricEntry[] }>('fabrics')
    return Array.isArray(got) ? got : (got.fabrics ?? [])
  }
  jobs(): Promise<Job[]> { return this.get('jobs') }
  programs(): Promise<Programs> { return this.get('programs') }
  switchState(id: string, forwarding: boolean): Promise<SwitchDetail> {
    return this.get(`switches/${encodeURIComponent(id)}${forwarding ? '' : '?forwarding=false'}`)
  }
  trace(src: string, dst: string, count: number): Promise<unknown> {
    return this.post('trace', { src, dst, count })
  }

  private token(): string | null {
    if (this.run) return sessionStorage.getItem(tokenKey(this.run))
    return this.offered || null
  }

  private keep(): void {
    if (this.offered && this.run) {
      sessionStorage.setItem(tokenKey(this.run), this.offered)
      sessionStorage.setItem(latestKey, this.offered)
      this.offered = ''
    }
  }

  private async request<T>(path: string, init: RequestInit): Promise<T> {
    let answer: Response
    try {
      answer = await fetch(`/api/v1/${path}`, { ...init, signal: AbortSignal.timeout(15_000) })
    } catch (e) {
      const why = e instanceof DOMException && e.name === 'TimeoutError' ? 'does not answer' : 'cannot be reached'
      throw new ApiError(0, `fabricd ${why}`)
    }
    const text = await answer.text()
    let got: unknown
    try {
      got = text ? JSON.parse(text) : null
    } catch {
      throw new ApiError(answer.status, `fabricd answered ${answer.status} with what is not JSON`)
    }
    if (!answer.ok) {
      const said = (got as { error?: string } | null)?.error
      throw new ApiError(answer.status, said ?? `fabricd answered ${answer.status} ${answer.statusText}`)
    }
    return got as T
  }
}
