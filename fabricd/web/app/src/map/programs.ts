// Sigma's WebGL programs for links, straight and bent, and for nodes.

import { EdgeProgram, NodeProgram, type EdgeProgramType, type NodeProgramType, type ProgramInfo } from 'sigma/rendering'
import type { EdgeDisplayData, NodeDisplayData, RenderParams } from 'sigma/types'
import { rgbaToFloat } from 'sigma/utils'
import type { Rgb } from './colors'
import type { Bend } from './geometry'
import type { Look } from './look'
import { linkFragment, linkVertex, nodeFragment, nodeVertex, rampPieces } from './shaders'

// What the map adds to sigma's data of a link and of a node.
export interface LinkData extends EdgeDisplayData {
  look: Look
  bend: Bend
}
export interface NodeData extends NodeDisplayData {
  fill: Rgb
  border: Rgb
  square: boolean
  level: number // 0 to 1: how full it is
  inside: Rgb // of the part that is full
}

const uniforms = ['u_matrix', 'u_sizeRatio', 'u_correctionRatio'] as const
type Uniform = (typeof uniforms)[number]
const { FLOAT, UNSIGNED_BYTE, TRIANGLES } = WebGLRenderingContext

// alpha is a share.
const pack = ([r, g, b]: Rgb, alpha = 1) => rgbaToFloat(r, g, b, alpha * 255, true)

function setUniforms(params: RenderParams, { gl, uniformLocations }: ProgramInfo<Uniform>): void {
  gl.uniformMatrix3fv(uniformLocations.u_matrix, false, params.matrix)
  gl.uniform1f(uniformLocations.u_sizeRatio, params.sizeRatio)
  gl.uniform1f(uniformLocations.u_correctionRatio, params.correctionRatio)
}

// corners writes one item of so many floats once per vertex, each followed by what is the vertex' own. Instances would save
// that, but a machine without a GPU draws each of them as slowly as a scene of its own.
function corners(array: Float32Array, at: number, item: number[], own: number[][]): void {
  for (const last of own) {
    array.set(item, at)
    array.set(last, at + item.length)
    at += item.length + last.length
  }
}

// strip is a link cut into so many pieces: where along it, and side. Of a bent one the middle piece is straight.
function strip(pieces: number): number[][] {
  const out: number[][] = []
  for (let i = 0; i < pieces; i++) {
    const t0 = i / pieces
    const t1 = (i + 1) / pieces
    out.push([t0, -1], [t0, 1], [t1, -1], [t1, -1], [t0, 1], [t1, 1])
  }
  return out
}

function linkProgram(pieces: number): EdgeProgramType {
  const own = strip(pieces)
  class LinkProgram extends EdgeProgram<Uniform> {
    override getDefinition() {
      return {
        VERTICES: own.length,
        VERTEX_SHADER_SOURCE: linkVertex,
        FRAGMENT_SHADER_SOURCE: linkFragment,
        METHOD: TRIANGLES,
        UNIFORMS: uniforms,
        ATTRIBUTES: [
          { name: 'a_start', size: 2, type: FLOAT },
          { name: 'a_end', size: 2, type: FLOAT },
          { name: 'a_width', size: 1, type: FLOAT },
          { name: 'a_bend', size: 2, type: FLOAT },
          { name: 'a_ab', size: 4, type: UNSIGNED_BYTE, normalized: true },
          { name: 'a_ba', size: 4, type: UNSIGNED_BYTE, normalized: true },
          { name: 'a_dash', size: 4, type: FLOAT },
          { name: 'a_id', size: 4, type: UNSIGNED_BYTE, normalized: true },
          { name: 'a_t', size: 1, type: FLOAT },
          { name: 'a_side', size: 1, type: FLOAT },
        ],
      }
    }

    override processVisibleItem(id: number, at: number, a: NodeDisplayData, b: NodeDisplayData, data: EdgeDisplayData): void {
      const { look, bend } = data as LinkData
      corners(this.array, at, [
        a.x, a.y, b.x, b.y, look.width * (data.size || 1), bend.aside, bend.ramp,
        pack(look.ab.color, look.ab.alpha), pack(look.ba.color, look.ba.alpha), ...look.ab.dash, ...look.ba.dash, id,
      ], own)
    }

    override setUniforms(params: RenderParams, info: ProgramInfo): void {
      setUniforms(params, info as ProgramInfo<Uniform>)
    }
  }
  return LinkProgram as unknown as EdgeProgramType
}

export const StraightLink = linkProgram(1)
export const BentLink = linkProgram(2 * rampPieces + 1)

const square = [[-1, -1], [1, -1], [-1, 1], [-1, 1], [1, -1], [1, 1]]

class Node extends NodeProgram<Uniform> {
  override getDefinition() {
    return {
      VERTICES: square.length,
      VERTEX_SHADER_SOURCE: nodeVertex,
      FRAGMENT_SHADER_SOURCE: nodeFragment,
      METHOD: TRIANGLES,
      UNIFORMS: uniforms,
      ATTRIBUTES: [
        { name: 'a_position', size: 2, type: FLOAT },
        { name: 'a_size', size: 1, type: FLOAT },
        { name: 'a_fill', size: 4, type: UNSIGNED_BYTE, normalized: true },
        { name: 'a_border', size: 4, type: UNSIGNED_BYTE, normalized: true },
        { name: 'a_inside', size: 4, type: UNSIGNED_BYTE, normalized: true },
        { name: 'a_form', size: 2, type: FLOAT },
        { name: 'a_id', size: 4, type: UNSIGNED_BYTE, normalized: true },
        { name: 'a_corner', size: 2, type: FLOAT },
      ],
    }
  }

  override processVisibleItem(id: number, at: number, data: NodeDisplayData): void {
    const d = data as NodeData
    corners(this.array, at, [d.x, d.y, d.size, pack(d.fill), pack(d.border), pack(d.inside), d.square ? 1 : 0, d.level, id], square)
  }

  override setUniforms(params: RenderParams, info: ProgramInfo): void {
    setUniforms(params, info as ProgramInfo<Uniform>)
  }
}

export const FabricNode = Node as unknown as NodeProgramType
