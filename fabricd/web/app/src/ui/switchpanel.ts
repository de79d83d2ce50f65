// The panels of a switch, which is asked twice a second, and of a NIC.

import { html, nothing, type TemplateResult } from 'lit-html'
import { story } from '../map/look'
import type { ForwardingEntry, PortDetail, SwitchDetail } from '../net/switch'
import type { Context } from './context'
import { count, rate, short } from './format'
import { firmwarePart } from './firmware'
import { faultsOf } from './linkpanel'
import { ofNic } from './programspanel'

export function switchPanel(x: Context, id: string): TemplateResult {
  const i = x.store.switchOf(id)
  if (i === undefined) return html`<p class="hint">There is no switch ${id} in this fabric.</p>`
  const node = x.store.topology!.switches[i]!
  const v = x.store.switches[i]!
  const place = node.tier !== undefined ? `tier ${node.tier}` : node.coord ? `at (${node.coord.join(', ')})` : ''
  const may = x.client.mayAct
  const d = x.watch.id === id ? x.watch.detail : null
  return html`
    <section data-testid="switch-panel">
      <h2><span class="kind">switch</span> ${id} <span class="dim">${place}</span></h2>
      <p class="state" data-testid="switch-state" data-state=${v.state}>
        ${v.state === 'up' ? 'up' : v.state === 'down' ? html`<b class="bad">crashed</b>` : html`<b class="warn">does not answer</b>`}
      </p>
      <div class="row">
        <button class="bad" data-testid="crash" ?disabled=${!may || v.state === 'down'} @click=${() => void x.actions.crash(id)}>Crash <kbd>x</kbd></button>
        <button class="good" data-testid="restart" ?disabled=${!may || v.state !== 'down'} @click=${() => void x.actions.restart(id)}>Restart <kbd>r</kbd></button>
      </div>
      <dl class="facts">
        <div><dt>held</dt><dd>${count(v.held)}</dd></div>
        <div><dt>blocked</dt><dd>${count(v.blocked)}</dd></div>
        <div><dt>rerouted</dt><dd>${rate(v.rerouted)}</dd></div>
        <div><dt>U-turns</dt><dd>${rate(v.u_turns)}</dd></div>
      </dl>
      ${v.vector ? html`<p data-testid="vector"><span class="dim">re-route vector</span> <code class="warn">${v.vector}</code></p>` : nothing}
      ${x.watch.error ? html`<p class="bad">${x.watch.error}</p>` : nothing}
      ${firmwarePart(x, id, d)}
      ${d ? inside(x, id, d) : html`<p class="hint">asking the switch…</p>`} ${faultsOf(x, id)}
    </section>
  `
}

function inside(x: Context, id: string, d: SwitchDetail): TemplateResult {
  return html`
    ${d.process ? html`<p class="facts">a process of its own: <code>${d.process}</code></p>` : nothing}
    <h3>Ports and channels</h3>
    <table class="figures ports">
      <thead>
        <tr><th scope="col">port</th><th scope="col">vc</th><th scope="col">in</th><th scope="col">out</th><th scope="col" title="packets that the neighbour can take">credits</th><th scope="col">began to wait</th></tr>
      </thead>
      <tbody>${d.ports.map((p) => port(x, id, p))}</tbody>
    </table>
    ${waiting(d)} ${registers(d)} ${discards(d)} ${table(d.forwarding)}
  `
}

function port(x: Context, id: string, p: PortDetail): TemplateResult[] {
  const i = x.store.linkAt(id, p.port)
  const link = i === undefined ? null : x.store.topology!.links[i]!
  const s = i === undefined ? 'up' : story(x.store.links[i]!)
  return p.vcs.map((vc, k) => {
    const stalls = Object.entries(vc.stalls)
    return html`
      <tr class=${k === 0 ? 'first' : ''}>
        ${k === 0
          ? html`<th scope="rowgroup" rowspan=${p.vcs.length}>
              ${p.port} ${link ? html`<button class="text" @click=${() => x.ui.select({ kind: 'link', id: link.id })}>${p.peer}</button>` : (p.peer ?? 'leads nowhere')}
              ${link ? html`<br /><i class="mark ${s}"></i><span class="dim">${p.state}${p.held ? ', held' : ''}</span>` : nothing}
            </th>`
          : nothing}
        <td>${vc.vc}</td><td>${vc.input}</td><td>${vc.output}</td><td>${vc.credits}</td>
        <td class="stalls">${stalls.map(([why, c]) => html`<span>${why.replaceAll('_', ' ')} ${short(c)}</span> `)}</td>
      </tr>
    `
  })
}

