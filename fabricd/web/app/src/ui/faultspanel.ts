// The faults, newest first, and the report of the one that is open.

import { html, nothing, type TemplateResult } from 'lit-html'
import type { FaultReport, Reconfiguration } from '../net/types'
import type { Context } from './context'
import { clock, count, rate, span } from './format'

export function faultsPanel(x: Context): TemplateResult {
  const open = x.ui.fault === null ? undefined : x.store.faults.get(x.ui.fault)
  const list = [...x.store.faults.values()].reverse()
  return html`
    <section data-testid="faults-panel">
      ${open ? report(x, open) : nothing}
      <h2>Faults <span class="dim">${list.length}</span></h2>
      ${list.length === 0
        ? html`<p class="hint">None yet. Select a link and press <kbd>c</kbd>, or double-click one.</p>`
        : html`<ul class="faults">${list.map((r) => faultRow(x, r))}</ul>`}
      <h2>Events</h2>
      <ol class="events" data-testid="events">
        ${[...x.store.events].reverse().slice(0, 60).map((e) => html`
          <li><time>${clock(e.at)}</time> <b>${e.kind.replaceAll('_', ' ')}</b> ${e.link ?? e.switch ?? ''}
            ${e.node ? html`<span class="dim">at ${e.node}</span>` : nothing} <span class="dim">${e.detail ?? ''}</span></li>
        `)}
      </ol>
    </section>
  `
}

export function faultRow(x: Context, r: FaultReport): TemplateResult {
  const lost = r.lost_wire + r.lost_queued + r.lost_crash
  return html`
    <li class=${r.restored_at ? 'over' : 'lasting'} data-testid="fault" data-fault=${r.id}>
      <button class="text" aria-expanded=${x.ui.fault === r.id} @click=${() => {
        x.ui.fault = x.ui.fault === r.id ? null : r.id
        x.ui.show('faults')
      }}>
        <span class="id">${r.id}</span>
        <span class="what">${r.what}</span>
        <span class="dim">${clock(r.at)}${r.restored_at ? ` – ${clock(r.restored_at)}` : ', lasts'} · lost ${count(lost)}${r.discarded ? ` · discarded ${count(r.discarded)}` : ''} · rerouted ${count(r.rerouted)}</span>
      </button>
    </li>
  `
}

function report(x: Context, r: FaultReport): TemplateResult {
  // A star: the figure may be due to another fault that was in force.
  const row = (name: string, value: unknown, key = name) => html`<tr><th scope="row">${name}${r.shared?.includes(key) ? ' *' : ''}</th><td>${value}</td></tr>`
  const dip = r.throughput
  const where = x.store.link(r.target) !== undefined ? ('link' as const) : x.store.switchOf(r.target) !== undefined ? ('switch' as const) : null
  return html`
    <article class="report" data-testid="fault-report" data-fault=${r.id}>
      <h2>Fault ${r.id} <button class="icon" aria-label="Close" @click=${() => {
        x.ui.fault = null
        x.ui.changed()
      }}>×</button></h2>
      <p>${where
        ? html`<button class="text" @click=${() => {
            x.ui.select({ kind: where, id: r.target })
            x.map.show({ kind: where, id: r.target })
          }}>${r.what}</button>`
        : r.what}</p>
      ${r.note ? html`<p class="dim">${r.note}</p>` : nothing}
      <table class="figures report">
        <tbody>
          ${row('when', `${clock(r.at)}${r.restored_at ? ` to ${clock(r.restored_at)}` : ', lasts'}${r.open ? ', still counted' : ''}`)}
          ${(r.detected ?? []).map((d) => row('detected', `${d.end} port ${d.port}, after ${span(d.after_seconds)}, by ${d.how}`))}
          ${(r.detected ?? []).length === 0 ? row('detected', html`<b class="warn">by nobody yet</b>`) : nothing}
          ${row('first re-route', span(r.first_reroute_seconds), 'first_reroute_seconds')}
          ${row('lost', `${count(r.lost_wire + r.lost_queued + r.lost_crash)}: ${count(r.lost_wire)} on the wire, ${count(r.lost_queued)} queued, ${count(r.lost_crash)} inside`)}
          ${row('rerouted', count(r.rerouted))}
          ${r.requeued ? row('requeued', count(r.requeued)) : nothing}
          ${row('discarded', `${count(r.discarded)}${rules(r)}`)}
          ${row('reordered', count(r.reordered))}
          ${r.duplicated ? row('duplicated', count(r.duplicated)) : nothing}
          ${r.extra_hops?.packets
            ? row('extra hops', `mean ${r.extra_hops.mean.toFixed(2)}, most ${r.extra_hops.most}, of ${count(r.extra_hops.packets)} packets`, 'extra_hops')
            : nothing}
          ${dip
            ? row('throughput', dip.found
                ? `${rate(dip.baseline)} before, ${rate(dip.lowest)} at least (−${dip.depth.toFixed(0)}%), good again after ${span(dip.made_good_after_seconds)}`
                : `${rate(dip.baseline)} before, no dip`)
            : nothing}
          ${row('last effect', span(r.last_effect_seconds), 'last_effect_seconds')}
          ${r.reconfiguration ? row('manager', manager(r.reconfiguration)) : nothing}
          ${r.reconfiguration?.lost_by_phase
            ? row('lost meanwhile', r.reconfiguration.lost_by_phase.map((l) => `${count(l.packets)} until ${l.until}`).join(', '))
            : nothing}
        </tbody>
      </table>
      ${r.shared_with?.length ? html`<p class="dim">* may be due to fault ${r.shared_with.join(', ')} as well, counted at the same time (until 1 s after repair).</p>` : nothing}
    </article>
  `
}

