// What the parts of the map read of it. The map imports its parts (two canvases above sigma's, the mouse), so they import
// this instead of the map.

import type Sigma from 'sigma'
import type { Store } from '../state/store'
import type { Selection, Ui } from '../state/ui'
import type { Theme } from './colors'
import type { Geometry, Point } from './geometry'
import type { Look } from './look'
import type { Pace } from './pace'

// Talking is what the map shows of programs.
export interface Talking {
  nics: { nic: string; in_bytes_per_second: number; out_bytes_per_second: number }[]
  ends: { nic: string; program: string }[] // of the connection that is chosen
}

export interface MapView {
  readonly sigma: Sigma
  readonly store: Store
  readonly ui: Ui
  readonly pace: Pace
  readonly theme: Theme
  readonly geometry: Geometry
  readonly looks: Look[] // of each link, in the order of the store's
  readonly ready: boolean // there is a topology, and it is laid out
  readonly showsNics: boolean
  readonly lit: ReadonlySet<number> // links of the paths of the connection that is chosen
  readonly talking: Talking
  scale(): number // pixels a unit of the map takes now
  screen(link: number, at: number): Point // where on the screen a share of the way along a link is
  nodeOnScreen(id: string): Point | null
  radius(id: string): number // of a node on the screen, in pixels
  show(s: Selection): void // bring it into view, near enough to read its name
}
