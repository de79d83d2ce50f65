// What every panel is given.

import type { FabricMap } from '../map/map'
import type { Client } from '../net/client'
import type { Stream } from '../net/stream'
import type { FabricEntry, Job, Status } from '../net/types'
import type { Actions } from '../state/actions'
import type { Flow } from '../state/flow'
import type { Rollout } from '../state/rollout'
import type { ProgramWatch } from '../state/programs'
import type { Store } from '../state/store'
import type { Ui } from '../state/ui'
import type { SwitchWatch } from '../state/switchwatch'

export interface Context {
  // openPods draws these pods switch by switch beside those that are open already, closePod one as one again.
  openPods(pods: string[]): void
  closePod(pod: string): void
  closeAll(): void
  store: Store
  ui: Ui
  client: Client
  stream: Stream
  actions: Actions
  map: FabricMap
  flow: Flow
  rollout: Rollout
  programs: ProgramWatch
  watch: SwitchWatch
  status: Status | null
  fabrics: FabricEntry[]
  jobs: Job[]
}
