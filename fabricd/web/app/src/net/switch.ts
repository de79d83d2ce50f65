// What GET /api/v1/switches/{id} answers; see detail.go of fabricd/api.

export interface SwitchDetail {
  id: string
  state: string
  held: number
  counts: Record<string, number>
  routing?: string // another than the fabric's
  process?: string
  ports: PortDetail[]
  registers: { name: string; value: string; expires_in_s?: number }[]
  discards: Record<string, number> | null
  waiting: Waiting[]
  forwarding?: ForwardingEntry[]
}

export interface PortDetail {
  port: number
  link?: string
  peer?: string
  peer_port: number
  state: string
  held?: boolean
  sent: number
  received: number
  lost_queued: number
  vcs: VcDetail[]
}

export interface VcDetail {
  vc: number
  input: number // packets
  output: number
  credits: number
  stalls: Record<string, number>
}

export interface Waiting {
  in: number
  in_vc: number
  src: string
  dst: string
  seq: number
  for: { port: number; vc: number }[]
}

export interface ForwardingEntry {
  dst: string
  in?: number
  in_vc?: number
  port: number // -1: not at all
  vc: number
}
