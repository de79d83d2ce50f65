// Who talks to whom: the connections of programs that have NICs, what each NIC carries, and how fast programs say that they go.

import { html, nothing, type TemplateResult } from 'lit-html'
import type { ProgramConnection } from '../net/types'
import { connectionKey, silence, type Way } from '../state/programs'
import type { Context } from './context'
import { byteRate, bytes, count, short, span } from './format'

const most = 100 // connections shown of each kind
type End = ProgramConnection['a']

export function programsPanel(x: Context): TemplateResult {
  const p = x.programs.now
  const [going, ended] = [p.connections.filter((c) => !c.ended), p.connections.filter((c) => c.ended)]
  return html`
    <section data-testid="programs-panel">
      <h2>Programs</h2>
      ${x.programs.error ? html`<p class="bad" role="alert">${x.programs.error}</p>` : nothing}
      ${p.silent_hosts?.length ? html`<p class="warn">no answer from ${p.silent_hosts.join(', ')}</p>` : nothing}
      ${x.programs.any
        ? nothing
        : html`<p class="hint">No program has a NIC. Start one: <code>linkmon exec ${x.store.full?.nics[0]?.id} -- iperf3 --server</code></p>`}
      ${rates(x)}
      ${p.nics.length > 0 ? nics(x) : nothing}
      ${going.length > 0 ? html`<h3>Who talks to whom <span class="dim">${count(going.length)}</span></h3>${list(x, going)}` : nothing}
      ${ended.length > 0 ? html`<details class="ended"><summary>ended <span class="dim">${count(ended.length)}</span></summary>${list(x, ended)}</details>` : nothing}
      ${p.omitted ? html`<p class="dim">and ${count(p.omitted)} more that are not told</p>` : nothing}
    </section>
  `
}

function rates(x: Context): TemplateResult | typeof nothing {
  const list = x.programs.now.rates
  if (list.length === 0) return nothing
  return html`
    <h3>How fast they go</h3>
    <ul>${list.toReversed().map((r) => {
      const quiet = silence(r)
      return html`
        <li data-testid="program-rate"><b>${r.program}</b> <span class="dim">from ${nic(x, r.nic)}</span>
          <b>${short(r.points.at(-1)?.value)} ${r.unit}</b>
          ${r.ended ? html`<span class="dim">at its end</span>` : quiet > 0 ? html`<span class="bad">silent for ${quiet.toFixed(0)} s</span>` : nothing}</li>`
    })}</ul>
  `
}

function nics(x: Context): TemplateResult {
  return html`
    <h3>NICs</h3>
    <table class="figures" data-testid="program-nics">
      <thead><tr><th scope="col">NIC</th><th scope="col">programs</th><th scope="col">in</th><th scope="col">out</th></tr></thead>
      <tbody>${x.programs.now.nics.slice(0, most).map((n) => html`
        <tr data-nic=${n.nic}><th scope="row">${nic(x, n.nic)}</th><td>${n.programs.join(', ')}</td>
          <td>${byteRate(n.in_bytes_per_second)}</td><td>${byteRate(n.out_bytes_per_second)}</td></tr>`)}</tbody>
    </table>
  `
}

const nic = (x: Context, id: string) => html`<button class="text" @click=${() => x.ui.select({ kind: 'nic', id })}>${id}</button>`

// list is connections, of which the chosen one has its details below it.
export function list(x: Context, all: ProgramConnection[]): TemplateResult {
  const chosen = x.programs.chosen ? connectionKey(x.programs.chosen) : ''
  return html`
    <ul class="talks">
      ${all.slice(0, most).map((c) => {
        const open = connectionKey(c) === chosen
        return html`
          <li data-testid="program-connection" data-key=${connectionKey(c)}>
            <button class="text" aria-expanded=${open} @click=${() => x.programs.choose(open ? null : c)}>
              <span>${name(c.a)} <i class="mark ${state(c)}" title=${state(c)}></i> ${name(c.b)}</span>
              <span class="dim">${brief(c)}</span>
            </button>
            ${open ? details(x, c) : nothing}
          </li>`
      })}
    </ul>
    ${all.length > most ? html`<p class="dim">and ${count(all.length - most)} more: GET /api/v1/programs</p>` : nothing}
  `
}

