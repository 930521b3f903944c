// Vectors minus the center of their segment, and the rotation of these.
import { center, codeBytes, lanes, packing } from './layout'
import { queryCentered } from './scratch'
import { maxf, sumf } from './lanes'
import { packedLength } from './distance/packed'
import { rotate } from './rotate'

/** Writes the vector at `from` minus the center to `out` (f32 x lanes each) and returns the largest absolute component. */
export function subtractCenter(from: usize, out: usize): f32 {
  let absMax = f32x4.splat(0)
  for (let i: usize = 0; i < <usize>lanes << 2; i += 16) {
    const v = f32x4.sub(v128.load(from + i), v128.load(center + i))
    v128.store(out + i, v)
    absMax = f32x4.max(absMax, f32x4.abs(v))
  }
  return maxf(absMax)
}

/** Largest absolute value of `count` floats, a multiple of four. */
export function maxAbs(from: usize, count: i32): f32 {
  let absMax = f32x4.splat(0)
  for (let i: usize = 0; i < <usize>count << 2; i += 16) absMax = f32x4.max(absMax, f32x4.abs(v128.load(from + i)))
  return maxf(absMax)
}

/** Inner product of two padded vectors (f32 x lanes). */
export function dotf(a: usize, b: usize): f32 {
  let s = f32x4.splat(0)
  for (let i: usize = 0; i < <usize>lanes << 2; i += 16) s = f32x4.add(s, f32x4.mul(v128.load(a + i), v128.load(b + i)))
  return sumf(s)
}

/** Number of components of a rotated vector. */
@inline
export function rotatedLength(): i32 {
  return packing != 0 ? packedLength() : <i32>codeBytes << 3
}

/** Rotates the centered vector in place, padded with zeros. */
export function rotateCentered(): void {
  memory.fill(queryCentered + (<usize>lanes << 2), 0, <usize>(rotatedLength() - lanes) << 2)
  rotate(queryCentered, rotatedLength())
}
