// What is drawn above sigma's picture whenever that changes: names, badges of faults, halos of switches, the selection.

import type { LinkView, SwitchView } from '../net/types'
import { css } from './colors'
import { badges, storyText } from './look'
import { bytes } from '../ui/format'
import { Layer2d } from './layer'
import type { MapView } from './view'

const font = 'ui-sans-serif, system-ui, "DejaVu Sans", sans-serif'

export class Overlay extends Layer2d {
  constructor(map: MapView) {
    super(map, 'marks')
  }

  draw(): void {
    this.clear()
    const t = this.map.store.topology
    if (!t || !this.map.ready) return
    const on = this.map.ui.kept.layers
    const { mixed } = this.map.store.firmwares()
    this.paths()
    t.switches.forEach((s, i) => {
      const view = this.map.store.switches[i]!
      this.halo(s.id, view)
      if (mixed && view.routing) this.firmware(s.id, view.routing)
    })
    // Small where switches are close: badges are not to hide what they are about.
    const r = Math.min(7.5, Math.max(3, this.map.scale() * this.map.geometry.spacing * 0.24))
    if (on.states) this.map.store.links.forEach((l, i) => this.badge(l, i, r))
    this.names(on.names, on.nics && !this.map.showsNics)
    this.pods()
    if (on.programs && this.map.showsNics) this.bytesOfNics()
    this.ends()
    this.selection()
  }

  private badge(l: LinkView, i: number, r: number): void {
    const look = this.map.looks[i]
    if (!look || look.story === 'up' || (look.story === 'down' && r < 5)) return
    if (!this.map.showsNics && this.toNic(i)) return
    // A link that suffers in one direction wears its badge near the end that sends, with the way it points.
    const ab = Boolean(l.cut_ab || l.suffers_ab)
    const ba = Boolean(l.cut_ba || l.suffers_ba)
    const oneWay = ab !== ba
    // Not all at the middle: that is where the links of a tree cross. Of a short link nearer to its lower end: names are below the upper.
    const [a, b] = [this.map.screen(i, 0), this.map.screen(i, 1)]
    const short = Math.hypot(b.x - a.x, b.y - a.y) < 90
    if (short && look.story === 'down') return // the crossed switch is near enough
    const at = (!oneWay ? 0.5 : ab ? 0.42 : 0.58) + (short ? 0.14 * Math.sign(Math.round(b.y - a.y)) : (((i * 7) % 11) - 5) * 0.024)
    const p = this.map.screen(i, at)
    if (!this.seen(p.x, p.y)) return
    const c = this.ctx
    const color = css((ab || !oneWay ? look.ab : look.ba).color)
    c.beginPath()
    c.arc(p.x, p.y, r, 0, 7)
    c.fillStyle = this.map.theme.background
    c.fill()
    c.lineWidth = 1.6
    c.strokeStyle = color
    c.stroke()
    c.fillStyle = color
    if (r < 5) {
      c.fill()
      return
    }
    c.font = `700 ${r * 1.4}px ${font}`
    c.textAlign = 'center'
    c.textBaseline = 'middle'
    c.fillText(badges[look.story], p.x, p.y + 0.5)
    if (!oneWay) return
    const q = this.map.screen(i, ab ? at + 0.01 : at - 0.01)
    this.arrow(p.x, p.y, Math.atan2(q.y - p.y, q.x - p.x), r + 3, color)
  }

  private arrow(x: number, y: number, angle: number, off: number, color: string): void {
    const c = this.ctx
    c.save()
    c.translate(x, y)
    c.rotate(angle)
    c.beginPath()
    c.moveTo(off + 5, 0)
    c.lineTo(off - 1, -4)
    c.lineTo(off - 1, 4)
    c.closePath()
    c.fillStyle = color
    c.fill()
    c.restore()
  }

