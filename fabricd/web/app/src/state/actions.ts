// What a user does to the fabric. Each deed is one request, says what came of it, and can be taken back.

import type { Client } from '../net/client'
import type { LinkView } from '../net/types'
import { asBefore, type Direction, type Flap, type Impair, type Spec } from './spec'
import type { Store } from './store'
import type { Selection, Ui } from './ui'

interface Answer {
  changed?: boolean
  note?: string // what else there is to know, as that something else keeps the link down
}

interface Deed {
  text: string
  run: string
  back: Spec[]
}

const keptDeeds = 50
// For the stream to tell of an order; ms. A frame comes every 250.
const longestWait = 600
// An order of everything, not of one link or switch.
const all = '*'

export interface CutOptions {
  direction?: Direction
  silent?: boolean
  for?: string
}

export class Actions {
  deeds: Deed[] = []
  busy = 0 // requests under way
  private flaps = new Map<string, Spec>() // by link, as ordered here
  private queue: Promise<unknown> = Promise.resolve() // orders are carried out one after another
  private telling = new Map<string, Promise<void>>() // by link or switch: the stream has yet to tell of an order

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

  // toggle cuts a link that is well, and restores one that is not, as it is when its turn has come.
  toggle(s: Selection): Promise<boolean> {
    if (s.kind !== 'link' || this.many(s.id)) return Promise.resolve(false)
    return this.next(s.id, () => {
      const i = this.store.link(s.id)
      const verb = i !== undefined && troubled(this.store.links[i]!) ? 'restore' : 'cut'
      return this.carryOut(`links/${encodeURIComponent(s.id)}/${verb}`, {}, `${verb} ${s.id}`, () => this.before(s.id))
    })
  }

  crash(id: string, forTime = ''): Promise<boolean> {
    return this.do(id, `switches/${encodeURIComponent(id)}/crash`, clean({ for: forTime }), `crash ${id}`, () => [{ do: 'restart', a: id }])
  }

  restart(id: string): Promise<boolean> {
    return this.do(id, `switches/${encodeURIComponent(id)}/restart`, {}, `restart ${id}`, () => [{ do: 'crash', a: id }])
  }

  heal(): Promise<boolean> {
    return this.do(all, 'heal', {}, 'heal everything', () => {
      // What is wrong now, as far as the stream has told.
      const { topology: t, links, switches } = this.store
      if (!t) return []
      const back = links.flatMap((l, i) => (troubled(l) && l.total === undefined ? this.before(t.links[i]!.id).slice(1) : []))
      switches.forEach((s, i) => {
        if (s.state === 'down' && !t.switches[i]!.pod) back.push({ do: 'crash', a: t.switches[i]!.id })
      })
      return back
    })
  }

  undo(): Promise<void> {
    return this.next(all, () => this.takeBack())
  }

  private async takeBack(): Promise<void> {
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
    return this.do(id, `links/${encodeURIComponent(id)}/${verb}`, body, text, () => this.before(id))
  }

  // before are the orders that bring a link back to what the stream says of it now.
  private before(id: string): Spec[] {
    const i = this.store.link(id)
    return i === undefined ? [] : asBefore(this.store.topology!.links[i]!, this.store.links[i]!, this.flaps.get(id) ?? null)
  }

  private do(of: string, path: string, body: object, text: string, takesBack: () => Spec[]): Promise<boolean> {
    if (this.many(of)) return Promise.resolve(false)
    return this.next(of, () => this.carryOut(path, body, text, takesBack))
  }

  // carryOut does what is ordered, and notes how to take it back if it changed anything.
  private async carryOut(path: string, body: object, text: string, takesBack: () => Spec[]): Promise<boolean> {
    const { run } = this.store
    const back = takesBack()
    const answer = await this.request(path, body, text)
    if (!answer) return false
    if (answer.changed === false) return true
    this.deeds = [...this.deeds, { text, run, back }].slice(-keptDeeds)
    this.ui.changed()
    return true
  }

  // many says whether what an order is of is drawn for many, and then also says so to the user.
  private many(of: string): boolean {
    if (of === all || !this.store.standsForMany(of)) return false
    this.ui.say(`${of} stands for many: open it, and choose one`, true)
    return true
  }

  // next has an order wait for those before it, and for the stream to have told what those of the same link or switch have made
  // of it: an order of all waits for all.
  private next<T>(of: string, order: () => Promise<T>): Promise<T> {
    const done = this.queue.then(async () => {
      const before = of === all ? [...this.telling.values()] : [this.telling.get(of), this.telling.get(all)]
      await Promise.all(before)
      try {
        return await order()
      } finally {
        const told = this.told().then(() => {
          if (this.telling.get(of) === told) this.telling.delete(of)
        })
        this.telling.set(of, told)
      }
    })
    this.queue = done.catch(() => {})
    return done
  }

  // told waits for two frames, since the first may have been taken before the answer came, but not for ever.
  private told(): Promise<void> {
    return new Promise((resolve) => {
      let frames = 2
      const end = () => {
        clearTimeout(timer)
        unsubscribe()
        resolve()
      }
      const timer = setTimeout(end, longestWait)
      const unsubscribe = this.store.subscribe(() => {
        if (--frames === 0) end()
      })
    })
  }

  // request says what came of an order, and returns its answer, or null if it was refused.
  private async request(path: string, body: object, text: string): Promise<Answer | null> {
    this.busy++
    this.ui.changed()
    try {
      const answer = (await this.client.post<Answer | null>(path, body)) ?? {}
      this.ui.say([answer.changed === false ? unchanged(path) : text, ...(answer.note ? [answer.note] : [])].join('\n'))
      return answer
    } catch (e) {
      this.ui.say(`${text}: ${(e as Error).message}`, true)
      return null
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

// already says why an order changes nothing, as linkmon does.
const already: Record<string, string> = {
  cut: 'is cut already', flap: 'is cut or flaps already: restore it first', impair: 'is not impaired', crash: 'has crashed already',
  restore: 'has no fault of its own', restart: 'has not crashed',
}

function unchanged(path: string): string {
  const [, name = '', verb = ''] = path.split('/')
  return verb ? `${decodeURIComponent(name)} ${already[verb]}` : 'nothing was broken'
}

// troubled says whether anything has been done to a link.
export function troubled(l: LinkView): boolean {
  return Boolean(l.cut_ab || l.cut_ba || l.flapping || l.suffers_ab || l.suffers_ba)
}

// clean leaves out what is empty.
function clean<T extends object>(o: T): Partial<T> {
  return Object.fromEntries(Object.entries(o).filter(([, v]) => v !== '' && v !== undefined && v !== false)) as Partial<T>
}
