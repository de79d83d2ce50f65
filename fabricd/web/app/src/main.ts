// The page: puts the parts together and draws them when something has changed.
//
// For tests in a browser. Elements carry data-testid:
//   connection (data-state connecting|live|away|locked), read-only, fabric-picker, search-button, scissors, undo, heal, theme,
//   help-button; overload, deadlock, waiting, choice over the map; help-dialog, search-dialog with search, fabrics-dialog;
//   tab-fabric, tab-selected, tab-flow, tab-faults, tab-programs; fabric-panel with switch-count, link-count, all-well, faulty, ledger,
//   ledger-balanced, cycle, layer-<name>; link-panel with link-state (data-state as in the API, data-story up|cut|silent|
//   noticed|flapping|impaired|coming|down|held), cut, cut-silently, restore, direction, for, flap, impair, loss, delay, rate;
//   pods (data-pod), pod-panel with pod-open, pod-close, bundle-panel; switch-panel with switch-state (data-state), crash, restart, vector,
//   firmware, load-routing, load-file, load-choose, load-into, load-every, load, load-about, rollout, rollout-stop, rollout-cost; firmwares in fabric-panel; nic-panel; faults-panel with fault (data-fault),
//   fault-report (data-fault), events; flow-panel with flow-src, flow-dst, flow-toggle, journey; programs-panel with program-rate,
//   program-nics, program-connection (data-key), connection-details, connection-paths; nic-bytes in nic-panel;
//   map, legend, toast, timeline, timeline-fault (data-fault), chart-delivered, chart-p99, chart-discarded, chart-rerouted,
//   chart-inFlight, chart-rates.
// window.weft tells what the map holds and how it is doing, read-only, and where on the screen a link or node is.

import { html, nothing, render } from 'lit-html'
import 'uplot/dist/uPlot.min.css'
import './style.css'
import { listen } from './keys'
import { FabricMap } from './map/map'
import type { Pointing } from './map/mouse'
import { Client } from './net/client'
import { Stream } from './net/stream'
import { Actions } from './state/actions'
import { Flow } from './state/flow'
import { ProgramWatch } from './state/programs'
import { Rollout } from './state/rollout'
import { Store } from './state/store'
import { SwitchWatch } from './state/switchwatch'
import { Ui, type Selection, type Tab } from './state/ui'
import { Charts } from './ui/charts'
import { choice } from './ui/choice'
import type { Context } from './ui/context'
import { dialogs } from './ui/dialogs'
import { fabricPanel } from './ui/fabricpanel'
import { faultsPanel } from './ui/faultspanel'
import { flowPanel } from './ui/flowpanel'
import { header } from './ui/header'
import { programsPanel } from './ui/programspanel'
import { unwell } from './ui/unwell'
import { hoverLine, legend } from './ui/legend'
import { linkPanel } from './ui/linkpanel'
import { nicPanel, switchPanel } from './ui/switchpanel'
import { bundlePanel, closedPanel, podPanel } from './ui/podpanel'
import { timeline } from './ui/timeline'
import { expose } from './window'

const app = document.getElementById('app')!
app.innerHTML = `
  <header></header>
  <main aria-label="map of the fabric">
    <div id="map" data-testid="map" tabindex="0" role="application" aria-label="map: arrows go from switch to switch, / searches, ? lists the keys"></div>
    <div id="over"></div>
  </main>
  <aside><nav role="tablist"></nav><div id="panel" role="tabpanel"></div></aside>
  <footer><div id="timeline"></div><div id="charts"></div></footer>
  <div id="toasts" role="status" aria-live="polite"></div>
  <div id="dialogs"></div>`
const at = (selector: string) => app.querySelector<HTMLElement>(selector)!

const store = new Store()
const ui = new Ui()
const client = new Client()
client.takeToken()
const stream = new Stream(store, client, () => {
  if (stream.connection === 'live') void about()
  ui.changed()
})
const actions = new Actions(client, store, ui)
const pointing: Pointing = {
  select: (s) => {
    ui.select(s)
    if (s?.kind === 'switch' && store.pod(s.id) && !store.open.has(s.id)) x.openPods([s.id])
  },
  act: (s) => {
    ui.select(s)
    if (client.mayAct) void actions.toggle(s)
  },
  ask: ({ x, y }, links) => {
    if (client.mayAct) ui.ask({ x, y, links })
    else ui.select({ kind: 'link', id: links[0]! })
  },
  hover: (s) => {
    const before = ui.hovered
    ui.hovered = s
    map.repaint([before, s])
    map.container.classList.toggle('pointing', s !== null)
    ui.changed()
  },
}
const programs = new ProgramWatch(client, store, ui, () => map.setPrograms(programs))
const map = new FabricMap(at('#map'), store, ui, pointing)
function setOpen(pods: Iterable<string>): void {
  store.setOpen(pods)
  stream.anew()
  ui.changed()
}
const x: Context = {
  openPods: (pods) => setOpen([...store.open, ...pods]),
  closePod: (pod) => setOpen([...store.open].filter((p) => p !== pod)),
  closeAll: () => setOpen([]),
  programs, store, ui, client, stream, actions, map, flow: new Flow(client, ui), rollout: new Rollout(client, ui), watch: new SwitchWatch(client, ui), status: null, fabrics: [], jobs: [],
}
const charts = new Charts(at('#charts'), store, programs, map.theme)