const name = (e: End) => html`<b>${e.program || '?'}</b> ${e.nic || e.address}`

// state is a class of marks: green, red, grey.
function state(c: ProgramConnection): string {
  if (c.ended) return 'down'
  return c.a.standing_seconds + c.b.standing_seconds > 0.5 ? 'cut' : 'up'
}

function brief(c: ProgramConnection): TemplateResult {
  const still = Math.max(c.a.standing_seconds, c.b.standing_seconds)
  const again = c.a.resent_bytes + c.b.resent_bytes
  return html`→ ${c.ended ? bytes(c.a.bytes) : byteRate(c.a.bytes_per_second)} · ← ${c.ended ? bytes(c.b.bytes) : byteRate(c.b.bytes_per_second)}${
    again > 0 ? ` · sent again ${bytes(again)}` : ''}${still > 0.5 && !c.ended ? html` · <b class="bad">stands still for ${span(still)}</b>` : nothing}`
}

function details(x: Context, c: ProgramConnection): TemplateResult {
  const row = (what: string, of: (e: End) => unknown) => html`<tr><th scope="row">${what}</th><td>${of(c.a)}</td><td>${of(c.b)}</td></tr>`
  return html`
    <table class="figures report" data-testid="connection-details">
      <thead><tr><th></th><th scope="col">${c.a.nic ? nic(x, c.a.nic) : 'outside'}</th><th scope="col">${c.b.nic ? nic(x, c.b.nic) : 'outside'}</th></tr></thead>
      <tbody>
        ${row('program', (e) => `${e.program || 'not known'}${e.pid ? `, process ${e.pid}` : ''}`)}
        ${row('address', (e) => e.address)} ${row('sent', (e) => bytes(e.bytes))} ${row('now', (e) => byteRate(e.bytes_per_second))}
        ${row('sent again', (e) => bytes(e.resent_bytes))} ${row('stood still', (e) => span(e.longest_standstill_seconds))}
      </tbody>
    </table>
    ${paths(x, c)}
  `
}

function paths(x: Context, c: ProgramConnection): TemplateResult {
  if (c.ended) return html`<p class="hint">It has ended: no packets take a path.</p>`
  if (!x.client.mayAct) return html`<p class="hint">To see its paths takes a token that may operate: packets are traced.</p>`
  if (x.programs.traceError) return html`<p class="bad" role="alert">${x.programs.traceError}</p>`
  const ways = [[c.a.nic, c.b.nic], [c.b.nic, c.a.nic]].flatMap(([src, dst]) => x.programs.ways(src ?? '', dst ?? ''))
  if (ways.length === 0) return html`<p class="hint">tracing packets…</p>`
  return html`<h3>Paths of the latest packets</h3><ul data-testid="connection-paths">${ways.map(path)}</ul>`
}

const path = (w: Way) => html`<li class="way">${w.nodes.join(' → ')} <span class="dim">${w.packets}×</span>
  ${w.end === 'lost' || w.end === 'discarded' ? html`<b class="bad">${w.end}</b>` : nothing}</li>`

// ofNic is what a NIC's own panel says of its programs.
export function ofNic(x: Context, id: string): TemplateResult | typeof nothing {
  const n = x.programs.nic(id)
  const all = x.programs.now.connections.filter((c) => c.a.nic === id || c.b.nic === id)
  if (!n && all.length === 0) return nothing
  const fact = (what: string, value: string) => html`<div><dt>${what}</dt><dd>${value}</dd></div>`
  return html`
    ${n
      ? html`<h3>Programs <span class="dim">${n.programs.join(', ')}</span></h3>
          <dl class="facts" data-testid="nic-bytes">
            ${fact('in', byteRate(n.in_bytes_per_second))} ${fact('out', byteRate(n.out_bytes_per_second))}
            ${fact('all in', bytes(n.in_bytes))} ${fact('all out', bytes(n.out_bytes))}
          </dl>`
      : nothing}
    ${list(x, all)}
  `
}