  private halo(id: string, s: SwitchView): void {
    const on = this.map.ui.kept.layers
    const quiet = s.state === 'up' && !(on.reroutes && s.rerouted) && !(on.uturns && s.u_turns) && !(on.vectors && s.vector)
    if (quiet) return
    const p = this.map.nodeOnScreen(id)
    if (!p || !this.seen(p.x, p.y)) return
    const t = this.map.theme
    const r = this.map.radius(id)
    const c = this.ctx
    if (on.reroutes && s.rerouted) {
      const strength = Math.min(1, 0.35 + Math.log10(1 + s.rerouted) / 5)
      c.beginPath()
      c.arc(p.x, p.y, r * 1.55 + 4, 0, 7)
      c.lineWidth = 2 + 3 * strength
      c.strokeStyle = css(t.reroute, strength)
      c.stroke()
    }
    if (s.state === 'down') this.cross(p.x, p.y, r + 3, css(t.cut))
    if (s.state === 'suspect') {
      c.setLineDash([3, 3])
      c.beginPath()
      c.arc(p.x, p.y, r * 1.5 + 3, 0, 7)
      c.lineWidth = 1.5
      c.strokeStyle = css(t.silent)
      c.stroke()
      c.setLineDash([])
    }
    if (on.uturns && s.u_turns) this.uturn(p.x + r + 5, p.y - r - 5, css(t.uturn))
    if (on.vectors && s.vector) this.vector(p.x - r - 5, p.y - r - 5, s.vector)
  }

  // paths lights the links that packets of the chosen connection take.
  private paths(): void {
    const c = this.ctx
    c.lineCap = 'round'
    c.lineWidth = 7
    c.strokeStyle = css(this.map.theme.path, 0.42)
    for (const i of this.map.lit) {
      if (!this.map.looks[i]) continue
      c.beginPath()
      const steps = this.map.geometry.bends[i]!.aside ? 32 : 1
      for (let k = 0; k <= steps; k++) {
        const p = this.map.screen(i, k / steps)
        if (k === 0) c.moveTo(p.x, p.y)
        else c.lineTo(p.x, p.y)
      }
      c.stroke()
    }
    c.lineCap = 'butt'
  }

  // bytesOfNics writes what NICs carry for programs, in and out, beside each that has room for it.
  private bytesOfNics(): void {
    const c = this.ctx
    const taken: { x: number; y: number; w: number }[] = []
    c.font = `600 9.5px ${font}`
    c.textAlign = 'center'
    for (const n of this.map.talking.nics) {
      const p = this.map.nodeOnScreen(n.nic)
      if (!p || !this.seen(p.x, p.y)) continue
      const r = this.map.radius(n.nic)
      c.beginPath()
      c.arc(p.x, p.y, r + 2.5, 0, 7)
      c.lineWidth = 2
      c.strokeStyle = css(this.map.theme.path)
      c.stroke()
      const lines = [`↑ ${bytes(n.out_bytes_per_second)}/s`, `↓ ${bytes(n.in_bytes_per_second)}/s`]
      const w = Math.max(...lines.map((l) => c.measureText(l).width)) + 8
      const y = p.y + r + 5
      if (taken.some((t) => Math.abs(t.x - p.x) < (t.w + w) / 2 && Math.abs(t.y - y) < 26)) continue
      taken.push({ x: p.x, y, w })
      c.fillStyle = this.map.theme.background
      c.fillRect(p.x - w / 2, y - 1, w, 25)
      lines.forEach((l, i) => this.outlined(l, p.x, y + 1 + 11 * i))
    }
  }

  // ends names the programs of the chosen connection.
  private ends(): void {
    for (const e of this.map.talking.ends) {
      const p = this.map.nodeOnScreen(e.nic)
      if (p) this.label(p.x, p.y - this.map.radius(e.nic) - 14, `${e.program} ${e.nic}`.trim())
    }
  }

  // firmware numbers a switch by what it runs, while they run different firmwares.
  private firmware(id: string, n: number): void {
    const p = this.map.nodeOnScreen(id)
    if (!p || !this.seen(p.x, p.y)) return
    const r = this.map.radius(id) * 0.62
    const c = this.ctx
    c.beginPath()
    c.arc(p.x, p.y, r, 0, 7)
    c.fillStyle = css(this.map.theme.firmware)
    c.fill()
    if (r < 5) return
    c.font = `700 ${r * 1.4}px ${font}`
    c.textAlign = 'center'
    c.textBaseline = 'middle'
    c.fillStyle = this.map.theme.background
    c.fillText(String(n), p.x, p.y + 0.5)
  }

  private cross(x: number, y: number, r: number, color: string): void {
    const c = this.ctx
    c.beginPath()
    c.moveTo(x - r, y - r)
    c.lineTo(x + r, y + r)
    c.moveTo(x + r, y - r)
    c.lineTo(x - r, y + r)
    c.lineWidth = 3
    c.lineCap = 'round'
    c.strokeStyle = color
    c.stroke()
    c.lineCap = 'butt'
  }

