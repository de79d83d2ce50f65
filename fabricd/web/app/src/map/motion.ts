// What moves: traced packets along their links, and the cycle of channels of a deadlock. Where each is depends on the time alone,
// however often it is drawn; while nothing moves nothing is drawn.

import type { Channel, Hop } from '../net/types'
import { css } from './colors'
import type { MapView } from './view'
import { Layer2d } from './layer'
import { journeyKey, journeys, type Journey } from './path'

// A leg takes its real time times the slow motion factor, but between these, in ms: else it is not seen, or never ends.
const shortest = 160
const longest = 2500
const keptHops = 2000
const keptJourneys = 60 // moving at once; when more come the oldest are dropped

interface Moving {
  journey: Journey
  began: number // ms of the page's clock
  lasts: number[] // ms per leg
}

export class Motion extends Layer2d {
  hops: Hop[] = []
  flow: { src: string; dst: string } | null = null // packets of this flow alone are shown; null: of all
  private moving = new Map<string, Moving>()
  private settled = new Map<string, number>() // packets under way: when to look at them, for their hops come one by one
  private deadlock: Channel[] = []
  private timer = 0 // until a packet is to set out

  constructor(map: MapView) {
    super(map, 'motion')
  }

  clearAll(): void {
    this.hops = []
    this.moving.clear()
    this.settled.clear()
  }

  // add takes new hops. A packet sets out when it has arrived, or when nothing more has been heard of it for a while.
  add(hops: Hop[]): void {
    if (hops.length === 0) return
    this.hops = this.hops.concat(hops).slice(-keptHops)
    if (!this.map.ui.kept.layers.packets) return
    for (const h of hops) {
      if (this.flow && (h.src !== this.flow.src || h.dst !== this.flow.dst)) continue
      this.settled.set(journeyKey(h), performance.now() + (h.end ? 0 : 600))
    }
    this.wake()
  }

  // of returns the latest packets of a flow.
  of(src: string, dst: string, most: number): Journey[] {
    return journeys(this.hops.filter((h) => h.src === src && h.dst === dst), this.map.store).slice(-most)
  }

  setDeadlock(cycle: Channel[]): void {
    this.deadlock = cycle
    if (cycle.length > 0) this.wake()
  }

  // play lets a packet travel once more.
  play(j: Journey): void {
    const { slow } = this.map.ui.kept
    const lasts = j.legs.map((leg, i) => {
      const next = j.legs[i + 1]
      const real = next ? (next.at - leg.at) * 1000 : 0.1
      return Math.min(longest, Math.max(shortest, real * slow))
    })
    this.moving.delete(j.key)
    this.moving.set(j.key, { journey: j, began: performance.now(), lasts })
    for (const key of this.moving.keys()) {
      if (this.moving.size <= keptJourneys) break
      this.moving.delete(key)
    }
    this.wake()
  }

  // active says whether anything moves.
  get active(): boolean { return this.moving.size + this.settled.size + this.deadlock.length > 0 }

  private wake(): void {
    this.map.pace.draw(this.draw, 'moving')
  }

  private readonly draw = (now: number): void => {
    this.clear()
    this.setOut(now)
    if (this.deadlock.length > 0) this.cycle(now)
    for (const [key, m] of this.moving) if (!this.packet(m, now)) this.moving.delete(key)
    clearTimeout(this.timer)
    if (this.moving.size > 0 || this.deadlock.length > 0) this.wake()
    else if (this.settled.size > 0) this.timer = window.setTimeout(() => this.wake(), Math.min(...this.settled.values()) - now)
  }

  private setOut(now: number): void {
    const due = [...this.settled].filter(([, at]) => at <= now).map(([key]) => key)
    if (due.length === 0) return
    for (const key of due) this.settled.delete(key)
    const wanted = new Set(due)
    for (const j of journeys(this.hops.filter((h) => wanted.has(journeyKey(h))), this.map.store)) {
      if (j.legs.length > 0) this.play(j)
    }
  }

