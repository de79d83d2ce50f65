// The bar at the top: which fabric, how the page stands to it, and what is wanted at any time.

import { html, nothing, type TemplateResult } from 'lit-html'
import type { Context } from './context'
import { clock } from './format'

export function header(x: Context): TemplateResult {
  const { ui, store, client, actions } = x
  const c = x.stream.connection
  return html`
    <a class="logo" href="./" aria-label="Weft"><img src="./weft.svg" alt="" width="24" height="24" /> <span class="wide">Weft</span></a>
    <button class="picker" aria-haspopup="dialog" data-testid="fabric-picker" @click=${() => ui.open('fabrics')}>
      <b>${x.status?.name ?? '…'}</b> <span class="dim">${store.full?.spec ?? ''}</span> ▾
    </button>
    <span class="pill ${c === 'locked' ? 'away' : c}" role="status" data-testid="connection" data-state=${c}>
      ${c === 'live' ? html`<i></i>live <time>${clock(store.at)}</time>` : c === 'connecting' ? 'connecting…' : c === 'locked' ? 'to look needs a token: add #token=… to the address' : 'fabricd is away, trying again…'}
    </span>
    ${c === 'live' && !client.mayAct
      ? html`<span class="pill look" data-testid="read-only" title=${client.viewOnly ? 'To act takes a token that may operate: add #token=… to the address.' : 'Open the URL that fabricd up printed for this run to act on it.'}>${
          client.viewOnly ? 'may only look: the token is one to view' : 'may only look: token of another run, or none'}</span>`
      : nothing}
    ${store.sample?.time_factor && store.sample.time_factor !== 1
      ? html`<span class="pill factor" data-testid="time-factor" title="${store.sample.time}; ${clock(store.sample.wall ?? 0)} by the clock of the machine">at ${
          Number((100 * store.sample.time_factor).toPrecision(3))}% of real time</span>`
      : nothing}
    <span class="grow"></span>
    <button data-testid="search-button" @click=${() => ui.open('search')}>Search <kbd>/</kbd></button>
    <button class=${ui.scissors ? 'on' : ''} aria-pressed=${ui.scissors} aria-label="Cut on click" data-testid="scissors" ?disabled=${!client.mayAct}
      title="While on, a click on a link cuts it, or restores it; Esc ends it" @click=${() => ui.arm(!ui.scissors)}>✂ <span class="wide">Cut on click</span> <kbd>k</kbd></button>
    <button data-testid="undo" ?disabled=${actions.deeds.length === 0} title=${actions.deeds.at(-1)?.text ?? 'nothing to undo'}
      @click=${() => void actions.undo()}>Undo <kbd>u</kbd></button>
    <button class="good" data-testid="heal" ?disabled=${!client.mayAct} @click=${() => void actions.heal()}>Heal all <kbd>H</kbd></button>
    <button class="icon" data-testid="theme" aria-label="dark or light" title="dark or light (d)" @click=${() => x.ui.keep({ theme: ui.dark ? 'light' : 'dark' })}>${ui.dark ? '☀' : '☾'}</button>
    <button class="icon" data-testid="help-button" aria-label="keys" title="keys (?)" @click=${() => ui.open('help')}>?</button>
  `
}
