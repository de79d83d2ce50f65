// The map: sigma draws links and nodes, two canvases above it what sigma has no words for.

import { MultiGraph } from 'graphology'
import Sigma from 'sigma'
import type { Change, Store } from '../state/store'
import type { Selection, Ui } from '../state/ui'
import { dark, light, type Theme } from './colors'
import { along, place, roomForNics, type Geometry, type Point } from './geometry'
import { look, type Look } from './look'
import { Motion } from './motion'
import { listen, type Pointing } from './mouse'
import { Overlay } from './overlay'
import { Pace, type When } from './pace'
import { BentLink, FabricNode, StraightLink, type LinkData, type NodeData } from './programs'
import type { MapView, Talking } from './view'

// Kept free above and below the map, in pixels, for names, badges and the legend.
const padding = 58
// What sigma is to keep free around a tree, which has the shape of the room that is left: more at the sides, the wider the window.
const treePadding = 30
// A switch is drawn full with so many packets inside. Chosen by us: 8 ports of default buffers are far from it in peace.
const fullAt = 40

interface End {
  nic?: string
  program?: string
}

export class FabricMap implements MapView {
  geometry: Geometry = place({ spec: '', kind: '', switches: [], nics: [], links: [], layout: { kind: 'free', width: 1, height: 1 } }, 1, 1)
  theme: Theme = dark
  looks: Look[] = []
  ready = false
  lit: ReadonlySet<number> = new Set()
  talking: Talking = { nics: [], ends: [] }

  private graph = new MultiGraph()
  readonly sigma: Sigma
  private readonly overlay: Overlay
  readonly motion: Motion
  readonly pace: Pace
  private nicsShown = true
  private sizedAt = 0 // pixels per unit
  private indexed = false // sigma has drawn since everything was new
  private aspect = 0
  private pending = new Set<number>()
  private pendingNodes = new Set<string>()

  constructor(
    readonly container: HTMLElement,
    readonly store: Store,
    readonly ui: Ui,
    on: Pointing,
  ) {
    this.sigma = new Sigma(this.graph, container, {
      allowInvalidContainer: true,
      renderLabels: false,
      enableEdgeEvents: true,
      stagePadding: padding,
      zIndex: false,
      doubleClickZoomingRatio: 1,
      enableCameraRotation: false,
      minCameraRatio: 0.01,
      maxCameraRatio: 3,
      zoomDuration: 120,
      zoomToSizeRatioFunction: (ratio) => ratio ** 0.65,
      defaultNodeType: 'node',
      defaultEdgeType: 'straight',
      nodeProgramClasses: { node: FabricNode },
      nodeHoverProgramClasses: { node: FabricNode },
      edgeProgramClasses: { straight: StraightLink, bent: BentLink },
      defaultDrawNodeHover: () => {},
      nodeReducer: (id, data) => this.nodeData(id, data as NodeData),
      edgeReducer: (id, data) => this.linkData(Number(id), data as LinkData),
    })
    this.pace = Pace.of(this.sigma.getCanvases().nodes!.getContext('webgl2'))
    this.motion = new Motion(this) // below names
    this.overlay = new Overlay(this)
    this.sigma.on('afterRender', () => {
      this.indexed = true
      this.checkNics()
      this.checkSizes()
      this.overlay.draw()
    })
    this.sigma.on('resize', () => this.resized())
    listen(this, on)
    store.subscribe((c) => this.changed(c))
  }

  // changed takes what a frame has changed.
  private changed(c: Change): void {
    if (c.all && this.store.topology && this.graph.getAttribute('of') !== this.store.topology) {
      this.build()
      return
    }
    if (c.all) {
      this.refresh()
      return
    }
    for (const i of c.links) this.pending.add(i)
    for (const i of c.switches) this.pendingNodes.add(this.store.topology!.switches[i]?.id ?? '')
    this.motion.add(c.hops)
    this.motion.setDeadlock(this.store.deadlock)
    this.soon(c.state ? 'at once' : 'figures')
  }

  // soon has what is pending drawn, if anything is.
  private soon(when: When): void {
    if (this.pending.size + this.pendingNodes.size > 0) this.pace.draw(this.flush, when)
  }

  // flush draws what is pending.
  private readonly flush = (): void => {
    if (!this.ready) return
    const edges: string[] = []
    for (const i of this.pending) {
      if (!this.store.links[i]) continue
      this.looks[i] = this.lookOf(i)
      edges.push(String(i))
    }
    const nodes = [...this.pendingNodes].filter((id) => id !== '')
    this.pending.clear()
    this.pendingNodes.clear()
    this.sigma.refresh({ partialGraph: { edges, nodes }, skipIndexation: this.indexed })
  }