  // packet draws one, and says whether it still moves.
  private packet(m: Moving, now: number): boolean {
    let t = now - m.began
    let k = 0
    while (k < m.lasts.length && t > m.lasts[k]!) t -= m.lasts[k++]!
    const legs = m.journey.legs
    const over = k >= legs.length
    if (over && t > 900) return false
    const color = this.map.theme.packet
    const c = this.ctx
    // The way so far.
    const fade = over ? 0.8 * (1 - t / 900) : 0.8
    for (let i = 0; i <= Math.min(k, legs.length - 1); i++) {
      const rerouted = legs[i]!.hop?.rerouted
      c.lineWidth = rerouted ? 4 : 2.6
      c.strokeStyle = css(rerouted ? this.map.theme.reroute : color, fade)
      this.trail(legs[i]!, i < k || over ? 1 : t / m.lasts[i]!)
    }
    const leg = legs[Math.min(k, legs.length - 1)]!
    const share = over ? 1 : t / m.lasts[k]!
    const lost = m.journey.end === 'lost' && k >= legs.length - 1
    const at = lost ? Math.min(share, 0.5) : share
    const p = this.map.screen(leg.link, leg.forth ? at : 1 - at)
    if (lost && share >= 0.5) {
      this.mark(p.x, p.y, '✕', css(this.map.theme.cut))
      return !over
    }
    if (over) {
      c.beginPath()
      c.arc(p.x, p.y, 5 + t / 60, 0, 7)
      c.lineWidth = 2
      c.strokeStyle = css(m.journey.end === 'discarded' ? this.map.theme.cut : this.map.theme.reroute, 1 - t / 900)
      c.stroke()
      return true
    }
    c.beginPath()
    c.arc(p.x, p.y, 5, 0, 7)
    c.fillStyle = css(color)
    c.fill()
    c.lineWidth = 2
    c.strokeStyle = this.map.theme.background
    c.stroke()
    return true
  }

  private trail(leg: { link: number; forth: boolean }, to: number): void {
    const c = this.ctx
    c.beginPath()
    const steps = this.map.geometry.bends[leg.link]!.aside ? 40 : 1
    for (let i = 0; i <= steps; i++) {
      const at = (to * i) / steps
      const p = this.map.screen(leg.link, leg.forth ? at : 1 - at)
      if (i === 0) c.moveTo(p.x, p.y)
      else c.lineTo(p.x, p.y)
    }
    c.stroke()
  }

  private mark(x: number, y: number, text: string, color: string): void {
    const c = this.ctx
    c.font = '700 16px ui-sans-serif, "DejaVu Sans", sans-serif'
    c.textAlign = 'center'
    c.textBaseline = 'middle'
    c.fillStyle = color
    c.fillText(text, x, y)
  }

  // cycle draws the channels that wait for one another, each as an arrow beside its link, and lets the dashes run.
  private cycle(now: number): void {
    const c = this.ctx
    const color = css(this.map.theme.deadlock)
    for (const ch of this.deadlock) {
      const l = this.map.store.topology!.links[ch.link]
      if (!l) continue
      const forth = ch.dir === 'ab'
      const way = (at: number) => this.map.screen(ch.link, forth ? at : 1 - at)
      const [a, b] = [this.map.screen(ch.link, 0), this.map.screen(ch.link, 1)]
      const clear = Math.min(0.4, (this.map.radius(l.a) + 6) / Math.max(1, Math.hypot(b.x - a.x, b.y - a.y))) // of the switches
      const points = Array.from({ length: 13 }, (_, i) => {
        const at = clear + ((1 - 2 * clear) * i) / 12
        const p = way(at)
        const q = way(at + 0.01)
        const len = Math.hypot(q.x - p.x, q.y - p.y) || 1
        return { x: p.x - ((q.y - p.y) / len) * 7, y: p.y + ((q.x - p.x) / len) * 7 }
      })
      c.beginPath()
      points.forEach((p, i) => (i === 0 ? c.moveTo(p.x, p.y) : c.lineTo(p.x, p.y)))
      c.lineWidth = 4
      c.strokeStyle = color
      c.setLineDash([10, 6])
      c.lineDashOffset = -(now / 40) % 16
      c.stroke()
      c.setLineDash([])
      const tip = points.at(-1)!
      const before = points.at(-2)!
      c.save()
      c.translate(tip.x, tip.y)
      c.rotate(Math.atan2(tip.y - before.y, tip.x - before.x))
      c.beginPath()
      c.moveTo(11, 0)
      c.lineTo(-4, -8)
      c.lineTo(-4, 8)
      c.closePath()
      c.fillStyle = color
      c.fill()
      c.restore()
    }
  }
}
