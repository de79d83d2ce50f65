// The panels of what a large fabric is drawn by: pods, and the links between two of them; and the list of all pods.

import { html, nothing, type TemplateResult } from 'lit-html'
import { story } from '../map/look'
import type { Selection } from '../state/ui'
import type { Context } from './context'
import { count, percent, rate } from './format'

export function podPanel(x: Context, id: string): TemplateResult {
  const p = x.store.pod(id)!
  const v = p.view
  const open = x.store.open.has(id)
  const fact = (name: string, value: string, bad = false) => html`<div><dt>${name}</dt><dd class=${bad ? 'bad' : ''}>${value}</dd></div>`
  return html`
    <section data-testid="pod-panel">
      <h2><span class="kind">pod</span> ${id} <span class="dim">${count(p.switches.length)} switches, ${count(p.nics)} NICs, ${count(p.links)} links inside</span></h2>
      <div class="row">
        ${open
          ? html`<button data-testid="pod-close" @click=${() => x.closePod(id)}>Draw as one</button>`
          : html`<button data-testid="pod-open" @click=${() => x.openPods([id])}>Open <kbd>Enter</kbd></button>`}
      </div>
      <dl class="facts">
        ${fact('links up', `${count(v.links_up)} of ${count(p.links)}`, (v.links_up ?? 0) < p.links)}
        ${fact('faults', count(v.faults), (v.faults ?? 0) > 0)}
        ${fact('switches down', count(v.down), (v.down ?? 0) > 0)}
        ${fact('load', percent(v.load))} ${fact('busiest link', percent(v.most))}
        ${fact('lost', count(v.lost), (v.lost ?? 0) > 0)} ${fact('discarded', count(v.discarded), (v.discarded ?? 0) > 0)}
        ${fact('held', count(v.held))} ${fact('blocked', count(v.blocked))}
        ${fact('rerouted', rate(v.rerouted))} ${fact('U-turns', rate(v.u_turns))}
      </dl>
      <h3>Its switches</h3>
      <p>${p.switches.map((s) => html`<button class="chip" @click=${() => reveal(x, { kind: 'switch', id: s })}>${s}</button>`)}</p>
    </section>
  `
}

// reveal selects a switch, NIC or link, and opens the pods that it is in.
export function reveal(x: Context, s: Selection): void {
  const pods = x.store.podsOf(s.id)
  if (pods.length > 0) x.openPods(pods)
  x.ui.select(s)
  x.map.show(s)
}

export function bundlePanel(x: Context, id: string): TemplateResult {
  const i = x.store.link(id)!
  const l = x.store.topology!.links[i]!
  const v = x.store.links[i]!
  const s = story(v)
  const closed = [l.a, l.b].filter((e) => x.store.pod(e))
  const row = (from: string, to: string, load = 0, r = 0) => html`
    <tr>
      <th scope="row"><button class="text" @click=${() => x.ui.select({ kind: 'switch', id: from })}>${from}</button> → ${to}</th>
      <td>${rate(r)}</td>
      <td><meter min="0" max="1" value=${Math.min(1, load)} title="load ${percent(load)}"></meter> ${percent(load)}</td>
    </tr>`
  return html`
    <section data-testid="bundle-panel">
      <h2><span class="kind">links</span> ${l.a} – ${l.b}</h2>
      <p class="state ${s}"><i class="mark ${s}"></i>${count(v.up)} of ${count(v.total)} links up${v.faults ? html`, <b class="bad">${count(v.faults)} not well</b>` : nothing}</p>
      <table class="figures">
        <thead><tr><th scope="col">direction</th><th scope="col">rate of all</th><th scope="col">mean load</th></tr></thead>
        <tbody>${row(l.a, l.b, v.load_ab, v.rate_ab)} ${row(l.b, l.a, v.load_ba, v.rate_ba)}</tbody>
      </table>
      <p class="facts">lost on them <b>${count(v.lost)}</b></p>
      <div class="row">${closed.map((p) => html`<button data-testid="pod-open" @click=${() => x.openPods([p])}>Open ${p}</button>`)}</div>
      <p class="hint">Each link is drawn by itself when the pods at both its ends are open.</p>
    </section>
  `
}

// closedPanel is of something in a pod that is not open.
export function closedPanel(x: Context, s: Selection): TemplateResult {
  return html`
    <section>
      <h2><span class="kind">${s.kind}</span> ${s.id}</h2>
      <p class="hint">It is in ${x.store.podsOf(s.id).join(' and ')}, drawn as one.</p>
      <div class="row"><button data-testid="pod-open" @click=${() => reveal(x, s)}>Open</button></div>
    </section>
  `
}

// podList is all pods: those with faults first, then by load.
export function podList(x: Context): TemplateResult | typeof nothing {
  const pods = x.store.full?.pods
  if (!pods) return nothing
  const list = pods.map((p, i) => ({ p, v: x.store.pods[i] ?? { i } }))
  list.sort((a, b) => (b.v.faults ?? 0) - (a.v.faults ?? 0) || (b.v.load ?? 0) - (a.v.load ?? 0) || a.v.i - b.v.i)
  return html`
    <details open class="pods" data-testid="pods">
      <summary>Pods <span class="dim">${count(pods.length)}, ${count(x.store.open.size)} open</span>
        ${x.store.open.size > 0 ? html`<button class="text" @click=${(e: Event) => {
          e.preventDefault()
          x.closeAll()
        }}>draw all as one</button>` : nothing}</summary>
      <table class="figures">
        <thead><tr><th scope="col">pod</th><th scope="col">load</th><th scope="col">links up</th><th scope="col">faults</th><th scope="col" title="packets lost on its links, and ended by its switches">drops</th></tr></thead>
        <tbody>
          ${list.map(({ p, v }) => html`
            <tr data-pod=${p.id}>
              <th scope="row"><button class="text" @click=${() => x.ui.select({ kind: 'switch', id: p.id })}>${p.id}</button>${x.store.open.has(p.id) ? html` <span class="dim">open</span>` : nothing}</th>
              <td>${percent(v.load)}</td>
              <td class=${(v.links_up ?? 0) < p.links ? 'bad' : ''}>${count(v.links_up)}/${count(p.links)}</td>
              <td class=${v.faults ? 'bad' : ''}>${count(v.faults)}</td>
              <td class=${(v.lost ?? 0) + (v.discarded ?? 0) > 0 ? 'warn' : ''}>${count((v.lost ?? 0) + (v.discarded ?? 0))}</td>
            </tr>`)}
        </tbody>
      </table>
    </details>
  `
}

// hoverMany is the line about a pod, or the links of two, that the pointer is on.
export function hoverMany(x: Context, id: string): TemplateResult {
  const p = x.store.pod(id)
  if (p) {
    const v = p.view
    return html`<div class="hoverline"><b>${id}</b> load ${percent(v.load)} · links ${count(v.links_up)} of ${count(p.links)}
      · ${v.faults ? html`<b class="bad">${count(v.faults)} faults</b>` : 'no faults'} · dropped ${count((v.lost ?? 0) + (v.discarded ?? 0))}</div>`
  }
  const v = x.store.links[x.store.link(id)!]!
  return html`<div class="hoverline"><b>${id}</b> ${count(v.up)} of ${count(v.total)} links up${v.faults ? `, ${v.faults} not well` : ''}
    · → ${rate(v.rate_ab)} ${percent(v.load_ab)} · ← ${rate(v.rate_ba)} ${percent(v.load_ba)}</div>`
}