  private build(): void {
    const t = this.store.topology!
    this.ready = false
    // A new graph, not the old one refilled: sigma hears of each node and link otherwise.
    const graph = new MultiGraph()
    graph.setAttribute('of', t)
    this.motion.clearAll()
    this.pending.clear()
    this.pendingNodes.clear()
    this.layOut()
    this.looks = t.links.map((_, i) => this.lookOf(i))
    for (const s of t.switches) graph.addNode(s.id, { ...this.geometry.nodes.get(s.id)!, square: true })
    for (const n of t.nics) graph.addNode(n.id, { ...this.geometry.nodes.get(n.id)!, square: false })
    t.links.forEach((l, i) => {
      if (!graph.hasNode(l.a) || !graph.hasNode(l.b)) return
      const bend = this.geometry.bends[i]!
      graph.addEdgeWithKey(String(i), l.a, l.b, { bend, type: bend.aside ? 'bent' : 'straight' })
    })
    this.graph = graph
    this.ready = true
    this.indexed = false
    this.sigma.setGraph(graph)
    this.fit(false)
  }

  private layOut(): void {
    const [width, height] = this.room()
    this.aspect = width / height
    this.geometry = place(this.store.topology!, width, height)
    this.sigma.setSetting('stagePadding', this.store.topology!.layout.kind === 'tree' ? treePadding : padding)
    this.sigma.setCustomBBox(this.geometry.box)
  }

  private room(): [number, number] {
    const { clientWidth, clientHeight } = this.container
    const sides = treePadding * Math.max(1, clientWidth / Math.max(1, clientHeight))
    return [Math.max(100, clientWidth - 2 * sides), Math.max(60, clientHeight - 2 * padding)]
  }

  private resized(): void {
    this.overlay.resize()
    this.motion.resize()
    if (!this.ready) return
    const [width, height] = this.room()
    // Only a tree depends on the shape of the window, and small changes are not worth a jump.
    if (this.store.topology?.layout?.kind !== 'tree' || Math.abs(Math.log(width / height / this.aspect)) < 0.06) return
    this.layOut()
    this.graph.updateEachNodeAttributes((id, attr) => ({ ...attr, ...this.geometry.nodes.get(id)! }), { attributes: ['x', 'y'] })
  }

  // refresh draws everything anew.
  refresh(): void {
    if (!this.ready) return
    this.looks = this.store.links.map((_, i) => this.lookOf(i))
    this.motion.setDeadlock(this.store.deadlock)
    this.redraw()
  }

  // setPrograms draws what programs do.
  setPrograms(p: { lit: ReadonlySet<number>; now: Pick<Talking, 'nics'>; chosen: { a: End; b: End } | null }): void {
    this.lit = p.lit
    const ends = p.chosen ? [p.chosen.a, p.chosen.b] : []
    this.talking = { nics: p.now.nics, ends: ends.flatMap((e) => (e.nic ? [{ nic: e.nic, program: e.program ?? '' }] : [])) }
    this.pace.draw(this.drawMarks, 'at once')
  }

  private readonly drawMarks = (): void => this.overlay.draw()

  setTheme(isDark: boolean): void {
    this.theme = isDark ? dark : light
    this.refresh()
  }

  private lookOf(i: number): Look {
    return look(this.store.links[i]!, this.theme, this.ui.kept.layers.load)
  }

  private linkData(i: number, data: LinkData): LinkData {
    const ends = this.store.topology!.links[i]!
    const toNic = this.store.nic(ends.a) !== undefined || this.store.nic(ends.b) !== undefined
    data.look = this.looks[i]!
    data.hidden = toNic && !this.nicsShown
    data.size = (this.chosen('link', ends.id) ? 1.8 : 1) * (toNic ? 0.7 : 1) * this.slim
    return data
  }

  private nodeData(id: string, data: NodeData): NodeData {
    const px = this.pixelsPerUnit()
    const t = this.theme
    if (!data.square) {
      data.hidden = !this.nicsShown
      data.size = clamp(px * Math.min(this.geometry.nicSpacing * 0.3, this.geometry.nicReach * 0.3, this.geometry.spacing * 0.12), 1.2, 4.5)
      data.fill = t.nicFill
      data.border = this.chosen('nic', id) ? t.select : t.nicFill
      data.level = 0
      data.inside = t.nicFill
      return data
    }
    const view = this.store.switches[this.store.switchOf(id) ?? -1]
    data.size = clamp(px * this.geometry.half, 3, 13)
    data.fill = view?.state === 'down' ? t.idle : t.switchFill
    data.border = this.chosen('switch', id) ? t.select : view?.state === 'down' ? t.down : t.switchBorder
    const held = view?.held ?? 0
    const pod = this.store.topology!.switches[this.store.switchOf(id) ?? -1]?.pod
    if (pod) data.size = clamp(px * this.geometry.spacing * 0.3, 6, 18)
    if (pod && this.store.pods[pod.index]?.faults && !this.chosen('switch', id)) data.border = t.down
    data.level = this.ui.kept.layers.queues ? clamp(held / (fullAt * (pod?.switches ?? 1)), 0, 1) : 0
    // Above half of them waiting it is the blocked ones that are worth a look.
    data.inside = (view?.blocked ?? 0) * 2 > held ? t.blocked : t.switchLevel
    return data
  }

