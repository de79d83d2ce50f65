// The charts below the map, by uPlot, one below the other and with the faults marked on them. The timeline above them has the same
// time axis.

import uPlot from 'uplot'
import { css, type Theme } from '../map/colors'
import type { FaultReport } from '../net/types'
import { rateLine, type ProgramWatch } from '../state/programs'
import type { Column } from '../state/history'
import type { Store } from '../state/store'
import { clock, micro, rate, short } from './format'

export const spans = [60, 300, 600] as const // seconds

interface Line {
  column: Column | 'rates'
  label: string
  color: (t: Theme) => string
  fill?: boolean
}

interface Chart {
  value: (v: number) => string // with its unit
  gaps?: boolean // 0 is not a figure: nothing was delivered
  lines: Line[]
}

const plots: readonly Chart[] = [
  {
    value: rate,
    lines: [
      { column: 'injected', label: 'injected', color: (t) => t.faint },
      { column: 'refused', label: 'refused', color: (t) => css(t.impaired) },
      { column: 'delivered', label: 'delivered', color: (t) => css(t.coming), fill: true },
    ],
  },
  {
    value: (v) => (v === 0 ? '–' : micro(v)),
    gaps: true,
    lines: [
      { column: 'p50', label: 'latency p50', color: (t) => css(t.coming) },
      { column: 'p99', label: 'p99', color: (t) => css(t.impaired) },
    ],
  },
  {
    value: rate,
    lines: [
      { column: 'lost', label: 'lost', color: (t) => css(t.cut), fill: true },
      { column: 'discarded', label: 'discarded', color: (t) => css(t.impaired) },
    ],
  },
  { value: rate, lines: [{ column: 'rerouted', label: 'rerouted', color: (t) => css(t.reroute), fill: true }] },
  { value: short, lines: [{ column: 'inFlight', label: 'packets in flight', color: (t) => css(t.silent), fill: true }] },
]

const mostRates = 3 // the latest
const rateColors: Line['color'][] = [(t) => css(t.reroute), (t) => css(t.firmware), (t) => css(t.impaired)]

// What is left of the plots: the figures of the vertical axis. The timeline keeps as much free, see --gutter in style.css.
const gutter = 56
const empty = 1.2 // the most of an axis without anything on it
const timeAxis = 16 // above the first, below the timeline

// round is 1, 2 or 5 times a power of ten, as large as fits.
function round(most: number): number {
  const power = 10 ** Math.floor(Math.log10(most))
  return (most >= 5 * power ? 5 : most >= 2 * power ? 2 : 1) * power
}

export class Charts {
  span: number = spans[0]
  private charts: uPlot[] = []
  private boxes: HTMLElement[] = []
  private plots: readonly Chart[] = [] // that of rates comes first, where programs say how fast they go
  private rates = '' // whose

  constructor(private readonly root: HTMLElement, private readonly store: Store, private readonly programs: ProgramWatch, private theme: Theme) {
    new ResizeObserver(() => this.resize()).observe(root)
    this.build()
  }

  // shown are the rates that are drawn.
  private get shown() { return this.programs.now.rates.slice(-mostRates) }

  private rateChart(): Chart[] {
    if (this.shown.length === 0) return []
    const lines = this.shown.map((r, i): Line => ({ column: 'rates', label: `${r.program}, ${r.unit}`, color: rateColors[i]! }))
    return [{ value: short, lines }]
  }

  setTheme(t: Theme): void {
    this.theme = t
    this.build()
  }

  // range is the time shown, in seconds since the fabric started.
  range(): [number, number] {
    const last = Math.max(this.store.history.data.at.at(-1) ?? 0, this.store.at, 1)
    return last < this.span ? [0, this.span] : [last - this.span, last]
  }

  draw(): void {
    if (this.rates !== this.rateNames()) {
      this.build()
      return
    }
    const [from, to] = this.range()
    const d = this.store.history.data
    // The part in view only: what is left of it would only be thrown away.
    const first = Math.max(0, d.at.findIndex((at) => at >= from) - 1)
    const at = d.at.slice(first)
    this.charts.forEach((c, i) => {
      const p = this.plots[i]!
      const of = (l: Line) => (l.column === 'rates' ? [] : d[l.column])
      const rates = p.lines[0]!.column === 'rates' ? this.shown : null
      const data = rates
        ? uPlot.join(rates.map((r) => rateLine(r, this.programs.now.at)))
        : ([at, ...p.lines.map((l) => of(l).slice(first).map((v) => (p.gaps && v === 0 ? null : v)))] as uPlot.AlignedData)
      c.batch(() => {
        c.setData(data, false)
        c.setScale('x', { min: from, max: to })
      })
      const now = this.boxes[i]!.querySelectorAll('b')
      p.lines.forEach((l, k) => { now[k]!.textContent = p.value((rates ? data[k + 1] as number[] : of(l)).findLast((v) => v !== null && v !== undefined) ?? 0) })
    })
  }

