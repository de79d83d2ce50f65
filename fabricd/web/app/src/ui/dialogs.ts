// What lies over the page for a moment: the keys, the search, the picker of fabrics.

import { html, nothing, type TemplateResult } from 'lit-html'
import type { Selection } from '../state/ui'
import type { Context } from './context'
import { reveal } from './podpanel'

export const keys: [string, string][] = [
  ['/', 'search a switch, NIC or link'],
  ['arrows', 'go to the next switch that way; without a selection: move the map'],
  ['[ ]', 'the links of the selected switch, one by one'],
  ['Enter', 'bring the selection into view; open a pod'],
  ['+ − 0', 'zoom in, out, all of it'],
  ['Esc', 'close, or select nothing'],
  ['c', 'link: cut'],
  ['C', 'link: cut silently'],
  ['o', 'link: cut one way, again: the other way'],
  ['f', 'link: flap'],
  ['i', 'link: impair (loss, delay, rate)'],
  ['r', 'link: restore; switch: restart'],
  ['x', 'switch: crash'],
  ['H', 'heal all'],
  ['u', 'undo what you did last'],
  ['k', 'cut on click: on, off (or Shift and click, or a double click)'],
  ['t', 'follow a flow'],
  ['1 2 3 4 5', 'fabric, selection, flow, faults, programs'],
  ['g', 'NICs on the map: on, off'],
  ['l', 'legend: on, off'],
  ['b', 'charts: on, off'],
  ['d', 'dark, light'],
  ['?', 'these keys'],
]

export function dialogs(x: Context): TemplateResult | typeof nothing {
  switch (x.ui.dialog) {
    case 'help':
      return box(x, 'Keys', 'help', html`<dl class="keys">${keys.map(([k, what]) => html`<div><dt>${k.split(' ').map((s) => html`<kbd>${s}</kbd> `)}</dt><dd>${what}</dd></div>`)}</dl>`)
    case 'search':
      return box(x, 'Search', 'search', search(x))
    case 'fabrics':
      return box(x, 'Fabrics on this machine', 'fabrics', fabrics(x))
    case '':
      return nothing
  }
}

function box(x: Context, title: string, id: string, body: TemplateResult): TemplateResult {
  return html`
    <div class="shade" @click=${(e: Event) => e.target === e.currentTarget && x.ui.open('')}>
      <div class="dialog ${id}" role="dialog" aria-modal="true" aria-label=${title} data-testid="${id}-dialog">
        <h2>${title} <button class="icon" aria-label="Close" @click=${() => x.ui.open('')}>×</button></h2>
        ${body}
      </div>
    </div>
  `
}

const most = 14
let query = ''
let at = 0

// find ranks names: those that are the query, begin with it, contain it.
export function find(x: Context, text: string): Selection[] {
  const t = x.store.full
  const q = text.trim().toLowerCase()
  if (!t || !q) return []
  const all: Selection[] = [
    ...(t.pods ?? []).map((p) => ({ kind: 'switch' as const, id: p.id })),
    ...t.switches.map((s) => ({ kind: 'switch' as const, id: s.id })),
    ...t.links.map((l) => ({ kind: 'link' as const, id: l.id })),
    ...t.nics.map((n) => ({ kind: 'nic' as const, id: n.id })),
  ]
  const rank = (id: string) => {
    const i = id.toLowerCase().indexOf(q)
    return i < 0 ? -1 : id.length === q.length ? 0 : i === 0 ? 1 : 2
  }
  const ranked = all.map((s) => ({ s, r: rank(s.id) })).filter((e) => e.r >= 0)
  return ranked.sort((a, b) => a.r - b.r).slice(0, most).map((e) => e.s)
}

function search(x: Context): TemplateResult {
  const found = find(x, query)
  const go = (s: Selection | undefined) => {
    if (!s) return
    x.ui.dialog = ''
    reveal(x, s)
  }
  return html`
    <input type="search" autocomplete="off" placeholder="s0.00, n012, s0.00-s1.10" aria-label="name" data-testid="search"
      .value=${query}
      @input=${(e: Event) => {
        query = (e.target as HTMLInputElement).value
        at = 0
        x.ui.changed()
      }}
      @keydown=${(e: KeyboardEvent) => {
        // Found anew: what was typed last may not have been drawn yet.
        if (e.key === 'Enter') go(find(x, query)[at])
        if (e.key === 'ArrowDown') at = Math.min(found.length - 1, at + 1)
        if (e.key === 'ArrowUp') at = Math.max(0, at - 1)
        if (e.key.startsWith('Arrow')) {
          e.preventDefault()
          x.ui.changed()
        }
      }} />
    <ul class="found" role="listbox">
      ${found.map((s, i) => html`<li role="option" aria-selected=${i === at}><button class="text" @click=${() => go(s)}><span class="kind">${x.store.pod(s.id) ? 'pod' : s.kind}</span> ${s.id}</button></li>`)}
    </ul>
    ${query && found.length === 0 ? html`<p class="hint">nothing by that name</p>` : nothing}
  `
}

// searchAnew empties the search for the next time.
export function searchAnew(): void {
  query = ''
  at = 0
}

function fabrics(x: Context): TemplateResult {
  return html`
    <ul class="found">
      ${x.fabrics.map((f) => {
        const page = f.page ?? ''
        const text = html`<b>${f.name}</b> <span class="dim">${f.topology ?? ''} ${f.routing ?? ''}</span>`
        return html`<li>${page && f.name !== x.status?.name ? html`<a href=${page}>${text}</a>` : html`<span>${text} ${f.name === x.status?.name ? '(this one)' : ''}</span>`}</li>`
      })}
    </ul>
    ${x.fabrics.length === 0 ? html`<p class="hint">none that fabricd knows of</p>` : nothing}
    <p class="hint">Another: <code>fabricd up --fabric lab2 --topology torus:8x8</code>. To act on it, open the URL that it prints.</p>
  `
}
