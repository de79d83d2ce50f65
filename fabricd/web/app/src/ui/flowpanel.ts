// Following single packets of one flow: where they go, by which rule, and why they waited.

import { html, nothing, type TemplateResult } from 'lit-html'
import type { Journey } from '../map/path'
import type { Hop } from '../net/types'
import type { Context } from './context'
import { micro } from './format'

export function flowPanel(x: Context): TemplateResult {
  const t = x.store.full
  const f = x.flow
  const change = (e: Event) => {
    const form = (e.currentTarget as HTMLElement).closest('form')!
    const d = new FormData(form)
    f.set(String(d.get('src') ?? '').trim(), String(d.get('dst') ?? '').trim())
    x.map.motion.flow = f.src && f.dst ? { src: f.src, dst: f.dst } : null
  }
  const shown = f.src && f.dst ? x.map.motion.of(f.src, f.dst, 6).reverse() : []
  const slow = x.ui.kept.slow
  return html`
    <section data-testid="flow-panel">
      <h2>Follow a flow</h2>
      <form @submit=${(e: Event) => {
        e.preventDefault()
        change(e)
        if (f.on) f.stop()
        else f.start()
      }}>
        <div class="row fields">
          <label>from <input name="src" list="nics" .value=${f.src} @change=${change} data-testid="flow-src" size="8" /></label>
          <label>to <input name="dst" list="nics" .value=${f.dst} @change=${change} data-testid="flow-dst" size="8" /></label>
          <button type="submit" class=${f.on ? 'on' : ''} data-testid="flow-toggle" ?disabled=${!x.client.mayAct && !f.on}>${f.on ? 'Stop' : 'Follow'} <kbd>t</kbd></button>
        </div>
        <datalist id="nics">${(t?.nics ?? []).map((n) => html`<option value=${n.id}></option>`)}</datalist>
        <label class="slow">slow motion
          <input type="range" min="1" max="6" step="0.25" .value=${String(Math.log10(slow))} aria-label="slow motion factor"
            @input=${(e: Event) => x.ui.keep({ slow: Math.round(10 ** Number((e.target as HTMLInputElement).value)) })} />
          <output>${slow.toLocaleString('en')}×</output>
        </label>
      </form>
      ${f.error ? html`<p class="bad" role="alert">${f.error}</p>` : nothing}
      ${shown.length === 0
        ? html`<p class="hint">Choose two NICs, here or on the map. Packets of the flow are marked and drawn along the links they take, each link
            for its real time, slowed down.</p>`
        : shown.map((j) => journey(x, j))}
    </section>
  `
}

function journey(x: Context, j: Journey): TemplateResult {
  const way = [...new Set(j.hops.map((h) => h.node))]
  return html`
    <details class="journey" data-testid="journey">
      <summary>
        <b>#${j.seq}</b> <span class="end ${j.end}">${j.end || 'under way'}</span>
        <span class="dim">${j.legs.length} links</span>
        <button class="text" @click=${(e: Event) => {
          e.preventDefault()
          x.map.motion.play(j)
        }}>play</button>
        <div class="way">${way.join(' → ')}</div>
      </summary>
      <ol class="hops">${j.hops.map((h) => hop(x, h))}</ol>
    </details>
  `
}

function hop(x: Context, h: Hop): TemplateResult {
  const isSwitch = x.store.switchOf(h.node) !== undefined
  const port = (p: number | undefined, vc: number | undefined) => (p === undefined || p < 0 ? '–' : `${p}.${vc ?? 0}`)
  return html`
    <li class=${h.rerouted ? 'rerouted' : ''}>
      <button class="text" @click=${() => x.ui.select({ kind: isSwitch ? 'switch' : 'nic', id: h.node })}>${h.node}</button>
      <span class="dim">${h.left ? 'sent it' : `in ${port(h.in, h.in_vc)}`} ${h.end ? '' : `out ${port(h.out, h.out_vc)}`}</span> ${h.rule ? html`<i>${h.rule}</i>` : nothing}
      ${h.waited_us ? html`<span class="warn">waited ${micro(h.waited_us)}${h.why?.length ? `: ${h.why.join(', ').replaceAll('_', ' ')}` : ''}</span>` : nothing}
      ${h.candidates?.length
        ? html`<div class="candidates">${h.candidates.map((c) => html`
            <span class="${c.chosen ? 'chosen' : ''} ${c.down ? 'bad' : ''}" title="class ${c.class ?? 0}, room ${c.room ?? 0}${c.fault ? `, ${c.fault}` : ''}">
              ${c.to ?? `port ${c.port}`}<span class="dim">.${c.vc}</span></span>`)}</div>`
        : nothing}
      ${h.before !== h.after ? html`<div class="dim">header: ${h.before || 'as injected'} → ${h.after || 'as injected'}</div>` : nothing}
      ${h.end ? html`<b class=${h.end === 'delivered' ? 'good' : 'bad'}>${h.end}</b> ${h.detail ?? ''}` : nothing}
      ${h.fault ? html`<span class="bad">${h.fault}</span>` : nothing}
    </li>
  `
}