// about asks for what the stream does not tell.
async function about(): Promise<void> {
  x.status = await client.status().catch(() => x.status)
  x.fabrics = await client.fabrics().catch(() => x.fabrics)
  x.jobs = await client.jobs().catch(() => x.jobs)
  document.title = x.status ? `${x.status.name} · Weft` : 'Weft'
  ui.changed()
}

const tabText: Record<Tab, () => string> = {
  fabric: () => 'Fabric',
  selected: () => (ui.selected ? ui.selected.kind[0]!.toUpperCase() + ui.selected.kind.slice(1) : 'Selection'),
  flow: () => 'Flow',
  faults: () => (store.faults.size > 0 ? `Faults ${store.faults.size}` : 'Faults'),
  programs: () => 'Programs',
}

function tabs() {
  return (Object.keys(tabText) as Tab[]).map((t) => html`
    <button role="tab" aria-selected=${ui.tab === t} data-testid="tab-${t}" @click=${() => ui.show(t, ui.tab === t && !ui.folded)}>${tabText[t]()}</button>`)
}

function panel() {
  switch (ui.tab) {
    case 'fabric':
      return fabricPanel(x)
    case 'flow':
      return flowPanel(x)
    case 'faults':
      return faultsPanel(x)
    case 'programs':
      return programsPanel(x)
    case 'selected':
      break
  }
  const s = ui.selected
  if (!s) return html`<p class="hint">Select a switch, a link or a NIC on the map, or search with <kbd>/</kbd>.</p>`
  if (x.store.pod(s.id)) return podPanel(x, s.id)
  if (x.store.podsOf(s.id).length > 0 && x.store.link(s.id) === undefined) return closedPanel(x, s)
  if (s.kind === 'link') return x.store.standsForMany(s.id) ? bundlePanel(x, s.id) : linkPanel(x, s.id)
  return s.kind === 'switch' ? switchPanel(x, s.id) : nicPanel(x, s.id)
}

function draw(): void {
  render(header(x), at('header'))
  const wrong = unwell(store)
  app.classList.toggle('unwell', wrong !== null)
  app.classList.toggle('folded', ui.folded)
  app.classList.toggle('rated', charts.rated)
  render(html`${legend(x)} ${hoverLine(x)} ${choice(x, pointing)}
    ${wrong ? html`<div class="banner ${wrong.kind}" role="alert" data-testid=${wrong.kind}>${wrong.text}</div>` : nothing}
    ${stream.connection === 'away' && store.run ? html`<div class="banner away">fabricd is away. What you see is what it last said.</div>` : nothing}`, at('#over'))
  render(tabs(), at('nav'))
  render(panel(), at('#panel'))
  if (ui.kept.dock) {
    render(timeline(x, charts), at('#timeline'))
    charts.draw()
  }
  render(ui.toasts.map((t) => html`<button class="toast ${t.bad ? 'bad' : ''}" data-testid="toast" @click=${() => ui.unsay(t.id)}>${t.text}</button>`), at('#toasts'))
  render(dialogs(x), at('#dialogs'))
}

let selected: Selection | null = null
let dialog = ''
let theme = ''
ui.subscribe(() => {
  if (selected !== ui.selected) {
    map.repaint([selected, ui.selected])
    selected = ui.selected
    x.watch.follow(selected?.kind === 'switch' && !store.pod(selected.id) ? selected.id : '')
  }
  const now = ui.dark ? 'dark' : 'light'
  if (theme !== now) {
    theme = now
    document.documentElement.dataset.theme = now
    map.setTheme(ui.dark)
    charts.setTheme(map.theme)
  }
  app.classList.toggle('nodock', !ui.kept.dock)
  map.pace.draw(draw, 'at once')
  if (dialog !== ui.dialog) {
    // At once, so that what is typed next goes where it belongs.
    dialog = ui.dialog
    for (const part of ['header', 'main', 'aside', 'footer']) at(part).inert = dialog !== ''
    if (dialog === 'fabrics') void about()
    draw()
    const focus = (what: string) => document.querySelector<HTMLElement>(what)
    if (dialog) (focus('.dialog input') ?? focus('.dialog button'))?.focus()
    else map.container.focus({ preventScroll: true })
  }
})
store.subscribe((c) => map.pace.draw(draw, c.state ? 'at once' : 'figures'))
// Another fabric: nothing that was chosen in the one before means anything.
let shape = store.full
store.subscribe(() => {
  if (shape === store.full) return
  shape = store.full
  x.flow.stop()
  x.rollout.forget()
  programs.forget()
  x.flow.set('', '')
  map.motion.flow = null
  ui.fault = null
  ui.hovered = null
  ui.select(null)
})
matchMedia('(prefers-color-scheme: light)').addEventListener('change', () => ui.changed())
addEventListener('hashchange', () => {
  if (client.takeToken()) {
    ui.say('token taken from the address')
    void about()
  }
})
document.addEventListener('visibilitychange', () => stream.show(!document.hidden))
stream.show(!document.hidden)
listen(x)
expose(x)
ui.changed()
stream.start()
programs.follow(() => !document.hidden && stream.connection === 'live')
// Jobs go on without a word of the stream.
setInterval(() => {
  if (!document.hidden && stream.connection === 'live') void client.jobs().then((list) => {
    x.jobs = list
    ui.changed()
  }, () => undefined)
}, 5000)
