// The fabric at a glance: what it is, the ledger, what its packets went through, and what the map shows.

import { html, nothing, type TemplateResult } from 'lit-html'
import { story, storyText, type LinkStory } from '../map/look'
import { layers, layerText } from '../state/ui'
import type { Sample } from '../net/types'
import type { Context } from './context'
import { firmwares, rollout } from './firmware'
import { count, micro, rate, short } from './format'
import { podList } from './podpanel'
import { unwell } from './unwell'

export function fabricPanel(x: Context): TemplateResult {
  const t = x.store.full
  if (!t) return html`<p class="hint">waiting for fabricd…</p>`
  return html`
    <section data-testid="fabric-panel">
      ${deadlock(x)}
      <h2>${x.status?.name ?? 'Fabric'} <span class="dim">${t.spec}</span></h2>
      <p class="facts">
        <b data-testid="switch-count">${count(t.switches.length)}</b> switches, <b>${count(t.nics.length)}</b> NICs,
        <b data-testid="link-count">${count(t.links.length)}</b> links
      </p>
      <p class="facts">${x.status?.routing ? html`routing <b>${x.status.routing}</b>` : nothing}
        ${x.store.traffic ? html` · traffic <b>${x.store.traffic}</b>` : html` · no traffic`}</p>
      ${firmwares(x)} ${rollout(x)}
      ${faulty(x)} ${podList(x)} ${ledger(x)} ${totals(x)} ${jobs(x)}
      <h3>On the map</h3>
      <div class="layers">
        ${layers.map((l) => html`
          <label><input type="checkbox" .checked=${x.ui.kept.layers[l]} data-testid="layer-${l}"
            @change=${() => {
              x.ui.toggle(l)
              x.map.refresh()
            }} /> ${layerText[l]}</label>`)}
      </div>
    </section>
  `
}

// jobs are the computations that agents do at the server of this fabric.
function jobs(x: Context): TemplateResult | typeof nothing {
  if (x.jobs.length === 0) return nothing
  return html`
    <h3>Jobs</h3>
    ${x.jobs.map((j) => html`
      <div class="job" data-testid="job">
        <p class="facts" title=${j.command}><b>${j.id}</b> ${j.command}</p>
        <progress max=${Math.max(1, j.pieces)} value=${j.done} aria-label="done of job ${j.id}"></progress>
        <p class=${j.given_up > 0 || j.state === 'failed' ? 'bad' : 'dim'}>${j.state}: ${count(j.done)} of ${count(j.pieces)} ${j.what}${
          j.given_up > 0 ? `, ${count(j.given_up)} given up` : ''}${j.hosts.map((h) => ` · ${h.name} ${h.rate.toPrecision(2)}/s`)}</p>
      </div>`)}
  `
}

function deadlock(x: Context): TemplateResult | typeof nothing {
  const cycle = x.store.deadlock
  if (cycle.length === 0) return nothing
  return html`
    <div class="alarm" role="alert" data-testid="cycle">
      <b>Deadlock: ${cycle.length} channels wait for one another</b>
      <ol>
        ${cycle.map((c) => {
          const l = x.store.topology!.links[c.link]
          if (!l) return nothing
          return html`<li><button class="text" @click=${() => x.ui.select({ kind: 'link', id: l.id })}>
            ${c.dir === 'ab' ? l.a : l.b} → ${c.dir === 'ab' ? l.b : l.a}</button> <span class="dim">vc ${c.vc ?? 0}</span></li>`
        })}
      </ol>
    </div>
  `
}

