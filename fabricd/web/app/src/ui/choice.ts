// Several links are where the user has clicked to cut one: which is it?

import { html, nothing, type TemplateResult } from 'lit-html'
import { ref } from 'lit-html/directives/ref.js'
import { story, storyText } from '../map/look'
import type { Pointing } from '../map/mouse'
import { troubled } from '../state/actions'
import type { Context } from './context'

export function choice(x: Context, on: Pointing): TemplateResult | typeof nothing {
  const c = x.ui.choice
  if (!c) return nothing
  const { clientWidth: w, clientHeight: h } = x.map.container
  const place = (menu?: Element) => {
    if (!(menu instanceof HTMLElement)) return
    menu.style.left = `${Math.max(0, Math.min(c.x, w - menu.clientWidth))}px`
    menu.style.top = `${Math.max(0, Math.min(c.y, h - menu.clientHeight))}px`
  }
  return html`
    <div class="choice" role="menu" aria-label="which link" data-testid="choice" ${ref(place)}>
      ${c.links.map((id) => {
        const v = x.store.links[x.store.link(id) ?? -1]
        if (!v) return nothing
        const s = { kind: 'link' as const, id }
        return html`<button role="menuitem" @click=${() => on.act(s)} @mouseenter=${() => on.hover(s)} @mouseleave=${() => on.hover(null)}
          @focus=${() => on.hover(s)}><i class="mark ${story(v)}"></i>${troubled(v) ? 'Restore' : 'Cut'} <b>${id}</b> <span class="dim">${storyText[story(v)]}</span></button>`
      })}
    </div>
  `
}