  // rated says whether there is a chart of rates.
  get rated(): boolean { return this.shown.length > 0 }

  private rateNames(): string { return this.shown.map((r) => `${r.nic} ${r.program} ${r.unit}`).join() }

  private size(box: HTMLElement): { width: number; height: number } {
    const plot = box.firstElementChild!
    return { width: Math.max(60, plot.clientWidth), height: Math.max(24, plot.clientHeight) }
  }

  private resize(): void {
    this.charts.forEach((c, i) => c.setSize(this.size(this.boxes[i]!)))
  }

  private build(): void {
    for (const c of this.charts) c.destroy()
    this.rates = this.rateNames()
    this.plots = [...this.rateChart(), ...plots]
    this.boxes = this.plots.map((p) => {
      const box = document.createElement('figure')
      box.setAttribute('aria-label', p.lines.map((l) => l.label).join(', '))
      box.dataset.testid = `chart-${p.lines.at(-1)!.column}`
      return box
    })
    this.root.replaceChildren(...this.boxes)
    this.charts = this.plots.map((p, i) => {
      const box = this.boxes[i]!
      const plot = document.createElement('div')
      const legend = document.createElement('figcaption')
      for (const l of p.lines) {
        const name = document.createElement('span')
        name.style.setProperty('--line', l.color(this.theme))
        name.append(l.label, ' ', document.createElement('b'))
        legend.append(name)
      }
      box.replaceChildren(plot, legend)
      return new uPlot(this.options(p, this.size(box)), [[], ...p.lines.map(() => [])] as uPlot.AlignedData, plot)
    })
    if (this.root.isConnected) this.draw()
  }

  private options(p: Chart, size: { width: number; height: number }): uPlot.Options {
    const { theme } = this
    const axis = { stroke: theme.faint, font: '10px ui-sans-serif, "DejaVu Sans", sans-serif', grid: { stroke: css(theme.idle, 0.5), width: 1 }, ticks: { show: false } }
    const first = p === this.plots[0]
    return {
      ...size,
      legend: { show: false },
      cursor: { sync: { key: 'weft' }, y: false, drag: { x: false, y: false } },
      padding: [first ? 0 : 5, 16, 3, 0], // the timeline keeps as much free at its right
      scales: { x: { time: false }, y: { range: (_, __, max) => [0, max > 0 ? max * 1.1 : empty] } },
      axes: [
        { ...axis, side: 0, size: first ? timeAxis : 0, gap: 2, space: 60, values: (_, ticks) => ticks.map((v) => (first ? clock(v).replace('.0', '') : '')) },
        { ...axis, size: gutter, gap: 4, splits: (_, __, ___, most) => [round(0.9 * most)], values: (u, ticks) => ticks.map((v) => (p.gaps && u.scales.y!.max === empty ? '' : p.value(v))) },
      ],
      series: [
        {},
        ...p.lines.map((l) => ({
          label: l.label, stroke: l.color(theme), width: 1.4, points: { show: false }, spanGaps: l.column === 'rates',
          ...(l.fill ? { fill: l.color(theme).replace(/,1\)$/, ',0.16)') } : {}),
        })),
      ],
      hooks: { draw: [(u) => this.marks(u)] },
    }
  }

  // marks draws a line where each fault began, and a fainter one where it ended.
  private marks(u: uPlot): void {
    const { ctx, bbox } = u
    ctx.save()
    ctx.lineWidth = Math.max(1, devicePixelRatio)
    const line = (at: number, color: string, dash: number[]) => {
      const x = u.valToPos(at, 'x', true)
      if (x < bbox.left || x > bbox.left + bbox.width) return
      ctx.strokeStyle = color
      ctx.setLineDash(dash)
      ctx.beginPath()
      ctx.moveTo(x, bbox.top)
      ctx.lineTo(x, bbox.top + bbox.height)
      ctx.stroke()
    }
    for (const r of this.store.faults.values()) {
      line(r.at, css(faultColor(r, this.theme)), [])
      if (r.restored_at) line(r.restored_at, css(this.theme.reroute, 0.8), [3, 3])
    }
    ctx.restore()
  }
}

export function faultColor(r: FaultReport, t: Theme) {
  if (r.kind === 'impair') return t.impaired
  return r.silent ? t.silent : t.cut
}
