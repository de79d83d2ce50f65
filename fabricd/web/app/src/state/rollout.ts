// Loads firmware into switches, at once or one after the other, and says what that cost: what linkmon load does, in the same words.

import type { Client } from '../net/client'
import type { Routing, Status } from '../net/types'
import { count, micro } from '../ui/format'
import { pathOf, pin } from './module'
import type { Ui } from './ui'

const settleTime = 1000 // ms that the packets which the last switches have routed are counted, as in linkmon load

export class Rollout {
  routings: Routing[] | null = null // null: not asked for yet
  routing = '' // as typed
  file: File | null = null // a module that was chosen
  on = false
  stopped = false // no more switches, though the cost is still counted
  done = 0 // switches that run it
  of = 0
  loading = '' // the firmware that is, or was, loaded last
  cost = '' // in words, of the latest
  private asked = false
  private wake = () => {} // ends a wait

  constructor(private readonly client: Client, private readonly ui: Ui) {}

  // list asks once for the routings that there are.
  list(): void {
    if (this.asked) return
    this.asked = true
    this.client.get<Routing[]>('routings').then((list) => {
      this.routings = list
      this.ui.changed()
    }, () => (this.asked = false))
  }

  // forget is told of another fabric.
  forget(): void {
    this.stop()
    this.routings = null
    this.asked = false
    this.cost = ''
  }

  // choose takes a module; options may be typed behind its name.
  choose(file: File): void {
    this.file = file
    this.routing = `wasm:${pathOf(file)}`
    this.ui.changed()
  }

  stop(): void {
    this.stopped = true
    this.wake()
    this.ui.changed()
  }

  // start has switches, all if none is named, run what is typed; one after the other if seconds lie between them.
  async start(switches: string[], every: number | null): Promise<void> {
    if (this.on) return
    const routing = this.routing.trim()
    Object.assign(this, { on: true, stopped: false, done: 0, of: 0, loading: routing, cost: '' })
    this.ui.changed()
    try {
      const pinned = await pin(routing, this.file)
      this.loading = pinned.routing
      await this.run({ switches, routing: pinned.routing }, pinned.file, every)
    } catch (e) {
      const some = this.done > 0 ? `: ${this.done} of ${this.of} switches run it` : ''
      this.ui.say(`load ${routing}${some}: ${(e as Error).message}`, true)
    }
    this.on = false
    this.ui.changed()
  }

  private async run(order: { switches: string[]; routing: string }, file: string | undefined, every: number | null): Promise<void> {
    const load = (o: object) => this.client.post<{ switches: string[]; running: number }>('load', { ...order, ...o })
    const all = (await load({ check: true, file })).switches
    this.of = all.length
    const before = await this.client.status()
    const begun = performance.now()
    const steps = every === null ? [all] : all.map((s) => [s])
    for (const [i, names] of steps.entries()) {
      if (i > 0) await this.wait(every! * 1000)
      if (this.stopped) break
      this.done += (await load({ switches: names })).switches.length
      this.ui.changed()
    }
    await new Promise((resolve) => setTimeout(resolve, settleTime))
    const after = await this.client.status()
    const { running } = await load({ check: true })
    if (running < this.done) this.ui.say('somebody else has loaded firmware meanwhile: load it again, one at a time', true)
    const seconds = (performance.now() - begun) / 1000
    this.cost = inWords(order.routing, running, this.of, this.stopped, seconds, before, after)
  }

  private wait(ms: number): Promise<void> {
    if (this.stopped) return Promise.resolve()
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, ms)
      this.wake = () => {
        clearTimeout(timer)
        resolve()
      }
    })
  }
}

// inWords is what linkmon load prints.
export function inWords(routing: string, done: number, of: number, stopped: boolean, seconds: number, before: Status, after: Status): string {
  const [a, b] = [before.totals, after.totals]
  const more = (what: 'lost' | 'discarded') => count(after.ledger[what] - before.ledger[what])
  const worst = b.latency.max_us > a.latency.max_us
    ? `${micro(b.latency.max_us)}, ${micro(a.latency.max_us)} before` : `not above the ${micro(a.latency.max_us)} before`
  const run = done < of ? `${done} of ${of} switches run` : `${done} ${done === 1 ? 'switch runs' : 'switches run'}`
  return (stopped ? `stopped: ${run} ${routing}, the others what they ran,` : `${run} ${routing}`) +
    ` after ${seconds.toFixed(1)} s\nmeanwhile ${count(b.delivered - a.delivered)} delivered, ${more('lost')} lost, ${more('discarded')} discarded, ` +
    `${count(b.reordered - a.reordered)} reordered, ${count(b.rerouted - a.rerouted)} re-routed; worst latency ${worst}`
}