// manager tells how the subnet manager repaired the routes.
function manager(c: Reconfiguration): TemplateResult {
  const force = c.in_force_seconds > 0
    ? `${c.method}: new tables in force after ${span(c.in_force_seconds)} (${phases(c)})`
    : `${c.method}: no new tables`
  const more = [
    `version ${c.version}`,
    `${count(c.entries)} entries of ${count(c.switches)} switches`,
    ...(c.flows_total > 0 ? [`${count(c.flows_rerouted)} of ${count(c.flows_total)} flows re-routed`] : []),
    ...(c.static ? ['the fabric emptied meanwhile'] : []),
    ...(c.settled_seconds > 0 ? [`settled after ${span(c.settled_seconds)}`] : []),
  ]
  return html`${force}<div class="dim">${more.join(', ')}</div>
    ${c.unroutable_pairs ? html`<div><b class="warn">${withoutPath(c)}</b></div>` : nothing}
    ${c.error ? html`<div><b class="warn">${c.error}</b></div>` : nothing}`
}

// phases are the times that make up the one until new tables are in force, but for those that there was nothing to wait for.
function phases(c: Reconfiguration): string {
  if (c.last_table_seconds) {
    const trap = c.trap_seconds ? `trap sent after ${span(c.trap_seconds)}, ` : ''
    const first = c.detect_seconds + c.compute_seconds
    return `${trap}sweep begun after ${span(c.detect_seconds)}, first table written after ${span(first)}, last after ${span(c.last_table_seconds)}`
  }
  const list: [string, number][] = [['detect', c.detect_seconds], ['compute', c.compute_seconds], ['drain', c.drain_seconds], ['distribute', c.distribute_seconds]]
  return list.filter(([, s]) => s > 0).map(([name, s]) => `${name} ${span(s)}`).join(', ')
}

// withoutPath tells how many pairs have none, why, and the first of them.
function withoutPath(c: Reconfiguration): string {
  const why = c.isolated_pairs === c.unroutable_pairs
    ? ', joined by no live links'
    : c.isolated_pairs > 0 ? `, of which no live links join ${count(c.isolated_pairs)}` : ''
  const named = c.unroutable?.length ? `, as ${c.unroutable[0]}` : ''
  return `${count(c.unroutable_pairs)} of ${count(c.flows_total)} pairs without a path${why}${named}`
}

function rules(r: FaultReport): string {
  const list = Object.entries(r.discarded_by ?? {})
  return list.length === 0 ? '' : `: ${list.map(([rule, n]) => `${count(n)} by “${rule}”`).join(', ')}`
}