  // uturn is the sign of a U-turn: up, around, and down again.
  private uturn(x: number, y: number, color: string): void {
    const c = this.ctx
    this.disc(x, y, color)
    c.beginPath()
    c.moveTo(x - 3, y + 3.5)
    c.lineTo(x - 3, y - 0.5)
    c.arc(x, y - 0.5, 3, Math.PI, 0)
    c.lineTo(x + 3, y + 2)
    c.lineWidth = 1.7
    c.strokeStyle = color
    c.stroke()
    c.beginPath()
    c.moveTo(x + 0.6, y + 1.2)
    c.lineTo(x + 5.4, y + 1.2)
    c.lineTo(x + 3, y + 4.6)
    c.fillStyle = color
    c.fill()
  }

  private disc(x: number, y: number, color: string): void {
    const c = this.ctx
    c.beginPath()
    c.arc(x, y, 7.5, 0, 7)
    c.fillStyle = this.map.theme.background
    c.fill()
    c.lineWidth = 1
    c.strokeStyle = color
    c.stroke()
  }

  private vector(x: number, y: number, text: string): void {
    const c = this.ctx
    const color = css(this.map.theme.vector)
    // The whole text where there is room for it, else a mark.
    if (this.map.scale() * this.map.geometry.spacing < 110) {
      c.save()
      c.translate(x, y)
      c.rotate(Math.PI / 4)
      c.fillStyle = this.map.theme.background
      c.fillRect(-5, -5, 10, 10)
      c.fillStyle = color
      c.fillRect(-3.5, -3.5, 7, 7)
      c.restore()
      return
    }
    c.font = `600 10px ui-monospace, "DejaVu Sans Mono", monospace`
    const w = c.measureText(text).width + 8
    c.fillStyle = this.map.theme.background
    c.fillRect(x - w, y - 8, w, 15)
    c.strokeStyle = color
    c.lineWidth = 1
    c.strokeRect(x - w, y - 8, w, 15)
    c.fillStyle = color
    c.textAlign = 'right'
    c.textBaseline = 'middle'
    c.fillText(text, x - 4, y)
  }

  // names writes the names of nodes, and at switches how many NICs there is no room for. What has no room it says below.
  private names(wanted: boolean, count: boolean): void {
    const { map } = this
    const t = map.store.topology!
    const px = map.scale()
    // A name is written where it does not run into the next one, nor that of a NIC into its switch. Those that are not are counted.
    const write = (ids: { id: string; switch?: string }[], most: number, size: number): number => {
      let hidden = 0
      for (const { id, switch: of } of ids) {
        const room = Math.min(map.geometry.nearest.get(id) ?? 0, most) * px
        const fits = (text: string) => room >= text.length * size * 0.56 + 6
        // Of a pod its number says enough.
        const name = !wanted ? '' : fits(id) || !map.store.pod(id) ? id : id.replace(/^\D+/, '')
        const nics = count ? map.geometry.nicsOf.get(id) : 0
        const text = nics ? `${name} +${nics}`.trim() : name
        const turned = !fits(text)
        const small = turned ? Math.min(size, room - 1.5) : size
        // A name that is upright leaves half of the way to the next tier to the links.
        const below = Math.min(map.geometry.below.get(id) ?? 0, map.showsNics && map.geometry.nicsOf.has(id) ? map.geometry.nicReach : Infinity)
        if (turned && (small < 7 || text.length * small * 1.2 > below * px)) hidden++
        else if (text) this.write(id, text, small, turned, of)
      }
      return wanted ? hidden : 0
    }
    const missing = [
      [write(t.switches, Infinity, 11), 'names of switches'], [map.showsNics ? write(t.nics, map.geometry.nicReach, 9.5) : 0, 'names of NICs'],
      [count ? t.nics.length : 0, 'NICs, here +n'],
    ].flatMap(([n, what]) => (n ? [`${n} ${what}`] : []))
    if (missing.length === 0) return
    const { width, height } = map.sigma.getDimensions()
    this.ctx.font = `500 11px ${font}`
    this.ctx.textAlign = 'right'
    missing.forEach((text, i) => this.outlined(i === 0 ? `zoom in for ${text}` : `and ${text}`, width - 10, height - 6 - 14 * (missing.length - i)))
  }

