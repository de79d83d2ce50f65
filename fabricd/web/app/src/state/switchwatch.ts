// The inside of the switch that is selected: asked for again and again while its panel is open.

import type { Client } from '../net/client'
import type { SwitchDetail } from '../net/switch'
import type { Ui } from './ui'

const every = 500 // ms

export class SwitchWatch {
  id = ''
  detail: SwitchDetail | null = null
  error = ''
  private timer = 0
  private round = 0

  constructor(private readonly client: Client, private readonly ui: Ui) {}

  // follow is told after every change of what is selected.
  follow(id: string): void {
    if (id === this.id) return
    this.id = id
    this.detail = null
    this.error = ''
    this.round++
    clearTimeout(this.timer)
    if (id) void this.ask(this.round)
  }

  private async ask(round: number): Promise<void> {
    try {
      // The forwarding table is long and seldom changes: it comes once.
      const table = this.detail?.forwarding
      const d = await this.client.switchState(this.id, this.detail === null)
      if (round !== this.round) return
      this.detail = table && !d.forwarding ? { ...d, forwarding: table } : d
      this.error = ''
    } catch (e) {
      if (round !== this.round) return
      this.error = (e as Error).message
    }
    this.ui.changed()
    this.timer = window.setTimeout(() => void this.ask(round), every)
  }
}