function faulty(x: Context): TemplateResult {
  const t = x.store.topology!
  const by = new Map<LinkStory | 'partly', string[]>()
  x.store.links.forEach((l, i) => {
    const now = story(l)
    if (now === 'up') return
    const s = now === 'impaired' && l.total ? 'partly' : now
    const list = by.get(s) ?? []
    list.push(t.links[i]!.id)
    by.set(s, list)
  })
  const down = t.switches.filter((_, i) => x.store.switches[i]!.state !== 'up')
  if (by.size === 0 && down.length === 0) {
    const wrong = unwell(x.store)
    return html`<p class=${wrong ? 'dim' : 'good'} data-testid="all-well">all links and switches are up${wrong ? ', and yet: ' + wrong.text : ''}</p>`
  }
  return html`
    <div class="faulty" data-testid="faulty">
      ${[...by].map(([s, ids]) => html`
        <details open><summary><i class="mark ${s}"></i>${s === 'partly' ? 'bundles with links that are not well' : storyText[s]}: ${ids.length}</summary>
          ${ids.slice(0, 24).map((id) => html`<button class="chip" @click=${() => x.ui.select({ kind: 'link', id })}>${id}</button>`)}
          ${ids.length > 24 ? html`<span class="dim">and ${ids.length - 24} more</span>` : nothing}
        </details>`)}
      ${down.length
        ? html`<details open><summary>switches down: ${down.length}</summary>
            ${down.slice(0, 24).map((s) => html`<button class="chip" @click=${() => x.ui.select({ kind: 'switch', id: s.id })}>${s.id}</button>`)}</details>`
        : nothing}
    </div>
  `
}

// ledger shows where every packet is as parts of a bar, and the sum.
function ledger(x: Context): TemplateResult | typeof nothing {
  const l = x.store.ledger
  if (!l) return nothing
  const row = (name: string, n: number | undefined, cls = '') => html`<tr class=${cls}><th scope="row">${name}</th><td>${count(n)}</td></tr>`
  return html`
    <h3>Ledger <span class=${l.balanced ? 'good' : 'dim'} data-testid="ledger-balanced">${l.balanced ? 'balanced' : 'being counted'}</span></h3>
    <table class="figures ledger" data-testid="ledger">
      <tbody>
        ${row('injected', l.injected, 'sum')} ${row('= delivered', l.delivered)}
        ${row('+ lost', l.lost, l.lost ? 'bad' : '')}
        ${l.lost ? html`<tr class="sub"><td colspan="2">${count(l.lost_wire)} on the wire, ${count(l.lost_queued)} queued, ${count(l.lost_crash)} in crashed switches</td></tr>` : nothing}
        ${row('+ discarded', l.discarded, l.discarded ? 'warn' : '')}
        ${Object.entries(l.discarded_by ?? {}).map(([rule, n]) => html`<tr class="sub"><td colspan="2">${count(n)} by the rule “${rule}”</td></tr>`)}
        ${row('+ in flight', l.in_flight)}
      </tbody>
    </table>
  `
}

// managers tells who manages a fabric of InfiniBand, and what has come of it.
function managers(m: Sample['management']): TemplateResult | typeof nothing {
  if (!m) return nothing
  const ports = ['active', 'armed', 'init', 'down'].filter((s) => m.ports[s]).map((s) => `${count(m.ports[s])} ${s}`)
  return html`
    <h3>Subnet managers</h3>
    <p class="facts" data-testid="managers">
      ${m.managers.length ? m.managers.map((who) => html`${who}<br>`) : html`none${m.held ? ': NICs wait for one' : ''}<br>`}
      ports: ${ports.join(', ')}
      ${m.cycle ? html`<br><span class="warn" data-testid="cycle">${m.cycle}</span>` : nothing}
    </p>`
}

function totals(x: Context): TemplateResult | typeof nothing {
  const t = x.store.totals
  const s = x.store.sample
  if (!t || !s) return nothing
  const fact = (name: string, value: string) => html`<div><dt>${name}</dt><dd>${value}</dd></div>`
  return html`
    ${managers(s.management)}
    <h3>Now</h3>
    <dl class="facts">${fact('delivered', rate(s.delivered_per_second))} ${fact('in flight', short(s.in_flight))}</dl>
    <h3>Since the start</h3>
    <dl class="facts">
      ${fact('latency p50', micro(t.latency?.p50_us))} ${fact('p99', micro(t.latency?.p99_us))}
      ${fact('switches crossed', (t.mean_hops ?? 0).toFixed(2))} ${fact('stretch', (t.mean_stretch ?? 0).toFixed(3))}
      ${fact('rerouted', short(t.rerouted))} ${fact('U-turns', short(t.u_turns))}
      ${fact('reordered', short(t.reordered))} ${fact('packet hops', short(t.packet_hops))}
    </dl>
  `
}