  // write writes text below a node, or upright; that of a NIC above its switch above the NIC.
  private write(id: string, text: string, size: number, turned: boolean, of?: string): void {
    const p = this.map.nodeOnScreen(id)!
    if (!this.seen(p.x, p.y)) return
    const c = this.ctx
    c.font = `500 ${size}px ${font}`
    const above = !turned && of && this.map.nodeOnScreen(of)!.y > p.y + 1
    const y = above ? p.y - this.map.radius(id) - 1 - size : p.y + this.map.radius(id) + 3
    c.save()
    c.translate(p.x, y)
    if (turned) c.rotate(-Math.PI / 2)
    c.textAlign = turned ? 'right' : 'center'
    this.outlined(text, 0, turned ? -size / 2 : 0)
    c.restore()
  }

  private outlined(text: string, x: number, y: number): void {
    const c = this.ctx
    c.textBaseline = 'top'
    c.lineJoin = 'round'
    c.lineWidth = 3.5
    c.strokeStyle = this.map.theme.background
    c.strokeText(text, x, y)
    c.fillStyle = this.map.theme.text
    c.fillText(text, x, y)
  }

  // pods writes under each pod how it is.
  private pods(): void {
    const { map, ctx: c } = this
    if (!map.store.full?.pods) return
    c.textAlign = 'center'
    c.textBaseline = 'top'
    c.font = `500 9.5px ${font}`
    for (const { id, pod } of map.store.topology!.switches) {
      if (!pod) continue
      const p = map.nodeOnScreen(id)!
      const v = map.store.pods[pod.index]
      if (!v || !this.seen(p.x, p.y) || (map.geometry.nearest.get(id) ?? 0) * map.scale() < 26) continue
      const down = pod.links - (v.links_up ?? 0)
      const text = down > 0 ? `${down} down` : v.faults ? `${v.faults} not well` : `${((v.load ?? 0) * 100).toFixed(0)}%`
      c.fillStyle = v.faults ? css(map.theme.cut) : map.theme.text
      c.fillText(text, p.x, p.y + map.radius(id) + (map.ui.kept.layers.names ? 15 : 3))
    }
  }

  private selection(): void {
    const s = this.map.ui.selected
    if (!s) return
    const c = this.ctx
    c.strokeStyle = css(this.map.theme.select, 0.9)
    if (s.kind !== 'link') {
      const p = this.map.nodeOnScreen(s.id)
      if (!p) return
      c.lineWidth = 2
      const r = this.map.radius(s.id) + 4
      c.strokeRect(p.x - r, p.y - r, 2 * r, 2 * r)
      this.label(p.x, p.y - r - 12, s.id)
      return
    }
    const i = this.map.store.link(s.id)
    if (i === undefined) return
    c.lineWidth = 1.4
    for (const side of [-1, 1]) {
      c.beginPath()
      for (let k = 0; k <= 16; k++) {
        const p = this.map.screen(i, 0.04 + (0.92 * k) / 16)
        const q = this.map.screen(i, 0.05 + (0.92 * k) / 16)
        const len = Math.hypot(q.x - p.x, q.y - p.y) || 1
        const x = p.x - ((q.y - p.y) / len) * side * 7
        const y = p.y + ((q.x - p.x) / len) * side * 7
        if (k === 0) c.moveTo(x, y)
        else c.lineTo(x, y)
      }
      c.stroke()
    }
    const p = this.map.screen(i, 0.5)
    const look = this.map.looks[i]!
    this.label(p.x, p.y - 22, look.story === 'up' ? s.id : `${s.id}: ${storyText[look.story]}`)
  }

  private label(x: number, y: number, text: string): void {
    const c = this.ctx
    const t = this.map.theme
    c.font = `600 11.5px ${font}`
    const w = c.measureText(text).width + 14
    x = Math.max(w / 2 + 4, Math.min(this.map.sigma.getDimensions().width - w / 2 - 4, x))
    c.fillStyle = css(t.select, 0.92)
    c.beginPath()
    c.roundRect(x - w / 2, y - 10, w, 20, 5)
    c.fill()
    c.fillStyle = t.background
    c.textAlign = 'center'
    c.textBaseline = 'middle'
    c.fillText(text, x, y + 0.5)
  }

  private toNic(i: number): boolean {
    const l = this.map.store.topology!.links[i]!
    return this.map.store.nic(l.a) !== undefined || this.map.store.nic(l.b) !== undefined
  }
}
