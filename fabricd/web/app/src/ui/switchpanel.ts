// The panels of a switch, which is asked twice a second, and of a NIC.

import { html, nothing, type TemplateResult } from 'lit-html'
import { story } from '../map/look'
import type { PortDetail, SwitchDetail, TableEntry } from '../net/switch'
import type { Context } from './context'
import { count, rate } from './format'
import { faultsOf } from './linkpanel'

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
        <button class="bad" data-testid="crash" ?disabled=${!may || v.state === 'down'} @click=${() => void x.actions.crash(id)}>Crash <kbd>c</kbd></button>
        <button class="good" data-testid="restart" ?disabled=${!may || v.state !== 'down'} @click=${() => void x.actions.restart(id)}>Restart <kbd>r</kbd></button>
      </div>
      <dl class="facts">
        <div><dt>held</dt><dd>${count(v.held)}</dd></div>
        <div><dt>blocked</dt><dd>${count(v.blocked)}</dd></div>
        <div><dt>rerouted</dt><dd>${rate(v.rerouted)}</dd></div>
        <div><dt>U-turns</dt><dd>${rate(v.uturns)}</dd></div>
      </dl>
      <p class="vector" data-testid="vector"><span class="dim">re-route vector</span> ${v.vector ? html`<code>${v.vector}</code>` : 'all zero'}</p>
      ${x.watch.error ? html`<p class="bad">${x.watch.error}</p>` : nothing}
      ${d ? inside(x, id, d) : html`<p class="hint">asking the switch…</p>`} ${faultsOf(x, id)}
    </section>
  `
}

function inside(x: Context, id: string, d: SwitchDetail): TemplateResult {
  return html`
    <h3>Ports</h3>
    <table class="figures ports">
      <thead>
        <tr><th scope="col">port</th><th scope="col">vc</th><th scope="col">in</th><th scope="col">out</th><th scope="col">credits</th><th scope="col">stalls</th></tr>
      </thead>
      <tbody>${(d.ports ?? []).map((p, i) => port(x, id, p, p.port ?? i))}</tbody>
    </table>
    ${registers(d)} ${discards(d)} ${table(d.table)}
  `
}

function port(x: Context, id: string, p: PortDetail, n: number): TemplateResult[] {
  const i = x.store.linkAt(id, n)
  const link = i === undefined ? null : x.store.topology!.links[i]!
  const s = i === undefined ? 'up' : story(x.store.links[i]!)
  const vcs = p.vcs ?? []
  return vcs.map((vc, k) => {
    const stalls = Object.entries(vc.stalls ?? {}).filter(([, c]) => c > 0)
    return html`
      <tr class=${k === 0 ? 'first' : ''}>
        ${k === 0
          ? html`<th scope="rowgroup" rowspan=${vcs.length}>
              ${n} ${link
                ? html`<button class="text" @click=${() => x.ui.select({ kind: 'link', id: link.id })}>${p.peer ?? (link.a === id ? link.b : link.a)}</button>`
                : p.peer ?? ''}
              <br /><i class="mark ${s}"></i><span class="dim">${p.state ?? ''}</span>
            </th>`
          : nothing}
        <td>${vc.vc ?? k}</td><td>${vc.input ?? 0}</td><td>${vc.output ?? 0}</td><td>${vc.credits ?? 0}</td>
        <td class="stalls">${stalls.map(([why, c]) => html`<span title=${why}>${why} ${count(c)}</span> `)}</td>
      </tr>
    `
  })
}

function registers(d: SwitchDetail): TemplateResult | typeof nothing {
  const list = d.registers ?? []
  if (list.length === 0) return nothing
  return html`
    <h3>Registers</h3>
    <p class="registers">
      ${list.map((r) => {
        const value = typeof r.value === 'string' ? r.value : (r.value ?? 0).toString(2).padStart(r.width ?? 1, '0')
        return html`<code class=${/[1-9]/.test(value.replace(/^0b/, '')) ? 'set' : ''}>${r.name} ${value}</code> `
      })}
    </p>
  `
}

function discards(d: SwitchDetail): TemplateResult | typeof nothing {
  const list = Object.entries(d.discards ?? {})
  if (list.length === 0) return nothing
  return html`<h3>Discards</h3><ul class="plain">${list.map(([rule, n]) => html`<li><b>${count(n)}</b> ${rule}</li>`)}</ul>`
}

function table(t: TableEntry[] | null | undefined): TemplateResult | typeof nothing {
  if (!t || t.length === 0) return nothing
  return html`
    <details>
      <summary>Forwarding table, ${t.length} entries</summary>
      <div class="lft">${t.map((e) => html`<span>${e.dst} <b>${e.ports?.join(' ') ?? e.port}</b></span>`)}</div>
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
    </section>
  `
}
