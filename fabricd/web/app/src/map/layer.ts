// A canvas above sigma's, of the same size, that lets the mouse through.

import type { MapView } from './view'

export class Layer2d {
  readonly canvas: HTMLCanvasElement
  readonly ctx: CanvasRenderingContext2D

  constructor(protected readonly map: MapView, id: string) {
    this.canvas = map.sigma.createCanvas(id, { beforeLayer: 'mouse', style: { pointerEvents: 'none' } as CSSStyleDeclaration })
    this.ctx = this.canvas.getContext('2d')!
    this.resize()
  }

  resize(): void {
    const { width, height } = this.map.sigma.getDimensions()
    const ratio = window.devicePixelRatio || 1
    this.canvas.width = width * ratio
    this.canvas.height = height * ratio
    this.canvas.style.width = `${width}px`
    this.canvas.style.height = `${height}px`
    this.ctx.setTransform(ratio, 0, 0, ratio, 0, 0)
  }

  clear(): void {
    const { width, height } = this.map.sigma.getDimensions()
    this.ctx.clearRect(0, 0, width, height)
    // Chromium goes on showing what was there before when a canvas is cleared and nothing is drawn on it: a pixel that nobody sees.
    this.ctx.fillStyle = 'rgb(0 0 0 / 0.5%)'
    this.ctx.fillRect(0, 0, 1, 1)
  }

  seen(x: number, y: number): boolean {
    const { width, height } = this.map.sigma.getDimensions()
    return x > -40 && y > -40 && x < width + 40 && y < height + 40
  }
}