function waiting(d: SwitchDetail): TemplateResult | typeof nothing {
  if (d.waiting.length === 0) return nothing
  return html`
    <h3>Waiting for room <span class="dim">${d.waiting.length}</span></h3>
    <ul class="plain">
      ${d.waiting.slice(0, 12).map((w) => html`<li>${w.src} → ${w.dst} <span class="dim">#${w.seq} in ${w.in}.${w.in_vc}, for ${w.for.map((o) => `${o.port}.${o.vc}`).join(' or ')}</span></li>`)}
    </ul>
  `
}

function registers(d: SwitchDetail): TemplateResult | typeof nothing {
  if (d.registers.length === 0) return nothing
  // Those that are set come first; most never are.
  const set = d.registers.filter((r) => /1/.test(r.value.slice(2)))
  const one = (r: SwitchDetail['registers'][number]) => html`<code class=${set.includes(r) ? 'set' : ''}>${r.name} ${r.value.slice(2)}${r.expires_in_s ? html` <span class="dim">${r.expires_in_s.toFixed(0)} s</span>` : nothing}</code> `
  return html`
    <h3>Re-route vector and other registers</h3>
    <p class="registers">${set.length > 0 ? set.map(one) : html`<span class="dim">all zero</span>`}</p>
    <details><summary>all ${d.registers.length}</summary><p class="registers">${d.registers.map(one)}</p></details>
  `
}

function discards(d: SwitchDetail): TemplateResult | typeof nothing {
  const list = Object.entries(d.discards ?? {})
  if (list.length === 0) return nothing
  return html`<h3>Discards</h3><ul class="plain">${list.map(([rule, n]) => html`<li><b>${count(n)}</b> ${rule}</li>`)}</ul>`
}

function table(t: ForwardingEntry[] | undefined): TemplateResult | typeof nothing {
  if (!t || t.length === 0) return nothing
  const shown = t.slice(0, 2000)
  return html`
    <details>
      <summary>Forwarding table, ${count(t.length)} entries</summary>
      <div class="lft">${shown.map((e) => html`<span title=${e.in === undefined ? 'wherever it comes in' : `coming in by ${e.in}.${e.in_vc ?? 0}`}>${e.dst} <b>${e.port < 0 ? '–' : `${e.port}.${e.vc}`}</b></span>`)}</div>
      ${t.length > shown.length ? html`<p class="dim">and ${count(t.length - shown.length)} more: GET /api/v1/switches/…</p>` : nothing}
    </details>
  `
}

export function nicPanel(x: Context, id: string): TemplateResult {
  const i = x.store.nic(id)
  if (i === undefined) return html`<p class="hint">There is no NIC ${id} in this fabric.</p>`
  const n = x.store.topology!.nics[i]!
  const link = x.store.linksAt(id)[0]
  const follow = (src: string, dst: string) => {
    x.flow.set(src, dst)
    x.ui.show('flow')
  }
  return html`
    <section data-testid="nic-panel">
      <h2><span class="kind">NIC</span> ${id}</h2>
      <p class="facts">at <button class="text" @click=${() => x.ui.select({ kind: 'switch', id: n.switch })}>${n.switch}</button> port ${n.switch_port}
        ${link === undefined
          ? nothing
          : html` by <button class="text" @click=${() => x.ui.select({ kind: 'link', id: x.store.topology!.links[link]!.id })}>its link</button>`}</p>
      <div class="row">
        <button @click=${() => follow(id, x.flow.dst)}>Trace from here</button>
        <button @click=${() => follow(x.flow.src, id)}>Trace to here</button>
      </div>
      ${ofNic(x, id)}
    </section>
  `
}
