// What a user does to the fabric. Each deed is one request, says what came of it, and can be taken back.

import type { Client } from '../net/client'
import type { LinkView } from '../net/types'
import { asBefore, type Direction, type Flap, type Impair, type Spec } from './spec'
import type { Store } from './store'
import type { Selection, Ui } from './ui'

interface Deed {
  text: string
  run: string
  back: Spec[]
}

const keptDeeds = 50

export interface CutOptions {
  direction?: Direction
  silent?: boolean
  for?: string
}

export class Actions {
  deeds: Deed[] = []
  busy = 0 // requests under way
  private flaps = new Map<string, Spec>() // by link, as ordered here

  constructor(private readonly client: Client, private readonly store: Store, private readonly ui: Ui) {}

  cut(id: string, o: CutOptions = {}): Promise<boolean> {
    const how = [o.silent ? 'silently' : '', this.way(id, o.direction), o.for ? `for ${o.for}` : ''].filter(Boolean).join(', ')
    return this.link(id, 'cut', clean(o), `cut ${id}${how ? ` ${how}` : ''}`)
  }

  async flap(id: string, flap: Flap, o: CutOptions = {}): Promise<boolean> {
    const done = await this.link(id, 'flap', clean({ ...flap, ...o }), `flap ${id}, period ${flap.period}`)
    if (done) this.flaps.set(id, { do: 'flap', a: id, flap, ...clean(o) })
    return done
  }

  impair(id: string, impair: Impair, o: { direction?: Direction; for?: string; clear?: boolean } = {}): Promise<boolean> {
    const what = o.clear ? 'clear what it suffers' : Object.entries(impair).map(([k, v]) => `${k} ${v}`).join(', ')
    return this.link(id, 'impair', clean({ ...impair, ...o }), `impair ${id}: ${what}`)
  }

  restore(id: string, direction: Direction = ''): Promise<boolean> {
    return this.link(id, 'restore', clean({ direction }), `restore ${id}`)
  }

  // toggle cuts a link that is well, and restores one that is not.
  toggle(s: Selection): Promise<boolean> {
    const i = this.store.link(s.id)
    if (s.kind !== 'link' || i === undefined) return Promise.resolve(false)
    return troubled(this.store.links[i]!) ? this.restore(s.id) : this.cut(s.id)
  }

  crash(id: string, forTime = ''): Promise<boolean> {
    return this.do(`switches/${encodeURIComponent(id)}/crash`, clean({ for: forTime }), `crash ${id}`, [{ do: 'restart', a: id }])
  }

  restart(id: string): Promise<boolean> {
    return this.do(`switches/${encodeURIComponent(id)}/restart`, {}, `restart ${id}`, [{ do: 'crash', a: id }])
  }

  heal(): Promise<boolean> {
    const t = this.store.topology
    if (!t) return Promise.resolve(false)
    // What is wrong now, as far as the stream has told.
    const back = this.store.links.flatMap((l, i) => (troubled(l) ? this.before(t.links[i]!.id, l).slice(1) : []))
    this.store.switches.forEach((s, i) => {
      if (s.state === 'down') back.push({ do: 'crash', a: t.switches[i]!.id })
    })
    return this.do('heal', {}, 'heal everything', back)
  }

  async undo(): Promise<void> {
    const last = this.deeds.pop()
    if (!last) {
      this.ui.say('nothing of yours to undo')
      return
    }
    if (last.run !== this.store.run) {
      this.deeds = []
      this.ui.say('fabricd has been started anew since: nothing to undo')
      return
    }
    if (last.back.length === 0) {
      this.ui.say(`${last.text}: nothing was wrong before`)
      return
    }
    await this.request('apply', { specs: last.back }, `undone: ${last.text}`)
  }

  private link(id: string, verb: string, body: object, text: string): Promise<boolean> {
    const i = this.store.link(id)
    const back = i === undefined ? [] : this.before(id, this.store.links[i]!)
    return this.do(`links/${encodeURIComponent(id)}/${verb}`, body, text, back)
  }

  private before(id: string, view: LinkView): Spec[] {
    return asBefore(this.store.topology!.links[this.store.link(id)!]!, view, this.flaps.get(id) ?? null)
  }

  private async do(path: string, body: object, text: string, back: Spec[]): Promise<boolean> {
    const { run } = this.store
    if (!(await this.request(path, body, text))) return false
    this.deeds = [...this.deeds, { text, run, back }].slice(-keptDeeds)
    this.ui.changed()
    return true
  }

  private async request(path: string, body: object, text: string): Promise<boolean> {
    this.busy++
    this.ui.changed()
    try {
      await this.client.post(path, body)
      this.ui.say(text)
      return true
    } catch (e) {
      this.ui.say(`${text}: ${(e as Error).message}`, true)
      return false
    } finally {
      this.busy--
      this.ui.changed()
    }
  }

  private way(id: string, d: Direction | undefined): string {
    const i = this.store.link(id)
    if (!d || i === undefined) return ''
    const l = this.store.topology!.links[i]!
    return d === 'to' ? `${l.a} to ${l.b}` : `${l.b} to ${l.a}`
  }
}

// troubled says whether anything has been done to a link.
export function troubled(l: LinkView): boolean {
  return Boolean(l.cut_ab || l.cut_ba || l.flapping || l.suffers_ab || l.suffers_ba)
}

// clean leaves out what is empty.
function clean<T extends object>(o: T): Partial<T> {
  return Object.fromEntries(Object.entries(o).filter(([, v]) => v !== '' && v !== undefined && v !== false)) as Partial<T>
}
