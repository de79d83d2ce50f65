// The types of what fabricd/api sends, by the names that the page uses, and what the page adds for its map.
// npm run types makes generated/api.ts of docs/schema/openapi.json.
import type * as api from '../../generated/api'

export type {
  Frame,
  Latency,
  Ledger,
  Point,
  PodView,
  ProgramConnection,
  ProgramRate,
  Programs,
  Reconfiguration,
  Sample,
  Status,
  SwitchView,
  Totals,
} from '../../generated/api'
export type FabricEvent = api.Event
export type FaultReport = api.Report
export type Hop = api.HopView
export type Candidate = api.CandidateView
export type Channel = api.ChannelView
export type FabricEntry = api.Listed
export type Job = api.Job
export type Routing = api.RoutingView
export type BundleView = api.BundleView
export type Layout = api.TopologyLayout
export type Pod = api.TopologyPod
export type Bundle = api.TopologyBundle
export type Cut = NonNullable<api.LinkView['cut_ab']>

export type SwitchNode = api.TopologySwitch & {
  pod?: { switches: number; nics: number; links: number; index: number } // it stands for a pod that is closed
}

export type LinkEnds = api.TopologyLink & {
  bend?: number // layout units: how far it runs to the left of the straight way
  links?: number // it stands for so many
}

export type Topology = Omit<api.Topology, 'switches' | 'links'> & { switches: SwitchNode[]; links: LinkEnds[] }

// LinkView is one link at one moment, or many. Members ending in _ab are about the direction from a to b.
export type LinkView = api.LinkView & { total?: number; up?: number; faults?: number }
