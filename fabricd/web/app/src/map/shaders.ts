// The shaders of the map. Sizes are in framed units of sigma: one pixel is twice u_correctionRatio.

// So many pieces of a bent link lead to where it runs beside the straight way, one along it, and as many back.
export const rampPieces = 7

export const linkVertex = /* glsl */ `
attribute vec4 a_id;
attribute vec2 a_start;
attribute vec2 a_end;
attribute float a_width;
attribute vec2 a_bend;
attribute vec4 a_ab;
attribute vec4 a_ba;
attribute vec4 a_dash;
attribute float a_t;
attribute float a_side;

uniform mat3 u_matrix;
uniform float u_sizeRatio;
uniform float u_correctionRatio;

varying vec4 v_ab;
varying vec4 v_ba;
varying vec4 v_dash;
varying float v_side;
varying float v_half;
varying float v_along;

void main() {
  vec2 way = a_end - a_start;
  vec2 aside = vec2(-way.y, way.x) * a_bend.x;
  float up = min(1.0, min(a_t, 1.0 - a_t) * ${((2 * rampPieces + 1) / rampPieces).toFixed(6)}); // share of the ramp
  float down = 1.0 - up;
  float t = a_bend.x == 0.0 ? a_t : a_t < 0.5 ? up * a_bend.y : 1.0 - up * a_bend.y;
  vec2 at = a_start + way * t + aside * (1.0 - down * down);
  vec2 tangent = way + aside * (a_t < 0.5 ? 2.0 : -2.0) * down / a_bend.y;
  vec2 normal = normalize(vec2(-tangent.y, tangent.x));
  float pixel = 2.0 * u_correctionRatio;
  #ifdef PICKING_MODE
  float half_px = max(a_width / u_sizeRatio, 11.0) * 0.5;
  #else
  float half_px = max(a_width / u_sizeRatio, 1.4) * 0.5 + 0.5; // half a pixel more, to fade out in
  #endif
  gl_Position = vec4((u_matrix * vec3(at + normal * a_side * half_px * pixel, 1.0)).xy, 0.0, 1.0);
  v_side = a_side;
  v_half = half_px;
  v_along = t * length(way) / pixel;
  #ifdef PICKING_MODE
  v_ab = a_id;
  v_ba = a_id;
  #else
  v_ab = a_ab;
  v_ba = a_ba;
  #endif
  v_ab.a *= 255.0 / 254.0;
  v_ba.a *= 255.0 / 254.0;
  v_dash = a_dash;
}
`

// Each direction has its own half, on its right as on a road, with its own colour and dash.
export const linkFragment = /* glsl */ `
precision highp float;
varying vec4 v_ab;
varying vec4 v_ba;
varying vec4 v_dash;
varying float v_side;
varying float v_half;
varying float v_along;

void main() {
  #ifdef PICKING_MODE
  gl_FragColor = v_ab;
  #else
  bool forth = v_side < 0.0;
  vec4 color = forth ? v_ab : v_ba;
  vec2 dash = forth ? v_dash.xy : v_dash.zw;
  float off_center = abs(v_side) * v_half;
  float alpha = color.a * (1.0 - smoothstep(v_half - 1.0, v_half, off_center));
  if (v_half > 2.4) alpha *= mix(0.35, 1.0, smoothstep(0.0, 0.9, off_center)); // a seam between the two
  if (dash.y > 0.0) {
    float p = mod(v_along, dash.x + dash.y);
    alpha *= mix(0.10, 1.0, smoothstep(-0.5, 0.5, dash.x - p) * smoothstep(-0.5, 0.5, p));
  }
  gl_FragColor = vec4(color.rgb * alpha, alpha);
  #endif
}
`

export const nodeVertex = /* glsl */ `
attribute vec4 a_id;
attribute vec2 a_position;
attribute float a_size;
attribute vec4 a_fill;
attribute vec4 a_border;
attribute vec4 a_inside;
attribute vec2 a_form;
attribute vec2 a_corner;

uniform mat3 u_matrix;
uniform float u_sizeRatio;
uniform float u_correctionRatio;

varying vec4 v_fill;
varying vec4 v_border;
varying vec4 v_inside;
varying vec2 v_at;
varying vec2 v_form;
varying float v_px;

void main() {
  float px = a_size / u_sizeRatio + 1.0;
  vec2 position = a_position + a_corner * px * 2.0 * u_correctionRatio;
  gl_Position = vec4((u_matrix * vec3(position, 1.0)).xy, 0.0, 1.0);
  v_at = a_corner * px;
  v_px = px - 1.0;
  v_form = a_form;
  #ifdef PICKING_MODE
  v_fill = a_id;
  #else
  v_fill = a_fill;
  #endif
  v_fill.a *= 255.0 / 254.0;
  v_border = a_border;
  v_inside = a_inside;
}
`

// A switch is a rounded square that fills from below with the packets inside it, a NIC is a disc.
export const nodeFragment = /* glsl */ `
precision highp float;
varying vec4 v_fill;
varying vec4 v_border;
varying vec4 v_inside;
varying vec2 v_at;
varying vec2 v_form;
varying float v_px;

void main() {
  float round_px = v_form.x > 0.5 ? v_px * 0.34 : v_px;
  vec2 q = abs(v_at) - (v_px - round_px);
  float d = length(max(q, 0.0)) + min(max(q.x, q.y), 0.0) - round_px;
  #ifdef PICKING_MODE
  if (d > 1.5) discard;
  gl_FragColor = v_fill;
  #else
  float alpha = 1.0 - smoothstep(-0.5, 0.5, d);
  float line = clamp(v_px * 0.18, 0.8, 2.0);
  float level = step(v_at.y, (2.0 * v_form.y - 1.0) * v_px);
  vec3 inside = mix(v_fill.rgb, v_inside.rgb, level);
  vec3 color = mix(inside, v_border.rgb, smoothstep(-line - 0.5, -line + 0.5, d));
  alpha *= v_fill.a;
  gl_FragColor = vec4(color * alpha, alpha);
  #endif
}
`
