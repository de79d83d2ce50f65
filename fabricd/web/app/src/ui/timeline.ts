// The timeline: each fault as a bar from when it began to when it was repaired. A click opens its report.

import { html, svg, type TemplateResult } from 'lit-html'
import type { FaultReport } from '../net/types'
import { spans, type Charts } from './charts'
import type { Context } from './context'
import { clock } from './format'

const lanes = 3

export function timeline(x: Context, charts: Charts): TemplateResult {
  const [from, to] = charts.range()
  const shown = [...x.store.faults.values()].filter((r) => (r.restored_at ?? Infinity) >= from && r.at <= to)
  const free: number[] = new Array<number>(lanes).fill(-Infinity)
  const at = (t: number) => ((Math.min(Math.max(t, from), to) - from) / (to - from)) * 100
  return html`
    <div class="timeline" data-testid="timeline">
      <span class="dim">faults</span>
      <svg role="list" aria-label="faults over time">
        ${shown.map((r) => {
          const least = (to - from) * 0.012
          const end = Math.max(r.restored_at ?? x.store.at, r.at + least)
          let lane = free.findIndex((f) => f <= r.at)
          if (lane < 0) lane = r.id % lanes
          free[lane] = end
          return bar(x, r, at(r.at), at(end), lane)
        })}
      </svg>
      <div class="spans" role="group" aria-label="time shown">
        ${spans.map((s) => html`
          <button class="text" aria-pressed=${charts.span === s} @click=${() => {
            charts.span = s
            x.ui.changed()
          }}>${s / 60}m</button>`)}
      </div>
    </div>
  `
}

function bar(x: Context, r: FaultReport, from: number, to: number, lane: number): TemplateResult {
  const open = () => {
    x.ui.fault = r.id
    x.ui.show('faults')
  }
  return svg`
    <g role="listitem">
      <rect class="bar ${r.kind} ${r.silent ? 'silent' : ''} ${r.restored_at ? '' : 'lasting'} ${x.ui.fault === r.id ? 'open' : ''}"
        x="${from}%" width="${Math.max(0.4, to - from)}%" y=${2 + lane * 8} height="6" rx="2"
        role="button" tabindex="0" aria-label="fault ${r.id}: ${r.what}" data-testid="timeline-fault" data-fault=${r.id}
        @click=${open} @keydown=${(e: KeyboardEvent) => (e.key === 'Enter' || e.key === ' ') && open()}>
        <title>${r.id}: ${r.what}, ${clock(r.at)}${r.restored_at ? ` to ${clock(r.restored_at)}` : ', lasts'}</title>
      </rect>
    </g>` as unknown as TemplateResult
}
