// What fabricd/api sends, member for member; see its state.go and types.go. Members that are zero are left out there, so
// nearly all are optional here.

export interface Topology {
  spec: string
  kind: string
  switches: SwitchNode[]
  nics: NicNode[]
  links: LinkEnds[]
  layout?: Layout
  pods?: Pod[] // of a large fabric
  bundles?: Bundle[]
}

// Pod is switches that are looked at as one, with their NICs and the links between them.
export interface Pod {
  id: string
  switches: string[]
  nics: number
  links: number
}

// Bundle is all links between two pods.
export interface Bundle {
  id: string
  a: string
  b: string
  links: number
}

// PodView is a pod at one moment, in sum.
export interface PodView {
  i: number
  down?: number // switches
  links_up?: number
  faults?: number // links that are not simply up, and switches that are down
  load?: number // mean share of the links' capacity
  most?: number // of the busiest
  held?: number
  blocked?: number
  rerouted?: number // per second
  u_turns?: number // per second
  lost?: number
  discarded?: number
}

export interface BundleView {
  i: number
  links_up?: number
  faults?: number
  rate_ab?: number
  rate_ba?: number
  load_ab?: number
  load_ba?: number
  lost?: number
}

export interface Layout {
  kind: 'tree' | 'grid' | 'planes' | 'ring' | 'free'
  width: number // layout units: the distance of two neighbouring switches is 1
  height: number
}

export interface Placed {
  id: string
  x?: number // layout units
  y?: number // grows downwards
}

export interface SwitchNode extends Placed {
  ports: number
  tier?: number // 0 is the top of a tree
  digits?: number[]
  coord?: number[]
  pod?: { switches: number; nics: number; links: number; index: number } // it stands for a pod that is closed
}

export interface NicNode extends Placed {
  switch: string
  switch_port: number
}

export interface LinkEnds {
  id: string
  a: string
  a_port: number
  b: string
  b_port: number
  bend?: number // layout units: how far the control point of its curve is aside of the middle
  links?: number // it stands for so many
}

export type LinkStateName = 'up' | 'cut' | 'down' | 'init'
export type Cut = 'signalled' | 'silent'

// LinkView is one link at one moment. Members ending in _ab are about the direction from a to b.
export interface LinkView {
  i: number
  state: LinkStateName
  cut_ab?: Cut | ''
  cut_ba?: Cut | ''
  flapping?: boolean
  suffers_ab?: string
  suffers_ba?: string
  a_up?: boolean
  b_up?: boolean
  held_a?: boolean
  held_b?: boolean
  rate_ab?: number // packets per second
  rate_ba?: number
  load_ab?: number // share of the link's capacity
  load_ba?: number
  queued_ab?: number // packets
  queued_ba?: number
  lost?: number
  // Of one that stands for many.
  total?: number
  up?: number
  faults?: number
}

export interface SwitchView {
  i: number
  state: 'up' | 'down' | 'suspect'
  held?: number
  blocked?: number
  rerouted?: number // per second
  u_turns?: number // per second
  vector?: string
}

export interface Sample {
  at: number // seconds since the fabric started
  injected_per_second: number
  offered_per_second?: number // injected, and generated while a send queue was full
  overload?: string // a sentence, while more is offered than carried
  delivered_per_second: number
  in_flight: number
  lost: number
  discarded: number
  rerouted: number
  links_down: number
  latency?: Latency // of the last second; Totals has that of all packets
}

export interface Latency {
  p50_us: number
  p90_us: number
  p99_us: number
  max_us: number
  mean_us: number
}

export interface Ledger {
  injected: number
  delivered: number
  lost: number
  discarded: number
  in_flight: number
  balanced: boolean
  lost_wire?: number
  lost_queued?: number
  lost_crash?: number
  discarded_by?: Record<string, number>
}

export interface Totals {
  reordered?: number
  duplicated?: number
  rerouted?: number
  requeued?: number
  u_turns?: number
  packet_hops?: number
  mean_hops?: number
  mean_stretch?: number
  latency?: Latency
}

export interface FabricEvent {
  seq: number
  at: number
  kind: string
  link?: string
  switch?: string
  node?: string
  port?: number
  detail?: string
  fault?: FaultReport
  missed?: number
}

export interface FaultReport {
  id: number
  kind: string
  target: string
  what: string
  note?: string
  direction?: string
  silent?: boolean
  at: number
  restored_at?: number
  detected?: { end: string; port: number; after_seconds: number; how: string }[] | null
  first_reroute_seconds?: number | null
  lost_wire: number
  lost_queued: number
  lost_crash: number
  rerouted: number
  requeued: number
  discarded: number
  discarded_by?: Record<string, number> | null
  reordered: number
  duplicated: number
  extra_hops?: { packets: number; mean: number; most: number }
  throughput?: {
    found: boolean
    baseline: number
    lowest: number
    depth: number
    lowest_after_seconds?: number | null
    made_good_after_seconds?: number | null
  }
  last_effect_seconds?: number | null
  shared_with?: number[]
  shared?: string[]
  reconfiguration?: Reconfiguration
  open: boolean
}

// Reconfiguration is how the subnet manager repaired the routes after a fault.
export interface Reconfiguration {
  version: number
  method: string
  detect_seconds: number
  compute_seconds: number
  drain_seconds: number
  distribute_seconds: number
  in_force_seconds: number
  settled_seconds: number
  switches: number
  entries: number
  flows_total: number
  flows_rerouted: number
  unroutable_pairs: number
  isolated_pairs: number
  unroutable?: string[]
  static: boolean
  error?: string
}

// Hop is one thing told of a traced packet: a decision of a switch, that it left a NIC or left a switch late, or its end.
export interface Hop {
  n?: number
  src: string
  dst: string
  seq: number
  at: number // seconds since the fabric started
  age_us?: number
  node: string
  in?: number // port; -1 or left out: by none
  in_vc?: number
  out?: number
  out_vc?: number
  to?: string
  link?: string
  rule?: string
  rerouted?: boolean
  waited_us?: number
  why?: string[]
  candidates?: Candidate[]
  before?: Fields
  after?: Fields
  left?: boolean // of a packet whose way was decided before
  end?: 'delivered' | 'lost' | 'discarded' | ''
  detail?: string
  fault?: string
}

export interface Candidate {
  port: number
  vc: number
  class?: number | string
  room?: number
  credits?: number
  chosen?: boolean
  to?: string
  down?: boolean
  fault?: string
}

export type Fields = string | Record<string, string>

export interface Channel {
  link: number
  dir: 'ab' | 'ba'
  vc?: number
}

export interface Frame {
  seq: number
  kind: 'snapshot' | 'delta'
  run: string
  at: number // seconds since the fabric started
  links?: LinkView[]
  switches?: SwitchView[]
  pods?: PodView[]
  bundles?: BundleView[]
  sample?: Sample
  ledger?: Ledger
  totals?: Totals
  events?: FabricEvent[]
  faults?: FaultReport[]
  hops?: Hop[]
  deadlock?: Channel[]
  traffic?: string
}

export interface Status {
  name: string
  topology: string
  firmware: string
  traffic: string
  started: string
  switches: number
  nics: number
  links: number
}

export interface FabricEntry {
  name: string
  topology?: string
  firmware?: string
  page?: string // its URL, without a token
}
