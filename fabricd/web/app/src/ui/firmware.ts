// What firmware switches run, and loading them with another.

import { html, nothing, svg, type TemplateResult } from 'lit-html'
import { css, type Theme } from '../map/colors'
import type { SwitchDetail } from '../net/switch'
import type { Context } from './context'

// firmwarePart is the part of a switch's panel.
export function firmwarePart(x: Context, id: string, d: SwitchDetail | null): TemplateResult {
  const r = x.rollout
  const may = x.client.mayAct
  if (may) r.list()
  const fabrics = x.status?.routing ?? ''
  const chosen = r.routings?.find((e) => e.name === r.routing.split(':')[0])
  const submit = (e: Event) => {
    e.preventDefault()
    const f = new FormData(e.target as HTMLFormElement)
    const into = String(f.get('into'))
    void r.start(into === 'this' ? [id] : [], into === 'rolling' ? Math.min(86400, Math.max(0, Number(f.get('every')))) : null)
  }
  return html`
    <h3>Firmware</h3>
    ${d && fabrics ? html`<p data-testid="firmware">runs <b>${d.routing ?? fabrics}</b>${d.routing ? html` <span class="dim">in place of ${fabrics}, the fabric's</span>` : nothing}</p>` : nothing}
    <form class="doing" @submit=${submit}>
      <div class="row fields">
        <label class="grow">load
          <input name="routing" required list="routings" autocomplete="off" spellcheck="false" placeholder="adaptive-link, updn:layers=2" data-testid="load-routing"
            .value=${r.routing} @input=${(e: Event) => {
              r.routing = (e.target as HTMLInputElement).value
              x.ui.changed()
            }} /></label>
        <input type="file" accept=".wasm" hidden data-testid="load-file" @change=${(e: Event) => {
          const input = e.target as HTMLInputElement
          if (input.files?.[0]) r.choose(input.files[0])
          input.value = '' // so that the same one can be chosen again
        }} />
        <button type="button" title="a WebAssembly module; options may follow its name: wasm:fw.wasm:step=3" data-testid="load-choose" ?disabled=${!may}
          @click=${(e: Event) => ((e.target as HTMLElement).previousElementSibling as HTMLInputElement).click()}>File…</button>
      </div>
      <div class="row fields">
        <label>into
          <select name="into" data-testid="load-into">
            <option value="this">this switch</option>
            <option value="all">all switches at once</option>
            <option value="rolling">all, one after the other</option>
          </select></label>
        <label class="every">every, s <input name="every" type="number" step="any" value="2" data-testid="load-every" /></label>
        <button type="submit" data-testid="load" ?disabled=${!may || r.on}>Load</button>
      </div>
      <datalist id="routings">${r.routings?.filter((e) => !e.unfit).map((e) => html`<option value=${e.name}>${e.about}</option>`)}</datalist>
      ${chosen
        ? html`<p class="sub" data-testid="load-about">${chosen.about}${chosen.options ? html`<br />options: ${chosen.options.map((o, i) => html`${i > 0 ? ', ' : ''}<span title="${o.values}: ${o.about}">${o.name}</span>`)}` : nothing}
            ${chosen.unfit ? html`<br /><span class="warn">${chosen.unfit}</span>` : nothing}</p>`
        : nothing}
    </form>
    ${rollout(x)}
  `
}

// rollout is what loads now, with a button that stops it, or what the latest has cost.
export function rollout(x: Context): TemplateResult | typeof nothing {
  const r = x.rollout
  if (r.on) {
    return html`
      <p data-testid="rollout" role="status">${r.done} of ${r.of} switches run <b>${r.loading}</b></p>
      <div class="row">
        <progress max=${Math.max(1, r.of)} value=${r.done}></progress>
        <button data-testid="rollout-stop" ?disabled=${r.stopped} @click=${() => r.stop()}>Stop</button>
      </div>`
  }
  return r.cost ? html`<p class="cost" data-testid="rollout-cost">${r.cost}</p>` : nothing
}

// firmwares lists what switches run while they run different firmwares, with the marks that those have on the map which run
// another than the fabric's; or the one that all of them run, if it is another.
export function firmwares(x: Context): TemplateResult | typeof nothing {
  const { routings } = x.store
  if (routings.length === 0) return nothing
  const { runs, mixed } = x.store.firmwares()
  const of = runs.reduce((sum, n) => sum + n)
  return html`
    <div class="firmwares" data-testid="firmwares">
      ${runs.map((n, i) => n === 0 ? nothing : html`
        <div>${mixed && i > 0 ? firmwareMark(x.map.theme, i) : nothing} <b>${i > 0 ? routings[i - 1] : x.status?.routing}</b> ${n} of ${of} switches</div>`)}
    </div>`
}

// firmwareMark is the mark of the map.
export function firmwareMark(t: Theme, n: number): TemplateResult {
  return html`<svg width="14" height="14" aria-hidden="true"><circle cx="7" cy="7" r="6.5" fill=${css(t.firmware)} />${svg`<text x="7" y="10.4" text-anchor="middle" font-size="9.5" font-weight="700" fill=${t.background}>${n}</text>`}</svg>`
}
