// Following one flow: asks fabricd to mark packets of it, again and again while it is on. The stream brings their hops.

import type { Client } from '../net/client'
import type { Ui } from './ui'

const every = 1200 // ms
const packets = 2 // of each request

export class Flow {
  src = ''
  dst = ''
  on = false
  asked = 0
  error = ''
  private timer = 0
  private asking = false

  constructor(private readonly client: Client, private readonly ui: Ui) {}

  set(src: string, dst: string): void {
    this.src = src
    this.dst = dst
    this.error = ''
    this.ui.changed()
  }

  start(): void {
    if (!this.src || !this.dst || this.src === this.dst) {
      this.error = 'choose two different NICs'
      this.ui.changed()
      return
    }
    this.on = true
    this.error = ''
    clearInterval(this.timer)
    this.timer = window.setInterval(() => void this.ask(), every)
    void this.ask()
    this.ui.changed()
  }

  stop(): void {
    this.on = false
    clearInterval(this.timer)
    this.ui.changed()
  }

  private async ask(): Promise<void> {
    if (this.asking) return
    this.asking = true
    try {
      await this.client.trace(this.src, this.dst, packets)
      this.asked += packets
      this.error = ''
    } catch (e) {
      this.error = (e as Error).message
      this.stop()
    } finally {
      this.asking = false
      this.ui.changed()
    }
  }
}