  // slim is how much thinner links are where there are many.
  private get slim(): number {
    return clamp(Math.sqrt(400 / Math.max(1, this.store.links.length)), 0.5, 1)
  }

  private chosen(kind: Selection['kind'], id: string): boolean {
    const is = (s: Selection | null) => s?.kind === kind && s.id === id
    return is(this.ui.selected) || is(this.ui.hovered)
  }

  // pixelsPerUnit is the scale of the map when all of it is seen.
  pixelsPerUnit(): number {
    const { ratio } = this.sigma.getCamera()
    return this.scale() * ratio
  }

  // scale is how many pixels a map unit takes now.
  scale(): number {
    const o = this.sigma.graphToViewport({ x: 0, y: 0 })
    const e = this.sigma.graphToViewport({ x: 1, y: 0 })
    return Math.hypot(e.x - o.x, e.y - o.y)
  }

  private checkNics(): void {
    const wanted = this.ui.kept.layers.nics && roomForNics(this.geometry, this.scale())
    if (wanted === this.nicsShown) return
    this.nicsShown = wanted
    this.redraw()
  }

  // checkSizes draws anew when the map has become larger or smaller: sigma asks for sizes before it knows.
  private checkSizes(): void {
    const px = this.pixelsPerUnit()
    if (Math.abs(px / this.sizedAt - 1) < 0.01) return
    this.sizedAt = px
    this.redraw()
  }

  private redraw(): void {
    this.indexed = false
    this.sigma.refresh({ schedule: true })
  }

  get showsNics(): boolean { return this.nicsShown }

  // point is where on the map a share of the way along link i is, screen is where on the screen.
  point(i: number, at: number): Point {
    const l = this.store.topology!.links[i]!
    const g = this.geometry
    return along(g.nodes.get(l.a)!, g.nodes.get(l.b)!, g.bends[i]!, at)
  }

  screen(i: number, at: number): Point {
    return this.sigma.graphToViewport(this.point(i, at))
  }

  nodeOnScreen(id: string): Point | null {
    const p = this.geometry.nodes.get(id)
    return p ? this.sigma.graphToViewport(p) : null
  }

  // radius is the size of a node on the screen now.
  radius(id: string): number {
    const d = this.sigma.getNodeDisplayData(id)
    return d ? this.sigma.scaleSize(d.size) : 0
  }

  fit(animate = true): void {
    const camera = this.sigma.getCamera()
    if (animate) void camera.animatedReset({ duration: 250 })
    else camera.setState({ x: 0.5, y: 0.5, ratio: 1, angle: 0 })
  }

  zoom(by: number): void {
    const camera = this.sigma.getCamera()
    void camera.animate({ ratio: camera.getBoundedRatio(camera.ratio / by) }, { duration: 120 })
  }

  pan(x: number, y: number): void {
    const camera = this.sigma.getCamera()
    const { ratio } = camera
    camera.setState({ x: camera.x + x * 0.12 * ratio, y: camera.y + y * 0.12 * ratio })
  }

  // show brings what is selected into view, near enough to read its name.
  show(s: Selection): void {
    const at = this.whereIs(s)
    if (!at) return
    const framed = this.sigma.viewportToFramedGraph(this.sigma.graphToViewport(at))
    const camera = this.sigma.getCamera()
    const near = clamp((this.pixelsPerUnit() * this.geometry.spacing) / 70, 0.05, 1)
    void camera.animate({ x: framed.x, y: framed.y, ratio: Math.min(camera.ratio, near) }, { duration: 300 })
  }

  private whereIs(s: Selection): Point | undefined {
    if (s.kind !== 'link') return this.geometry.nodes.get(s.id)
    const i = this.store.link(s.id)
    return i === undefined ? undefined : this.point(i, 0.5)
  }

  // repaint draws single links and nodes anew, such as those that are no longer selected.
  repaint(things: (Selection | null)[]): void {
    for (const s of things) {
      if (!s) continue
      const i = s.kind === 'link' ? this.store.link(s.id) : undefined
      if (i !== undefined) this.pending.add(i)
      else if (s.kind !== 'link' && this.graph.hasNode(s.id)) this.pendingNodes.add(s.id)
    }
    this.soon('at once')
  }
}

function clamp(v: number, low: number, high: number): number {
  return Math.min(high, Math.max(low, v))
}
