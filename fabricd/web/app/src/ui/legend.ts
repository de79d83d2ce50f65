// What the colours, dashes and badges of the map mean, and the one line about what the pointer is on.

import { html, nothing, svg, type TemplateResult } from 'lit-html'
import { css, scale, type Theme } from '../map/colors'
import { badges, look, story, storyText, type LinkStory } from '../map/look'
import type { LinkView } from '../net/types'
import type { Context } from './context'
import { firmwareMark } from './firmware'
import { percent, rate } from './format'
import { hoverMany } from './podpanel'

const samples: [LinkStory, Partial<LinkView>][] = [
  ['cut', { state: 'cut', cut_ab: 'signalled', cut_ba: 'signalled' }],
  ['silent', { state: 'cut', cut_ab: 'silent', cut_ba: 'silent', a_up: true, b_up: true }],
  ['noticed', { state: 'cut', cut_ab: 'silent', cut_ba: 'silent' }],
  ['flapping', { flapping: true }],
  ['impaired', { suffers_ab: 'loss', suffers_ba: 'loss' }],
  ['coming', { state: 'init' }],
  ['down', { state: 'down' }],
]

export function legend(x: Context): TemplateResult {
  const t = x.map.theme
  return html`
    <details class="legend" data-testid="legend" ?open=${x.ui.kept.legend}
      @toggle=${(e: Event) => {
        const { open } = e.target as HTMLDetailsElement
        if (open !== x.ui.kept.legend) x.ui.keep({ legend: open })
      }}>
      <summary>
        <span>load</span>
        <svg width="92" height="8" aria-label="from idle to full">${Array.from({ length: 23 }, (_, i) => svg`<rect x=${i * 4} width="4" height="8" fill=${css(scale(t, i / 22))} />`)}</svg>
        <span>legend <kbd>l</kbd></span>
      </summary>
      ${samples.map(([s, v]) => line(s, v, t))}
      <div><svg width="34" height="14" aria-hidden="true"><path d="M1 7h24" stroke=${css(t.deadlock)} stroke-width="3" stroke-dasharray="7 4" /><path d="M24 2l9 5l-9 5z" fill=${css(t.deadlock)} /></svg>deadlock: waits for the next</div>
      <div><svg width="34" height="14" aria-hidden="true"><path d="M11 1l12 12M23 1l-12 12" stroke=${css(t.cut)} stroke-width="2.5" /></svg>crashed switch</div>
      <div><svg width="34" height="14" aria-hidden="true"><circle cx="17" cy="7" r="5" fill="none" stroke=${css(t.reroute)} stroke-width="2.5" /></svg>reroutes packets</div>
      <div><svg width="34" height="14" aria-hidden="true"><path d="M13 11V6a4 4 0 0 1 8 0v4" fill="none" stroke=${css(t.uturn)} stroke-width="2" /><path d="M18 9h6l-3 4z" fill=${css(t.uturn)} /></svg>U-turns</div>
      <div><svg width="34" height="14" aria-hidden="true"><rect x="13" y="3" width="8" height="8" fill=${css(t.vector)} transform="rotate(45 17 7)" /></svg>re-route vector set</div>
      <div><svg width="34" height="14" aria-hidden="true"><rect x="11" y="1" width="12" height="12" rx="3" fill=${css(t.switchFill)} stroke=${css(t.switchBorder)} /><rect x="12" y="7" width="10" height="5" fill=${css(t.blocked)} /></svg>packets held, most blocked</div>
      <div><span class="slot">${firmwareMark(t, 1)}</span>runs another firmware than others</div>
    </details>
  `
}

function line(s: LinkStory, v: Partial<LinkView>, t: Theme): TemplateResult {
  const k = look({ i: 0, state: 'up', ...v }, t, true)
  const color = css(k.ab.color)
  return html`
    <div>
      <svg width="34" height="14" aria-hidden="true">
        <line x1="1" x2="33" y1="7" y2="7" stroke=${color} stroke-width="3" stroke-dasharray=${k.ab.dash.join(' ')} />
        <circle cx="17" cy="7" r="6" fill=${t.background} stroke=${color} />
        <text x="17" y="10.4" text-anchor="middle" font-size="9.5" font-weight="700" fill=${color}>${badges[s]}</text>
      </svg>${storyText[s]}
    </div>
  `
}

export function hoverLine(x: Context): TemplateResult | typeof nothing {
  const h = x.ui.hovered
  if (!h) return nothing
  const s = x.store
  if (s.standsForMany(h.id)) return hoverMany(x, h.id)
  if (h.kind === 'link') {
    const i = s.link(h.id)
    if (i === undefined) return nothing
    const v = s.links[i]!
    return html`<div class="hoverline"><b>${h.id}</b> ${storyText[story(v)]}
      · → ${rate(v.rate_ab)} ${percent(v.load_ab)} · ← ${rate(v.rate_ba)} ${percent(v.load_ba)}
      ${v.queued_ab || v.queued_ba ? `· queued ${(v.queued_ab ?? 0) + (v.queued_ba ?? 0)}` : ''} ${v.lost ? `· lost ${v.lost}` : ''}</div>`
  }
  const i = h.kind === 'switch' ? s.switchOf(h.id) : undefined
  const v = i === undefined ? undefined : s.switches[i]
  return html`<div class="hoverline"><b>${h.id}</b>
    ${v ? html`${v.state} · held ${v.held ?? 0}${v.blocked ? `, ${v.blocked} blocked` : ''}${v.rerouted ? ` · rerouted ${rate(v.rerouted)}` : ''}${v.vector ? ` · ${v.vector}` : ''}${v.routing ? ` · runs ${s.routings[v.routing - 1]}` : ''}` : h.kind}</div>`
}
