// The keyboard does all that the mouse does. What each key is for is listed in ui/dialogs.ts.

import type { Context } from './ui/context'
import { searchAnew } from './ui/dialogs'
import { next, nextLink } from './map/neighbours'
import type { Tab } from './state/ui'

const tabs: Tab[] = ['fabric', 'selected', 'flow', 'faults', 'programs']

export function listen(x: Context): void {
  addEventListener('keydown', (e) => {
    const target = e.target as HTMLElement
    if (e.key === 'Escape') {
      escape(x, target)
      return
    }
    if (e.ctrlKey || e.metaKey || e.altKey) {
      if (e.key === 'z' && !typing(target)) void x.actions.undo()
      return
    }
    // While something lies over the page its keys would act on what is not seen.
    if (typing(target) || (x.ui.dialog !== '' && e.key !== '?')) return
    if (act(x, e)) e.preventDefault()
  })
}

function typing(e: HTMLElement): boolean {
  const input = e instanceof HTMLInputElement && e.type !== 'checkbox' && e.type !== 'range'
  return input || e instanceof HTMLTextAreaElement || e instanceof HTMLSelectElement
}

function escape(x: Context, target: HTMLElement): void {
  if (x.ui.dialog) x.ui.open('')
  else if (typing(target)) target.blur()
  else if (x.ui.choice) x.ui.ask(null)
  else if (x.ui.scissors) x.ui.arm(false)
  else if (x.programs.chosen && x.ui.tab === 'programs') x.programs.choose(null)
  else x.ui.select(null)
}

// act does what a key says, and returns whether it means anything.
function act(x: Context, e: KeyboardEvent): boolean {
  const { ui, map, actions } = x
  const onMap = !(e.target instanceof HTMLButtonElement || e.target instanceof HTMLInputElement || e.target instanceof SVGElement)
  switch (e.key) {
    case '/':
      searchAnew()
      ui.open('search')
      return true
    case '?':
      ui.open(ui.dialog === 'help' ? '' : 'help')
      return true
    case '+':
    case '=':
      map.zoom(1.4)
      return true
    case '-':
      map.zoom(1 / 1.4)
      return true
    case '0':
      map.fit()
      return true
    case 'H':
      void actions.heal()
      return true
    case 'u':
      void actions.undo()
      return true
    case 'k':
      ui.arm(!ui.scissors && x.client.mayAct)
      return true
    case 'd':
      ui.keep({ theme: ui.dark ? 'light' : 'dark' })
      return true
    case 'b':
      ui.keep({ dock: !ui.kept.dock })
      return true
    case 'l':
      ui.keep({ legend: !ui.kept.legend })
      return true
    case 'g':
      ui.toggle('nics')
      map.refresh()
      return true
    case 't':
      flow(x)
      return true
    case '1':
    case '2':
    case '3':
    case '4':
    case '5':
      ui.show(tabs[Number(e.key) - 1]!)
      return true
    case 'ArrowLeft':
    case 'ArrowRight':
    case 'ArrowUp':
    case 'ArrowDown':
      if (!onMap) return false
      go(x, e.key)
      return true
    case '[':
    case ']': {
      const s = nextLink(x.store, ui.selected, ui.around, e.key === ']' ? 1 : -1)
      if (s) ui.select(s)
      return true
    }
    case 'Enter':
      if (!onMap || !ui.selected) return false
      if (x.store.pod(ui.selected.id) && !x.store.open.has(ui.selected.id)) x.openPods([ui.selected.id])
      else map.show(ui.selected)
      return true
  }
  return onSelected(x, e.key)
}

function onSelected(x: Context, key: string): boolean {
  const s = x.ui.selected
  if (!s) return false
  if (s.kind === 'switch') {
    if (key === 'x') void x.actions.crash(s.id)
    else if (key === 'r') void x.actions.restart(s.id)
    else return false
    return true
  }
  if (s.kind !== 'link') return false
  switch (key) {
    case 'c':
      void x.actions.cut(s.id)
      return true
    case 'C':
      void x.actions.cut(s.id, { silent: true })
      return true
    case 'o': {
      const v = x.store.links[x.store.link(s.id) ?? -1]
      void x.actions.cut(s.id, { direction: v?.cut_ab ? 'from' : 'to' })
      return true
    }
    case 'f':
      void x.actions.flap(s.id, { period: '1s' })
      return true
    case 'i':
      document.querySelector<HTMLInputElement>('[data-testid=loss]')?.focus()
      return true
    case 'r':
      void x.actions.restore(s.id)
      return true
  }
  return false
}

function flow(x: Context): void {
  x.ui.show('flow')
  if (x.flow.on) x.flow.stop()
  else if (x.flow.src && x.flow.dst) x.flow.start()
  else requestAnimationFrame(() => document.querySelector<HTMLInputElement>('[data-testid=flow-src]')?.focus())
}

function go(x: Context, key: string): void {
  const dx = key === 'ArrowLeft' ? -1 : key === 'ArrowRight' ? 1 : 0
  const dy = key === 'ArrowDown' ? -1 : key === 'ArrowUp' ? 1 : 0
  const s = x.ui.selected
  if (!s || s.kind === 'link') {
    x.map.pan(dx, dy)
    return
  }
  const to = next(x.map.geometry, x.store, s, dx, dy)
  if (to) x.ui.select(to)
}
