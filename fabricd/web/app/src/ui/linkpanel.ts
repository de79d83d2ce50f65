// The panel of a link: its state, both directions, and everything that can be done to it.

import { html, nothing, type TemplateResult } from 'lit-html'
import { keyed } from 'lit-html/directives/keyed.js'
import { story, storyText } from '../map/look'
import type { LinkEnds, LinkView } from '../net/types'
import { troubled } from '../state/actions'
import type { Direction } from '../state/spec'
import type { Context } from './context'
import { faultRow } from './faultspanel'
import { count, percent, rate } from './format'

export function linkPanel(x: Context, id: string): TemplateResult {
  const i = x.store.link(id)
  if (i === undefined) return html`<p class="hint">There is no link ${id} in this fabric.</p>`
  const ends = x.store.topology!.links[i]!
  const v = x.store.links[i]!
  const s = story(v)
  return html`
    <section data-testid="link-panel">
      <h2><span class="kind">link</span> ${id}</h2>
      <p class="state ${s}" data-testid="link-state" data-state=${v.state} data-story=${s}><i class="mark ${s}"></i>${storyText[s]}</p>
      ${directions(x, ends, v)} ${keyed(id, doing(x, id, ends, v))} ${faultsOf(x, id)}
    </section>
  `
}

function directions(x: Context, l: LinkEnds, v: LinkView): TemplateResult {
  const row = (from: string, to: string, port: number, load = 0, r = 0, queued = 0, up = false, cut = '', suffers = '', held = false) => html`
    <tr>
      <th scope="row">
        <button class="text" @click=${() => x.ui.select(node(x, from))}>${from}</button><span class="dim">:${port} →</span> ${to}
      </th>
      <td>${rate(r)}</td>
      <td><meter min="0" max="1" value=${Math.min(1, load)} title="load ${percent(load)}"></meter> ${percent(load)}</td>
      <td>${count(queued)}</td>
    </tr>
    <tr class="sub">
      <td colspan="4">
        ${cut ? html`<b class="bad">${cut === 'silent' ? 'cut silently' : 'cut'}</b> · ` : nothing}
        ${suffers ? html`<b class="warn">${suffers}</b> · ` : nothing}
        ${from} sees it ${up ? 'up' : html`<b class="bad">down</b>`}${held ? ', held by damping' : ''}
      </td>
    </tr>
  `
  // That a link which is simply up is seen up by both its ends goes without saying, in the stream too.
  const well = v.state === 'up' && !troubled(v)
  return html`
    <table class="figures">
      <thead><tr><th scope="col">direction</th><th scope="col">rate</th><th scope="col">load</th><th scope="col">queued</th></tr></thead>
      <tbody>
        ${row(l.a, l.b, l.a_port, v.load_ab, v.rate_ab, v.queued_ab, well || v.a_up, v.cut_ab, v.suffers_ab, v.held_a)}
        ${row(l.b, l.a, l.b_port, v.load_ba, v.rate_ba, v.queued_ba, well || v.b_up, v.cut_ba, v.suffers_ba, v.held_b)}
      </tbody>
    </table>
    <p class="facts">lost on it <b>${count(v.lost)}</b></p>
  `
}

function node(x: Context, id: string) {
  return { kind: x.store.nic(id) === undefined ? ('switch' as const) : ('nic' as const), id }
}

function doing(x: Context, id: string, l: LinkEnds, v: LinkView): TemplateResult {
  const may = x.client.mayAct
  const cut = (silent: boolean) => (e: Event) => {
    const o = options(e)
    void x.actions.cut(id, { ...o, silent })
  }
  return html`
    <form class="doing" @submit=${(e: Event) => e.preventDefault()}>
      <div class="row">
        <button type="button" class="bad" data-testid="cut" ?disabled=${!may} @click=${cut(false)}>✂ Cut <kbd>c</kbd></button>
        <button type="button" class="bad" data-testid="cut-silently" ?disabled=${!may} @click=${cut(true)}>Cut silently <kbd>C</kbd></button>
        <button type="button" class="good" data-testid="restore" ?disabled=${!may || !troubled(v)}
          @click=${(e: Event) => void x.actions.restore(id, options(e).direction)}>Restore <kbd>r</kbd></button>
      </div>
      <div class="row fields">
        <label>direction
          <select name="direction" data-testid="direction">
            <option value="">both</option>
            <option value="to">${l.a} → ${l.b}</option>
            <option value="from">${l.b} → ${l.a}</option>
          </select>
        </label>
        <label>for <input name="for" placeholder="until restored" size="9" data-testid="for" /></label>
      </div>
      <fieldset>
        <legend>Flap</legend>
        <div class="row fields">
          <label>period <input name="period" value="1s" size="4" /></label>
          <label>down <input name="duty" value="50%" size="4" /></label>
          <label>jitter <input name="flapjitter" placeholder="0ms" size="4" /></label>
          <button type="button" data-testid="flap" ?disabled=${!may} @click=${(e: Event) => {
            const f = values(e)
            void x.actions.flap(id, { period: f.period ?? '', duty: f.duty ?? '', jitter: f.flapjitter ?? '' }, options(e))
          }}>Flap <kbd>f</kbd></button>
        </div>
      </fieldset>
      <fieldset>
        <legend>Impair</legend>
        <div class="row fields">
          <label>loss <input name="loss" placeholder="10%" size="4" data-testid="loss" /></label>
          <label>delay <input name="delay" placeholder="5ms" size="4" data-testid="delay" /></label>
          <label>jitter <input name="jitter" placeholder="1ms" size="4" /></label>
          <label>rate <input name="rate" placeholder="1MB/s" size="6" data-testid="rate" /></label>
        </div>
        <div class="row">
          <button type="button" data-testid="impair" ?disabled=${!may} @click=${(e: Event) => {
            const f = values(e)
            void x.actions.impair(id, pick(f, ['loss', 'delay', 'jitter', 'rate']), options(e))
          }}>Impair <kbd>i</kbd></button>
          <button type="button" ?disabled=${!may || !(v.suffers_ab || v.suffers_ba)}
            @click=${() => void x.actions.impair(id, {}, { clear: true })}>Clear</button>
        </div>
      </fieldset>
    </form>
  `
}

function values(e: Event): Record<string, string> {
  const form = (e.currentTarget as HTMLElement).closest('form')!
  return Object.fromEntries([...new FormData(form)].map(([k, v]) => [k, String(v).trim()]))
}

function options(e: Event): { direction: Direction; for: string } {
  const f = values(e)
  return { direction: (f.direction ?? '') as Direction, for: f.for ?? '' }
}

function pick(f: Record<string, string>, names: string[]): Record<string, string> {
  return Object.fromEntries(names.filter((n) => f[n]).map((n) => [n, f[n]!]))
}

export function faultsOf(x: Context, target: string): TemplateResult | typeof nothing {
  const list = [...x.store.faults.values()].filter((r) => r.target === target).reverse().slice(0, 8)
  if (list.length === 0) return nothing
  return html`<h3>Its faults</h3><ul class="faults">${list.map((r) => faultRow(x, r))}</ul>`
}
