// What this page looks at and how: nothing of it is the fabric's. Kept over reloads where a user would expect it.

export interface Selection {
  kind: 'link' | 'switch' | 'nic'
  id: string
}

export type Tab = 'fabric' | 'selected' | 'flow' | 'faults' | 'programs'
export type Dialog = '' | 'help' | 'search' | 'fabrics'

export const layers = ['load', 'states', 'reroutes', 'uturns', 'vectors', 'queues', 'nics', 'names', 'packets', 'programs'] as const
export type Layer = (typeof layers)[number]

export const layerText: Record<Layer, string> = {
  load: 'Load of links',
  states: 'Badges of faults',
  reroutes: 'Rerouted traffic',
  uturns: 'U-turns',
  vectors: 'Re-route vectors',
  queues: 'Packets held',
  nics: 'NICs',
  names: 'Names',
  packets: 'Traced packets',
  programs: 'Bytes of programs',
}

export interface Toast {
  id: number
  text: string
  bad: boolean
}

interface Kept {
  theme: 'dark' | 'light' | 'system'
  layers: Record<Layer, boolean>
  dock: boolean
  legend: boolean
  slow: number
}

const key = 'weft.ui'

export class Ui {
  selected: Selection | null = null
  hovered: Selection | null = null
  around = '' // the node selected last
  fault: number | null = null // report that is open
  tab: Tab = 'fabric'
  dialog: Dialog = ''
  toasts: Toast[] = []
  kept: Kept = {
    theme: 'system',
    layers: Object.fromEntries(layers.map((l) => [l, true])) as Record<Layer, boolean>,
    dock: true,
    legend: false,
    slow: 1000,
  }

  // A click on a link cuts it, or restores it. Not kept: who opens the page anew looks first.
  scissors = false

  // Links at a place of the map, of which one is to be cut or restored.
  choice: { x: number; y: number; links: string[] } | null = null

  folded = true // the panel, where there is no room for it beside the map

  private listeners = new Set<() => void>()
  private toastId = 0

  constructor() {
    try {
      const old = JSON.parse(localStorage.getItem(key) ?? '{}') as Partial<Kept>
      this.kept = { ...this.kept, ...old, layers: { ...this.kept.layers, ...old.layers } }
    } catch {
      // What was kept is of no use: go on without.
    }
  }

  subscribe(f: () => void): void {
    this.listeners.add(f)
  }

  changed(): void {
    for (const f of this.listeners) f()
  }

  ask(choice: Ui['choice']): void {
    this.choice = choice
    this.changed()
  }

  arm(on: boolean): void {
    this.scissors = on
    this.changed()
  }

  keep(change: Partial<Kept>): void {
    this.kept = { ...this.kept, ...change }
    localStorage.setItem(key, JSON.stringify(this.kept))
    this.changed()
  }

  toggle(layer: Layer): void {
    this.keep({ layers: { ...this.kept.layers, [layer]: !this.kept.layers[layer] } })
  }

  select(s: Selection | null): void {
    this.choice = null
    this.selected = s
    if (s && s.kind !== 'link') this.around = s.id
    if (s) this.tab = 'selected'
    else if (this.tab === 'selected') this.tab = 'fabric'
    this.changed()
  }

  show(tab: Tab, folded = false): void {
    this.folded = folded
    this.tab = tab
    this.changed()
  }

  open(dialog: Dialog): void {
    this.dialog = dialog
    this.changed()
  }

  // say shows a line for a while; what went wrong stays longer.
  say(text: string, bad = false): void {
    const t = { id: ++this.toastId, text, bad }
    this.toasts = [...this.toasts, t].slice(-4)
    setTimeout(() => this.unsay(t.id), bad ? 9000 : 3500)
    this.changed()
  }

  unsay(id: number): void {
    this.toasts = this.toasts.filter((t) => t.id !== id)
    this.changed()
  }

  get dark(): boolean {
    if (this.kept.theme !== 'system') return this.kept.theme === 'dark'
    return !matchMedia('(prefers-color-scheme: light)').matches
  }
}
