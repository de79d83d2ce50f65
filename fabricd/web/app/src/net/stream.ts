// The state stream: server-sent events into the store, for as long as the page is open. It ends and begins again by itself
// when fabricd goes and comes back, when a frame is missing, and when another run answers.

import type { Store } from '../state/store'
import { ApiError, type Client } from './client'
import type { Frame } from './types'

// Connection is how the page stands to fabricd; locked: to look needs a token there, and the page has none that holds.
export type Connection = 'connecting' | 'live' | 'away' | 'locked'

// How long to wait before asking again, in ms. The browser's own retries stop at the first refusal, so they are ours.
const firstRetry = 250
const lastRetry = 2000
// fabricd sends a frame every 250 ms; after so long without any it is taken for away.
const silence = 5000

export class Stream {
  connection: Connection = 'connecting'
  since = performance.now() // of the connection's state
  reconnects = 0

  private source: EventSource | null = null
  private retry = firstRetry
  private watchdog = 0
  private known = '' // the run that the topology is of
  private hidden = false
  private turn = 0 // of connecting: the latest counts
  private told = false // something has come since it connected

  constructor(
    private readonly store: Store,
    private readonly client: Client,
    private readonly changed: () => void,
  ) {}

  // start connects, and goes on doing so.
  start(): void {
    void this.connect()
  }

  // show says whether anybody sees the page. Browsers open six connections to a server and no more, and a stream keeps one for as
  // long as it lasts: a page that nobody sees gives it back, and begins with a snapshot when it is looked at again.
  show(seen: boolean): void {
    if (this.hidden === !seen) return
    this.hidden = !seen
    if (seen) void this.connect()
    else this.close()
  }

  // connect asks for the topology and the stream at once; frames wait for the topology.
  private async connect(): Promise<void> {
    this.close()
    if (this.hidden) return
    const turn = ++this.turn
    const opening = this.client.open()
    if (opening) {
      await opening
      if (turn !== this.turn || this.hidden) return
    }
    this.told = false
    // Of a large fabric only pods are told of, and what is in those that are open.
    const source = new EventSource(`/api/v1/stream?open=${[...this.store.open].map(encodeURIComponent).join(',')}`)
    const early: Frame[] = []
    this.source = source
    source.addEventListener('frame', (e) => {
      if (this.source !== source) return
      const f = JSON.parse((e as MessageEvent<string>).data) as Frame
      if (this.store.topology) this.frame(f)
      else early.push(f)
    })
    source.addEventListener('error', () => {
      if (this.source === source) this.again()
    })
    this.guard()
    if (this.store.topology) return
    try {
      const t = await this.client.topology()
      if (this.source !== source) return
      this.store.setTopology(t)
      for (const f of early) if (this.source === source) this.frame(f)
    } catch {
      if (this.source === source) this.again()
    }
  }

  // anew is told when other pods are open.
  anew(): void {
    void this.connect()
  }

  private frame(f: Frame): void {
    this.told = true
    if (f.kind === 'snapshot' && this.known && f.run !== this.known) {
      // Another run may have another shape: everything anew.
      this.known = ''
      this.store.topology = null
      this.store.open = new Set()
      void this.connect()
      return
    }
    if (this.store.apply(f) === 'gap') {
      this.close()
      setTimeout(() => void this.connect(), firstRetry) // not at once: whatever is wrong may go on
      return
    }
    this.known = f.run
    this.client.setRun(f.run)
    this.retry = firstRetry
    this.guard()
    this.set('live')
  }

  private again(): void {
    // Perhaps a pod that is open here is none of another run.
    if (!this.told && this.store.open.size > 0) this.store.setOpen([])
    this.close()
    this.client.forget()
    if (this.connection !== 'locked') this.set('away')
    void this.why()
    this.reconnects++
    setTimeout(() => void this.connect(), this.retry)
    this.retry = Math.min(lastRetry, this.retry * 1.6)
  }

  // why finds out whether it is a token that is missing: a stream that ends does not say.
  private async why(): Promise<void> {
    try {
      await this.client.status()
    } catch (e) {
      const locked = e instanceof ApiError && e.status === 401
      if (this.connection !== 'live' && this.connection !== 'connecting') this.set(locked ? 'locked' : 'away')
    }
  }

  private guard(): void {
    clearTimeout(this.watchdog)
    this.watchdog = window.setTimeout(() => this.again(), silence)
  }

  private close(): void {
    clearTimeout(this.watchdog)
    this.source?.close()
    this.source = null
  }

  private set(c: Connection): void {
    if (this.connection === c) return
    this.connection = c
    this.since = performance.now()
    this.changed()
  }
}
